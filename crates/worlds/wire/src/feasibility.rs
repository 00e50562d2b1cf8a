//! Checks that a scenario fits the emulator: one link, in real time, with packets that its devices
//! carry. Which flows can run at its ends is checked elsewhere.

use crate::emu::Config;
use crate::emu::tcp::HEADERS;
use link::{LinkConfig, RateModel};
use scenario::{FlowConfig, Scenario, Transport, UdpConfig};
use units::{Duration, Rate, Time};

/// Longest run.
pub const MAX_DURATION: Duration = Duration::from_secs(600);
/// Largest IP packet of the TUN devices, in bytes.
pub(crate) const MTU: u32 = 1500;
/// Size of the IPv4 and UDP headers, in bytes.
pub(crate) const UDP_HEADERS: u32 = 28;
/// Size of the packet number in probe packets, in bytes.
pub(crate) const PROBE_PAYLOAD: u32 = 8;
/// Server port of the first flow. Later flows have the ports after it.
pub(crate) const FLOW_PORT: u16 = 7000;

/// Largest numbers of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) flows: usize,
    /// Packets that the link can carry. All are kept until the end of the run.
    pub(crate) packets: u64,
}

/// Checks that a scenario fits the emulator. Returns the overhead of the layers below IP, in bytes
/// per packet.
///
/// # Errors
/// The reason it does not fit, as a clause such as `it has several links in a row`.
pub(crate) fn check(scenario: &Scenario, limits: Limits) -> Result<u32, String> {
    check_bounds(scenario, limits)?;
    let Some(first) = scenario.flows.first() else { return Err("it has no flow".to_owned()) };
    check_links(scenario, first)?;
    scenario.flows.iter().try_for_each(|flow| check_alike(scenario, first, flow))?;
    let overhead = overhead(first)?;
    check_packets(scenario, overhead, limits)?;
    Ok(overhead)
}

fn check_bounds(scenario: &Scenario, Limits { flows, .. }: Limits) -> Result<(), String> {
    if scenario.flows.len() + scenario.udp.len() > flows {
        return Err(format!("it has more than {flows} flows"));
    }
    if scenario.duration > MAX_DURATION {
        let may_end = scenario.flows.iter().all(|flow| flow.transfer.is_some());
        let why = if may_end { "; set a shorter `duration` that its transfers fit in" } else { "" };
        return Err(format!("it takes {}, more than {MAX_DURATION} of real time{why}", scenario.duration));
    }
    Ok(())
}

fn check_links(scenario: &Scenario, first: &FlowConfig) -> Result<(), String> {
    if !scenario.beyond.is_empty() || scenario.reverse.len() > 1 {
        return Err("it has several links in a row".to_owned());
    }
    let base = scenario.links().fold(Duration::ZERO, |sum, link| sum + link.delay);
    if base > first.rtt || (!scenario.reverse.is_empty() && base != first.rtt) {
        return Err("its base RTT is not the sum of its links' delays".to_owned());
    }
    Ok(())
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
    if flow.rtt != first.rtt {
        return Err("its flows differ in base RTT, but the emulator has one link".to_owned());
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

/// Checks that the packet log fits in memory, and that UDP and probe packets have a possible size.
fn check_packets(scenario: &Scenario, overhead: u32, limits: Limits) -> Result<(), String> {
    let packet = scenario.flows.iter().map(|flow| flow.transport.wire_bytes(flow.transport.payload())).min();
    let carried = scenario.flows.iter().map(|flow| flow.transfer).sum::<Option<u64>>();
    let most = capacity(scenario);
    let of_udp = |udp: &UdpConfig| {
        let rate = udp.rate.iter().map(|step| step.1).max().unwrap_or(Rate(0));
        rate.bytes_in(scenario.duration) / u64::from(udp.size.max(1))
    };
    let packets = carried.unwrap_or(most).min(most) / u64::from(packet.unwrap_or(MTU).max(1))
        + scenario.udp.iter().map(of_udp).sum::<u64>();
    if packets > limits.packets {
        return Err(format!("it sends up to {packets} packets, more than {}", limits.packets));
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

/// Returns the bytes that the bottleneck can carry in the run.
pub(crate) fn capacity(scenario: &Scenario) -> u64 {
    let highest = match &scenario.link.rate {
        RateModel::Constant(rate) => *rate,
        RateModel::Steps(steps) => steps.iter().map(|step| step.1).max().unwrap_or(Rate(0)),
        RateModel::Slots(slots) => slots.max,
        RateModel::Aggregates(model) => model.phy,
        RateModel::Trace(_) => {
            let whole = [Time::ZERO, Time::ZERO + scenario.duration];
            return scenario.link.capacity_between(whole, scenario.seed, "").ceil() as u64;
        }
    };
    highest.bytes_in(scenario.duration)
}

/// Returns the link that acknowledgements cross: the reverse link, or the rest of the base RTT.
pub(crate) fn return_link(scenario: &Scenario) -> LinkConfig {
    let rest = scenario.flows.first().map_or(Duration::ZERO, |flow| flow.rtt - scenario.link.delay);
    scenario.reverse.first().cloned().unwrap_or_else(|| Config::delay(rest))
}

/// Reports whether a link changes over time.
pub(crate) fn is_timed(scenario: &Scenario) -> bool {
    scenario.links().any(|link| {
        let steps =
            !link.delay_steps.is_empty() || !link.limit_steps.is_empty() || !link.mtu_steps.is_empty();
        steps || !matches!(link.rate, RateModel::Constant(_) | RateModel::Aggregates(_))
    })
}
