//! Sums of the signals of a round trip or an interval.

use congestion::{Ack, Congestion, Sent};
use pyo3::prelude::*;
use units::{Duration, Time};

use crate::controller::signals::{copied, secs, smallest};

/// Signals of a round trip or an interval.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    /// Time of the end, seconds.
    pub(crate) now: f64,
    /// Length, seconds.
    pub(crate) duration: f64,
    /// Bytes sent, acknowledged and declared lost.
    pub(crate) sent: u64,
    pub(crate) acked: u64,
    pub(crate) lost: u64,
    /// Packets reported as CE-marked.
    pub(crate) ce: u64,
    /// ACKs and congestion events.
    pub(crate) acks: u64,
    pub(crate) events: u64,
    /// Mean and newest RTT sample, seconds; None without any.
    pub(crate) mean_rtt: Option<f64>,
    pub(crate) latest_rtt: Option<f64>,
    /// Smallest RTT of the connection, seconds.
    pub(crate) min_rtt: Option<f64>,
    /// Slope of the RTT over the samples (least squares), seconds per second; 0 for fewer than two.
    pub(crate) rtt_gradient: f64,
    /// Largest delivery-rate sample, bit/s.
    pub(crate) delivery_rate: Option<f64>,
    pub(crate) bytes_in_flight: u64,
    /// The application limited the sender at the last ACK.
    pub(crate) app_limited: bool,
}

copied!(Report);

impl Report {
    /// Returns the acknowledged bit/s.
    pub(crate) fn throughput(&self) -> f64 {
        if self.duration > 0.0 { 8.0 * self.acked as f64 / self.duration } else { 0.0 }
    }
}

/// Returns the end of the interval after this time. Intervals begin at the start of the run.
pub(crate) fn next_report(now: Time, interval: Duration) -> Time {
    Time(now.0 - now.0 % interval.0) + interval
}

/// Sums of a report that is not over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    report: Report,
    began: Time,
    samples: f64,
    rtt: f64,
    time: f64,
    time_rtt: f64,
    time_time: f64,
}

impl Sums {
    pub(crate) fn add_ack(&mut self, ack: &Ack<'_>) {
        let report = &mut self.report;
        report.acked += ack.acked;
        report.lost += ack.lost;
        report.ce += ack.ce;
        report.acks += 1;
        report.bytes_in_flight = ack.bytes_in_flight;
        report.app_limited = ack.app_limited;
        report.min_rtt = smallest(ack.min_rtt);
        let rate = ack.rate.and_then(|rate| rate.delivery_rate).map(|rate| rate.0 as f64);
        report.delivery_rate = rate.map_or(report.delivery_rate, |rate| {
            Some(report.delivery_rate.map_or(rate, |most| most.max(rate)))
        });
        if let Some(rtt) = ack.latest_rtt {
            self.add_rtt(ack.now, rtt);
        }
    }

    fn add_rtt(&mut self, now: Time, rtt: Duration) {
        let (rtt, time) = (secs(rtt), secs(now.since(self.began)));
        self.report.latest_rtt = Some(rtt);
        self.samples += 1.0;
        self.rtt += rtt;
        self.time += time;
        self.time_rtt += time * rtt;
        self.time_time += time * time;
    }

    pub(crate) fn add_sent(&mut self, sent: &Sent) {
        self.report.sent += sent.bytes;
        self.report.bytes_in_flight = sent.bytes_in_flight;
    }

    pub(crate) fn add_event(&mut self, _: &Congestion) {
        self.report.events += 1;
    }

    /// Returns the report up to now, and begins the next.
    pub(crate) fn take(&mut self, now: Time) -> Report {
        let samples = self.samples;
        let spread = samples * self.time_time - self.time * self.time;
        let slope = (samples * self.time_rtt - self.time * self.rtt) / spread;
        let report = Report {
            now: now.as_secs_f64(),
            duration: secs(now.since(self.began)),
            mean_rtt: (samples > 0.0).then(|| self.rtt / samples),
            rtt_gradient: if spread > 0.0 { slope } else { 0.0 },
            ..self.report
        };
        let Report { min_rtt, bytes_in_flight, app_limited, .. } = report;
        let kept = Report { min_rtt, bytes_in_flight, app_limited, ..Report::default() };
        *self = Self { report: kept, began: now, ..Self::default() };
        report
    }
}
