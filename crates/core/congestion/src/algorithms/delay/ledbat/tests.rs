use super::*;
use crate::components::slow_start::Kind;
use crate::testing::closed_loop::{Flow, Loop};
use crate::testing::fixtures::MDS;
use crate::testing::fixtures::{acked, congestion, path, stamped};
use crate::{Ack, Cause, Controller};
use units::Rate;
use units::{Duration, Time};

/// One packet per millisecond.
const LINK: Rate = Rate(8_000_000);

const MS: Duration = Duration::from_millis(1);
const BASE: i64 = 50_000_000;

fn controller(params: Params) -> Ledbat {
    Ledbat::new(params, path(MDS))
}

/// A controller after its start: a window of `packets` packets that has seen an empty queue.
fn settled(packets: u64) -> Ledbat {
    let mut cc = controller(Params::default());
    delay(&mut cc, 0, 0);
    cc.state.cwnd = (packets * MDS) as f64;
    cc
}

/// Acknowledges a packet at `ms` that was queued for `queued`, with no bytes that count.
fn delay(cc: &mut Ledbat, ms: u64, queued: i64) {
    let (now, in_flight) = (Time::from_millis(ms), cc.cwnd());
    let packets = [stamped(ms, now, now.0 as i64 + BASE + queued)];
    cc.on_ack(&Ack { now, packets: &packets, prior_in_flight: in_flight, ..acked(0) });
}

/// Acknowledges a full window packet by packet, each queued for `queued`.
fn round(cc: &mut Ledbat, at: u64, queued: i64) {
    let window = cc.cwnd() / MDS;
    for _ in 0..window {
        let (now, prior_in_flight) = (Time::from_millis(at), cc.cwnd());
        let packets = [stamped(at, now, now.0 as i64 + BASE + queued)];
        cc.on_ack(&Ack { now, packets: &packets, prior_in_flight, ..acked(MDS) });
    }
}

fn packets(cc: &Ledbat) -> f64 {
    cc.state.cwnd / MDS as f64
}

/// Growth per round trip: half a packet more at half of TARGET, one less at twice TARGET, one more
/// with an empty queue, and no change at TARGET.
#[test]
fn once_around() {
    for (queued, change) in [(0, 1.0), (50, 0.5), (100, 0.0), (150, -0.5), (200, -1.0), (500, -4.0)] {
        for gain in [1.0, 0.5] {
            let mut cc = settled(100);
            cc.params.gain = gain;
            // Samples of an empty queue leave the filter an RTT later.
            delay(&mut cc, 1000, queued * 1_000_000);
            round(&mut cc, 1000, queued * 1_000_000);
            // During the round, the window changes by a percent per percent.
            let change: f64 = change * gain;
            assert!(
                (packets(&cc) - 100.0 - change).abs() < 0.03 * change.abs() + 1e-9,
                "{queued}: {}",
                packets(&cc)
            );
        }
    }
}

/// FILTER is the minimum of the last four samples that are no older than an RTT (100 ms here).
#[test]
fn current_filter() {
    let mut cc = settled(100);
    for (ms, queued, filtered) in
        [(1000, 30, 30), (1001, 10, 10), (1002, 20, 10), (1003, 40, 10), (1004, 50, 10), (1005, 60, 20)]
    {
        delay(&mut cc, ms, queued * 1_000_000);
        assert_eq!(cc.delays.queuing(), Some(filtered * 1_000_000), "{ms}");
    }
    delay(&mut cc, 1104, 70_000_000);
    assert_eq!(cc.delays.queuing(), Some(50_000_000));
    delay(&mut cc, 1205, 80_000_000);
    assert_eq!(cc.delays.queuing(), Some(80_000_000));
}

/// One minimum per minute, the last ten of them: minute 0 is dropped in minute 10, not before.
#[test]
fn base_history() {
    let mut cc = settled(100);
    for second in 1..900 {
        delay(&mut cc, 1000 * second, 70_000_000);
        let standing = if second < 600 { 70_000_000 } else { 0 };
        assert_eq!(cc.delays.queuing(), Some(standing), "{second}");
    }
    assert_eq!(cc.delays.base.len(), 10);
}

/// A shorter path gives the new base at once.
#[test]
fn base_falls_at_once() {
    let mut cc = settled(100);
    delay(&mut cc, 1000, -20_000_000);
    delay(&mut cc, 2000, 0);
    assert_eq!(cc.delays.queuing(), Some(20_000_000));
}

/// A receiver clock 50 ppm fast looks like 27 to 30 ms of queue, a slow one like none.
#[test]
fn clock_skew() {
    for (ppm, looks_like) in [(50, 26_900_000..=30_000_000), (-50, 0..=0)] {
        let mut cc = settled(100);
        for second in 1..3600 {
            delay(&mut cc, 1000 * second, second as i64 * ppm * 1000);
            let queuing = cc.delays.queuing().unwrap_or(-1);
            assert!(second < 600 || looks_like.contains(&queuing), "{ppm} ppm: {queuing}");
        }
    }
}

/// max_allowed_cwnd: one packet above the bytes in flight, also if that reduces the window. At
/// least two packets.
#[test]
fn flight_size() {
    for (in_flight, expected) in [(100, 100.01), (99, 100.0), (50, 51.0), (1, 2.0), (0, 2.0)] {
        let mut cc = settled(100);
        cc.on_ack(&Ack { prior_in_flight: in_flight * MDS, ..acked(MDS) });
        assert!((packets(&cc) - expected).abs() < 1e-9, "{in_flight}: {}", packets(&cc));
    }
}

/// Half of the window, but at least two packets, without raising it to that. One packet after a
/// timeout, two with the next ACK.
#[test]
fn reductions() {
    for cause in [Cause::Loss, Cause::Ecn] {
        for (before, after) in [(100, 50.0), (3, 2.0), (1, 1.0)] {
            let mut cc = settled(before);
            cc.on_congestion(&congestion(cause, 0));
            assert_eq!(packets(&cc), after);
        }
    }
    let mut cc = settled(100);
    cc.on_congestion(&congestion(Cause::PersistentCongestion, 0));
    assert_eq!(packets(&cc), 2.0);
    cc.on_congestion(&congestion(Cause::Timeout, 0));
    assert_eq!(packets(&cc), 1.0);
    cc.on_ack(&Ack { growth: 0, ..acked(MDS) });
    assert_eq!(packets(&cc), 1.0);
    cc.on_ack(&acked(MDS));
    assert_eq!(packets(&cc), 2.0);
}

#[test]
fn spurious_event_is_undone() {
    let mut cc = settled(100);
    cc.on_congestion(&congestion(Cause::Loss, 0));
    cc.on_spurious();
    assert_eq!(packets(&cc), 100.0);
}

/// Without permission of the sender the window does not grow, but the delay still shrinks it.
#[test]
fn without_a_grant() {
    let mut cc = settled(100);
    let recovering = Ack { growth: 0, prior_in_flight: 100 * MDS, ..acked(MDS) };
    cc.on_ack(&recovering);
    assert_eq!(packets(&cc), 100.0);
    delay(&mut cc, 1000, 200_000_000);
    cc.on_ack(&Ack { now: Time::from_millis(1000), ..recovering });
    assert!(packets(&cc) < 100.0);
}

/// Two packets at the start, Reno's growth without receive times. With slow start, doubling until
/// the first loss.
#[test]
fn start() {
    let cc = controller(Params::default());
    assert_eq!((cc.control().cwnd, cc.control().in_slow_start()), (2 * MDS, false));
    let mut cc = controller(Params { slow_start: Some(Kind::Standard), ..Params::default() });
    assert!(cc.control().in_slow_start());
    for doubled in [4, 8, 16] {
        let bytes = cc.control().cwnd;
        cc.on_ack(&acked(bytes));
        assert_eq!(cc.control().cwnd, doubled * MDS);
    }
    cc.on_congestion(&congestion(Cause::Loss, 0));
    assert_eq!((cc.control().cwnd, cc.control().in_slow_start()), (8 * MDS, false));
    for _ in 0..2 {
        cc.on_congestion(&congestion(Cause::Timeout, 0));
        assert_eq!((cc.control().cwnd, cc.state.ssthresh), (MDS, 4e3), "kept by the second timeout");
    }
}

/// A window that the delay has shrunk below its size after a loss does not double again.
#[test]
fn delay_is_no_slow_start() {
    let mut cc = controller(Params { slow_start: Some(Kind::Standard), ..Params::default() });
    delay(&mut cc, 0, 0);
    cc.state.cwnd = (100 * MDS) as f64;
    cc.on_congestion(&congestion(Cause::Loss, 0));
    for ms in [1000, 2000, 3000] {
        let before = packets(&cc);
        delay(&mut cc, ms, 200_000_000);
        round(&mut cc, ms, 200_000_000);
        let change = packets(&cc) - before;
        assert!(!cc.control().in_slow_start() && (-1.1..-0.9).contains(&change), "{change}");
    }
}

/// 1000 packets per second, 50 ms of propagation delay.
fn flow(start_s: u64) -> Flow<Ledbat> {
    Flow::new(Box::new(controller(Params::default())), MS * 50, Time::from_millis(1000 * start_s))
}

fn queue_ms(flow: &Flow<Ledbat>) -> f64 {
    (flow.latest_rtt - MS * 51).as_millis_f64()
}

/// A single flow: TARGET, within a packet.
#[test]
fn alone() {
    for target in [25, 50, 100] {
        let mut link = Loop::new(vec![flow(0)], MDS, LINK);
        link.flows[0].cc.params.target = MS * target;
        link.run_to(Time::from_millis(200_000));
        let queue = queue_ms(&link.flows[0]);
        assert!((queue - target as f64).abs() <= 1.0, "{queue}");
    }
}

/// A late flow takes the first flow's queue as its base, doubles it, and reduces the first to its
/// smallest window.
#[test]
fn latecomer() {
    let mut link = Loop::new(vec![flow(0), flow(100)], MDS, LINK);
    link.run_to(Time::from_millis(400_000));
    let queue = queue_ms(&link.flows[1]);
    assert!((190.0..=202.0).contains(&queue), "{queue}");
    assert_eq!(link.flows[0].cc.cwnd(), 2 * MDS);
    let before: Vec<_> = link.flows.iter().map(|f| f.delivered).collect();
    link.run_to(Time::from_millis(500_000));
    let got: Vec<_> =
        link.flows.iter().zip(before).map(|(f, b)| ((f.delivered - b) / MDS) as f64 / 1e5).collect();
    assert!(got[0] < 0.01 && got[1] > 0.98, "{got:?}");
}

/// Two flows that both saw the empty queue share one target.
#[test]
fn together() {
    let mut link = Loop::new(vec![flow(0), flow(0)], MDS, LINK);
    link.run_to(Time::from_millis(200_000));
    let queue = queue_ms(&link.flows[0]);
    assert!((queue - 100.0).abs() <= 2.0, "{queue}");
}

/// The window stays, but two packets stay two packets. An empty queue adds a packet of the new size
/// per round trip.
#[test]
fn larger_datagrams() {
    let mut cc = Ledbat::new(Params::default(), path(1200));
    cc.on_path_change(path(1400));
    assert_eq!(cc.control().cwnd, 2800);
    cc.state.cwnd = 140_000.0;
    cc.on_ack(&acked(140_000));
    assert_eq!(cc.control().cwnd, 141_400);
    cc.on_path_change(path(1200));
    assert_eq!(cc.control().cwnd, 141_400);
}
