//! Timers: when they are due, probes, retransmission timeouts.

use congestion::{Detection, Duration, Time};

use super::{Outcome, Sender};
use crate::config::Timeout;
use crate::sent::Payload;

/// Probes sent on a QUIC probe timeout. RFC 9002 section 6.2.4: one or two.
const PTO_PROBES: u32 = 2;

/// Longest retransmission timeout. RFC 6298 section 2.5: 60 s or more; Linux 120 s.
const MAX_RTO: Duration = Duration::from_secs(120);

impl<T: Payload> Sender<T> {
    /// When [`Sender::on_timer`] wants to be called.
    pub fn next_timer(&self) -> Option<Time> {
        if self.bytes_in_flight == 0 {
            return None;
        }
        Some(self.loss_time.unwrap_or_else(|| self.timeout_at()))
    }

    /// PTO without backoff: RFC 9002 section 6.2.1.
    pub(super) fn probe_timeout(&self) -> Duration {
        self.rtt.timeout(self.config.granularity) + self.config.max_ack_delay
    }

    fn timeout_at(&self) -> Time {
        let backoff = 1u64 << self.timeouts.min(20);
        match self.config.timeout {
            Timeout::Pto => self.last_sent + self.probe_timeout() * backoff,
            Timeout::TlpRto => {
                let rto = self.rtt.timeout(self.config.granularity).max(self.config.min_rto);
                let rto_at = self.progress + (rto * backoff).min(MAX_RTO);
                if self.may_probe_tail() { self.tail_probe_at().min(rto_at) } else { rto_at }
            }
        }
    }

    fn may_probe_tail(&self) -> bool {
        !self.tail_probed && self.timeouts == 0 && !self.epoch.in_recovery() && self.rtt.is_sampled()
    }

    /// RFC 8985 section 7.2: two RTTs after the last packet or ACK, and the peer's ACK delay when it flies alone.
    fn tail_probe_at(&self) -> Time {
        let alone = self.stats.in_flight() <= 1;
        let wait = self.rtt.smoothed() * 2;
        self.last_sent.max(self.progress) + if alone { wait + self.config.min_rto } else { wait }
    }

    /// The time of [`Sender::next_timer`] has come (calling earlier does nothing).
    pub fn on_timer(&mut self, now: Time, out: &mut Outcome<T>) {
        out.clear();
        if self.next_timer().is_none_or(|due| due > now) {
            return;
        }
        let prior_in_flight = self.bytes_in_flight;
        if self.loss_time.is_some() {
            self.detect_losses(now, prior_in_flight, out);
        } else if self.config.timeout == Timeout::Pto {
            self.timeouts += 1;
            self.probe(PTO_PROBES, out);
        } else if self.may_probe_tail() && self.tail_probe_at() <= now {
            self.tail_probed = true;
            self.progress = now; // RFC 8985 section 7.3: the probe re-arms the RTO
            self.probe(1, out);
        } else {
            self.retransmission_timeout(now, prior_in_flight, out);
        }
        self.lost.clear();
        self.sent.forget_settled();
    }

    fn probe(&mut self, count: u32, out: &mut Outcome<T>) {
        self.probes = count;
        self.stats.timeouts += 1;
        out.probe = true;
    }

    /// RFC 6298 section 5: everything outstanding counts as lost.
    fn retransmission_timeout(&mut self, now: Time, prior_in_flight: u64, out: &mut Outcome<T>) {
        self.timeouts += 1;
        self.stats.timeouts += 1;
        self.progress = now;
        let all: Vec<_> = self.sent.in_flight().map(|(pn, _)| (pn, Detection::Timeout)).collect();
        self.lose(now, &all, prior_in_flight, out);
    }

    /// The payload a probe repeats when there is nothing new: the oldest in flight (QUIC), the newest (TCP's TLP).
    pub fn probe_payload(&self) -> Option<T> {
        let mut flying = self.sent.in_flight();
        let packet = match self.config.timeout {
            Timeout::Pto => flying.next(),
            Timeout::TlpRto => flying.next_back(),
        };
        packet.map(|(_, p)| p.data.clone())
    }
}
