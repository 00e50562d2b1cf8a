//! Runs the same dccc flows twice, as a fluid and as packets in the simulator, to compare them.

use congestion::algorithms::media::dccc::Params;
use link::LinkConfig;
use recovery::{AckConfig, Config};
use scenario::{FlowConfig, Scenario, Transport, Variables, Watch};
use serde::Serialize;
use units::{Duration, Rate, Time};

use super::fluid::{self, spread};

/// Flows with equal parameters on one link with an unlimited buffer.
#[derive(Clone, Debug)]
pub struct Case {
    /// Controller parameters of every flow.
    pub params: Params,
    /// RTT without queue, half of it in each direction.
    pub base_rtt: Duration,
    /// Capacity of the link, shared by all flows.
    pub capacity: Rate,
    /// Packet size in bytes. The window counts all of them.
    pub packet: u32,
    /// Start times of the flows.
    pub starts: Vec<Time>,
    /// Simulated time.
    pub duration: Duration,
}

/// Time series of one model, sampled every 10 ms. With short base RTTs, the fluid is sampled every
/// fifth of the base RTT.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSeries {
    /// Times, in seconds.
    pub times: Vec<f64>,
    /// One-way delay, in milliseconds.
    pub delay: Vec<f64>,
    /// Rate of each flow, in Mbit/s. NaN before the flow starts.
    pub rates: Vec<Vec<f64>>,
}

/// Both models, and their averages at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Overlay {
    /// Fluid model: equations 2, 9, 16 and 17.
    #[serde(skip)]
    pub fluid: TimeSeries,
    /// Packets in the simulator.
    #[serde(skip)]
    pub packets: TimeSeries,
    /// End of the fluid model.
    pub fluid_end: End,
    /// End of the packet simulation.
    pub packets_end: End,
}

/// Averages over the last quarter of the simulation, in which all flows run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct End {
    /// Mean one-way delay, in milliseconds.
    pub delay_ms: f64,
    /// Standard deviation of the one-way delay, in milliseconds.
    pub delay_deviation_ms: f64,
    /// Mean rate of each flow, in Mbit/s.
    pub rates_mbit_s: Vec<f64>,
}

const STEP: Duration = Duration::from_millis(10);

impl Case {
    /// Runs both models. Returns `None` if the run was interrupted.
    pub fn run(&self, watch: &Watch) -> Option<Overlay> {
        let (fluid, packets) = (self.fluid(), self.packets(watch)?);
        let (fluid_end, packets_end) = (fluid.end(), packets.end());
        Some(Overlay { fluid, packets, fluid_end, packets_end })
    }

    /// Returns a name that is unique among simulations of the same setting.
    pub fn name(&self) -> String {
        let starts: Vec<String> = self.starts.iter().map(|start| (*start - Time::ZERO).to_string()).collect();
        format!("simulated {} from {}", self.duration, starts.join(" "))
    }

    /// Returns the step of the fluid's equations, well below its delays.
    pub fn step(&self) -> Duration {
        STEP.min(self.base_rtt / 5)
    }

    /// Runs the fluid model.
    pub fn fluid(&self) -> TimeSeries {
        let flow = |start: &Time| fluid::Flow {
            params: self.params.clone(),
            base_rtt: self.base_rtt,
            start: *start,
        };
        let flows: Vec<_> = self.starts.iter().map(flow).collect();
        let path = fluid::run(self.capacity, &flows, self.duration, self.step());
        let running = |start: &Time, rates: Vec<f64>| -> Vec<f64> {
            let at = path.times.iter().zip(rates);
            at.map(|(t, x)| if *t < start.as_secs_f64() { f64::NAN } else { x * 1e-6 }).collect()
        };
        TimeSeries {
            delay: path.queue.iter().map(|q| q * 1e3 + self.base_rtt.as_millis_f64() / 2.0).collect(),
            rates: self.starts.iter().zip(path.rates).map(|(start, rates)| running(start, rates)).collect(),
            times: path.times,
        }
    }

    /// Runs the packets, paced and acknowledged one by one, so that they are as close to a fluid as
    /// possible.
    pub fn packets(&self, watch: &Watch) -> Option<TimeSeries> {
        let series = sim::run(&self.scenario(), watch)?.series;
        let per_byte = 8e3 / self.capacity.0 as f64;
        let rates = |inner: &Variables| -> Vec<f64> { inner["x"].iter().map(|x| x * 1e-6).collect() };
        Some(TimeSeries {
            delay: series
                .backlog
                .iter()
                .map(|b| b * per_byte + self.base_rtt.as_millis_f64() / 2.0)
                .collect(),
            rates: series.flows.iter().map(|flow| rates(&flow.inner)).collect(),
            times: series.times,
        })
    }

    fn scenario(&self) -> Scenario {
        let link = LinkConfig { delay: self.base_rtt / 2, ..LinkConfig::plain(self.capacity) };
        let flows = self.starts.iter().map(|start| self.flow(*start));
        Scenario { series: Some(STEP), ..Scenario::new(link, flows, self.duration) }
    }

    fn flow(&self, start: Time) -> FlowConfig {
        let mut recovery = Config::quic();
        recovery.pacing.burst = Some(1);
        let quic = Transport::Quic { datagram: self.packet, header: 25, overhead: 0 };
        FlowConfig {
            recovery,
            ack: AckConfig { ack_every: 1.into(), ..AckConfig::default() },
            start,
            ..FlowConfig::new("dccc", self.params.clone(), quic, self.base_rtt)
        }
    }
}

impl TimeSeries {
    /// Returns the averages over the last quarter.
    pub fn end(&self) -> End {
        let last = |values: &[f64]| spread(&values[values.len() * 3 / 4..]);
        let (delay_ms, delay_deviation_ms) = last(&self.delay);
        End { delay_ms, delay_deviation_ms, rates_mbit_s: self.rates.iter().map(|r| last(r).0).collect() }
    }
}
