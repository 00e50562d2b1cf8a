//! What crosses each link.

use scenario::{ProbeConfig, Route, UdpConfig};

use crate::file::flow::Flow;
use crate::file::link::Traffic;

/// All that sends.
pub(crate) struct Load<'a> {
    pub(crate) flows: &'a [Flow],
    pub(crate) probe: Option<&'a ProbeConfig>,
    pub(crate) udp: &'a [UdpConfig],
}

impl Load<'_> {
    pub(crate) fn on(&self, link: usize) -> Traffic {
        let crossing = || self.flows.iter().filter(|flow| packet_of(flow, link).is_some());
        // One that is left out decides on nothing, unless all are.
        let first = crossing().find(|flow| flow.count > 0).or_else(|| crossing().next());
        let flows = self.flows.iter().filter_map(|flow| packet_of(flow, link));
        let crosses = |route: Option<Route>| route.is_some_and(|route| route.crosses(link));
        let pings = self.probe.filter(|p| p.route.crosses(link) || crosses(p.back)).map(|p| p.size);
        let udp = self.udp.iter().filter(|udp| udp.route.crosses(link)).map(|udp| udp.size);
        Traffic {
            rtt: first.map(|flow| flow.config.rtt),
            packet: flows.chain(pings).chain(udp).max().unwrap_or(0),
        }
    }
}

/// The largest packet that a flow sends over a link: data, or what comes back.
fn packet_of(flow: &Flow, link: usize) -> Option<u32> {
    let data = flow.config.route.crosses(link).then(|| flow.wire_bytes());
    let feedback = flow.config.back.filter(|back| back.route.crosses(link)).map(|back| back.size);
    data.max(feedback)
}
