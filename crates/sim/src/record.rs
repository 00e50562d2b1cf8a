//! What one flow's run leaves behind: counters inside the measuring window, distributions, packet events.

use congestion::{Cause, Control, Detection, Duration, Time};
use recovery::{Ecn, EcnCounts, Sender, Stats};

use crate::application::Application;
use crate::histogram::Histogram;
use crate::mean::Mean;
use crate::packet::{Chunk, Data, Feedback, Says};
use crate::queue_delay::QueueDelay;
use crate::scenario::{Scenario, Window};
use crate::timers::TimerMeans;
use crate::trace::{Ack, Event, Handshake, Metrics, Trace};

/// Totals of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Stream bytes that arrived for the first time.
    pub delivered: u64,
    /// Stream bytes sent, repeats included.
    pub sent: u64,
    /// Bytes sent, as they are on the wire.
    pub wire: u64,
    /// Packets sent.
    pub packets: u64,
    /// Those of them that held an ACK alone, for a PING of the receiver.
    pub acks: u64,
    /// Those of these that the first link dropped.
    pub acks_dropped: u64,
    /// Packets that the path dropped.
    pub dropped: u64,
    /// Feedback packets that entered the links of the way back.
    pub feedback: u64,
    /// Those that the path dropped.
    pub feedback_dropped: u64,
    /// RTT samples.
    pub rtt: Histogram,
    /// The estimator's `rttvar` after each of them (RFC 9002 section 5.3).
    pub rtt_variation: Mean,
    /// Packets with a repeated payload, all of which had arrived when they left: the sender did not know it.
    pub redundant: u64,
    /// Time each packet spent in the queues of its links and on their wires.
    pub queue_delay: QueueDelay,
    /// From a packet's departure at the sender to its arrival at the receiver, by the simulator's clock.
    pub owd: Histogram,
    /// Timers of loss recovery.
    pub timers: TimerMeans,
}

/// What became of the frames of a media source inside the measuring window; each counts when its fate is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MediaTotals {
    /// Bytes of video that the encoder made.
    pub made: u64,
    /// Frames that arrived.
    pub complete: u64,
    /// Frames that waited too long to be sent.
    pub skipped: u64,
    /// Frames of which a packet was lost.
    pub lost: u64,
    /// From capture to the arrival of the last packet.
    pub delay: Histogram,
}

/// Short transfers that were completed inside the measuring window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectTotals {
    /// From the first byte offered to the last byte arrived.
    pub time: Histogram,
}

/// The record of one flow.
#[derive(Clone, Debug)]
pub struct Record {
    /// First packet.
    pub started: Time,
    /// Last byte arrived, or the flow was stopped.
    pub finished: Option<Time>,
    /// Since the start, whatever the measuring window.
    pub delivered: u64,
    /// Marks that arrived with its packets, since the start.
    pub ecn: EcnCounts,
    /// Inside the measuring window.
    pub totals: Totals,
    /// Of the ledger, since the start.
    pub stats: Stats,
    /// The largest window of the first slow start, bytes.
    pub slow_start_window: u64,
    /// The smallest window that a reduction left, bytes.
    pub least_window: Option<u64>,
    /// Of a media source.
    pub media: Option<MediaTotals>,
    /// Bytes of video that the encoder made since the start.
    pub(crate) made: u64,
    /// Of an on-off source.
    pub objects: Option<ObjectTotals>,
    /// Packet events of the sender's end, if recorded.
    pub trace: Option<Trace>,
    /// Those of the receiver's end.
    pub far_trace: Option<Trace>,
    /// One-way delay of the newest packet that arrived since somebody asked.
    owd: Option<Duration>,
    slow_start_over: bool,
    window: Window,
}

impl Record {
    /// Of a flow that has not begun.
    pub fn new(application: &Application, scenario: &Scenario) -> Self {
        Self {
            started: Time::NEVER,
            finished: None,
            delivered: 0,
            ecn: EcnCounts::default(),
            totals: Totals::default(),
            stats: Stats::default(),
            slow_start_window: 0,
            least_window: None,
            media: matches!(application, Application::Media(_)).then(MediaTotals::default),
            made: 0,
            objects: matches!(application, Application::OnOff(_)).then(ObjectTotals::default),
            trace: scenario.trace.then(Vec::new),
            far_trace: scenario.trace.then(Vec::new),
            owd: None,
            slow_start_over: false,
            window: scenario.window(),
        }
    }

    /// How long the flow ran inside the measuring window, of a run that ended at `end`.
    pub fn measured(&self, end: Time) -> Duration {
        let until = self.finished.unwrap_or(end).min(self.window.to).min(end);
        until - self.started.max(self.window.from)
    }

    fn log(&mut self, now: Time, event: impl FnOnce() -> Event) {
        if let Some(trace) = &mut self.trace {
            trace.push((now, event()));
        }
    }

    /// A packet that counts `bytes` in the window and `size` on the wire.
    pub(crate) fn on_sent(&mut self, now: Time, pn: u64, bytes: u64, size: u32, chunk: &Chunk) {
        if self.window.holds(now) {
            self.totals.packets += 1;
            self.totals.sent += u64::from(chunk.len);
            self.totals.wire += u64::from(size);
        }
        self.log(now, || Event::Sent { pn, bytes: bytes as u32, offset: chunk.offset, len: chunk.len });
    }

    /// An Initial or a SYN of so many bytes on the wire.
    pub(crate) fn on_handshake_sent(&mut self, now: Time, packet: Handshake, size: u32) {
        self.log(now, || Event::Opens(packet));
        if self.window.holds(now) {
            self.totals.packets += 1;
            self.totals.wire += u64::from(size);
        }
    }

    /// A packet of so many bytes on the wire that holds an ACK alone.
    pub(crate) fn on_ack_sent(&mut self, now: Time, size: u32) {
        if self.window.holds(now) {
            self.totals.packets += 1;
            self.totals.acks += 1;
            self.totals.wire += u64::from(size);
        }
    }

    /// Such a packet finds no room on its first link.
    pub(crate) fn on_ack_dropped(&mut self, now: Time) {
        self.totals.acks_dropped += u64::from(self.window.holds(now));
        self.on_dropped(now);
    }

    #[inline]
    pub(crate) fn on_queued(&mut self, now: Time, link: usize, delay: Duration) {
        if self.window.holds(now) {
            self.totals.queue_delay.add(link, delay);
        }
    }

    pub(crate) fn on_dropped(&mut self, now: Time) {
        self.totals.dropped += u64::from(self.window.holds(now));
    }

    /// Feedback leaves for the links of the way back.
    pub(crate) fn on_feedback_sent(&mut self, now: Time) {
        self.totals.feedback += u64::from(self.window.holds(now));
    }

    pub(crate) fn on_feedback_dropped(&mut self, now: Time) {
        self.totals.feedback_dropped += u64::from(self.window.holds(now));
    }

    /// An Initial or a SYN arrives, and is answered at once.
    pub(crate) fn on_handshake_received(&mut self, now: Time, packet: Handshake) {
        self.log_far(now, || Event::Opened(packet));
        self.log_far(now, || Event::Opens(packet));
    }

    /// A packet arrives that counts `bytes` in the window.
    #[inline]
    pub(crate) fn on_packet(&mut self, now: Time, data: &Data, bytes: u32) {
        let Data { pn, chunk: Chunk { offset, len }, ecn, .. } = *data;
        self.log_far(now, || Event::Received { pn, bytes, offset, len, marked: ecn == Ecn::Ce });
    }

    /// Feedback leaves the receiver.
    pub(crate) fn on_feedback_leaving(&mut self, now: Time, feedback: &Feedback) {
        if let Some(ack) = self.far_trace.is_some().then(|| told(feedback)).flatten() {
            self.log_far(now, || Event::Acks(ack));
        }
    }

    fn log_far(&mut self, now: Time, event: impl FnOnce() -> Event) {
        if let Some(trace) = &mut self.far_trace {
            trace.push((now, event()));
        }
    }

    /// A packet arrives, `owd` after it left, with so many bytes that are new.
    pub(crate) fn on_received(&mut self, now: Time, owd: Duration, fresh: u64, ecn: Ecn) {
        self.ecn.add(ecn);
        self.delivered += fresh;
        self.owd = Some(owd);
        if self.window.holds(now) {
            self.totals.delivered += fresh;
            self.totals.owd.add(owd);
        }
    }

    /// The one-way delay of the newest packet that arrived since this was last asked.
    pub(crate) fn take_owd(&mut self) -> Option<Duration> {
        self.owd.take()
    }

    /// What to count of a media source, now.
    fn media(&mut self, now: Time) -> Option<&mut MediaTotals> {
        self.media.as_mut().filter(|_| self.window.holds(now))
    }

    pub(crate) fn on_frame_made(&mut self, now: Time, bytes: u64) {
        self.made += bytes;
        self.media(now).into_iter().for_each(|media| media.made += bytes);
    }

    pub(crate) fn on_frame_skipped(&mut self, now: Time) {
        self.media(now).into_iter().for_each(|media| media.skipped += 1);
    }

    pub(crate) fn on_frame_lost(&mut self, now: Time) {
        self.media(now).into_iter().for_each(|media| media.lost += 1);
    }

    /// It had been counted as lost at that time, too early.
    pub(crate) fn on_frame_complete(&mut self, now: Time, delay: Duration, lost: Option<Time>) {
        if let Some(media) = lost.and_then(|lost| self.media(lost)) {
            media.lost -= 1;
        }
        if let Some(media) = self.media(now) {
            media.complete += 1;
            media.delay.add(delay);
        }
    }

    pub(crate) fn on_object(&mut self, now: Time, time: Duration) {
        if let Some(objects) = self.objects.as_mut().filter(|_| self.window.holds(now)) {
            objects.time.add(time);
        }
    }

    /// A sample, and the `rttvar` that it leaves.
    pub(crate) fn on_rtt(&mut self, now: Time, rtt: Duration, variation: Duration) {
        if self.window.holds(now) {
            self.totals.rtt.add(rtt);
            self.totals.rtt_variation.add(variation);
        }
    }

    /// A repeat leaves of what had arrived.
    pub(crate) fn on_redundant(&mut self, now: Time) {
        self.totals.redundant += u64::from(self.window.holds(now));
    }

    pub(crate) fn on_lost(&mut self, now: Time, pn: u64, detection: Detection) {
        self.log(now, || Event::Lost { pn, detection });
    }

    /// Whether the window of the first slow start may still grow.
    #[inline]
    pub(crate) fn awaits_end_of_slow_start(&self) -> bool {
        !self.slow_start_over
    }

    /// What the controller says after an ACK or a timer that did or did not reduce its window.
    pub(crate) fn on_slow_start(&mut self, control: &Control, reduced: bool) {
        self.slow_start_over = !control.slow_start || reduced;
        if !reduced {
            self.slow_start_window = self.slow_start_window.max(control.cwnd);
        }
    }

    /// To `cwnd`.
    pub(crate) fn on_reduced(&mut self, now: Time, cause: Cause, cwnd: u64) {
        self.least_window = Some(self.least_window.map_or(cwnd, |least| least.min(cwnd)));
        self.log(now, || Event::Reduced(cause));
    }

    /// Feedback arrives; the reply of a handshake has so many bytes.
    pub(crate) fn on_feedback(&mut self, now: Time, feedback: &Feedback, handshake: u32) {
        self.log(now, || match told(feedback) {
            Some(ack) => Event::Acked(ack),
            None => Event::Opened(Handshake { number: feedback.number, bytes: handshake }),
        });
    }

    /// What the ledger would wait, after an ACK.
    #[inline]
    pub(crate) fn on_timers(&mut self, now: Time, sender: &Sender<Chunk>) {
        if self.window.holds(now) {
            self.totals.timers.add(&sender.timers());
        }
    }

    pub(crate) fn on_metrics(&mut self, now: Time, sender: &Sender<Chunk>, latest_rtt: Option<Duration>) {
        self.log(now, || {
            let control = sender.controller().control();
            let mut inner = Vec::new();
            sender.controller().trace(&mut |name, value| inner.push((name, value)));
            Event::Metrics(Metrics {
                cwnd: control.cwnd,
                bytes_in_flight: sender.bytes_in_flight(),
                latest_rtt,
                smoothed_rtt: sender.rtt().smoothed(),
                min_rtt: sender.rtt().min(),
                rttvar: sender.rtt().variation(),
                pacing_rate: control.pacing_rate.map(|r| r.0),
                inner,
            })
        });
    }
}

/// The ACK, if it is one.
fn told(feedback: &Feedback) -> Option<Ack> {
    let (ranges, delay) = match &feedback.says {
        Says::Quic(frame) => (frame.ranges.clone(), frame.ack_delay),
        Says::Tcp(ack) => (vec![(0, ack.cumulative)], Duration::ZERO),
        Says::Open => return None,
    };
    Some(Ack { number: feedback.number, ranges, delay })
}
