//! From what the ends say to the flow's record: the calls that the simulator makes for its own flows.

use std::collections::VecDeque;

use congestion::Cause;
use quic::Level;
use quic::connection::Contents;
use recovery::{AckFrame, Reassembly, Sender};
use scenario::trace::{self, Event, Handshake, Metrics};
use scenario::{Record, SentPacket};
use units::{Duration, Ecn, Time};

use crate::application::Application;
use crate::ear::Heard;
use crate::pieces::Piece;

/// What a datagram of the sender's end is counted as.
enum Kind {
    /// It has data, or something else that is in flight.
    Data(SentPacket),
    /// A packet of the handshake, by its number.
    Handshake(u64),
    /// ACKs alone.
    Bare,
}

/// What the record does not keep.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// IP, UDP and link headers, in bytes.
    overhead: u32,
    /// Of the peer's ACK Delay.
    exponent: u8,
    /// Every byte of the stream before it has left once.
    sent_up_to: u64,
    /// Packets with bytes that had left before.
    repeats: u64,
    /// What has arrived of the stream.
    arrived: Reassembly,
    /// The message that waits in the connection.
    waiting: Option<Piece>,
    /// Those in flight: numbers of packets, ascending, and where they begin.
    flying: VecDeque<(u64, u64)>,
}

impl Tally {
    /// Of packets with so many bytes of IP, UDP and link headers, and a receiver with this `ack_delay_exponent`.
    pub(crate) fn new((overhead, exponent): (u32, u8)) -> Self {
        Self { overhead, exponent, ..Self::default() }
    }

    /// A payload of UDP on the links, in bytes.
    pub(crate) fn wire(&self, payload: usize) -> u32 {
        u32::try_from(payload).unwrap_or(u32::MAX).saturating_add(self.overhead)
    }

    /// Before which byte everything has arrived.
    pub(crate) fn contiguous(&self) -> u64 {
        self.arrived.contiguous()
    }

    /// Up to where the stream has left.
    pub(crate) fn sent(&self) -> u64 {
        self.sent_up_to
    }

    /// Packets that repeated something of the stream. Loss recovery does not know it: QUIC repeats no packet.
    pub(crate) fn repeats(&self) -> u64 {
        self.repeats
    }

    /// This message waits in the connection, or none does.
    pub(crate) fn set_waiting(&mut self, message: Option<Piece>) {
        self.waiting = message;
    }

    /// The message that waits in the connection.
    pub(crate) fn waiting(&self) -> Option<Piece> {
        self.waiting
    }

    /// Which packet has the message that waited.
    fn name_messages(&mut self, heard: &mut [Heard]) {
        for heard in heard {
            let Heard::Sent { number, pieces, messages, .. } = heard else { continue };
            if *messages > 0
                && let Some(piece) = self.waiting.take()
            {
                pieces.push(piece);
                self.flying.push_back((*number, piece.0));
            }
        }
    }

    /// The messages of this packet, by where they begin.
    fn take_messages(&mut self, lost: u64, least_unacked: u64) -> Vec<u64> {
        // What is below will be neither acknowledged nor lost any more.
        while self.flying.front().is_some_and(|(number, _)| *number < least_unacked.min(lost)) {
            self.flying.pop_front();
        }
        let from = self.flying.partition_point(|(number, _)| *number < lost);
        let its = self.flying.range(from..).take_while(|(number, _)| *number == lost);
        its.map(|(_, start)| *start).collect()
    }

    /// A datagram of so many bytes leaves the sender's end, with these packets. Whether it is ACKs alone.
    pub(crate) fn on_departure(
        &mut self,
        now: Time,
        payload: usize,
        heard: &mut [Heard],
        record: &mut Record,
    ) -> bool {
        self.name_messages(heard);
        let wire = self.wire(payload);
        match self.kind(wire, heard) {
            Kind::Data(packet) => {
                record.on_sent(now, packet);
                self.count_repeats(now, heard, record);
                false
            }
            Kind::Handshake(number) => {
                let bytes = u32::try_from(payload).unwrap_or(u32::MAX);
                record.on_handshake_sent(now, Handshake { number, bytes }, wire);
                false
            }
            Kind::Bare => {
                record.on_ack_sent(now, wire);
                true
            }
        }
    }

    /// A datagram of the handshake may have 1-RTT packets behind the others: with data it counts as data.
    fn kind(&self, wire: u32, heard: &[Heard]) -> Kind {
        let mut kind = Kind::Bare;
        for heard in heard {
            let Heard::Sent { level, number, bytes, in_flight, pieces, .. } = heard else { continue };
            if *level != Level::OneRtt {
                kind = Kind::Handshake(*number);
            }
            let is_first = matches!(kind, Kind::Bare) && *in_flight;
            if is_first || !pieces.is_empty() {
                let (offset, len) = joined(pieces);
                let bytes = u32::try_from(*bytes).unwrap_or(u32::MAX);
                kind = Kind::Data(SentPacket { pn: *number, bytes, wire, offset, len });
            }
        }
        kind
    }

    fn count_repeats(&mut self, now: Time, heard: &[Heard], record: &mut Record) {
        let pieces = heard.iter().flat_map(|heard| match heard {
            Heard::Sent { pieces, .. } => &pieces[..],
            _ => &[],
        });
        let (before, mut any, mut all, mut again) = (self.sent_up_to, false, true, false);
        for &(offset, len) in pieces {
            let end = offset.saturating_add(len);
            any |= len > 0;
            again |= len > 0 && offset < before;
            all &= end <= before && self.arrived.holds(offset, end);
            self.sent_up_to = self.sent_up_to.max(end);
        }
        self.repeats += u64::from(again);
        if any && all {
            record.on_redundant(now);
        }
    }

    /// A datagram is handed to the receiver's end after so long on the way, with these packets.
    pub(crate) fn on_arrival(
        &mut self,
        (now, delay): (Time, Duration),
        heard: &[Heard],
        application: &mut Application,
        record: &mut Record,
    ) {
        for heard in heard {
            let Heard::Received { level, number, bytes, ecn, pieces } = heard else { continue };
            if *level == Level::Initial {
                record.on_handshake_received(now, handshake(*number, *bytes));
            }
            // As in the simulator, only packets of data count.
            if pieces.is_empty() {
                continue;
            }
            let (mut fresh, mut end) = (0, 0);
            for &(offset, len) in pieces.iter() {
                let last = offset.saturating_add(len);
                fresh += self.arrived.insert(offset, last);
                end = end.max(last);
            }
            let (offset, len) = joined(pieces);
            let (pn, bytes, marked) = (*number, u32::try_from(*bytes).unwrap_or(u32::MAX), *ecn == Ecn::Ce);
            record.on_packet(now, || Event::Received { pn, bytes, offset, len, marked });
            let contiguous = self.arrived.contiguous();
            let stream = application.is_reliable().then_some((end, contiguous));
            record.on_received(now, delay, fresh, *ecn, stream);
            for &(start, len) in pieces.iter() {
                application.on_received(now, (start, start.saturating_add(len)), contiguous, record);
            }
        }
    }

    /// A datagram leaves the receiver's end, with these packets: for a log.
    pub(crate) fn on_answer(&self, now: Time, heard: &mut [Heard], record: &mut Record) {
        let mut said = None;
        for heard in heard {
            match heard {
                Heard::Acknowledges { ranges, delay } => said = Some((std::mem::take(ranges), *delay)),
                Heard::Sent { level: Level::Initial, number, bytes, .. } => {
                    said = None;
                    record.on_handshake_answered(now, handshake(*number, *bytes));
                }
                Heard::Sent { level, number, .. } => {
                    let ack = said.take().filter(|_| *level == Level::OneRtt);
                    record.on_feedback_leaving(now, || ack.map(|ack| self.ack(*number, ack)));
                }
                _ => {}
            }
        }
    }

    /// What loss recovery of the sender's end found out, from an ACK or by a timer.
    pub(crate) fn on_news(
        &mut self,
        now: Time,
        heard: Vec<Heard>,
        sender: &Sender<Contents>,
        application: &mut Application,
        record: &mut Record,
    ) -> Vec<Heard> {
        let mut heard = heard;
        let (mut by_ack, mut reduced) = (false, None);
        for i in 0..heard.len() {
            let (now_said, later) = heard.split_at_mut(i + 1);
            match &mut now_said[i] {
                Heard::Ack { ranges, delay } => {
                    by_ack = true;
                    let said = (std::mem::take(ranges), *delay);
                    self.on_ack(now, said, packet_of(later), record);
                }
                &mut Heard::Lost { number, by } => {
                    record.on_lost(now, number, by);
                    for start in self.take_messages(number, sender.least_unacked()) {
                        application.on_lost(now, start, record);
                    }
                }
                &mut Heard::Congestion(cause) => reduced = Some(cause),
                &mut Heard::Metrics { latest_rtt } => {
                    settle(now, sender, reduced.take(), record);
                    if std::mem::take(&mut by_ack) {
                        let rtt = latest_rtt.map(|sample| (sample, sender.rtt().variation()));
                        record.on_acknowledged(now, rtt, &sender.timers());
                        record.on_metrics(now, |spare| Metrics::of(sender, latest_rtt, spare));
                    }
                }
                Heard::Sent { .. } | Heard::Received { .. } | Heard::Acknowledges { .. } => {}
            }
        }
        heard.clear();
        heard
    }

    /// One in the handshake is the answer to an Initial.
    fn on_ack(
        &self,
        now: Time,
        said: (Vec<(u64, u64)>, u64),
        packet: Option<(Level, u64, u64)>,
        record: &mut Record,
    ) {
        match packet {
            Some((Level::OneRtt, number, _)) => {
                record.on_feedback(now, || Event::Acked(self.ack(number, said)));
            }
            Some((_, number, bytes)) => {
                record.on_feedback(now, || Event::Opened(handshake(number, bytes)));
            }
            None => {}
        }
    }

    fn ack(&self, number: u64, (ranges, delay): (Vec<(u64, u64)>, u64)) -> trace::Ack {
        trace::Ack { number, ranges: ranges.into(), delay: AckFrame::delay_of(delay, self.exponent) }
    }
}

/// The packet that a frame was in: the next that is complete.
fn packet_of(later: &[Heard]) -> Option<(Level, u64, u64)> {
    later.iter().find_map(|heard| match heard {
        Heard::Received { level, number, bytes, .. } => Some((*level, *number, *bytes)),
        _ => None,
    })
}

fn handshake(number: u64, bytes: u64) -> Handshake {
    Handshake { number, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) }
}

/// What the controller has made of it.
fn settle(now: Time, sender: &Sender<Contents>, reduced: Option<Cause>, record: &mut Record) {
    if record.awaits_end_of_slow_start() {
        record.on_slow_start(sender.control(), reduced.is_some());
    }
    if let Some(cause) = reduced {
        record.on_reduced(now, cause, sender.control().cwnd);
    }
}

/// Where pieces begin, and how many bytes they have together.
fn joined(pieces: &[Piece]) -> (u64, u32) {
    let offset = pieces.first().map_or(0, |piece| piece.0);
    let len: u64 = pieces.iter().map(|piece| piece.1).sum();
    (offset, u32::try_from(len).unwrap_or(u32::MAX))
}
