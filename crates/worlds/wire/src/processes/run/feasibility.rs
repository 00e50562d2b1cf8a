//! Checks whether a scenario can run as another stack's processes, and prepares their parameters.

use link::LinkConfig;
use scenario::{Application, FlowConfig, Scenario, Transport};
use units::Time;

use crate::feasibility::{self, FLOW_PORT, Limits};
use crate::processes::error::Error;
use crate::processes::run::folder::MAX_FILE;
use crate::processes::stack::Stack;

/// Maximum number of flows of a run. Each has two processes.
pub const MAX_FLOWS: usize = 16;
/// Maximum numbers of a run. The contents of its packets stay on disk until it ends.
const LIMITS: Limits = Limits { flows: MAX_FLOWS, packets: 2_000_000 };
/// Sizes of the UDP payload, in bytes: at least what QUIC requires of every path (RFC 9000 section
/// 14), at most what fits into the emulator's devices.
const DATAGRAMS: std::ops::RangeInclusive<u32> = 1200..=1472;
/// Size of the file of an unlimited flow, relative to what the link can carry in the run.
const FILE_MARGIN: f64 = 1.25;

/// Parameters of a flow's processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlowPlan {
    /// The stack's own name of the controller.
    pub(crate) controller: String,
    /// Server's port.
    pub(crate) port: u16,
    pub(crate) start: Time,
    pub(crate) stop: Option<Time>,
    /// Size of the file, in bytes.
    pub(crate) size: u64,
    /// True if the whole file must arrive; false if the flow is of unlimited size.
    pub(crate) whole: bool,
}

/// Parameters of a run's processes and of the emulator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) flows: Vec<FlowPlan>,
    /// UDP payload of a full packet, in bytes.
    pub(crate) datagram: u32,
    /// Overhead of lower layers per packet, in bytes.
    pub(crate) overhead: u32,
    /// Link from client to server, for ACKs.
    pub(crate) there: LinkConfig,
    /// Link from server to client, for data.
    pub(crate) back: LinkConfig,
}

/// Checks whether the stack can run the scenario. `controller` is our name of a controller for all
/// flows; without it, each flow uses its own.
///
/// # Errors
/// [`Error::Refused`] with the reason.
pub fn check(scenario: &Scenario, stack: &Stack, controller: Option<&str>) -> Result<(), Error> {
    plan(scenario, stack, controller).map(drop)
}

pub(crate) fn plan(scenario: &Scenario, stack: &Stack, controller: Option<&str>) -> Result<Plan, Error> {
    let overhead = feasibility::check(scenario, LIMITS).map_err(Error::Refused)?;
    check_traffic(scenario)?;
    let datagrams = scenario.flows.iter().map(datagram).collect::<Result<Vec<_>, _>>()?;
    let datagram = datagrams.first().copied().unwrap_or_default();
    if datagrams.iter().any(|other| *other != datagram) {
        return Err(refused("its flows differ in packet size, but a stack has one"));
    }
    let mut flows = Vec::new();
    for (flow, port) in scenario.flows.iter().zip(FLOW_PORT..) {
        let controller = stack.controller(controller.unwrap_or(flow.algorithm.name()))?.to_owned();
        let size = flow.transfer.unwrap_or_else(|| unlimited_size(scenario));
        let (start, stop, whole) = (flow.start, flow.stop, flow.transfer.is_some());
        flows.push(FlowPlan { controller, port, start, stop, size, whole });
    }
    if flows.iter().any(|flow| flow.size > MAX_FILE) {
        return Err(refused(format!("it needs a file of more than {} MB on disk", MAX_FILE >> 20)));
    }
    let there = feasibility::return_link(scenario);
    Ok(Plan { flows, datagram, overhead, there, back: scenario.link.clone() })
}

fn refused(why: impl Into<String>) -> Error {
    Error::Refused(why.into())
}

/// Checks the limits of processes beside those of the emulator. The time at which a process sends
/// its first packet is not known in advance.
fn check_traffic(scenario: &Scenario) -> Result<(), Error> {
    if !scenario.udp.is_empty() || scenario.probe.is_some() {
        return Err(refused("it has a ping probe or UDP traffic"));
    }
    if feasibility::is_timed(scenario) {
        return Err(refused("its link changes at fixed times, but processes do not start at exact times"));
    }
    Ok(())
}

/// Checks a flow and returns its UDP payload, in bytes.
fn datagram(flow: &FlowConfig) -> Result<u32, Error> {
    let Transport::Quic { datagram, .. } = flow.transport else {
        return Err(refused("its flows use TCP"));
    };
    if !DATAGRAMS.contains(&datagram) {
        let (least, most) = (DATAGRAMS.start(), DATAGRAMS.end());
        return Err(refused(format!("its datagrams have {datagram} bytes; must be {least} to {most}")));
    }
    if !matches!(flow.application, Application::Bulk) || !flow.pauses.is_empty() {
        return Err(refused("its flows are not bulk transfers"));
    }
    if let Some(key) = flow.recovery.key_of_ours() {
        return Err(refused(format!("it sets `recovery.{key}`, which no other stack obeys here")));
    }
    Ok(datagram)
}

/// Returns more bytes than the link can carry in the run.
fn unlimited_size(scenario: &Scenario) -> u64 {
    (feasibility::capacity(scenario) as f64 * FILE_MARGIN) as u64 + (1 << 20)
}

#[cfg(test)]
mod tests {
    use congestion::Algorithm;
    use link::{RateModel, Steps};
    use scenario::{ProbeConfig, Rebind, Route};
    use units::{Duration, Rate};

    use super::*;
    use crate::processes::stack::stack;

    fn scenario() -> Scenario {
        let link = LinkConfig { delay: Duration::from_millis(25), ..LinkConfig::plain(Rate(10_000_000)) };
        let algorithm = Algorithm::all().into_iter().find(|a| a.name() == "cubic").unwrap();
        let flow = FlowConfig::new("cubic", algorithm, Transport::default(), Duration::from_millis(50));
        Scenario::new(link, [flow], Duration::from_secs(10))
    }

    #[test]
    fn a_plain_run() {
        let mut scenario = scenario();
        scenario.flows[0].transfer = Some(1000);
        let quinn = stack("quinn").unwrap();
        let plan = plan(&scenario, &quinn, None).unwrap();
        assert_eq!((plan.datagram, plan.overhead), (1252, 14));
        assert_eq!(
            (plan.there.delay, plan.back.delay),
            (Duration::from_millis(25), Duration::from_millis(25))
        );
        let flow = &plan.flows[0];
        assert_eq!((flow.controller.as_str(), flow.size, flow.whole), ("cubic", 1000, true));
        scenario.flows[0].transfer = None;
        let endless = super::plan(&scenario, &quinn, Some("bbr1")).unwrap().flows.remove(0);
        // 12.5 MB in ten seconds, plus a quarter and a megabyte.
        assert_eq!((endless.controller.as_str(), endless.size, endless.whole), ("bbr1", 16_673_576, false));
    }

    #[test]
    fn what_is_refused_says_why() {
        let quinn = stack("quinn").unwrap();
        let why = |change: &dyn Fn(&mut Scenario)| {
            let mut scenario = scenario();
            change(&mut scenario);
            check(&scenario, &quinn, None).unwrap_err().to_string()
        };
        let tcp = Transport::Tcp { mss: 1448, overhead: 52 };
        let datagram = |datagram| Transport::Quic { datagram, header: 37, overhead: 42 };
        let interval = Duration::from_millis(100);
        let probe = ProbeConfig { interval, size: 100, route: Route::ALL, back: None, rtt: interval };
        for (change, word) in [
            (&|s: &mut Scenario| s.flows.clear() as _, "it has no flow"),
            (&|s| s.flows[0].transport = tcp, "use TCP"),
            (&|s| s.flows[0].transport = datagram(1100), "1100 bytes; must be 1200 to 1472"),
            (&|s| s.flows[0].transport = datagram(1473), "1473 bytes; must be"),
            (&|s| s.flows[0].rtt = Duration::from_millis(20), "base RTT"),
            (&|s| s.flows[0].rebind = vec![(Duration::ZERO, Rebind::Port)], "NAT"),
            (&|s| s.flows[0].pauses = vec![(Time::ZERO, Time::NEVER)], "not bulk"),
            (&|s| s.flows[0].recovery.max_pto = Some(interval), "sets `recovery.max-pto`"),
            (&|s| s.beyond.push(s.link.clone()), "several links"),
            (&|s| s.reverse.push(s.link.clone()), "do not cross the reverse link"),
            (&|s| s.duration = Duration::from_secs(700), "more than"),
            (&|s| s.probe = Some(probe), "a ping probe or UDP"),
            (&|s| s.link.delay_steps = Steps(vec![(Time::ZERO, Duration(1))]), "at fixed times"),
            (&|s| s.link.rate = RateModel::Constant(Rate(100_000_000_000)), "packets, more than"),
            (&|s| s.flows[0].transfer = Some(5 << 30), "on disk"),
        ] as [(&dyn Fn(&mut Scenario), &str); 15]
        {
            assert!(why(change).contains(word), "{} for {word}", why(change));
        }
        let none = check(&scenario(), &stack("quic-go").unwrap(), None).unwrap_err().to_string();
        assert_eq!(none, "quic-go has no `cubic`; it has its own versions of new-reno");
    }
}
