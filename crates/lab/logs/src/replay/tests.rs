//! Checks replays on runs of the simulator, and on damaged calls.

use congestion::{Entry, Registry};
use link::{Limit, LinkConfig};
use scenario::signal::{Call, Signal};
use scenario::trace::Event;
use scenario::{FlowConfig, Scenario, Transport, Watch};
use units::{Bytes, Duration, Rate, Time};

use super::Windows;
use super::calls::Calls;
use super::rate::Rates;
use crate::tests::mutate::damaged;

/// Returns the calls of a controller in the first seconds of a lossy path.
fn calls(name: &str, transport: Transport, seconds: u64) -> Vec<Call> {
    let mut link = LinkConfig::plain(Rate(8_000_000));
    link.limit = Limit::Bytes(Bytes(30_000));
    link.delay = Duration::from_millis(20);
    link.loss = 0.01;
    let algorithm = Registry::default().get(name).unwrap().algorithm();
    let flow = FlowConfig::new("flow", algorithm, transport, Duration::from_millis(40));
    let scenario = Scenario { trace: true, ..Scenario::new(link, [flow], Duration::from_secs(seconds)) };
    let outcome = sim::run(&scenario, &Watch::default()).unwrap();
    let trace = outcome.flows[0].trace.clone().unwrap();
    let call = |(_, event)| match event {
        Event::Call(call) => Some(call),
        _ => None,
    };
    trace.into_iter().filter_map(call).collect()
}

/// Rate samples computed from the calls are those that the sender computed.
#[test]
fn computed_rates_are_those_of_the_sender() {
    for name in ["bbr3", "bbr1", "bbr2"] {
        let (mut rates, mut compared) = (Rates::default(), 0);
        for Call(now, _, signal) in calls(name, Transport::default(), 10) {
            let now = Time(now);
            match signal {
                Signal::Sent(sent) => rates.on_sent(&sent.sent(now)),
                Signal::Lost(lost) => {
                    let mut packets = lost.packets();
                    packets.iter_mut().for_each(|lost| (lost.tx_in_flight, lost.lost_at_send) = (0, 0));
                    rates.on_lost(&mut packets);
                    assert_eq!(format!("{:?}", lost.packets()), format!("{packets:?}"));
                }
                Signal::Ack(ack) => {
                    let packets = ack.packets();
                    let ack = ack.ack(now, &packets);
                    assert_eq!(rates.on_ack(&ack), ack.rate, "{name} at {now:?}");
                    compared += u32::from(ack.rate.is_some());
                }
                _ => {}
            }
        }
        assert!(compared > 1000, "{name}: {compared}");
    }
}

/// A controller that asks for reductions reaches the window of the log with its own, too: they
/// belong to the ACK at which it asks.
#[test]
fn asked_reductions_belong_to_their_ack() {
    for name in ["pert", "cdg", "quic-dc", "vegas"] {
        let algorithm = Registry::default().get(name).unwrap().algorithm();
        let (mut replay, mut windows) = (Calls::new(algorithm, false), Windows::default());
        let calls = calls(name, Transport::default(), 10);
        calls.iter().for_each(|call| replay.on_call(Time(call.0), call, &mut windows));
        replay.finish(&mut windows);
        assert!(windows.acks() > 500, "{name}");
        assert_eq!(windows.first_difference(), None, "{name}");
    }
}

/// Calls survive being written and read.
#[test]
fn calls_as_json() {
    for transport in [Transport::default(), Transport::Tcp { mss: 1448, overhead: 52 }] {
        for call in calls("bbr3", transport, 3) {
            let json = serde_json::to_string(&call).unwrap();
            assert_eq!(serde_json::from_str::<Call>(&json).unwrap(), call, "{json}");
        }
    }
}

/// Damaged calls end the replay, or are played. No controller panics.
#[test]
fn damaged_calls() {
    let runs = ["cubic", "bbr3", "dccc", "tcp-reno"];
    let text = |name: &&str| {
        let calls = calls(name, Transport::default(), 1);
        let lines = calls.iter().take(400).map(|call| serde_json::to_string(call).unwrap());
        lines.collect::<Vec<_>>().join("\n").into_bytes()
    };
    let texts: Vec<Vec<u8>> = runs.iter().map(text).collect();
    let registry = Registry::default();
    let entries: Vec<&Entry> = registry.iter().collect();
    let (mut turn, mut ended) = (0, 0);
    damaged("calls", &texts, |text| {
        let mut replay = Calls::new(entries[turn % entries.len()].algorithm(), turn % 7 == 0);
        turn += 1;
        let mut windows = Windows::default();
        for line in text.split(|byte| *byte == b'\n') {
            if let Ok(call) = serde_json::from_slice::<Call>(line) {
                replay.on_call(Time(call.0), &call, &mut windows);
            }
        }
        ended += u32::from(replay.damaged().is_some());
    });
    assert!(ended > 100, "{ended}");
}

/// Half of the distances lie at or below the median.
#[test]
fn distances() {
    let mut windows = Windows::default();
    assert_eq!(windows.distance(), None);
    for replayed in 1000..=1100 {
        windows.add(super::Moment { at: Time(replayed), logged: 1000, replayed });
    }
    let distance = windows.distance().unwrap();
    let is = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value}");
    is(distance.median, 0.05);
    is(distance.p95, 0.095);
    is(distance.largest, 0.1);
    assert_eq!((windows.acks(), windows.differing()), (101, 100));
}

/// Damaged logs of any program are replayed, or refused. No controller panics.
#[test]
fn damaged_logs() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    let files =
        ["ackclock-sender.sqlog", "ackclock-tcp-sender.sqlog", "aioquic-server.qlog", "noq-server.qlog"];
    let more = ["quic-go-server.sqlog", "ngtcp2-server.sqlog"];
    let texts: Vec<Vec<u8>> =
        files.iter().chain(&more).map(|file| std::fs::read(folder.join(file)).unwrap()).collect();
    let registry = Registry::default();
    let entries: Vec<&Entry> = registry.iter().collect();
    let (mut turn, mut replayed) = (0, 0);
    damaged("replays", &texts, |text| {
        let wanted = entries[turn % entries.len()].algorithm();
        turn += 1;
        let unknown = Box::new(|_: &str, _: Option<&str>| Err(String::new()));
        let mut replays = super::Replays::new(Some(wanted), unknown);
        let _ = crate::qlog::read(text, "damaged", &mut replays);
        replayed += replays.finish().iter().filter(|one| one.windows.acks() > 0).count();
    });
    assert!(replayed > 500, "{replayed}");
}

/// A log of very many connections is replayed in bounded memory.
#[test]
fn the_number_of_connections_is_bounded() {
    let unknown = Box::new(|_: &str, _: Option<&str>| Err(String::new()));
    let mut replays = super::Replays::new(None, unknown);
    for number in 0..20_000 {
        let text = format!(
            "\u{1e}{{\"qlog_version\":\"0.3\",\"trace\":{{\"vantage_point\":{{\"type\":\"server\"}}}}}}\n\u{1e}{{\"time\":{number},\"name\":\"recovery:metrics_updated\",\"data\":{{\"congestion_window\":1}}}}\n"
        );
        let _ = crate::qlog::read(std::io::Cursor::new(text), "flood", &mut replays);
    }
    assert_eq!(replays.finish().len(), super::MOST_POINTS);
}
