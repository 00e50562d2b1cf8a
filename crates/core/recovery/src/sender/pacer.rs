//! The pacer: a token bucket (RFC 9002 section 7.7), or [bursts at intervals](Style::Bursts), in
//! `pacer/bursts.rs`.
//!
//! Releases of the token bucket can be rounded up to a timer interval.
//!
//! ```text
//! rate   = the controller's pacing rate, or factor * cwnd / smoothed_rtt
//! tokens = min(burst, tokens + rate * elapsed)            a packet leaves when tokens >= its size
//! ```
//!
//! Burst credit compensates for coarse timers; without it a pacer loses a third of its rate to
//! rounding. The limit on credit keeps bursts small.

mod bursts;

use bursts::Bursts;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Duration, Time};

/// Rules of the pacer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "pacing"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pacing {
    /// Way in which packets are released at the pacing rate.
    pub style: Style,
    /// Factor N in congestion avoidance, for controllers without their own rate. RFC 9002 section
    /// 7.7.
    pub factor: f64,
    /// Factor N in slow start. RFC 9002 section 7.7; Linux uses 2.
    pub slow_start_factor: f64,
    /// Share of `ssthresh` below which the slow-start factor applies. Linux
    /// (`tcp_update_pacing_rate`): one half.
    pub slow_start_until: f64,
    /// With tokens: packets are released at multiples of this interval after the previous release;
    /// zero: exactly on time. With bursts: smallest interval between bursts. mvfst: 1 ms, or 200 us
    /// in hq and tperf (QuicConstants.h:455, HQCommandLine.cpp:77-78, May 2025).
    pub interval: Duration,
    /// With bursts: smallest number of packets in a burst, at least 1. mvfst: 5, or 1 for L4S
    /// (QuicConstants.h:451, May 2025).
    pub min_burst: u64,
    /// With tokens: largest burst, in packets of `max_datagram_size`, or `"auto"`. With `"auto"` it
    /// is the controller's send quantum, or ten packets if there is none (RFC 9002 section 7.7: at
    /// most the initial window).
    #[serde(serialize_with = "serialize_or_auto", deserialize_with = "deserialize_or_auto")]
    #[cfg_attr(feature = "schema", schemars(with = "units::OrAuto<u64>"))]
    pub burst: Option<u64>,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            style: Style::Tokens,
            factor: 1.25,
            slow_start_factor: 1.25,
            slow_start_until: 1.0,
            interval: Duration::ZERO,
            min_burst: 5,
            burst: None,
        }
    }
}

/// Way in which packets are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// A token bucket. Each packet is sent on its own as soon as the rate has paid for it. Unused
    /// credit is saved up to the depth of the bucket.
    Tokens,
    /// Bursts at intervals: at least `min-burst` packets back to back, then a pause until the rate
    /// has paid for them. No credit is saved (mvfst's TokenlessPacer).
    Bursts,
}

/// Bytes that can be missing because a release is rounded to whole nanoseconds.
const SLACK: f64 = 1e-3;

/// Packets that a controller without a send quantum can send at once.
const DEFAULT_BURST: u64 = 10;

fn serialize_or_auto<S: Serializer>(burst: &Option<u64>, s: S) -> Result<S::Ok, S::Error> {
    match burst {
        Some(packets) => s.serialize_u64(*packets),
        None => s.serialize_str("auto"),
    }
}

fn deserialize_or_auto<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OrAuto {
        Packets(u64),
        Word(String),
    }
    match OrAuto::deserialize(d) {
        Ok(OrAuto::Packets(packets)) if packets > 0 => Ok(Some(packets)),
        Ok(OrAuto::Word(word)) if word == "auto" => Ok(None),
        _ => Err(de::Error::custom("`burst` must be a number of packets, at least 1, or \"auto\"")),
    }
}

/// A pacer.
#[derive(Clone, Debug)]
pub struct Pacer(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Tokens(TokenBucket),
    Bursts(Bursts),
}

impl Pacer {
    /// Creates a pacer that allows one burst at once.
    pub fn new(config: &Pacing, mds: u64) -> Self {
        Self(match config.style {
            Style::Tokens => Kind::Tokens(TokenBucket::new(config, mds)),
            Style::Bursts => Kind::Bursts(Bursts::new(config.interval, config.min_burst, mds)),
        })
    }

    /// Returns the time at which a packet of `bytes` can be sent: `now` or later. `rate` is in
    /// bytes per second, the controller's `quantum` in bytes.
    pub fn release(&mut self, now: Time, bytes: u64, rate: f64, quantum: Option<u64>) -> Time {
        match &mut self.0 {
            Kind::Tokens(tokens) => tokens.release(now, bytes, rate, quantum),
            Kind::Bursts(bursts) => bursts.release(now, rate),
        }
    }

    /// Returns how many packets of `bytes` can be sent back to back now.
    pub fn burst(&mut self, now: Time, bytes: u64, rate: f64, quantum: Option<u64>) -> u64 {
        if self.release(now, bytes, rate, quantum) > now {
            return 0;
        }
        match &self.0 {
            Kind::Tokens(tokens) => ((tokens.tokens + SLACK) / bytes as f64) as u64,
            Kind::Bursts(bursts) => bursts.left(),
        }
    }

    /// Changes the size of a full packet. Saved credit is kept.
    pub fn set_max_datagram_size(&mut self, config: &Pacing, bytes: u64) {
        match &mut self.0 {
            Kind::Tokens(tokens) => {
                let TokenBucket { configured, default, .. } = TokenBucket::new(config, bytes);
                (tokens.configured, tokens.default) = (configured, default);
            }
            Kind::Bursts(bursts) => bursts.set_max_datagram_size(bytes),
        }
    }

    /// Records a sent packet.
    pub fn on_sent(&mut self, now: Time, bytes: u64) {
        match &mut self.0 {
            Kind::Tokens(tokens) => tokens.on_sent(now, bytes),
            Kind::Bursts(bursts) => bursts.on_sent(),
        }
    }

    /// Records that the window blocks the next packet.
    pub fn on_window_full(&mut self) {
        if let Kind::Bursts(bursts) = &mut self.0 {
            bursts.on_window_full();
        }
    }
}

/// A token bucket.
#[derive(Clone, Debug)]
struct TokenBucket {
    interval: Duration,
    /// Largest burst set by the configuration, in bytes.
    configured: Option<f64>,
    /// Largest burst of a controller without a send quantum, in bytes.
    default: f64,
    tokens: f64,
    updated: Time,
    last_release: Time,
}

impl TokenBucket {
    /// Creates a full bucket.
    fn new(config: &Pacing, mds: u64) -> Self {
        let bytes = |packets: u64| (packets.max(1) * mds) as f64;
        let (configured, default) = (config.burst.map(bytes), bytes(DEFAULT_BURST));
        Self {
            interval: config.interval,
            configured,
            default,
            tokens: configured.unwrap_or(default),
            updated: Time::ZERO,
            last_release: Time::ZERO,
        }
    }

    fn release(&mut self, now: Time, bytes: u64, rate: f64, quantum: Option<u64>) -> Time {
        self.refill(now, bytes, rate, quantum);
        let missing = bytes as f64 - self.tokens;
        if missing <= SLACK {
            return now;
        }
        if rate <= 0.0 {
            return Time::NEVER;
        }
        let wait = Duration(((missing / rate * 1e9) as u64).saturating_add(1));
        self.on_tick(now + wait)
    }

    fn on_sent(&mut self, now: Time, bytes: u64) {
        self.tokens -= bytes as f64;
        self.last_release = now;
    }

    fn refill(&mut self, now: Time, bytes: u64, rate: f64, quantum: Option<u64>) {
        if now > self.updated {
            let earned = rate * (now - self.updated).as_secs_f64();
            let burst = self.configured.or(quantum.map(|bytes| bytes as f64)).unwrap_or(self.default);
            // The bucket must hold the credit of one interval, or a coarse timer would limit the
            // rate. It must also hold the waiting packet, which would never be sent otherwise.
            let depth = burst.max(rate * self.interval.as_secs_f64()).max(bytes as f64);
            self.tokens = (self.tokens + earned).min(depth);
            self.updated = now;
        }
    }

    fn on_tick(&self, due: Time) -> Time {
        let Duration(interval) = self.interval;
        if interval == 0 {
            return due;
        }
        let since = (due - self.last_release).0;
        self.last_release + Duration(since.div_ceil(interval).saturating_mul(interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pacing: &Pacing, rate: f64, seconds: u64) -> Vec<Time> {
        let mut pacer = Pacer::new(pacing, 1200);
        let mut now = Time::ZERO;
        let mut left = Vec::new();
        while now < Time::from_millis(seconds * 1000) {
            let at = pacer.release(now, 1200, rate, None);
            if at == now {
                pacer.on_sent(now, 1200);
                left.push(now);
            }
            now = at;
        }
        left
    }

    /// cwnd 10 packets, srtt 100 ms, N = 1.25: one packet per 8 ms.
    #[test]
    fn spacing() {
        let left = run(&Pacing { burst: Some(1), ..Pacing::default() }, 1.25 * 12_000.0 / 0.1, 1);
        for pair in left.windows(2) {
            let gap = (pair[1] - pair[0]).0;
            assert!(gap.abs_diff(8_000_000) <= 2, "{gap}");
        }
    }

    /// The long-run rate holds within 1 % for every interval, not counting the first burst. No
    /// burst exceeds its limit.
    #[test]
    fn rate_and_burst() {
        for interval in [0, 200, 1_000, 5_000] {
            let pacing = Pacing { interval: Duration::from_micros(interval), ..Pacing::default() };
            let rate = 1_250_000.0;
            let left = run(&pacing, rate, 20);
            let sent = 1200.0 * (left.len() as f64 - 10.0);
            assert!((sent / (20.0 * rate) - 1.0).abs() < 0.01, "{interval}: {sent}");
            let cap = 10.0_f64.max(rate * interval as f64 * 1e-6 / 1200.0 + 1.0) as usize;
            let at_once = left.chunk_by(|a, b| a == b).map(<[Time]>::len).max().unwrap();
            assert!(at_once <= cap, "{interval}: {at_once} at once");
        }
    }

    /// A controller's quantum limits the burst after a pause. A configured burst overrides it.
    #[test]
    fn quantum() {
        for (burst, quantum, expected) in [(None, Some(2400), 2), (None, None, 10), (Some(4), Some(2400), 4)]
        {
            let mut pacer = Pacer::new(&Pacing { burst, ..Pacing::default() }, 1200);
            while pacer.release(Time::ZERO, 1200, 1.2e6, quantum) == Time::ZERO {
                pacer.on_sent(Time::ZERO, 1200);
            }
            let (later, mut at_once) = (Time::from_millis(1000), 0);
            while pacer.release(later, 1200, 1.2e6, quantum) == later {
                pacer.on_sent(later, 1200);
                at_once += 1;
            }
            assert_eq!(at_once, expected, "{burst:?} {quantum:?}");
        }
    }

    /// A packet larger than the bucket is sent when the rate has paid for it.
    #[test]
    fn larger_than_the_bucket() {
        let mut pacer = Pacer::new(&Pacing { burst: Some(1), ..Pacing::default() }, 1200);
        pacer.on_sent(Time::ZERO, 1200);
        let at = pacer.release(Time::ZERO, 9000, 9000.0, None);
        assert_eq!(at.0, 1_000_000_001, "rounded up");
        assert_eq!(pacer.release(at, 9000, 9000.0, None), at);
    }

    /// Rates of zero and almost zero wait forever, or almost.
    #[test]
    fn next_to_nothing() {
        for interval in [Duration::ZERO, Duration::from_millis(1)] {
            let mut pacer = Pacer::new(&Pacing { burst: Some(1), interval, ..Pacing::default() }, 1200);
            pacer.on_sent(Time::ZERO, 1200);
            assert_eq!(pacer.release(Time(1), 1200, 0.0, None), Time::NEVER);
            assert_eq!(pacer.release(Time(1), 1200, 1e-300, None), Time::NEVER);
        }
    }

    /// A rate of less than one packet per RTT still makes progress.
    #[test]
    fn no_starvation() {
        assert!(run(&Pacing::default(), 600.0, 60).len() >= 10 + 29);
    }
}
