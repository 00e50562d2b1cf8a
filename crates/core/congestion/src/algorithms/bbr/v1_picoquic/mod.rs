//! BBRv1 of picoquic (`bbr.c`, with `cc_common.c` and `frames.c`) at commit b7bf3ded (29 June
//! 2023): the native BBR of the stack of "Fairness improvement method using explicit congestion
//! notification for QUIC" (Uchida et al., IEICE ComEX, April 2024). Unlike
//! [`bbr1`](crate::algorithms::bbr::v1) it responds to CE marks and heavy loss, and has no
//! recovery.
//!
//! ```text
//! btl_bw       max over 10 rounds of the delivery rate; at least 2 * 1536 bytes per rt_prop, in Startup peak / 2
//! peak         highest rate between two ACKs at least 1 ms apart; bytes per second
//! rt_prop      min RTT without the ACK delay; expires after 10 s and 20 rt_prop without a sample below 1.05 of it
//! full pipe    btl_bw < 1.25 * last reference for 3 rounds not limited by the application
//! pacing_rate  gain * btl_bw; only rises until the pipe has been full
//! target       gain * btl_bw * rt_prop + 3 send quanta
//! cwin         min(cwin + acked, target), at least 4 packets; in ProbeRTT at most 4
//! quantum      1 packet below 1.2 Mbit/s, 2 below 24, then 1 ms of the rate, at most 64 kB
//!
//!              Startup    Drain     ProbeBW                                       ProbeRTT
//! pacing gain  2.88539    0.34657   1, 1, 1, 1, 1, 1, 1.25, 0.75                  1
//! cwnd gain    2.88539    2.88539   2                                             1
//!
//! a phase ends after rt_prop, or at once after a congestion event, if, with inflight as after the previous ACK,
//!   gain > 1   inflight >= gain * BDP + 3 quanta
//!   gain < 1   inflight <= BDP + 3 quanta
//! after the last phase the cycle continues at `start`: one later than before if btl_bw has risen in it (at most 5), else
//!   one earlier. ProbeBW is entered one phase after `start` = 2; above 100 ms, `start` is rt_prop / 100 ms, with 610 ms at most
//! ProbeRTT     at most 4 packets in flight for 200 ms and one round
//!
//! congestion event: a CE mark; a loss once s > 0.2 (see `picoquic`); a timeout
//!   cwin /= 2, at least 2 * 1536 bytes; a timeout sets it to that minimum
//!   in Startup: Drain, the pipe counts as full;  else: the current phase may end at once
//! ignored: packets sent before the last event; an event less than srtt after the last or in the phase that
//!   may end early, except a timeout that does not follow a timeout
//! ```
//!
//! The other half of the window returns after a round of ACKs. So a mark costs BBR that round and
//! the phase in which it occurred.
//!
//! **The sender's recovery period.** The sender opens one at the first lost or marked packet, which
//! this controller may ignore. Therefore it handles losses in `on_lost`, marks in `on_ack`, and
//! only timeouts and persistent congestion in `on_congestion`. The window grows by the
//! acknowledged bytes.
//!
//! Deviations: there is no `startup_long_rtt`, the HyStart that replaces Startup above 50 ms. There
//! is no policer detection (`lt_bw`), which requires a fifth of the packets to be lost. There is no
//! larger gain for a BDP below 4 * 1536 bytes. Before the first bandwidth sample the pacing rate is
//! `high_gain` times the initial window per RTT, as in `bbr1`. Losses are processed before the ACK
//! that reveals them, in picoquic after it. RTTs are used always, one-way delays never. Persistent
//! congestion is treated as a timeout.

mod bandwidth;
mod cycle;
mod event;
mod params;
mod probe_rtt;
#[cfg(test)]
mod tests;
mod window;

pub use params::Params;

use crate::algorithms::bbr::common::full_pipe::FullPipeSearch;
use crate::algorithms::bbr::common::probe_rtt::ProbeRtt;
use crate::algorithms::bbr::common::rounds::{NO_SAMPLE, Rounds};
use crate::algorithms::bbr::common::window::Window;
use crate::components::picoquic::LossFilter;
use crate::{Ack, Cause, Congestion, Control, Controller, Detection, Lost, Needs, PathInfo, STATE, Sent};
use alloc::collections::VecDeque;
use bandwidth::{BtlBw, Peak};
use cycle::Cycle;
use units::{Duration, Rate, Time};

crate::states! {
    /// `picoquic_bbr_alg_state_t`.
    enum State {
        Startup = "Startup",
        Drain = "Drain",
        ProbeBw = "ProbeBW",
        ProbeRtt = "ProbeRTT",
    }
}

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = State::NAMES;

crate::variables! {
    /// Bandwidth of the bottleneck, btl_bw. picoquic bbr.c.
    max_bw: "bit/s",
    /// Smallest RTT, rt_prop. picoquic bbr.c.
    min_rtt: "s",
    /// Gain of the pacing rate. picoquic bbr.c.
    pacing_gain: "",
    /// Gain of the window. picoquic bbr.c.
    cwnd_gain: "",
    /// Whether the pipe has been full, 0 or 1. picoquic bbr.c.
    filled_pipe: "",
    /// Number of the phase with which the cycle of gains begins, from 0. picoquic bbr.c.
    cycle_start: "",
    /// Smoothed loss rate, s, 0..1, which decides whether losses count. picoquic cc_common.c.
    drop_rate: "",
}

/// The controller. Windows are in bytes.
#[derive(Clone, Debug)]
pub struct Bbr1Picoquic {
    params: Params,
    mds: u64,
    state: State,
    rounds: Rounds,
    btl_bw: BtlBw,
    peak: Peak,
    /// Minimum RTT. [`Duration::MAX`] before the first sample.
    rt_prop: Duration,
    rt_prop_stamp: Time,
    full_pipe: FullPipeSearch,
    filled_pipe: bool,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    window: Window,
    /// Bytes in flight after the previous ACK.
    prior_in_flight: u64,
    loss_filter: LossFilter,
    /// Time of the last congestion event, and whether it was a timeout.
    last_event: Option<(Time, bool)>,
    /// Next packet number at that event, and now.
    congestion_pn: u64,
    next_pn: u64,
    srtt: Duration,
}

impl Bbr1Picoquic {
    /// Creates a controller in Startup (`picoquic_bbr_reset`).
    pub fn new(params: Params, path: PathInfo) -> Self {
        let p = &params;
        let initial = p.initial_window.0.max(path.max_datagram_size);
        let btl_bw = BtlBw {
            len: p.bw_filter_len.max(1) as usize,
            rounds: VecDeque::new(),
            estimate: 0,
            increased: false,
        };
        let mut cc = Self {
            mds: path.max_datagram_size,
            state: State::Startup,
            rounds: Rounds::default(),
            btl_bw,
            peak: Peak::default(),
            rt_prop: Duration::MAX,
            rt_prop_stamp: Time::ZERO,
            full_pipe: FullPipeSearch::default(),
            filled_pipe: false,
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::default(),
            window: Window::new(initial, path.max_datagram_size, p.high_gain, p.initial_rtt),
            prior_in_flight: 0,
            loss_filter: LossFilter::new(p.loss_threshold, p.loss_gain, p.loss_scope),
            last_event: None,
            congestion_pn: 0,
            next_pn: 0,
            srtt: Duration::ZERO,
            params,
        };
        cc.set_send_quantum();
        cc
    }

    fn bw(&self) -> Rate {
        Rate(self.btl_bw.max())
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.high_gain,
            State::Drain => 1.0 / self.params.high_gain,
            State::ProbeBw => self.params.pacing_gain_cycle[self.cycle.index],
            State::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => self.params.high_gain,
            State::ProbeBw => self.params.cwnd_gain,
            State::ProbeRtt => 1.0,
        }
    }
}

impl Controller for Bbr1Picoquic {
    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.next_pn = sent.pn + 1;
    }

    /// Handles marks, then runs `BBRUpdateOnACK`.
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        // In picoquic, late packets acknowledge nothing.
        let ack = &Ack { late: 0, ..*ack };
        let newest = ack.packets.last().map_or(0, |p| p.pn);
        self.srtt = ack.smoothed_rtt;
        if ack.ce > 0 && self.params.ecn && newest >= self.congestion_pn {
            self.congestion(ack.now, false);
        }
        if ack.acked == 0 {
            return None;
        }
        if self.rt_prop == Duration::MAX {
            self.window.init_pacing_rate(self.params.high_gain, ack.latest_rtt);
        }
        let rs = ack.rate.unwrap_or(NO_SAMPLE);
        self.update_btl_bw(ack, &rs);
        if self.state == State::ProbeBw && self.is_next_cycle_phase(ack.now) {
            self.advance_cycle_phase(ack.now);
        }
        self.check_drain(ack, &rs);
        let expired = self.update_rt_prop(ack);
        self.check_probe_rtt(ack, expired);
        self.update_control_parameters(ack);
        self.prior_in_flight = ack.bytes_in_flight;
        None
    }

    fn on_lost(&mut self, lost: &Lost) {
        for packet in lost.packets.iter().filter(|p| p.detection != Detection::Timeout) {
            // Losses of packets sent before the last event are not even counted.
            if packet.pn >= self.congestion_pn && self.loss_filter.add(packet.pn) {
                self.congestion(lost.now, false);
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.cause {
            Cause::PersistentCongestion | Cause::Timeout => self.congestion(event.now, true),
            // Losses are handled in `on_lost`, marks in `on_ack`.
            Cause::Loss | Cause::Ecn | Cause::Delay => {}
        }
    }

    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let (mds, p) = (path.max_datagram_size, &self.params);
        self.window.on_path_change(mds, p.initial_window.0.max(mds), p.min_pipe_cwnd);
        self.mds = mds;
    }

    fn control(&self) -> Control {
        self.window.control(self.state == State::Startup, self.window.send_quantum)
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put(STATE, self.state.number());
        put("max_bw", self.bw().0 as f64);
        put("min_rtt", self.rt_prop.as_secs_or_infinite());
        put("pacing_gain", self.pacing_gain());
        put("cwnd_gain", self.cwnd_gain());
        put("filled_pipe", f64::from(u8::from(self.filled_pipe)));
        put("cycle_start", self.cycle.start as f64);
        put("drop_rate", self.loss_filter.smoothed);
    }
}
