//! SCReAMv2, self-clocked rate adaptation for multimedia: draft-ietf-ccwg-rfc8298bis-screamv2
//! (editors' copy d30e8b8a of August 2026, after -01), formerly
//! draft-johansson-ccwg-rfc8298bis-screamv2.
//!
//! ```text
//! ref_wnd       the reference window, see `window`                                         bytes           section 4.2.2
//! l4s_alpha, qdelay_avg, ref_wnd_delay_scale   see `detect`                                                4.2.1.3, 4.2.1.4
//! qdelay_target see `target`                                                               seconds         4.5.4
//! bytes in flight <= ref_wnd * ref_wnd_overhead,
//!                   ref_wnd_overhead = 1.5 + (3 - 1.5) ref_wnd_delay_scale                                 4.3.1
//!
//! target_bitrate = 8 ref_wnd / s_rtt / 1.2 * MSS / (MSS + 20) * (1 - clamp(MSS / ref_wnd - 0.1, 0, 0.2))
//!                  within its limits                                                       bit/s           4.4
//! pacing rate    = pacing_headroom * target_bitrate                                                        4.3.2
//! ```
//!
//! The section numbers are those of the headings, counted in the text. The pacing rate is the rate
//! of the media: there is no encoder before the sender. Where an application itself limits its rate
//! to `target_bitrate`, `pacing-headroom = 1.5` is the draft's pacing. The terms for the queue
//! before the sender and for varying frames are 0, for the same reason.
//!
//! With `is-l4s = true` packets carry ECT(1). Otherwise marks are those of classic ECN, as by default
//! in the draft, if the flow asks for them.
//!
//! l4s_alpha rises by an eighth and falls by 1/128. A flow with one packet per update and a share p
//! of marks therefore has 16 p / (1 + 15 p), not p: beside a faster flow it stays slow.
//!
//! Where the text is open: ACKs are the feedback. The window is updated at an ACK once 10 ms or an
//! RTT have passed since the last update, and at once after a loss or a mark, as in
//! EricssonResearch/scream (commit c8f84c3d). "The reference window is increased once per RTT" and
//! the pseudocode disagree, but the increments of an RTT add up to the same. The optional parts are
//! parameters: jitter (`reduce-jitter`), losses of a link (`loss-rate-threshold`), competing flows
//! (`competing-flows`) and clock drift (`clock-drift`). Competing flows are on, because the draft
//! expects basically no throughput beside loss-based flows without them. Clock drift is on, because
//! a flow that finds the queue of another one takes it as base delay, and starves the other one
//! until that one measures anew. The 50 ms of competing flows are RFC 8298's. The repository
//! differs from the draft: 30 ms instead of 25 ms between two reductions, 0.3 s for the largest
//! target, 200 RTTs of caution, 0.1 as the first l4s_alpha. The draft decides.
//!
//! Deviations: without receive times there is no qdelay. The MSS is the datagram size. Window bytes
//! include headers if the sender counts them. The receiver's part, several streams, policers, and
//! relaxed pacing near the largest rate are left out, also the smaller reduction while the target
//! is below the acknowledged rate. Losses are those found by the sender. Persistent congestion or a
//! timeout sets the window to its minimum.

mod detect;
mod params;
mod target;
#[cfg(test)]
mod tests;
mod window;

use self::detect::{Marks, Queue};
pub use self::params::Params;
use self::target::Target;
use self::window::{Path, RefWindow};
use crate::components::queuing_delay::{BaseDelay, QueuingDelay};
use crate::{Ack, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo, Sent};
use units::{Duration, Ecn, Rate, Time};

crate::variables! {
    /// Reference window. Section 4.2.2.
    ref_wnd: "bytes",
    /// Inflection point of the reference window, from the first congestion on. Section 4.2.2.
    ref_wnd_i: "bytes"; later,
    /// Target bitrate. Section 4.4.
    target_bitrate: "bit/s",
    /// Average queue delay. Section 4.2.1.4.
    qdelay_avg: "s",
    /// Target of the queue delay. Section 4.5.4.
    qdelay_target: "s",
    /// Average share of marked packets, 0..1. Section 4.2.1.3.
    l4s_alpha: "",
}

/// Shortest time at half of the rate while the base delay is measured anew. Section 4.5.1.
const DRAIN: Duration = Duration::from_millis(200);
/// RTT before the first sample: kInitialRtt, RFC 9002 appendix A.2.
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// The controller. Windows are in bytes.
#[derive(Clone, Debug)]
pub struct ScreamV2 {
    params: Params,
    mds: u64,
    srtt: Duration,
    delay: QueuingDelay,
    window: RefWindow,
    marks: Marks,
    queue: Queue,
    target: Target,
    /// Average share of lost packets.
    loss_rate: f64,
    target_bitrate: f64,
    updated: Option<Time>,
    /// End of the time in which the base delay is measured anew.
    drains_until: Time,
}

impl ScreamV2 {
    /// Creates a controller with the smallest window.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let mut cc = Self {
            mds: path.max_datagram_size.max(1),
            srtt: INITIAL_RTT,
            delay: QueuingDelay::new(BaseDelay::Windowed, params.base_window),
            window: RefWindow::new(params.min_ref_wnd.0 as f64),
            marks: Marks::default(),
            queue: Queue::default(),
            target: Target::new(&params),
            loss_rate: 0.0,
            target_bitrate: 0.0,
            updated: None,
            drains_until: Time::ZERO,
            params,
        };
        cc.update_rate(Time::ZERO);
        cc
    }

    fn path(&self) -> Path {
        Path {
            mss: self.mds as f64,
            srtt: self.srtt,
            qdelay: self.queue.qdelay,
            qdelay_avg: self.queue.avg,
            qdelay_target: self.target.seconds,
            l4s_alpha: self.marks.alpha,
            delay_scale: self.queue.scale,
            may_grow: self.target_bitrate < self.params.target_bitrate_max.0 as f64,
        }
    }

    /// Updates the estimates that the window depends on.
    fn measure(&mut self, ack: &Ack) {
        let Params { virtual_rtt, .. } = self.params;
        self.srtt = ack.smoothed_rtt.max(Duration(1));
        for packet in ack.packets {
            if let Some(qdelay) = self.delay.on_packet(packet) {
                self.queue.sample(qdelay.max(0) as f64 * 1e-9, self.target.seconds, &self.params);
            }
            self.count(false);
        }
        self.marks.on_ack(ack.now, self.srtt, ack, &self.params);
        self.queue.update(ack.now, virtual_rtt.min(self.srtt), &self.params);
        self.target.update(ack, self.queue.qdelay, &self.params);
        if self.params.clock_drift && ack.round_start && self.queue.drifts(self.target.seconds) {
            self.delay.reset();
            self.drains_until = ack.now + (self.srtt * 5).max(DRAIN);
        }
    }

    /// Counts a packet in the loss rate. Section 4.5.2.
    fn count(&mut self, lost: bool) {
        let Some(threshold) = self.params.loss_rate_threshold else { return };
        let weight = (threshold / 4.0).min(self.mds as f64 / self.window.ref_wnd / 2.0);
        self.loss_rate += weight * (f64::from(u8::from(lost)) - self.loss_rate);
    }

    /// Reports whether losses are a sign of congestion.
    fn loss_counts(&self) -> bool {
        let deep = self.queue.avg > self.target.seconds / 4.0;
        self.params.loss_rate_threshold.is_none_or(|threshold| self.loss_rate > threshold || deep)
    }

    /// Derives the target bitrate from the window. Section 4.4.
    fn update_rate(&mut self, now: Time) {
        let Params { packet_overhead, rate_margin, target_bitrate_min, target_bitrate_max, .. } = self.params;
        let mss = self.mds as f64;
        let ratio = (mss / self.window.ref_wnd).min(1.0);
        let small = 1.0 - (ratio - 0.1).clamp(0.0, 0.2);
        let small = if now < self.drains_until { small / 2.0 } else { small };
        let scale = small * mss / (mss + packet_overhead.0 as f64) / rate_margin;
        let rate = scale * 8.0 * self.window.ref_wnd / self.srtt.as_secs_f64();
        // In this order, a minimum above the maximum does not panic.
        self.target_bitrate = rate.min(target_bitrate_max.0 as f64).max(target_bitrate_min.0 as f64).max(1.0);
    }
}

impl Controller for ScreamV2 {
    fn needs(&self) -> Needs {
        let l4s = self.params.is_l4s;
        let ecn = if l4s { Ecn::Ect1 } else { Ecn::NotEct };
        Needs { receive_times: true, mark_counts: l4s, ecn, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.window.on_sent(sent.bytes_in_flight as f64);
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.measure(ack);
        self.window.on_ack(ack);
        let interval = self.params.update_interval.min(self.srtt);
        let due = self.updated.is_none_or(|then| ack.now - then >= interval);
        if due || self.window.is_congested() {
            self.updated = Some(ack.now);
            let path = self.path();
            self.window.update(ack.now, &path, &self.params);
            self.update_rate(ack.now);
        }
        if ack.round_start {
            self.window.end_round();
        }
        None
    }

    fn on_lost(&mut self, lost: &Lost) {
        for _ in lost.packets {
            self.count(true);
        }
        self.target.on_loss();
        if self.loss_counts() {
            self.window.loss_detected = true;
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.cause {
            Cause::Ecn => self.window.marked = true,
            Cause::PersistentCongestion | Cause::Timeout => {
                self.window.ref_wnd = self.params.min_ref_wnd.0 as f64;
                self.update_rate(event.now);
            }
            _ => {}
        }
    }

    /// The rate controls the sender, so the window must not be changed in recovery.
    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.mds = path.max_datagram_size.max(1);
    }

    fn control(&self) -> Control {
        let Params { ref_wnd_overhead_min, ref_wnd_overhead_max, pacing_headroom, .. } = self.params;
        let range = ref_wnd_overhead_max - ref_wnd_overhead_min;
        let overhead = ref_wnd_overhead_min + range * self.queue.scale;
        let cwnd = (self.window.ref_wnd * overhead) as u64;
        let pacing_rate = Some(Rate(((pacing_headroom * self.target_bitrate) as u64).max(1)));
        Control { pacing_rate, ..Control::window(cwnd.max(self.mds)) }
    }

    /// Reports the variables under the draft's names.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("ref_wnd", self.window.ref_wnd);
        if let Some(inflection) = self.window.inflection {
            put("ref_wnd_i", inflection);
        }
        put("target_bitrate", self.target_bitrate);
        put("qdelay_avg", self.queue.avg);
        put("qdelay_target", self.target.seconds);
        put("l4s_alpha", self.marks.alpha);
    }
}
