//! Traffic that crosses each link.

use scenario::{ProbeConfig, Route, UdpConfig};

use crate::file::link::Traffic;
use crate::file::tables::flow::Flow;

/// All senders of an experiment.
pub(crate) struct Load<'a> {
    pub(crate) flows: &'a [Flow],
    pub(crate) probe: Option<&'a ProbeConfig>,
    pub(crate) udp: &'a [UdpConfig],
}

impl Load<'_> {
    pub(crate) fn on(&self, link: usize) -> Traffic {
        let crossing = || self.flows.iter().filter(|flow| largest_packet(flow, link).is_some());
        // Flows with a count of 0 are skipped, unless all have it.
        let first = crossing().find(|flow| flow.count > 0).or_else(|| crossing().next());
        let flows = self.flows.iter().filter_map(|flow| largest_packet(flow, link));
        let crosses = |route: Option<Route>| route.is_some_and(|route| route.crosses(link));
        let pings = self.probe.filter(|p| p.route.crosses(link) || crosses(p.back)).map(|p| p.size);
        let udp = self.udp.iter().filter(|udp| udp.route.crosses(link)).map(|udp| udp.size);
        Traffic {
            rtt: first.map(|flow| flow.config.rtt),
            packet: flows.chain(pings).chain(udp).max().unwrap_or(0),
        }
    }
}

/// Returns the largest packet that a flow sends over a link: data or feedback.
fn largest_packet(flow: &Flow, link: usize) -> Option<u32> {
    let data = flow.config.route.crosses(link).then(|| flow.wire_bytes());
    let feedback = flow.config.back.filter(|back| back.route.crosses(link)).map(|back| back.size);
    data.max(feedback)
}
