//! Features for experiments: receive timestamps, fewer ACKs, taps, constant sizes.

use std::sync::{Arc, Mutex};

use ackclock_quic::config::{AckRequest, Config};
use ackclock_quic::connection::{Observation, SentFrame, Tap};
use ackclock_quic::recovery::congestion::{Ack, Cause, Congestion, Control, Controller, Needs, PathInfo};
use ackclock_quic::units::{Duration, Time};
use ackclock_quic::wire::StampFormat;

use crate::world::*;

/// Counts acknowledged packets and those with a receive timestamp, and tracks the range of their
/// one-way delays in microseconds.
#[derive(Clone, Debug)]
struct Watcher(Arc<Mutex<(u64, u64, i64, i64)>>);

impl Controller for Watcher {
    fn on_ack(&mut self, ack: &Ack<'_>) -> Option<Cause> {
        let mut seen = self.0.lock().unwrap();
        for packet in ack.packets {
            seen.0 += 1;
            if let Some(received) = packet.received {
                let delay = (received - packet.sent.0 as i64) / 1000;
                *seen = (seen.0, seen.1 + 1, seen.2.min(delay), seen.3.max(delay));
            }
        }
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_path_change(&mut self, _: PathInfo) {}
    fn needs(&self) -> Needs {
        Needs { receive_times: true, ..Needs::default() }
    }
    fn control(&self) -> Control {
        Control::window(24_000)
    }
}

/// draft-ietf-quic-receive-ts-02: for a controller that needs receive timestamps, they are
/// requested. It gets one for every 1-RTT packet, in the requested unit. From a peer that does not
/// offer them it gets none.
#[test]
fn receive_times() {
    for (exponent, offered) in [(None, true), (Some(3), true), (Some(10), true), (None, false)] {
        let seen = Arc::new(Mutex::new((0, 0, i64::MAX, i64::MIN)));
        let mut plan = Plan { link: Link { loss: 0.01, ..Link::default() }, ..Plan::default() };
        plan.client.connection.timestamps.offered = offered;
        plan.server.connection.timestamps.wanted = exponent.map(|exponent| StampFormat { max: 32, exponent });
        let watcher = Watcher(seen.clone());
        plan.settings[1] = plan.settings[1].clone().with_controller(move |_| Box::new(watcher.clone()));
        let mut world = World::new(plan);
        world.connect(&[1_000_000]);
        assert!(world.finish(ms(20_000)), "{:?} {:?}", world.client_events, world.server_events);
        let (acked, stamped, least, most) = *seen.lock().unwrap();
        assert!(acked > 800);
        if !offered {
            assert_eq!(stamped, 0);
            continue;
        }
        // Packets of the handshake have none.
        assert!(acked - stamped < 10, "{acked} {stamped}");
        let unit = 1 << exponent.unwrap_or(0);
        assert!(least > 15_000 - unit && most < 15_000 + 24_000 * 8 / 10, "{least} {most}");
    }
}

/// draft-ietf-quic-ack-frequency: the client acknowledges every tenth packet on request.
#[test]
fn fewer_acks_when_asked() {
    let acks = |ask: bool| {
        let mut plan = Plan::default();
        plan.client.connection.ack_frequency.min_ack_delay = Some(Duration::from_millis(1));
        let request = AckRequest { threshold: 9, max_ack_delay: None, reordering_threshold: 1 };
        plan.server.connection.ack_frequency.request = ask.then_some(request);
        let mut world = World::new(plan);
        world.connect(&[1_000_000]);
        assert!(world.finish(ms(10_000)));
        world.client_connection().counts().datagrams_sent
    };
    let (often, seldom) = (acks(false), acks(true));
    assert!(seldom * 3 < often, "{seldom} {often}");
}

/// RFC 9000 section 13.2.4: an end that only receives sometimes learns which of its ACKs have
/// arrived. So neither ranges nor timestamps accumulate in them. It asks for that at most once per
/// round trip.
#[test]
fn a_receiver_forgets_what_it_has_acknowledged() {
    for stamps in [None, Some(StampFormat { max: 64, exponent: 0 })] {
        let mut plan = Plan { link: Link { loss: 0.01, ..Link::default() }, ..Plan::default() };
        plan.client.connection.timestamps.offered = stamps.is_some();
        plan.server.connection.timestamps.wanted = stamps;
        let mut world = World::new(plan);
        world.connect(&[5_000_000]);
        assert!(world.finish(ms(60_000)), "{:?} {:?}", world.client_events, world.server_events);
        let round_trips = world.now.0 / ms(30).0;
        let client = world.client_connection();
        let (counts, stats) = (client.counts(), client.sender().stats());
        let mean = counts.bytes_sent as f64 / counts.datagrams_sent as f64;
        assert!(mean < if stamps.is_some() { 120.0 } else { 40.0 }, "{mean}");
        // Also MAX_DATA, the handshake and probes.
        assert!(stats.sent > 20 && stats.sent < round_trips + 40, "{} in {round_trips}", stats.sent);
    }
}

/// A tap observes every packet once: sent, and then acknowledged or lost.
#[test]
fn a_tap_hears_everything() {
    #[derive(Default)]
    struct Heard {
        sent: u64,
        bytes: u64,
        acked: u64,
        lost: u64,
        received: u64,
        frames: u64,
        congestion: u64,
        cwnd: u64,
    }
    impl Tap for Heard {
        fn on(&mut self, _: Time, what: &Observation<'_>) {
            let heard = self;
            match *what {
                Observation::Sent { in_flight, bytes, .. } => {
                    heard.sent += u64::from(in_flight);
                    heard.bytes += if in_flight { bytes } else { 0 };
                }
                Observation::Acked { .. } => heard.acked += 1,
                Observation::Lost { .. } => heard.lost += 1,
                Observation::Received { .. } => heard.received += 1,
                Observation::Frame(_) => heard.frames += 1,
                Observation::Congestion(_) => heard.congestion += 1,
                Observation::Metrics { cwnd, .. } => heard.cwnd = cwnd,
                _ => {}
            }
        }
    }
    struct Other;
    impl Tap for Other {
        fn on(&mut self, _: Time, _: &Observation<'_>) {}
    }
    let mut world = World::new(Plan::default());
    world.connect(&[2_000_000]);
    assert!(world.run(ms(1000), |world| world.accepted.is_some()));
    let before = world.server_connection().sender().stats().clone();
    assert!(world.server_connection().tap::<Heard>().is_none(), "not set yet");
    world.server_connection().set_tap(Box::new(Heard::default()));
    assert!(world.finish(ms(10_000)));
    assert!(world.server_connection().tap::<Other>().is_none(), "of another type");
    let stats = world.server_connection().sender().stats().clone();
    let cwnd = world.server_connection().sender().control().cwnd;
    let heard = world.server_connection().tap::<Heard>().unwrap();
    assert_eq!(heard.sent, stats.sent - before.sent);
    assert_eq!(heard.bytes, stats.sent_bytes - before.sent_bytes);
    assert_eq!((heard.acked, heard.lost), (stats.acked - before.acked, stats.lost() - before.lost()));
    assert_eq!(heard.congestion, stats.loss_events);
    assert!(heard.frames >= heard.received && heard.lost > 0);
    assert_eq!(heard.cwnd, cwnd);
}

/// For packet-by-packet comparison with a model: after the handshake every data packet has one size
/// and one chunk. Only data goes one way, and only ACKs go the other.
#[test]
fn exact() {
    let mut plan = Plan::default();
    plan.client.connection = Config::exact();
    plan.server.connection = Config::exact();
    plan.server.tokens = 0;
    let mut world = World::new(plan);
    world.connect(&[1_000_000]);
    assert!(
        world.run(ms(200), |world| world.client_connection().is_confirmed() && world.requests.len() == 1)
    );
    world.run(ms(250), |_| false);
    let (sizes, log) = Sizes::new();
    world.server_connection().set_tap(Box::new(sizes));
    assert!(world.finish(ms(10_000)));
    let sizes = log.lock().unwrap();
    assert!(sizes.len() > 500);
    let (last, full) = sizes.split_last().unwrap();
    // Header 13, STREAM 19, tag 16.
    assert!(full.iter().all(|size| *size == (1200, 1200 - 13 - 19 - 16)), "{full:?}");
    assert!(last.0 <= 1200);
}

/// Size and data of packets in flight.
struct Sizes(Log);

type Log = Arc<Mutex<Vec<(u64, usize)>>>;

impl Sizes {
    fn new() -> (Self, Log) {
        let log = Arc::default();
        (Self(Arc::clone(&log)), log)
    }
}

impl Tap for Sizes {
    fn on(&mut self, _: Time, what: &Observation<'_>) {
        if let Observation::Sent { in_flight: true, bytes, items, .. } = what {
            let data =
                items.iter().map(|item| if let SentFrame::Stream(_, chunk) = item { chunk.len } else { 0 });
            self.0.lock().unwrap().push((*bytes, data.sum()));
        }
    }
}

/// Bursts contain what would be sent one by one: the same datagrams at the same times.
#[test]
fn bursts() {
    let run = |most| {
        let link = Link { loss: 0.02, reorder: 0.02, ..Link::default() };
        let mut world = World::new(Plan { link, ..Plan::default() });
        world.bursts.0 = most;
        world.connect(&[300_000, 10, 100_000]);
        assert!(world.finish(ms(30_000)));
        (world.trace, world.now, world.sent, world.bursts.1)
    };
    let (one, ten) = (run(1), run(10));
    assert_eq!((one.0, one.1, one.2, one.3), (ten.0, ten.1, ten.2, 1));
    assert!((3..=10).contains(&ten.3), "{}", ten.3);
}
