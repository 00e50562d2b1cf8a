//! Reads a `[[udp]]` table: traffic without congestion control.

use link::RateModel;
use scenario::{OnOff, UdpConfig};
use units::{Duration, Time};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::network::Network;
use crate::file::tables::network::Udp;

/// Reads a source. `duration` is that of the run.
pub(crate) fn read(
    cursor: &Cursor<'_>,
    network: &Network<'_>,
    duration: Duration,
) -> Result<(Udp, UdpConfig), Diagnostic> {
    let fields = cursor.table(Udp::known())?;
    let mut table = Udp::read(&fields)?;
    // The reader of the rate returns steps.
    let rate = if let RateModel::Steps(steps) = &table.rate { steps.clone() } else { Vec::new() };
    let fastest = rate.iter().map(|step| step.1).max().unwrap_or_default();
    let apart = fastest.time_for(table.size.0);
    if apart < Duration::from_micros(1) {
        let wrong = format!("{fastest} in packets of {} sends one every {apart}", table.size);
        return Err(fields
            .at("rate")
            .problem(wrong, "use a lower rate or larger packets, at least 1 us apart"));
    }
    check_times(&fields, &table, duration)?;
    let route = network.way(&fields)?.there;
    (table.direction, table.route) = (network.direction(route), network.names_along(route));
    let config = UdpConfig {
        label: table.label.clone(),
        rate,
        on_off: table.on_off.as_ref().map(|o| OnOff { on: o.on, off: o.off, random: o.random }),
        route,
        size: table.size.0 as u32,
        start: Time::ZERO + table.start,
        stop: table.stop.map(|stop| Time::ZERO + stop),
    };
    Ok((table, config))
}

fn check_times(fields: &Fields<'_>, table: &Udp, duration: Duration) -> Result<(), Diagnostic> {
    let start = table.start;
    if start >= duration {
        let right = format!("must be before {duration}, when the run ends");
        return Err(fields.at("start").problem(format!("starts at {start}"), right));
    }
    match table.stop {
        Some(stop) if stop <= start => {
            Err(fields.at("stop").problem(format!("stops at {stop}, but starts at {start}"), ""))
        }
        _ => Ok(()),
    }
}
