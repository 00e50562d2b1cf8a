//! The receiver's log: packets that arrive and ACKs that are sent, in the run's time.
//!
//! It differs from the sender's log: an ACK's ranges are those of the frame, including repeats. For
//! TCP, `acked_ranges` has the transmissions since the previous ACK, and `cumulative` its byte. A
//! packet that arrived with a CE mark has `ecn`.

use scenario::trace::{Ack, Event};
use units::Time;

use super::Transport;
use super::events::{Frame, Packet, Record, ranges};
use super::text::Out;

/// State of the log from earlier events.
#[derive(Debug)]
pub(super) struct Receiver {
    transport: Transport,
    /// Transmissions since the last ACK (TCP).
    arrived: Vec<u64>,
    /// Transmissions as ranges.
    ranges: Vec<(u64, u64)>,
    /// Further stream data of the next packet.
    more: Box<[(u64, u32)]>,
}

impl Receiver {
    pub(super) fn new(transport: Transport) -> Self {
        Self { transport, arrived: Vec::new(), ranges: Vec::new(), more: Box::default() }
    }

    pub(super) fn event(&mut self, out: &mut Out, time: Time, event: &Event) {
        match event {
            Event::Received { pn, bytes, offset, len, marked } => {
                if self.transport == Transport::Tcp {
                    self.arrived.push(*pn);
                }
                let more = std::mem::take(&mut self.more);
                let frame = Frame::Stream { offset: *offset, length: *len, more: &more };
                let mut packet = Packet::with_frame(frame, *pn, Some(*bytes));
                packet.marked = *marked;
                out.entry(time, &Record::Received(packet));
            }
            Event::More(pieces) => self.more.clone_from(pieces),
            Event::Acks(ack) => {
                let frame = self.frame(ack);
                out.entry(time, &Record::Sent(Packet::with_frame(frame, ack.number, None)));
            }
            Event::Opened(packet) => out.entry(time, &Record::Received(Packet::handshake(packet))),
            Event::Opens(packet) => out.entry(time, &Record::Sent(Packet::handshake(packet))),
            // Events of the other end.
            Event::Sent { .. }
            | Event::Acked(_)
            | Event::Lost { .. }
            | Event::LostObserved { .. }
            | Event::Reduced(_)
            | Event::Recovered
            | Event::Remark(_)
            | Event::Metrics(_)
            | Event::Call(_) => {}
        }
    }

    fn frame<'a>(&'a mut self, ack: &'a Ack) -> Frame<'a> {
        match self.transport {
            Transport::Quic => Frame::Ack { delay: Some(ack.delay), ranges: &ack.ranges, cumulative: None },
            Transport::Tcp => {
                self.arrived.sort_unstable();
                ranges(self.arrived.drain(..), &mut self.ranges);
                let cumulative = ack.ranges.last().map(|range| range.1);
                Frame::Ack { delay: None, ranges: &self.ranges, cumulative }
            }
        }
    }
}
