//! Reads `[probe]`: a ping that runs alongside the flows, as in Flent.

use scenario::ProbeConfig;
use units::{Bytes, Duration};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::network::Network;
use crate::file::tables::known_keys;
use crate::file::tables::network::Probe;

known_keys!(KEYS: Probe<'static>);

/// Reads the probe. Defaults are `ping`'s size (IP, ICMP, 56 bytes) and Flent's interval.
pub(crate) fn read(cursor: &Cursor<'_>, network: &Network<'_>) -> Result<ProbeConfig, Diagnostic> {
    let fields = cursor.table(&KEYS)?;
    let way = network.way(&fields)?;
    let interval = fields.read("interval")?.unwrap_or(Duration::from_millis(200));
    let size: Bytes = fields.read("size")?.unwrap_or(Bytes(84));
    let rtt = fields.read("rtt")?.unwrap_or(way.default_rtt());
    let at = |key| fields.get(key).unwrap_or_else(|| cursor.clone());
    if interval < Duration::from_millis(1) {
        return Err(at("interval")
            .invalid(format!("an interval of {interval} is too short"), "must be at least 1 ms"));
    }
    if size.0 == 0 || size.0 > 65_535 {
        return Err(at("size")
            .invalid(format!("a size of {size} is out of range"), "must be between 1 and 65 535 bytes"));
    }
    if rtt < way.least_rtt() || rtt == Duration::ZERO {
        let right = "must be above 0 and at least the delay of its links, like \"30 ms\"";
        return Err(at("rtt").problem(format!("a base RTT of {rtt} is too short"), right));
    }
    Ok(ProbeConfig { interval, size: size.0 as u32, route: way.there, back: way.back, rtt })
}
