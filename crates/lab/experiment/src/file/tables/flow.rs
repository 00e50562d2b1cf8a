//! `[[flow]]` and the tables in it.

use congestion::Algorithm;
use scenario::{Connection, FlowConfig, Rebind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use units::{Bytes, Duration, Percent, Rate};

use crate::file::tables::Needs;
use crate::file::tables::network::NameOr;

/// `[[flow]]`. Keys that a run uses unchanged come from [`FlowConfig`].
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "flow", transform = Needs(""))]
pub(crate) struct FlowTable<'a> {
    /// Name of the flow in tables. Flows with the same label form a group (`goodput of BBR`).
    /// Default: the controller's label or name.
    pub(crate) label: &'a str,
    /// Congestion controller, required here or in `[vary]`: `"cubic"`, or `{ name = "cubic", beta =
    /// 0.8, label = "CUBIC 0.8" }`. See `ackclock algorithms`.
    #[schemars(with = "NameOr<ControllerTable>")]
    pub(crate) controller: Named<'a>,
    /// Slow start of all controllers that offer a choice: `"standard"`, `"hystart"` (Linux),
    /// `"hystart++"` (RFC 9406), `"hystart-picoquic"`, `"hystart-mvfst"` (exits when the minimum
    /// RTT exceeds the previous round's; eight ACKs per round).
    #[schemars(extend("enum" = ["standard", "hystart", "hystart++", "hystart-picoquic", "hystart-mvfst"]))]
    pub(crate) slow_start: Option<String>,
    /// Transport protocol: `"quic"` (default) or `"tcp"`.
    #[schemars(extend("enum" = ["quic", "tcp"]))]
    pub(crate) transport: &'static str,
    /// QUIC only. Implementation that supplies the defaults of `packet`, `ack` and `recovery`:
    /// `"rfc9002"` (default) or `"mvfst"`.
    #[schemars(extend("enum" = ["rfc9002", "mvfst"]))]
    pub(crate) stack: Option<String>,
    /// Direction of the data: `"forward"` (default), or `"backward"`, over the links of
    /// `[reverse]`.
    #[schemars(extend("enum" = ["forward", "backward"]))]
    pub(crate) direction: Option<&'static str>,
    /// Links that the data crosses, if there are several. They must be adjacent and in order.
    pub(crate) route: Option<&'a [String]>,
    /// Links that the acknowledgements cross.
    pub(crate) back_route: Option<&'a [String]>,
    /// Number of flows, which differ only in their start. Default 1. With 0 there is no such flow,
    /// so that `[vary]` can choose among flows.
    pub(crate) count: u64,
    /// Start of the first flow, default 0.
    pub(crate) start: Duration,
    /// Time between the starts of consecutive flows, default 0.
    pub(crate) stagger: Duration,
    /// Upper bound of a random start delay, drawn from the seed for each flow. Real flows never
    /// start at exactly the same nanosecond. Default 0.
    pub(crate) start_jitter: Duration,
    /// Time in the run at which the flow ends.
    pub(crate) stop: Option<Duration>,
    /// Time after its own start at which the flow ends.
    pub(crate) lasts: Option<Duration>,
    /// Number of bytes after which the flow ends.
    pub(crate) transfer: Option<Bytes>,
    /// Application: `"bulk"` (default), `"media"` or `"on-off"`, each with its own keys.
    #[schemars(with = "NameOr<AppTable>")]
    pub(crate) application: AppTable,
    /// Pauses, as start and end times within the run: `[["40 s", "60 s"]]`. During a pause the application offers no
    /// new data. Lost data is still retransmitted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pauses: Vec<(Duration, Duration)>,
    /// NAT rebindings, each with its time in the run: `[["5 s", "port"], ["9 s", "address"]]`. The NAT gives
    /// the sender a new source port or address and forgets the old one. With `--on stack` the
    /// server must detect this and validate the path. A flow of the simulator has no addresses and
    /// simply continues.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) rebind: &'a [(Duration, Rebind)],
    /// Base RTT. The forward delay is half of it, or the delay of its links if that is larger.
    /// Default: the delay of its links.
    pub(crate) rtt: Duration,
    /// Packet sizes.
    pub(crate) packet: Packet,
    #[serde(flatten)]
    pub(crate) config: &'a FlowConfig,
}

/// An algorithm, serialised with its name before its parameters.
pub(crate) struct Named<'a>(pub(crate) &'a Algorithm);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(algorithm) = self;
        let params = toml::Table::try_from(algorithm).map_err(S::Error::custom)?;
        let name = ("name".to_owned(), toml::Value::String(algorithm.name().to_owned()));
        to.collect_map(std::iter::once(name).chain(params))
    }
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
#[derive(Serialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[schemars(rename = "application", transform = only_the_name)]
pub(crate) enum AppTable {
    /// All data is available at once.
    Bulk,
    /// A video encoder that follows the controller's rate, and audio (RFC 8867 section 4.3). QUIC
    /// only.
    Media {
        /// Frames per second, 1 to 1000, default 30.
        fps: u32,
        /// Lowest rate of the encoder, without headers. Default 150 kbit/s.
        min_rate: Rate,
        /// Highest rate of the encoder, without headers. Default 1.5 Mbit/s.
        max_rate: Rate,
        /// Initial rate of the encoder. Default 150 kbit/s.
        start_rate: Rate,
        /// Minimum delay between a rate request and the first frame encoded at it. Default 100 ms.
        reaction: Duration,
        /// Variation of frame sizes: uniform within this share of their mean. Default 5 %.
        variation: Percent,
        /// Audio rate, without headers, sent as one packet every 20 ms. `"0"` disables audio.
        /// Default 20 kbit/s.
        #[schemars(schema_with = "rate_or_none")]
        audio: Rate,
        /// Longest time that a frame waits to be sent. A frame that waits longer is skipped whole.
        /// Default 1 s.
        max_queue: Duration,
    },
    /// Objects separated by idle times (RFC 8868).
    OnOff {
        /// Object size: the smallest and the largest, or one size. Default 30 kB to 50 kB.
        #[schemars(with = "serde_json::Value")]
        object: (Bytes, Bytes),
        /// Mean of the exponentially distributed idle time. Default 10 s.
        idle: Duration,
        /// Start of the flow: `"on"` (default) with an object, `"off"` with an idle time.
        begins: &'static str,
        /// Connection that carries an object.
        connection: Connection,
    },
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

/// `packet` of a flow.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "packet", transform = Needs(""))]
pub(crate) struct Packet {
    /// QUIC: UDP payload of a full packet, default 1252 bytes.
    pub(crate) datagram: Option<Bytes>,
    /// QUIC: bytes of the payload that carry no data (packet header, AEAD tag, frame header),
    /// default 37 bytes.
    pub(crate) header: Option<Bytes>,
    /// TCP: payload of a full segment, default 1448 bytes.
    pub(crate) mss: Option<Bytes>,
    /// Headers below the transport, default 42 bytes (UDP, IP and link) or 52 bytes (TCP, IP and
    /// link).
    pub(crate) overhead: Bytes,
    /// Size of an acknowledgement on the wire, if there is a `[reverse]`. Default 99 bytes for
    /// QUIC, 52 bytes for TCP.
    pub(crate) ack: Option<Bytes>,
}
