//! `stack` of a flow: named defaults of `packet`, `ack` and `recovery`.

use crate::common::{parse, scenario, small};
use experiment::diagnostics::Diagnostics;
use experiment::file::Experiment;
use recovery::{AckConfig, AckEvery, Config, OnGap, Paced, Pto, Style, TimeThreshold};
use scenario::{FlowConfig, Transport};
use units::Duration;

/// Reads a file whose flow has these keys.
fn with(keys: &str) -> Result<Experiment, Diagnostics> {
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

/// Keys that `stack = "mvfst"` sets.
#[test]
fn mvfst() {
    let FlowConfig { transport, ack, recovery, .. } = flow("stack = \"mvfst\"");
    assert_eq!(transport, Transport::Quic { datagram: 1232, header: 26, overhead: 42 });
    assert_eq!((transport.wire_bytes(transport.payload()), transport.payload()), (1274, 1206));
    let AckConfig { ack_every, immediate_on_gap, timestamps, timestamp_exponent, .. } = ack;
    assert_eq!((ack_every, immediate_on_gap), (AckEvery::Constant(10), OnGap::Once));
    assert_eq!((timestamps, timestamp_exponent), (10, 3));
    let (tick, cap) = (Duration::from_millis(1), Duration::from_millis(25));
    assert_eq!((ack.delay_factor, ack.timer_tick, ack.max_ack_delay), (Some(0.25), tick, cap));
    assert_eq!((recovery.packet_threshold, recovery.time_threshold), (Some(4), TimeThreshold::Factor(1.25)));
    assert_eq!((recovery.pto, recovery.max_ack_delay), (Pto::Mvfst, cap));
    assert_eq!((recovery.granularity, recovery.initial_rtt), (Duration::ZERO, Duration::from_millis(50)));
    assert_eq!((recovery.undo, recovery.overshoot, recovery.paced), (false, true, Paced::ByRate));
    let pacing = recovery.pacing;
    assert_eq!((pacing.style, pacing.min_burst), (Style::Bursts, 5));
    assert_eq!((pacing.interval, recovery.skip_numbers), (Duration::from_micros(200), Some(1000)));
}

#[test]
fn its_default_has_a_name() {
    let named = flow("stack = \"rfc9002\"");
    assert_eq!((&named.recovery, &named.ack), (&Config::quic(), &AckConfig::default()));
    assert_eq!(format!("{named:?}"), format!("{:?}", flow("")));
}

/// Keys of the file take precedence over the stack.
#[test]
fn keys_overrule_it() {
    let keys = "stack = \"mvfst\"\npacket.datagram = \"1452 bytes\"\nack = { ack-every = 2, max-ack-delay = \"10 ms\" }\n\
                recovery = { packet-threshold = 3, pacing.min-burst = 1 }";
    let f = flow(keys);
    assert_eq!(f.transport, Transport::Quic { datagram: 1452, header: 26, overhead: 42 });
    assert_eq!((f.ack.ack_every, f.ack.delay_factor), (AckEvery::Constant(2), Some(0.25)));
    assert_eq!((f.recovery.packet_threshold, f.recovery.pto), (Some(3), Pto::Mvfst));
    assert_eq!(f.recovery.max_ack_delay, Duration::from_millis(10), "the peer's");
    assert_eq!((f.recovery.pacing.min_burst, f.recovery.pacing.style), (1, Style::Bursts));
}

/// `[vary]`, `--set`.
#[test]
fn it_varies() {
    let vary = "controller = \"cubic\"\n[vary]\n\"flow.stack\" = [\"rfc9002\", \"mvfst\"]\n";
    let exp = small("controller = \"cubic\"", vary).unwrap();
    let rows: Vec<String> = exp.cases().iter().map(|case| case.row.clone()).collect();
    assert_eq!(rows, ["rfc9002", "mvfst"]);
    let every = |exp: &Experiment, case| scenario(exp, case).flows[0].ack.ack_every.clone();
    assert_eq!((every(&exp, 0), every(&exp, 1)), (AckEvery::Constant(2), AckEvery::Constant(10)));
    let set =
        |value: &str| with("").unwrap().with_overrides(&[("flow.stack".to_owned(), value.to_owned())], false);
    assert_eq!(every(&set("mvfst").unwrap(), 0), AckEvery::Constant(10));
    let said = set("mvfts").unwrap_err().to_string();
    assert!(said.contains("unknown stack `mvfts`; did you mean \"mvfst\"? known: rfc9002, mvfst"), "{said}");
}

#[test]
fn what_is_refused() {
    refused("stack = \"mvsft\"", "flow.0.stack: unknown stack `mvsft`; did you mean \"mvfst\"?");
    refused("stack = 1", "flow.0.stack: must be a text in quotes, not 1");
    for name in ["mvfst", "rfc9002"] {
        let keys = format!("transport = \"tcp\"\nstack = \"{name}\"");
        refused(&keys, "flow.0.stack: `stack` applies to QUIC only, but the flow is TCP; remove `stack`");
    }
    refused(
        "ack.delay-factor = 0",
        "flow.0.ack.delay-factor: `delay-factor` must be a number of RTTs above 0, or \"off\"",
    );
    let key = "flow.0.recovery.skip-numbers";
    refused("recovery.skip-numbers = 0", &format!("{key}: `skip-numbers` must be at least 1, or \"off\""));
    let tcp = "transport = \"tcp\"\nrecovery.skip-numbers = 1000";
    refused(tcp, &format!("{key}: `skip-numbers` applies to QUIC only"));
    refused("ack.timer-tick = \"2 s\"", "flow.0.ack.timer-tick: `timer-tick` must be at most 1 s");
    refused(
        "transport = \"tcp\"\nack.timer-tick = \"1 ms\"",
        "flow.0.ack.timer-tick: `delay-factor` and `timer-tick` apply to QUIC only",
    );
    refused("ack.immediate-on-gap = \"each\"", "flow.0.ack.immediate-on-gap:");
    refused(
        "recovery.pacing.min-burst = 0",
        "flow.0.recovery.pacing.min-burst: `min-burst` must be at least 1 packet",
    );
    refused("recovery.pacing.style = \"token\"", "flow.0.recovery.pacing.style:");
    refused("recovery.pto = \"mvsft\"", "flow.0.recovery.pto:");
}
