//! Turns the events of both endpoints into the flow's record, with the calls that the simulator
//! makes for its own flows.

use std::collections::VecDeque;

use congestion::{Cause, Control};
use quic::Level;
use recovery::{AckFrame, Reassembly, Stats};
use scenario::trace::{self, Event, Handshake, Metrics};
use scenario::{Record, SentPacket};
use units::{Duration, Ecn, Time};

use crate::application::Application;
use crate::endpoint::Endpoint;
use crate::event_tap::{ControllerEvent, Kind as DatagramKind, TapEvent};
use crate::message_tracker::MessageTracker;
use crate::stream_chunks::Chunk;

/// Kind of a datagram from the sending endpoint.
enum Kind {
    /// Stream data, or other frames that count as in flight. Pieces of the stream after the first.
    Data(SentPacket, Vec<(u64, u32)>),
    /// A handshake packet, with its packet number.
    Handshake(u64),
    /// Nothing but ACK frames.
    Bare,
}

/// Counters and state that the record does not hold.
#[derive(Debug, Default)]
pub(crate) struct Accounting {
    /// IP, UDP and link headers, in bytes.
    overhead: u32,
    /// The receiver's `ack_delay_exponent`.
    exponent: u8,
    /// Every stream byte below this offset has been sent at least once.
    sent_up_to: u64,
    /// Counters that loss recovery does not have, of all connections. Another stack has none. Ours
    /// does not count packets with repeated stream data, because QUIC retransmits frames and not
    /// packets.
    stats: Stats,
    /// Packets that another stack has lost on earlier connections, and the number of its datagrams.
    lost_before: u64,
    datagrams: u64,
    /// Received ranges of the stream.
    arrived: Reassembly,
    /// Message waiting in the connection.
    waiting: Option<Chunk>,
    /// Messages in flight: packet number (ascending) and offset.
    in_flight: VecDeque<(u64, u64)>,
    /// The same for another stack, which reports no packet numbers.
    tracker: MessageTracker,
}

impl Accounting {
    /// Takes the bytes of IP, UDP and link headers per packet, and the receiver's
    /// `ack_delay_exponent`.
    pub(crate) fn new(overhead: u32, exponent: u8) -> Self {
        Self { overhead, exponent, ..Self::default() }
    }

    /// Starts with another connection.
    pub(crate) fn on_reconnect(&mut self) {
        let Self { overhead, exponent, ref stats, datagrams, .. } = *self;
        let (stats, lost_before) = (stats.clone(), stats.lost_by_packet_threshold);
        *self = Self { stats, lost_before, datagrams, ..Self::new(overhead, exponent) };
    }

    /// Returns the size on the links of a UDP payload, in bytes.
    pub(crate) fn wire(&self, payload: usize) -> u32 {
        u32::try_from(payload).unwrap_or(u32::MAX).saturating_add(self.overhead)
    }

    /// Returns the offset up to which the stream has arrived without a gap.
    pub(crate) fn contiguous(&self) -> u64 {
        self.arrived.contiguous()
    }

    /// Returns the offset up to which the stream has been sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent_up_to
    }

    /// Returns the counters beside those of loss recovery.
    pub(crate) fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Sets or clears the message waiting in the connection.
    pub(crate) fn set_waiting(&mut self, message: Option<Chunk>) {
        self.waiting = message;
    }

    /// Returns the message waiting in the connection.
    pub(crate) fn waiting(&self) -> Option<Chunk> {
        self.waiting
    }

    /// Assigns the waiting message to the packet that carries it.
    fn assign_messages(&mut self, events: &mut [TapEvent]) {
        for event in events {
            let TapEvent::Sent { number, chunks, messages, .. } = event else { continue };
            if *messages > 0
                && let Some(chunk) = self.waiting.take()
            {
                chunks.push(chunk);
                self.in_flight.push_back((*number, chunk.0));
            }
        }
    }

    /// Returns the offsets of the messages in a lost packet.
    fn take_messages(&mut self, lost: u64, least_unacked: u64) -> Vec<u64> {
        // Packets below will neither be acknowledged nor declared lost any more.
        while self.in_flight.front().is_some_and(|(number, _)| *number < least_unacked.min(lost)) {
            self.in_flight.pop_front();
        }
        let from = self.in_flight.partition_point(|(number, _)| *number < lost);
        let its = self.in_flight.range(from..).take_while(|(number, _)| *number == lost);
        its.map(|(_, start)| *start).collect()
    }

    /// Records a datagram from the sending endpoint. Reports whether it holds nothing but ACK
    /// frames.
    pub(crate) fn on_departure(
        &mut self,
        now: Time,
        payload: usize,
        events: &mut [TapEvent],
        record: &mut Record,
    ) -> bool {
        self.assign_messages(events);
        let wire = self.wire(payload);
        let bytes = u32::try_from(payload).unwrap_or(u32::MAX);
        let of_other = events.iter().find_map(|event| match event {
            TapEvent::Datagram(kind) => Some(*kind),
            _ => None,
        });
        let kind = match of_other {
            Some(kind) => self.count_datagram(kind, bytes, wire),
            None => self.kind(wire, events),
        };
        match kind {
            Kind::Data(packet, more) => {
                record.on_sent_in_pieces(now, packet, &more);
                self.count_repeats(now, events, record);
                false
            }
            Kind::Handshake(number) => {
                record.on_handshake_sent(now, Handshake { number, bytes }, wire);
                false
            }
            Kind::Bare => {
                record.on_ack_sent(now, wire);
                true
            }
        }
    }

    /// Counts a datagram of another stack.
    fn count_datagram(&mut self, kind: DatagramKind, bytes: u32, wire: u32) -> Kind {
        let pn = self.datagrams;
        self.datagrams += 1;
        if kind == DatagramKind::Bare {
            self.stats.bare += 1;
            return Kind::Bare;
        }
        self.stats.sent += 1;
        self.stats.sent_bytes += u64::from(bytes);
        if kind == DatagramKind::Message
            && let Some((start, _)) = self.waiting.take()
        {
            self.tracker.on_departure(start);
        }
        match kind {
            DatagramKind::Handshake => Kind::Handshake(pn),
            _ => Kind::Data(SentPacket { pn, bytes, wire, offset: 0, len: 0 }, Vec::new()),
        }
    }

    /// Classifies a datagram. One with handshake packets may also hold 1-RTT packets: with stream
    /// data it counts as data.
    fn kind(&self, wire: u32, events: &[TapEvent]) -> Kind {
        let mut kind = Kind::Bare;
        for event in events {
            let TapEvent::Sent { level, number, bytes, in_flight, chunks, .. } = event else { continue };
            if *level != Level::OneRtt {
                kind = Kind::Handshake(*number);
            }
            let is_first = matches!(kind, Kind::Bare) && *in_flight;
            if is_first || !chunks.is_empty() {
                let ((offset, first), more) = pieces(chunks);
                let len = first + more.iter().map(|piece| piece.1).sum::<u32>();
                let bytes = u32::try_from(*bytes).unwrap_or(u32::MAX);
                kind = Kind::Data(SentPacket { pn: *number, bytes, wire, offset, len }, more);
            }
        }
        kind
    }

    fn count_repeats(&mut self, now: Time, events: &[TapEvent], record: &mut Record) {
        let chunks = events.iter().flat_map(|event| match event {
            TapEvent::Sent { chunks, .. } => &chunks[..],
            _ => &[],
        });
        let (before, mut any, mut all, mut again) = (self.sent_up_to, false, true, false);
        for &(offset, len) in chunks {
            let end = offset.saturating_add(len);
            any |= len > 0;
            again |= len > 0 && offset < before;
            all &= end <= before && self.arrived.holds(offset, end);
            self.sent_up_to = self.sent_up_to.max(end);
        }
        self.stats.retransmissions += u64::from(again);
        if any && all {
            record.on_redundant(now);
        }
    }

    /// Records a datagram that reached the receiving endpoint: the time, the delay since it was
    /// sent, and its ECN field.
    pub(crate) fn on_arrival(
        &mut self,
        way: (Time, Duration, Ecn),
        events: &[TapEvent],
        application: &mut Application,
        record: &mut Record,
    ) {
        for event in events {
            match event {
                TapEvent::Arrived(chunks) => self.count_arrival(way, None, chunks, application, record),
                TapEvent::Received { level, number, bytes, ecn, chunks } => {
                    if *level == Level::Initial {
                        record.on_handshake_received(way.0, handshake(*number, *bytes));
                    }
                    // As in the simulator, only packets with stream data count.
                    if !chunks.is_empty() {
                        let (way, packet) = ((way.0, way.1, *ecn), Some((*number, *bytes)));
                        self.count_arrival(way, packet, chunks, application, record);
                    }
                }
                _ => {}
            }
        }
    }

    /// Counts a packet with stream data: its number and its size, if they are known.
    fn count_arrival(
        &mut self,
        (now, delay, ecn): (Time, Duration, Ecn),
        packet: Option<(u64, u64)>,
        chunks: &[Chunk],
        application: &mut Application,
        record: &mut Record,
    ) {
        let (mut fresh, mut end) = (0, 0);
        for &(offset, len) in chunks {
            let last = offset.saturating_add(len);
            fresh += self.arrived.insert(offset, last);
            end = end.max(last);
        }
        if let Some((pn, bytes)) = packet {
            let ((offset, len), more) = pieces(chunks);
            let (bytes, marked) = (u32::try_from(bytes).unwrap_or(u32::MAX), ecn == Ecn::Ce);
            if !more.is_empty() {
                record.on_packet(now, || Event::More(more.into()));
            }
            record.on_packet(now, || Event::Received { pn, bytes, offset, len, marked });
        }
        let contiguous = self.arrived.contiguous();
        let stream = application.is_reliable().then_some((end, contiguous));
        record.on_received(now, delay, fresh, ecn, stream);
        for &(start, len) in chunks {
            application.on_received(now, (start, start.saturating_add(len)), contiguous, record);
            for lost in self.tracker.on_arrival(start) {
                application.on_lost(now, lost, record);
            }
        }
    }

    /// Logs a datagram sent by the receiving endpoint.
    pub(crate) fn on_receiver_departure(&self, now: Time, events: &mut [TapEvent], record: &mut Record) {
        let mut ack = None;
        for event in events {
            match event {
                TapEvent::Acknowledges { ranges, delay } => ack = Some((std::mem::take(ranges), *delay)),
                TapEvent::Sent { level: Level::Initial, number, bytes, .. } => {
                    ack = None;
                    record.on_handshake_answered(now, handshake(*number, *bytes));
                }
                TapEvent::Sent { level, number, .. } => {
                    let ack = ack.take().filter(|_| *level == Level::OneRtt);
                    record.on_feedback_leaving(now, || ack.map(|ack| self.ack(*number, ack)));
                }
                _ => {}
            }
        }
    }

    /// Records events of the client, caused by an ACK or a timer.
    pub(crate) fn on_sender_events(
        &mut self,
        now: Time,
        events: &mut [TapEvent],
        client: &dyn Endpoint,
        application: &mut Application,
        record: &mut Record,
    ) {
        let (mut by_ack, mut reduced) = (false, None);
        let sender = client.sender();
        for i in 0..events.len() {
            let (current, later) = events.split_at_mut(i + 1);
            match (&mut current[i], sender) {
                (TapEvent::Ack { ranges, delay }, Some(_)) => {
                    by_ack = true;
                    let ack = (std::mem::take(ranges), *delay);
                    self.on_ack(now, ack, packet_of(later), record);
                }
                (&mut TapEvent::Lost { number, by }, Some(sender)) => {
                    record.on_lost(now, number, by);
                    for start in self.take_messages(number, sender.least_unacked()) {
                        application.on_lost(now, start, record);
                    }
                }
                (&mut TapEvent::Congestion(cause), _) => reduced = Some(cause),
                (&mut TapEvent::Metrics { latest_rtt }, Some(sender)) => {
                    record.on_reaction(now, sender.control(), reduced.take());
                    if std::mem::take(&mut by_ack) {
                        let rtt = latest_rtt.map(|sample| (sample, sender.rtt().variation()));
                        record.on_acknowledged(now, rtt, &sender.timers());
                        record.on_metrics(now, |spare| Metrics::new(sender, latest_rtt, spare));
                    }
                }
                (&mut TapEvent::LostSoFar(lost), _) => {
                    self.stats.lost_by_packet_threshold = self.lost_before + lost;
                }
                (&mut TapEvent::Controller(event), _) => self.on_controller(now, event, record),
                _ => {}
            }
        }
    }

    /// Records what another stack told its controller, or the controller's reaction.
    fn on_controller(&mut self, now: Time, event: ControllerEvent, record: &mut Record) {
        match event {
            ControllerEvent::Rtt(sample) => record.on_rtt_sample(now, sample),
            ControllerEvent::AckProcessed(control) => record.on_reaction(now, &control, None),
            ControllerEvent::Undone => self.stats.undone += 1,
            ControllerEvent::Reduced(cause, cwnd) => {
                self.count_reduction(cause);
                record.on_reaction(now, &Control::window(cwnd), Some(cause));
            }
        }
    }

    fn count_reduction(&mut self, cause: Cause) {
        let stats = &mut self.stats;
        *match cause {
            Cause::Ecn => &mut stats.ecn_events,
            Cause::Delay => &mut stats.delay_events,
            Cause::PersistentCongestion | Cause::Timeout => &mut stats.collapses,
            _ => &mut stats.loss_events,
        } += 1;
    }

    /// Logs an ACK. In the handshake it acknowledges an Initial packet.
    fn on_ack(
        &self,
        now: Time,
        ack: (Vec<(u64, u64)>, u64),
        packet: Option<(Level, u64, u64)>,
        record: &mut Record,
    ) {
        match packet {
            Some((Level::OneRtt, number, _)) => {
                record.on_feedback(now, || Event::Acked(self.ack(number, ack)));
            }
            Some((_, number, bytes)) => {
                record.on_feedback(now, || Event::Opened(handshake(number, bytes)));
            }
            None => {}
        }
    }

    fn ack(&self, number: u64, (ranges, delay): (Vec<(u64, u64)>, u64)) -> trace::Ack {
        trace::Ack { number, ranges: ranges.into(), delay: AckFrame::decode_delay(delay, self.exponent) }
    }
}

/// Returns the packet that carried a frame: the next one that is complete.
fn packet_of(later: &[TapEvent]) -> Option<(Level, u64, u64)> {
    later.iter().find_map(|event| match event {
        TapEvent::Received { level, number, bytes, .. } => Some((*level, *number, *bytes)),
        _ => None,
    })
}

fn handshake(number: u64, bytes: u64) -> Handshake {
    Handshake { number, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) }
}

/// Returns the pieces of the stream in a packet: the first, and those after it. Chunks that follow
/// each other are one piece.
fn pieces(chunks: &[Chunk]) -> ((u64, u32), Vec<(u64, u32)>) {
    let mut all: Vec<(u64, u32)> = Vec::new();
    for &(offset, len) in chunks {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        match all.last_mut() {
            Some(last) if last.0 + u64::from(last.1) == offset => last.1 = last.1.saturating_add(len),
            _ => all.push((offset, len)),
        }
    }
    let more = if all.is_empty() { Vec::new() } else { all.split_off(1) };
    (all.first().copied().unwrap_or_default(), more)
}
