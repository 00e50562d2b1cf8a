//! Configuration of a receiver: every rule that an experiment can change.

use serde::{Deserialize, Serialize};
use units::Duration;

use crate::receiver::ack_every::AckEvery;
use crate::receiver::on_gap::OnGap;

/// Rules of the receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ack"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AckConfig {
    /// Ack-eliciting packets per ACK: a number, or steps over time. RFC 9000 section 13.2.2.
    pub ack_every: AckEvery,
    /// Longest delay of an ACK. QUIC: 25 ms (RFC 9000 section 13.2.1). Linux TCP: 40 ms.
    pub max_ack_delay: Duration,
    /// QUIC only: delay of an ACK as a share of the RTT, if that is less than `max_ack_delay`. A
    /// number above 0, or `"off"` to always wait for `max_ack_delay`. The receiver takes the base
    /// RTT as its estimate. mvfst: 0.25 (QuicTransportBaseLite.cpp:3236-3254,
    /// TransportSettings.h:438, May 2025).
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<f64>"))]
    pub delay_factor: Option<f64>,
    /// QUIC only: granularity of the ACK timer. The delay is rounded up to a multiple of it, at
    /// least one. 0: no rounding. mvfst: 1 ms in tperf, 10 ms in hq (tperf.cpp:34-37, May 2025).
    pub timer_tick: Duration,
    /// Longest time between writing and sending an ACK, drawn uniformly from 0 up to this value.
    /// ACKs stay in order. The reported ACK delay does not include it. The simulator's return path
    /// applies it, not the receiver.
    pub jitter: Duration,
    /// Packets acknowledged at once when packet numbers are missing. `"once"` (or `true`): the
    /// packet that reveals a gap, and each late packet. `"all"`: also every packet while an earlier
    /// packet is missing and the sender has not yet declared it lost. `"off"` (or `false`): none.
    /// RFC 9000 section 13.2.1. TCP always uses `"all"` (RFC 5681 section 4.2).
    pub immediate_on_gap: OnGap,
    /// Largest number of receive timestamps per ACK; 0 for none. QUIC:
    /// draft-ietf-quic-receive-ts-02. TCP: any number above 0 enables the option of RFC 7323, which
    /// holds one.
    pub timestamps: usize,
    /// QUIC only: unit of the timestamps, 2^exponent microseconds. 0 to 20.
    /// draft-ietf-quic-receive-ts-02.
    pub timestamp_exponent: u32,
    /// TCP only: unit of the timestamps of both ends. RFC 7323 section 5.4 allows 1 ms to 1 s;
    /// Linux uses 1 ms.
    pub timestamp_granularity: Duration,
    /// Largest number of ranges per ACK. RFC 9000 section 13.2.3.
    pub max_ranges: usize,
    /// Number of ACKs after which one is sent with a PING, if it has more than one range. The peer
    /// answers the PING with an ACK-only packet. This tells the receiver which ranges it can forget
    /// (RFC 9000 section 13.2.4). `"off"`: no PINGs; the peer's ACKs travel with its data. aioquic:
    /// 8.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<u64>"))]
    pub ping_every: Option<u64>,
    /// TCP only: acknowledge every packet in the situations where Linux does: most of slow start,
    /// and after duplicate data. See `quick_acks.rs` for the rule.
    pub quick_acks: bool,
}

impl Default for AckConfig {
    fn default() -> Self {
        Self {
            ack_every: AckEvery::Constant(2),
            max_ack_delay: Duration::from_millis(25),
            delay_factor: None,
            timer_tick: Duration::ZERO,
            jitter: Duration::ZERO,
            immediate_on_gap: OnGap::Once,
            timestamps: 64,
            timestamp_exponent: 0,
            timestamp_granularity: Duration::from_millis(1),
            max_ranges: 64,
            ping_every: None,
            quick_acks: false,
        }
    }
}

impl AckConfig {
    /// Returns the rules of a TCP receiver: ACKs delayed by up to 40 ms, as in Linux, without
    /// receive times.
    pub fn tcp() -> Self {
        Self { max_ack_delay: Duration::from_millis(40), timestamps: 0, ..Self::default() }
    }

    /// Returns the ACK delay of a receiver with this RTT estimate.
    pub(super) fn delay(&self, rtt: Duration) -> Duration {
        let share = self.delay_factor.map_or(Duration::MAX, |factor| rtt.mul_f64(factor));
        let (Duration(delay), Duration(tick)) = (self.max_ack_delay.min(share), self.timer_tick);
        if tick == 0 { Duration(delay) } else { Duration(delay.div_ceil(tick).max(1).saturating_mul(tick)) }
    }
}
