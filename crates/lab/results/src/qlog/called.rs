//! The log of a sender of which only the calls of its controller are known, such as that of another
//! stack: packets without frames, their outcomes, windows and RTTs.

use scenario::signal::{AckSignal, Call, Signal};
use scenario::trace::{Ack, Event, Metrics};
use units::{Duration, Time};

use super::Meta;
use super::events::{Packet, Record, ranges};
use super::sender::Sender;
use super::text::Out;

/// State of the log.
#[derive(Debug)]
pub(super) struct Called {
    sender: Sender,
    /// Number of ACKs.
    acks: u64,
}

impl Called {
    pub(super) fn new(meta: &Meta) -> Self {
        Self { sender: Sender::new(meta), acks: 0 }
    }

    pub(super) fn event(&mut self, out: &mut Out, time: Time, event: &Event) {
        let Event::Call(call) = event else { return };
        out.call(call);
        let Call(_, cwnd, signal) = call;
        match signal {
            Signal::Sent(sent) => {
                let bytes = u32::try_from(sent.bytes).unwrap_or(u32::MAX);
                self.sender.add_sent(sent.pn, bytes);
                out.entry(time, &Record::Sent(Packet::new(sent.pn, Some(bytes))));
            }
            Signal::Ack(ack) => self.on_ack(out, time, *cwnd, ack),
            Signal::Lost(lost) => {
                for packet in &lost.packets {
                    let event = Event::Lost { pn: packet.pn, detection: packet.detection };
                    self.sender.event(out, time, &event);
                }
            }
            Signal::Congestion(event) => self.sender.event(out, time, &Event::Reduced(event.cause)),
            Signal::Begins(_) | Signal::Spurious | Signal::Idle(..) | Signal::Timer | Signal::Path(_) => {}
        }
    }

    fn on_ack(&mut self, out: &mut Out, time: Time, cwnd: u64, ack: &AckSignal) {
        let mut numbers: Vec<u64> = ack.packets.iter().map(|packet| packet.0).collect();
        numbers.sort_unstable();
        let mut acked = Vec::new();
        ranges(numbers, &mut acked);
        if !acked.is_empty() {
            let (number, delay) = (self.acks, Duration(ack.ack_delay));
            self.acks += 1;
            self.sender.event(out, time, &Event::Acked(Ack { number, ranges: acked.into(), delay }));
        }
        let metrics = Metrics {
            cwnd,
            bytes_in_flight: ack.bytes_in_flight,
            latest_rtt: ack.latest_rtt.map(Duration),
            smoothed_rtt: Duration(ack.smoothed_rtt),
            min_rtt: ack.min_rtt.map_or(Duration::MAX, Duration),
            // No call has it, so the log omits it.
            rttvar: Duration::MAX,
            ..Metrics::default()
        };
        self.sender.event(out, time, &Event::Metrics(metrics));
    }
}
