//! Configuration of connections and endpoints.

use std::fmt;

use units::{Bytes, Duration};

use crate::streams::flow::WindowConfig;
use crate::wire::connection_id::ConnectionId;
use crate::wire::header::MIN_INITIAL_DATAGRAM;
use crate::wire::receive_timestamps::{MAX_EXPONENT, StampFormat};
use crate::wire::transport_parameters::TransportParameters;
use crate::wire::varint;

/// Largest possible UDP payload, in bytes (RFC 9000 section 18.2, `max_udp_payload_size`).
pub const MAX_UDP_PAYLOAD: u64 = 65_527;
/// Smallest `initial_datagram_size`, in bytes: header, tag, and the largest frame that cannot be
/// divided. That is an ACK of one range with ECN counts.
pub const MIN_PACKET_SIZE: usize = 1 + ConnectionId::MAX_LEN + 4 + 16 + 56;
/// Largest number of the peer's connection IDs that this end stores.
pub const MAX_CONNECTION_IDS: u64 = 8;
/// A window that no run exhausts. It never moves, so no MAX_DATA is ever sent.
pub const ENDLESS: WindowConfig = WindowConfig { initial: 1 << 61, max: 1 << 61 };
/// Exclusive upper bound of `max_ack_delay` (section 18.2). The largest value is one millisecond
/// less.
const ACK_DELAY_LIMIT: Duration = Duration::from_millis(1 << 14);
/// Default limit of a window that grows, in bytes.
const LARGE: u64 = 64 << 20;

/// Error for an invalid configuration. It names the field and the rule that the field breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Name of the field.
    pub field: &'static str,
    /// Rule for the field, in words that follow "must be".
    pub rule: &'static str,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` must be {}", self.field, self.rule)
    }
}

impl std::error::Error for Invalid {}

/// A rule: whether it holds, the field, and the requirement.
type Rule = (bool, &'static str, &'static str);

fn first_broken(rules: &[Rule]) -> Result<(), Invalid> {
    let broken = rules.iter().find(|(holds, ..)| !holds);
    broken.map_or(Ok(()), |&(_, field, rule)| Err(Invalid { field, rule }))
}

/// Settings of the DATAGRAM extension (RFC 9221).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramConfig {
    /// Largest DATAGRAM frame that this end accepts, including type and length; 1 B to 65 535 B.
    pub max_frame_size: Bytes,
    /// Limit of the messages waiting to be sent, in bytes.
    pub send_queue: Bytes,
    /// Limit of the messages waiting to be read, in bytes. When it is exceeded, the oldest messages
    /// are dropped.
    pub receive_queue: Bytes,
}

impl Default for DatagramConfig {
    fn default() -> Self {
        Self { max_frame_size: Bytes(65_535), send_queue: Bytes(1 << 20), receive_queue: Bytes(1 << 20) }
    }
}

/// Request to the peer in an ACK_FREQUENCY frame (draft-ietf-quic-ack-frequency section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRequest {
    /// Ack-Eliciting Threshold. The peer sends an ACK after more than this many ACK-eliciting
    /// packets; at most 2^62 - 1.
    pub threshold: u64,
    /// New `max_ack_delay` of the peer, below 2^14 ms. It is raised to the peer's `min_ack_delay`
    /// if that is longer. `None` keeps the current value.
    pub max_ack_delay: Option<Duration>,
    /// Packet reordering that triggers an immediate ACK, in packets; at most 2^62 - 1. 0 disables
    /// ACKs for this reason.
    pub reordering_threshold: u64,
}

/// ACK_FREQUENCY in both directions. Off by default, since there is no RFC yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFrequencyConfig {
    /// Shortest ACK delay that the peer may request, at most `max_ack_delay`. `None` forbids such
    /// requests.
    pub min_ack_delay: Option<Duration>,
    /// Request sent to a peer that supports ACK_FREQUENCY; `None` sends no request.
    pub request: Option<AckRequest>,
}

/// Receive timestamps in ACK frames (draft-ietf-quic-receive-ts-02), configured for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimestampConfig {
    /// Timestamps that this end requests: the maximum per frame, and their unit of 2^exponent
    /// microseconds (exponent 0 to 20).
    pub wanted: Option<StampFormat>,
    /// Sends timestamps to a peer that requests them.
    pub offered: bool,
}

/// Configuration of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Idle timeout, in whole milliseconds (RFC 9000 section 10.1). The peer's timeout applies if
    /// it is shorter. `None` disables this end's timeout.
    pub idle_timeout: Option<Duration>,
    /// Flow control window of the connection, over all streams.
    pub data_window: WindowConfig,
    /// Flow control window of each stream.
    pub stream_window: WindowConfig,
    /// Maximum number of bidirectional streams that the peer may have open; at most 2^16, since
    /// each takes memory.
    pub bidirectional_streams: u64,
    /// Maximum number of unidirectional streams that the peer may have open; at most 2^16.
    pub unidirectional_streams: u64,
    /// Limit of unacknowledged data that an application may write on a stream.
    pub send_buffer: Bytes,
    /// DATAGRAM settings. `None` forbids the peer to send DATAGRAM frames.
    pub datagrams: Option<DatagramConfig>,
    /// Maximum ACK delay, in whole milliseconds below 2^14 ms.
    pub max_ack_delay: Duration,
    /// Exponent of the ACK Delay field: its unit is 2^exponent microseconds; 0 to 20.
    pub ack_delay_exponent: u8,
    /// Number of ACK frames after which an ACK with several ranges or timestamps carries a PING.
    ///
    /// The PING elicits an ACK, from which this end learns what it need not repeat (RFC 9000
    /// section 13.2.4). It is sent at most once per round trip, and not while this end has other
    /// data in flight. At least 1; `None` disables it. A value in
    /// [`Settings`](crate::connection::Settings) takes precedence.
    pub ping_every: Option<u64>,
    /// ACK_FREQUENCY settings.
    pub ack_frequency: AckFrequencyConfig,
    /// Receive timestamp settings.
    pub timestamps: TimestampConfig,
    /// Length of this end's connection IDs, 0 to 20 bytes. A server needs at least 4 to tell
    /// connections apart. It needs 8 so that use of an ID proves an address (section 8.1).
    pub connection_id_len: usize,
    /// Number of the peer's connection IDs that this end stores; 2 to 8.
    pub active_connection_id_limit: u64,
    /// Size of UDP payloads, 97 B to 65 527 B. With `mtu_search` in the settings of loss recovery,
    /// it is the largest size, and 1-RTT packets begin at 1200 B.
    ///
    /// A size below 1200 B is that of 1-RTT packets. Datagrams of the handshake and of path
    /// validation still have up to 1200 B, as sections 8.2.1 and 14.1 require. They may exceed the
    /// congestion window by the difference.
    pub initial_datagram_size: Bytes,
    /// Largest UDP payload that this end accepts; from `initial_datagram_size`, or 1200 B
    /// if that is more, to 65 527 B.
    pub max_datagram_size: Bytes,
    /// Asks the peer not to migrate deliberately to another address (section 18.2).
    pub disable_active_migration: bool,
    /// Sends a reserved transport parameter and a reserved version, to test that peers ignore them.
    pub grease: bool,
    /// Makes packet sizes constant, for packet-by-packet comparison with a model.
    ///
    /// Packet numbers take 4 bytes, and stream ID, offset and length take their longest encodings.
    /// `grease` must be off. Windows must be [`ENDLESS`], so that no packet carries credit.
    /// `ping_every` must be `None`, so that ACK frames elicit no ACK.
    pub fixed_sizes: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            idle_timeout: Some(Duration::from_secs(30)),
            data_window: WindowConfig { initial: 1 << 20, max: LARGE },
            stream_window: WindowConfig { initial: 512 << 10, max: LARGE },
            bidirectional_streams: 100,
            unidirectional_streams: 100,
            send_buffer: Bytes(4 << 20),
            datagrams: None,
            max_ack_delay: Duration::from_millis(25),
            ack_delay_exponent: recovery::DEFAULT_ACK_DELAY_EXPONENT,
            ping_every: Some(8),
            ack_frequency: AckFrequencyConfig::default(),
            timestamps: TimestampConfig::default(),
            connection_id_len: 8,
            active_connection_id_limit: 4,
            initial_datagram_size: Bytes(MIN_INITIAL_DATAGRAM as u64),
            max_datagram_size: Bytes(MAX_UDP_PAYLOAD),
            disable_active_migration: false,
            grease: true,
            fixed_sizes: false,
        }
    }
}

impl Config {
    /// Returns a configuration for packet-by-packet comparison. Packet sizes do not depend on the
    /// progress of a connection.
    pub fn exact() -> Self {
        Self {
            data_window: ENDLESS,
            stream_window: ENDLESS,
            ping_every: None,
            grease: false,
            fixed_sizes: true,
            ..Self::default()
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), Invalid> {
        first_broken(&self.limits())?;
        first_broken(&self.extensions())?;
        for (field, window) in [("data_window", self.data_window), ("stream_window", self.stream_window)] {
            first_broken(&[
                (window.initial <= window.max, field, "initially no larger than its maximum"),
                (window.max <= varint::MAX, field, "at most 2^62 - 1 bytes"),
                (!self.fixed_sizes || window == ENDLESS, field, "`ENDLESS` with `fixed_sizes`"),
            ])?;
        }
        Ok(())
    }

    fn limits(&self) -> [Rule; 12] {
        let whole_ms = |d: Duration| d.0.is_multiple_of(1_000_000);
        let (first, most) = (self.initial_datagram_size.0, self.max_datagram_size.0);
        let idle = self.idle_timeout.is_none_or(|d| whole_ms(d) && d > Duration::ZERO && d < Duration::MAX);
        [
            (idle, "idle_timeout", "a whole number of milliseconds, at least 1"),
            (self.bidirectional_streams <= 1 << 16, "bidirectional_streams", "at most 2^16"),
            (self.unidirectional_streams <= 1 << 16, "unidirectional_streams", "at most 2^16"),
            (self.send_buffer.0 > 0, "send_buffer", "at least 1 B"),
            (self.connection_id_len <= ConnectionId::MAX_LEN, "connection_id_len", "at most 20"),
            (
                (2..=MAX_CONNECTION_IDS).contains(&self.active_connection_id_limit),
                "active_connection_id_limit",
                "2 to 8",
            ),
            (
                (MIN_PACKET_SIZE as u64..=MAX_UDP_PAYLOAD).contains(&first),
                "initial_datagram_size",
                "97 B to 65527 B",
            ),
            (
                (first.max(MIN_INITIAL_DATAGRAM as u64)..=MAX_UDP_PAYLOAD).contains(&most),
                "max_datagram_size",
                "from `initial_datagram_size`, and at least 1200 B, to 65527 B",
            ),
            (
                whole_ms(self.max_ack_delay) && self.max_ack_delay < ACK_DELAY_LIMIT,
                "max_ack_delay",
                "a whole number of milliseconds below 2^14",
            ),
            (!(self.fixed_sizes && self.grease), "grease", "off with `fixed_sizes`"),
            (self.ping_every != Some(0), "ping_every", "at least 1"),
            (!self.fixed_sizes || self.ping_every.is_none(), "ping_every", "unset with `fixed_sizes`"),
        ]
    }

    fn extensions(&self) -> [Rule; 6] {
        let queues = |d: DatagramConfig| (1..=65_535).contains(&d.max_frame_size.0);
        let request = self.ack_frequency.request;
        let stamps = self.timestamps.wanted;
        let micros = |d: Duration| d.0.is_multiple_of(1000);
        [
            (self.ack_delay_exponent <= 20, "ack_delay_exponent", "0 to 20"),
            (self.datagrams.is_none_or(queues), "datagrams", "limited to frames of 1 B to 65535 B"),
            (
                self.ack_frequency.min_ack_delay.is_none_or(|d| micros(d) && d <= self.max_ack_delay),
                "min_ack_delay",
                "a whole number of microseconds, at most `max_ack_delay`",
            ),
            (
                request.is_none_or(|r| r.threshold.max(r.reordering_threshold) <= varint::MAX),
                "ack_frequency",
                "a request with thresholds of at most 2^62 - 1",
            ),
            (
                request.and_then(|r| r.max_ack_delay).is_none_or(|d| d < ACK_DELAY_LIMIT),
                "ack_frequency",
                "a request with a delay below 2^14 ms",
            ),
            (
                stamps.is_none_or(|s| s.exponent <= MAX_EXPONENT && (1..=varint::MAX).contains(&s.max)),
                "timestamps",
                "at least 1 per frame, with an exponent of 0 to 20",
            ),
        ]
    }

    /// Returns the transport parameters that this end declares in the handshake.
    ///
    /// The caller adds the parameters of servers, which need the connection's IDs, and `grease`,
    /// which needs random numbers.
    pub fn parameters(&self, initial_source: ConnectionId) -> TransportParameters {
        let micros = |d: Duration| d.0 / 1000;
        TransportParameters {
            max_idle_timeout: self.idle_timeout.map_or(0, |d| d.0 / 1_000_000),
            max_udp_payload_size: self.max_datagram_size.0,
            initial_max_data: self.data_window.initial,
            initial_max_stream_data_bidi_local: self.stream_window.initial,
            initial_max_stream_data_bidi_remote: self.stream_window.initial,
            initial_max_stream_data_uni: self.stream_window.initial,
            initial_max_streams_bidi: self.bidirectional_streams,
            initial_max_streams_uni: self.unidirectional_streams,
            ack_delay_exponent: self.ack_delay_exponent.into(),
            max_ack_delay: self.max_ack_delay.0 / 1_000_000,
            disable_active_migration: self.disable_active_migration,
            active_connection_id_limit: self.active_connection_id_limit,
            initial_source_connection_id: Some(initial_source),
            max_datagram_frame_size: self.datagrams.map_or(0, |d| d.max_frame_size.0),
            min_ack_delay: self.ack_frequency.min_ack_delay.map(micros),
            max_receive_timestamps_per_ack: self.timestamps.wanted.map(|format| format.max),
            receive_timestamps_exponent: self.timestamps.wanted.map(|format| format.exponent.into()),
            ..TransportParameters::default()
        }
    }
}

/// Condition under which a server validates a client's address before it keeps state (RFC 9000
/// section 8.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryPolicy {
    /// Never. The amplification limit applies in any case.
    #[default]
    Never,
    /// When at least so many connections are not accepted yet: of all clients, or of the client's
    /// host. If the application accepts complete handshakes only, no more than these belong to
    /// addresses that are not validated.
    From {
        /// Number of connections of all clients. 0 sends Retry to every client.
        all: usize,
        /// Number of connections of one host. 0 sends Retry to every client.
        of_host: usize,
    },
    /// Always, unless the client presents a valid token.
    Always,
}

/// Configuration of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointConfig {
    /// Configuration of each connection.
    pub connection: Config,
    /// Application protocols, in order of preference. At least one name, of 1 to 255 bytes each
    /// (RFC 9001 section 8.1).
    pub alpn: Vec<Vec<u8>>,
    /// Accepts connections from clients.
    pub accepts: bool,
    /// Policy for sending Retry packets.
    pub retry: RetryPolicy,
    /// Lifetime of a token in a Retry packet; more than zero.
    pub retry_lifetime: Duration,
    /// Lifetime of a token in a NEW_TOKEN frame; more than zero.
    pub token_lifetime: Duration,
    /// Number of tokens that a server sends to each client once the handshake is confirmed; at most
    /// 4.
    pub tokens: u8,
    /// Number of used tokens that are remembered, at slightly more than 24 bytes each; at least 1.
    /// Tokens older than these are refused.
    pub used_tokens: usize,
    /// Maximum number of connections. Further clients are refused. `None` sets no limit.
    pub connections: Option<usize>,
    /// Maximum number of connections of one host: an IPv4 address, or a /64 of IPv6. Further ones
    /// are refused. `None` sets no limit.
    pub connections_per_host: Option<usize>,
    /// Maximum number of connections that wait to be accepted; 1 to 65 536.
    pub unaccepted: usize,
    /// Limit of received datagrams for each connection that is not accepted yet; at least 1200 B.
    pub unaccepted_bytes: Bytes,
    /// Maximum number of answers per second to datagrams that belong to no connection. Also the
    /// largest burst of such answers.
    pub answers_per_second: u64,
    /// Exports TLS secrets, for a file named by SSLKEYLOGFILE.
    pub key_log: bool,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            connection: Config::default(),
            alpn: vec![b"hq-interop".to_vec()],
            accepts: false,
            retry: RetryPolicy::default(),
            retry_lifetime: Duration::from_secs(15),
            token_lifetime: Duration::from_secs(24 * 3600),
            tokens: 1,
            used_tokens: 4096,
            connections: None,
            connections_per_host: None,
            unaccepted: 1024,
            unaccepted_bytes: Bytes(100 << 10),
            answers_per_second: 100,
            key_log: false,
        }
    }
}

impl EndpointConfig {
    /// Checks the configuration, including that of connections.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), Invalid> {
        self.connection.check()?;
        let names = self.alpn.iter().all(|name| (1..=255).contains(&name.len()));
        first_broken(&[
            (!self.alpn.is_empty() && names, "alpn", "at least one name of 1 to 255 bytes"),
            (self.retry_lifetime > Duration::ZERO, "retry_lifetime", "more than zero"),
            (self.token_lifetime > Duration::ZERO, "token_lifetime", "more than zero"),
            (self.tokens <= 4, "tokens", "at most 4"),
            (self.used_tokens >= 1, "used_tokens", "at least 1"),
            ((1..=1 << 16).contains(&self.unaccepted), "unaccepted", "1 to 65536"),
            (self.unaccepted_bytes.0 >= MIN_INITIAL_DATAGRAM as u64, "unaccepted_bytes", "at least 1200 B"),
            (
                !self.accepts || self.connection.connection_id_len >= 4,
                "connection_id_len",
                "at least 4 if the endpoint accepts clients",
            ),
        ])
    }
}
