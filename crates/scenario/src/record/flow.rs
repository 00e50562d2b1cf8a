//! What one flow's run leaves behind: counters inside the measuring window, distributions, packet events.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use congestion::{Cause, Control, Detection};
use link::Stay;
use recovery::{EcnCounts, Stats, Timers};
use units::Ecn;
use units::{Duration, Time};

use super::totals::{FlowInside, MediaTotals, ObjectTotals, Totals};
use crate::application::Application;
use crate::topology::Scenario;
use crate::trace::{Ack, Event, Handshake, Inner, Metrics, Trace};
use crate::window::Window;

/// A packet as it leaves.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    /// Packet number.
    pub pn: u64,
    /// What it counts in the window.
    pub bytes: u32,
    /// Bytes on the wire.
    pub wire: u32,
    /// First byte of its payload in the stream.
    pub offset: u64,
    /// Payload, bytes.
    pub len: u32,
}

/// The record of one flow.
#[derive(Clone, Debug)]
#[repr(C)] // in this order: what every packet touches lies together, before what few do
pub struct Record {
    window: Window,
    /// The same for other windows.
    others: Vec<(Window, FlowInside)>,
    /// What arrived with a gap before it: up to which byte, and when; ascending.
    held: VecDeque<(u64, Time)>,
    /// The same of what fills gaps behind the first: repeats.
    filling: BinaryHeap<Reverse<(u64, Time)>>,
    /// Packet events of the sender's end, if recorded.
    pub trace: Option<Trace>,
    /// Those of the receiver's end.
    pub far_trace: Option<Trace>,
    /// Since the start, whatever the measuring window.
    pub delivered: u64,
    /// One-way delay of the newest packet that arrived since somebody asked.
    owd: Option<Duration>,
    /// Marks that arrived with its packets, since the start.
    pub ecn: EcnCounts,
    slow_start_over: bool,
    /// Inside the measuring window.
    pub totals: Totals,
    /// First packet.
    pub started: Time,
    /// Last byte arrived, or the flow was stopped.
    pub finished: Option<Time>,
    /// When its connection was over though the flow was not, and why. Simulated flows never give up.
    pub broken: Option<(Time, String)>,
    /// Of the ledger, since the start.
    pub stats: Stats,
    /// The largest window of the first slow start, bytes.
    pub slow_start_window: u64,
    /// The smallest window that a reduction left, bytes.
    pub least_window: Option<u64>,
    /// Of a media source.
    pub media: Option<MediaTotals>,
    /// Bytes of video that the encoder made since the start.
    pub made: u64,
    /// Of an on-off source.
    pub objects: Option<ObjectTotals>,
    /// Memory of events that have been handed over: as much as was recorded at once.
    pub(crate) spare: Vec<Inner>,
}

impl Record {
    /// Of a flow that has not begun.
    pub fn new(application: &Application, scenario: &Scenario) -> Self {
        let media = matches!(application, Application::Media(_)).then(MediaTotals::default);
        let objects = matches!(application, Application::OnOff(_)).then(ObjectTotals::default);
        let inside = FlowInside { media: media.clone(), objects: objects.clone(), ..FlowInside::default() };
        Self {
            started: Time::NEVER,
            finished: None,
            broken: None,
            delivered: 0,
            ecn: EcnCounts::default(),
            totals: Totals::default(),
            stats: Stats::default(),
            slow_start_window: 0,
            least_window: None,
            media,
            made: 0,
            objects,
            trace: scenario.trace.then(Vec::new),
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

    /// The sentence about a connection that was over too early, of the flow of this name.
    pub fn why_broken(&self, flow: &str) -> Option<String> {
        let (when, why) = self.broken.as_ref()?;
        let after = when.as_secs_f64() - self.started.as_secs_f64();
        Some(format!("the connection of {flow} was over after {after:.1} s: {why}"))
    }

    /// How long the flow ran inside the measuring window, of a run that ended at `end`.
    pub fn measured(&self, end: Time) -> Duration {
        self.measured_in(self.window, end)
    }

    /// How long it ran inside this one.
    pub fn measured_in(&self, window: Window, end: Time) -> Duration {
        let until = self.finished.unwrap_or(end).min(window.to).min(end);
        until - self.started.max(window.from)
    }

    /// What was counted in another window of the scenario's.
    pub fn take_inside(&mut self, number: usize) -> FlowInside {
        self.others.get_mut(number).map(|(_, inside)| std::mem::take(inside)).unwrap_or_default()
    }

    /// Counts what happens now, in every window that it is in.
    #[inline]
    fn count(&mut self, now: Time, count: impl Fn(&mut Totals)) {
        if self.window.holds(now) {
            count(&mut self.totals);
        }
        if !self.others.is_empty() {
            self.count_in_others(now, count);
        }
    }

    #[cold] // out of the way of what every packet runs through, like the next ones
    fn count_in_others(&mut self, now: Time, count: impl Fn(&mut Totals)) {
        let open = self.others.iter_mut().filter(|(window, _)| window.holds(now));
        open.for_each(|(_, inside)| count(&mut inside.totals));
    }

    #[inline]
    fn log(&mut self, now: Time, event: impl FnOnce() -> Event) {
        if let Some(trace) = &mut self.trace {
            push(trace, now, event);
        }
    }

    /// A packet leaves.
    #[inline]
    pub fn on_sent(&mut self, now: Time, packet: SentPacket) {
        let SentPacket { pn, bytes, wire, offset, len } = packet;
        self.count(now, |totals| {
            totals.packets += 1;
            totals.sent += u64::from(len);
            totals.wire += u64::from(wire);
        });
        self.log(now, || Event::Sent { pn, bytes, offset, len });
    }

    /// An Initial or a SYN of so many bytes on the wire.
    pub fn on_handshake_sent(&mut self, now: Time, packet: Handshake, size: u32) {
        self.log(now, || Event::Opens(packet));
        if self.window.holds(now) {
            self.totals.packets += 1;
            self.totals.wire += u64::from(size);
        }
    }

    /// A packet of so many bytes on the wire that holds an ACK alone.
    pub fn on_ack_sent(&mut self, now: Time, size: u32) {
        self.count(now, |totals| {
            totals.packets += 1;
            totals.acks += 1;
            totals.wire += u64::from(size);
        });
    }

    /// Such a packet finds no room on its first link.
    pub fn on_ack_dropped(&mut self, now: Time) {
        self.count(now, |totals| totals.acks_dropped += 1);
        self.on_dropped(now);
    }

    /// A packet leaves the queue of a link after so long.
    #[inline]
    pub fn on_queued(&mut self, now: Time, link: usize, stay: Stay) {
        self.count(now, |totals| totals.queue_delay.add(link, stay));
    }

    /// The path drops a packet.
    pub fn on_dropped(&mut self, now: Time) {
        self.count(now, |totals| totals.dropped += 1);
    }

    /// Feedback leaves for the links of the way back.
    pub fn on_feedback_sent(&mut self, now: Time) {
        self.count(now, |totals| totals.feedback += 1);
    }

    /// The path drops it.
    pub fn on_feedback_dropped(&mut self, now: Time) {
        self.count(now, |totals| totals.feedback_dropped += 1);
    }

    /// An Initial or a SYN arrives.
    pub fn on_handshake_received(&mut self, now: Time, packet: Handshake) {
        self.log_far(now, || Event::Opened(packet));
    }

    /// It is answered.
    pub fn on_handshake_answered(&mut self, now: Time, packet: Handshake) {
        self.log_far(now, || Event::Opens(packet));
    }

    /// A packet arrives.
    #[inline]
    pub fn on_packet(&mut self, now: Time, packet: impl FnOnce() -> Event) {
        self.log_far(now, packet);
    }

    /// Feedback leaves the receiver, with an acknowledgement or without.
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

    /// A packet arrives, `owd` after it left, with so many bytes that are new. `stream`: they are handed over in order, these end
    /// here, and before the other byte everything has arrived.
    pub fn on_received(
        &mut self,
        now: Time,
        owd: Duration,
        fresh: u64,
        ecn: Ecn,
        stream: Option<(u64, u64)>,
    ) {
        self.ecn.add(ecn);
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

    /// The stream begins anew, with another connection.
    pub fn on_reconnect(&mut self) {
        self.held.clear();
        self.filling.clear();
    }

    /// The one-way delay of the newest packet that arrived since this was last asked.
    pub fn take_owd(&mut self) -> Option<Duration> {
        self.owd.take()
    }

    /// What to count of a media source, now.
    fn media(&mut self, now: Time) -> impl Iterator<Item = &mut MediaTotals> {
        let others = self.others.iter_mut().map(|(window, inside)| (*window, inside.media.as_mut()));
        let all = std::iter::once((self.window, self.media.as_mut())).chain(others);
        all.filter(move |(window, _)| window.holds(now)).filter_map(|(_, media)| media)
    }

    /// The encoder made a frame.
    pub fn on_frame_made(&mut self, now: Time, bytes: u64) {
        self.made += bytes;
        self.media(now).for_each(|media| media.made += bytes);
    }

    /// A frame waited too long to be sent.
    pub fn on_frame_skipped(&mut self, now: Time) {
        self.media(now).for_each(|media| media.skipped += 1);
    }

    /// A packet of a frame was lost.
    pub fn on_frame_lost(&mut self, now: Time) {
        self.media(now).for_each(|media| media.lost += 1);
    }

    /// It had been counted as lost at that time, too early.
    pub fn on_frame_complete(&mut self, now: Time, delay: Duration, lost: Option<Time>) {
        if let Some(lost) = lost {
            self.media(lost).for_each(|media| media.lost -= 1);
        }
        self.media(now).for_each(|media| {
            media.complete += 1;
            media.delay.add(delay);
        });
    }

    /// A short transfer is complete, after so long.
    pub fn on_object(&mut self, now: Time, time: Duration) {
        let others = self.others.iter_mut().map(|(window, inside)| (*window, inside.objects.as_mut()));
        let all = std::iter::once((self.window, self.objects.as_mut())).chain(others);
        let counted = all.filter(|(window, _)| window.holds(now)).filter_map(|(_, objects)| objects);
        counted.for_each(|objects| objects.time.add(time));
    }

    /// An acknowledgement has been processed, perhaps with a sample of the RTT and what it left of the estimator's variation: what
    /// the sender's timers would wait.
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

    /// An RTT sample of a sender whose estimator nobody sees.
    pub fn on_rtt_sample(&mut self, now: Time, sample: Duration) {
        self.count(now, |totals| totals.rtt.add(sample));
    }

    /// A repeat leaves of what had arrived.
    pub fn on_redundant(&mut self, now: Time) {
        self.count(now, |totals| totals.redundant += 1);
    }

    /// A packet was declared lost.
    pub fn on_lost(&mut self, now: Time, pn: u64, detection: Detection) {
        self.log(now, || Event::Lost { pn, detection });
    }

    /// Whether the window of the first slow start may still grow.
    #[inline]
    pub fn awaits_end_of_slow_start(&self) -> bool {
        !self.slow_start_over
    }

    /// What the controller says after an ACK or a timer that did or did not reduce its window.
    pub fn on_slow_start(&mut self, control: &Control, reduced: bool) {
        self.slow_start_over = !control.in_slow_start() || reduced;
        if !reduced {
            self.slow_start_window = self.slow_start_window.max(control.cwnd);
        }
    }

    /// To `cwnd`.
    pub fn on_reduced(&mut self, now: Time, cause: Cause, cwnd: u64) {
        self.least_window = Some(self.least_window.map_or(cwnd, |least| least.min(cwnd)));
        self.log(now, || Event::Reduced(cause));
    }

    /// Feedback arrives.
    pub fn on_feedback(&mut self, now: Time, event: impl FnOnce() -> Event) {
        self.log(now, event);
    }

    /// What sender and controller are left with; the variables go into memory that was used before.
    #[inline]
    pub fn on_metrics(&mut self, now: Time, metrics: impl FnOnce(Inner) -> Metrics) {
        if let Some(trace) = &mut self.trace {
            let spare = &mut self.spare;
            push(trace, now, || Event::Metrics(metrics(spare.pop().unwrap_or_default())));
        }
    }
}

#[cold]
fn push(trace: &mut Trace, now: Time, event: impl FnOnce() -> Event) {
    trace.push((now, event()));
}
