//! `[probe]`: a ping that runs alongside the flows, as in Flent.

use scenario::ProbeConfig;
use units::{Bytes, Duration};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::network::{Network, Way};
use crate::file::tables::define::{Needs, table};
use crate::file::values::{US, at_least, packet_size};

table! {
    /// `[probe]`.
    #[schemars(rename = "probe", transform = Needs(""))]
    pub(crate) Probe(way: &Way) {
        /// Links that the probe crosses, as for a flow.
        route: Option<Vec<String>> = way.route.clone() => later;
        /// Links that the reply crosses.
        back_route: Option<Vec<String>> = way.back_route.clone() => later;
        /// Time between probes, default 200 ms.
        interval: Duration = Duration::from_millis(200),
            at_least(US, |interval| format!("an interval of {interval} is too short"));
        /// Size on the wire, default 84 bytes, as for `ping`.
        size: Bytes = Bytes(84), packet_size;
        /// Base RTT, default as for a flow.
        rtt: Duration = way.default_rtt();
        #[serde(skip)]
        config: ProbeConfig =
            ProbeConfig { interval, size: size.0 as u32, route: way.there, back: way.back, rtt } => later;
    }
}

/// Reads the probe. Defaults are `ping`'s size (IP, ICMP, 56 bytes) and Flent's interval.
pub(crate) fn read(cursor: &Cursor<'_>, network: &Network<'_>) -> Result<Probe, Diagnostic> {
    let fields = cursor.table(Probe::known())?;
    let way = network.way(&fields)?;
    let probe = Probe::read(&fields, &way)?;
    if probe.rtt >= way.least_rtt() && probe.rtt > Duration::ZERO {
        return Ok(probe);
    }
    let right = "must be above 0 and at least the delay of its links, like \"30 ms\"";
    Err(fields.at("rtt").problem(format!("a base RTT of {} is too short", probe.rtt), right))
}
