//! BBRv1, draft-cardwell-iccrg-bbr-congestion-control-00 (July 2017), with the additions of Linux's
//! tcp_bbr.c (version 6). Names are those of Linux, sections those of the draft.
//!
//! ```text
//!   Startup --3 flat rounds--> Drain --inflight <= BDP--> ProbeBW <--> ProbeRTT
//!                                                            no lower RTT for 10 s
//!
//! bw            max delivery rate of the last 10 rounds; bytes per second                     (4.1.1.5)
//! min_rtt       min RTT of the last 10 s; seconds                                             (4.1.2.3)
//! extra_acked   max over 5 to 10 rounds of bytes acknowledged beyond bw * time, <= bw * 100 ms    Linux
//! lt_bw         a policer's rate, instead of bw: see `policer`                                    Linux
//! full pipe     bw < 1.25 * last reference for 3 rounds not limited by the application       (4.3.2.2)
//! pacing_rate   gain * bw * 0.99; only rises until the pipe has been full                     (4.2.1, Linux)
//! target        gain * bw * min_rtt + extra_acked + 3 send quanta, even number of packets     (4.2.3.2, Linux)
//! cwnd          min(cwnd + acked, target), at least 4 packets; in ProbeRTT at most 4         (4.2.3.6)
//! recovery      first round: one packet sent per packet delivered; cwnd restored at its end   (4.2.3.4)
//! timeout       cwnd = inflight + 1 packet (draft: 1), full_bw reset; bw, min_rtt unchanged   (4.2.3.4, Linux)
//!
//!               Startup    Drain    ProbeBW                                       ProbeRTT
//! pacing gain   2.885      0.3466   1.25, 0.75, 1, 1, 1, 1, 1, 1                  1
//! cwnd gain     2.885      2.885    2                                             1
//!
//! ProbeBW begins with a random phase, but not with 0.75. A phase ends when more than min_rtt has passed, and
//!   gain > 1    something was lost or inflight >= gain * BDP
//!   gain < 1    or as soon as inflight <= BDP                                                 (4.3.4)
//! ProbeRTT      at most 4 packets in flight for 200 ms and one round                          (4.3.5)
//!               `probe_rtt = false`: the first sample after 10 s replaces the minimum           Linux
//! idle restart  pacing gain 1, and no ProbeRTT before the next ACK                            (4.3.4.4)
//! ```
//!
//! Losses change neither rate nor BDP. CE marks have no effect.
//!
//! Deviations:
//! 1. Linux's additions are parameters: `pacing_margin`, `extra_acked_gain`, `policer`,
//!    `round_up_packets`, `probe_up_extra`. With 0, 0, false, 1, 0 the behaviour is the draft's.
//! 2. CE marks are ignored, as in the draft and in Linux, although RFC 9002 section 7.1 requires a
//!    response.
//! 3. `min_rtt` and its time stamp are updated by a lower sample (Linux since 5.10,
//!    `bbr_update_min_rtt`), not by an equal one (draft, Linux up to 5.9: `min_rtt_slack = 0`). In
//!    a simulator without noise, equal samples would postpone ProbeRTT for ever. The only packet of
//!    a round, whose ACK may have been delayed, does not replace an expired minimum (Linux).
//! 4. The windowed maxima are exact. Linux's two windows of `extra_acked` are a maximum over two
//!    ticks of five rounds; Linux's limit on the length of an aggregation interval (2^20 packets)
//!    is not implemented.
//! 5. ProbeRTT marks its packets as application-limited in the controller, not in the sender.
//! 6. Recovery ends no sooner than one round after it began, also after a timeout. QUIC has no
//!    retransmission timeout: its persistent congestion is one.
//! 7. The first RTT sample computes the initial pacing rate again (Linux).
//! 8. Startup compared with Linux 6.18 (10 Mbit/s, 50 ms, through the emulator). With the
//!    handshake's RTT as first sample, the window peaks at Linux's 128 packets. Without it the peak
//!    is 131, because the first RTT is then that of a full packet. With `unpaced_packets = 10` the
//!    first round has Linux's RTTs. With a queue of 1 BDP, 90 packets are lost here; Linux loses 90
//!    to 93, once 140. With half a BDP, 190 are lost here. In 16 runs Linux lost 123 to 131 ten
//!    times and 176 to 196 six times, depending on one more flat round. Remaining differences:
//!    Linux's gains are multiples of 1/256 (2.887, 0.344). Its initial pacing rate includes the
//!    margin. It uses the packets in the network when the next packet is sent
//!    (`bbr_packets_in_net_at_edt`), not those in flight now. A sample shorter than min_rtt starts
//!    no round in Linux. Its recovery ends when everything sent before it has been acknowledged.
//! 9. A spurious loss ends recovery, restores `cwnd` and restarts the searches for the full pipe
//!    and for a policer (Linux).

mod bandwidth;
mod cycle;
mod params;
mod policer;
mod probe_rtt;
#[cfg(test)]
mod tests;
mod window;

pub use params::Params;

use crate::algorithms::bbr::common::aggregation::Aggregation;
use crate::algorithms::bbr::common::filters::{MinRtt, WindowedMax};
use crate::algorithms::bbr::common::full_pipe::FullPipeSearch;
use crate::algorithms::bbr::common::probe_rtt::ProbeRtt;
use crate::algorithms::bbr::common::rounds::Rounds;
use crate::algorithms::bbr::common::window::{Window, restarts_from_idle};
use crate::algorithms::bbr::scale::Scale;
use crate::{
    Ack, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo, STATE, Sent,
    initial_window_or_default,
};
use cycle::{Cycle, Mode};
use policer::Policer;
use units::{Rng, Time};

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = Mode::NAMES;

crate::variables! {
    /// Largest delivery rate of recent rounds, BtlBw. Draft section 4.1.1.5.
    max_bw: "bit/s",
    /// Bandwidth used by the model: `max_bw`, or a policer's rate. Linux bbr_bw.
    bw: "bit/s",
    /// Smallest RTT of the last 10 s, RTprop. Draft section 4.1.2.3.
    min_rtt: "s",
    /// Most bytes recently acknowledged beyond the estimated rate. Linux bbr_extra_acked.
    extra_acked: "bytes",
    /// Gain of the pacing rate. Draft section 4.2.1.
    pacing_gain: "",
    /// Gain of the window. Draft section 4.2.3.
    cwnd_gain: "",
    /// Whether the pipe has been full, which ends Startup, 0 or 1. Draft section 4.3.2.2; Linux
    /// bbr_full_bw_reached.
    filled_pipe: "",
    /// Rounds without significant growth of the rate. Draft section 4.3.2.2; Linux full_bw_cnt.
    full_bw_count: "rounds",
    /// Whether a policer's rate is used, 0 or 1. Linux lt_use_bw.
    lt_use_bw: "",
}

/// The controller. Windows are in bytes.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    params: Params,
    mds: u64,
    rng: Rng,
    mode: Mode,
    cycle: Cycle,
    scale: Scale,
    rounds: Rounds,
    bw_filter: WindowedMax,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    full_pipe: FullPipeSearch,
    full_bw_reached: bool,
    policer: Policer,
    probe_rtt: ProbeRtt,
    window: Window,
    /// Whether the next ACK starts a round of packet conservation.
    conservation_begins: bool,
    /// Whether the packets in flight are the first after an idle time. Nothing was in flight, so
    /// ProbeRTT is not needed.
    idle_restart: bool,
    /// Packets still to be sent unpaced.
    unpaced: u64,
    /// Bytes lost since the start.
    total_lost: u64,
    /// Time of the last ACK.
    delivered_time: Time,
}

impl Bbr1 {
    /// Creates a controller in Startup with the initial window (`BBRInit`).
    pub fn new(params: Params, path: PathInfo) -> Self {
        let p = &params;
        let mut cc = Self {
            mds: path.max_datagram_size,
            rng: Rng::stream(path.seed, "bbr1"),
            mode: Mode::Startup,
            cycle: Cycle::default(),
            scale: Scale::NONE,
            rounds: Rounds::default(),
            bw_filter: WindowedMax::new(p.bw_filter_len),
            min_rtt: MinRtt::new(),
            aggregation: Aggregation::new(p.extra_acked_windows),
            full_pipe: FullPipeSearch::default(),
            full_bw_reached: false,
            policer: Policer::default(),
            probe_rtt: ProbeRtt::default(),
            window: Window::new(
                initial_window_or_default(p.initial_window, path.max_datagram_size),
                path.max_datagram_size,
                p.high_gain,
                p.initial_rtt,
            ),
            conservation_begins: false,
            idle_restart: false,
            unpaced: p.unpaced_packets,
            total_lost: 0,
            delivered_time: Time::ZERO,
            params,
        };
        cc.set_send_quantum();
        cc
    }
}

impl Controller for Bbr1 {
    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    /// `bbr_cwnd_event`: the pipe is empty, so pacing returns to the estimated rate at once.
    fn on_sent(&mut self, sent: &Sent) {
        self.window.inflight = sent.bytes_in_flight;
        self.unpaced = self.unpaced.saturating_sub(1);
        if !restarts_from_idle(sent) {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(sent.now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(1.0),
            Mode::ProbeRtt => self.check_probe_rtt_done(sent.now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Implements `bbr_main`.
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.window.inflight = ack.bytes_in_flight;
        let rs = self.probe_rtt.mark(ack.rate);
        self.init_pacing_rate(ack);
        self.update_bw(ack, &rs);
        self.update_ack_aggregation(ack);
        self.update_cycle_phase(ack);
        self.check_full_bw_reached(&rs);
        self.check_drain(ack);
        self.update_min_rtt(ack, &rs);
        self.check_probe_rtt(ack);
        self.update_control_parameters(ack, &rs);
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.cause {
            Cause::Loss if !self.window.in_recovery => self.enter_recovery(true),
            Cause::Timeout | Cause::PersistentCongestion => self.on_timeout(event.now),
            Cause::Loss | Cause::Ecn | Cause::Delay => {}
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.window.on_lost(lost);
        self.rounds.delivered = lost.delivered;
        self.total_lost = lost.total_lost;
    }

    /// Implements `bbr_undo_cwnd`.
    fn on_spurious(&mut self) {
        if self.window.in_recovery {
            self.full_pipe = FullPipeSearch::default();
            self.policer.reset(&self.evidence(false, false, false));
            self.window.undo_recovery();
        }
    }

    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let mds = path.max_datagram_size;
        let initial = initial_window_or_default(self.params.initial_window, mds);
        self.window.on_path_change(mds, initial, self.params.min_pipe_cwnd);
        self.mds = mds;
    }

    fn control(&self) -> Control {
        self.window.control(
            self.mode == Mode::Startup,
            self.window.send_quantum.max(self.unpaced.saturating_mul(self.mds)),
        )
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put(STATE, self.mode.number());
        put("max_bw", self.max_bw().0 as f64);
        put("bw", self.bw().0 as f64);
        put("min_rtt", self.min_rtt.min_rtt.as_secs_or_infinite());
        put("extra_acked", self.aggregation.extra_acked() as f64);
        put("pacing_gain", self.pacing_gain());
        put("cwnd_gain", self.cwnd_gain());
        put("filled_pipe", f64::from(u8::from(self.full_bw_reached)));
        put("full_bw_count", self.full_pipe.full_bw_count as f64);
        put("lt_use_bw", f64::from(u8::from(self.policer.lt_use_bw)));
    }
}
