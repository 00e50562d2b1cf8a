//! `[[flow]]` and the tables in it.

use congestion::Algorithm;
use scenario::{Connection, FlowConfig, KeyFrames, MediaConfig, ObjectsConfig, Rebind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use units::{Bytes, Duration, Percent, Rate};

use crate::diagnostic::Diagnostic;
use crate::file::controller::{self, Shares};
use crate::file::cursor::Cursor;
use crate::file::network::Way;
use crate::file::packet::Packet;
use crate::file::tables::define::{Needs, table};
use crate::file::tables::network::NameOr;
use crate::file::values::{self, MAX_RATE, Share, US, at_least, whole, within};

table! {
    /// `[[flow]]`. Keys that a run uses unchanged come from [`FlowConfig`].
    #[schemars(rename = "flow", transform = Needs(""))]
    pub(crate) Flow(way: &Way) {
        /// Name of the flow in tables. Flows with the same label form a group (`goodput of BBR`).
        /// Default: the controller's label or name.
        label: String = String::new(), controller::label;
        /// Congestion controller, required here or in `[vary]`: `"cubic"`, or `{ name = "cubic",
        /// beta = 0.8, label = "CUBIC 0.8" }`. See `ackclock algorithms`.
        #[schemars(with = "NameOr<ControllerTable>")]
        #[serde(serialize_with = "name_first")]
        controller: Option<Algorithm> = None => later;
        /// Slow start of all controllers that offer a choice: `"standard"`, `"hystart"` (Linux),
        /// `"hystart++"` (RFC 9406), `"hystart-picoquic"`, `"hystart-mvfst"` (exits when the
        /// minimum RTT exceeds the previous round's; eight ACKs per round).
        #[schemars(extend(
            "enum" = ["standard", "hystart", "hystart++", "hystart-picoquic", "hystart-mvfst"]
        ))]
        slow_start: Option<String> = None => later;
        /// Transport protocol: `"quic"` (default) or `"tcp"`.
        #[schemars(extend("enum" = ["quic", "tcp"]))]
        transport: &'static str = "quic" => later;
        /// QUIC only. Implementation that supplies the defaults of `packet`, `ack` and `recovery`:
        /// `"rfc9002"` (default) or `"mvfst"`.
        #[schemars(extend("enum" = ["rfc9002", "mvfst"]))]
        stack: Option<String> = None => later;
        /// Direction of the data: `"forward"` (default), or `"backward"`, over the links of
        /// `[reverse]`.
        #[schemars(extend("enum" = ["forward", "backward"]))]
        direction: Option<&'static str> = way.direction => later;
        /// Links that the data crosses, if there are several. They must be adjacent and in order.
        route: Option<Vec<String>> = way.route.clone() => later;
        /// Links that the acknowledgements cross.
        back_route: Option<Vec<String>> = way.back_route.clone() => later;
        /// Number of flows, which differ only in their start. Default 1. With 0 there is no such
        /// flow, so that `[vary]` can choose among flows.
        count: u64 = 1, count;
        /// Start of the first flow, default 0.
        start: Duration = Duration::ZERO;
        /// Time between the starts of consecutive flows, default 0.
        stagger: Duration = Duration::ZERO;
        /// Upper bound of a random start delay, drawn from the seed for each flow. Real flows never
        /// start at exactly the same nanosecond. Default 0.
        start_jitter: Duration = Duration::ZERO;
        /// Time in the run at which the flow ends.
        stop: Option<Duration> = None;
        /// Time after its own start at which the flow ends.
        lasts: Option<Duration> = None, |at| {
            let wrong = |_: &Duration| "the flow lasts 0 s".to_owned();
            within(|span| *span > Duration::ZERO, wrong, "must be longer than 0 s")(at).map(Some)
        };
        /// Number of bytes after which the flow ends.
        transfer: Option<Bytes> = None, values::transfer;
        /// Application: `"bulk"` (default), `"media"` or `"on-off"`, each with its own keys.
        #[schemars(with = "NameOr<AppTable>")]
        application: AppTable = AppTable::Bulk => later;
        /// Pauses, as start and end times within the run: `[["40 s", "60 s"]]`. During a pause the
        /// application offers no new data. Lost data is still retransmitted.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pauses: Vec<(Duration, Duration)> = Vec::new(), |at| values::spans(at, "pause");
        /// NAT rebindings, each with its time in the run: `[["5 s", "port"], ["9 s", "address"]]`.
        /// The NAT gives the sender a new source port or address and forgets the old one. With
        /// `--on stack` the server must detect this and validate the path. A flow of the simulator
        /// has no addresses and simply continues.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        rebind: Vec<(Duration, Rebind)> = Vec::new() => later;
        /// Base RTT. The forward delay is half of it, or the delay of its links if that is larger.
        /// Default: the delay of its links.
        rtt: Duration = Duration::ZERO => later;
        /// Packet sizes.
        packet: Packet = Packet::default() => later;
        /// Everything except each flow's start, stop and label. `group` is the label that they
        /// share.
        #[serde(flatten)]
        config: FlowConfig = FlowConfig::default() => later;
        /// Delays of the controller that are shares of the buffer.
        #[serde(skip)]
        shares: Shares = Shares::default() => later;
    }
}

fn count(cursor: &Cursor<'_>) -> Result<u64, Diagnostic> {
    match cursor.read::<i64>()? {
        n if n < 0 => Err(cursor.invalid(format!("{n} is out of range"), "must be at least 0")),
        n => Ok(n.unsigned_abs()),
    }
}

/// Writes an algorithm with its name before its parameters.
fn name_first<S: Serializer>(algorithm: &Option<Algorithm>, to: S) -> Result<S::Ok, S::Error> {
    let Some(algorithm) = algorithm else { return to.serialize_none() };
    let params = toml::Table::try_from(algorithm).map_err(S::Error::custom)?;
    let name = ("name".to_owned(), toml::Value::String(algorithm.name().to_owned()));
    to.collect_map(std::iter::once(name).chain(params))
}

/// A controller: its name, its label, and the parameters listed by `ackclock algorithms NAME`.
#[derive(JsonSchema)]
#[schemars(rename = "controller")]
#[expect(dead_code, reason = "a form of a file, for the schema alone")]
pub(crate) struct ControllerTable {
    /// The algorithm.
    name: String,
    /// Name of the flow in tables.
    label: Option<String>,
}

/// Applications, with keys in the order of the documentation.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[schemars(rename = "application", transform = only_the_name)]
pub(crate) enum AppTable {
    /// All data is available at once.
    #[default]
    Bulk,
    /// A video encoder that follows the controller's rate, and audio (RFC 8867 section 4.3). QUIC
    /// only.
    Media(Media),
    /// Objects separated by idle times (RFC 8868).
    OnOff(Objects),
}

table! {
    #[schemars(inline)]
    pub(crate) Media {
        /// Frames per second, 1 to 1000, default 30.
        fps: u32 = 30, whole(1..=1000);
        /// Lowest rate of the encoder, without headers. Default 150 kbit/s.
        min_rate: Rate = Rate(150_000), encoder_rate;
        /// Highest rate of the encoder, without headers. Default 1.5 Mbit/s.
        max_rate: Rate = Rate(1_500_000), encoder_rate;
        /// Initial rate of the encoder. Default 150 kbit/s.
        start_rate: Rate = Rate(150_000).max(min_rate).min(max_rate), encoder_rate;
        /// Minimum delay between a rate request and the first frame encoded at it. Default 100 ms.
        reaction: Duration = Duration::from_millis(100);
        /// Variation of frame sizes: uniform within this share of their mean. Default 5 %.
        #[schemars(with = "Percent")]
        variation: Share = Share(0.05), |at| {
            let wrong = |share: &Percent| format!("{share} is out of range");
            let percent = within(|share| share.0 <= 100.0, wrong, "must be at most \"100 %\"")(at);
            percent.map(|share| Share(share.0 / 100.0))
        };
        /// Key frames, as `{ every = "2 s", size = 4 }`. The mean rate stays that of the encoder.
        /// Default: all frames are equal.
        key_frames: Option<KeyFrameTable> = None, key_frames;
        /// Audio rate, without headers, sent as one packet every 20 ms. `"0"` disables audio.
        /// Default 20 kbit/s.
        #[schemars(schema_with = "rate_or_none")]
        audio: Rate = Rate(20_000), audio;
        /// Longest time that a frame waits to be sent. A frame that waits longer is skipped whole.
        /// Default 1 s.
        max_queue: Duration = Duration::from_secs(1);
        #[serde(skip)]
        config: MediaConfig = {
            let variation = variation.0;
            let key_frames = key_frames.as_ref().map(|KeyFrameTable { every, size }| KeyFrames { every: *every, size: *size });
            MediaConfig { fps, min_rate, max_rate, start_rate, reaction, variation, key_frames, audio, max_queue }
        } => later;
    }
}

table! {
    /// Key frames of a video.
    #[schemars(inline, transform = Needs("every size"))]
    pub(crate) KeyFrameTable {
        /// Interval between key frames, from the first frame on. It is rounded to whole frames.
        every: Duration => "write the interval, like every = \"2 s\"", within(
            |every| *every > Duration::ZERO,
            |_| "the interval is 0".to_owned(),
            "must be above 0",
        );
        /// Size of a key frame, in sizes of another frame: 1 to 1000.
        size: f64 => "write how much larger a key frame is, like size = 4", within(
            |size| (1.0..=1000.0).contains(size),
            |size| format!("{size} is out of range"),
            "must be between 1 and 1000",
        );
    }
}

fn key_frames(cursor: &Cursor<'_>) -> Result<Option<KeyFrameTable>, Diagnostic> {
    KeyFrameTable::read(&cursor.table(KeyFrameTable::known())?).map(Some)
}

table! {
    #[schemars(inline)]
    pub(crate) Objects {
        /// Object size: the smallest and the largest, or one size. Default 30 kB to 50 kB.
        #[schemars(with = "serde_json::Value")]
        object: (Bytes, Bytes) = (Bytes(30_000), Bytes(50_000)), sizes;
        /// Mean of the exponentially distributed idle time. Default 10 s.
        idle: Duration = Duration::from_secs(10),
            at_least(US, |idle| format!("an idle time of {idle} is too short"));
        /// Start of the flow: `"on"` (default) with an object, `"off"` with an idle time.
        begins: &'static str = "on", |at: &Cursor<'_>| at.word("begins", &[("on", "on"), ("off", "off")]);
        /// Connection that carries an object.
        connection: Connection = Connection::New, connection;
        #[serde(skip)]
        config: ObjectsConfig = {
            let ((smallest, largest), begins_on) = (object, begins == "on");
            ObjectsConfig { smallest, largest, idle, begins_on, connection }
        } => later;
    }
}

fn encoder_rate(cursor: &Cursor<'_>) -> Result<Rate, Diagnostic> {
    match cursor.read()? {
        Rate(0) => Err(cursor.invalid("the encoder's rate is 0", "must be above 0, like \"150 kbit/s\"")),
        rate if rate > MAX_RATE => Err(values::too_high(cursor, rate)),
        rate => Ok(rate),
    }
}

/// Reads the audio rate; `"0"` and `"off"` disable audio.
fn audio(cursor: &Cursor<'_>) -> Result<Rate, Diagnostic> {
    if matches!(cursor.node().as_str(), Some("0" | "off")) { Ok(Rate(0)) } else { cursor.read() }
}

fn connection(cursor: &Cursor<'_>) -> Result<Connection, Diagnostic> {
    cursor.word("connection", &[("new", Connection::New), ("kept", Connection::Kept)])
}

/// Reads `"40 kB"`, or `["30 kB", "50 kB"]`.
fn sizes(cursor: &Cursor<'_>) -> Result<(Bytes, Bytes), Diagnostic> {
    let (smallest, largest) = match cursor.list() {
        Err(_) => {
            let size = cursor.read()?;
            (size, size)
        }
        Ok(list) => match list.as_slice() {
            [smallest, largest] => (smallest.read()?, largest.read()?),
            _ => {
                let right = "write the smallest and the largest, like [\"30 kB\", \"50 kB\"]";
                return Err(cursor.invalid(format!("expected two sizes, found {}", list.len()), right));
            }
        },
    };
    if smallest == Bytes(0) || smallest > largest {
        let right = "write sizes of at least 1 byte, the smallest first";
        return Err(cursor.invalid(format!("invalid object sizes: {smallest} to {largest}"), right));
    }
    Ok((smallest, largest))
}

/// A rate, or a word that disables it.
fn rate_or_none(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [generator.subschema_for::<Rate>(), { "enum": ["0", "off"] }] })
}

/// Makes only the name of an application required.
fn only_the_name(schema: &mut Schema) {
    let kinds = schema.get_mut("oneOf").and_then(serde_json::Value::as_array_mut);
    for kind in kinds.into_iter().flatten() {
        kind["required"] = serde_json::json!(["name"]);
        kind["additionalProperties"] = false.into();
    }
}
