//! The record of a TCP flow, from the packet log and the kernel's samples.

use std::collections::{BTreeMap, VecDeque};

use crate::emu::SYN;
use recovery::Reassembly;
use scenario::trace::{Ack, Event, Ranges};
use scenario::{FlowConfig, Record, Scenario, SentPacket};
use units::{Duration, Ecn, Time};

use crate::endpoints::samples::Samples;
use crate::endpoints::traced::Traced;
use crate::log::{FlowLog, Packet, TCP, queue_time};

/// Events of a flow's packets, in the order in which simultaneous events are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Received,
    Dropped,
    AckReceived,
    AckDropped,
    Sent,
    AckSent,
}

struct Reader<'a> {
    config: &'a FlowConfig,
    samples: &'a Samples,
    traced: Traced,
    log: FlowLog,
    sequence: Option<Sequence>,
    sent_until: u64,
    /// Packet number of the newest transmission, by stream offset.
    newest: BTreeMap<u64, u64>,
    received: Reassembly,
    /// Send time of the newest segment that the server has received.
    last_received: Option<Time>,
    /// For each acknowledgement in flight: its send time, and the send time of the segment that it
    /// acknowledges.
    answers: VecDeque<(Time, Time)>,
    pn: u64,
    /// Number of the next acknowledgement that arrives.
    acks: u64,
}

/// Reads the packets of the flow whose server has this port.
pub(crate) fn read(
    scenario: &Scenario,
    config: &FlowConfig,
    (samples, traced): (&Samples, Traced),
    packets: &[&Packet],
    port: u16,
    end: Time,
) -> FlowLog {
    let until = config.stop.unwrap_or(end).min(end);
    let mine: Vec<&Packet> =
        packets.iter().copied().filter(|p| belongs(p, port) && p.sent <= until).collect();
    let mut moments = Vec::with_capacity(mine.len() * 2);
    for (i, packet) in mine.iter().enumerate() {
        let data = packet.row.from == 0;
        let at_end = match (data, packet.dropped) {
            (true, false) => Moment::Received,
            (true, true) => Moment::Dropped,
            (false, false) => Moment::AckReceived,
            (false, true) => Moment::AckDropped,
        };
        moments.push((packet.sent, if data { Moment::Sent } else { Moment::AckSent }, i));
        if packet.end <= until {
            moments.push((packet.end, at_end, i));
        }
    }
    moments.sort_unstable();
    let mut reader = Reader {
        config,
        samples,
        traced,
        log: FlowLog::new(Record::new(&config.application, scenario)),
        sequence: None,
        sent_until: 0,
        newest: BTreeMap::new(),
        received: Reassembly::default(),
        last_received: None,
        answers: VecDeque::new(),
        pn: 0,
        acks: 0,
    };
    for (at, moment, i) in moments {
        reader.step(at, moment, mine[i]);
    }
    reader.finish(until, end)
}
/// Reports whether a packet belongs to the connection with this server port. Packets with SYN do
/// not.
fn belongs(packet: &Packet, port: u16) -> bool {
    let of_port =
        |s: &crate::emu::Segment| if packet.row.from == 0 { s.destination == port } else { s.source == port };
    packet.row.segment.is_some_and(|s| s.protocol == TCP && s.flags & SYN == 0 && of_port(&s))
}

/// Converts sequence numbers, which wrap, to stream offsets, which do not.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    last: u32,
    offset: u64,
}

impl Sequence {
    fn offset(&mut self, number: u32) -> u64 {
        let ahead = number.wrapping_sub(self.last).cast_signed();
        let offset = self.offset.saturating_add_signed(i64::from(ahead));
        if ahead > 0 {
            *self = Self { last: number, offset };
        }
        offset
    }
}

impl Reader<'_> {
    fn step(&mut self, now: Time, moment: Moment, packet: &Packet) {
        let segment = packet.row.segment.unwrap_or_default();
        if packet.row.from == 0 && segment.payload == 0 {
            return; // the end of the handshake, or a window update
        }
        match moment {
            Moment::Sent => self.on_sent(now, packet, &segment),
            Moment::Received => self.on_received(now, packet, &segment),
            Moment::Dropped => self.log.record.on_dropped(packet.sent),
            Moment::AckSent => self.on_ack_sent(now),
            Moment::AckReceived => self.on_ack_received(now, packet, &segment),
            Moment::AckDropped => self.on_ack_dropped(packet),
        }
    }

    fn offset(&mut self, number: u32) -> u64 {
        self.sequence.get_or_insert(Sequence { last: number, offset: 0 }).offset(number)
    }

    fn on_sent(&mut self, now: Time, packet: &Packet, segment: &crate::emu::Segment) {
        let offset = self.offset(segment.sequence);
        let (len, end) = (segment.payload, offset + u64::from(segment.payload));
        let record = &mut self.log.record;
        record.started = record.started.min(now);
        record.stats.sent += 1;
        record.stats.sent_bytes += u64::from(len);
        if end <= self.sent_until {
            self.on_repeat(now, offset, end);
        }
        self.sent_until = self.sent_until.max(end);
        let pn = self.pn;
        self.pn += 1;
        let record = &mut self.log.record;
        if record.trace.is_some() {
            self.newest.insert(offset, pn);
        }
        record.on_sent(now, SentPacket { pn, bytes: len, wire: packet.row.size, offset, len });
        if let Some(departed) = packet.departed {
            record.on_queued(now, 0, queue_time(departed - packet.sent));
        }
    }

    /// Records a retransmission: the kernel declared these bytes lost.
    fn on_repeat(&mut self, now: Time, offset: u64, end: u64) {
        let record = &mut self.log.record;
        if self.received.holds(offset, end) {
            record.on_redundant(now);
        }
        record.stats.retransmissions += 1;
        record.stats.lost_by_time_threshold += 1;
        let (Some(trace), Some((_, &pn))) = (&mut record.trace, self.newest.range(..=offset).next_back())
        else {
            return;
        };
        let event = match self.traced.reason(now) {
            Some((detection, basis)) => Event::LostObserved { pn: Some(pn), detection, basis },
            None => Event::Lost { pn, detection: self.samples.detection(now) },
        };
        trace.push((now, event));
    }

    fn on_received(&mut self, now: Time, packet: &Packet, segment: &crate::emu::Segment) {
        let offset = self.offset(segment.sequence);
        let fresh = self.received.insert(offset, offset + u64::from(segment.payload));
        self.last_received = Some(packet.sent);
        let owd = now - packet.sent;
        let record = &mut self.log.record;
        record.stats.spurious += u64::from(fresh == 0);
        let ecn = if packet.row.marked { Ecn::Ce } else { self.config.recovery.ecn };
        let end = offset + u64::from(segment.payload);
        record.on_received(now, owd, fresh, ecn, Some((end, self.received.contiguous())));
        self.log.arrivals.push((now, fresh, owd));
        if self.config.transfer.is_some_and(|transfer| self.received.contiguous() >= transfer) {
            self.log.record.finished.get_or_insert(now);
        }
    }

    fn on_ack_sent(&mut self, now: Time) {
        if let Some(sent) = self.last_received {
            self.answers.push_back((now, sent));
        }
        self.log.record.on_feedback_sent(now);
    }

    fn on_ack_dropped(&mut self, packet: &Packet) {
        self.answers.retain(|(left, _)| *left != packet.sent);
        self.log.record.on_feedback_dropped(packet.sent);
    }

    fn on_ack_received(&mut self, now: Time, packet: &Packet, segment: &crate::emu::Segment) {
        while self.answers.front().is_some_and(|(left, _)| *left < packet.sent) {
            self.answers.pop_front();
        }
        let answers = self.answers.front().filter(|(left, _)| *left == packet.sent).copied();
        if let Some((_, sent)) = answers {
            self.answers.pop_front();
            self.log.rtts.push((now, now - sent));
            self.log.record.on_rtt_sample(now, now - sent);
        }
        if self.log.record.trace.is_some() {
            let cumulative = self.sequence.as_mut().map_or(0, |s| s.offset(segment.acknowledgement));
            let number = self.acks;
            self.acks += 1;
            let (ranges, delay) = (Ranges::from_buf([(0, cumulative)]), Duration::ZERO);
            self.log.record.on_feedback(now, || Event::Acked(Ack { number, ranges, delay }));
        }
    }

    /// Adds the data from the kernel's samples, and returns the results.
    fn finish(mut self, until: Time, end: Time) -> FlowLog {
        let record = &mut self.log.record;
        // The samples' reductions are counted, but not always logged.
        let trace = record.trace.take();
        if self.config.transfer.is_none() && until < end {
            record.finished = Some(until);
        }
        record.slow_start_window = self.samples.slow_start_window();
        for (at, cause, windows) in self.samples.reductions() {
            match cause {
                congestion::Cause::Ecn => record.stats.ecn_events += 1,
                congestion::Cause::Timeout => record.stats.collapses += 1,
                _ => record.stats.loss_events += 1,
            }
            record.on_congestion(at, cause, windows);
        }
        record.trace = trace.map(|mut trace| {
            let events = self.traced.with_samples(self.samples, self.config.start);
            trace.extend(events.into_iter().filter(|(at, _)| *at <= until));
            trace.sort_by_key(|(at, _)| *at);
            trace
        });
        self.log
    }
}
