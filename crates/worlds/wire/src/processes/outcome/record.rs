//! Turns a flow's traffic into a record, with the calls that a simulation makes for its own flows.

use congestion::Detection;
use scenario::guest::Snapshot;
use scenario::trace::{self, Handshake};
use scenario::{FlowConfig, FlowSeries, Record, Scenario, SentPacket};
use units::{Duration, Time};

use super::traffic::{Event, Kind, SentDatagram, Traffic};
use crate::log::{FlowLog, Ticks, newest, queue_time};

/// Start of a run in the emulator's time, and its end in the run's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) origin: Time,
    pub(crate) end: Time,
}

impl Span {
    /// Returns the part of the run in which a flow may run.
    pub(crate) fn of_flow(self, config: &FlowConfig) -> Self {
        Self { end: config.stop.unwrap_or(self.end).min(self.end), ..self }
    }

    /// Converts the emulator's time to the run's time. Returns `None` for a time outside of the
    /// run.
    pub(crate) fn to_run_time(self, at: Time) -> Option<Time> {
        (at >= self.origin).then(|| Time((at - self.origin).0)).filter(|at| *at <= self.end)
    }
}

/// Returns a flow's time series. The window is known only from the server's qlog.
pub(crate) fn series(ticks: &Ticks, log: &FlowLog, traffic: &Traffic, span: Span) -> FlowSeries {
    let in_run_time = |changes: &[(Time, u64)]| -> Vec<_> {
        changes.iter().filter_map(|(at, bytes)| Some((span.to_run_time(*at)?, *bytes))).collect()
    };
    let (in_flight, windows) = (in_run_time(&traffic.in_flight), in_run_time(&traffic.windows));
    let at = |changes: &[(Time, u64)], tick| newest(changes, tick, |change| change.0).map(|(_, bytes)| bytes);
    ticks.flow(log, |tick| {
        let (cwnd, bytes_in_flight) = (at(&windows, tick), at(&in_flight, tick));
        (Snapshot { cwnd, bytes_in_flight, ..Snapshot::default() }, None)
    })
}

/// Measures a flow from its events within its part of the run.
pub(crate) fn count(scenario: &Scenario, config: &FlowConfig, traffic: &Traffic, span: Span) -> FlowLog {
    let log = FlowLog::new(Record::new(&config.application, scenario));
    let mut counter = Counter { config, span, log, acks: 0, handshakes: 0 };
    for (at, event) in &traffic.events {
        if let Some(now) = span.to_run_time(*at) {
            counter.take(now, event);
        }
    }
    if config.handshake {
        // The flow starts with the client's first packet, which opens the connection.
        counter.log.record.started = traffic.first.and_then(|at| span.to_run_time(at)).unwrap_or(Time::NEVER);
    }
    counter.finish(traffic)
}

struct Counter<'a> {
    config: &'a FlowConfig,
    span: Span,
    log: FlowLog,
    /// Numbers of the next ACK and of the next handshake packet.
    acks: u64,
    handshakes: u64,
}

impl Counter<'_> {
    fn take(&mut self, now: Time, event: &Event) {
        let record = &mut self.log.record;
        match event {
            Event::Sent(leaving) => self.on_sent(now, leaving),
            Event::Dropped(Kind::AckOnly) => record.on_ack_dropped(now),
            Event::Dropped(Kind::Data | Kind::Handshake) => record.on_dropped(now),
            Event::Received { number, bytes, offset, len, owd, fresh, ecn, ordered } => {
                let (pn, bytes, offset, len) = (*number, *bytes, *offset, *len);
                let marked = *ecn == units::Ecn::Ce;
                record.on_packet(now, || trace::Event::Received { pn, bytes, offset, len, marked });
                record.on_received(now, *owd, *fresh, *ecn, Some(*ordered));
                self.log.arrivals.push((now, *fresh, *owd));
            }
            Event::Complete => record.finished = Some(now),
            Event::FeedbackSent => record.on_feedback_sent(now),
            Event::FeedbackDropped => record.on_feedback_dropped(now),
            Event::FeedbackReceived { ack, rtt, spurious } => {
                record.stats.spurious += spurious;
                if let Some(rtt) = rtt {
                    record.on_rtt_sample(now, *rtt);
                    self.log.rtts.push((now, *rtt));
                }
                if let Some(ack) = ack {
                    let number = self.acks;
                    self.acks += 1;
                    record.on_feedback(now, || {
                        let ranges = ack.ranges.iter().rev().copied().collect();
                        // The unit of the delay is a transport parameter, and those are not read.
                        // So the delay is not reported.
                        trace::Event::Acked(trace::Ack { number, ranges, delay: Duration::ZERO })
                    });
                }
            }
        }
    }

    fn on_sent(&mut self, now: Time, leaving: &SentDatagram) {
        let record = &mut self.log.record;
        record.started = record.started.min(now);
        let SentDatagram { number, bytes, offset, len, wire, .. } = *leaving;
        match leaving.kind {
            Kind::Data => {
                record.stats.sent += 1;
                record.stats.sent_bytes += u64::from(bytes);
                record.stats.retransmissions += u64::from(leaving.repeats);
                record.on_sent(now, SentPacket { pn: number, bytes, wire, offset, len });
                if leaving.redundant {
                    record.on_redundant(now);
                }
            }
            Kind::Handshake => {
                let packet = Handshake { number: self.handshakes, bytes: leaving.payload };
                self.handshakes += 1;
                record.on_handshake_sent(now, packet, wire);
            }
            Kind::AckOnly => record.on_ack_sent(now, wire),
        }
        if let Some(departed) = leaving.departed.and_then(|at| self.span.to_run_time(at)) {
            record.on_queued(now, 0, queue_time(departed - now));
        }
    }

    fn finish(mut self, traffic: &Traffic) -> FlowLog {
        let record = &mut self.log.record;
        for (number, at) in
            traffic.lost.iter().filter_map(|(pn, at)| Some((*pn, self.span.to_run_time(*at)?)))
        {
            // The rule that detected the loss is unknown.
            record.stats.lost_by_time_threshold += 1;
            record.on_lost(at, number, Detection::TimeThreshold);
        }
        if self.config.transfer.is_none() && self.config.stop.is_some() {
            record.finished = Some(self.span.end);
        }
        if let Some(trace) = &mut record.trace {
            trace.sort_by_key(|(at, _)| *at);
        }
        self.log
    }
}
