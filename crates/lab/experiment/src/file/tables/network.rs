//! `[measure]`, `[windows]`, `[link]` and `[reverse]`.

use link::{Aqm, Limit, LimitCounts, RateModel, Reorder};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use units::{Bytes, Duration, Percent, Rate};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::queue::Queue;
use crate::file::tables::bursts::{self, Loss};
use crate::file::tables::define::{Needs, table};
use crate::file::tables::jitter::{self, Jitter};
use crate::file::values::{self, Changing, MAX_RATE, Share};

/// Largest token bucket: 100 ms at 800 Gbit/s. A full bucket takes no time to pass, so that a
/// larger one would only make the run long.
const MAX_BURST: Bytes = Bytes(10_000_000_000);

/// A queue without a limit.
const UNLIMITED: Queue = Queue::Limit(Limit::Unlimited);

table! {
    /// A time window of the run.
    #[derive(Copy)]
    #[schemars(rename = "window", transform = Needs(""))]
    pub(crate) Window(duration: Duration) {
        /// Start of the window, default 0.
        from: Duration = Duration::ZERO;
        /// End of the window, default the end of the run.
        to: Duration = duration;
    }
}

/// `[link]` or `[[link]]`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "links")]
pub(crate) enum Links {
    One(Box<Link>),
    Chain(Vec<Link>),
}

table! {
    /// A link.
    #[schemars(rename = "link", transform = Needs(""))]
    pub(crate) Link {
        /// Name used in routes. Required if there are several links, not allowed otherwise.
        name: Option<String> = None;
        /// Rate of the link, required here or in `[vary]`: `"10 Mbit/s"`, steps `[["0 s", "10
        /// Mbit/s"], ["30 s", "5 Mbit/s"]]`, slots `{ median = "100 Mbit/s", ... }` (as on
        /// Starlink), aggregates `{ phy = "300 Mbit/s", gap = "1 ms", ... }` (as in Wi-Fi), or a
        /// recorded link `{ trace = "verizon.down" }`.
        rate: RateModel = RateModel::Constant(Rate(0)), link_rate;
        /// Size of the token bucket, at most 10 GB. Default 0, a plain serialiser.
        burst: Bytes = Bytes(0), bucket;
        /// Size of the token bucket of a policer, at most 10 GB: packets that find no tokens are
        /// lost. Stands for `burst` with `queue = "0 packets"`.
        policer: Option<Bytes> = None, |at| bucket(at).map(Some);
        /// One-way propagation delay, or steps `[["0 s", "20 ms"], ["30 s", "80 ms"]]`. The base
        /// RTT is twice this delay, unless there is a `[reverse]` or the flow has an `rtt`. Steps of
        /// a single `[link]` change both directions, unless there is a `[reverse]`.
        delay: Changing<Duration> = Changing::Never(Duration::ZERO) => later;
        /// Twice the propagation delay, as an alternative to `delay`.
        rtt: Option<Duration> = None => later;
        /// Queue limit: `"2 BDP"` (computed with the first flow's RTT), `"62.5 kB"`, `"24
        /// packets"`, `"100 ms"`, `"unlimited"` (default), or steps `[["0 s", "1 BDP"], ["10 s",
        /// "0.2 BDP"]]`.
        #[schemars(with = "Changing<QueueText>")]
        queue: Changing<Queue> = Changing::Never(UNLIMITED), |at| values::changing(at, "queue", "\"1 BDP\"");
        /// Packets that count toward the queue limit. `"queue"` (default): waiting packets.
        /// `"queue+delay"`: packets waiting, in transmission or in propagation, like netem's limit.
        limit_counts: LimitCounts = LimitCounts::Queue, counts;
        /// Active queue management, `"codel"` or `{ name = "red", min = "50 %", ... }`:
        /// `drop-tail`, `red`, `codel`, `fq-codel`, `pie`, `dualpi2`.
        #[schemars(with = "NameOr<Aqm>")]
        aqm: Aqm = Aqm::default() => later;
        /// Whether the link erases ECN marks.
        bleach: bool = false;
        /// Extra random delay that preserves the order of packets, uniform from 0 to this, `"5
        /// ms"`, or `{ up-to = "5 ms", correlation = "75 %", order = "flow" }`.
        jitter: Jitter = Jitter::UpTo(Duration::ZERO), jitter::jitter;
        /// Largest packet that passes, `"1400 B"`, or steps `[["0 s", "1400 B"], ["30 s", "1300
        /// B"]]`; larger ones are dropped before the queue. Default: no limit. It counts the bytes
        /// on the wire, with the `overhead` of the flow: an Ethernet with an IP MTU of 1500 bytes
        /// passes 1514 bytes.
        mtu: Option<Changing<Bytes>> = None, mtu;
        /// Probability of random loss before the queue, `"0.1 %"`, or losses in bursts, by packet
        /// `{ p = "1 %", r = "10 %" }` or by time `{ bad-time = "17 ms", good-time = "600 ms" }`.
        loss: Loss = Loss::Share(Share(0.0)), bursts::loss;
        /// Packets that overtake others: `{ every = 500, by = "12 ms" }`.
        reorder: Option<Reorder> = None, reorder;
        /// Packets that are lost before the queue, given by arrival number, counted from 1: `[3, 4,
        /// 20]`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        drop: Vec<u64> = Vec::new(), packet_numbers;
        /// Periods in which all arriving packets are lost: `[["2 s", "3 s"]]`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        blackhole: Vec<(Duration, Duration)> = Vec::new(), |at| values::spans(at, "blackhole");
        /// Probability that a packet is delivered with a bit error and discarded by its receiver:
        /// `"0.1 %"`.
        #[schemars(with = "Option<Percent>")]
        corrupt: Option<Share> = None, above_zero;
        /// Probability that a packet is delivered twice: `"0.1 %"`.
        #[schemars(with = "Option<Percent>")]
        duplicate: Option<Share> = None, above_zero;
    }
}

fn link_rate(cursor: &Cursor<'_>) -> Result<RateModel, Diagnostic> {
    let model = values::rate(cursor)?;
    match model.nominal() {
        Rate(0) => Err(cursor.invalid("the rate is 0", "must be above 0, like \"10 Mbit/s\"")),
        rate if rate > MAX_RATE => Err(values::too_high(cursor, rate)),
        _ => Ok(model),
    }
}

fn bucket(cursor: &Cursor<'_>) -> Result<Bytes, Diagnostic> {
    let right = format!("must be at most {MAX_BURST}");
    values::within(|burst| *burst <= MAX_BURST, |burst: &Bytes| format!("{burst} is too large"), &right)(
        cursor,
    )
}

fn mtu(cursor: &Cursor<'_>) -> Result<Option<Changing<Bytes>>, Diagnostic> {
    let sizes = values::changing(cursor, "mtu", "\"1400 B\"")?;
    match sizes.later().values(sizes.first()).any(|size| size == Bytes(0)) {
        true => Err(cursor.invalid("an MTU of 0 passes no packet", "must be above 0, like \"1400 B\"")),
        false => Ok(Some(sizes)),
    }
}

fn counts(cursor: &Cursor<'_>) -> Result<LimitCounts, Diagnostic> {
    let words = [("queue", LimitCounts::Queue), ("queue+delay", LimitCounts::QueueAndDelay)];
    cursor.word("counting mode", &words)
}

/// Reads a probability. 0 is the same as no key.
fn above_zero(cursor: &Cursor<'_>) -> Result<Option<Share>, Diagnostic> {
    values::probability(cursor).map(|share| Some(share).filter(|share| share.0 > 0.0))
}

fn reorder(cursor: &Cursor<'_>) -> Result<Option<Reorder>, Diagnostic> {
    let right = "write reorder as { every = 100, by = \"5 ms\" }";
    let fields = cursor.table(&["every", "by"])?;
    let every = fields.need("every", right)?.read()?;
    Ok(Some(Reorder { every, by: fields.need("by", right)?.read()? }))
}

/// Reads the numbers of packets, counted from 1.
fn packet_numbers(cursor: &Cursor<'_>) -> Result<Vec<u64>, Diagnostic> {
    let number = |at: &Cursor<'_>| match at.read() {
        Err(_) => {
            let wrong = format!("`{}` is not a packet number", at.node().to_toml());
            Err(at.invalid(wrong, "write whole numbers, like [1, 7]"))
        }
        Ok(0) => {
            let right = "packets are counted from 1, in order of arrival";
            Err(at.invalid("packet number 0 does not exist", right))
        }
        Ok(number) => Ok(number),
    };
    cursor.list()?.iter().map(number).collect()
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
            { "type": "string", "pattern":
                r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*(BDP|bdp|packets?)\s*$" },
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
