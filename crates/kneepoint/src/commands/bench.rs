//! `kneepoint bench`: packets through the bottleneck per CPU second, one core, series recording off.
//!
//! What bounds it is on record in `docs/performance.md`.

use congestion::algorithms::cubic::rfc9438 as cubic;
use cpu_time::ThreadTime;
use link::{Limit, LinkConfig};
use scenario::{FlowConfig, Scenario, Transport, Watch};
use units::{Bytes, Duration, Rate, Time};

use crate::status::{Error, HOLDS, print};

/// Measures every case, so often each.
pub(crate) fn run(tries: u32, json: bool) -> Result<u8, Error> {
    let mut figures = Vec::new();
    for case in cases() {
        let Some(figure) = measure(&case, tries) else { continue };
        if !json {
            print(&format!(
                "{:32} {:>9} packets  {:>6.2} s CPU  {:>5.2} million packets per CPU second\n",
                figure.case,
                figure.packets,
                figure.cpu_seconds,
                figure.packets_per_cpu_second * 1e-6
            ));
        }
        figures.push(figure);
    }
    if json {
        print(&(serde_json::to_string_pretty(&figures).map_err(Error::bad)? + "\n"));
    }
    Ok(HOLDS)
}
/// One measured case.
#[derive(Clone, Debug, serde::Serialize)]
struct Figure {
    /// What was run.
    case: &'static str,
    /// Packets that passed the bottleneck.
    packets: u64,
    /// CPU seconds of the thread that ran it, the fastest of the tries.
    cpu_seconds: f64,
    /// The first by the second.
    packets_per_cpu_second: f64,
}

/// A case: name and scenario.
type Case = (&'static str, Scenario);

/// The cases of the benchmark.
fn cases() -> Vec<Case> {
    vec![
        ("1 flow, 10 Mbit/s, 100 MB", scenario(1, Rate(10_000_000), Some(100_000_000), 400)),
        ("1 flow, 500 Mbit/s, 60 s", scenario(1, Rate(500_000_000), None, 60)),
        ("128 flows, 500 Mbit/s, 60 s", scenario(128, Rate(500_000_000), None, 60)),
        ("1000 flows, 500 Mbit/s, 60 s", scenario(1000, Rate(500_000_000), None, 60)),
    ]
}

fn scenario(count: u32, rate: Rate, transfer: Option<u64>, seconds: u64) -> Scenario {
    let rtt = Duration::from_millis(50);
    let limit = rate.bytes_in(rtt);
    let quic = Transport::Quic { datagram: 1252, header: 37, overhead: 42 };
    let flow = |id: u32| FlowConfig {
        start: Time::from_millis(u64::from(id)),
        transfer,
        ..FlowConfig::new(&format!("cubic #{id}"), cubic::Params::default(), quic, rtt)
    };
    let link = LinkConfig { limit: Limit::Bytes(Bytes(limit)), delay: rtt / 2, ..LinkConfig::plain(rate) };
    Scenario::new(link, (0..count).map(flow), Duration::from_secs(seconds))
}

/// Runs one case `tries` times and keeps the fastest: the least disturbed by other programs.
fn measure((case, scenario): &Case, tries: u32) -> Option<Figure> {
    let mut best: Option<Figure> = None;
    for _ in 0..tries.max(1) {
        let start = ThreadTime::now();
        let outcome = sim::run(scenario, &Watch::default())?;
        let cpu_seconds = start.elapsed().as_secs_f64();
        let packets = outcome.link.delivered.packets;
        if best.as_ref().is_none_or(|b| cpu_seconds < b.cpu_seconds) {
            let packets_per_cpu_second = packets as f64 / cpu_seconds;
            best = Some(Figure { case, packets, cpu_seconds, packets_per_cpu_second });
        }
    }
    best
}
