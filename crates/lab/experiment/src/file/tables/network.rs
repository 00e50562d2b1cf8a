//! `[link]`, `[reverse]`, `[probe]` and `[[udp]]`.

use link::{Aqm, Limit, LimitCounts, LinkConfig, RateModel, Reorder, Steps};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use units::{Bytes, Duration, Percent, Rate, Time};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::tables::{Needs, table};
use crate::file::values::{self, MAX_RATE, later, packet_size};

/// Shortest time between probes, and shortest phase of a UDP source.
const SHORTEST: Duration = Duration::from_millis(1);

/// `[link]` or `[[link]]`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "links")]
pub(crate) enum Links<'a> {
    One(Box<Link<'a>>),
    Chain(Vec<Link<'a>>),
}

/// A value, or a list of steps: `[["0 s", "20 ms"], ["30 s", "80 ms"]]`. Times must increase. The
/// first value also applies before its time.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Changing<T> {
    Never(T),
    Steps(Vec<(Duration, T)>),
}

impl<T: Copy> Changing<T> {
    pub(crate) fn new(first: T, later: &Steps<T>) -> Self {
        if later.is_empty() {
            return Self::Never(first);
        }
        let later = later.0.iter().map(|&(at, value)| (at - Time::ZERO, value));
        Self::Steps(std::iter::once((Duration::ZERO, first)).chain(later).collect())
    }
}

/// A link.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "link", transform = Needs(""))]
pub(crate) struct Link<'a> {
    /// Name used in routes. Required if there are several links, not allowed otherwise.
    pub(crate) name: Option<&'a str>,
    /// Rate of the link, required here or in `[vary]`: `"10 Mbit/s"`, steps `[["0 s", "10 Mbit/s"],
    /// ["30 s", "5 Mbit/s"]]`, or slots `{ median = "100 Mbit/s", ... }` (as on Starlink).
    pub(crate) rate: &'a RateModel,
    /// Size of the token bucket. Default 0, a plain serialiser.
    pub(crate) burst: Bytes,
    /// One-way propagation delay, or steps `[["0 s", "20 ms"], ["30 s", "80 ms"]]`. The base RTT is
    /// twice this delay, unless there is a `[reverse]` or the flow has an `rtt`.
    pub(crate) delay: Changing<Duration>,
    /// Twice the propagation delay, as an alternative to `delay`.
    pub(crate) rtt: Option<Duration>,
    /// Queue limit: `"2 BDP"` (computed with the first flow's RTT), `"62.5 kB"`, `"24 packets"`,
    /// `"100 ms"`, `"unlimited"` (default), or steps `[["0 s", "1 BDP"], ["10 s", "0.2 BDP"]]`.
    #[schemars(with = "Changing<QueueText>")]
    pub(crate) queue: Changing<Limit>,
    /// Packets that count toward the queue limit. `"queue"` (default): waiting packets.
    /// `"queue+delay"`: packets waiting, in transmission or in propagation, like netem's limit.
    pub(crate) limit_counts: LimitCounts,
    /// Active queue management, `"codel"` or `{ name = "red", min = "50 %", ... }`: `drop-tail`,
    /// `red`, `codel`, `fq-codel`, `pie`, `dualpi2`.
    #[schemars(with = "NameOr<Aqm>")]
    pub(crate) aqm: &'a Aqm,
    /// Whether the link erases ECN marks.
    pub(crate) bleach: bool,
    /// Extra random delay that preserves the order of packets, uniform from 0 to this.
    pub(crate) jitter: Duration,
    /// Probability of random loss before the queue: `"0.1 %"`.
    pub(crate) loss: Percent,
    /// Packets that overtake others: `{ every = 500, by = "12 ms" }`.
    pub(crate) reorder: Option<Reorder>,
    /// Packets that are lost before the queue, given by arrival number, counted from 1: `[3, 4,
    /// 20]`.
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    pub(crate) drop: &'a [u64],
    /// Periods in which all arriving packets are lost: `[["2 s", "3 s"]]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) blackhole: Vec<(Duration, Duration)>,
    /// Probability that a packet is delivered with a bit error and discarded by its receiver: `"0.1
    /// %"`.
    pub(crate) corrupt: Option<Percent>,
    /// Probability that a packet is delivered twice: `"0.1 %"`.
    pub(crate) duplicate: Option<Percent>,
}

/// The size of a queue, in all forms that a file may use.
struct QueueText;

impl JsonSchema for QueueText {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "queue".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            generator.subschema_for::<Duration>(),
            generator.subschema_for::<Bytes>(),
            { "type": "string", "pattern": r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)\s*(BDP|bdp|packets?)\s*$" },
            { "type": "string", "pattern": r"^\s*unlimited\s*$" },
        ] })
    }
}

/// A table with a `name`, or only the name.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a form of a file, for the schema alone")]
pub(crate) enum NameOr<T> {
    Name(String),
    Table(T),
}

table! {
    /// `[probe]`.
    #[schemars(rename = "probe", transform = Needs(""))]
    Probe {
        /// Links that the probe crosses, as for a flow.
        route: Option<Vec<String>> = None, later;
        /// Links that the reply crosses.
        back_route: Option<Vec<String>> = None, later;
        /// Time between probes, default 200 ms.
        interval: Duration = Duration::from_millis(200), probe_interval;
        /// Size on the wire, default 84 bytes, as for `ping`.
        size: Bytes = Bytes(84), packet_size;
        /// Base RTT, default as for a flow.
        rtt: Duration = Duration::ZERO;
    }
}

fn probe_interval(cursor: &Cursor<'_>) -> Result<Duration, Diagnostic> {
    match cursor.read()? {
        interval if interval < SHORTEST => {
            Err(cursor.invalid(format!("an interval of {interval} is too short"), "must be at least 1 ms"))
        }
        interval => Ok(interval),
    }
}

table! {
    /// `[[udp]]`.
    #[schemars(rename = "udp", transform = Needs(""))]
    Udp {
        /// Name of the source in tables, default `"UDP"`.
        label: String = "UDP".to_owned();
        /// Direction, as for a flow.
        direction: Option<&'static str> = None, later;
        /// Links that the packets cross, as for a flow.
        route: Option<Vec<String>> = None, later;
        /// Packet size on the wire, required: `"1054 bytes"`. A packet leaves as soon as the rate
        /// allows, with nanosecond precision.
        size: Bytes = Bytes(0), packet_size;
        /// Time of the first bit, default 0.
        start: Duration = Duration::ZERO;
        /// Time of the last packet, default the end of the run.
        stop: Option<Duration> = None;
        /// Alternation of sending and silence, starting with sending: `{ on = "5 s", off = "10 s" }`.
        /// With `random = true`, the times are means of exponential distributions. Default: always on.
        on_off: Option<OnOff> = None, |at: &Cursor<'_>| OnOff::read_whole(at).map(Some);
        /// Rate on the wire, required: `"500 kbit/s"`, or steps `[["0 s", "500 kbit/s"], ["40 s", "2
        /// Mbit/s"]]`. A rate of 0 means silence.
        rate: RateModel = RateModel::Constant(Rate(0)), udp_rate;
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
        RateModel::Slots(_) => {
            let right = "write a rate like \"500 kbit/s\", or steps [[\"0 s\", \"500 kbit/s\"], [\"40 s\", \"2 Mbit/s\"]]";
            return Err(cursor.invalid("slots apply to links, not to UDP sources", right));
        }
    };
    match steps.iter().find(|step| step.1 > MAX_RATE) {
        Some((_, rate)) => Err(cursor.invalid(format!("{rate} is too high"), "must be at most 1000 Gbit/s")),
        None => Ok(RateModel::Steps(steps)),
    }
}

table! {
    /// `on-off` of `[[udp]]`.
    #[schemars(rename = "udp-on-off", transform = Needs("on off"))]
    OnOff {
        /// Length of a sending period, at least 1 ms.
        on: Duration = Duration::ZERO, phase;
        /// Length of a silent period, at least 1 ms.
        off: Duration = Duration::ZERO, phase;
        /// Whether the lengths are means of exponential distributions, default false.
        random: bool = false;
    }
}

fn phase(cursor: &Cursor<'_>) -> Result<Duration, Diagnostic> {
    match cursor.read()? {
        span if span < SHORTEST => {
            Err(cursor.invalid(format!("{span} is too short"), format!("must be at least {SHORTEST}")))
        }
        span => Ok(span),
    }
}

impl OnOff {
    fn read_whole(cursor: &Cursor<'_>) -> Result<Self, Diagnostic> {
        let right =
            "write on-off as { on = \"5 s\", off = \"10 s\" }, with random = true for exponential periods";
        let fields = cursor.table(Self::known())?;
        ["on", "off"].iter().try_for_each(|key| fields.need(key, right).map(drop))?;
        Self::read(&fields)
    }
}
