//! Every rule of a receiver that an experiment may switch.

use serde::{Deserialize, Serialize};
use units::Duration;

use crate::receiver::ack_every::AckEvery;
use crate::receiver::on_gap::OnGap;

/// The receiver's rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ack"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AckConfig {
    /// Ack-eliciting packets per ACK, a number or steps of the run. RFC 9000 section 13.2.2.
    pub ack_every: AckEvery,
    /// Longest delay of an ACK. RFC 9000 section 13.2.1 (QUIC 25 ms; Linux TCP 40 ms).
    pub max_ack_delay: Duration,
    /// QUIC alone: an ACK waits for this share of the receiver's estimate of the RTT where that is less than `max_ack_delay`, or
    /// `"off"`: always for that. A number above 0. mvfst: 0.25 (fact sheet mvfst.md section 2: QuicTransportBaseLite.cpp:3236-3254,
    /// TransportSettings.h:438). The estimate is the base RTT (`Receiver::new`).
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<f64>"))]
    pub delay_factor: Option<f64>,
    /// QUIC alone: the wait for an ACK lasts a whole number of these, rounded up and at least one; 0: as long as it should. mvfst:
    /// 1 ms under tperf, 10 ms under hq (fact sheet mvfst.md section 2: tperf.cpp:34-37).
    pub timer_tick: Duration,
    /// How long a written ACK takes at most until it leaves, uniform from 0 and in order; not part of the ACK delay that it
    /// reports. Whoever carries the ACKs sees to it.
    pub jitter: Duration,
    /// What is acknowledged at once where packet numbers are missing: `"once"` (or `true`), the packet that reveals a gap and each that
    /// comes late; `"all"`, also every packet while one is missing below it whose fate the sender has not decided; `"off"` (or `false`),
    /// nothing. RFC 9000 section 13.2.1. TCP: always all (RFC 5681 section 4.2).
    pub immediate_on_gap: OnGap,
    /// Receive timestamps per ACK at most, 0 for none. QUIC: draft-ietf-quic-receive-ts-02. TCP: the one that RFC 7323's option
    /// holds.
    pub timestamps: usize,
    /// QUIC alone, unit of the timestamps: 2^exponent microseconds, 0..20. draft-ietf-quic-receive-ts-02.
    pub timestamp_exponent: u32,
    /// TCP alone, unit of the timestamps of both ends. RFC 7323 section 5.4 has 1 ms to 1 s; Linux: 1 ms.
    pub timestamp_granularity: Duration,
    /// Ranges per ACK at most. RFC 9000 section 13.2.3.
    pub max_ranges: usize,
    /// Every so many ACKs, one with more than one range comes with a PING, which the peer answers with a packet that holds an
    /// ACK alone: how a receiver learns which ranges it may forget (RFC 9000 section 13.2.4). `"off"`: the peer's ACKs ride on
    /// its data. aioquic: 8.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<u64>"))]
    pub ping_every: Option<u64>,
    /// TCP alone: acknowledge every packet as long as Linux does, through most of slow start and after data that had arrived
    /// before; the rule is in `quick_acks.rs`.
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
    /// Of a TCP receiver: delayed acknowledgements of up to 40 ms, as Linux has them, without receive times.
    pub fn tcp() -> Self {
        Self { max_ack_delay: Duration::from_millis(40), timestamps: 0, ..Self::default() }
    }

    /// How long an ACK waits at a receiver with this estimate of the RTT.
    pub(super) fn delay(&self, rtt: Duration) -> Duration {
        let share = self.delay_factor.map_or(Duration::MAX, |factor| rtt.mul_f64(factor));
        let (Duration(delay), Duration(tick)) = (self.max_ack_delay.min(share), self.timer_tick);
        if tick == 0 { Duration(delay) } else { Duration(delay.div_ceil(tick).max(1).saturating_mul(tick)) }
    }
}
