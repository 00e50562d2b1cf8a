//! Checks which flows can run at the ends of the emulator, and derives the kernel's settings.
//!
//! TCP flows run on the kernel's TCP. QUIC flows run on guests (`scenario::Guest`). The constructor of
//! the guests decides whether it supports them.

use crate::emu::tcp::{HEADERS, Options};
use congestion::Algorithm;
use congestion::algorithms::fixed_window;
use link::{LinkConfig, RateModel};
use recovery::{Config, Exit, Offload, PacketCount, TimeThreshold, Timeout};
use scenario::{Application, FlowConfig, Scenario, Transport};
use units::{Duration, Ecn};

use crate::feasibility::{self, FLOW_PORT, Limits, MTU, UDP_HEADERS};

/// Largest number of flows in a run. Each has two threads.
pub const MAX_FLOWS: usize = 128;
/// Largest numbers of a run. All its packets stay in memory until its end.
const LIMITS: Limits = Limits { flows: MAX_FLOWS, packets: 5_000_000 };
/// Smallest segment payload of the kernel, in bytes (`TCP_MIN_MSS`).
const MIN_MSS: u32 = 88;
/// Client port of the first UDP source.
pub(crate) const UDP_PORT: u16 = 5000;
/// Port of the probe at both ends.
pub(crate) const PING_PORT: u16 = 4998;

/// Returns the name of a TCP controller in the kernel, or why there is none.
pub(crate) type Name<'a> = dyn Fn(&Algorithm) -> Result<String, String> + 'a;

/// The kernel's settings for a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feasibility {
    /// Kernel settings of each flow, in the scenario's order. `None` for flows of guests.
    pub flows: Vec<Option<Options>>,
    /// Overhead of the layers below IP, in bytes per packet.
    pub overhead: u32,
    /// True if TCP negotiates ECN.
    pub ecn: bool,
    /// True if timestamps of TCP count microseconds instead of milliseconds.
    pub usec_timestamps: bool,
    /// Fixed congestion window of all TCP flows, in segments.
    pub window: Option<u32>,
}

impl Feasibility {
    /// Checks that a scenario can run on the wire, with the kernel's own controllers.
    ///
    /// # Errors
    /// The reason it cannot, as a clause such as `it has several links in a row`.
    pub fn check(scenario: &Scenario) -> Result<Self, String> {
        let kernels = || scenario.flows.iter().filter(|flow| is_tcp(flow));
        let found = Self::check_with(scenario, &|algorithm| controller(algorithm).map(str::to_owned))?;
        let mut windows: Vec<u32> = kernels().filter_map(|flow| window(&flow.algorithm)).collect();
        windows.dedup();
        let window = match (windows.as_slice(), kernels().all(|flow| window(&flow.algorithm).is_some())) {
            ([], _) => None,
            ([window], true) => Some(*window),
            _ => return Err("a fixed window must be the same for all its TCP flows".to_owned()),
        };
        Ok(Self { window, ..found })
    }

    /// Checks that a scenario can run on the wire. `name` returns the name of a TCP controller in
    /// the kernel.
    ///
    /// # Errors
    /// The reason it cannot, as a clause such as `it has several links in a row`.
    pub(crate) fn check_with(scenario: &Scenario, name: &Name<'_>) -> Result<Self, String> {
        let overhead = feasibility::check(scenario, LIMITS)?;
        if scenario.flows.iter().any(|flow| flow.ack.jitter > Duration::ZERO) {
            return Err("its receiver has jitter, but the kernel's acknowledges at once".to_owned());
        }
        let mut flows = Vec::new();
        for (flow, port) in scenario.flows.iter().zip(FLOW_PORT..) {
            flows.push(match flow.transport {
                Transport::Tcp { .. } => Some(connection(flow, port, name)?),
                Transport::Quic { datagram, .. } => check_datagram(datagram).map(|()| None)?,
            });
        }
        let kernels = || scenario.flows.iter().filter(|flow| is_tcp(flow));
        if kernels().any(|flow| Some(flow.recovery.ecn) != kernels().next().map(|first| first.recovery.ecn)) {
            return Err("its TCP flows differ in ECN, which is a single kernel setting".to_owned());
        }
        let ecn = kernels().any(|flow| flow.recovery.ecn != Ecn::NotEct);
        Ok(Self { flows, overhead, ecn, usec_timestamps: false, window: None })
    }

    /// Reports whether guests carry all flows.
    pub fn guests_only(&self) -> bool {
        self.flows.iter().all(Option::is_none)
    }

    /// Returns the numbers of the flows that guests carry.
    pub(crate) fn guests(&self) -> impl Iterator<Item = usize> + '_ {
        self.flows.iter().enumerate().filter(|(_, kernels)| kernels.is_none()).map(|(number, _)| number)
    }

    /// Returns the forward and reverse links. Their timed changes are shifted by `origin`, the time
    /// between the start of the emulator and the start of the run.
    pub(crate) fn links(&self, scenario: &Scenario, origin: Duration) -> (LinkConfig, LinkConfig) {
        (shifted(scenario.link.clone(), origin), shifted(feasibility::return_link(scenario), origin))
    }
}

/// Controllers that Linux has too, each with its name there. Not every kernel has loaded them.
const TWINS: [(&str, &str); 14] = [
    ("tcp-reno", "reno"),
    ("cubic", "cubic"),
    ("bbr1", "bbr"),
    ("vegas", "vegas"),
    ("westwood-plus", "westwood"),
    ("bic", "bic"),
    ("cdg", "cdg"),
    ("dctcp", "dctcp"),
    ("htcp", "htcp"),
    ("hybla", "hybla"),
    ("illinois", "illinois"),
    ("scalable", "scalable"),
    ("veno", "veno"),
    ("yeah", "yeah"),
];

/// Returns the kernel's name of a controller.
fn controller(algorithm: &Algorithm) -> Result<&'static str, String> {
    let name = algorithm.name();
    let twin = match name {
        "fixed-window" => Some("reno"),
        name => TWINS.iter().find(|twin| twin.0 == name).map(|twin| twin.1),
    };
    twin.ok_or_else(|| {
        let names: Vec<&str> = TWINS.iter().map(|twin| twin.0).collect();
        format!("the kernel has no {name}; use {} or fixed-window", names.join(", "))
    })
}

fn window(algorithm: &Algorithm) -> Option<u32> {
    let params: &fixed_window::Params = algorithm.params()?;
    u32::try_from(params.window).ok()
}

fn is_tcp(flow: &FlowConfig) -> bool {
    matches!(flow.transport, Transport::Tcp { .. })
}

/// Returns a rule of loss recovery that Linux lacks, as a clause.
fn foreign_rule(config: &Config) -> Option<&'static str> {
    let rules = [
        (!config.sack, "it has no SACK"),
        (config.exit == Exit::RenoTcp, "it ends recovery at the first new ACK"),
        (config.packet_count == PacketCount::Sacked, "it counts SACKed packets"),
        (config.time_threshold == TimeThreshold::Vegas, "it has the loss check of Vegas"),
        (config.early_retransmit, "it has Early Retransmit"),
        (config.timeout == Timeout::Rto, "it has no tail loss probe"),
        (matches!(config.offload, Offload::Packets(_)), "it has a fixed `offload`"),
        (config.max_rto != Config::tcp().max_rto, "it has a `max-rto` other than 120 s"),
    ];
    rules.iter().find(|(has, _)| *has).map(|(_, rule)| *rule)
}

/// Returns the kernel's settings for a TCP flow.
fn connection(flow: &FlowConfig, port: u16, name: &Name<'_>) -> Result<Options, String> {
    let mss = flow.transport.payload();
    if !(MIN_MSS..=MTU - HEADERS).contains(&mss) {
        return Err(format!("a segment must have {MIN_MSS} to {} bytes, not {mss}", MTU - HEADERS));
    }
    if flow.recovery.ecn == Ecn::Ect1 {
        return Err("it sets ECT(1), which the kernel's TCP does not support".to_owned());
    }
    if !matches!(flow.application, Application::Bulk) || !flow.pauses.is_empty() {
        return Err("its TCP flows must be bulk transfers without pauses".to_owned());
    }
    if let Some(rule) = foreign_rule(&flow.recovery) {
        return Err(format!("{rule}, which the kernel's TCP does not do"));
    }
    Ok(Options { controller: name(&flow.algorithm)?, mss, port })
}

fn check_datagram(datagram: u32) -> Result<(), String> {
    let most = MTU - UDP_HEADERS;
    if datagram > most {
        return Err(format!(
            "a datagram must have at most {most} bytes to fit the link's interfaces, not {datagram}"
        ));
    }
    Ok(())
}

fn shifted(mut link: LinkConfig, by: Duration) -> LinkConfig {
    link.delay_steps.0.iter_mut().for_each(|step| step.0 += by);
    link.limit_steps.0.iter_mut().for_each(|step| step.0 += by);
    link.mtu_steps.0.iter_mut().for_each(|step| step.0 += by);
    match &mut link.rate {
        RateModel::Constant(_) | RateModel::Aggregates(_) => {}
        RateModel::Steps(steps) => steps.iter_mut().for_each(|step| step.0 += by),
        RateModel::Slots(slots) => {
            slots.phase = Duration((slots.phase.0 + by.0) % slots.period.0.max(1));
        }
        RateModel::Trace(trace) => *trace = trace.clone().delayed(by),
    }
    link
}

#[cfg(test)]
mod tests {
    use link::{Limit, Steps};
    use units::{Bytes, Rate, Time};

    use super::*;

    fn scenario(count: usize, name: &str, transport: Transport) -> Scenario {
        let link = LinkConfig { delay: Duration::from_millis(25), ..LinkConfig::plain(Rate(10_000_000)) };
        let algorithm = Algorithm::all().into_iter().find(|a| a.name() == name).unwrap();
        let flow = FlowConfig::new(name, algorithm, transport, Duration::from_millis(50));
        Scenario::new(link, vec![flow; count], Duration::from_secs(10))
    }

    #[test]
    fn the_kernels_controllers() {
        let tcp = Transport::Tcp { mss: 1448, overhead: 52 };
        let names =
            [("vegas", "vegas"), ("westwood-plus", "westwood"), ("tcp-reno", "reno"), ("bbr1", "bbr")];
        for (ours, kernels) in names {
            let feasible = Feasibility::check(&scenario(1, ours, tcp)).unwrap();
            assert_eq!(feasible.flows[0].as_ref().unwrap().controller, kernels);
        }
        let why = Feasibility::check(&scenario(1, "hstcp", tcp)).unwrap_err();
        assert!(why.contains("no hstcp") && why.contains("vegas, westwood-plus"), "{why}");
    }

    /// Rules of loss recovery that the kernel lacks are refused, not ignored.
    #[test]
    fn foreign_rules_are_refused() {
        let tcp = Config::tcp();
        for (recovery, words) in [
            (Config { sack: false, ..tcp.clone() }, "no SACK"),
            (Config { exit: Exit::RenoTcp, ..tcp.clone() }, "first new ACK"),
            (Config { packet_count: PacketCount::Sacked, ..tcp.clone() }, "SACKed packets"),
            (Config { time_threshold: TimeThreshold::Vegas, ..tcp.clone() }, "Vegas"),
            (Config { early_retransmit: true, ..tcp.clone() }, "Early Retransmit"),
            (Config { timeout: Timeout::Rto, ..tcp.clone() }, "tail loss probe"),
            (Config { max_rto: Duration::from_secs(60), ..tcp.clone() }, "a `max-rto` other than 120 s"),
            (
                Config { offload: Offload::Packets(std::num::NonZeroU64::MIN), ..tcp.clone() },
                "a fixed `offload`",
            ),
        ] {
            let mut scenario = scenario(1, "tcp-reno", Transport::Tcp { mss: 1448, overhead: 52 });
            scenario.flows[0].recovery = recovery;
            let why = Feasibility::check(&scenario).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn many_flows_of_small_datagrams() {
        let small = Transport::Quic { datagram: 549, header: 37, overhead: 28 };
        assert!(Feasibility::check(&scenario(128, "cubic", small)).unwrap().guests_only());
        let why = Feasibility::check(&scenario(129, "cubic", small)).unwrap_err();
        assert_eq!(why, "it has more than 128 flows");
    }

    /// Timed changes move from the run's clock to the emulator's, which started earlier.
    #[test]
    fn steps_are_shifted() {
        let at = Time::from_millis;
        let link = LinkConfig {
            rate: RateModel::Steps(vec![(at(0), Rate(9)), (at(5), Rate(8))]),
            delay_steps: Steps(vec![(at(6), Duration(1))]),
            limit_steps: Steps(vec![(at(7), Limit::Packets(3))]),
            mtu_steps: Steps(vec![(at(8), Bytes(1300))]),
            ..LinkConfig::plain(Rate(1))
        };
        let link = shifted(link, Duration::from_millis(100));
        assert_eq!(link.rate, RateModel::Steps(vec![(at(100), Rate(9)), (at(105), Rate(8))]));
        assert_eq!((link.delay_steps.0[0].0, link.limit_steps.0[0].0), (at(106), at(107)));
        assert_eq!(link.mtu_steps.0[0].0, at(108));
        let file = link::TraceFile { trace: "a.down".to_owned(), sha256: None };
        let trace = link::Trace::new(file, std::sync::Arc::new(link::Recording::parse("1\n7").unwrap()));
        let link = LinkConfig { rate: RateModel::Trace(trace), ..LinkConfig::plain(Rate(1)) };
        let capacity = |link: &LinkConfig, from, to| link.capacity_between([at(from), at(to)], 1, "l");
        let late = shifted(link.clone(), Duration::from_millis(100));
        assert_eq!(
            (capacity(&link, 1, 6), capacity(&late, 101, 106), capacity(&late, 100, 101)),
            (0.0, 0.0, 1504.0)
        );
    }
}
