//! What passes between loss recovery (the sender) and a controller.
//!
//! The sender owns bytes in flight, "was this packet sent before the last reduction", application-limited marking,
//! persistent congestion, pacing and undo detection. A controller only answers.

use units::{Duration, Rate, Time};

/// What a sender knows of a path before the first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathInfo {
    /// RFC 9002 (SMSS of RFC 5681): bytes that one full packet counts in the window.
    pub max_datagram_size: u64,
    /// Whether the sender spreads the packets over the round trip also for a controller without a rate of its own.
    pub paced: bool,
    /// Seed of the controller's own random stream (BBR's probe phases).
    pub seed: u64,
}

/// RFC 9002's smallest datagram of 1200 bytes, paced.
impl Default for PathInfo {
    fn default() -> Self {
        Self { max_datagram_size: 1200, paced: true, seed: 0 }
    }
}

/// A packet that counts towards the window has left, after pacing.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it left.
    pub now: Time,
    /// Packet number.
    pub pn: u64,
    /// Its size in the window, bytes.
    pub bytes: u64,
    /// Bytes in flight, this packet included.
    pub bytes_in_flight: u64,
    /// The application, not window or pacer, limits the sender.
    pub app_limited: bool,
}

/// One newly acknowledged packet.
#[derive(Clone, Copy, Debug)]
pub struct AckedPacket {
    /// Packet number.
    pub pn: u64,
    /// Size in the window, bytes.
    pub bytes: u64,
    /// When it left, in the unit of the sender's clock.
    pub sent: Time,
    /// When it arrived, nanoseconds on the peer's clock (unknown offset); only if the peer reports it. With TCP's timestamps:
    /// when the ACK left that echoes it.
    pub received: Option<i64>,
    /// Sent before the last reduction: no growth for it, no second reduction because of it.
    pub before_reduction: bool,
}

/// A delivery-rate sample (draft-ietf-ccwg-bbr section 4.1), taken on the newest packet of an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes delivered when that packet left.
    pub prior_delivered: u64,
    /// Bytes delivered between its departure and this ACK.
    pub delivered: u64,
    /// max(send interval, ACK interval).
    pub interval: Duration,
    /// `delivered / interval`; absent when the interval is shorter than `min_rtt`.
    pub delivery_rate: Option<Rate>,
    /// That packet left while the application limited the sender.
    pub app_limited: bool,
    /// Bytes in flight when that packet left, itself included.
    pub tx_in_flight: u64,
    /// Bytes lost between its departure and this ACK.
    pub lost: u64,
}

/// An ACK that newly acknowledges something, as the sender has processed it.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// When it arrived.
    pub now: Time,
    /// Newly acknowledged packets in ascending packet number.
    pub packets: &'a [AckedPacket],
    /// Bytes newly acknowledged.
    pub acked: u64,
    /// Bytes of packets that had been declared lost and have arrived after all. Not part of `acked`, since they had left
    /// the flight already; part of `delivered`. An ACK of such packets alone has no `packets`.
    pub late: u64,
    /// The part of `acked` that may open the window: sent after the last reduction, and not while the sender left
    /// the window unused (RFC 9002 section 7.8).
    pub growth: u64,
    /// Bytes declared lost by this ACK.
    pub lost: u64,
    /// Bytes in flight before this ACK.
    pub prior_in_flight: u64,
    /// Bytes in flight after this ACK and its losses.
    pub bytes_in_flight: u64,
    /// This ACK's RTT sample, if it gave one. Not adjusted for ACK delay.
    pub latest_rtt: Option<Duration>,
    /// Smallest RTT seen. [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// RFC 9002 section 5.3.
    pub smoothed_rtt: Duration,
    /// The delay the peer says it held the ACK back.
    pub ack_delay: Duration,
    /// Packets newly reported as marked CE.
    pub ce: u64,
    /// Bytes delivered since the start.
    pub delivered: u64,
    /// Delivery-rate sample, for a controller that [needs](Needs::rate_samples) them.
    pub rate: Option<RateSample>,
    /// Packet-timed round trips since the start.
    pub round: u64,
    /// A round trip ends with this ACK.
    pub round_start: bool,
    /// The sender is in a recovery period after this ACK.
    pub in_recovery: bool,
    /// The sender has been limited by the application, not the window.
    pub app_limited: bool,
    /// The window was full at some time since the newest of these packets left (`C.is_cwnd_limited` of the last round).
    pub cwnd_limited: bool,
}

/// Nothing acknowledged, no RTT known.
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

/// Which rule found a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Detection {
    /// Later packets were acknowledged (RFC 9002 section 6.1.1).
    PacketThreshold,
    /// Too old against a later acknowledged one (RFC 9002 section 6.1.2, RACK).
    TimeThreshold,
    /// Retransmission timeout (TCP).
    Timeout,
}

/// One packet declared lost.
#[derive(Clone, Copy, Debug)]
pub struct LostPacket {
    /// Packet number.
    pub pn: u64,
    /// Size in the window, bytes.
    pub bytes: u64,
    /// When it left.
    pub sent: Time,
    /// How it was found.
    pub detection: Detection,
    /// Bytes in flight when it left, itself included; 0 for a controller without a need for [rate samples](Needs::rate_samples).
    pub tx_in_flight: u64,
    /// Bytes lost since the start when it left; likewise.
    pub lost_at_send: u64,
    /// It left while the application limited the sender.
    pub app_limited: bool,
}

/// A batch of packets declared lost together.
#[derive(Clone, Copy, Debug)]
pub struct Lost<'a> {
    /// When.
    pub now: Time,
    /// In ascending packet number.
    pub packets: &'a [LostPacket],
    /// Bytes lost since the start, this batch included.
    pub total_lost: u64,
    /// Bytes delivered since the start.
    pub delivered: u64,
    /// Bytes in flight after the batch left it.
    pub bytes_in_flight: u64,
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A packet was declared lost.
    Loss,
    /// The CE count grew.
    Ecn,
    /// The controller asked for it itself, from [`Controller::on_ack`](crate::Controller::on_ack).
    Delay,
    /// RFC 9002 section 7.6: everything sent for a long period is gone.
    PersistentCongestion,
    /// TCP's retransmission timeout.
    Timeout,
}

/// A congestion event. For [`Cause::Loss`], [`Cause::Ecn`] and [`Cause::Delay`] at most one per round trip.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When it was detected.
    pub now: Time,
    /// Why.
    pub cause: Cause,
    /// Bytes in flight before the event (FlightSize of RFC 5681).
    pub prior_in_flight: u64,
    /// Smallest RTT seen. [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// RFC 9002 section 5.3.
    pub smoothed_rtt: Duration,
}

/// A sender that had nothing in flight sends again.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// When it sends.
    pub now: Time,
    /// Since the last packet left.
    pub idle: Duration,
    /// Retransmission timeout, without backoff.
    pub rto: Duration,
}

/// A controller's whole answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// Most bytes that may be in flight.
    pub cwnd: u64,
    /// The pacing rate, or `None`: the pacer spreads `cwnd` over `smoothed_rtt` (RFC 9002 section 7.7).
    pub pacing_rate: Option<Rate>,
    /// Slow start ends at this window, bytes: below it the pacer may spread faster. `u64::MAX` while no end is in sight, 0 for
    /// a controller without slow start, or past it.
    pub ssthresh: u64,
    /// Most bytes that the pacer may release at once (`C.send_quantum`, draft-ietf-ccwg-bbr section 5.6.3), or `None`: as
    /// many as an initial window (RFC 9002 section 7.7). An experiment that names a burst of its own overrules both.
    pub send_quantum: Option<u64>,
    /// When [`Controller::on_timer`](crate::Controller::on_timer) is to be called, or [`Time::NEVER`].
    pub wake: Time,
}

impl Control {
    /// This window, spread by the pacer over a round trip; no slow start, no timer.
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

    /// Whether the window is below `ssthresh`.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// What a controller must be told for it to work: what an adapter asks before it takes one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Works on the times at which its packets arrived ([`AckedPacket::received`]), which only some receivers report.
    pub receive_times: bool,
    /// Counts what arrives by those times: it needs that of every packet, not of one for each acknowledgement.
    pub every_receive_time: bool,
    /// Works on delivery-rate samples ([`Ack::rate`]), or on what a lost packet knew of its departure
    /// ([`LostPacket::tx_in_flight`], [`LostPacket::lost_at_send`]). Other controllers are told none.
    pub rate_samples: bool,
    /// Compares how many packets were marked ([`Ack::ce`]) with others: that there were some is not enough, which is all that some stacks
    /// say.
    pub mark_counts: bool,
}
