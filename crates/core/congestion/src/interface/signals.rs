//! Signals between loss recovery (the sender) and a controller.
//!
//! The sender tracks bytes in flight, the packets sent before the last reduction, and application
//! limits. It detects persistent congestion and spurious events, and paces. A controller only
//! responds.

use units::{Duration, Ecn, Rate, Time};

/// Properties of a path that are known before the first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathInfo {
    /// Size of a full packet in bytes, as counted in the window. RFC 9002; SMSS in RFC 5681.
    pub max_datagram_size: u64,
    /// Whether the sender paces packets over the round trip even if the controller sets no rate.
    pub paced: bool,
    /// Seed of the controller's random numbers, such as BBR's probe phases.
    pub seed: u64,
}

/// A paced path with RFC 9002's smallest datagram, 1200 bytes.
impl Default for PathInfo {
    fn default() -> Self {
        Self { max_datagram_size: 1200, paced: true, seed: 0 }
    }
}

/// A packet that counts towards the window and has been sent, after pacing.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Time of sending.
    pub now: Time,
    /// Packet number.
    pub pn: u64,
    /// Size in bytes, as counted in the window.
    pub bytes: u64,
    /// Bytes in flight, including this packet.
    pub bytes_in_flight: u64,
    /// Whether the application limits the sender, not the window or the pacer.
    pub app_limited: bool,
}

/// A newly acknowledged packet.
#[derive(Clone, Copy, Debug)]
pub struct AckedPacket {
    /// Packet number.
    pub pn: u64,
    /// Size in bytes, as counted in the window.
    pub bytes: u64,
    /// Time of sending, on the sender's clock.
    pub sent: Time,
    /// Time of arrival in nanoseconds on the peer's clock, whose offset is unknown. Present only if
    /// the peer reports it.
    ///
    /// With TCP timestamps it is the time at which the ACK that echoes it was sent.
    pub received: Option<i64>,
    /// Whether it was sent before the last reduction. Such a packet neither grows nor reduces the
    /// window.
    pub before_reduction: bool,
}

/// A delivery-rate sample (draft-ietf-ccwg-bbr section 4.1), taken from the newest packet of an
/// ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes delivered when that packet was sent.
    pub prior_delivered: u64,
    /// Bytes delivered between the sending of that packet and this ACK.
    pub delivered: u64,
    /// The larger of the send interval and the ACK interval.
    pub interval: Duration,
    /// `delivered / interval`. Absent if the interval is shorter than `min_rtt`.
    pub delivery_rate: Option<Rate>,
    /// Whether that packet was sent while the application limited the sender.
    pub app_limited: bool,
    /// Bytes in flight when that packet was sent, including it.
    pub tx_in_flight: u64,
    /// Bytes lost between the sending of that packet and this ACK.
    pub lost: u64,
}

/// An ACK that newly acknowledges something, after the sender has processed it.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Time of arrival.
    pub now: Time,
    /// Newly acknowledged packets, in ascending order of packet number.
    pub packets: &'a [AckedPacket],
    /// Bytes newly acknowledged.
    pub acked: u64,
    /// Bytes of packets that had been declared lost and have arrived after all.
    ///
    /// They are not part of `acked`, because they were no longer in flight, but they are part of
    /// `delivered`. An ACK of such packets alone has no `packets`.
    pub late: u64,
    /// Part of `acked` that may grow the window, in bytes.
    ///
    /// Excludes packets sent before the last reduction, and packets sent while the sender left the
    /// window unused (RFC 9002 section 7.8).
    pub growth: u64,
    /// Bytes declared lost because of this ACK.
    pub lost: u64,
    /// Bytes in flight before this ACK.
    pub prior_in_flight: u64,
    /// Bytes in flight after this ACK and its losses.
    pub bytes_in_flight: u64,
    /// RTT sample of this ACK, if it gave one. Not adjusted for the ACK delay.
    pub latest_rtt: Option<Duration>,
    /// Smallest RTT so far. [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// Smoothed RTT, RFC 9002 section 5.3.
    pub smoothed_rtt: Duration,
    /// Delay of the ACK, as reported by the peer.
    pub ack_delay: Duration,
    /// Packets newly reported as CE-marked.
    pub ce: u64,
    /// Bytes delivered since the start.
    pub delivered: u64,
    /// Delivery-rate sample, for controllers that [need](Needs::rate_samples) one.
    pub rate: Option<RateSample>,
    /// Packet-timed round trips since the start.
    pub round: u64,
    /// Whether a round trip ends with this ACK.
    pub round_start: bool,
    /// Whether the sender is in a recovery period after this ACK.
    pub in_recovery: bool,
    /// Whether the application has limited the sender, not the window.
    pub app_limited: bool,
    /// Whether the window was full at some time since the newest of these packets was sent
    /// (`C.is_cwnd_limited` of the last round).
    pub cwnd_limited: bool,
}

/// An ACK of nothing, with no RTT known.
impl Default for Ack<'_> {
    fn default() -> Self {
        Self {
            now: Time::ZERO,
            packets: &[],
            acked: 0,
            late: 0,
            growth: 0,
            lost: 0,
            prior_in_flight: 0,
            bytes_in_flight: 0,
            latest_rtt: None,
            min_rtt: Duration::MAX,
            smoothed_rtt: Duration::ZERO,
            ack_delay: Duration::ZERO,
            ce: 0,
            delivered: 0,
            rate: None,
            round: 0,
            round_start: false,
            in_recovery: false,
            app_limited: false,
            cwnd_limited: false,
        }
    }
}

/// The rule that detected a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Detection {
    /// Later packets were acknowledged (RFC 9002 section 6.1.1).
    PacketThreshold,
    /// The packet was too old compared with a later acknowledged one (RFC 9002 section 6.1.2,
    /// RACK).
    TimeThreshold,
    /// TCP's retransmission timeout.
    Timeout,
}

/// A packet declared lost.
#[derive(Clone, Copy, Debug)]
pub struct LostPacket {
    /// Packet number.
    pub pn: u64,
    /// Size in bytes, as counted in the window.
    pub bytes: u64,
    /// Time of sending.
    pub sent: Time,
    /// Rule that detected the loss.
    pub detection: Detection,
    /// Bytes in flight when it was sent, including it. 0 for a controller that does not need [rate
    /// samples](Needs::rate_samples).
    pub tx_in_flight: u64,
    /// Bytes lost from the start until it was sent. 0 for a controller that does not need [rate
    /// samples](Needs::rate_samples).
    pub lost_at_send: u64,
    /// Whether it was sent while the application limited the sender.
    pub app_limited: bool,
}

/// A batch of packets declared lost together.
#[derive(Clone, Copy, Debug)]
pub struct Lost<'a> {
    /// Time of detection.
    pub now: Time,
    /// Lost packets, in ascending order of packet number.
    pub packets: &'a [LostPacket],
    /// Bytes lost since the start, including this batch.
    pub total_lost: u64,
    /// Bytes delivered since the start.
    pub delivered: u64,
    /// Bytes in flight after the losses are subtracted.
    pub bytes_in_flight: u64,
}

/// Reason for a congestion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Cause {
    /// A packet was declared lost.
    Loss,
    /// The CE count grew.
    Ecn,
    /// The controller asked for the event in [`Controller::on_ack`](crate::Controller::on_ack).
    Delay,
    /// Everything sent over a long period was lost (RFC 9002 section 7.6).
    PersistentCongestion,
    /// TCP's retransmission timeout.
    Timeout,
}

impl Cause {
    /// Returns the cause in words, such as `a loss`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Loss => "a loss",
            Self::Ecn => "an ECN mark",
            Self::Delay => "delay",
            Self::PersistentCongestion => "persistent congestion",
            Self::Timeout => "a timeout",
        }
    }
}

/// A congestion event. [`Cause::Loss`], [`Cause::Ecn`] and [`Cause::Delay`] occur at most once per
/// round trip.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// Time of detection.
    pub now: Time,
    /// Reason for the event.
    pub cause: Cause,
    /// Bytes in flight before the event (FlightSize of RFC 5681).
    pub prior_in_flight: u64,
    /// Smallest RTT so far. [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// Smoothed RTT, RFC 9002 section 5.3.
    pub smoothed_rtt: Duration,
}

/// The end of an idle time: a sender with nothing in flight sends again.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Time at which it sends.
    pub now: Time,
    /// Time since the last packet was sent.
    pub idle: Duration,
    /// Retransmission timeout, without backoff.
    pub rto: Duration,
}

/// The output of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// Congestion window: the most bytes that may be in flight.
    pub cwnd: u64,
    /// Pacing rate. Without it the pacer spreads `cwnd` over `smoothed_rtt` (RFC 9002 section 7.7).
    pub pacing_rate: Option<Rate>,
    /// Window at which slow start ends, in bytes. Below it the pacer may send faster.
    ///
    /// `u64::MAX` while no end is known, 0 for a controller that has no slow start or has left it.
    pub ssthresh: u64,
    /// Most bytes that the pacer may release at once (`C.send_quantum`, draft-ietf-ccwg-bbr section
    /// 5.6.3).
    ///
    /// Without it the limit is an initial window (RFC 9002 section 7.7). A burst size set by the
    /// experiment overrides both.
    pub send_quantum: Option<u64>,
    /// Time at which to call [`Controller::on_timer`](crate::Controller::on_timer), or
    /// [`Time::NEVER`].
    pub wake: Time,
}

impl Control {
    /// Creates a control with a window that the pacer spreads over a round trip, and with no slow
    /// start or timer.
    ///
    /// ```
    /// use ackclock_congestion::Control;
    ///
    /// let slow_start = Control { ssthresh: 100_000, ..Control::window(12_000) };
    /// assert!(slow_start.in_slow_start());
    /// ```
    pub const fn window(cwnd: u64) -> Self {
        Self { cwnd, pacing_rate: None, ssthresh: 0, send_quantum: None, wake: Time::NEVER }
    }

    /// Reports whether the window is below `ssthresh`.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// Signals that a controller depends on. An adapter checks them before it accepts a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Times of arrival ([`AckedPacket::received`]), which only some receivers report.
    pub receive_times: bool,
    /// Times of arrival of every packet, not only of one packet per ACK.
    pub every_receive_time: bool,
    /// Delivery-rate samples ([`Ack::rate`]), or the state at the sending of a lost packet
    /// ([`LostPacket::tx_in_flight`], [`LostPacket::lost_at_send`]).
    ///
    /// Other controllers do not receive them.
    pub rate_samples: bool,
    /// Number of CE-marked packets ([`Ack::ce`]). Some stacks only report that there were marks,
    /// which is not enough.
    pub mark_counts: bool,
    /// ECN mark that its packets carry where the user has not chosen one.
    pub ecn: Ecn,
}

impl Needs {
    /// Returns the signals in words, such as `delivery-rate samples`.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let times =
            if self.every_receive_time { "the receive time of every packet" } else { "receive times" };
        let all = [
            (self.receive_times || self.every_receive_time, times),
            (self.rate_samples, "delivery-rate samples"),
            (self.mark_counts, "counts of CE marks"),
        ];
        all.into_iter().filter(|(needed, _)| *needed).map(|(_, words)| words)
    }

    /// Returns the signal that Linux TCP does not report to a controller, as a clause, if one is
    /// needed.
    pub fn missing_in_linux_tcp(self) -> Option<&'static str> {
        if self.every_receive_time {
            return Some("the arrival time of every packet, and TCP has one for each ACK");
        }
        // RFC 3168 section 6.1.3: ECE in every ACK until the sender has answered.
        self.mark_counts.then_some("the number of marked packets, and TCP repeats one mark for a round trip")
    }
}
