//! CUBIC beside BBRv3 on 10 Mbit/s with a queue of one bandwidth-delay product.

use congestion::Algorithm;
use congestion::algorithms::{bbr::v3, cubic::rfc9438};
use link::{Limit, LinkConfig};
use scenario::{FlowConfig, Scenario, Transport, Watch};
use units::{Bytes, Duration, Rate};

fn main() {
    let quic = Transport::Quic { datagram: 1252, header: 37, overhead: 42 };
    let rtt = Duration::from_millis(50);
    let cubic: Algorithm = rfc9438::Params::default().into();
    let bbr: Algorithm = v3::Params::default().into();
    let link = LinkConfig {
        limit: Limit::Bytes(Bytes(62_500)),
        delay: rtt / 2,
        ..LinkConfig::plain(Rate(10_000_000))
    };
    let flows = [("cubic", cubic), ("bbr3", bbr)].map(|(label, a)| FlowConfig::new(label, a, quic, rtt));
    let scenario = Scenario::new(link, flows, Duration::from_secs(60));
    let Some(outcome) = ackclock_sim::run(&scenario, &Watch::default()) else { return };
    println!("controller  goodput/(Mbit/s)  mean RTT/ms");
    for (flow, record) in scenario.flows.iter().zip(&outcome.flows) {
        let goodput = record.totals.delivered as f64 * 8e-6 / record.measured(outcome.end).as_secs_f64();
        println!("{:10}  {goodput:16.2}  {:11.1}", flow.label, record.totals.rtt.mean_ms());
    }
}
