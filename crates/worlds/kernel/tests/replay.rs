//! Recorded decisions of native D* on real connections, made again by the controller in Rust.
//!
//! `tests/recordings/README.md` says how the recordings were made.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use ackclock_kernel::constants::natives;
use ackclock_kernel::event::{Event, kind};
use ackclock_kernel::record::state;
use congestion::algorithms::delay::dstar;
use congestion::{Ack, Algorithm, Cause, Congestion, Controller, Idle, PathInfo, STATE, Sent};
use flate2::read::GzDecoder;
use units::{Duration, Time};

/// Bytes of a packet. D* counts packets, so that any size decides alike.
const MSS: u64 = 1448;

/// Decision of either side: window, mode, slow start, bdp, gain_cwnd, RTTmin in us.
type Decision = [u32; 6];

fn read(path: &Path) -> Vec<Event> {
    let mut bytes = Vec::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes.chunks(size_of::<Event>()).map(|chunk| Event::read(chunk).expect("a whole event")).collect()
}

fn theirs(event: &Event) -> Decision {
    let Event { cwnd, mode, slow_start, bdp, gain_cwnd, min_rtt_us, .. } = *event;
    [cwnd, mode.into(), slow_start.into(), bdp, gain_cwnd, min_rtt_us]
}

fn ours(controller: &dyn Controller) -> Decision {
    let control = controller.control();
    let packets = |bytes: u64| u32::try_from(bytes / MSS).unwrap();
    let mut decision = [packets(control.cwnd), 0, u32::from(control.ssthresh > 0), 0, 0, u32::MAX];
    controller.trace(&mut |name, value| match name {
        STATE => decision[1] = value as u32,
        "bdp" => decision[3] = packets(value as u64),
        "gain_cwnd" => decision[4] = packets(value as u64),
        "min_rtt" if value.is_finite() => decision[5] = (value * 1e6).round() as u32,
        _ => {}
    });
    decision
}

fn traced(trace: impl FnOnce(&mut dyn FnMut(&'static str, f64))) -> Vec<(&'static str, f64)> {
    let mut all = Vec::new();
    trace(&mut |name, value| all.push((name, value)));
    all
}

/// Tells the controller what the kernel was told.
fn replay(controller: &mut dyn Controller, event: &Event) {
    let now = Time(event.time_us * 1000);
    let sent = Sent { now, pn: 0, bytes: MSS, bytes_in_flight: 2 * MSS, app_limited: false };
    match event.kind {
        kind::BEGIN => controller.on_sent(&sent),
        kind::ACK | kind::MODE => _ = controller.on_ack(&ack(event, now)),
        kind::CONGESTION => controller.on_congestion(&Congestion {
            now,
            cause: match event.state {
                state::LOSS => Cause::Timeout,
                state::CWR => Cause::Ecn,
                _ => Cause::Loss,
            },
            prior_in_flight: u64::from(event.in_flight) * MSS,
            min_rtt: Duration::from_micros(event.min_rtt_us.into()),
            smoothed_rtt: Duration::from_micros(event.srtt_us.into()),
        }),
        kind::UNDO => {
            // A packet tells the time, which `on_spurious` does not.
            controller.on_sent(&sent);
            controller.on_spurious();
        }
        kind::IDLE => {
            let [idle, rto] = [1000, 200].map(Duration::from_millis);
            controller.on_idle(&Idle { now, idle, rto });
        }
        _ => {}
    }
}

fn ack(event: &Event, now: Time) -> Ack<'static> {
    Ack {
        now,
        acked: MSS,
        delivered: u64::from(event.delivered) * MSS,
        latest_rtt: u64::try_from(event.rtt_us).ok().map(Duration::from_micros),
        app_limited: event.app_limited != 0,
        in_recovery: event.state >= state::CWR,
        ..Ack::default()
    }
}

/// Compares every decision of a recording, and the variables. Returns the number, or the first
/// difference.
fn compare(algorithm: &Algorithm, events: &[Event]) -> Result<usize, String> {
    let path = PathInfo { max_datagram_size: MSS, paced: false, seed: 0 };
    let mut controllers: BTreeMap<u32, Box<dyn Controller>> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let controller = controllers.entry(event.flow).or_insert_with(|| algorithm.build(path));
        replay(&mut **controller, event);
        let (traced, reported) =
            (traced(|put| controller.trace(put)), traced(|put| event.trace(MSS as u32, put)));
        let (ours, theirs) = (ours(&**controller), theirs(event));
        if ours != theirs || traced != reported {
            return Err(format!("event {index}, {event:?}\nkernel {theirs:?}\nRust   {ours:?}"));
        }
    }
    Ok(events.len())
}

fn recordings() -> Vec<(String, Vec<Event>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
    paths.sort();
    paths.iter().map(|path| (path.display().to_string(), read(path))).collect()
}

#[test]
fn recorded_decisions_are_decided_again() {
    let recordings = recordings();
    assert_eq!(recordings.len(), 4);
    let [dstar, _] = natives();
    for (name, events) in &recordings {
        let decisions = compare(&dstar, events).unwrap_or_else(|why| panic!("{name}, {why}"));
        assert!(decisions > 1000);
    }
}

/// The recordings have what the kernel decides on.
#[test]
fn recordings_have_every_kind_of_event() {
    let all: Vec<Event> = recordings().into_iter().flat_map(|(_, events)| events).collect();
    let count = |is: &dyn Fn(&Event) -> bool| all.iter().filter(|event| is(event)).count();
    let causes = |wanted| count(&|event| event.kind == kind::CONGESTION && event.state == wanted);
    let modes = |wanted| count(&|event| event.kind == kind::MODE && event.mode == wanted);
    assert!(causes(state::RECOVERY) >= 50 && causes(state::LOSS) >= 3);
    assert!(modes(0) >= 3 && modes(1) >= 300 && modes(2) >= 300);
    let is_undone = |pair: &&[Event]| pair[1].kind == kind::UNDO && pair[1].cwnd > pair[0].cwnd;
    assert!(all.windows(2).filter(is_undone).count() >= 2 && count(&|event| event.kind == kind::IDLE) >= 4);
    let expired = |pair: &&[Event]| pair[1].kind == kind::MODE && pair[0].mode == 2 && pair[1].mode == 0;
    let old = all.windows(2).filter(|pair| expired(pair) && pair[0].slow_start == 0);
    assert!(old.count() >= 1, "RTTmin was measured again");
}

/// A controller with a parameter that differs a little decides otherwise in each recording.
#[test]
fn another_parameter_is_noticed() {
    let params = dstar::Params { slow_start_gain: 1.6, ..dstar::Params::default() };
    for (name, events) in recordings() {
        assert!(compare(&params.clone().into(), &events).is_err(), "{name}");
    }
}
