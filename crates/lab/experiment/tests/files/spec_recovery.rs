//! Rules of loss recovery that need TCP, SACK or each other.

use std::num::NonZeroU64;

use recovery::{Exit, Offload, TimeThreshold, Timeout};
use units::{Duration, Ecn};

use crate::common::{scenario, small};

fn with(keys: &str) -> Result<recovery::Config, String> {
    let keys = format!("controller = \"cubic\"\n{keys}");
    let exp = small("controller = \"cubic\"", &keys).map_err(|problem| problem.to_string())?;
    Ok(scenario(&exp, 0).flows[0].recovery.clone())
}

fn tcp(rules: &str) -> Result<recovery::Config, String> {
    with(&format!("transport = \"tcp\"\nrecovery = {{ {rules} }}"))
}

const WITHOUT_SACK: &str =
    "sack = false, packet-threshold = 3, time-threshold = \"off\", reduction = \"at-once\"";

#[test]
fn tcp_of_1990() {
    let reno = tcp(&format!("{WITHOUT_SACK}, timeout = \"rto\", exit = \"reno-tcp\"")).unwrap();
    assert_eq!((reno.sack, reno.exit, reno.timeout), (false, Exit::RenoTcp, Timeout::Rto));
    let vegas = tcp("time-threshold = \"vegas\", early-retransmit = true").unwrap();
    assert_eq!((vegas.time_threshold, vegas.early_retransmit), (TimeThreshold::Vegas, true));
}

/// Each message says what to write.
#[test]
fn what_does_not_fit_is_refused() {
    let refused = |read: Result<recovery::Config, String>, says: &str| {
        let said = read.expect_err(says);
        assert!(said.contains("flow.0.recovery") && said.contains(says), "{said}");
    };
    refused(with("recovery.sack = false"), "`sack` applies to TCP only");
    refused(with("recovery.exit = \"reno-tcp\""), "applies to TCP only");
    refused(with("recovery.packet-count = \"sacked\""), "applies to TCP only");
    refused(tcp("sack = false"), "write `packet-threshold = 3`");
    let changed = |from: &str, to: &str| tcp(&WITHOUT_SACK.replace(from, to));
    refused(changed("\"off\"", "\"rack\""), "`time-threshold` must be \"off\" or \"vegas\"");
    refused(changed("\"at-once\"", "\"prr\""), "`reduction` must be \"at-once\"");
    refused(
        tcp(&format!("{WITHOUT_SACK}, exit = \"quic\"")),
        "`exit` must be \"newreno-tcp\" or \"reno-tcp\"",
    );
}

/// Bounds of timeouts, each for its kind of timeout.
#[test]
fn bounds_of_timeouts() {
    assert_eq!(with("recovery.max-pto = \"5 s\"").unwrap().max_pto, Some(Duration::from_secs(5)));
    assert_eq!(with("").unwrap().max_pto, None);
    assert_eq!(tcp("max-rto = \"60 s\"").unwrap().max_rto, Duration::from_secs(60));
    for (read, says) in [
        (with("recovery.max-pto = \"0 s\""), "must be above 0, or \"off\""),
        (tcp("max-rto = \"0 s\""), "must be above 0"),
        (tcp("max-pto = \"5 s\""), "write `max-rto`"),
        (with("recovery.max-rto = \"60 s\""), "write `max-pto`"),
    ] {
        let said = read.expect_err(says);
        assert!(said.contains(says), "{said}");
    }
}

/// QUIC's idle timeout, in whole milliseconds as in its transport parameter.
#[test]
fn idle_timeouts() {
    let read = with("recovery.idle-timeout = \"30 s\"").unwrap();
    assert_eq!(read.idle_timeout, Some(Duration::from_secs(30)));
    assert_eq!(with("recovery.idle-timeout = \"off\"").unwrap().idle_timeout, None);
    for (read, says) in [
        (with("recovery.idle-timeout = \"0 s\""), "at least 1 ms"),
        (with("recovery.idle-timeout = \"1.5 ms\""), "a whole number of milliseconds"),
        (tcp("idle-timeout = \"30 s\""), "applies to QUIC only"),
        (
            with("recovery.idle-timeout = \"30 s\"\napplication = \"on-off\""),
            "recovery.idle-timeout: an idle timeout would end the flow",
        ),
    ] {
        let said = read.expect_err(says);
        assert!(said.contains(says), "{said}");
    }
}

/// A search for the MTU, with what it cannot be combined with.
#[test]
fn searches_for_the_mtu() {
    assert!(with("recovery.mtu-search = true").unwrap().mtu_search);
    assert!(!with("").unwrap().mtu_search);
    for (read, says) in [
        (tcp("mtu-search = true"), "write the size of segments as `packet.mss`"),
        (with("recovery = { mtu-search = true, offload = 16 }"), "remove one of them"),
        (with("recovery.mtu-search = true\napplication = \"media\""), "media packets have one size"),
    ] {
        let said = read.expect_err(says).to_string();
        assert!(said.contains(says), "{said}");
    }
}

/// Groups of packets, with what they cannot be combined with.
#[test]
fn offload() {
    let size = |text: &str| with(&format!("recovery.offload = {text}")).map(|rules| rules.offload);
    assert_eq!(size("16").unwrap(), Offload::Packets(NonZeroU64::new(16).unwrap()));
    assert_eq!(size("\"linux\"").unwrap(), Offload::LINUX);
    assert_eq!(size("\"off\"").unwrap(), Offload::OFF);
    for (read, says) in [
        (with("recovery.offload = 0"), "must be a number of packets of at least 1, \"linux\" or \"off\""),
        (with("recovery.offload = \"64 kB\""), "must be a number of packets of at least 1"),
        (with("recovery = { offload = 16, pacing.style = \"bursts\" }"), "remove one of them"),
        (with("recovery = { offload = 16, small-last-packet = true }"), "remove one of them"),
        (with("recovery.offload = 16\napplication = \"media\""), "media leaves packet by packet"),
    ] {
        let said = read.expect_err(says).to_string();
        assert!(said.contains(says), "{said}");
    }
}

/// A controller made for marks chooses the mark of its packets, unless the file does.
#[test]
fn marks_of_controllers() {
    let mark = |keys: &str| {
        let exp = small("controller = \"cubic\"", keys).map_err(|problem| problem.to_string());
        scenario(&exp.unwrap(), 0).flows[0].recovery.ecn
    };
    for (keys, ecn) in [
        ("controller = \"cubic\"", Ecn::NotEct),
        ("controller = \"dctcp\"", Ecn::Ect0),
        ("controller = \"bbr3-ecn-gated\"", Ecn::Ect0),
        ("controller = \"cubic-ecn-gated\"", Ecn::Ect0),
        ("controller = \"prague\"", Ecn::Ect1),
        ("controller = { name = \"scream-v2\", is-l4s = true }", Ecn::Ect1),
        ("controller = \"scream-v2\"", Ecn::NotEct),
        ("controller = \"prague\"\nrecovery.ecn = \"not-ect\"", Ecn::NotEct),
        ("controller = \"prague\"\nrecovery.ecn-validation = false", Ecn::Ect1),
    ] {
        assert_eq!(mark(keys), ecn, "{keys}");
    }
}

/// A smallest value above the largest is refused, whichever the file sets.
#[test]
fn limits_of_parameters() {
    let refused = |keys: &str, says: &str| {
        let read = small("controller = \"cubic\"", &format!("controller = {{ {keys} }}"));
        let said = read.expect_err(keys).to_string();
        assert!(said.contains(says), "{said}");
    };
    let low = "`t-low` is \"600 us\", more than `t-high`, \"500 us\"; allowed: at most `t-high`";
    refused("name = \"timely\", t-low = \"600 us\"", low);
    refused("name = \"timely\", max-rate = \"1 kbit/s\"", "flow.0.controller.max-rate: `min-rate`");
    refused("name = \"htcp\", beta-min = 0.9", "more than `beta-max`");
    refused("name = \"gcc\", max-rate = \"1 kbit/s\"", "more than `max-rate`");
    refused("name = \"timely\", t-low = \"1 % of buffer\", max-rate = \"1 kbit/s\"", "more than `max-rate`");
    refused("name = \"tfrc\", initial-rtt = \"0 s\"", "allowed: above 0");
    refused("name = \"hybla\", rtt0 = \"0 s\"", "allowed: above 0");
    for keys in ["name = \"gcc\"", "name = \"timely\", t-low = \"500 us\"", "name = \"htcp\", beta-max = 0.5"]
    {
        small("controller = \"cubic\"", &format!("controller = {{ {keys} }}")).unwrap();
    }
}
