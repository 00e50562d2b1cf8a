//! Receiver report of appendix C, once per feedback period, from the packets acknowledged in it.

use crate::AckedPacket;
use units::Duration;

/// A report. Rates are in bits per second, times in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    pub(super) owd: f64,
    pub(super) rtt: f64,
    /// Sending rate of the acknowledged packets, x(t - RTT).
    pub(super) sent: f64,
    pub(super) received: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn get(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// A packet and its receive time.
type Stamped = (AckedPacket, i64);

/// Averages of the current period.
#[derive(Clone, Debug, Default)]
pub(super) struct Averages {
    /// Last arrival before the period, and last arrival in it.
    before: Option<Stamped>,
    last: Option<Stamped>,
    bytes: Mean,
    header: Mean,
    owd: Mean,
    rtt: Mean,
}

impl Averages {
    /// Adds an RTT sample without the ACK delay.
    pub(super) fn on_rtt(&mut self, rtt: Duration) {
        self.rtt.add(rtt.as_secs_f64());
    }

    /// Adds a packet. `header` is the rate that it carries, `owd` its one-way delay in nanoseconds.
    pub(super) fn on_packet(&mut self, packet: &AckedPacket, header: f64, owd: Option<i64>) {
        if let Some(owd) = owd {
            self.owd.add(owd as f64 * 1e-9);
        }
        let stamped = packet.received.map(|received| (*packet, received));
        if self.before.is_none() {
            // The very first packet has no interarrival time.
            self.before = stamped;
            return;
        }
        // It has no receive time, because its ACK was lost, but it arrived all the same.
        self.bytes.add(packet.bytes as f64);
        self.header.add(header);
        if let Some(stamped) = stamped.filter(|s| self.last.is_none_or(|last| s.1 >= last.1)) {
            self.last = Some(stamped);
        }
    }

    /// Ends the period. Returns `None`, and the period continues, while there is no interarrival
    /// time.
    pub(super) fn finish(&mut self, rtt: Duration, measured: bool) -> Option<Feedback> {
        let (before, last) = (self.before?, self.last?);
        let span = last.1.saturating_sub(before.1);
        let sent =
            measured.then(|| self.measured_rate(&before.0, &last.0)).flatten().or(self.header.get())?;
        let feedback = Feedback {
            owd: self.owd.get()?,
            rtt: self.rtt.get().unwrap_or(rtt.as_secs_f64()),
            sent,
            received: (span > 0).then(|| self.bytes.sum * 8e9 / span as f64)?,
        };
        *self = Self { before: Some(last), ..Self::default() };
        Some(feedback)
    }

    /// Counts by packet numbers, because lost packets were sent too.
    fn measured_rate(&self, before: &AckedPacket, last: &AckedPacket) -> Option<f64> {
        let packets = last.pn.saturating_sub(before.pn) as f64;
        let span = (last.sent - before.sent).as_secs_f64();
        let bits = 8.0 * packets * self.bytes.get()?;
        (bits > 0.0 && span > 0.0).then(|| bits / span)
    }
}
