//! Rules of loss recovery that need TCP, SACK or each other.

use recovery::{Exit, TimeThreshold, Timeout};

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
