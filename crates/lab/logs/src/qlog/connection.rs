//! Events of one connection, as they go to the sink.

use quic::{Side, Space};
use scenario::signal::Call;
use serde::Deserialize;
use serde_json::value::RawValue;
use units::{Duration, Time};

use super::packet::{Packet, Type, control, ecn, trigger};
use super::record::{Kind, Record};
use super::recovery::{Settings, State, TimerChange, Update};
use super::trace::Description;
use super::value::Value;
use crate::event::{self, Event, Gap, Metrics, Protocol, Sink};

/// Largest number of losses that one event of mvfst counts.
const MOST_LOST: u64 = 1 << 16;
/// Number of messages of a log that are passed on.
const MESSAGES: u32 = 16;

/// Connection that was opened in the sink.
#[derive(Debug)]
pub(super) struct Connection {
    id: usize,
    /// End that "sent" packets leave.
    side: Side,
    last: Time,
    /// Largest step back in time.
    backwards: Duration,
    /// Length of a unit of RTTs, in the clock's units.
    scale: f64,
    is_limited: bool,
    /// True while it had only Initial packets.
    pub(super) is_young: bool,
    has_sent: bool,
    messages: u32,
    /// Sentences that were reported.
    told: Vec<&'static str>,
}

/// Event that cannot be read.
pub(super) type Failure = String;

fn parse<'a, T: Deserialize<'a>>(data: Option<&'a RawValue>) -> Result<T, Failure> {
    let data = data.ok_or("an event has no data")?;
    serde_json::from_str(data.get()).map_err(|error| {
        let text = error.to_string();
        // The position counts from the data, which begins somewhere in the record.
        text.split(" at line ").next().unwrap_or(&text).to_owned()
    })
}

impl Connection {
    pub(super) fn new(id: usize, side: Side) -> Self {
        Self {
            id,
            side,
            last: Time::ZERO,
            backwards: Duration::ZERO,
            scale: 1.0,
            is_limited: false,
            is_young: true,
            has_sent: false,
            messages: 0,
            told: Vec::new(),
        }
    }

    pub(super) fn emit(&self, sink: &mut dyn Sink, event: &Event<'_>) {
        sink.event(self.id, self.last, event);
    }

    /// Reports a part that is missing.
    pub(super) fn gap(&self, sink: &mut dyn Sink, gap: Gap) {
        self.emit(sink, &Event::Gap(gap));
    }

    /// Reports a sentence, once.
    fn note(&mut self, sink: &mut dyn Sink, sentence: &'static str) {
        if !self.told.contains(&sentence) {
            self.told.push(sentence);
            self.gap(sink, Gap::Other(sentence.to_owned()));
        }
    }

    /// Reports times that ran backwards.
    pub(super) fn finish(&self, sink: &mut dyn Sink) {
        if self.backwards > Duration::ZERO {
            self.gap(sink, Gap::Backwards(self.backwards));
        }
    }

    pub(super) fn event(
        &mut self,
        sink: &mut dyn Sink,
        trace: &Description,
        at: Time,
        kind: Kind,
        record: &Record<'_>,
    ) -> Result<(), Failure> {
        self.backwards = self.backwards.max(self.last.since(at));
        self.last = self.last.max(at);
        if let Some(calls) = record.calls.filter(|_| trace.is_ours && sink.takes_calls()) {
            self.calls(sink, calls)?;
        }
        match kind {
            Kind::Sent => self.packet(sink, trace, record, true)?,
            Kind::Received => self.packet(sink, trace, record, false)?,
            Kind::Lost => self.lost(sink, record)?,
            Kind::Metrics => self.metrics(sink, trace, &parse(record.data)?),
            Kind::State => self.state(sink, record)?,
            Kind::LossTimer => self.timer(sink, trace, record, false)?,
            Kind::Timer => self.timer(sink, trace, record, true)?,
            Kind::Parameters => self.parameters(sink, &parse(record.data)?),
            Kind::RecoveryParameters => {
                let settings: Settings<'_> = parse(record.data)?;
                if let Some(cwnd) = settings.initial_congestion_window.whole() {
                    self.emit(sink, &Event::Metrics(Metrics { cwnd: Some(cwnd), ..Metrics::default() }));
                }
            }
            Kind::Message if trace.is_ours => self.message(sink, record)?,
            Kind::Message | Kind::Other => {}
        }
        Ok(())
    }

    /// Passes on the calls of the controller since the event before.
    fn calls(&self, sink: &mut dyn Sink, calls: &RawValue) -> Result<(), Failure> {
        let calls: Vec<Call> = parse(Some(calls))?;
        calls.iter().for_each(|call| self.emit(sink, &Event::Call(call)));
        Ok(())
    }

    fn packet(
        &mut self,
        sink: &mut dyn Sink,
        trace: &Description,
        record: &Record<'_>,
        is_sent: bool,
    ) -> Result<(), Failure> {
        let mut packet: Packet<'_> = parse(record.data)?;
        let kind = packet.kind();
        let is_initial = kind == Type::Numbered(Space::Initial);
        self.is_young &= is_initial;
        // noq writes the field of the frame, in units of 8 us.
        let unit = if trace.is_noq { 0.008 } else { trace.clock.milliseconds() };
        let frames = packet.take_frames(unit);
        let is_tcp = trace.protocol == Some(Protocol::Tcp);
        let has_frames = frames.is_some();
        let frames = frames.unwrap_or_default();
        let has_data = !frames.pieces.is_empty();
        let number =
            packet.number().filter(|_| if is_tcp { has_data } else { matches!(kind, Type::Numbered(_)) });
        if is_sent && !self.has_sent {
            self.has_sent = true;
            if !trace.is_ours && self.is_late(number) {
                self.gap(sink, Gap::BeginsLater);
            }
        }
        let bytes = packet.bytes().filter(|_| !is_tcp);
        let is_numbered = matches!(kind, Type::Numbered(_));
        if bytes.is_none() && !is_tcp && has_data {
            self.note(sink, "the log lacks sizes of packets: their stream data counts instead");
        }
        if bytes.is_none() && !is_tcp && !has_frames {
            self.note(sink, "the log lacks sizes and frames of packets: they count without bytes");
        }
        // Our handshake packets have no frames in a run's log.
        if !has_frames && !is_tcp && is_numbered && !trace.is_ours {
            self.note(sink, "the log lacks frames of packets: each counts as ACK-eliciting and in flight");
        }
        let is_eliciting = match is_tcp {
            true => has_data || is_initial,
            false => is_numbered && (frames.is_eliciting || !has_frames),
        };
        let mark = [&packet.ecn, &record.ecn].into_iter().find_map(|word| ecn(word.text()?));
        self.emit(
            sink,
            &Event::Packet(event::Packet {
                from: if is_sent { self.side } else { self.side.peer() },
                space: match kind {
                    Type::Numbered(space) if !is_tcp => space,
                    _ => Space::Application,
                },
                number,
                bytes: bytes.unwrap_or_else(|| frames.data()),
                wire: None,
                ack_eliciting: is_eliciting,
                in_flight: is_eliciting || frames.is_padded,
                ecn: mark,
                pieces: &frames.pieces,
                acks: &frames.acks,
                limit: frames.limit,
                timestamps: None,
                spin: packet.spin(),
                control: control(kind, frames.ends),
            }),
        );
        Ok(())
    }

    /// Reports whether the first packet sent shows that others were sent before the log began.
    fn is_late(&self, number: Option<u64>) -> bool {
        !self.is_young && number.is_some_and(|number| number > 0)
    }

    fn lost(&self, sink: &mut dyn Sink, record: &Record<'_>) -> Result<(), Failure> {
        let packet: Packet<'_> = parse(record.data)?;
        let word = packet.trigger.text().or_else(|| record.trigger.text());
        let space = match packet.kind() {
            Type::Numbered(space) => space,
            _ => Space::Application,
        };
        let event = Event::Lost { space, number: packet.number(), trigger: word.and_then(trigger) };
        for _ in 0..packet.lost_packets.whole().unwrap_or(1).min(MOST_LOST) {
            self.emit(sink, &event);
        }
        Ok(())
    }

    fn metrics(&mut self, sink: &mut dyn Sink, trace: &Description, update: &Update<'_>) {
        if update.is_initial_in_seconds() {
            self.scale = 1000.0;
            self.note(sink, "the log's RTTs are in seconds, as quinn writes them, and are read so");
        }
        let metrics = update.metrics(&trace.clock, self.scale);
        if metrics != Metrics::default() {
            self.emit(sink, &Event::Metrics(metrics));
        }
        if let Some(is_limited) = update.app_limited() {
            self.limit(sink, is_limited);
        }
    }

    fn limit(&mut self, sink: &mut dyn Sink, is_limited: bool) {
        if self.is_limited != is_limited {
            self.is_limited = is_limited;
            self.emit(sink, &Event::AppLimited(is_limited));
        }
    }

    fn state(&mut self, sink: &mut dyn Sink, record: &Record<'_>) -> Result<(), Failure> {
        let state: State<'_> = parse(record.data)?;
        let new = state.new.text().ok_or("a congestion state has no `new`")?;
        let words = [&state.trigger, &record.cause, &record.trigger];
        let event = Event::State { new, trigger: words.into_iter().find_map(Value::text) };
        self.emit(sink, &event);
        self.limit(sink, state.new.is("application_limited"));
        Ok(())
    }

    fn timer(
        &self,
        sink: &mut dyn Sink,
        trace: &Description,
        record: &Record<'_>,
        is_any: bool,
    ) -> Result<(), Failure> {
        let change: TimerChange<'_> = parse(record.data)?;
        if let Some((kind, pto)) = change.read(record.last_word(), is_any) {
            self.emit(sink, &Event::Timer { kind, pto, delay: change.delay(&trace.clock) });
        }
        Ok(())
    }

    fn parameters(&self, sink: &mut dyn Sink, settings: &Settings<'_>) {
        let from = if settings.is_remote() { self.side.peer() } else { self.side };
        if let Some(parameters) = settings.parameters() {
            self.emit(sink, &Event::Parameters { from, parameters });
        }
    }

    fn message(&mut self, sink: &mut dyn Sink, record: &Record<'_>) -> Result<(), Failure> {
        #[derive(Deserialize)]
        struct Message<'a> {
            #[serde(borrow, default)]
            message: Value<'a>,
        }
        let message: Message<'_> = parse(record.data)?;
        self.messages += 1;
        if let Some(text) = message.message.text().filter(|_| self.messages <= MESSAGES) {
            self.gap(sink, Gap::Other(text.to_owned()));
        }
        Ok(())
    }
}
