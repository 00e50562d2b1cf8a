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

/// A value, or all its steps: `[["0 s", "20 ms"], ["30 s", "80 ms"]]`, times rising; the first also holds before its time.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Changing<T> {
    Never(T),
    Steps(Vec<(Duration, T)>),
}

impl<T: Copy> Changing<T> {
    pub(crate) fn of(first: T, later: &Steps<T>) -> Self {
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
    /// What routes call it; needed where there are several, and only there.
    pub(crate) name: Option<&'a str>,
    /// Needed, here or in `[vary]`: `"10 Mbit/s"`; steps `[["0 s", "10 Mbit/s"], ["30 s", "5 Mbit/s"]]`; slots `{ median = "100 Mbit/s", ... }` (Starlink).
    pub(crate) rate: &'a RateModel,
    /// Token bucket, bytes (default 0: a plain serialiser).
    pub(crate) burst: Bytes,
    /// Propagation one way; the base RTT is twice that unless there is a `[reverse]` or a flow has an `rtt`; or steps
    /// `[["0 s", "20 ms"], ["30 s", "80 ms"]]`.
    pub(crate) delay: Changing<Duration>,
    /// Instead of `delay`: twice that.
    pub(crate) rtt: Option<Duration>,
    /// How much may wait: `"2 BDP"` (of the first flow's RTT), `"62.5 kB"`, `"24 packets"`, `"100 ms"`, `"unlimited"` (default); or
    /// steps `[["0 s", "1 BDP"], ["10 s", "0.2 BDP"]]`.
    #[schemars(with = "Changing<QueueText>")]
    pub(crate) queue: Changing<Limit>,
    /// `"queue"` (default): what waits; or `"queue+delay"`: what waits, is sent or propagates, as netem's limit does.
    pub(crate) limit_counts: LimitCounts,
    /// The queue's management, `"codel"`, or `{ name = "red", min = "50 %", ... }`: `drop-tail`, `red`, `codel`, `fq-codel`, `pie`,
    /// `dualpi2`.
    #[schemars(with = "NameOr<Aqm>")]
    pub(crate) aqm: &'a Aqm,
    /// The link erases ECN marks.
    pub(crate) bleach: bool,
    /// Extra delay that keeps the order, uniform from 0 to this.
    pub(crate) jitter: Duration,
    /// At random, before the queue: `"0.1 %"`.
    pub(crate) loss: Percent,
    /// Packets that overtake others: `{ every = 500, by = "12 ms" }`.
    pub(crate) reorder: Option<Reorder>,
    /// Packets that are lost before the queue, by their numbers in the order of arrival, the first is 1: `[3, 4, 20]`.
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    pub(crate) drop: &'a [u64],
    /// When all that arrives is lost: `[["2 s", "3 s"]]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) blackhole: Vec<(Duration, Duration)>,
    /// Packets that are delivered with a wrong bit, at random, so that their receivers throw them away: `"0.1 %"`.
    pub(crate) corrupt: Option<Percent>,
    /// Packets that are delivered twice, at random: `"0.1 %"`.
    pub(crate) duplicate: Option<Percent>,
}

/// The size of a queue in the forms that a file may have it in.
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

/// A table with a `name`, or the name alone.
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
    /// Links that it crosses, as of a flow.
    pub(crate) route: Option<&'a [String]>,
    /// Links that its answer crosses.
    pub(crate) back_route: Option<&'a [String]>,
    /// From one to the next; default 200 ms.
    pub(crate) interval: Duration,
    /// On the wire; default 84 bytes, those of `ping`.
    pub(crate) size: Bytes,
    /// Base RTT; default as of a flow.
    pub(crate) rtt: Duration,
}

/// `[[udp]]`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "udp", transform = Needs(""))]
pub(crate) struct Udp<'a> {
    /// Its name in tables; default `"UDP"`.
    pub(crate) label: &'a str,
    /// As of a flow.
    pub(crate) direction: Option<&'static str>,
    /// As of a flow.
    pub(crate) route: Option<&'a [String]>,
    /// Needed: of a packet on the wire, `"1054 bytes"`; one leaves whenever the rate has filled it, to the nanosecond.
    pub(crate) size: Bytes,
    /// Its first bit; default 0.
    pub(crate) start: Duration,
    /// Its last packet; default the end of the run.
    pub(crate) stop: Option<Duration>,
    /// `{ on = "5 s", off = "10 s" }`, beginning with on; `random = true`: means of exponential spans. Default: always on.
    pub(crate) on_off: Option<OnOff>,
    /// Needed: on the wire, `"500 kbit/s"`, or steps `[["0 s", "500 kbit/s"], ["40 s", "2 Mbit/s"]]`; rate 0 is silence.
    pub(crate) rate: RateModel,
}

/// `on-off` of `[[udp]]`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "udp-on-off", transform = Needs("on off"))]
pub(crate) struct OnOff {
    /// How long it sends, at least 1 ms.
    pub(crate) on: Duration,
    /// How long it is silent, at least 1 ms.
    pub(crate) off: Duration,
    /// These are means of exponential distributions; default no.
    pub(crate) random: bool,
}
