//! Record of one flow: counters inside the measuring window, distributions, packet events.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;

use congestion::{Cause, Control, Detection};
use link::QueueTime;
use recovery::{EcnCounts, Stats, Timers};
use units::Ecn;
use units::{Duration, Time};

use super::totals::{FlowInWindow, MediaTotals, ObjectTotals, Totals};
use crate::application::Application;
use crate::signal::Journal;
use crate::topology::Scenario;
use crate::trace::{Ack, Event, Handshake, Inner, Metrics, Trace};
use crate::window::Window;

/// Packet that a sender sends.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    pub pn: u64,
    /// Bytes that the packet counts in the window.
    pub bytes: u32,
    /// Bytes on the wire.
    pub wire: u32,
    /// Stream offset of the first payload byte.
    pub offset: u64,
    /// Payload, in bytes.
    pub len: u32,
}

/// TLS secrets, as lines of an SSLKEYLOGFILE. They are random, and nobody should read them by
/// accident, so that debugging output has only their number.
#[derive(Clone, Default)]
pub struct Secrets(pub Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

/// Record of one flow.
#[derive(Clone, Debug)]
#[repr(C)] // in this order: fields used by every packet are adjacent and come first
pub struct Record {
    window: Window,
    /// Counts for the other windows.
    others: Vec<(Window, FlowInWindow)>,
    /// Packets that arrived behind a gap: end offset and time of arrival, ascending.
    held: VecDeque<(u64, Time)>,
    /// Packets that fill later gaps (retransmissions), in the same form.
    filling: BinaryHeap<Reverse<(u64, Time)>>,
    /// Packet events at the sender's end, if recorded.
    pub trace: Option<Trace>,
    /// Packet events at the receiver's end, if recorded.
    pub far_trace: Option<Trace>,
    /// Stream bytes delivered since the start, whatever the measuring window.
    pub delivered: u64,
    /// One-way delay of the last packet that arrived since the last query.
    owd: Option<Duration>,
    /// ECN marks that arrived with its packets, since the start.
    pub ecn: EcnCounts,
    slow_start_over: bool,
    /// Window after the controller's last reaction, in bytes.
    cwnd: u64,
    /// Counts inside the measuring window.
    pub totals: Totals,
    /// Time of the first packet.
    pub started: Time,
    /// Time at which the last byte arrived, or the flow was stopped.
    pub finished: Option<Time>,
    /// Time at which the idle timeout of the file closed the connection. The flow ends then, and is
    /// not complete.
    pub closed: Option<Time>,
    /// Time and reason if the connection ended before the flow did, and the file does not say so.
    pub broken: Option<(Time, String)>,
    /// Counters of loss recovery, since the start.
    pub stats: Stats,
    /// Largest window of the first slow start, in bytes.
    pub slow_start_window: u64,
    /// Number of reductions of the window, since the start.
    pub reductions: u64,
    /// Smallest window after a reduction, in bytes.
    pub least_window: Option<u64>,
    /// Counts of a media source.
    pub media: Option<MediaTotals>,
    /// Bytes of video encoded since the start.
    pub made: u64,
    /// Counts of an on-off source.
    pub objects: Option<ObjectTotals>,
    /// TLS secrets of its connections.
    pub secrets: Secrets,
    /// Calls of the controller, if recorded.
    pub journal: Option<Journal>,
    /// Memory of events that have been handed over, for reuse.
    pub(crate) spare: Vec<Inner>,
}

impl Record {
    /// Creates the record of a flow that has not begun.
    pub fn new(application: &Application, scenario: &Scenario) -> Self {
        let media = matches!(application, Application::Media(_)).then(MediaTotals::default);
        let objects = matches!(application, Application::OnOff(_)).then(ObjectTotals::default);
        let inside =
            FlowInWindow { media: media.clone(), objects: objects.clone(), ..FlowInWindow::default() };
        Self {
            started: Time::NEVER,
            finished: None,
            closed: None,
            broken: None,
            delivered: 0,
            ecn: EcnCounts::default(),
            totals: Totals::default(),
            stats: Stats::default(),
            slow_start_window: 0,
            cwnd: u64::MAX,
            reductions: 0,
            least_window: None,
            media,
            made: 0,
            objects,
            trace: scenario.trace.then(Vec::new),
            secrets: Secrets::default(),
            journal: None,
            far_trace: scenario.trace.then(Vec::new),
            spare: Vec::new(),
            owd: None,
            held: VecDeque::new(),
            filling: BinaryHeap::new(),
            slow_start_over: false,
            window: scenario.window(),
            others: scenario.other_windows().map(|window| (window, inside.clone())).collect(),
        }
    }

    /// Sets the journal of its controllers.
    #[must_use]
    pub fn with_journal(self, journal: Option<Journal>) -> Self {
        Self { journal, ..self }
    }

    /// Returns the message for a connection that ended too early. `flow` is the name of the flow.
    pub fn why_broken(&self, flow: &str) -> Option<String> {
        let (when, why) = self.broken.as_ref()?;
        let after = when.as_secs_f64() - self.started.as_secs_f64();
        Some(format!("the connection of {flow} ended after {after:.1} s: {why}"))
    }

    /// Returns how long the flow ran inside the measuring window, in a run that ended at `end`.
    pub fn measured(&self, end: Time) -> Duration {
        self.measured_in(self.window, end)
    }

    /// Returns how long the flow ran inside `window`, in a run that ended at `end`.
    pub fn measured_in(&self, window: Window, end: Time) -> Duration {
        let until = self.finished.or(self.closed).unwrap_or(end).min(window.to).min(end);
        until - self.started.max(window.from)
    }

    /// Takes the counts of another window of the scenario.
    pub fn take_in_window(&mut self, number: usize) -> FlowInWindow {
        self.others.get_mut(number).map(|(_, inside)| std::mem::take(inside)).unwrap_or_default()
    }

    /// Counts an event at `now` in every window that contains it.
    #[inline]
    fn count(&mut self, now: Time, count: impl Fn(&mut Totals)) {
        if self.window.holds(now) {
            count(&mut self.totals);
        }
        if !self.others.is_empty() {
            self.count_in_others(now, count);
        }
    }

    #[cold] // keeps the code that every packet runs small, as below
    fn count_in_others(&mut self, now: Time, count: impl Fn(&mut Totals)) {
        let open = self.others.iter_mut().filter(|(window, _)| window.holds(now));
        open.for_each(|(_, inside)| count(&mut inside.totals));
    }

    #[inline]
    fn log(&mut self, now: Time, event: impl FnOnce() -> Event) {
        if let Some(trace) = &mut self.trace {
            take_calls(self.journal.as_ref(), trace);
            push(trace, now, event);
        }
    }

    /// Notes that a packet is sent.
    #[inline]
    pub fn on_sent(&mut self, now: Time, packet: SentPacket) {
        self.on_sent_in_pieces(now, packet, &[]);
    }

    /// Notes that a packet is sent that holds several pieces of the stream. Its payload is the sum
    /// of all, `more` are those after the first.
    #[inline]
    pub fn on_sent_in_pieces(&mut self, now: Time, packet: SentPacket, more: &[(u64, u32)]) {
        let SentPacket { pn, bytes, wire, offset, len } = packet;
        if !more.is_empty() {
            self.log(now, || Event::More(more.into()));
        }
        self.count(now, |totals| {
            totals.packets += 1;
            totals.sent += u64::from(len);
            totals.wire += u64::from(wire);
        });
        self.log(now, || {
            let rest: u32 = more.iter().map(|piece| piece.1).sum();
            Event::Sent { pn, bytes, offset, len: len - rest }
        });
    }

    /// Notes that an Initial or a SYN of `size` bytes on the wire is sent.
    pub fn on_handshake_sent(&mut self, now: Time, packet: Handshake, size: u32) {
        self.log(now, || Event::Opens(packet));
        self.count(now, |totals| {
            totals.packets += 1;
            totals.wire += u64::from(size);
        });
    }

    /// Notes that a packet with only an ACK is sent, of `size` bytes on the wire.
    pub fn on_ack_sent(&mut self, now: Time, size: u32) {
        self.count(now, |totals| {
            totals.packets += 1;
            totals.acks += 1;
            totals.wire += u64::from(size);
        });
    }

    /// Notes that the path drops such a packet, which was sent at this time.
    pub fn on_ack_dropped(&mut self, sent: Time) {
        self.count(sent, |totals| totals.acks_dropped += 1);
        self.on_dropped(sent);
    }

    /// Notes a packet's time in the queue of a link.
    #[inline]
    pub fn on_queued(&mut self, now: Time, link: usize, queue_time: QueueTime) {
        self.count(now, |totals| totals.queue_delay.add(link, queue_time));
    }

    /// Notes that the path drops a packet that was sent at this time. The drop counts in the
    /// windows in which the packet does, so that no share exceeds 1.
    pub fn on_dropped(&mut self, sent: Time) {
        self.count(sent, |totals| totals.dropped += 1);
    }

    /// Notes that feedback leaves the receiver.
    #[inline]
    pub fn on_feedback_sent(&mut self, now: Time) {
        self.count(now, |totals| totals.feedback += 1);
    }

    /// Notes that the path drops feedback that left at this time.
    pub fn on_feedback_dropped(&mut self, sent: Time) {
        self.count(sent, |totals| totals.feedback_dropped += 1);
    }

    /// Notes that an Initial or a SYN arrives.
    pub fn on_handshake_received(&mut self, now: Time, packet: Handshake) {
        self.log_far(now, || Event::Opened(packet));
    }

    /// Notes that an Initial or a SYN is answered.
    pub fn on_handshake_answered(&mut self, now: Time, packet: Handshake) {
        self.log_far(now, || Event::Opens(packet));
    }

    /// Notes that a packet arrives.
    #[inline]
    pub fn on_packet(&mut self, now: Time, packet: impl FnOnce() -> Event) {
        self.log_far(now, packet);
    }

    /// Notes that feedback leaves the receiver, with or without an acknowledgement.
    #[inline]
    pub fn on_feedback_leaving(&mut self, now: Time, ack: impl FnOnce() -> Option<Ack>) {
        if let Some(ack) = self.far_trace.is_some().then(ack).flatten() {
            self.log_far(now, || Event::Acks(ack));
        }
    }

    #[inline]
    fn log_far(&mut self, now: Time, event: impl FnOnce() -> Event) {
        if let Some(trace) = &mut self.far_trace {
            push(trace, now, event);
        }
    }

    /// Notes that a packet arrives `owd` after it was sent, with `fresh` new bytes. `stream` is set
    /// for in-order delivery: the end offset of the packet, and the offset below which everything
    /// has arrived.
    pub fn on_received(
        &mut self,
        now: Time,
        owd: Duration,
        fresh: u64,
        ecn: Ecn,
        stream: Option<(u64, u64)>,
    ) {
        self.ecn.add(ecn);
        if ecn == Ecn::Ce {
            self.count(now, |totals| totals.ce += 1);
        }
        self.delivered += fresh;
        self.owd = Some(owd);
        let stream = stream.filter(|_| fresh > 0);
        let at_once = stream.is_some_and(|(end, contiguous)| end <= contiguous && self.has_nothing_held());
        self.count(now, |totals| {
            totals.delivered += fresh;
            totals.owd.add(owd);
            totals.delivery.at_once += u64::from(at_once);
        });
        if let Some((end, contiguous)) = stream.filter(|_| !at_once) {
            self.on_gap(now, end, contiguous);
        }
    }

    #[cold]
    fn on_gap(&mut self, now: Time, end: u64, contiguous: u64) {
        if self.held.back().is_none_or(|last| last.0 < end) {
            self.held.push_back((end, now));
        } else {
            self.filling.push(Reverse((end, now)));
        }
        let wait = |record: &mut Self, arrived: Time| {
            record.count(now, |totals| totals.delivery.waits.add(now - arrived));
        };
        while self.held.front().is_some_and(|first| first.0 <= contiguous)
            && let Some((_, arrived)) = self.held.pop_front()
        {
            wait(self, arrived);
        }
        while self.filling.peek().is_some_and(|Reverse(first)| first.0 <= contiguous)
            && let Some(Reverse((_, arrived))) = self.filling.pop()
        {
            wait(self, arrived);
        }
    }

    fn has_nothing_held(&self) -> bool {
        self.held.is_empty() && self.filling.is_empty()
    }

    /// Notes that the stream restarts on another connection.
    pub fn on_reconnect(&mut self) {
        self.held.clear();
        self.filling.clear();
        self.cwnd = u64::MAX;
    }

    /// Notes that the idle timeout closed the connection.
    pub fn on_closed(&mut self, now: Time) {
        self.closed = Some(now);
        self.log(now, || Event::Remark("the idle timeout closed the connection (RFC 9000 section 10.1)"));
    }

    /// Takes the one-way delay of the last packet that arrived since the previous call.
    pub fn take_owd(&mut self) -> Option<Duration> {
        self.owd.take()
    }

    /// Returns the counts of a media source in all windows that contain `now`.
    fn media(&mut self, now: Time) -> impl Iterator<Item = &mut MediaTotals> {
        let others = self.others.iter_mut().map(|(window, inside)| (*window, inside.media.as_mut()));
        let all = std::iter::once((self.window, self.media.as_mut())).chain(others);
        all.filter(move |(window, _)| window.holds(now)).filter_map(|(_, media)| media)
    }

    /// Notes that the encoder made a frame.
    pub fn on_frame_made(&mut self, now: Time, bytes: u64) {
        self.made += bytes;
        self.media(now).for_each(|media| media.made += bytes);
    }

    /// Notes that a frame waited too long to be sent.
    pub fn on_frame_skipped(&mut self, now: Time) {
        self.media(now).for_each(|media| media.skipped += 1);
    }

    /// Notes that a packet of a frame was lost.
    pub fn on_frame_lost(&mut self, now: Time) {
        self.media(now).for_each(|media| media.lost += 1);
    }

    /// Notes that a frame arrived completely. `lost` is the time at which it was counted as lost,
    /// too early.
    pub fn on_frame_complete(&mut self, now: Time, delay: Duration, lost: Option<Time>) {
        if let Some(lost) = lost {
            self.media(lost).for_each(|media| media.lost -= 1);
        }
        self.media(now).for_each(|media| {
            media.complete += 1;
            media.delay.add(delay);
        });
    }

    /// Notes that a short transfer is complete, and its duration.
    pub fn on_object(&mut self, now: Time, time: Duration) {
        let others = self.others.iter_mut().map(|(window, inside)| (*window, inside.objects.as_mut()));
        let all = std::iter::once((self.window, self.objects.as_mut())).chain(others);
        let counted = all.filter(|(window, _)| window.holds(now)).filter_map(|(_, objects)| objects);
        counted.for_each(|objects| objects.time.add(time));
    }

    /// Notes that an acknowledgement has been processed. `rtt` is its RTT sample, if any, and the
    /// estimator's variation after it. `timers` are the current timeouts of the sender.
    #[inline]
    pub fn on_acknowledged(&mut self, now: Time, rtt: Option<(Duration, Duration)>, timers: &Timers) {
        self.count(now, |totals| {
            if let Some((sample, variation)) = rtt {
                totals.rtt.add(sample);
                totals.rtt_variation.add(variation);
            }
            totals.timers.add(timers);
        });
    }

    /// Notes an RTT sample of a sender whose estimator cannot be observed.
    pub fn on_rtt_sample(&mut self, now: Time, sample: Duration) {
        self.count(now, |totals| totals.rtt.add(sample));
    }

    /// Notes a retransmission of data that had already arrived.
    pub fn on_redundant(&mut self, now: Time) {
        self.count(now, |totals| totals.redundant += 1);
    }

    /// Notes that a packet was declared lost.
    pub fn on_lost(&mut self, now: Time, pn: u64, detection: Detection) {
        self.log(now, || Event::Lost { pn, detection });
    }

    /// Notes the controller's state after an ACK or a timer, with the cause of a congestion event.
    #[inline]
    pub fn on_reaction(&mut self, now: Time, control: &Control, event: Option<Cause>) {
        if !self.slow_start_over {
            self.on_slow_start(control, event.is_some());
        }
        if let Some(cause) = event {
            self.on_congestion(now, cause, [self.cwnd, control.cwnd]);
        }
        self.cwnd = control.cwnd;
    }

    fn on_slow_start(&mut self, control: &Control, ended: bool) {
        self.slow_start_over = !control.in_slow_start() || ended;
        if !ended {
            self.slow_start_window = self.slow_start_window.max(control.cwnd);
        }
    }

    /// Notes a congestion event, with the window before and after it. It need not be a reduction:
    /// a window may be fixed, or at its minimum, or a controller may ignore a CE mark.
    pub fn on_congestion(&mut self, now: Time, cause: Cause, [before, after]: [u64; 2]) {
        if after < before {
            self.reductions += 1;
            self.count(now, |totals| totals.reductions += 1);
            self.least_window = Some(self.least_window.map_or(after, |least| least.min(after)));
        }
        self.log(now, || Event::Reduced(cause));
    }

    /// Notes that feedback arrives.
    pub fn on_feedback(&mut self, now: Time, event: impl FnOnce() -> Event) {
        self.log(now, event);
    }

    /// Notes the state of sender and controller. The variables are written into reused memory.
    #[inline]
    pub fn on_metrics(&mut self, now: Time, metrics: impl FnOnce(Inner) -> Metrics) {
        if let Some(trace) = &mut self.trace {
            let spare = &mut self.spare;
            take_calls(self.journal.as_ref(), trace);
            push(trace, now, || Event::Metrics(metrics(spare.pop().unwrap_or_default())));
        }
    }
}

/// Adds the controller's calls since the last event.
#[cold]
fn take_calls(journal: Option<&Journal>, trace: &mut Trace) {
    let calls = journal.map(Journal::take).unwrap_or_default();
    trace.extend(calls.into_iter().map(|call| (Time(call.0), Event::Call(call))));
}

#[cold]
fn push(trace: &mut Trace, now: Time, event: impl FnOnce() -> Event) {
    trace.push((now, event()));
}
