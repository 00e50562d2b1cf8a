//! The versions of BBR in the simulator: alone, and the known faults of bbr1 beside CUBIC.

use crate::common::{goodput, quic_flow, run, scenario, tcp_flow};
use link::{Limit, LinkConfig};
use scenario::{FlowConfig, Scenario};
use units::{Bytes, Duration, Rate};

const RTT: Duration = Duration::from_millis(40);

/// Returns a path of 40 ms with `bdp` bandwidth-delay products of buffer, measured after 10 s.
fn scenario_at(rate: Rate, bdp: f64, seconds: u64, mut flows: Vec<FlowConfig>) -> Scenario {
    flows.iter_mut().for_each(|flow| flow.rtt = RTT);
    let limit = rate.bytes_in(RTT.mul_f64(bdp));
    let limit = LinkConfig { limit: Limit::Bytes(Bytes(limit)), delay: RTT / 2, ..LinkConfig::plain(rate) };
    Scenario { link: limit, ..scenario(bdp, seconds, flows) }
}

/// Each uses 95 % of what the link can carry in stream bytes: 1215 of 1294 bytes on the wire, or
/// 1448 of 1500.
#[test]
fn alone_they_fill_the_link() {
    let rate = Rate(100_000_000);
    for name in ["bbr1", "bbr3"] {
        let text = format!("name = '{name}'");
        for (flow, payload) in [(quic_flow(&text), 1215.0 / 1294.0), (tcp_flow(&text), 1448.0 / 1500.0)] {
            let out = run(&scenario_at(rate, 1.0, 30, vec![flow]));
            let share = goodput(&out, 0) / (rate.mbit_s() * payload);
            assert!(share > 0.95, "{name}: {share}");
        }
    }
}

/// Returns bbr1's share of the goodput beside one CUBIC flow over two minutes.
fn share_beside_cubic(bdp: f64) -> f64 {
    let flows = vec![quic_flow("name = 'bbr1'"), quic_flow("name = 'cubic'")];
    let out = run(&scenario_at(Rate(25_000_000), bdp, 120, flows));
    goodput(&out, 0) / (goodput(&out, 0) + goodput(&out, 1))
}

/// The window of two BDP exceeds path and buffer together, and bbr1 does not respond to loss.
#[test]
fn bbr1_starves_cubic_in_a_shallow_buffer() {
    for bdp in [0.5, 1.0, 1.4] {
        let share = share_beside_cubic(bdp);
        assert!(share > 0.5, "{bdp} BDP: {share}");
    }
}

/// The same window is small where CUBIC fills six BDP.
#[test]
fn bbr1_yields_to_cubic_in_a_deep_buffer() {
    let share = share_beside_cubic(6.0);
    assert!(share < 0.5, "{share}");
}
