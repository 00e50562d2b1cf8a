//! Keys of a flow's receiver, of both clocks and of the handshake.

use crate::common::{parse, scenario, small};
use experiment::file::Experiment;
use recovery::AckEvery;
use scenario::FlowConfig;
use units::{Duration, Time};

/// Reads a file whose flow has these keys.
fn with(keys: &str) -> Result<Experiment, experiment::diagnostics::Diagnostics> {
    small("controller = \"cubic\"", &format!("controller = \"cubic\"\n{keys}"))
}

/// Returns the flow with these keys, after checking that the manifest means the same.
fn flow(keys: &str) -> FlowConfig {
    let exp = with(keys).unwrap_or_else(|problem| panic!("{problem}"));
    let run = scenario(&exp, 0);
    let text = toml::to_string(&exp.resolved(&exp.cases()[0], exp.seed).unwrap()).unwrap();
    let again = parse(&text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    assert_eq!(format!("{run:?}"), format!("{:?}", scenario(&again, 0)), "{text}");
    run.flows[0].clone()
}

fn refused(keys: &str, says: &str) {
    let said = with(keys).expect_err(keys).to_string();
    assert!(said.contains(says), "{keys}: {said}");
}

#[test]
fn when_it_acknowledges() {
    let ack = flow("").ack;
    assert_eq!((ack.ack_every, ack.jitter), (AckEvery::Constant(2), Duration::ZERO));
    let ack = flow("ack = { jitter = \"3 ms\", ack-every = [[\"0 s\", 2], [\"10 s\", 10]] }").ack;
    assert_eq!(ack.jitter, Duration::from_millis(3));
    assert_eq!(ack.ack_every, AckEvery::Steps(vec![(Time::ZERO, 2), (Time::from_millis(10_000), 10)]));
    refused("ack.ack-every = 0", "flow.0.ack.ack-every: `ack-every` must be at least 1");
    refused(
        "ack.ack-every = [[\"0 s\", 2], [\"1 s\", 0]]",
        "flow.0.ack.ack-every: `ack-every` must be at least 1",
    );
    refused("ack.ack-every = []", "flow.0.ack.ack-every: `ack-every` has no steps");
    refused("ack.ack-every = [[\"2 s\", 2], [\"1 s\", 3]]", "flow.0.ack.ack-every: the step times of");
    refused("ack.ack-every = \"2\"", "flow.0.ack.ack-every: must be ");
    refused("ack.jitter = 3", "flow.0.ack.jitter: `3` has no unit");
}

/// A list of steps is a value of `[vary]` like any other.
#[test]
fn ack_frequencies_vary() {
    let vary =
        "controller = \"cubic\"\n[vary]\n\"flow.ack.ack-every\" = [2, [[\"0 s\", 2], [\"10 s\", 10]]]\n";
    let exp = small("controller = \"cubic\"\n", vary).unwrap();
    let every = |case| scenario(&exp, case).flows[0].ack.ack_every.at(Time::from_millis(20_000));
    assert_eq!((every(0), every(1)), (2, 10));
}

/// Controllers of one-way delay run over TCP with timestamps. Those that count arrivals need an ACK
/// per packet.
#[test]
fn receive_times() {
    let ack = flow("ack = { timestamp-exponent = 3 }").ack;
    assert_eq!((ack.timestamps, ack.timestamp_exponent), (64, 3));
    let ack = flow("transport = \"tcp\"\nack = { timestamps = 1, timestamp-granularity = \"10 ms\" }").ack;
    assert_eq!((ack.timestamps, ack.timestamp_granularity), (1, Duration::from_millis(10)));
    refused(
        "ack.timestamp-granularity = \"10 ms\"",
        "flow.0.ack.timestamp-granularity: `timestamp-granularity` applies to TCP only",
    );
    let tcp = |keys: &str| format!("transport = \"tcp\"\n{keys}");
    refused(&tcp("ack.timestamps = 64"), "flow.0.ack.timestamps: `timestamps` must be 0 or 1 for TCP");
    refused(
        &tcp("ack.timestamp-exponent = 3"),
        "flow.0.ack.timestamp-exponent: `timestamp-exponent` applies to QUIC only",
    );
    refused(&tcp("ack.timestamp-granularity = \"2 s\""), "at most 1 s");

    let run = |name: &str, ack: &str| {
        let to = format!("controller = \"{name}\"\ntransport = \"tcp\"\nack = {{ {ack} }}");
        small("controller = \"cubic\"", &to)
    };
    for name in ["dccc", "ledbat", "quic-dc"] {
        assert!(run(name, "timestamps = 1").is_ok(), "{name}");
        let said = run(name, "timestamps = 0").unwrap_err().to_string();
        assert!(said.contains("set ack.timestamps = 1"), "{said}");
    }
    for name in ["gcc", "gcc-simplified", "nada", "nada-2013"] {
        assert!(run(name, "timestamps = 1, ack-every = 1").is_ok(), "{name}");
        let said = run(name, "timestamps = 1").unwrap_err().to_string();
        assert!(said.contains("flow.0.controller") && said.contains("set ack.ack-every = 1"), "{said}");
    }
}

#[test]
fn clocks() {
    assert_eq!(flow("").clock.granularity, Duration::ZERO);
    let clock = flow("clock = { granularity = \"1 ms\", drift-ppm = 50 }").clock;
    assert_eq!((clock.granularity, clock.drift_ppm), (Duration::from_millis(1), 50.0));
    refused("clock.granularity = \"2 s\"", "flow.0.clock.granularity: `granularity` must be at most 1 s");
}

#[test]
fn handshakes() {
    assert!(!flow("").handshake);
    assert!(flow("handshake = true").handshake);
    refused("handshake = 1", "flow.0.handshake: must be true or false, not 1");
}
