//! Every rule of loss recovery that an experiment may switch, with the QUIC and the TCP personality as defaults.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Duration, Rng};

use crate::feed::Exit;
use crate::sender::pacer::Pacing;
use crate::sender::rtt::Rtt;
use units::Ecn;

/// The sender's rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "recovery"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// Packets that must be acknowledged beyond a missing one before it is lost, or `"off"`. RFC 9002 section 6.1.1.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<u64>"))]
    pub packet_threshold: Option<u64>,
    /// RTTs a missing packet may be late, `"rack"` for the adaptive window of RFC 8985, or `"off"`.
    /// RFC 9002 section 6.1.2.
    pub time_threshold: TimeThreshold,
    /// How far packets that arrive late may raise the packet threshold, or `"off"`: not at all. RFC 9002 section 6.1.1 allows it;
    /// google/quiche and lsquic have no bound (name one beyond the window), cloudflare/quiche 20 packets, quinn, noq, msquic, neqo and
    /// s2n-quic do not adapt.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<u64>"))]
    pub max_packet_threshold: Option<u64>,
    /// How far they may raise the time threshold, in RTTs, or `"off"`. google/quiche (connection option ILD4) and cloudflare/quiche 2,
    /// by doubling what is above 1.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<f64>"))]
    pub max_time_threshold: Option<f64>,
    /// When a recovery period ends.
    pub exit: Exit,
    /// How the window falls at a congestion event.
    pub reduction: Reduction,
    /// What happens when no acknowledgement comes.
    pub timeout: Timeout,
    /// How long a probe timeout of QUIC is.
    pub pto: Pto,
    /// PTOs without any acknowledgement that make congestion persistent, or `"off"`. RFC 9002 section 7.6.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<u64>"))]
    pub persistent_congestion: Option<u64>,
    /// Timer granularity. RFC 9002 section 6.1.2.
    pub granularity: Duration,
    /// RTT assumed before the first sample. RFC 9002 section 6.2.2.
    pub initial_rtt: Duration,
    /// The longest the peer says it holds an ACK back. RFC 9000 section 18.2.
    pub max_ack_delay: Duration,
    /// Floor of the retransmission timeout, or of what it adds to the RTT, as `rto` says. Linux: 200 ms; RFC 6298: 1 s.
    pub min_rto: Duration,
    /// What the floor of the retransmission timeout holds up.
    pub rto: Rto,
    /// How long `min_rtt` remembers, or `"off"`: for ever. Linux: 300 s. RFC 9002 section 5.2 leaves it open.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<Duration>"))]
    pub min_rtt_window: Option<Duration>,
    /// Undo a reduction when all packets that caused it arrive late.
    pub undo: bool,
    /// Sending again after more than a retransmission timeout of silence, a window controller restarts its window. RFC 5681
    /// section 4.1; Linux `tcp_slow_start_after_idle`. QUIC need not, since it paces (RFC 9002 section 7.8).
    pub restart_after_idle: bool,
    /// The mark of outgoing packets. RFC 9000 section 13.4.
    pub ecn: Ecn,
    /// Repeats carry the mark, too. QUIC's packets are never repeated, only what they hold; RFC 3168 section 6.1.5 forbids it to TCP.
    pub ecn_on_repeats: bool,
    /// Mark nothing more when the path is seen to bleach or miscount. RFC 9000 section 13.4.2; TCP agrees on it in its handshake.
    pub ecn_validation: bool,
    /// Pacing.
    pub pacing: Pacing,
    /// QUIC: fill what is left of the window with a packet that is smaller. Otherwise a packet waits until it fits whole.
    pub small_last_packet: bool,
    /// A packet leaves as long as the window is not full, so that the last one may pass it by less than a packet. Otherwise it waits
    /// until it fits. mvfst (fact sheet mvfst.md section 1: QuicTransportFunctions.cpp:1060-1100).
    pub overshoot: bool,
    /// Which controllers are paced; without pacing a window leaves as fast as its acknowledgements come.
    pub paced: Paced,
    /// QUIC: behind each packet a number is left out by a chance of 1 in so many, and after one none for so many packets, or `"off"`. A peer that
    /// acknowledges it has not received what it acknowledges (RFC 9000 section 21.4). To all others it is a gap, which is acknowledged at once, and
    /// which the packet threshold counts. mvfst: 1000. The endpoints of `--on stack` and `--on wire` leave one out every 256 to 4095 if this is off.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<u64>"))]
    pub skip_numbers: Option<u64>,
}

/// Which controllers are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Paced {
    /// Every controller: by its own rate, or by window over RTT (RFC 9002 section 7.7).
    Always,
    /// Only controllers with a rate of their own (Linux TCP without the fq queueing discipline).
    ByRate,
    /// No controller, not even one that asks for it.
    Never,
}

/// How the window falls at a congestion event. A timeout's collapse is always at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// To the controller's new window when the event is noticed (RFC 9002 section 7.3.2).
    AtOnce,
    /// Over the recovery period, in proportion to what arrives (RFC 9937), unless the controller
    /// [shapes its window](congestion::Controller::shapes_recovery) there itself.
    Prr,
}

/// What happens when no acknowledgement comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Timeout {
    /// Probe timeouts that never touch the window (RFC 9002 section 6.2).
    Pto,
    /// One tail loss probe (RFC 8985 section 7), then retransmission timeouts that collapse the window (RFC 6298).
    TlpRto,
}

/// How long a probe timeout of QUIC is, without backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pto {
    /// `smoothed_rtt + max(4 * rttvar, granularity) + max_ack_delay`, which is 3 `initial_rtt` and `max_ack_delay` before the first
    /// sample (RFC 9002 section 6.2.1).
    Rfc9002,
    /// `smoothed_rtt + 4 * rttvar + the longest ACK delay reported so far`, 2 `initial_rtt` before the first sample (fact sheet
    /// mvfst.md section 5: QuicLossFunctions.cpp:13-19, QuicConstants.h:602).
    Mvfst,
}

/// What `min_rto` is the floor of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rto {
    /// What the timeout adds to `smoothed_rtt`, which falls once per round trip (Linux): at rest `smoothed_rtt + min_rto`.
    Linux,
    /// The timeout, `max(smoothed_rtt + 4 * rttvar, min_rto)` (RFC 6298 section 2).
    Rfc6298,
}

/// The time threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeThreshold {
    /// Times max(smoothed_rtt, latest_rtt).
    Factor(f64),
    /// RACK's adaptive reordering window, RFC 8985 section 6.2.
    Rack,
    /// No time threshold.
    Off,
}

units::json_schema!(TimeThreshold, { "anyOf": [{ "type": "number", "minimum": 1 }, { "enum": ["rack", "off"] }] });

impl Serialize for TimeThreshold {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Factor(f) => s.serialize_f64(*f),
            Self::Rack => s.serialize_str("rack"),
            Self::Off => s.serialize_str("off"),
        }
    }
}

impl<'de> Deserialize<'de> for TimeThreshold {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = TimeThreshold;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a factor of at least 1 (1.125), \"rack\" or \"off\"")
            }
            fn visit_f64<E: de::Error>(self, factor: f64) -> Result<TimeThreshold, E> {
                if factor >= 1.0 && factor.is_finite() {
                    Ok(TimeThreshold::Factor(factor))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(factor), &self))
                }
            }
            fn visit_i64<E: de::Error>(self, factor: i64) -> Result<TimeThreshold, E> {
                self.visit_f64(factor as f64)
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<TimeThreshold, E> {
                match word {
                    "rack" => Ok(TimeThreshold::Rack),
                    "off" => Ok(TimeThreshold::Off),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::quic()
    }
}

impl Config {
    /// PTO without backoff: RFC 9002 section 6.2.1.
    pub(crate) fn probe_timeout(&self, rtt: &Rtt) -> Duration {
        match self.pto {
            Pto::Rfc9002 => rtt.timeout(self.granularity) + self.max_ack_delay,
            Pto::Mvfst if rtt.is_sampled() => rtt.timeout(Duration::ZERO) + rtt.longest_ack_delay(),
            Pto::Mvfst => self.first_timeout(),
        }
    }

    /// The PTO before the first sample of the RTT, of packets that the peer acknowledges at once.
    pub fn first_timeout(&self) -> Duration {
        self.initial_rtt
            * match self.pto {
                Pto::Rfc9002 => 3,
                Pto::Mvfst => 2,
            }
    }

    /// RFC 9002.
    pub fn quic() -> Self {
        Self {
            packet_threshold: Some(3),
            time_threshold: TimeThreshold::Factor(1.125),
            max_packet_threshold: None,
            max_time_threshold: None,
            exit: Exit::Quic,
            reduction: Reduction::AtOnce,
            timeout: Timeout::Pto,
            pto: Pto::Rfc9002,
            persistent_congestion: Some(3),
            granularity: Duration::from_millis(1),
            initial_rtt: Duration::from_millis(333),
            max_ack_delay: Duration::from_millis(25),
            min_rto: Duration::from_millis(200),
            rto: Rto::Linux,
            min_rtt_window: None,
            undo: true,
            restart_after_idle: false,
            ecn: Ecn::NotEct,
            ecn_on_repeats: true,
            ecn_validation: true,
            pacing: Pacing::default(),
            small_last_packet: false,
            overshoot: false,
            paced: Paced::Always,
            skip_numbers: None,
        }
    }

    /// Linux-like TCP: SACK, RACK-TLP (RFC 8985), RTO (RFC 6298) with Linux' floor and Eifel detection (RFC 3522), one reduction
    /// until all holes are filled, spread over that time (RFC 9937); ACK-clocked; the window restarts after idle times.
    pub fn tcp() -> Self {
        Self {
            packet_threshold: None,
            time_threshold: TimeThreshold::Rack,
            exit: Exit::NewrenoTcp,
            reduction: Reduction::Prr,
            timeout: Timeout::TlpRto,
            persistent_congestion: None,
            max_ack_delay: Duration::from_millis(40),
            min_rtt_window: Some(Duration::from_secs(300)),
            restart_after_idle: true,
            ecn_on_repeats: false,
            ecn_validation: false,
            pacing: Pacing {
                factor: 1.2,
                slow_start_factor: 2.0,
                slow_start_until: 0.5,
                ..Pacing::default()
            },
            paced: Paced::ByRate,
            ..Self::quic()
        }
    }
}

/// How many packets leave before one number in `every` is left out, by a chance of 1 in `every` at each; `again`: one was left out before.
pub fn skips_after(every: u64, rng: &mut Rng, again: bool) -> u64 {
    let chance = ((rng.exponential() * every as f64) as u64).saturating_add(1);
    if again { chance.saturating_add(every) } else { chance }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that no run reaches leave nothing out.
    #[test]
    fn skips_beyond_all_runs() {
        for seed in 0..100 {
            for again in [false, true] {
                let mut rng = Rng::stream(seed, "skips");
                assert!(skips_after(i64::MAX as u64, &mut rng, again) > 1 << 40);
            }
        }
    }
}
