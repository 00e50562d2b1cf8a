//! `[[flow]]` and the tables in it.

use congestion::Algorithm;
use scenario::{Connection, FlowConfig, Rebind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use units::{Bytes, Duration, Percent, Rate};

use crate::file::tables::Needs;
use crate::file::tables::network::NameOr;

/// `[[flow]]`. Keys that a run takes as they are come from [`FlowConfig`].
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "flow", transform = Needs(""))]
pub(crate) struct FlowTable<'a> {
    /// Its name in tables; flows of one label are a group (`goodput of BBR`). Default: that of the controller.
    pub(crate) label: &'a str,
    /// Needed, here or in `[vary]`. Its algorithm: `"cubic"`, or `{ name = "cubic", beta = 0.8, label = "CUBIC 0.8" }`; see `ackclock algorithms`.
    #[schemars(with = "NameOr<ControllerTable>")]
    pub(crate) controller: Named<'a>,
    /// That of every controller that has a choice: `"standard"`, `"hystart"` (Linux), `"hystart++"` (RFC 9406),
    /// `"hystart-picoquic"`, `"hystart-mvfst"` (a smallest RTT above that of the round before; eight ACKs per round).
    #[schemars(extend("enum" = ["standard", "hystart", "hystart++", "hystart-picoquic", "hystart-mvfst"]))]
    pub(crate) slow_start: Option<String>,
    /// `"quic"` (default) or `"tcp"`.
    #[schemars(extend("enum" = ["quic", "tcp"]))]
    pub(crate) transport: &'static str,
    /// QUIC: whose values the keys of `packet`, `ack` and `recovery` have that the file does not give: `"rfc9002"` (default) or
    /// `"mvfst"`.
    #[schemars(extend("enum" = ["rfc9002", "mvfst"]))]
    pub(crate) stack: Option<String>,
    /// `"forward"` (default), or `"backward"`: over the links of `[reverse]`.
    #[schemars(extend("enum" = ["forward", "backward"]))]
    pub(crate) direction: Option<&'static str>,
    /// Links that its data cross, where there are several: neighbours in their order.
    pub(crate) route: Option<&'a [String]>,
    /// Links that its acknowledgements cross.
    pub(crate) back_route: Option<&'a [String]>,
    /// How many, that differ in their start alone; 0 leaves it out, so that `[vary]` can choose among flows. Default 1.
    pub(crate) count: u64,
    /// First start; default 0.
    pub(crate) start: Duration,
    /// From the start of one to that of the next; default 0.
    pub(crate) stagger: Duration,
    /// Each starts up to so much later, by the seed: real flows never start together to the nanosecond. Default 0.
    pub(crate) start_jitter: Duration,
    /// It ends at this time of the run.
    pub(crate) stop: Option<Duration>,
    /// It ends so long after its own start.
    pub(crate) lasts: Option<Duration>,
    /// It ends after so many bytes.
    pub(crate) transfer: Option<Bytes>,
    /// What it carries: `"bulk"` (default), `"media"`, `"on-off"`, with keys of their own.
    #[schemars(with = "NameOr<AppTable>")]
    pub(crate) application: AppTable,
    /// `[["40 s", "60 s"]]`, times of the run: nothing new is offered in between, what was lost is sent again all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pauses: Vec<(Duration, Duration)>,
    /// When, in the time of the run, a NAT gives its sender another source port or another address, and forgets the one before: `[["5 s", "port"], ["9 s",
    /// "address"]]`. For `--on stack`, where the server has to find out and to validate the path; a flow of the simulator has no addresses, and
    /// goes on.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) rebind: &'a [(Duration, Rebind)],
    /// Base RTT; half of it is the way there, or the delay of its links if that is more. Default: that of its links.
    pub(crate) rtt: Duration,
    /// Sizes of its packets.
    pub(crate) packet: Packet,
    #[serde(flatten)]
    pub(crate) config: &'a FlowConfig,
}

/// An algorithm with its name before its parameters.
pub(crate) struct Named<'a>(pub(crate) &'a Algorithm);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(algorithm) = self;
        let params = toml::Table::try_from(algorithm).map_err(S::Error::custom)?;
        let name = ("name".to_owned(), toml::Value::String(algorithm.name().to_owned()));
        to.collect_map(std::iter::once(name).chain(params))
    }
}

/// A controller by its name, its label and the parameters that `ackclock algorithms NAME` lists.
#[derive(JsonSchema)]
#[schemars(rename = "controller")]
#[expect(dead_code, reason = "a form of a file, for the schema alone")]
pub(crate) struct ControllerTable {
    /// The algorithm.
    name: String,
    /// What tables call the flow.
    label: Option<String>,
}

/// Keys in the order of the file's documentation.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[schemars(rename = "application", transform = only_the_name)]
pub(crate) enum AppTable {
    /// All there is, at once.
    Bulk,
    /// A video encoder that follows the controller's rate, and audio (RFC 8867 section 4.3). QUIC alone.
    Media {
        /// Frames per second, 1 to 1000; default 30.
        fps: u32,
        /// Smallest rate of the encoder, without headers; default 150 kbit/s.
        min_rate: Rate,
        /// Largest; default 1.5 Mbit/s.
        max_rate: Rate,
        /// Before it knows better; default 150 kbit/s.
        start_rate: Rate,
        /// From asking for a rate to the frame that has it, at least; default 100 ms.
        reaction: Duration,
        /// Frame sizes are uniform within this part of their mean; default 5 %.
        variation: Percent,
        /// A packet every 20 ms at this rate, without headers; `"0"`: none. Default 20 kbit/s.
        #[schemars(schema_with = "rate_or_none")]
        audio: Rate,
        /// What waits longer to be sent is skipped in whole frames; default 1 s.
        max_queue: Duration,
    },
    /// Objects with idle times in between (RFC 8868).
    OnOff {
        /// Smallest and largest, or one size; default 30 kB to 50 kB.
        #[schemars(with = "serde_json::Value")]
        object: (Bytes, Bytes),
        /// Mean of the exponential idle time; default 10 s.
        idle: Duration,
        /// `"on"` (default): the first object comes at the flow's start; `"off"`: after an idle time.
        begins: &'static str,
        /// What carries an object.
        connection: Connection,
    },
}

/// A rate, or the words for none.
fn rate_or_none(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [generator.subschema_for::<Rate>(), { "enum": ["0", "off"] }] })
}

/// Of an application nothing but its name is needed.
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
    /// QUIC: UDP payload of a full packet; default 1252 bytes.
    pub(crate) datagram: Option<Bytes>,
    /// QUIC: its header, AEAD tag and frame header, which carry no data; default 37 bytes.
    pub(crate) header: Option<Bytes>,
    /// TCP: payload of a full segment; default 1448 bytes.
    pub(crate) mss: Option<Bytes>,
    /// Headers below: IP, UDP and link (42 bytes), or IP, TCP and link (52 bytes).
    pub(crate) overhead: Bytes,
    /// An acknowledgement on the wire, where there is a `[reverse]`; default 99 and 52 bytes.
    pub(crate) ack: Option<Bytes>,
}
