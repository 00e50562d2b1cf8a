//! A flow's traffic as the record of a scenario: the calls that a simulation makes for its own flows.

use congestion::Detection;
use link::QueueTime;
use scenario::trace::{self, Handshake};
use scenario::{FlowConfig, Record, Scenario, SentPacket};
use units::{Duration, Time};

use super::traffic::{Event, Kind, Leaving, Traffic};

/// A flow, counted, in the run's time.
#[derive(Debug)]
pub(crate) struct FlowRecord {
    pub(crate) record: Record,
    /// New bytes and one-way delays.
    pub(crate) arrivals: Vec<(Time, u64, Duration)>,
    /// RTT samples.
    pub(crate) rtts: Vec<(Time, Duration)>,
    /// The server's bytes in flight after each change.
    pub(crate) in_flight: Vec<(Time, u64)>,
    /// The server's window after each change, where its qlog tells.
    pub(crate) windows: Vec<(Time, u64)>,
}

/// When a run's time begins, in the emulator's, and when the run ends in its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) origin: Time,
    pub(crate) end: Time,
}

impl Span {
    /// A time of the emulator's in the run's; `None` outside of it.
    pub(crate) fn of_run(self, at: Time) -> Option<Time> {
        (at >= self.origin).then(|| Time((at - self.origin).0)).filter(|at| *at <= self.end)
    }
}

/// Counts what is within the run.
pub(crate) fn count(scenario: &Scenario, config: &FlowConfig, traffic: &Traffic, span: Span) -> FlowRecord {
    let until = config.stop.unwrap_or(span.end).min(span.end);
    let span = Span { end: until, ..span };
    let record = Record::new(&config.application, scenario);
    let [in_flight, windows] = [&traffic.in_flight, &traffic.windows]
        .map(|changes| changes.iter().filter_map(|(at, bytes)| Some((span.of_run(*at)?, *bytes))).collect());
    let flow = FlowRecord { record, arrivals: Vec::new(), rtts: Vec::new(), in_flight, windows };
    let mut counter = Counter { config, span, flow, answers: 0, handshakes: 0 };
    for (at, event) in &traffic.events {
        if let Some(now) = span.of_run(*at) {
            counter.take(now, event);
        }
    }
    if config.handshake {
        // The client's first packet is the connection's, and so the flow's.
        counter.flow.record.started = traffic.first.and_then(|at| span.of_run(at)).unwrap_or(Time::NEVER);
    }
    counter.finish(traffic, until)
}

struct Counter<'a> {
    config: &'a FlowConfig,
    span: Span,
    flow: FlowRecord,
    /// Numbers of the next ACK and the next packet of the handshake.
    answers: u64,
    handshakes: u64,
}

impl Counter<'_> {
    fn take(&mut self, now: Time, event: &Event) {
        let record = &mut self.flow.record;
        match event {
            Event::Sent(leaving) => self.on_sent(now, leaving),
            Event::Dropped(Kind::Bare) => record.on_ack_dropped(now),
            Event::Dropped(Kind::Data | Kind::Handshake) => record.on_dropped(now),
            Event::Received { number, bytes, offset, len, owd, fresh, ecn, ordered } => {
                let (pn, bytes, offset, len) = (*number, *bytes, *offset, *len);
                let marked = *ecn == units::Ecn::Ce;
                record.on_packet(now, || trace::Event::Received { pn, bytes, offset, len, marked });
                record.on_received(now, *owd, *fresh, *ecn, Some(*ordered));
                self.flow.arrivals.push((now, *fresh, *owd));
            }
            Event::Complete => record.finished = Some(now),
            Event::AnswerSent if self.config.back.is_some() => record.on_feedback_sent(now),
            Event::AnswerSent => {}
            Event::AnswerDropped => record.on_feedback_dropped(now),
            Event::Answered { ack, rtt, in_vain } => {
                record.stats.spurious += in_vain;
                if let Some(rtt) = rtt {
                    record.on_rtt_sample(now, *rtt);
                    self.flow.rtts.push((now, *rtt));
                }
                if let Some(ack) = ack {
                    let number = self.answers;
                    self.answers += 1;
                    record.on_feedback(now, || {
                        let ranges = ack.ranges.iter().rev().copied().collect();
                        // Its unit is in transport parameters, which are not read: what was written is not told.
                        trace::Event::Acked(trace::Ack { number, ranges, delay: Duration::ZERO })
                    });
                }
            }
        }
    }

    fn on_sent(&mut self, now: Time, leaving: &Leaving) {
        let record = &mut self.flow.record;
        record.started = record.started.min(now);
        let Leaving { number, bytes, offset, len, wire, .. } = *leaving;
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
            Kind::Bare => record.on_ack_sent(now, wire),
        }
        if let Some(departed) = leaving.departed.and_then(|at| self.span.of_run(at)) {
            // The log does not say when a transmission began.
            record.on_queued(now, 0, QueueTime { wait: Duration::ZERO, total: departed - now });
        }
    }

    fn finish(mut self, traffic: &Traffic, until: Time) -> FlowRecord {
        let record = &mut self.flow.record;
        for (number, at) in traffic.lost.iter().filter_map(|(pn, at)| Some((*pn, self.span.of_run(*at)?))) {
            // Which rule found it nobody tells.
            record.stats.lost_by_time_threshold += 1;
            record.on_lost(at, number, Detection::TimeThreshold);
        }
        if self.config.transfer.is_none() && self.config.stop.is_some() {
            record.finished = Some(until);
        }
        if let Some(trace) = &mut record.trace {
            trace.sort_by_key(|(at, _)| *at);
        }
        self.flow
    }
}
