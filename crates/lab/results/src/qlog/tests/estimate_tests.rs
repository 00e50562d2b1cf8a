//! Compares the estimated size of logs with the written size.

use link::RateModel;

use super::*;

/// A bulk transfer of 20 s over 10 Mbit/s, limited to `transfer` bytes.
fn scenario(algorithm: &str, transport: scenario::Transport, transfer: Option<u64>) -> Scenario {
    let (rate, rtt) = (Rate(10_000_000), Duration::from_millis(50));
    let algorithm = congestion::Registry::default().get(algorithm).unwrap().algorithm();
    let flow = FlowConfig {
        transfer,
        handshake: true,
        ack: AckConfig::default(),
        ..FlowConfig::new("one", algorithm, transport, rtt)
    };
    let limit = Limit::Bytes(units::Bytes(rate.bytes_in(rtt)));
    let link = LinkConfig { limit, delay: rtt / 2, ..LinkConfig::plain(rate) };
    Scenario { trace: true, ..Scenario::new(link, [flow.clone(), flow], Duration::from_secs(20)) }
}

/// Returns the bytes of all logs of a run.
fn written(scenario: &Scenario, format: Format) -> u64 {
    let outcome = sim::run(scenario, &Watch::default()).unwrap();
    let mut out = Vec::new();
    for record in &outcome.flows {
        let meta = meta(Transport::Quic);
        write(&mut out, format, &meta, record.trace.as_ref().unwrap()).unwrap();
        write_receiver(&mut out, format, &meta, record.far_trace.as_ref().unwrap()).unwrap();
    }
    out.len() as u64
}

#[test]
fn the_estimate_is_near() {
    for (algorithm, transport) in [("new-reno", QUIC), ("cubic", QUIC), ("bbr3", QUIC), ("tcp-reno", TCP)] {
        for transfer in [None, Some(2_000_000)] {
            let scenario = scenario(algorithm, transport, transfer);
            for text in ["0.3", "current", "gzip", "current,gzip"] {
                let format: Format = text.parse().unwrap();
                let (estimate, written) = (estimate(&scenario, format).0, written(&scenario, format));
                let ratio = estimate as f64 / written as f64;
                println!("{algorithm} {transfer:?} {text}: {estimate} {written} {ratio:.2}");
                // Controllers report different amounts.
                assert!(
                    (0.5..2.0).contains(&ratio),
                    "{algorithm} {transfer:?} {text}: {estimate} for {written}"
                );
            }
        }
    }
}

#[test]
fn the_estimate_follows_rates_and_times() {
    let estimated = |scenario: &Scenario| estimate(scenario, Format::default()).0 as f64;
    let plain = scenario("cubic", QUIC, None);
    let full = estimated(&plain);
    let is = |scenario: &Scenario, part: f64| {
        let ratio = estimated(scenario) / full;
        assert!((ratio - part).abs() < 0.01, "{ratio} instead of {part}");
    };
    // 20 s x 10 Mbit/s in packets of 1294 bytes on the wire.
    let packets = 25e6 / 1294.0;
    assert!((full / (packets * Format::default().bytes_per_packet().0 as f64) - 1.0).abs() < 0.01);
    let halves = vec![(Time::ZERO, Rate(10_000_000)), (Time::from_millis(10_000), Rate(0))];
    let link = LinkConfig { rate: RateModel::Steps(halves), ..plain.link.clone() };
    is(&Scenario { link, ..plain.clone() }, 0.5);
    let slow = LinkConfig::plain(Rate(2_500_000));
    is(&Scenario { beyond: vec![slow], ..plain.clone() }, 0.25);
    let mut short = plain.clone();
    short.flows[0].stop = Some(Time::from_millis(5_000));
    short.flows.truncate(1);
    is(&short, 0.25);
    short.flows[0].stop = Some(Time::NEVER);
    is(&short, 1.0);
}
