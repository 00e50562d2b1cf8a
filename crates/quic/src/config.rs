//! What a connection and an endpoint are told before they begin.

use std::fmt;

use units::{Bytes, Duration};

use crate::streams::flow::WindowConfig;
use crate::wire::connection_id::ConnectionId;
use crate::wire::header::MIN_INITIAL_DATAGRAM;
use crate::wire::receive_timestamps::{MAX_EXPONENT, StampFormat};
use crate::wire::transport_parameters::TransportParameters;
use crate::wire::varint;

/// The largest UDP payload there is room for (RFC 9000 section 18.2, `max_udp_payload_size`), in bytes.
pub const MAX_UDP_PAYLOAD: u64 = 65_527;
/// The most connection IDs of the peer that are kept.
pub const MAX_CONNECTION_IDS: u64 = 8;
/// A window that no run comes near to: it never moves, and so no MAX_DATA is ever sent.
pub const ENDLESS: WindowConfig = WindowConfig { initial: 1 << 61, max: 1 << 61 };
/// The largest `max_ack_delay` (section 18.2) is one millisecond less.
const ACK_DELAY_LIMIT: Duration = Duration::from_millis(1 << 14);
/// Of a window that grows as far as quic.md says.
const LARGE: u64 = 64 << 20;

/// What is wrong with a configuration: which field, and in words what would be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The field.
    pub field: &'static str,
    /// What it must be.
    pub rule: &'static str,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` must be {}", self.field, self.rule)
    }
}

impl std::error::Error for Invalid {}

/// A rule: whether it holds, and what is said otherwise.
type Rule = (bool, &'static str, &'static str);

fn first_broken(rules: &[Rule]) -> Result<(), Invalid> {
    let broken = rules.iter().find(|(holds, ..)| !holds);
    broken.map_or(Ok(()), |&(_, field, rule)| Err(Invalid { field, rule }))
}

/// DATAGRAM (RFC 9221).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramConfig {
    /// The largest frame that is welcome, with its type and length; 1 B to 65 535 B.
    pub max_frame_size: Bytes,
    /// What waits to be sent, at most.
    pub send_queue: Bytes,
    /// What waits to be read, at most; the oldest make room.
    pub receive_queue: Bytes,
}

impl Default for DatagramConfig {
    fn default() -> Self {
        Self { max_frame_size: Bytes(65_535), send_queue: Bytes(1 << 20), receive_queue: Bytes(1 << 20) }
    }
}

/// What the peer is asked for in ACK_FREQUENCY (draft-ietf-quic-ack-frequency section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRequest {
    /// An ACK comes once more than so many packets that elicit ACKs have come; at most 2^62 - 1.
    pub threshold: u64,
    /// The peer's new `max_ack_delay`, raised to its `min_ack_delay` if that is longer; below 2^14 ms. None: it stays.
    pub max_ack_delay: Option<Duration>,
    /// How far out of order a packet must be for an ACK at once; 0: never for that reason; at most 2^62 - 1.
    pub reordering_threshold: u64,
}

/// ACK_FREQUENCY in both directions; off by default, since there is no RFC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFrequencyConfig {
    /// The peer may ask this end: the shortest delay of ACKs that it may ask for, at most `max_ack_delay`. None: it may not.
    pub min_ack_delay: Option<Duration>,
    /// What this end asks of a peer that allows it; none: nothing.
    pub request: Option<AckRequest>,
}

/// Receive times in ACK frames (draft-ietf-quic-receive-ts-02), each direction on its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimestampConfig {
    /// This end wants them, at most so many a frame, in units of 2^exponent microseconds (0 to 20).
    pub wanted: Option<StampFormat>,
    /// This end sends them to a peer that wants them.
    pub offered: bool,
}

/// What one connection is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// After so much silence the connection is gone (RFC 9000 section 10.1), whole milliseconds; the peer's, if shorter, counts. None: never.
    pub idle_timeout: Option<Duration>,
    /// Credit for all streams together.
    pub data_window: WindowConfig,
    /// Credit for each stream.
    pub stream_window: WindowConfig,
    /// How many bidirectional streams the peer may have open at once; at most 2^16, since each takes memory.
    pub bidirectional_streams: u64,
    /// How many unidirectional ones; at most 2^16.
    pub unidirectional_streams: u64,
    /// What an application may write ahead on a stream before it is acknowledged.
    pub send_buffer: Bytes,
    /// DATAGRAM; none: the peer must not send any.
    pub datagrams: Option<DatagramConfig>,
    /// By how much ACKs are delayed at most; whole milliseconds below 2^14 ms.
    pub max_ack_delay: Duration,
    /// ACK Delay is written in units of 2^this microseconds; 0 to 20.
    pub ack_delay_exponent: u8,
    /// Every so many ACKs, one that repeats ranges or receive times comes with a PING, unless something of this end is in flight: so that it
    /// learns what need not be repeated (RFC 9000 section 13.2.4), at most once a round trip. At least 1; none: never. What
    /// [`Settings`](crate::connection::Settings) say comes first.
    pub ping_every: Option<u64>,
    /// ACK_FREQUENCY.
    pub ack_frequency: AckFrequencyConfig,
    /// Receive times.
    pub timestamps: TimestampConfig,
    /// How long this end's connection IDs are, 0 to 20 bytes; servers need at least 4 to tell connections apart, and 8 so that their
    /// use proves an address (section 8.1).
    pub connection_id_len: usize,
    /// How many connection IDs of the peer are kept; 2 to 8.
    pub active_connection_id_limit: u64,
    /// UDP payloads before anything is known of the path; 1200 B to 65 527 B. No discovery follows.
    pub initial_datagram_size: Bytes,
    /// The largest UDP payload that is welcome; from `initial_datagram_size` to 65 527 B.
    pub max_datagram_size: Bytes,
    /// The peer is asked not to come from another address on purpose (section 18.2).
    pub disable_active_migration: bool,
    /// A transport parameter and a version that mean nothing are sent, so that peers prove that they ignore them.
    pub grease: bool,
    /// For packet by packet comparison with a model: packet numbers in 4 bytes, stream, offset and length in their longest encodings, no
    /// grease; windows must be [`ENDLESS`], so that no packet carries credit, and `ping_every` none, so that ACKs elicit none.
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
    /// For packet by packet comparison: sizes do not depend on how far a connection is.
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

    /// Says what is wrong.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), Invalid> {
        first_broken(&self.limits())?;
        first_broken(&self.extensions())?;
        for (field, window) in [("data_window", self.data_window), ("stream_window", self.stream_window)] {
            first_broken(&[
                (window.initial <= window.max, field, "at first no larger than later"),
                (window.max <= varint::MAX, field, "at most 2^62 - 1 bytes"),
                (!self.fixed_sizes || window == ENDLESS, field, "ENDLESS with fixed sizes"),
            ])?;
        }
        Ok(())
    }

    fn limits(&self) -> [Rule; 12] {
        let whole_ms = |d: Duration| d.0.is_multiple_of(1_000_000);
        let (first, most) = (self.initial_datagram_size.0, self.max_datagram_size.0);
        let idle = self.idle_timeout.is_none_or(|d| whole_ms(d) && d > Duration::ZERO && d < Duration::MAX);
        [
            (idle, "idle_timeout", "whole milliseconds, at least one"),
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
                (MIN_INITIAL_DATAGRAM as u64..=MAX_UDP_PAYLOAD).contains(&first),
                "initial_datagram_size",
                "1200 B to 65527 B",
            ),
            (
                (first..=MAX_UDP_PAYLOAD).contains(&most),
                "max_datagram_size",
                "from `initial_datagram_size` to 65527 B",
            ),
            (
                whole_ms(self.max_ack_delay) && self.max_ack_delay < ACK_DELAY_LIMIT,
                "max_ack_delay",
                "whole milliseconds below 2^14",
            ),
            (!(self.fixed_sizes && self.grease), "grease", "off with fixed sizes"),
            (self.ping_every != Some(0), "ping_every", "at least 1"),
            (!self.fixed_sizes || self.ping_every.is_none(), "ping_every", "none with fixed sizes"),
        ]
    }

    fn extensions(&self) -> [Rule; 6] {
        let queues = |d: DatagramConfig| (1..=65_535).contains(&d.max_frame_size.0);
        let request = self.ack_frequency.request;
        let stamps = self.timestamps.wanted;
        let micros = |d: Duration| d.0.is_multiple_of(1000);
        [
            (self.ack_delay_exponent <= 20, "ack_delay_exponent", "0 to 20"),
            (self.datagrams.is_none_or(queues), "datagrams", "for frames of 1 B to 65535 B"),
            (
                self.ack_frequency.min_ack_delay.is_none_or(|d| micros(d) && d <= self.max_ack_delay),
                "min_ack_delay",
                "whole microseconds, at most `max_ack_delay`",
            ),
            (
                request.is_none_or(|r| r.threshold.max(r.reordering_threshold) <= varint::MAX),
                "ack_frequency",
                "asking for thresholds of at most 2^62 - 1",
            ),
            (
                request.and_then(|r| r.max_ack_delay).is_none_or(|d| d < ACK_DELAY_LIMIT),
                "ack_frequency",
                "asking for a delay below 2^14 ms",
            ),
            (
                stamps.is_none_or(|s| s.exponent <= MAX_EXPONENT && (1..=varint::MAX).contains(&s.max)),
                "timestamps",
                "at least 1 a frame, exponent 0 to 20",
            ),
        ]
    }

    /// What this end declares in the handshake. What a server adds, and `grease`, comes from whoever knows the connection's IDs and has random
    /// numbers.
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

/// When a server asks clients to prove their address before it keeps anything of them (RFC 9000 section 8.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryPolicy {
    /// Never: amplification is limited all the same.
    #[default]
    Never,
    /// From so many connections on that are not accepted yet.
    From(usize),
    /// All clients without a valid token.
    Always,
}

/// What an endpoint is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointConfig {
    /// Of each connection.
    pub connection: Config,
    /// Application protocols, the preferred first; names of 1 to 255 bytes, at least one (RFC 9001 section 8.1).
    pub alpn: Vec<Vec<u8>>,
    /// Clients may come.
    pub accepts: bool,
    /// When clients get a Retry.
    pub retry: RetryPolicy,
    /// How long a token of a Retry is worth something, more than zero.
    pub retry_lifetime: Duration,
    /// How long a token of NEW_TOKEN is worth something, more than zero.
    pub token_lifetime: Duration,
    /// How many tokens a server gives each client whose handshake is confirmed; at most 4.
    pub tokens: u8,
    /// How many tokens that were used are remembered, 24 bytes and a little each; at least 1. Older tokens than those are refused.
    pub used_tokens: usize,
    /// How many connections there may be; clients beyond are refused. None: as many as come.
    pub connections: Option<usize>,
    /// How many connections may wait until they are accepted; 1 to 65 536.
    pub unaccepted: usize,
    /// What each of them may hold in datagrams; at least 1200 B.
    pub unaccepted_bytes: Bytes,
    /// How many datagrams that belong to nobody are answered in a second, and in one go.
    pub answers_per_second: u64,
    /// Secrets of TLS are handed out, for a file that SSLKEYLOGFILE names.
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
            unaccepted: 1024,
            unaccepted_bytes: Bytes(100 << 10),
            answers_per_second: 100,
            key_log: false,
        }
    }
}

impl EndpointConfig {
    /// Says what is wrong, in the connections' part too.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), Invalid> {
        self.connection.check()?;
        let names = self.alpn.iter().all(|name| (1..=255).contains(&name.len()));
        first_broken(&[
            (!self.alpn.is_empty() && names, "alpn", "at least one name, of 1 to 255 bytes"),
            (self.retry_lifetime > Duration::ZERO, "retry_lifetime", "more than zero"),
            (self.token_lifetime > Duration::ZERO, "token_lifetime", "more than zero"),
            (self.tokens <= 4, "tokens", "at most 4"),
            (self.used_tokens >= 1, "used_tokens", "at least 1"),
            ((1..=1 << 16).contains(&self.unaccepted), "unaccepted", "1 to 65536"),
            (self.unaccepted_bytes.0 >= MIN_INITIAL_DATAGRAM as u64, "unaccepted_bytes", "at least 1200 B"),
            (
                !self.accepts || self.connection.connection_id_len >= 4,
                "connection_id_len",
                "at least 4 where clients may come",
            ),
        ])
    }
}
