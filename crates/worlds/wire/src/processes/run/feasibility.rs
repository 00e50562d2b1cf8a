//! Checks whether a scenario can run as another stack's processes, and prepares their parameters.

use crate::emu::Config;
use link::{LinkConfig, RateModel};
use scenario::{Application, FlowConfig, Scenario, Transport};
use units::{Duration, Rate, Time};

use crate::processes::error::Error;
use crate::processes::run::folder::MAX_FILE;
use crate::processes::stack::Stack;

/// Maximum number of flows of a run. Each has two processes.
pub const MAX_FLOWS: usize = 16;
/// Maximum duration of a run.
pub const MAX_DURATION: Duration = Duration::from_secs(600);
/// Maximum number of packets that the link can carry in a run. Their contents stay on disk until
/// the run ends.
const MAX_PACKETS: u64 = 2_000_000;
/// Bytes of the IPv4 and UDP headers.
pub(crate) const HEADERS: u32 = 28;
/// Sizes of the UDP payload, in bytes: at least what QUIC requires of every path (RFC 9000 section
/// 14), at most what fits into the emulator's devices.
const DATAGRAMS: std::ops::RangeInclusive<u32> = 1200..=1472;
/// Server's port of the first flow. Later flows have the ports after it.
const PORT: u16 = 7000;
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
    /// Base RTT, without queueing.
    pub(crate) rtt: Duration,
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
    let Some(first) = scenario.flows.first() else { return Err(refused("it has no flow")) };
    check_bounds(scenario)?;
    check_link(scenario, first)?;
    let (datagram, overhead) = sizes(first)?;
    let mut flows = Vec::new();
    for (flow, port) in scenario.flows.iter().zip(PORT..) {
        check_flow(scenario, first, flow)?;
        let controller = stack.controller(controller.unwrap_or(flow.algorithm.name()))?.to_owned();
        let size = flow.transfer.unwrap_or_else(|| unlimited_size(scenario));
        let (start, stop, whole) = (flow.start, flow.stop, flow.transfer.is_some());
        flows.push(FlowPlan { controller, port, start, stop, size, whole });
    }
    if flows.iter().any(|flow| flow.size > MAX_FILE) {
        return Err(refused(format!("it needs a file of more than {} MB on disk", MAX_FILE >> 20)));
    }
    check_packets(scenario, datagram)?;
    let rest = first.rtt - scenario.link.delay;
    let there = scenario.reverse.first().cloned().unwrap_or_else(|| Config::delay(rest));
    Ok(Plan { flows, datagram, overhead, rtt: first.rtt, there, back: scenario.link.clone() })
}

fn refused(why: impl Into<String>) -> Error {
    Error::Refused(why.into())
}

fn check_bounds(scenario: &Scenario) -> Result<(), Error> {
    if scenario.flows.len() > MAX_FLOWS {
        return Err(refused(format!("it has more than {MAX_FLOWS} flows")));
    }
    if scenario.duration > MAX_DURATION {
        let why = format!("it takes {} of real time, more than {MAX_DURATION}", scenario.duration);
        return Err(refused(why));
    }
    if !scenario.udp.is_empty() || scenario.probe.is_some() {
        return Err(refused("it has a ping probe or UDP traffic"));
    }
    Ok(())
}

/// Requires a single bottleneck without scheduled changes. The time at which a process sends its
/// first packet is not known in advance.
fn check_link(scenario: &Scenario, first: &FlowConfig) -> Result<(), Error> {
    if !scenario.beyond.is_empty() || scenario.reverse.len() > 1 {
        return Err(refused("it has several links in a row"));
    }
    let timed = |link: &LinkConfig| {
        let steps = !link.delay_steps.is_empty() || !link.limit_steps.is_empty();
        steps || !matches!(link.rate, RateModel::Constant(_))
    };
    if scenario.links().any(timed) {
        return Err(refused("its link changes at fixed times, but processes do not start at exact times"));
    }
    let delays = scenario.links().fold(Duration::ZERO, |sum, link| sum + link.delay);
    if delays > first.rtt || (!scenario.reverse.is_empty() && delays != first.rtt) {
        return Err(refused("its base RTT is not the sum of its link delays"));
    }
    Ok(())
}

/// Returns the UDP payload and the overhead of lower layers, in bytes.
fn sizes(flow: &FlowConfig) -> Result<(u32, u32), Error> {
    let Transport::Quic { datagram, overhead, .. } = flow.transport else {
        return Err(refused("its flows use TCP"));
    };
    if !DATAGRAMS.contains(&datagram) {
        let (least, most) = (DATAGRAMS.start(), DATAGRAMS.end());
        return Err(refused(format!("its datagrams have {datagram} bytes; must be {least} to {most}")));
    }
    let layers = overhead.checked_sub(HEADERS);
    let layers = layers.ok_or_else(|| {
        refused(format!(
            "its overhead of {overhead} bytes is less than the {HEADERS} bytes of IPv4 and UDP headers"
        ))
    })?;
    Ok((datagram, layers))
}

fn check_flow(scenario: &Scenario, first: &FlowConfig, flow: &FlowConfig) -> Result<(), Error> {
    if sizes(flow)? != sizes(first)? || flow.rtt != first.rtt {
        return Err(refused(
            "its flows differ in packet size or base RTT, but the emulator has only one link",
        ));
    }
    if !matches!(flow.application, Application::Bulk) || !flow.pauses.is_empty() {
        return Err(refused("its flows are not bulk transfers"));
    }
    if usize::from(flow.route.first) > 0 {
        return Err(refused("a flow does not start at the first link"));
    }
    if flow.back.is_some() != (scenario.reverse.len() == 1) {
        return Err(refused("its ACKs do not cross the reverse link"));
    }
    if !flow.rebind.is_empty() {
        return Err(refused("a flow has a NAT rebinding, but the emulator does not rewrite addresses"));
    }
    Ok(())
}

fn rate(link: &LinkConfig) -> Rate {
    match link.rate {
        RateModel::Constant(rate) => rate,
        _ => Rate(0),
    }
}

/// Returns more bytes than the link can carry in the run.
fn unlimited_size(scenario: &Scenario) -> u64 {
    (rate(&scenario.link).bytes_in(scenario.duration) as f64 * FILE_MARGIN) as u64 + (1 << 20)
}

fn check_packets(scenario: &Scenario, datagram: u32) -> Result<(), Error> {
    let carried = scenario.flows.iter().map(|flow| flow.transfer).sum::<Option<u64>>();
    let most = rate(&scenario.link).bytes_in(scenario.duration);
    let packets = carried.unwrap_or(most).min(most) / u64::from(datagram);
    match packets > MAX_PACKETS {
        true => Err(refused(format!("it sends up to {packets} packets, more than {MAX_PACKETS}"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use congestion::Algorithm;
    use link::Steps;
    use scenario::{ProbeConfig, Rebind, Route};

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
        assert_eq!((plan.datagram, plan.overhead, plan.rtt), (1252, 14, Duration::from_millis(50)));
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
            (&|s| s.beyond.push(s.link.clone()), "several links"),
            (&|s| s.reverse.push(s.link.clone()), "do not cross the reverse link"),
            (&|s| s.duration = Duration::from_secs(700), "more than"),
            (&|s| s.probe = Some(probe), "a ping probe or UDP"),
            (&|s| s.link.delay_steps = Steps(vec![(Time::ZERO, Duration(1))]), "at fixed times"),
            (&|s| s.link.rate = RateModel::Constant(Rate(100_000_000_000)), "on disk"),
        ] as [(&dyn Fn(&mut Scenario), &str); 13]
        {
            assert!(why(change).contains(word), "{} for {word}", why(change));
        }
        let none = check(&scenario(), &stack("quic-go").unwrap(), None).unwrap_err().to_string();
        assert_eq!(none, "quic-go has no `cubic`; it has its own versions of new-reno");
    }
}
