//! `[[udp]]`: traffic without congestion control.

use link::{LinkConfig, RateModel};
use scenario::{OnOff, UdpConfig};
use units::{Bytes, Duration, Rate, Time};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::network::{Network, Way};
use crate::file::tables::define::{Needs, table};
use crate::file::values::{self, MAX_RATE, US, at_least, packet_size};

/// Shortest time between two packets, ten times the simulator's resolution. A full packet at 1000
/// Gbit/s takes 12 ns.
const SHORTEST_GAP: Duration = Duration(10);

table! {
    /// `[[udp]]`.
    #[schemars(rename = "udp", transform = Needs(""))]
    pub(crate) Udp(way: &Way) {
        /// Rate on the wire, required: `"500 kbit/s"`, or steps `[["0 s", "500 kbit/s"], ["40 s",
        /// "2 Mbit/s"]]`. A rate of 0 means silence.
        rate: RateModel => "write the sending rate, like \"500 kbit/s\"", udp_rate;
        /// Packet size on the wire, required: `"1054 bytes"`. A packet leaves as soon as the rate
        /// allows, with nanosecond precision.
        size: Bytes => "write the size of a packet on the wire, like \"1054 bytes\"", packet_size;
        /// Name of the source in tables, default `"UDP"`.
        label: String = "UDP".to_owned();
        /// Direction, as for a flow.
        direction: Option<&'static str> = way.direction => later;
        /// Links that the packets cross, as for a flow.
        route: Option<Vec<String>> = way.route.clone() => later;
        /// Time of the first bit, default 0.
        start: Duration = Duration::ZERO;
        /// Time of the last packet, default the end of the run.
        stop: Option<Duration> = None;
        /// Alternation of sending and silence, starting with sending: `{ on = "5 s", off = "10 s"
        /// }`. With `random = true`, the times are means of exponential distributions. Default:
        /// always on.
        on_off: Option<Phases> = None, |at: &Cursor<'_>| Phases::read(&at.table(Phases::known())?).map(Some);
        #[serde(skip)]
        config: UdpConfig = UdpConfig {
            label: label.clone(),
            rate: if let RateModel::Steps(steps) = &rate { steps.clone() } else { Vec::new() },
            on_off: on_off.as_ref().map(|p: &Phases| OnOff { on: p.on, off: p.off, random: p.random }),
            route: way.there,
            size: size.0 as u32,
            start: Time::ZERO + start,
            stop: stop.map(|stop| Time::ZERO + stop),
        } => later;
    }
}

/// Reads the rate as steps. A constant rate is a single step.
fn udp_rate(cursor: &Cursor<'_>) -> Result<RateModel, Diagnostic> {
    let model = values::rate(cursor)?;
    LinkConfig { rate: model.clone(), ..LinkConfig::plain(Rate(1)) }
        .check()
        .map_err(|wrong| cursor.invalid(wrong, ""))?;
    let steps = match model {
        RateModel::Constant(rate) => vec![(Time::ZERO, rate)],
        RateModel::Steps(steps) => steps,
        RateModel::Slots(_) | RateModel::Aggregates(_) | RateModel::Trace(_) => {
            let what = match model {
                RateModel::Slots(_) => "slots apply",
                RateModel::Aggregates(_) => "aggregates apply",
                _ => "a trace applies",
            };
            let right = "write a rate like \"500 kbit/s\", or steps [[\"0 s\", \"500 kbit/s\"], [\"40 s\", \"2 Mbit/s\"]]";
            return Err(cursor.invalid(format!("{what} to links, not to UDP sources"), right));
        }
    };
    match steps.iter().find(|step| step.1 > MAX_RATE) {
        Some((_, rate)) => Err(values::too_high(cursor, *rate)),
        None => Ok(RateModel::Steps(steps)),
    }
}

table! {
    /// `on-off` of `[[udp]]`.
    #[schemars(rename = "udp-on-off", transform = Needs("on off"))]
    pub(crate) Phases {
        /// Length of a sending period, at least 1 us.
        on: Duration =>
            "write on-off as { on = \"5 s\", off = \"10 s\" }, with random = true for exponential periods",
            at_least(US, |span| format!("{span} is too short"));
        /// Length of a silent period, at least 1 us.
        off: Duration =>
            "write on-off as { on = \"5 s\", off = \"10 s\" }, with random = true for exponential periods",
            at_least(US, |span| format!("{span} is too short"));
        /// Whether the lengths are means of exponential distributions, default false.
        random: bool = false;
    }
}

/// Reads a source. `duration` is that of the run.
pub(crate) fn read(
    cursor: &Cursor<'_>,
    network: &Network<'_>,
    duration: Duration,
) -> Result<Udp, Diagnostic> {
    let fields = cursor.table(Udp::known())?;
    let source = Udp::read(&fields, &network.way(&fields)?)?;
    let fastest = source.config.rate.iter().map(|step| step.1).max().unwrap_or_default();
    let apart = fastest.time_for(source.size.0);
    if apart < SHORTEST_GAP {
        let wrong = format!("{fastest} in packets of {} sends one every {apart}", source.size);
        return Err(fields
            .at("rate")
            .problem(wrong, format!("use a lower rate or larger packets, at least {SHORTEST_GAP} apart")));
    }
    check_times(&fields, &source, duration).map(|()| source)
}

fn check_times(fields: &Fields<'_>, table: &Udp, duration: Duration) -> Result<(), Diagnostic> {
    let start = table.start;
    if start >= duration {
        let right = format!("must be before {duration}, when the run ends");
        return Err(fields.at("start").problem(format!("starts at {start}"), right));
    }
    match table.stop {
        Some(stop) if stop <= start => {
            let wrong = format!("stops at {stop}, but starts at {start}");
            Err(fields.at("stop").problem(wrong, "must be later than the start"))
        }
        _ => Ok(()),
    }
}
