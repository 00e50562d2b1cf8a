//! The receiver's side of a flow: packets that arrive and ACKs that leave, with the times of the run.
//!
//! Beyond what the sender's file says of itself: an ACK's ranges are those of the frame, repeats included. For TCP
//! `acked_ranges` has the transmissions that arrived since the ACK before, and `cumulative` its byte. A packet that arrived
//! with a CE mark has `ecn`.

use std::io::{self, Write};

use scenario::trace::{Ack, Event, Trace};
use units::Time;

use super::events::{Frame, Packet, Record, ms, ranges};
use super::meta::VantagePoint;
use super::text::Out;
use super::{Meta, Transport};

pub(super) fn write(out: Out<impl Write>, meta: &Meta, trace: &Trace) -> io::Result<()> {
    let mut log = Log { out, transport: meta.transport, arrived: Vec::new() };
    let name = format!("{}, receiver", meta.flow);
    log.out.header(meta, &VantagePoint { name: &name, r#type: "client" })?;
    for (time, event) in trace {
        log.event(*time, event)?;
    }
    log.out.flush()
}

struct Log<W: Write> {
    out: Out<W>,
    transport: Transport,
    /// Transmissions since the last ACK, for TCP.
    arrived: Vec<u64>,
}

impl<W: Write> Log<W> {
    fn event(&mut self, time: Time, event: &Event) -> io::Result<()> {
        match event {
            Event::Received { pn, bytes, offset, len, marked } => {
                if self.transport == Transport::Tcp {
                    self.arrived.push(*pn);
                }
                let frame = Frame::Stream { offset: *offset, length: *len };
                let mut packet = Packet::with(frame, *pn, Some(*bytes));
                packet.marked = *marked;
                self.out.entry(time, &Record::Received(packet))
            }
            Event::Acks(ack) => {
                let frame = self.frame(ack);
                self.out.entry(time, &Record::Sent(Packet::with(frame, ack.number, None)))
            }
            Event::Opened(packet) => self.out.entry(time, &Record::Received(Packet::of_handshake(packet))),
            Event::Opens(packet) => self.out.entry(time, &Record::Sent(Packet::of_handshake(packet))),
            // Of the other end.
            Event::Sent { .. }
            | Event::Acked(_)
            | Event::Lost { .. }
            | Event::Reduced(_)
            | Event::Metrics(_) => Ok(()),
        }
    }

    /// The transmissions since the last ACK.
    fn arrived(&mut self) -> Vec<(u64, u64)> {
        self.arrived.sort_unstable();
        ranges(self.arrived.drain(..))
    }

    fn frame(&mut self, ack: &Ack) -> Frame {
        match self.transport {
            Transport::Quic => {
                Frame::Ack { delay: Some(ms(ack.delay)), ranges: ack.ranges.clone(), cumulative: None }
            }
            Transport::Tcp => Frame::Ack {
                delay: None,
                ranges: self.arrived(),
                cumulative: ack.ranges.last().map(|range| range.1),
            },
        }
    }
}
