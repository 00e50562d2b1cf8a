//! Configuration of loss recovery: every rule that an experiment can change, with defaults for QUIC
//! and TCP.

use congestion::PathInfo;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Duration, Rng};

use crate::feed::Exit;
use crate::mtu_search::BASE_DATAGRAM;
use crate::sender::offload::Offload;
use crate::sender::pacer::Pacing;
use crate::sender::rtt::Rtt;
use units::Ecn;

/// Largest number of doublings of a timeout: it then lasts days.
pub(crate) const MAX_DOUBLINGS: u32 = 20;

/// Rules of loss recovery at the sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "recovery"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// Number of packets acknowledged after a missing one before it is declared lost, or `"off"`.
    /// RFC 9002 section 6.1.1.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<u64>"))]
    pub packet_threshold: Option<u64>,
    /// Quantity that the packet threshold limits.
    pub packet_count: PacketCount,
    /// Whether to lower the packet threshold to one less than the packets outstanding, if these are
    /// two or three and the application has no more data. RFC 5827.
    pub early_retransmit: bool,
    /// Time after which a missing packet is declared lost, in RTTs. `"rack"`: the adaptive window
    /// of RFC 8985. `"vegas"`: the check of TCP Vegas. `"off"`: no time threshold. RFC 9002 section
    /// 6.1.2.
    pub time_threshold: TimeThreshold,
    /// Rule to which a loss is attributed if both thresholds hold. It changes no behaviour, only
    /// counts and logs.
    pub loss_label: LossLabel,
    /// Upper limit to which late packets can raise the packet threshold, or `"off"`: late packets
    /// do not raise it. RFC 9002 section 6.1.1 allows such adaptation. google/quiche and lsquic
    /// have no limit (use a number beyond the window); cloudflare/quiche allows 20 packets. quinn,
    /// noq, msquic, neqo and s2n-quic do not adapt.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<u64>"))]
    pub max_packet_threshold: Option<u64>,
    /// Upper limit to which late packets can raise the time threshold, in RTTs, or `"off"`.
    /// google/quiche (connection option ILD4) and cloudflare/quiche: 2; they double the part above
    /// 1.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<f64>"))]
    pub max_time_threshold: Option<f64>,
    /// TCP only: whether acknowledgements contain SACK blocks (RFC 2018). Without them, duplicate
    /// acknowledgements are counted (RFC 5681 section 3.2).
    pub sack: bool,
    /// End of a recovery period.
    pub exit: Exit,
    /// Shape of the window reduction at a congestion event.
    pub reduction: Reduction,
    /// Reaction if no acknowledgement arrives.
    pub timeout: Timeout,
    /// Formula for QUIC's probe timeout.
    pub pto: Pto,
    /// Upper limit of the PTO after its doublings, or `"off"`: it doubles each time without end (RFC
    /// 9002 section 6.2.1). A limit below a single PTO stops the doubling, but does not shorten it.
    /// Persistent congestion ignores the limit. quic-go: 60 s (`maxPTODuration`).
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<Duration>"))]
    pub max_pto: Option<Duration>,
    /// QUIC only: time after which a connection that receives nothing is closed silently, or
    /// `"off"`: it waits without end. It is in whole milliseconds, and at least three PTOs. It
    /// restarts with each packet received, and with the first ACK-eliciting packet sent after it.
    /// The flow then ends, and its transfer does not finish (RFC 9000 section 10.1). Usual: 30 s.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<Duration>"))]
    pub idle_timeout: Option<Duration>,
    /// QUIC only: whether datagrams begin at 1200 bytes, and a search for the MTU of the path
    /// raises them up to `packet.datagram`. A padded probe, halfway between the known bounds, tests
    /// a size. Its loss does not reduce the window, and three losses rule out the size. The search
    /// ends when the bounds are less than 20 bytes apart, and begins again after 10 min. Three
    /// larger packets lost in a row set 1200 bytes until then (RFC 8899, RFC 9000 section 14.3).
    pub mtu_search: bool,
    /// Number of PTOs without an acknowledgement that establish persistent congestion, or `"off"`.
    /// RFC 9002 section 7.6.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<u64>"))]
    pub persistent_congestion: Option<u64>,
    /// Timer granularity. RFC 9002 section 6.1.2.
    pub granularity: Duration,
    /// RTT assumed before the first sample. RFC 9002 section 6.2.2.
    pub initial_rtt: Duration,
    /// Largest ACK delay that the peer announces. RFC 9000 section 18.2.
    pub max_ack_delay: Duration,
    /// Minimum of the retransmission timeout, or of its part beyond the RTT: see `rto`. Linux: 200
    /// ms. RFC 6298: 1 s.
    pub min_rto: Duration,
    /// Upper limit of the retransmission timeout after its doublings. RFC 6298 section 2.5 allows a
    /// limit of at least 60 s. Linux: 120 s (`TCP_RTO_MAX`). It applies as `max-pto` does.
    pub max_rto: Duration,
    /// Quantity that `min-rto` limits.
    pub rto: Rto,
    /// Time window of the minimum RTT, or `"off"`: it never expires. Linux: 300 s. RFC 9002 section
    /// 5.2 leaves it open.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<Duration>"))]
    pub min_rtt_window: Option<Duration>,
    /// Whether to undo a reduction when all packets that caused it arrive late.
    pub undo: bool,
    /// Whether to restart the window of a window-based controller after an idle time longer than
    /// the retransmission timeout. RFC 5681 section 4.1; Linux: `tcp_slow_start_after_idle`. QUIC
    /// does not need it because it paces (RFC 9002 section 7.8).
    pub restart_after_idle: bool,
    /// ECN mark of outgoing packets. RFC 9000 section 13.4. In a file, the controller decides if it
    /// is not set: `ect1` for `prague` and L4S, `ect0` for `dctcp` and the gated controllers.
    pub ecn: Ecn,
    /// Whether to mark retransmissions too. QUIC retransmits only data, never packets. RFC 3168
    /// section 6.1.5 forbids it for TCP.
    pub ecn_on_repeats: bool,
    /// Whether to stop marking when the path bleaches marks or the counts are wrong. RFC 9000
    /// section 13.4.2. TCP negotiates ECN in its handshake instead.
    pub ecn_validation: bool,
    /// Rules of the pacer.
    pub pacing: Pacing,
    /// Size of groups of packets that leave back to back, as with segmentation offload (TSO, GSO):
    /// a number of packets, or `"linux"`, which sends about one group per millisecond, of at most
    /// 64 KiB. `"off"`: each packet leaves on its own. A sender waits until a whole group, or all
    /// the data that waits, fits into the window. A paced sender sends a group at once, and pauses
    /// accordingly.
    pub offload: Offload,
    /// QUIC only: whether to fill the rest of the window with a smaller packet. Otherwise a packet
    /// waits until it fits entirely.
    pub small_last_packet: bool,
    /// Whether to send a packet as long as the window is not full, so the last packet may exceed
    /// the window by less than its size. Otherwise a packet waits until it fits. mvfst:
    /// QuicTransportFunctions.cpp:1060-1100 (May 2025).
    pub overshoot: bool,
    /// Controllers whose packets are paced. Without pacing, a window is sent as fast as its
    /// acknowledgements arrive.
    pub paced: Paced,
    /// QUIC only: skip packet numbers. With a value n, each packet is followed by a skipped number
    /// with probability 1/n. After a skip, n packets follow without one. `"off"`: no skips. A peer
    /// that acknowledges a skipped number acknowledges packets that it has not received (RFC 9000
    /// section 21.4). An honest peer sees a gap, which it acknowledges at once and which counts
    /// towards the packet threshold. mvfst: 1000. With `"off"`, the endpoints of `--on stack` and
    /// `--on wire` skip one number every 256 to 4095 packets.
    #[serde(with = "units::or_off")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrOff<u64>"))]
    pub skip_numbers: Option<u64>,
}

/// Quantity that the packet threshold limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PacketCount {
    /// Difference between the packet's number and the largest acknowledged one (RFC 9002 section
    /// 6.1.1).
    Numbers,
    /// TCP only: packets SACKed beyond the missing one, by their bytes or by their sequences
    /// (`IsLost`, RFC 6675 section 4).
    Sacked,
}

/// Rule to which a loss is attributed if the packet threshold and the time threshold hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LossLabel {
    /// The packet threshold (aioquic, quinn).
    PacketFirst,
    /// The time threshold (the thesis' fork of Quant, until August 2020).
    TimeFirst,
}

/// Controllers whose packets are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Paced {
    /// Every controller: at its own rate, or at window over RTT (RFC 9002 section 7.7).
    Always,
    /// Only controllers with their own rate (Linux TCP without the fq queueing discipline).
    ByRate,
    /// No controller, not even one that asks for pacing.
    Never,
}

/// Shape of the window reduction at a congestion event. The collapse after a timeout is always
/// immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// The window falls at once to the controller's new value (RFC 9002 section 7.3.2).
    AtOnce,
    /// The window falls over the recovery period, in proportion to the delivered data (RFC 9937).
    /// Does not apply to controllers that shape their window themselves during recovery.
    Prr,
}

/// Reaction if no acknowledgement arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Timeout {
    /// Probe timeouts, which never change the window (RFC 9002 section 6.2).
    Pto,
    /// One tail loss probe (RFC 8985 section 7), then retransmission timeouts, which collapse the
    /// window (RFC 6298).
    TlpRto,
    /// Retransmission timeouts without a tail loss probe (RFC 6298).
    Rto,
}

/// Formula for QUIC's probe timeout, without backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pto {
    /// `smoothed_rtt + max(4 * rttvar, granularity) + max_ack_delay`. Before the first sample this
    /// is 3 `initial_rtt` plus `max_ack_delay` (RFC 9002 section 6.2.1).
    Rfc9002,
    /// `smoothed_rtt + 4 * rttvar + the largest ACK delay reported so far`. Before the first
    /// sample: 2 `initial_rtt` (QuicLossFunctions.cpp:13-19, QuicConstants.h:602, May 2025).
    Mvfst,
}

/// Quantity that `min_rto` limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rto {
    /// The part of the timeout beyond `smoothed_rtt`, which decays once per round trip (Linux). At
    /// rest the timeout is `smoothed_rtt + min_rto`.
    Linux,
    /// The timeout itself: `max(smoothed_rtt + 4 * rttvar, min_rto)` (RFC 6298 section 2).
    Rfc6298,
}

/// Time after which a missing packet is declared lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeThreshold {
    /// A multiple of `max(smoothed_rtt, latest_rtt)`.
    Factor(f64),
    /// RACK's adaptive reordering window, RFC 8985 section 6.2.
    Rack,
    /// The check of TCP Vegas: `smoothed_rtt + 4 * rttvar`, examined when an acknowledgement
    /// arrives, never by a timer. Brakmo, O'Malley and Peterson, SIGCOMM 1994, section 3.1.
    Vegas,
    /// No time threshold.
    Off,
}

units::json_schema!(TimeThreshold, { "anyOf": [{ "type": "number", "minimum": 1 }, { "enum": ["rack", "vegas", "off"] }] });

impl Serialize for TimeThreshold {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Factor(f) => s.serialize_f64(*f),
            Self::Rack => s.serialize_str("rack"),
            Self::Vegas => s.serialize_str("vegas"),
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
                f.write_str("a factor of at least 1 (1.125), \"rack\", \"vegas\" or \"off\"")
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
                    "vegas" => Ok(TimeThreshold::Vegas),
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
    /// Returns the first key of QUIC that is set although no other stack has a counterpart that an
    /// experiment could set.
    pub fn key_of_ours(&self) -> Option<&'static str> {
        let keys = [
            (self.max_pto.is_some(), "max-pto"),
            (self.idle_timeout.is_some(), "idle-timeout"),
            (self.offload.is_on(), "offload"),
            (self.mtu_search, "mtu-search"),
        ];
        keys.iter().find(|(is_set, _)| *is_set).map(|(_, key)| *key)
    }

    /// Returns the datagram size of a new path, in bytes, if `most` is the largest to use.
    pub fn first_datagram(&self, most: u64) -> u64 {
        if self.mtu_search { most.min(BASE_DATAGRAM) } else { most }
    }

    /// Returns a new path, if `path` has the largest datagrams to use.
    pub fn first_path(&self, path: PathInfo) -> PathInfo {
        PathInfo { max_datagram_size: self.first_datagram(path.max_datagram_size), ..path }
    }

    /// Returns the PTO without backoff (RFC 9002 section 6.2.1).
    pub(crate) fn probe_timeout(&self, rtt: &Rtt) -> Duration {
        match self.pto {
            Pto::Rfc9002 => rtt.timeout(self.granularity) + self.max_ack_delay,
            Pto::Mvfst if rtt.is_sampled() => rtt.timeout(Duration::ZERO) + rtt.longest_ack_delay(),
            Pto::Mvfst => self.first_timeout(),
        }
    }

    /// Returns a PTO after `doublings` timeouts in a row.
    #[inline]
    pub fn backed_off(&self, pto: Duration, doublings: u32) -> Duration {
        let doubled = pto * (1 << doublings.min(MAX_DOUBLINGS));
        self.max_pto.map_or(doubled, |max| doubled.min(max.max(pto)))
    }

    /// Returns the PTO before the first RTT sample, for packets that the peer acknowledges without
    /// delay.
    pub fn first_timeout(&self) -> Duration {
        self.initial_rtt
            * match self.pto {
                Pto::Rfc9002 => 3,
                Pto::Mvfst => 2,
            }
    }

    /// Returns the rules of RFC 9002.
    pub fn quic() -> Self {
        Self {
            packet_threshold: Some(3),
            packet_count: PacketCount::Numbers,
            early_retransmit: false,
            time_threshold: TimeThreshold::Factor(1.125),
            loss_label: LossLabel::PacketFirst,
            max_packet_threshold: None,
            max_time_threshold: None,
            sack: true,
            exit: Exit::Quic,
            reduction: Reduction::AtOnce,
            timeout: Timeout::Pto,
            pto: Pto::Rfc9002,
            max_pto: None,
            idle_timeout: None,
            mtu_search: false,
            persistent_congestion: Some(3),
            granularity: Duration::from_millis(1),
            initial_rtt: Duration::from_millis(333),
            max_ack_delay: Duration::from_millis(25),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            rto: Rto::Linux,
            min_rtt_window: None,
            undo: true,
            restart_after_idle: false,
            ecn: Ecn::NotEct,
            ecn_on_repeats: true,
            ecn_validation: true,
            pacing: Pacing::default(),
            offload: Offload::OFF,
            small_last_packet: false,
            overshoot: false,
            paced: Paced::Always,
            skip_numbers: None,
        }
    }

    /// Returns the rules of a Linux-like TCP.
    ///
    /// It uses SACK, RACK-TLP (RFC 8985), and the RTO of RFC 6298 with Linux's minimum and Eifel
    /// detection (RFC 3522). There is one reduction until all holes are filled, spread over that
    /// time (RFC 9937). Sending is ACK-clocked, and the window restarts after idle times.
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

/// Returns how many packets are sent before a number is skipped, with probability 1 in `every` at
/// each. `again`: a number was skipped before, so at least `every` packets come first.
pub fn packets_until_skip(every: u64, rng: &mut Rng, again: bool) -> u64 {
    let chance = ((rng.exponential() * every as f64) as u64).saturating_add(1);
    if again { chance.saturating_add(every) } else { chance }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values beyond the length of any run skip nothing.
    #[test]
    fn skips_beyond_all_runs() {
        for seed in 0..100 {
            for again in [false, true] {
                let mut rng = Rng::stream(seed, "skips");
                assert!(packets_until_skip(i64::MAX as u64, &mut rng, again) > 1 << 40);
            }
        }
    }
}
