//! Estimates the size of a run's logs.

use std::collections::BTreeMap;

use link::RateModel;
use scenario::{FlowConfig, Scenario};
use units::{Bytes, Rate, Time};

use super::Format;

/// Returns the approximate bytes of a run's logs.
pub fn estimate(scenario: &Scenario, format: Format) -> Bytes {
    Bytes(packets(scenario).saturating_mul(format.bytes_per_packet().0))
}

/// Returns the approximate number of packets of a run's flows. It assumes that each flow sends all
/// the time, or until its transfer ends. Its slowest link, shared with the other flows there, sets
/// the rate.
pub fn packets(scenario: &Scenario) -> u64 {
    let links: Vec<&RateModel> = scenario.links().map(|link| &link.rate).collect();
    let end = Time::ZERO + scenario.duration;
    let mut loads: BTreeMap<usize, Load> = BTreeMap::new();
    for flow in &scenario.flows {
        let route = scenario.bounded(flow.route);
        let until = flow.stop.unwrap_or(end).min(end);
        let crossed = links.iter().enumerate().filter(|(i, _)| route.crosses(*i));
        let slowest =
            crossed.map(|(i, rate)| (carried(rate, flow.start, until), i)).min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((bytes, link)) = slowest {
            loads.entry(link).or_default().add(flow, bytes);
        }
    }
    let packets: f64 =
        loads.iter().map(|(i, load)| load.packets_of(carried(links[*i], Time::ZERO, end))).sum();
    packets as u64
}

/// Traffic that flows would send over the link that limits them.
#[derive(Default)]
struct Load {
    bytes: f64,
    packets: f64,
}

impl Load {
    fn add(&mut self, flow: &FlowConfig, carried: f64) {
        let size = f64::from(flow.transport.wire_bytes(flow.transport.payload()).max(1));
        let bytes = flow.transfer.map_or(carried, |transfer| carried.min(transfer as f64));
        self.bytes += bytes;
        self.packets += bytes / size;
    }

    /// Returns the packets that the link carries.
    fn packets_of(&self, carried: f64) -> f64 {
        if self.bytes > carried { self.packets * carried / self.bytes } else { self.packets }
    }
}

/// Returns the bytes that pass at this rate. A random or recorded rate counts with its mean.
fn carried(model: &RateModel, from: Time, to: Time) -> f64 {
    let bytes = |rate: Rate, from: Time, to: Time| rate.bytes_in(to - from) as f64;
    match model {
        RateModel::Constant(rate) => bytes(*rate, from, to),
        RateModel::Aggregates(_) | RateModel::Trace(_) => bytes(model.nominal(), from, to),
        RateModel::Steps(steps) => {
            let begins = |i: usize| if i == 0 { Time::ZERO } else { steps[i].0 };
            let ends = |i: usize| steps.get(i + 1).map_or(Time::NEVER, |step| step.0);
            let step = |i: usize| bytes(steps[i].1, begins(i).max(from), ends(i).min(to));
            (0..steps.len()).map(step).sum()
        }
        RateModel::Slots(slots) => {
            let mean = slots.median.0 as f64 * libm::exp(slots.sigma * slots.sigma / 2.0);
            bytes(Rate(mean as u64).clamp(slots.min.min(slots.max), slots.max), from, to)
        }
    }
}
