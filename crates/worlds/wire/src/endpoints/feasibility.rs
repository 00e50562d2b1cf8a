//! Checks that a scenario can run on the wire, and derives the kernel's settings.
//!
//! TCP flows run on the kernel's TCP. QUIC flows run on guests (`scenario::Guest`). The constructor of
//! the guests decides whether it supports them.

use crate::emu::tcp::{HEADERS, Options};
use congestion::Algorithm;
use congestion::algorithms::fixed_window;
use link::{LinkConfig, RateModel};
use scenario::{Application, FlowConfig, Scenario, Transport, UdpConfig};
use units::Ecn;
use units::{Duration, Rate};

/// Largest number of flows in a run. Each has two threads.
pub const MAX_FLOWS: usize = 64;
/// Longest run.
pub const MAX_DURATION: Duration = Duration::from_secs(600);
/// Largest number of packets that the link can carry in a run. All stay in memory until its end.
const MAX_PACKETS: u64 = 5_000_000;
/// Largest IP packet of the TUN devices, in bytes.
const MTU: u32 = 1500;
/// Smallest segment payload of the kernel, in bytes (`TCP_MIN_MSS`).
const MIN_MSS: u32 = 88;
/// Size of the IPv4 and UDP headers, in bytes.
pub(crate) const UDP_HEADERS: u32 = 28;
/// Size of the packet number in probe packets, in bytes.
pub(crate) const PROBE_PAYLOAD: u32 = 8;
/// Server port of the first flow. QUIC flows use the same port at the client.
pub(crate) const FLOW_PORT: u16 = 7000;
/// Client port of the first UDP source.
pub(crate) const UDP_PORT: u16 = 5000;
/// Port of the probe at both ends.
pub(crate) const PING_PORT: u16 = 4998;

/// The kernel's settings for a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feasibility {
    /// Kernel settings of each flow, in the scenario's order. `None` for flows of guests.
    pub flows: Vec<Option<Options>>,
    /// Overhead of the layers below IP, in bytes per packet.
    pub overhead: u32,
    /// True if TCP negotiates ECN.
    pub ecn: bool,
    /// Fixed congestion window of all TCP flows, in segments.
    pub window: Option<u32>,
}

impl Feasibility {
    /// Checks that a scenario can run on the wire.
    ///
    /// # Errors
    /// The reason it cannot, as a clause such as `it has several links in a row`.
    pub fn check(scenario: &Scenario) -> Result<Self, String> {
        check_bounds(scenario)?;
        check_links(scenario)?;
        let Some(first) = scenario.flows.first() else { return Err("it has no flow".to_owned()) };
        let overhead = overhead(first)?;
        let mut flows = Vec::new();
        for (flow, port) in scenario.flows.iter().zip(FLOW_PORT..) {
            check_alike(scenario, first, flow)?;
            flows.push(match flow.transport {
                Transport::Tcp { .. } => Some(connection(flow, port)?),
                Transport::Quic { datagram, .. } => check_datagram(datagram).map(|()| None)?,
            });
        }
        let kernels = || scenario.flows.iter().filter(|flow| is_tcp(flow));
        if kernels().any(|flow| Some(flow.recovery.ecn) != kernels().next().map(|first| first.recovery.ecn)) {
            return Err("its TCP flows differ in ECN, which is a single kernel setting".to_owned());
        }
        let mut windows: Vec<u32> = kernels().filter_map(|flow| window(&flow.algorithm)).collect();
        windows.dedup();
        let window = match (windows.as_slice(), kernels().all(|flow| window(&flow.algorithm).is_some())) {
            ([], _) => None,
            ([window], true) => Some(*window),
            _ => return Err("a fixed window must be the same for all its TCP flows".to_owned()),
        };
        check_packets(scenario, overhead)?;
        Ok(Self { flows, overhead, ecn: kernels().any(|flow| flow.recovery.ecn != Ecn::NotEct), window })
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
        let rest = scenario.flows.first().map_or(Duration::ZERO, |flow| flow.rtt - scenario.link.delay);
        let back = scenario.reverse.first().cloned().unwrap_or_else(|| crate::emu::Config::delay(rest));
        (shifted(scenario.link.clone(), origin), shifted(back, origin))
    }
}

/// Returns the kernel's name of a controller.
fn controller(algorithm: &Algorithm) -> Result<&'static str, String> {
    match algorithm.name() {
        "tcp-reno" | "fixed-window" => Ok("reno"),
        "cubic" => Ok("cubic"),
        "bbr1" => Ok("bbr"),
        other => Err(format!("the kernel has no {other}; use tcp-reno, cubic, bbr1 or fixed-window")),
    }
}

fn window(algorithm: &Algorithm) -> Option<u32> {
    let params: &fixed_window::Params = algorithm.params()?;
    u32::try_from(params.window).ok()
}

fn is_tcp(flow: &FlowConfig) -> bool {
    matches!(flow.transport, Transport::Tcp { .. })
}

/// Returns the kernel's settings for a TCP flow.
fn connection(flow: &FlowConfig, port: u16) -> Result<Options, String> {
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
    Ok(Options { controller: controller(&flow.algorithm)?.to_owned(), mss, port })
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

/// Returns the overhead of the layers below IP, in bytes per packet.
fn overhead(flow: &FlowConfig) -> Result<u32, String> {
    let (overhead, headers, what) = match flow.transport {
        Transport::Tcp { overhead, .. } => (overhead, HEADERS, "IPv4, TCP, timestamps"),
        Transport::Quic { overhead, .. } => (overhead, UDP_HEADERS, "IPv4, UDP"),
    };
    overhead.checked_sub(headers).ok_or_else(|| {
        format!("its packets have {overhead} bytes of headers, but need at least {headers} ({what})")
    })
}

/// Checks the settings that all flows must share.
fn check_alike(scenario: &Scenario, first: &FlowConfig, flow: &FlowConfig) -> Result<(), String> {
    if overhead(flow)? != overhead(first)? {
        return Err("its flows differ in packet overhead".to_owned());
    }
    if usize::from(flow.route.first) > 0 {
        return Err("a flow comes from the other end".to_owned());
    }
    if flow.back.is_some() != (scenario.reverse.len() == 1) {
        return Err("its acknowledgements do not cross the reverse link".to_owned());
    }
    if !flow.rebind.is_empty() {
        return Err("a NAT rebinds a flow, but the emulator cannot rewrite addresses".to_owned());
    }
    if flow.ack.jitter > Duration::ZERO {
        return Err("its receiver has jitter, but the kernel's acknowledges at once".to_owned());
    }
    if flow.rtt != first.rtt {
        return Err("its flows differ in base RTT, but the emulator has one link".to_owned());
    }
    Ok(())
}

fn check_links(scenario: &Scenario) -> Result<(), String> {
    if !scenario.beyond.is_empty() || scenario.reverse.len() > 1 {
        return Err("it has several links in a row".to_owned());
    }
    let base = scenario.forward().chain(&scenario.reverse).fold(Duration::ZERO, |sum, link| sum + link.delay);
    if !scenario.reverse.is_empty() && scenario.flows.iter().any(|flow| flow.rtt != base) {
        return Err("its base RTT is not the sum of its links' delays".to_owned());
    }
    Ok(())
}

fn check_bounds(scenario: &Scenario) -> Result<(), String> {
    if scenario.flows.len() + scenario.udp.len() > MAX_FLOWS {
        return Err(format!("it has more than {MAX_FLOWS} flows"));
    }
    if scenario.duration > MAX_DURATION {
        let may_end = scenario.flows.iter().all(|flow| flow.transfer.is_some());
        let why = if may_end { "; set a shorter `duration` that its transfers fit in" } else { "" };
        return Err(format!("it takes {}, more than {MAX_DURATION} of real time{why}", scenario.duration));
    }
    Ok(())
}

/// Checks that the packet log fits in memory, and that UDP and probe packets have a possible size.
fn check_packets(scenario: &Scenario, overhead: u32) -> Result<(), String> {
    let packet = scenario.flows.iter().map(|flow| flow.transport.wire_bytes(flow.transport.payload())).min();
    let carried = scenario.flows.iter().map(|flow| flow.transfer).sum::<Option<u64>>();
    let most = highest(&scenario.link.rate).bytes_in(scenario.duration);
    let of_udp = |udp: &UdpConfig| {
        let rate = udp.rate.iter().map(|step| step.1).max().unwrap_or(Rate(0));
        rate.bytes_in(scenario.duration) / u64::from(udp.size.max(1))
    };
    let packets = carried.unwrap_or(most).min(most) / u64::from(packet.unwrap_or(MTU).max(1))
        + scenario.udp.iter().map(of_udp).sum::<u64>();
    if packets > MAX_PACKETS {
        return Err(format!("it sends up to {packets} packets, more than {MAX_PACKETS}"));
    }
    let fits = UDP_HEADERS + PROBE_PAYLOAD + overhead..=MTU + overhead;
    let wrong = |what: &str| {
        format!(
            "{what} must be UDP over IPv4 from the client, in packets of {} to {} bytes",
            fits.start(),
            fits.end()
        )
    };
    if let Some(udp) = scenario.udp.iter().find(|udp| udp.route.first > 0 || !fits.contains(&udp.size)) {
        return Err(wrong(&format!("`{}`", udp.label)));
    }
    match scenario.probe {
        Some(probe) if probe.route.first > 0 || !fits.contains(&probe.size) => Err(wrong("the probe")),
        _ => Ok(()),
    }
}

fn shifted(mut link: LinkConfig, by: Duration) -> LinkConfig {
    link.delay_steps.0.iter_mut().for_each(|step| step.0 += by);
    link.limit_steps.0.iter_mut().for_each(|step| step.0 += by);
    match &mut link.rate {
        RateModel::Constant(_) => {}
        RateModel::Steps(steps) => steps.iter_mut().for_each(|step| step.0 += by),
        RateModel::Slots(slots) => {
            slots.phase = Duration((slots.phase.0 + by.0) % slots.period.0.max(1));
        }
    }
    link
}

/// Reports whether a link changes over time.
pub(crate) fn is_timed(scenario: &Scenario) -> bool {
    scenario.links().any(|link| {
        let steps = !link.delay_steps.is_empty() || !link.limit_steps.is_empty();
        steps || !matches!(link.rate, RateModel::Constant(_))
    })
}

fn highest(rate: &RateModel) -> Rate {
    match rate {
        RateModel::Constant(rate) => *rate,
        RateModel::Steps(steps) => steps.iter().map(|step| step.1).max().unwrap_or(Rate(0)),
        RateModel::Slots(slots) => slots.max,
    }
}

#[cfg(test)]
mod tests {
    use link::{Limit, Steps};
    use units::Time;

    use super::*;

    /// Timed changes move from the run's clock to the emulator's, which started earlier.
    #[test]
    fn steps_are_shifted() {
        let at = Time::from_millis;
        let link = LinkConfig {
            rate: RateModel::Steps(vec![(at(0), Rate(9)), (at(5), Rate(8))]),
            delay_steps: Steps(vec![(at(6), Duration(1))]),
            limit_steps: Steps(vec![(at(7), Limit::Packets(3))]),
            ..LinkConfig::plain(Rate(1))
        };
        let link = shifted(link, Duration::from_millis(100));
        assert_eq!(link.rate, RateModel::Steps(vec![(at(100), Rate(9)), (at(105), Rate(8))]));
        assert_eq!((link.delay_steps.0[0].0, link.limit_steps.0[0].0), (at(106), at(107)));
    }
}
