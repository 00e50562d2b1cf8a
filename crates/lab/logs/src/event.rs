//! Events of a connection, in one form for all file formats.

use quic::{Side, Space};
use scenario::signal::Call;
use units::{Duration, Ecn, Time};

pub use quic::passive::Piece;

/// Protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// QUIC.
    Quic,
    /// TCP.
    Tcp,
}

/// Origin of the events of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// qlog of an endpoint.
    Qlog,
    /// Packets on the wire, with readable contents.
    Capture,
    /// Packets on the wire whose contents are encrypted and whose keys are missing. Only sizes,
    /// times and the spin bit are known.
    Encrypted,
    /// Measurements at intervals, by flent or iperf3.
    Intervals,
}

/// Description of a connection, as seen at one point.
#[derive(Clone, Debug)]
pub struct About {
    /// Name for people: the title of the log, or the addresses and ports.
    pub name: String,
    /// Identity shared by logs of the same connection: the original destination connection ID in
    /// hexadecimal, or the group ID of qlog. Empty if the log has none.
    pub identity: String,
    /// Protocol.
    pub protocol: Protocol,
    /// Origin of the events.
    pub source: Source,
    /// End at which the log was written. `None` if it is not known. For captures, the reader tells
    /// it later, see [`Event::Vantage`].
    pub vantage: Option<Side>,
    /// Congestion controller, if the log names it.
    pub controller: Option<String>,
    /// Parameters of the controller as JSON, in logs of this program.
    pub parameters: Option<String>,
    /// Program that wrote the log, if the log names it.
    pub program: Option<String>,
}

/// Events, borrowed from the reader.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// Packet that leaves the vantage point or arrives there.
    Packet(Packet<'a>),
    /// Packet declared lost by the end that wrote the log.
    Lost {
        /// Packet number space.
        space: Space,
        /// Packet number, if the log has it.
        number: Option<u64>,
        /// Rule that detected the loss, if the log has it.
        trigger: Option<Trigger>,
    },
    /// Change of the sender's state.
    Metrics(Metrics<'a>),
    /// Change of the congestion controller's state.
    State {
        /// New state, in the log's words.
        new: &'a str,
        /// Cause, in the log's words.
        trigger: Option<&'a str>,
    },
    /// Timer of loss recovery.
    Timer {
        /// Change of the timer.
        kind: Timer,
        /// True for a probe timeout, false for the timer of the time threshold.
        pto: bool,
        /// Time from now to expiry, if it was set.
        delay: Option<Duration>,
    },
    /// The sender has no data to send (true), or has some again (false).
    AppLimited(bool),
    /// Parameters that an end announced.
    Parameters {
        /// End that announced them.
        from: Side,
        /// Parameters.
        parameters: Parameters,
    },
    /// End nearest to a capture, once the reader knows it.
    Vantage(Side),
    /// Call of the controller, in logs of this program.
    Call(&'a Call),
    /// Measurement over an interval.
    Interval(Interval),
    /// Part of the log that is missing or cannot be read.
    Gap(Gap),
}

/// Packet of QUIC, or segment of TCP.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    /// End that sent it.
    pub from: Side,
    /// Packet number space. TCP uses Application.
    pub space: Space,
    /// Packet number. TCP: number of data segments captured before it in this direction. `None` if
    /// the number is encrypted, or the segment has no data.
    pub number: Option<u64>,
    /// Size of the QUIC packet, or of the TCP payload, in bytes.
    pub bytes: u32,
    /// Size of the IP packet. Set for the first QUIC packet of a datagram; 0 for those after it;
    /// `None` if the log does not have it.
    pub wire: Option<u32>,
    /// True for an ACK-eliciting packet. TCP: with data, SYN or FIN.
    pub ack_eliciting: bool,
    /// True for a packet that counts in flight.
    pub in_flight: bool,
    /// ECN codepoint, if known.
    pub ecn: Option<Ecn>,
    /// Stream data. TCP: one piece of stream 0, with offsets from the byte after the SYN.
    pub pieces: &'a [Piece],
    /// Acknowledgements. TCP: at most one.
    pub acks: &'a [Ack],
    /// Largest stream offset that the peer may send from now on: MAX_DATA, or TCP's acknowledgement
    /// number plus its scaled window.
    pub limit: Option<u64>,
    /// TCP timestamps: value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// Spin bit of a short header.
    pub spin: Option<bool>,
    /// Beginning or end of the connection.
    pub control: Control,
}

/// Beginning and end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// Neither.
    #[default]
    None,
    /// SYN, or an Initial packet.
    Opens,
    /// FIN, or CONNECTION_CLOSE.
    Ends,
    /// RST, or a stateless reset.
    Resets,
}

/// Acknowledgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// First and last number of each range of acknowledged packets, ascending (QUIC).
    pub ranges: Vec<(u64, u64)>,
    /// Stream offset before which everything has arrived (TCP).
    pub cumulative: Option<u64>,
    /// First and last-plus-one offset of each SACK block, in the order of the option (TCP). A block
    /// below the cumulative offset, or inside the next block, is a DSACK (RFC 2883).
    pub selective: Vec<(u64, u64)>,
    /// ACK delay.
    pub delay: Option<Duration>,
}

/// Rule that detects a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Packet threshold, or duplicate ACKs.
    PacketThreshold,
    /// Time threshold, or RACK.
    TimeThreshold,
    /// Probe timeout, or retransmission timeout.
    Timeout,
}

/// Sender's state. Values that did not change, or that the log does not have, are `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics<'a> {
    /// Congestion window, in bytes.
    pub cwnd: Option<u64>,
    /// Bytes in flight.
    pub bytes_in_flight: Option<u64>,
    /// Slow-start threshold, in bytes.
    pub ssthresh: Option<u64>,
    /// Latest RTT sample.
    pub latest_rtt: Option<Duration>,
    /// Smoothed RTT.
    pub smoothed_rtt: Option<Duration>,
    /// Smallest RTT.
    pub min_rtt: Option<Duration>,
    /// RTT variation.
    pub rttvar: Option<Duration>,
    /// Pacing rate, in bits per second.
    pub pacing_rate: Option<u64>,
    /// Number of consecutive probe timeouts.
    pub pto_count: Option<u32>,
    /// The controller's own variables.
    pub variables: &'a [(String, f64)],
}

/// Change of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Set.
    Set,
    /// Expired.
    Expired,
    /// Cancelled.
    Cancelled,
}

/// Transport parameters of one end, as far as the log has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Largest ACK delay that this end promises (RFC 9000 section 18.2).
    pub max_ack_delay: Option<Duration>,
    /// Bytes that the peer may send on the connection at first.
    pub initial_max_data: Option<u64>,
    /// Largest UDP payload that this end accepts, or the MSS of TCP.
    pub max_udp_payload_size: Option<u64>,
    /// Idle timeout.
    pub idle_timeout: Option<Duration>,
}

/// Measurement over an interval that ends now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// End that sent the data.
    pub from: Option<Side>,
    /// Length of the interval.
    pub length: Duration,
    /// Bytes delivered in it, or sent if `is_sent`.
    pub bytes: Option<u64>,
    /// True if the bytes were counted at the sender.
    pub is_sent: bool,
    /// Retransmissions in it.
    pub retransmissions: Option<u64>,
    /// Congestion window at its end, in bytes.
    pub cwnd: Option<u64>,
    /// RTT: of the connection, or of a ping beside it.
    pub rtt: Option<Duration>,
    /// RTT variation.
    pub rttvar: Option<Duration>,
    /// True if `rtt` is that of a ping beside the connection.
    pub is_ping: bool,
}

/// Part of a log that is missing or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The log begins after the connection did.
    BeginsLater,
    /// The log ends inside a record.
    Truncated,
    /// Records that cannot be read, and the first reason with its position.
    Unreadable(u64, String),
    /// Packets that the capture missed, as sequence numbers prove. Bytes of data in them, if known.
    Missed(Option<u64>),
    /// Packets cut by the capture's snap length so that headers or frames are missing.
    Cut(u64),
    /// Segments that offload had joined: several packets appear as one of this many bytes.
    Joined(u32),
    /// Packets that could not be decrypted.
    Undecrypted(u64),
    /// Times that run backwards, corrected by up to this much.
    Backwards(Duration),
    /// Anything else, as a sentence.
    Other(String),
}

/// Receives the events of a file. Events of one connection come in the order of time.
pub trait Sink {
    /// Begins a connection and returns its number, which later events bear.
    fn open(&mut self, about: About) -> usize;
    /// Receives an event. `at` is in the log's clock: nanoseconds since 1970 if the log has the time
    /// of day, otherwise since the log's zero.
    fn event(&mut self, connection: usize, at: Time, event: &Event<'_>);
    /// Reports whether it uses the calls of controllers. Otherwise they are not read.
    fn takes_calls(&self) -> bool {
        false
    }
    /// Reports whether reading should stop, because of Ctrl-C. Asked at least once per megabyte.
    fn is_stopped(&self) -> bool {
        false
    }
}
