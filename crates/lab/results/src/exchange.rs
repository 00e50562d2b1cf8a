//! Packets between the two ends of a flow during a part of a run, for sequence diagrams.

use std::collections::{BTreeMap, BTreeSet};

use experiment::row::RowLabel;
use scenario::End;
use scenario::trace::{Ack, Event, Handshake, Trace, trigger};
use serde::{Deserialize, Serialize};
use units::{Duration, Time};

/// Largest number of steps of a part that are kept: more than a page shows legibly.
const MOST_STEPS: usize = 400;
/// Largest number of packets whose arrival is awaited.
const MOST_WAITING: usize = 10_000;
/// Time after the part in which its packets can still arrive.
const SLACK: Duration = Duration::from_secs(2);

/// Steps between the ends of a flow, in the order of their times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    pub variant: String,
    pub row: RowLabel,
    /// Number of the flow in its run, from 0.
    pub flow: u32,
    /// Label of the flow.
    pub label: String,
    pub steps: Vec<Step>,
    /// Number of further steps that are not kept.
    #[serde(default)]
    pub left_out: u32,
}

/// A packet, or a decision of the sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Time in seconds at which it is sent or decided.
    pub at: f64,
    /// Time in seconds at which it arrives. `None` for a lost packet, or a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrives: Option<f64>,
    pub kind: StepKind,
    /// Description, such as `12: 14400-15599`: packet number and bytes.
    pub text: String,
}

/// Kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// Packet of the sender.
    Data,
    /// Packet of the receiver.
    Reply,
    /// Decision of the sender: a loss, or a reduction of the window.
    Decision,
}

/// Parts of a run whose packets are collected.
#[derive(Clone, Debug)]
pub struct Part {
    /// Start and end of each.
    pub spans: Vec<(Time, Time)>,
    /// Acknowledgements contain bytes, not packet numbers.
    pub is_tcp: bool,
}

/// Identity of a packet: a packet of the sender, an acknowledgement, or a packet of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
    Data(u64),
    Ack(u64),
    Opening(u64),
    Answer(u64),
}

impl Id {
    fn kind(self) -> StepKind {
        match self {
            Self::Data(_) | Self::Opening(_) => StepKind::Data,
            Self::Ack(_) | Self::Answer(_) => StepKind::Reply,
        }
    }
}

/// Collects the packets of one flow, whichever end is heard first.
#[derive(Clone, Debug)]
pub struct Collector {
    part: Part,
    sent: BTreeMap<Id, (Time, String)>,
    arrived: BTreeMap<Id, Time>,
    decided: Vec<(Time, String)>,
    /// Packets that arrived with a CE mark.
    marked: BTreeSet<Id>,
    /// Stream bytes sent so far, to recognize repeats.
    sent_to: u64,
}

impl Collector {
    /// Creates a collector for a part of a run.
    pub fn new(part: Part) -> Self {
        let (sent, arrived, decided, marked) = Default::default();
        Self { part, sent, arrived, decided, marked, sent_to: 0 }
    }

    /// Adds events of one end.
    pub fn add(&mut self, end: End, events: &Trace) {
        for (at, event) in events {
            self.add_event(*at, end, event);
        }
    }

    fn add_event(&mut self, at: Time, end: End, event: &Event) {
        match (event, end) {
            (Event::Sent { pn, offset, len, .. }, _) => {
                let text = self.packet(*pn, *offset, u64::from(*len));
                self.send(at, Id::Data(*pn), text);
            }
            (Event::Received { pn, marked, .. }, _) => {
                self.arrive(at, Id::Data(*pn));
                if *marked && self.marked.len() < MOST_WAITING {
                    self.marked.insert(Id::Data(*pn));
                }
            }
            (Event::Acks(ack), _) => {
                let text = self.ack(ack);
                self.send(at, Id::Ack(ack.number), text);
            }
            (Event::Acked(ack), _) => self.arrive(at, Id::Ack(ack.number)),
            (Event::Opens(packet), End::Sender) => {
                self.send(at, Id::Opening(packet.number), self.handshake(packet));
            }
            (Event::Opened(packet), End::Receiver) => self.arrive(at, Id::Opening(packet.number)),
            (Event::Opens(packet), End::Receiver) => {
                self.send(at, Id::Answer(packet.number), self.handshake(packet));
            }
            (Event::Opened(packet), End::Sender) => self.arrive(at, Id::Answer(packet.number)),
            (Event::Lost { pn, detection }, _) => {
                self.decide(at, format!("{pn} lost: {}", trigger(*detection)));
            }
            (Event::LostObserved { pn, detection, .. }, _) => {
                let number = pn.map_or_else(|| "a packet".to_owned(), |pn| pn.to_string());
                self.decide(at, format!("{number} lost: {}", trigger(*detection)));
            }
            (Event::Reduced(cause), _) => self.decide(at, format!("window reduced: {}", cause.words())),
            (Event::Recovered, _) => self.decide(at, "recovery ends".to_owned()),
            (Event::Metrics(_) | Event::Call(_) | Event::More(_) | Event::Remark(_), _) => {}
        }
    }

    fn is_within(&self, at: Time) -> bool {
        self.part.spans.iter().any(|(from, to)| *from <= at && at <= *to)
    }

    fn send(&mut self, at: Time, id: Id, text: String) {
        if self.is_within(at) && self.sent.len() < MOST_WAITING {
            self.sent.insert(id, (at, text));
        }
    }

    fn arrive(&mut self, at: Time, id: Id) {
        let expected = self.part.spans.iter().any(|(from, to)| *from <= at && at <= *to + SLACK);
        if expected && self.arrived.len() < MOST_WAITING {
            self.arrived.entry(id).or_insert(at);
        }
    }

    fn decide(&mut self, at: Time, text: String) {
        if self.is_within(at) && self.decided.len() < MOST_STEPS {
            self.decided.push((at, text));
        }
    }

    /// Describes a packet by its number and its bytes. TCP's sequence number is the first byte.
    fn packet(&mut self, pn: u64, offset: u64, len: u64) -> String {
        let end = offset + len;
        let again = if len > 0 && offset < self.sent_to { ", again" } else { "" };
        self.sent_to = self.sent_to.max(end);
        match (len, self.part.is_tcp) {
            (0, _) => format!("{pn}"),
            (_, true) => format!("seq {offset}-{}{again}", end - 1),
            (_, false) => format!("{pn}: {offset}-{}{again}", end - 1),
        }
    }

    fn ack(&self, ack: &Ack) -> String {
        let range = |(low, high): &(u64, u64)| {
            if low == high { low.to_string() } else { format!("{low}-{high}") }
        };
        let mut text = match (self.part.is_tcp, ack.ranges.as_slice()) {
            (true, [(_, byte), ..]) => format!("ACK {byte}"),
            (_, ranges) => format!("ACK {}", ranges.iter().rev().map(range).collect::<Vec<_>>().join(", ")),
        };
        if ack.delay > Duration::ZERO {
            text += &format!(", delay {:.1} ms", ack.delay.as_millis_f64());
        }
        text
    }

    fn handshake(&self, packet: &Handshake) -> String {
        let name = if self.part.is_tcp { "SYN" } else { "Initial" };
        format!("{name} {}", packet.number)
    }

    /// Returns the steps in the order of their times, and the number of those left out.
    pub fn finish(self) -> (Vec<Step>, u32) {
        let seconds = |at: Time| at.as_secs_f64();
        let mut steps: Vec<Step> = self
            .sent
            .into_iter()
            .map(|(id, (at, text))| Step {
                at: seconds(at),
                arrives: self.arrived.get(&id).map(|at| seconds(*at)),
                kind: id.kind(),
                text: if self.marked.contains(&id) { text + ", CE" } else { text },
            })
            .chain(self.decided.into_iter().map(|(at, text)| Step {
                at: seconds(at),
                arrives: None,
                kind: StepKind::Decision,
                text,
            }))
            .collect();
        steps.sort_by(|a, b| a.at.total_cmp(&b.at));
        let all = steps.len();
        let mut kept = vec![0; self.part.spans.len()];
        steps.retain(|step| {
            let holds = |(from, to): &(Time, Time)| (seconds(*from)..=seconds(*to)).contains(&step.at);
            let spans = self.part.spans.iter().zip(&mut kept).filter(|(span, _)| holds(span));
            let free: Vec<_> = spans.map(|(_, kept)| kept).filter(|kept| **kept < MOST_STEPS).collect();
            let keeps = !free.is_empty();
            free.into_iter().for_each(|kept| *kept += 1);
            keeps
        });
        let left_out = all - steps.len();
        (steps, u32::try_from(left_out).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use congestion::Detection;

    use super::*;

    const fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    fn sent(pn: u64, offset: u64) -> Event {
        Event::Sent { pn, bytes: 1200, offset, len: 1000 }
    }

    /// Packet 2 is marked.
    fn received(pn: u64) -> Event {
        Event::Received { pn, bytes: 1200, offset: 0, len: 1000, marked: pn == 2 }
    }

    fn ack(number: u64, ranges: &[(u64, u64)], delay: u64) -> Ack {
        Ack { number, ranges: ranges.iter().copied().collect(), delay: Duration::from_millis(delay) }
    }

    /// Packets are paired with their arrivals, whichever end is heard first. A lost one does not
    /// arrive. What is outside of the part is not kept.
    #[test]
    fn packets_meet_their_arrivals() {
        let mut all = Collector::new(Part { spans: vec![(ms(10), ms(60))], is_tcp: false });
        all.add(
            End::Receiver,
            &vec![
                (ms(5), received(0)),
                (ms(35), received(2)),
                (ms(36), Event::Acks(ack(0, &[(0, 0), (2, 2)], 1))),
                (ms(90), received(3)),
            ],
        );
        all.add(
            End::Sender,
            &vec![
                (ms(0), sent(0, 0)),
                (ms(10), sent(1, 1000)),
                (ms(15), sent(2, 2000)),
                (ms(56), Event::Acked(ack(0, &[(0, 0), (2, 2)], 1))),
                (ms(57), Event::Lost { pn: 1, detection: Detection::TimeThreshold }),
                (ms(58), sent(3, 1000)),
                (ms(61), sent(4, 3000)),
            ],
        );
        let (steps, left_out) = all.finish();
        let told: Vec<_> = steps
            .iter()
            .map(|s| ((s.at * 1e3).round(), s.arrives.map(|at| (at * 1e3).round()), s.kind, s.text.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (10.0, None, StepKind::Data, "1: 1000-1999"),
                (15.0, Some(35.0), StepKind::Data, "2: 2000-2999, CE"),
                (36.0, Some(56.0), StepKind::Reply, "ACK 2, 0, delay 1.0 ms"),
                (57.0, None, StepKind::Decision, "1 lost: time_threshold"),
                (58.0, Some(90.0), StepKind::Data, "3: 1000-1999, again"),
            ]
        );
        assert_eq!(left_out, 0);
    }

    /// TCP counts bytes.
    #[test]
    fn tcp_in_bytes() {
        let mut all = Collector::new(Part { spans: vec![(ms(0), ms(60))], is_tcp: true });
        all.add(
            End::Sender,
            &vec![(ms(0), Event::Opens(Handshake { number: 0, bytes: 40 })), (ms(1), sent(0, 0))],
        );
        all.add(End::Receiver, &vec![(ms(9), Event::Acks(ack(0, &[(0, 1000)], 0)))]);
        let texts: Vec<_> = all.finish().0.into_iter().map(|step| step.text).collect();
        assert_eq!(texts, ["SYN 0", "seq 0-999", "ACK 1000"]);
    }

    /// Each part keeps its own steps.
    #[test]
    fn parts_do_not_displace_each_other() {
        let spans = vec![(ms(0), ms(5000)), (ms(8000), ms(8009))];
        let mut all = Collector::new(Part { spans, is_tcp: false });
        all.add(End::Sender, &(0..9000).map(|pn| (ms(pn), sent(pn, pn * 1000))).collect());
        let (steps, _) = all.finish();
        assert_eq!(steps.len(), MOST_STEPS + 10);
        assert!(steps.iter().all(|step| step.at <= 5.0 || step.at >= 8.0));
    }

    /// A part with too many steps keeps the first ones and counts the others.
    #[test]
    fn steps_are_bounded() {
        let mut all = Collector::new(Part { spans: vec![(ms(0), ms(60_000))], is_tcp: false });
        all.add(End::Sender, &(0..20_000).map(|pn| (ms(pn), sent(pn, pn * 1000))).collect());
        let (steps, left_out) = all.finish();
        assert_eq!((steps.len(), left_out as usize), (MOST_STEPS, MOST_WAITING - MOST_STEPS));
    }
}
