//! Reads a `[[udp]]` table: traffic without congestion control.

use link::{LinkConfig, RateModel};
use scenario::{OnOff, UdpConfig};
use units::{Bytes, Duration, Rate, Time};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::link::{MAX_RATE, read_rate};
use crate::file::network::Network;
use crate::file::tables::network::Udp;
use crate::file::tables::{self, known_keys};

known_keys!(KEYS: Udp<'static>);
known_keys!(ON_OFF_KEYS: tables::network::OnOff);

/// Shortest phase.
const SHORTEST_PHASE: Duration = Duration::from_millis(1);

/// Reads a source. `duration` is that of the run.
pub(crate) fn read(
    cursor: &Cursor<'_>,
    network: &Network<'_>,
    duration: Duration,
) -> Result<UdpConfig, Diagnostic> {
    let fields = cursor.table(&KEYS)?;
    let rate_at = fields.need("rate", "write the sending rate, like \"500 kbit/s\"")?;
    let size_at = fields.need("size", "write the size of a packet on the wire, like \"1054 bytes\"")?;
    let rate = read_steps(&rate_at)?;
    let Bytes(size) = size_at.read()?;
    if size == 0 || size > 65_535 {
        return Err(size_at.invalid(
            format!("a size of {} is out of range", Bytes(size)),
            "must be between 1 and 65 535 bytes",
        ));
    }
    let fastest = rate.iter().map(|step| step.1).max().unwrap_or_default();
    let apart = fastest.time_for(size);
    if apart < Duration::from_micros(1) {
        let wrong = format!("{fastest} in packets of {} sends one every {apart}", Bytes(size));
        return Err(rate_at.problem(wrong, "use a lower rate or larger packets, at least 1 us apart"));
    }
    let (start, stop) = read_times(&fields, duration)?;
    Ok(UdpConfig {
        label: fields.read("label")?.unwrap_or_else(|| "UDP".to_owned()),
        rate,
        on_off: fields.get("on-off").map(|c| read_on_off(&c)).transpose()?,
        route: network.way(&fields)?.there,
        size: size as u32,
        start: Time::ZERO + start,
        stop: stop.map(|stop| Time::ZERO + stop),
    })
}

/// Reads the rate as steps. A constant rate is a single step.
fn read_steps(cursor: &Cursor<'_>) -> Result<Vec<(Time, Rate)>, Diagnostic> {
    let model = read_rate(cursor)?;
    LinkConfig { rate: model.clone(), ..LinkConfig::plain(Rate(1)) }
        .check()
        .map_err(|wrong| cursor.invalid(wrong, ""))?;
    let steps = match model {
        RateModel::Constant(rate) => vec![(Time::ZERO, rate)],
        RateModel::Steps(steps) => steps,
        RateModel::Slots(_) => {
            let right = "write a rate like \"500 kbit/s\", or steps [[\"0 s\", \"500 kbit/s\"], [\"40 s\", \"2 Mbit/s\"]]";
            return Err(cursor.invalid("slots apply to links, not to UDP sources", right));
        }
    };
    match steps.iter().find(|step| step.1 > MAX_RATE) {
        Some((_, rate)) => Err(cursor.invalid(format!("{rate} is too high"), "must be at most 1000 Gbit/s")),
        None => Ok(steps),
    }
}

fn read_on_off(cursor: &Cursor<'_>) -> Result<OnOff, Diagnostic> {
    let right =
        "write on-off as { on = \"5 s\", off = \"10 s\" }, with random = true for exponential periods";
    let fields = cursor.table(&ON_OFF_KEYS)?;
    let span = |key: &str| {
        let at = fields.need(key, right)?;
        match at.read()? {
            span if span < SHORTEST_PHASE => {
                Err(at.invalid(format!("{span} is too short"), format!("must be at least {SHORTEST_PHASE}")))
            }
            span => Ok(span),
        }
    };
    Ok(OnOff { on: span("on")?, off: span("off")?, random: fields.read("random")?.unwrap_or(false) })
}

fn read_times(fields: &Fields<'_>, duration: Duration) -> Result<(Duration, Option<Duration>), Diagnostic> {
    let start: Duration = fields.read("start")?.unwrap_or(Duration::ZERO);
    let stop: Option<Duration> = fields.read("stop")?;
    let at = |key| fields.get(key).unwrap_or_else(|| fields.cursor().clone());
    if start >= duration {
        let right = format!("must be before {duration}, when the run ends");
        return Err(at("start").problem(format!("starts at {start}"), right));
    }
    match stop {
        Some(stop) if stop <= start => {
            Err(at("stop").problem(format!("stops at {stop}, but starts at {start}"), ""))
        }
        _ => Ok((start, stop)),
    }
}
