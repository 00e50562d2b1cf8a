//! Calls of a controller, as a log keeps them and a replay makes them again.

mod journal;

use congestion::{
    Ack, AckedPacket, Cause, Congestion, Detection, Lost, LostPacket, PathInfo, RateSample, Sent,
};
use serde::{Deserialize, Serialize};
use units::{Duration, Rate, Time};

pub use journal::Journal;

/// Call of a controller: its time, the window after it in bytes, and what it said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call(pub u64, pub u64, pub Signal);

/// Argument of a call. Times are in nanoseconds of the run, sizes in bytes, rates in bit/s. The
/// fields are those of [`congestion`]'s types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// Controller created for a path.
    Begins(Path),
    /// Packet sent.
    Sent(SentSignal),
    /// ACK.
    Ack(Box<AckSignal>),
    /// Packets declared lost.
    Lost(Box<LostSignal>),
    /// Congestion event.
    Congestion(CongestionSignal),
    /// Last reduction undone.
    Spurious,
    /// End of an idle period: its length, and the retransmission timeout.
    Idle(u64, u64),
    /// Timer of the controller.
    Timer,
    /// Path changed.
    Path(Path),
}

/// [`PathInfo`].
#[allow(missing_docs, reason = "the fields are those of the interface")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    pub max_datagram_size: u64,
    pub paced: bool,
    pub seed: u64,
}

/// [`Sent`], written as an array of its fields: there is one for each packet.
#[allow(missing_docs, reason = "the fields are those of the interface")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64, bool)", into = "(u64, u64, u64, bool)")]
pub struct SentSignal {
    pub pn: u64,
    pub bytes: u64,
    pub bytes_in_flight: u64,
    pub app_limited: bool,
}

impl From<(u64, u64, u64, bool)> for SentSignal {
    fn from((pn, bytes, bytes_in_flight, app_limited): (u64, u64, u64, bool)) -> Self {
        Self { pn, bytes, bytes_in_flight, app_limited }
    }
}

impl From<SentSignal> for (u64, u64, u64, bool) {
    fn from(sent: SentSignal) -> Self {
        (sent.pn, sent.bytes, sent.bytes_in_flight, sent.app_limited)
    }
}

/// [`Ack`]. Absent values are zero, false or unknown.
#[allow(missing_docs, reason = "the fields are those of the interface")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AckSignal {
    pub packets: Vec<AckedSignal>,
    pub prior_in_flight: u64,
    pub bytes_in_flight: u64,
    pub delivered: u64,
    pub round: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub late: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub growth: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub lost: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub latest_rtt: Option<u64>,
    /// Absent before the first sample.
    #[serde(skip_serializing_if = "is_default")]
    pub min_rtt: Option<u64>,
    pub smoothed_rtt: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub ack_delay: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub ce: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub rate: Option<RateSignal>,
    #[serde(skip_serializing_if = "is_default")]
    pub round_start: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub in_recovery: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub app_limited: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub cwnd_limited: bool,
}

/// [`AckedPacket`]: number, bytes, send time, receive time, and whether it was sent before the last
/// reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AckedSignal(pub u64, pub u64, pub u64, pub Option<i64>, pub bool);

/// [`RateSample`].
#[allow(missing_docs, reason = "the fields are those of the interface")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RateSignal {
    pub prior_delivered: u64,
    pub delivered: u64,
    pub interval: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub delivery_rate: Option<u64>,
    #[serde(skip_serializing_if = "is_default")]
    pub app_limited: bool,
    pub tx_in_flight: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub lost: u64,
}

/// [`Lost`].
#[allow(missing_docs, reason = "the fields are those of the interface")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LostSignal {
    pub packets: Vec<LostPacketSignal>,
    pub total_lost: u64,
    pub delivered: u64,
    pub bytes_in_flight: u64,
}

/// [`LostPacket`], written as an array of its fields: a timeout can declare 60 000 packets lost.
#[allow(missing_docs, reason = "the fields are those of the interface")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LostFields", into = "LostFields")]
pub struct LostPacketSignal {
    pub pn: u64,
    pub bytes: u64,
    pub sent: u64,
    pub detection: Detection,
    pub tx_in_flight: u64,
    pub lost_at_send: u64,
    pub app_limited: bool,
}

/// Fields of a lost packet.
type LostFields = (u64, u64, u64, Detection, u64, u64, bool);

impl From<LostFields> for LostPacketSignal {
    fn from((pn, bytes, sent, detection, tx_in_flight, lost_at_send, app_limited): LostFields) -> Self {
        Self { pn, bytes, sent, detection, tx_in_flight, lost_at_send, app_limited }
    }
}

impl From<LostPacketSignal> for LostFields {
    fn from(lost: LostPacketSignal) -> Self {
        let LostPacketSignal { pn, bytes, sent, detection, tx_in_flight, lost_at_send, app_limited } = lost;
        (pn, bytes, sent, detection, tx_in_flight, lost_at_send, app_limited)
    }
}

/// [`Congestion`].
#[allow(missing_docs, reason = "the fields are those of the interface")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CongestionSignal {
    pub cause: Cause,
    pub prior_in_flight: u64,
    /// Absent before the first sample.
    #[serde(default, skip_serializing_if = "is_default")]
    pub min_rtt: Option<u64>,
    pub smoothed_rtt: u64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns the smallest RTT, unless there was no sample.
fn sampled(min_rtt: Duration) -> Option<u64> {
    (min_rtt != Duration::MAX).then_some(min_rtt.0)
}

fn min_rtt(sampled: Option<u64>) -> Duration {
    sampled.map_or(Duration::MAX, Duration)
}

impl From<PathInfo> for Path {
    fn from(PathInfo { max_datagram_size, paced, seed }: PathInfo) -> Self {
        Self { max_datagram_size, paced, seed }
    }
}

impl From<Path> for PathInfo {
    fn from(Path { max_datagram_size, paced, seed }: Path) -> Self {
        Self { max_datagram_size, paced, seed }
    }
}

impl SentSignal {
    fn new(&Sent { now: _, pn, bytes, bytes_in_flight, app_limited }: &Sent) -> Self {
        Self { pn, bytes, bytes_in_flight, app_limited }
    }

    /// Returns the packet, sent at `now`.
    pub fn sent(&self, now: Time) -> Sent {
        let Self { pn, bytes, bytes_in_flight, app_limited } = *self;
        Sent { now, pn, bytes, bytes_in_flight, app_limited }
    }
}

impl AckSignal {
    fn new(ack: &Ack) -> Self {
        let packet = |p: &AckedPacket| AckedSignal(p.pn, p.bytes, p.sent.0, p.received, p.before_reduction);
        Self {
            packets: ack.packets.iter().map(packet).collect(),
            prior_in_flight: ack.prior_in_flight,
            bytes_in_flight: ack.bytes_in_flight,
            delivered: ack.delivered,
            round: ack.round,
            late: ack.late,
            growth: ack.growth,
            lost: ack.lost,
            latest_rtt: ack.latest_rtt.map(|rtt| rtt.0),
            min_rtt: sampled(ack.min_rtt),
            smoothed_rtt: ack.smoothed_rtt.0,
            ack_delay: ack.ack_delay.0,
            ce: ack.ce,
            rate: ack.rate.as_ref().map(RateSignal::new),
            round_start: ack.round_start,
            in_recovery: ack.in_recovery,
            app_limited: ack.app_limited,
            cwnd_limited: ack.cwnd_limited,
        }
    }

    /// Returns its packets, in the order of the ACK.
    pub fn packets(&self) -> Vec<AckedPacket> {
        let packet = |&AckedSignal(pn, bytes, sent, received, before_reduction): &AckedSignal| AckedPacket {
            pn,
            bytes,
            sent: Time(sent),
            received,
            before_reduction,
        };
        self.packets.iter().map(packet).collect()
    }

    /// Returns the ACK of `packets` that arrived at `now`.
    pub fn ack<'a>(&self, now: Time, packets: &'a [AckedPacket]) -> Ack<'a> {
        Ack {
            now,
            packets,
            acked: packets.iter().map(|packet| packet.bytes).sum(),
            late: self.late,
            growth: self.growth,
            lost: self.lost,
            prior_in_flight: self.prior_in_flight,
            bytes_in_flight: self.bytes_in_flight,
            latest_rtt: self.latest_rtt.map(Duration),
            min_rtt: min_rtt(self.min_rtt),
            smoothed_rtt: Duration(self.smoothed_rtt),
            ack_delay: Duration(self.ack_delay),
            ce: self.ce,
            delivered: self.delivered,
            rate: self.rate.map(|rate| rate.sample()),
            round: self.round,
            round_start: self.round_start,
            in_recovery: self.in_recovery,
            app_limited: self.app_limited,
            cwnd_limited: self.cwnd_limited,
        }
    }
}

impl RateSignal {
    fn new(rate: &RateSample) -> Self {
        Self {
            prior_delivered: rate.prior_delivered,
            delivered: rate.delivered,
            interval: rate.interval.0,
            delivery_rate: rate.delivery_rate.map(|rate| rate.0),
            app_limited: rate.app_limited,
            tx_in_flight: rate.tx_in_flight,
            lost: rate.lost,
        }
    }

    fn sample(&self) -> RateSample {
        RateSample {
            prior_delivered: self.prior_delivered,
            delivered: self.delivered,
            interval: Duration(self.interval),
            delivery_rate: self.delivery_rate.map(Rate),
            app_limited: self.app_limited,
            tx_in_flight: self.tx_in_flight,
            lost: self.lost,
        }
    }
}

impl LostSignal {
    fn new(lost: &Lost) -> Self {
        let packet = |p: &LostPacket| LostPacketSignal {
            pn: p.pn,
            bytes: p.bytes,
            sent: p.sent.0,
            detection: p.detection,
            tx_in_flight: p.tx_in_flight,
            lost_at_send: p.lost_at_send,
            app_limited: p.app_limited,
        };
        Self {
            packets: lost.packets.iter().map(packet).collect(),
            total_lost: lost.total_lost,
            delivered: lost.delivered,
            bytes_in_flight: lost.bytes_in_flight,
        }
    }

    /// Returns its packets, in the order of the call.
    pub fn packets(&self) -> Vec<LostPacket> {
        let packet = |p: &LostPacketSignal| LostPacket {
            pn: p.pn,
            bytes: p.bytes,
            sent: Time(p.sent),
            detection: p.detection,
            tx_in_flight: p.tx_in_flight,
            lost_at_send: p.lost_at_send,
            app_limited: p.app_limited,
        };
        self.packets.iter().map(packet).collect()
    }

    /// Returns the loss of `packets` at `now`.
    pub fn lost<'a>(&self, now: Time, packets: &'a [LostPacket]) -> Lost<'a> {
        let Self { total_lost, delivered, bytes_in_flight, .. } = *self;
        Lost { now, packets, total_lost, delivered, bytes_in_flight }
    }
}

impl CongestionSignal {
    fn new(event: &Congestion) -> Self {
        Self {
            cause: event.cause,
            prior_in_flight: event.prior_in_flight,
            min_rtt: sampled(event.min_rtt),
            smoothed_rtt: event.smoothed_rtt.0,
        }
    }

    /// Returns the event at `now`.
    pub fn event(&self, now: Time) -> Congestion {
        let Self { cause, prior_in_flight, smoothed_rtt, .. } = *self;
        let (min_rtt, smoothed_rtt) = (min_rtt(self.min_rtt), Duration(smoothed_rtt));
        Congestion { now, cause, prior_in_flight, min_rtt, smoothed_rtt }
    }
}
