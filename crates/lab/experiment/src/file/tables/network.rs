//! `[link]`, `[reverse]`, `[probe]` and `[[udp]]`.

use link::{Aqm, Limit, LimitCounts, RateModel, Reorder, Steps};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use units::{Bytes, Duration, Percent, Time};

use crate::file::tables::Needs;

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

/// `[probe]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "probe", transform = Needs(""))]
pub(crate) struct Probe<'a> {
    /// Links that the probe crosses, as for a flow.
    pub(crate) route: Option<&'a [String]>,
    /// Links that the reply crosses.
    pub(crate) back_route: Option<&'a [String]>,
    /// Time between probes, default 200 ms.
    pub(crate) interval: Duration,
    /// Size on the wire, default 84 bytes, as for `ping`.
    pub(crate) size: Bytes,
    /// Base RTT, default as for a flow.
    pub(crate) rtt: Duration,
}

/// `[[udp]]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "udp", transform = Needs(""))]
pub(crate) struct Udp<'a> {
    /// Name of the source in tables, default `"UDP"`.
    pub(crate) label: &'a str,
    /// Direction, as for a flow.
    pub(crate) direction: Option<&'static str>,
    /// Links that the packets cross, as for a flow.
    pub(crate) route: Option<&'a [String]>,
    /// Packet size on the wire, required: `"1054 bytes"`. A packet leaves as soon as the rate
    /// allows, with nanosecond precision.
    pub(crate) size: Bytes,
    /// Time of the first bit, default 0.
    pub(crate) start: Duration,
    /// Time of the last packet, default the end of the run.
    pub(crate) stop: Option<Duration>,
    /// Alternation of sending and silence, starting with sending: `{ on = "5 s", off = "10 s" }`.
    /// With `random = true`, the times are means of exponential distributions. Default: always on.
    pub(crate) on_off: Option<OnOff>,
    /// Rate on the wire, required: `"500 kbit/s"`, or steps `[["0 s", "500 kbit/s"], ["40 s", "2
    /// Mbit/s"]]`. A rate of 0 means silence.
    pub(crate) rate: RateModel,
}

/// `on-off` of `[[udp]]`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "udp-on-off", transform = Needs("on off"))]
pub(crate) struct OnOff {
    /// Length of a sending period, at least 1 ms.
    pub(crate) on: Duration,
    /// Length of a silent period, at least 1 ms.
    pub(crate) off: Duration,
    /// Whether the lengths are means of exponential distributions, default false.
    pub(crate) random: bool,
}
