//! Loss detection: packet threshold, time threshold (RFC 9002 section 6.1) and RACK's adaptive
//! window (RFC 8985).
//!
//! ```text
//! lost  if  pn <= largest_acked - packet_threshold
//!       or  time_sent <= now - max(time_threshold * max(smoothed_rtt, latest_rtt), granularity)
//! Vegas: lost if time_sent <= now - max(smoothed_rtt + 4 * rttvar, granularity), at an ACK
//! RACK: lost if sent before the newest delivered packet and time_sent + rack.rtt + reo_wnd <= now
//!       reo_wnd = 0 while no reordering was seen and (in recovery or three packets delivered beyond)
//!               = min(reo_wnd_mult * min_rtt / 4, smoothed_rtt) otherwise
//! ```

use congestion::Detection;
use units::{Duration, Time};

use crate::sender::config::{Config, LossLabel, TimeThreshold};
use crate::sender::rtt::Rtt;
use crate::sender::sent_packets::{Packet, Payload, SentPackets, Status};

/// State of reordering: RACK's (RFC 8985 section 6.2 steps 3 and 4), and the thresholds raised by
/// late packets.
#[derive(Clone, Debug)]
pub(crate) struct Reordering {
    /// The packet threshold that would have avoided every spurious loss.
    enough: u64,
    /// The time threshold, if late packets have raised it.
    factor: f64,
    seen: bool,
    /// `reo_wnd_mult`.
    mult: u64,
    /// `reo_wnd_persist`: recoveries left until the window is reset.
    persist: u64,
    /// `dsack_round`: the window is not widened again before a packet from this number on is
    /// acknowledged.
    round_end: u64,
}

/// Time threshold after the first raise from one RTT or less: that of RFC 9002 section 6.1.2.
const LEAST_RAISED: f64 = 1.125;

/// RFC 8985 section 6.2: DUPACKs that end the wait, and recoveries for which a widened window
/// persists.
const RACK_DUP_THRESHOLD: usize = 3;
const RACK_PERSIST: u64 = 16;

impl Default for Reordering {
    fn default() -> Self {
        Self { enough: 0, factor: 0.0, seen: false, mult: 1, persist: RACK_PERSIST, round_end: 0 }
    }
}

impl Reordering {
    /// Records that a packet arrived after a newer one.
    pub(crate) fn on_reordered(&mut self) {
        self.seen = true;
    }

    /// Records a spurious loss. The window was too small and widens once per round trip.
    /// `overtaken`: the packet arrived after a newer one. A packet that is merely later than a
    /// timeout is not out of order.
    pub(crate) fn on_spurious(&mut self, largest_acked: u64, next_pn: u64, overtaken: bool) {
        self.seen |= overtaken;
        self.persist = RACK_PERSIST;
        if largest_acked >= self.round_end {
            self.mult += 1;
            self.round_end = next_pn;
        }
    }

    /// Raises the thresholds for a packet declared lost that arrives `distance` packets after the
    /// newest known one, at an age of `age`.
    pub(crate) fn raise_thresholds(&mut self, config: &Config, distance: u64, age: Duration, rtt: &Rtt) {
        self.enough = self.enough.max(distance + 1);
        if let (Some(most), TimeThreshold::Factor(fixed)) = (config.max_time_threshold, config.time_threshold)
        {
            let rtt = rtt.smoothed().max(rtt.latest());
            self.factor = self.factor.max(fixed);
            while self.factor < most && rtt.mul_f64(self.factor) < age {
                // The part beyond an RTT doubles. Without one it begins with that of RFC 9002.
                let doubled = if self.factor > 1.0 { 2.0 * self.factor - 1.0 } else { LEAST_RAISED };
                self.factor = doubled.min(most);
            }
        }
    }

    /// Returns the packet threshold, if there is one.
    pub(crate) fn packet_threshold(&self, config: &Config) -> Option<u64> {
        let raised = |most: u64| self.enough.min(most);
        config.packet_threshold.map(|fixed| fixed.max(config.max_packet_threshold.map_or(0, raised)))
    }

    /// Records the end of a recovery period.
    pub(crate) fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.mult = 1;
        }
    }

    /// Returns `reo_wnd`. `eager`: in recovery, or three packets arrived beyond the first missing
    /// one.
    pub(crate) fn window(&self, rtt: &Rtt, eager: impl FnOnce() -> bool) -> Duration {
        if !self.seen && eager() {
            return Duration::ZERO;
        }
        let quarter = if rtt.is_sampled() { rtt.min() / 4 } else { Duration::ZERO };
        (quarter * self.mult).min(rtt.smoothed())
    }
}

/// Packets that enough later packets have overtaken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Overtaken {
    /// Packets below this number.
    Numbers(u64),
    /// Packets, except repeats, whose payload ends at or below this offset.
    Sacked(u64),
}

impl Overtaken {
    /// Returns the value without packets.
    pub(crate) const NONE: Self = Self::Numbers(0);

    /// Reports whether enough later packets have overtaken this one.
    #[inline]
    pub(crate) fn includes<T: Payload>(self, number: u64, packet: &Packet<T>) -> bool {
        match self {
            Self::Numbers(end) => number < end,
            Self::Sacked(end) => !packet.is_repeat() && packet.data.range().end <= end,
        }
    }

    /// Reports whether a later packet can be included although this one is not.
    #[inline]
    pub(crate) fn skips<T>(self, packet: &Packet<T>) -> bool {
        matches!(self, Self::Sacked(_)) && packet.is_repeat()
    }
}

/// Result of the search for losses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Slot and rule, ascending.
    pub(crate) lost: Vec<(u64, Detection)>,
    /// Time at which the next packet will be lost unless an ACK arrives first.
    pub(crate) loss_time: Option<Time>,
}

/// Input of the loss-detection rules.
pub(crate) struct Search<'a> {
    pub(crate) config: &'a Config,
    pub(crate) rtt: &'a Rtt,
    pub(crate) reordering: &'a Reordering,
    pub(crate) now: Time,
    pub(crate) largest_acked: u64,
    pub(crate) overtaken: Overtaken,
    /// RTT of the newest delivered packet.
    pub(crate) rack_rtt: Duration,
    pub(crate) in_recovery: bool,
}

impl Search<'_> {
    /// Searches the packets before the largest acknowledged one, and replaces the contents of
    /// `found`. Packets are sent in the order of their numbers: once one survives both rules, all
    /// later ones do, except repeats under the [scoreboard](Overtaken::Sacked).
    pub(crate) fn run<T: Payload>(&self, sent: &mut SentPackets<T>, found: &mut Found) {
        found.lost.clear();
        found.loss_time = None;
        if self.config.packet_threshold.is_none() && self.config.time_threshold == TimeThreshold::Off {
            return;
        }
        let (mut delay, mut survivor) = (None, None);
        let is_plain = sent.numbers.is_plain();
        let end = sent.slot_from(self.largest_acked);
        let number = |slot| if is_plain { slot } else { sent.numbers.number(slot) };
        for (slot, packet) in sent.in_flight().take_while(|(slot, _)| *slot < end) {
            if self.overtaken.includes(number(slot), packet) {
                let time_first = self.config.loss_label == LossLabel::TimeFirst;
                let mut is_late = || {
                    let delay = *delay.get_or_insert_with(|| self.delay(sent, slot));
                    delay.is_some_and(|delay| packet.sent + delay <= self.now)
                };
                let by_time = time_first && is_late();
                let rule = if by_time { Detection::TimeThreshold } else { Detection::PacketThreshold };
                found.lost.push((slot, rule));
                continue;
            }
            let delay = *delay.get_or_insert_with(|| self.delay(sent, slot));
            if delay.is_some_and(|delay| packet.sent + delay <= self.now) {
                found.lost.push((slot, Detection::TimeThreshold));
                continue;
            }
            survivor = survivor.or(delay.map(|delay| (packet.sent, delay)));
            if !self.overtaken.skips(packet) {
                break;
            }
        }
        let Some((first, delay)) = survivor else { return };
        // QUIC's timer fires for the first survivor, which is lost first, RACK's for the last.
        // Vegas has no timer.
        let dies = match self.config.time_threshold {
            TimeThreshold::Vegas => return,
            TimeThreshold::Rack => sent.last_in_flight_before(end).map_or(first, |p| p.sent),
            _ => first,
        };
        found.loss_time = Some(dies + delay);
    }

    /// Returns the time from sending to loss, or `None` if the time threshold is off. `hole` is the
    /// oldest missing packet.
    fn delay<T: Payload>(&self, sent: &SentPackets<T>, hole: u64) -> Option<Duration> {
        match self.config.time_threshold {
            TimeThreshold::Off => None,
            TimeThreshold::Factor(fixed) => {
                let (factor, rtt) =
                    (self.reordering.factor.max(fixed), self.rtt.smoothed().max(self.rtt.latest()));
                Some(rtt.mul_f64(factor).max(self.config.granularity))
            }
            TimeThreshold::Vegas => Some(self.rtt.timeout(self.config.granularity)),
            TimeThreshold::Rack => {
                let mut beyond = sent.iter_from(hole).filter(|p| p.status == Status::Acked);
                let eager = || self.in_recovery || beyond.nth(RACK_DUP_THRESHOLD - 1).is_some();
                Some(self.rack_rtt + self.reordering.window(self.rtt, eager))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part beyond an RTT doubles until it would have been enough, from any threshold.
    #[test]
    fn late_packets_raise_the_time_threshold() {
        let mut rtt = Rtt::new(Duration::from_millis(100), None);
        rtt.sample(Time::ZERO, Duration::from_millis(100), Duration::ZERO);
        for (fixed, age, raised) in
            [(1.125, 120, 1.25), (1.125, 160, 2.0), (1.0, 120, 1.25), (0.5, 120, 1.25), (1.0, 900, 2.0)]
        {
            let time_threshold = TimeThreshold::Factor(fixed);
            let config = Config { time_threshold, max_time_threshold: Some(2.0), ..Config::quic() };
            let mut reordering = Reordering::default();
            reordering.raise_thresholds(&config, 1, Duration::from_millis(age), &rtt);
            assert_eq!(reordering.factor, raised, "{fixed}, {age} ms");
        }
    }

    /// A packet that is merely later than a timeout is not out of order: in recovery there is no
    /// wait.
    #[test]
    fn a_late_timeout_is_no_reordering() {
        let mut rtt = Rtt::new(Duration::from_millis(100), None);
        rtt.sample(Time::ZERO, Duration::from_millis(100), Duration::ZERO);
        let mut reordering = Reordering::default();
        reordering.on_spurious(0, 10, false);
        assert_eq!(reordering.window(&rtt, || true), Duration::ZERO);
        reordering.on_spurious(0, 10, true);
        assert_eq!(reordering.window(&rtt, || true), Duration::from_millis(50), "min_rtt / 4, widened once");
    }
}
