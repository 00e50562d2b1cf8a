//! Reads `[probe]`: a ping that runs alongside the flows, as in Flent.

use scenario::ProbeConfig;
use units::Duration;

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::network::Network;
use crate::file::tables::network::Probe;

/// Reads the probe. Defaults are `ping`'s size (IP, ICMP, 56 bytes) and Flent's interval.
pub(crate) fn read(cursor: &Cursor<'_>, network: &Network<'_>) -> Result<(Probe, ProbeConfig), Diagnostic> {
    let fields = cursor.table(Probe::known())?;
    let way = network.way(&fields)?;
    let mut table = Probe::read(&fields)?;
    if fields.get("rtt").is_none() {
        table.rtt = way.default_rtt();
    }
    let rtt = table.rtt;
    if rtt < way.least_rtt() || rtt == Duration::ZERO {
        let right = "must be above 0 and at least the delay of its links, like \"30 ms\"";
        return Err(fields.at("rtt").problem(format!("a base RTT of {rtt} is too short"), right));
    }
    table.route = network.names_along(way.there);
    table.back_route = way.back.and_then(|back| network.names_along(back));
    let size = table.size.0 as u32;
    let config = ProbeConfig { interval: table.interval, size, route: way.there, back: way.back, rtt };
    Ok((table, config))
}
