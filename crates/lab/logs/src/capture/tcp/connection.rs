//! One connection of TCP, seen at one interface.

use quic::{Side, Space};
use units::Duration;

use super::segment::Segment;
use crate::capture::ip;
use crate::capture::origin::Origin;
use crate::capture::ranges::Ranges;
use crate::capture::view::{End, File, View};
use crate::event::{Ack, Control, Event, Gap, Packet, Parameters, Piece, Sink};

/// Largest IP packet of an Ethernet, in bytes. It counts if the MSS is not known.
const ETHERNET: u32 = 1500;

/// One direction.
#[derive(Debug, Default)]
struct Half {
    /// Sequence number of offset 0.
    base: Option<u32>,
    /// Highest offset so far. Sequence numbers are unwrapped around it.
    high: u64,
    /// SYN of this end, if its options are known.
    syn: Option<Syn>,
    /// Number of data segments so far.
    segments: u64,
    captured: Ranges,
    /// Highest cumulative acknowledgement by the peer.
    acked: u64,
    /// True once missing data can be told: from the SYN, or from the first data that was captured.
    /// Data before it was sent before the capture began.
    is_followed: bool,
    /// Last timestamp, unwrapped.
    stamp: Option<u64>,
    fin: bool,
}

#[derive(Clone, Copy, Debug)]
struct Syn {
    mss: Option<u16>,
    scale: Option<u8>,
}

impl Half {
    /// Returns the offset of a sequence number. It is negative before the first one.
    fn offset(&self, seq: u32) -> i64 {
        let high = self.high as u32;
        let distance = seq.wrapping_sub(self.base.unwrap_or(seq)).wrapping_sub(high) as i32;
        (self.high as i64).saturating_add(distance.into())
    }

    fn clipped(&self, seq: u32) -> u64 {
        u64::try_from(self.offset(seq)).unwrap_or(0)
    }

    /// Unwraps a timestamp of this end. Returns a number that rises with time.
    fn stamp(&self, value: u32) -> u64 {
        // Room for values before the first one.
        let last = self.stamp.unwrap_or(u64::from(value) | 1 << 40);
        last.wrapping_add_signed((value.wrapping_sub(last as u32) as i32).into())
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) view: View,
    /// True for a connection whose first SYN was captured.
    from_syn: bool,
    /// The client is the end with the lower address.
    pub(super) client_is_lower: bool,
    halves: [Half; 2],
}

impl Connection {
    pub(super) fn new(view: View, from_syn: bool, client_is_lower: bool) -> Self {
        Self { view, from_syn, client_is_lower, halves: Default::default() }
    }

    /// Reports whether a SYN begins another connection.
    pub(super) fn is_other(&self, from: Side, segment: &Segment) -> bool {
        let half = &self.halves[from as usize];
        let first = segment.seq.wrapping_add(1);
        segment.syn && segment.ack.is_none() && (half.base != Some(first) || from == Side::Server)
    }

    pub(super) fn close(&mut self, end: End, file: &File, sink: &mut dyn Sink) {
        for half in &mut self.halves {
            let missed = half.captured.missing_below(half.acked);
            if missed > 0 && half.is_followed {
                self.view.gap(sink, Gap::Missed(Some(missed)));
            }
        }
        self.view.close(end, file, sink);
    }

    /// Receives a segment.
    pub(super) fn on_segment(
        &mut self,
        from: Side,
        segment: &Segment,
        packet: &ip::Packet<'_>,
        origin: &Origin<'_>,
        sink: &mut dyn Sink,
    ) {
        self.view.at(origin.at, origin.file);
        self.view.cut += u64::from(segment.cut);
        self.view.fragments += u64::from(packet.fragment != ip::Fragment::None);
        self.begin(from, segment);
        self.observe_vantage(from, segment);
        self.view.tell_vantage(sink);
        if self.is_joined(from, segment, packet.wire, origin.is_loopback) {
            self.view.joined(sink, packet.wire);
        }
        let ack = self.take_ack(from, segment, sink);
        let piece = self.take_data(from, segment);
        let half = &mut self.halves[from as usize];
        let has_data = segment.len > 0;
        let number = has_data.then_some(half.segments);
        half.segments += u64::from(has_data);
        let limit = ack.as_ref().and_then(|ack| ack.cumulative).zip(self.scale(from, segment));
        let is_eliciting = has_data || segment.syn || segment.fin;
        let event = Event::Packet(Packet {
            from,
            space: Space::Application,
            number,
            bytes: segment.len,
            wire: Some(packet.wire),
            ack_eliciting: is_eliciting,
            in_flight: is_eliciting,
            ecn: Some(packet.ecn),
            pieces: piece.as_slice(),
            acks: ack.as_slice(),
            limit: limit.map(|(ack, scale)| ack + (u64::from(segment.window) << scale)),
            timestamps: segment.timestamps,
            spin: None,
            control: control(segment),
        });
        self.view.emit(sink, &event);
        if segment.syn && segment.mss.is_some() {
            let max_udp_payload_size = segment.mss.map(u64::from);
            let parameters = Parameters { max_udp_payload_size, ..Parameters::default() };
            self.view.emit(sink, &Event::Parameters { from, parameters });
        }
        let half = &mut self.halves[from as usize];
        half.fin |= segment.fin;
        self.view.ended |= segment.rst || self.halves.iter().all(|half| half.fin);
    }

    /// Learns the origin of both streams and the options of a SYN.
    fn begin(&mut self, from: Side, segment: &Segment) {
        let half = &mut self.halves[from as usize];
        if segment.syn {
            half.base = Some(segment.seq.wrapping_add(1));
            half.is_followed = true;
            half.syn = (!segment.cut).then_some(Syn { mss: segment.mss, scale: segment.scale });
        }
        half.base.get_or_insert(segment.seq);
        if let Some(ack) = segment.ack {
            self.halves[from.peer() as usize].base.get_or_insert(ack);
        }
    }

    /// Returns the window scale of an end. Both ends must have offered one (RFC 7323 section 2.2).
    fn scale(&self, from: Side, segment: &Segment) -> Option<u8> {
        let [own, peer] = [from, from.peer()].map(|side| self.halves[side as usize].syn);
        match (own, peer) {
            _ if segment.syn => Some(0),
            (Some(Syn { scale: None, .. }), _) | (_, Some(Syn { scale: None, .. })) => Some(0),
            (Some(own), Some(_)) => own.scale,
            _ => None,
        }
    }

    /// Reports whether a segment is larger than its receiver accepts, so that offload joined it.
    fn is_joined(&self, from: Side, segment: &Segment, wire: u32, is_loopback: bool) -> bool {
        match self.halves[from.peer() as usize].syn.and_then(|syn| syn.mss) {
            Some(mss) => segment.len > u32::from(mss),
            None => segment.len > 0 && wire > ETHERNET && !is_loopback,
        }
    }

    /// Returns the stream data of a segment.
    fn take_data(&mut self, from: Side, segment: &Segment) -> Option<Piece> {
        let half = &mut self.halves[from as usize];
        let start = half.offset(segment.seq.wrapping_add(segment.syn.into()));
        let end = start.saturating_add(segment.len.into());
        let [start, end] = [start, end].map(|offset| u64::try_from(offset).unwrap_or(0));
        let is_first = segment.len > 0 && !half.is_followed;
        half.is_followed |= segment.len > 0;
        half.captured.insert(if is_first { 0 } else { start }, end + u64::from(segment.fin));
        if !segment.rst {
            half.high = half.high.max(end);
        }
        let piece = Piece { stream: 0, offset: start, len: end - start, fin: segment.fin };
        (end > start || segment.fin).then_some(piece)
    }

    /// Returns the acknowledgement of a segment. Reports data that it proves to be missing.
    fn take_ack(&mut self, from: Side, segment: &Segment, sink: &mut dyn Sink) -> Option<Ack> {
        let peer = &mut self.halves[from.peer() as usize];
        let number = segment.ack.filter(|_| !segment.rst)?;
        let cumulative = peer.clipped(number);
        if cumulative > peer.acked {
            // One acknowledgement later, so that data captured shortly behind their own count.
            let missed = peer.captured.missing_below(peer.acked);
            peer.acked = cumulative;
            peer.high = peer.high.max(cumulative);
            if missed > 0 && peer.is_followed {
                self.view.gap(sink, Gap::Missed(Some(missed)));
            }
        }
        let peer = &self.halves[from.peer() as usize];
        let selective = segment.sacks.iter().map(|(start, end)| (peer.clipped(*start), peer.clipped(*end)));
        let selective = selective.filter(|(start, end)| start < end).collect();
        Some(Ack { ranges: Vec::new(), cumulative: Some(cumulative), selective, delay: None::<Duration> })
    }

    /// Measures how fast the ends answer: by timestamps, or by acknowledged data.
    fn observe_vantage(&mut self, from: Side, segment: &Segment) {
        let at = self.view.last;
        let vantage = &mut self.view.vantage;
        if self.from_syn && !vantage.has_handshake() {
            return vantage.on_handshake(from, at);
        }
        if !vantage.is_open() {
            return;
        }
        if let Some((value, echo)) = segment.timestamps {
            let peer = &self.halves[from.peer() as usize];
            if segment.ack.is_some() && peer.stamp.is_some() {
                vantage.on_answer(from, peer.stamp(echo), at);
            }
            let half = &mut self.halves[from as usize];
            let stamp = half.stamp(value);
            half.stamp = half.stamp.max(Some(stamp));
            vantage.on_sent(from, stamp, at);
            return;
        }
        if let Some(ack) = segment.ack {
            vantage.on_answer(from, self.halves[from.peer() as usize].clipped(ack), at);
        }
        if segment.len > 0 {
            let end = segment.seq.wrapping_add(segment.len);
            vantage.on_sent(from, self.halves[from as usize].clipped(end), at);
        }
    }
}

const fn control(segment: &Segment) -> Control {
    match segment {
        Segment { rst: true, .. } => Control::Resets,
        Segment { fin: true, .. } => Control::Ends,
        Segment { syn: true, .. } => Control::Opens,
        _ => Control::None,
    }
}
