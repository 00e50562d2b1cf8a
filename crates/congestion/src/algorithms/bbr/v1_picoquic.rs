//! BBRv1 of picoquic (`bbr.c`, with `cc_common.c` and `frames.c`) at commit b7bf3ded (29 June 2023): the native BBR of the
//! stack of "Fairness improvement method using explicit congestion notification for QUIC" (Uchida et al., IEICE ComEX,
//! April 2024). Unlike [`bbr1`](crate::algorithms::bbr::v1) it answers CE marks and heavy loss, and knows no recovery.
//!
//! ```text
//! btl_bw       max over 10 rounds of the delivery rate; at least 2 * 1536 bytes per rt_prop, in Startup peak / 2
//! peak         most that has been acknowledged between two ACKs at least 1 ms apart; bytes per second
//! rt_prop      min RTT without the delay of the ACK; expired after 10 s and 20 rt_prop without a sample below 1.05 of it
//! full pipe    btl_bw < 1.25 of its last mark for 3 rounds that the application did not limit
//! pacing_rate  gain * btl_bw; only rises until the pipe has been full
//! target       gain * btl_bw * rt_prop + 3 send quanta
//! cwin         min(cwin + acked, target), at least 4 packets; ProbeRTT: at most 4
//! quantum      1 packet below 1.2 Mbit/s, 2 below 24, then 1 ms of the rate, at most 64 kB
//!
//!              Startup    Drain     ProbeBW                                       ProbeRTT
//! pacing gain  2.88539    0.34657   1, 1, 1, 1, 1, 1, 1.25, 0.75                  1
//! cwnd gain    2.88539    2.88539   2                                             1
//!
//! a phase ends after rt_prop, or at once after a congestion event, if, with what was in flight after the ACK before,
//!   gain > 1   inflight >= gain * BDP + 3 quanta
//!   gain < 1   inflight <= BDP + 3 quanta
//! after the last phase the cycle goes on at `start`: one later than before if btl_bw has risen in it (at most 5), else
//!   one sooner. ProbeBW is entered one phase behind `start` = 2; above 100 ms rt_prop / 100 ms, with 610 ms at most
//! ProbeRTT     at most 4 packets in flight for 200 ms and one round
//!
//! congestion event: a CE mark; a loss once s > 0.2 (see `picoquic`); a timeout
//!   cwin /= 2, at least 2 * 1536 bytes, which is what a timeout leaves
//!   Startup: Drain, the pipe counts as full;  else: the running phase may end at once
//! not answered: what left before the last event; an event less than srtt behind the last or in the phase that
//!   is to end early, but for a timeout that does not follow a timeout
//! ```
//!
//! Half the window is back after a round of ACKs: a mark costs BBR that round, and the phase in which it came.
//!
//! **The sender's recovery period.** The sender opens one at the first lost or marked packet, which this controller may
//! ignore: losses are judged in `on_lost`, marks in `on_ack`, `on_congestion` answers only collapses, and the window grows
//! by what is acknowledged.
//!
//! Deviations: no `startup_long_rtt`, the HyStart that replaces Startup above 50 ms; no policer detection (`lt_bw`), which
//! needs a fifth of the packets lost; no larger gain for a BDP below 4 * 1536 bytes. Before the first bandwidth sample the
//! pace is `high_gain` times the initial window per RTT, as in `bbr1`. Losses are heard before the ACK that shows them,
//! picoquic hears them behind it. RTTs always, never one-way delays. Persistent congestion is a timeout.

use alloc::collections::VecDeque;

use crate::algorithms::bbr::common::full_pipe::FullPipeSearch;
use crate::algorithms::bbr::common::probe_rtt::ProbeRtt;
use crate::algorithms::bbr::common::rounds::{NO_SAMPLE, Rounds};
use crate::algorithms::bbr::common::window::{Window, paced};
use crate::components::picoquic::{LossFilter, rtt_measurement};
use crate::{
    Ack, Cause, Congestion, Control, Controller, Detection, Lost, Needs, PathInfo, RateSample, Sent,
};
use crate::{Range, params};
use units::{Bytes, Duration, Rate, Time};

params! {
    /// Pacing and window gain in Startup; Drain's pacing gain is 1 / this. BBR_HIGH_GAIN: 2 / ln 2.
    high_gain: f64 = 2.885_390_081_777_9 => Range::FACTOR,
    /// Pacing gains of ProbeBW's phases. `bbr_pacing_gain_cycle`.
    pacing_gain_cycle: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25, 0.75] => Range::FACTOR,
    /// Window gain in ProbeBW. `BBREnterProbeBW`.
    cwnd_gain: f64 = 2.0 => Range::FACTOR,
    /// Phase of the cycle behind which ProbeBW is entered. `BBREnterProbeBW`.
    cycle_entry: u64 = 2 => Range::from(0.0).to(7.0),
    /// The last phase at which the cycle may go on. BBR_GAIN_CYCLE_MAX_START.
    cycle_max_start: u64 = 5 => Range::from(0.0).to(7.0),
    /// RTT above which ProbeBW is entered at a later phase. PICOQUIC_TARGET_RENO_RTT.
    target_rtt: Duration = Duration::from_millis(100),
    /// RTT beyond which it is no later. PICOQUIC_TARGET_SATELLITE_RTT.
    satellite_rtt: Duration = Duration::from_millis(610),
    /// Window of the bandwidth filter, round trips. BBR_BTL_BW_FILTER_LENGTH.
    bw_filter_len: u64 = 10 => Range::COUNT.to(1e3),
    /// Shortest time between two ACKs whose rate may be the peak. PICOQUIC_MAX_BANDWIDTH_TIME_INTERVAL_MIN.
    peak_interval: Duration = Duration::from_millis(1),
    /// Part of the peak that Startup takes for the bandwidth at least. `BBRUpdateBtlBw`.
    peak_share: f64 = 0.5 => Range::PART,
    /// Age at which the minimum RTT expires and ProbeRTT is due. BBR_PROBE_RTT_INTERVAL.
    probe_rtt_interval: Duration = Duration::from_secs(10),
    /// And so many of itself. `BBRUpdateRTprop`.
    probe_rtt_rtts: f64 = 20.0 => Range::from(0.0),
    /// What a sample may exceed the minimum RTT by, a share of it, and still make it young again. `BBRUpdateRTprop`: 1/20.
    rtt_slack: f64 = 0.05 => Range::PART,
    /// Least time with next to nothing in flight. BBR_PROBE_RTT_DURATION.
    probe_rtt_duration: Duration = Duration::from_millis(200),
    /// Growth of the bandwidth in a round below which the round is flat. `BBRCheckFullPipe`.
    full_bw_growth: f64 = 1.25 => Range::from(1.0),
    /// Flat rounds that end Startup. `BBRCheckFullPipe`.
    full_bw_rounds: u64 = 3 => Range::COUNT,
    /// Smallest window after an ACK, and the one of ProbeRTT, packets. BBR_MIN_PIPE_CWND.
    min_pipe_cwnd: u64 = 4 => Range::PACKETS,
    /// Initial window. PICOQUIC_CWIN_INITIAL: 10 * 1536 bytes.
    initial_window: Bytes = Bytes(15_360),
    /// Smallest window after a congestion event. PICOQUIC_CWIN_MINIMUM: 2 * 1536 bytes.
    min_window: Bytes = Bytes(3_072),
    /// RTT behind the pacing rate before the first sample. Draft-00 section 4.2.1; not picoquic's.
    initial_rtt: Duration = Duration::from_millis(1),
    /// Pacing rate below which a send quantum is one packet. BBR_PACING_RATE_LOW.
    send_quantum_low_rate: Rate = Rate(1_200_000),
    /// Pacing rate below which it is two. BBR_PACING_RATE_MEDIUM.
    send_quantum_medium_rate: Rate = Rate(24_000_000),
    /// Time at the pacing rate that it lasts above. `BBRSetSendQuantum`.
    send_quantum_time: Duration = Duration::from_millis(1),
    /// Largest send quantum. `BBRSetSendQuantum`.
    send_quantum_max: Bytes = Bytes(65_536),
    /// Send quanta that the window has room for besides the BDP. `BBRInflight`.
    offload_quanta: u64 = 3 => Range::from(0.0).to(1e6),
    /// Smoothed loss rate above which a loss is a congestion event. PICOQUIC_SMOOTHED_LOSS_THRESHOLD.
    loss_threshold: f64 = 0.2 => Range::PART,
    /// Weight of one packet in that rate. PICOQUIC_SMOOTHED_LOSS_FACTOR: 1/16.
    loss_gain: f64 = 0.0625 => Range::SHARE,
    /// Most packet numbers between two losses that count. PICOQUIC_SMOOTHED_LOSS_SCOPE.
    loss_scope: u64 = 32 => Range::COUNT,
    /// Answer CE marks; `false` is the CE-blind baseline. `picoquic_bbr_notify`: yes.
    ecn: bool = true,
}

/// `picoquic_bbr_alg_state_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// `btl_bw_filter`: the best of each of the last rounds, the running one first. Bits per second.
#[derive(Clone, Debug)]
struct BtlBw {
    len: usize,
    rounds: VecDeque<u64>,
    /// `bandwidth_estimate`, the last sample.
    estimate: u64,
    /// There was a new maximum since the cycle last asked.
    increased: bool,
}

impl BtlBw {
    fn max(&self) -> u64 {
        self.rounds.iter().copied().max().unwrap_or(0)
    }

    /// A sample that the application limited counts when it is more than the last (`picoquic_estimate_path_bandwidth`).
    fn sample(&mut self, rs: &RateSample) {
        let taken = rs.delivery_rate.filter(|r| !rs.app_limited || r.0 > self.estimate);
        self.estimate = taken.map_or(self.estimate, |r| r.0);
    }

    fn update(&mut self, round_start: bool, least: u64) {
        if round_start || self.rounds.is_empty() {
            self.rounds.push_front(0);
            self.rounds.truncate(self.len);
        }
        let bw = self.estimate.max(least);
        self.increased |= bw > self.max();
        self.rounds[0] = self.rounds[0].max(bw);
    }
}

/// `picoquic_estimate_max_path_bandwidth`: the rate between two ACKs.
#[derive(Clone, Debug, Default)]
struct Peak {
    /// Delivered, acknowledged, sent.
    last: Option<(u64, Time, Time)>,
    rate: Rate,
}

impl Peak {
    fn update(&mut self, ack: &Ack, least: Duration) {
        let Some(sent) = ack.packets.last().map(|p| p.sent) else { return };
        let (delivered, acked, before) = *self.last.get_or_insert((ack.delivered, ack.now, sent));
        if sent >= before && ack.now - acked > least {
            let interval = (ack.now - acked).max(sent - before);
            self.rate = self.rate.max(Rate::from_delivery(ack.delivered - delivered, interval));
            self.last = Some((ack.delivered, ack.now, sent));
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Cycle {
    index: usize,
    start: usize,
    stamp: Time,
    /// `cycle_on_loss`: this phase may end at once.
    on_loss: bool,
}

/// The controller. Windows in bytes.
#[derive(Clone, Debug)]
pub struct Bbr1Picoquic {
    params: Params,
    mds: u64,
    state: State,
    rounds: Rounds,
    btl_bw: BtlBw,
    peak: Peak,
    /// [`Duration::MAX`] before the first sample.
    rt_prop: Duration,
    rt_prop_stamp: Time,
    full_pipe: FullPipeSearch,
    filled_pipe: bool,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    window: Window,
    /// In flight after the ACK before.
    prior_in_flight: u64,
    loss_filter: LossFilter,
    /// The last congestion event, and whether it was a timeout.
    last_event: Option<(Time, bool)>,
    /// The next packet number then, and now.
    congestion_pn: u64,
    next_pn: u64,
    srtt: Duration,
}

impl Bbr1Picoquic {
    /// In Startup (`picoquic_bbr_reset`).
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

    fn floor(&self) -> u64 {
        self.params.min_window.0.max(self.mds)
    }

    fn min_pipe_cwnd(&self) -> u64 {
        self.params.min_pipe_cwnd.saturating_mul(self.mds)
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

    /// `BBRInflight`.
    fn inflight(&self, gain: f64) -> u64 {
        let bdp = self.window.bdp_multiple(self.bw(), self.rt_prop, gain);
        match self.rt_prop {
            Duration::MAX => bdp,
            _ => bdp.saturating_add(self.window.send_quantum.saturating_mul(self.params.offload_quanta)),
        }
    }

    /// `BBRUpdateBtlBw`.
    fn update_btl_bw(&mut self, ack: &Ack, rs: &RateSample) {
        self.rounds.update(ack.delivered, rs);
        self.peak.update(ack, self.params.peak_interval);
        self.btl_bw.sample(rs);
        let seed = if self.state == State::Startup { self.params.peak_share } else { 0.0 };
        let slowest = match self.rt_prop {
            Duration::MAX => Rate(0),
            rt_prop => Rate::from_delivery(self.params.min_window.0, rt_prop),
        };
        let least = slowest.0.max((self.peak.rate.0 as f64 * seed) as u64);
        self.btl_bw.update(self.rounds.start, least);
    }

    /// `BBRIsNextCyclePhase`.
    fn is_next_cycle_phase(&self, now: Time) -> bool {
        let (gain, inflight) = (self.pacing_gain(), self.prior_in_flight);
        let over = self.cycle.on_loss || now - self.cycle.stamp > self.rt_prop;
        over && if gain > 1.0 {
            inflight >= self.inflight(gain)
        } else {
            gain == 1.0 || inflight <= self.inflight(1.0)
        }
    }

    /// `BBRAdvanceCyclePhase`.
    fn advance_cycle_phase(&mut self, now: Time) {
        let mut index = self.cycle.index + 1;
        let mut start = self.cycle.start;
        if index >= self.params.pacing_gain_cycle.len() {
            let increased = core::mem::take(&mut self.btl_bw.increased);
            start = if increased { (start + 1).min(self.max_start()) } else { start.saturating_sub(1) };
            index = start;
        }
        self.cycle = Cycle { index, start, stamp: now, on_loss: false };
    }

    fn max_start(&self) -> usize {
        (self.params.cycle_max_start as usize).min(self.params.pacing_gain_cycle.len() - 1)
    }

    /// `BBREnterProbeBW`.
    fn enter_probe_bw(&mut self, now: Time) {
        let Params { target_rtt, satellite_rtt, cycle_entry, .. } = self.params;
        let long = self.rt_prop > target_rtt && self.rt_prop < Duration::MAX;
        let start = if long { self.rt_prop.min(satellite_rtt).0 / target_rtt.0.max(1) } else { cycle_entry };
        let start = (start.min(8) as usize).min(self.max_start());
        self.state = State::ProbeBw;
        self.btl_bw.increased = true;
        self.cycle = Cycle { index: start, start, ..Cycle::default() };
        self.advance_cycle_phase(now);
    }

    /// `BBRCheckFullPipe`, `BBRCheckDrain`.
    fn check_drain(&mut self, ack: &Ack, rs: &RateSample) {
        if !self.filled_pipe && self.rounds.start && !rs.app_limited {
            let (bw, p) = (self.bw(), &self.params);
            self.filled_pipe = self.full_pipe.is_full(bw, p.full_bw_growth, p.full_bw_rounds);
        }
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
        }
        if self.state == State::Drain && ack.bytes_in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// `BBRUpdateRTprop`. Answers whether the minimum had expired.
    fn update_rt_prop(&mut self, ack: &Ack) -> bool {
        let Some(rtt) = rtt_measurement(ack) else { return false };
        let (p, min) = (&self.params, self.rt_prop);
        let age = ack.now - self.rt_prop_stamp;
        let expired =
            min < Duration::MAX && age > p.probe_rtt_interval && age > min.mul_f64(p.probe_rtt_rtts);
        if rtt <= min || expired {
            self.rt_prop = rtt;
        }
        if rtt <= min || expired || rtt < min + min.mul_f64(p.rtt_slack) {
            self.rt_prop_stamp = ack.now;
        }
        expired
    }

    /// `BBRCheckProbeRTT`.
    fn check_probe_rtt(&mut self, ack: &Ack, expired: bool) {
        if self.state != State::ProbeRtt && expired {
            self.state = State::ProbeRtt;
            self.window.prior_cwnd = self.window.cwnd;
            self.probe_rtt = ProbeRtt::default();
        }
        let (cwnd, duration) = (self.min_pipe_cwnd(), self.params.probe_rtt_duration);
        let over = self.state == State::ProbeRtt
            && self.probe_rtt.advance(ack, &mut self.rounds, cwnd, duration)
            && self.probe_rtt.is_done(ack.now);
        if !over {
            return;
        }
        self.rt_prop_stamp = ack.now;
        self.window.restore_cwnd();
        if self.filled_pipe {
            self.enter_probe_bw(ack.now);
        } else {
            self.state = State::Startup;
        }
    }

    /// `BBRUpdateControlParameters`.
    fn update_control_parameters(&mut self, ack: &Ack) {
        let rate = paced(self.bw(), self.pacing_gain(), 0.0);
        self.window.set_pacing_rate(rate, self.filled_pipe);
        self.set_send_quantum();
        let (target, least) = (self.inflight(self.cwnd_gain()), self.min_pipe_cwnd());
        self.window.grow(ack, target, self.filled_pipe, least);
        if self.state == State::ProbeRtt {
            self.window.cwnd = self.window.cwnd.min(least);
        }
    }

    /// `BBRSetSendQuantum`.
    fn set_send_quantum(&mut self) {
        let (p, rate) = (&self.params, self.window.pacing_rate);
        self.window.send_quantum = if rate < p.send_quantum_low_rate {
            self.mds
        } else if rate < p.send_quantum_medium_rate {
            2 * self.mds
        } else {
            rate.bytes_in(p.send_quantum_time).min(p.send_quantum_max.0)
        };
    }

    /// `picoquic_bbr_notify_congestion`.
    fn congestion(&mut self, now: Time, timeout: bool) {
        let soon = |at: Time| now < at + self.srtt;
        let repeated = self.cycle.on_loss || self.last_event.is_some_and(|(at, _)| soon(at));
        if repeated && (!timeout || self.last_event.is_some_and(|(_, timeout)| timeout)) {
            return;
        }
        let left = if timeout { 0 } else { self.window.cwnd / 2 };
        self.window.cwnd = left.max(self.floor());
        self.last_event = Some((now, timeout));
        self.congestion_pn = self.next_pn;
        if self.state == State::Startup {
            (self.filled_pipe, self.state) = (true, State::Drain);
        } else {
            self.cycle.on_loss = true;
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

    /// Marks, then `BBRUpdateOnACK`.
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        // Late packets acknowledge nothing in picoquic.
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
            // What left before the last event is not even counted.
            if packet.pn >= self.congestion_pn && self.loss_filter.add(packet.pn) {
                self.congestion(lost.now, false);
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.cause {
            Cause::PersistentCongestion | Cause::Timeout => self.congestion(event.now, true),
            // Losses: see `on_lost`. Marks: see `on_ack`.
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
        Control {
            cwnd: self.window.cwnd,
            pacing_rate: Some(self.window.pacing_rate),
            ssthresh: if self.state == State::Startup { u64::MAX } else { 0 },
            send_quantum: Some(self.window.send_quantum),
            wake: Time::NEVER,
        }
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("state", f64::from(self.state as u8));
        put("max_bw", self.bw().0 as f64);
        put("min_rtt", self.rt_prop.as_secs_f64());
        put("pacing_gain", self.pacing_gain());
        put("cwnd_gain", self.cwnd_gain());
        put("filled_pipe", f64::from(u8::from(self.filled_pipe)));
        put("cycle_start", self.cycle.start as f64);
        put("drop_rate", self.loss_filter.smoothed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::bbr::common::script::{MDS, lost, sample};
    use crate::testing::fixtures::{acked, congestion, path, stamped};

    const RTT: Duration = Duration::from_millis(40);
    /// 10 Mbit/s times 40 ms.
    const BDP: u64 = 50_000;

    fn bbr() -> Bbr1Picoquic {
        Bbr1Picoquic::new(Params::default(), path(MDS))
    }

    /// In ProbeBW at 10 Mbit/s and 40 ms, a quantum of 2 packets, 1000 packets sent.
    fn known() -> Bbr1Picoquic {
        let mut cc = bbr();
        (cc.filled_pipe, cc.state, cc.rt_prop, cc.srtt) = (true, State::ProbeBw, RTT, RTT);
        cc.btl_bw.sample(&sample(10, 0));
        cc.btl_bw.update(true, 0);
        (cc.window.pacing_rate, cc.window.cwnd, cc.next_pn) = (Rate(10_000_000), 2 * BDP, 1000);
        cc.set_send_quantum();
        cc
    }

    fn at(ms: u64) -> Ack<'static> {
        Ack {
            now: Time::from_millis(ms),
            latest_rtt: Some(RTT),
            smoothed_rtt: RTT,
            min_rtt: RTT,
            ..acked(MDS)
        }
    }

    #[test]
    fn gains() {
        let mut cc = known();
        let cycle: Vec<f64> = (0..8).map(|index| (cc.cycle.index = index, cc.pacing_gain()).1).collect();
        assert_eq!(cycle, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25, 0.75]);
        assert_eq!(cc.cwnd_gain(), 2.0);
        cc.state = State::Drain;
        assert!((cc.pacing_gain() - libm::log(2.0) / 2.0).abs() < 1e-9);
        assert!((cc.cwnd_gain() - 2.0 / libm::log(2.0)).abs() < 1e-9);
    }

    /// The maximum of ten rounds; limited samples count above the last; 3072 bytes per RTT at least, in Startup peak / 2.
    #[test]
    fn bandwidth() {
        let mut cc = known();
        let mut round = |mbit: u64, app_limited: bool| {
            let rs = RateSample { app_limited, ..sample(mbit, cc.rounds.delivered) };
            cc.update_btl_bw(&Ack { delivered: cc.rounds.delivered + MDS, ..at(0) }, &rs);
            cc.bw().0
        };
        for _ in 0..9 {
            assert_eq!(round(4, false), 10_000_000);
        }
        assert_eq!(round(4, false), 4_000_000);
        assert_eq!(round(1, true), 4_000_000);
        assert_eq!(round(5, true), 5_000_000);
        for _ in 0..11 {
            round(0, false);
        }
        assert_eq!(round(0, false), 3072 * 8 * 25, "per 40 ms");
        cc.peak.rate = Rate(8_000_000);
        cc.state = State::Startup;
        cc.update_btl_bw(&at(0), &sample(1, 0));
        assert_eq!(cc.bw(), Rate(4_000_000));
    }

    /// 3 packets in 3 ms, sent in 2; those 1 ms apart are one.
    #[test]
    fn peak() {
        let mut peak = Peak::default();
        for (ms, sent, delivered, kbit) in
            [(40, 0, 1, 0), (41, 1, 3, 0), (43, 2, 4, 9_600), (46, 12, 9, 9_600)]
        {
            let packet = [stamped(delivered, Time::from_millis(sent), 0)];
            peak.update(
                &Ack { packets: &packet, delivered: delivered * MDS, ..at(ms) },
                Duration::from_millis(1),
            );
            assert_eq!(peak.rate, Rate(kbit * 1000), "{ms}");
        }
    }

    /// 10 s and 20 times itself without a sample below 1.05 of it.
    #[test]
    fn minimum_rtt() {
        for (rtt, ms, now, expired) in [
            (42, 9_000, 10_001, true),
            (41, 9_000, 10_001, false),
            (41, 9_000, 19_001, true),
            (39, 1, 10_002, true),
        ] {
            let mut cc = known();
            let latest_rtt = Some(Duration::from_millis(rtt));
            assert!(!cc.update_rt_prop(&Ack { latest_rtt, ..at(ms) }));
            assert_eq!(cc.rt_prop, Duration::from_millis(rtt.min(40)));
            let latest_rtt = Some(Duration::from_millis(60));
            assert_eq!(cc.update_rt_prop(&Ack { latest_rtt, ..at(now) }), expired, "{rtt} {ms} {now}");
            assert_eq!(cc.rt_prop == Duration::from_millis(60), expired);
        }
        let mut cc = known();
        cc.rt_prop = Duration::from_secs(1);
        let later = |s: u64| Ack { latest_rtt: Some(Duration::from_secs(2)), ..at(s * 1000) };
        assert!(!cc.update_rt_prop(&later(20)) && cc.update_rt_prop(&later(21)));
    }

    /// BDP and 3 quanta of 2 packets; both conditions, unless a congestion event ends the time.
    #[test]
    fn phases() {
        let quanta = 6 * MDS;
        for (index, ms, inflight, on_loss, ends) in [
            (0, 40, 0, false, false),
            (0, 41, 0, false, true),
            (0, 1, 0, true, true),
            (6, 41, BDP * 5 / 4 + quanta - 1, false, false),
            (6, 41, BDP * 5 / 4 + quanta, false, true),
            (6, 1, 0, true, false),
            (7, 41, BDP + quanta + 1, false, false),
            (7, 41, BDP + quanta, false, true),
            (7, 40, BDP + quanta, false, false),
            (7, 1, BDP + quanta, true, true),
        ] {
            let mut cc = known();
            (cc.cycle.index, cc.cycle.on_loss, cc.prior_in_flight) = (index, on_loss, inflight);
            assert_eq!(
                cc.is_next_cycle_phase(Time::from_millis(ms)),
                ends,
                "{index} {ms} {inflight} {on_loss}"
            );
        }
    }

    /// Entered behind phase 2; each cycle with more bandwidth is a phase shorter, each without one longer.
    #[test]
    fn cycles() {
        let mut cc = known();
        cc.enter_probe_bw(Time::ZERO);
        assert_eq!((cc.cycle.index, cc.cycle.start), (3, 2));
        let mut starts = Vec::new();
        for increased in [true, true, true, true, false, false, false, false, false, false] {
            cc.btl_bw.increased = increased;
            cc.cycle.index = 7;
            cc.advance_cycle_phase(Time::ZERO);
            assert_eq!(cc.cycle.index, cc.cycle.start);
            starts.push(cc.cycle.start);
        }
        assert_eq!(starts, [3, 4, 5, 5, 4, 3, 2, 1, 0, 0]);
        for (ms, start) in [(100, 2), (101, 1), (350, 3), (610, 5), (2000, 5)] {
            cc.rt_prop = Duration::from_millis(ms);
            cc.enter_probe_bw(Time::ZERO);
            assert_eq!(cc.cycle.start, start, "{ms}");
        }
    }

    #[test]
    fn send_quantum() {
        let mut cc = bbr();
        for (kbit, quantum) in [
            (1_199, MDS),
            (1_200, 2 * MDS),
            (23_999, 2 * MDS),
            (24_000, 3_000),
            (100_000, 12_500),
            (900_000, 65_536),
        ] {
            cc.window.pacing_rate = Rate(kbit * 1000);
            cc.set_send_quantum();
            assert_eq!(cc.control().send_quantum, Some(quantum), "{kbit}");
        }
    }

    /// 2 BDP and 3 quanta, and no rounding; four packets in ProbeRTT, and at least.
    #[test]
    fn window() {
        let mut cc = known();
        cc.update_control_parameters(&acked(MDS));
        assert_eq!(cc.window.cwnd, 2 * BDP + MDS, "by what is acknowledged");
        cc.update_control_parameters(&acked(20 * MDS));
        assert_eq!(cc.window.cwnd, 2 * BDP + 6 * MDS);
        cc.window.cwnd = MDS;
        cc.update_control_parameters(&acked(MDS));
        assert_eq!(cc.window.cwnd, 4 * MDS);
        cc.state = State::ProbeRtt;
        cc.update_control_parameters(&acked(20 * MDS));
        assert_eq!(cc.window.cwnd, 4 * MDS);
    }

    /// An ACK with a mark, the newest packet of which is this one.
    fn marked(cc: &mut Bbr1Picoquic, ms: u64, pn: u64) -> u64 {
        let packets = [stamped(pn, Time::ZERO, 0)];
        cc.on_ack(&Ack { ce: 1, packets: &packets, acked: 0, ..at(ms) });
        cc.window.cwnd
    }

    /// Half the window, but for what left before, comes within an RTT or in a phase that ends early anyway.
    #[test]
    fn marks() {
        let mut cc = known();
        assert_eq!(marked(&mut cc, 100, 999), BDP);
        assert!(cc.cycle.on_loss);
        cc.next_pn = 2000;
        assert_eq!(marked(&mut cc, 300, 1500), BDP, "the phase is to end");
        cc.cycle.on_loss = false;
        assert_eq!(marked(&mut cc, 139, 1500), BDP, "within srtt");
        assert_eq!(marked(&mut cc, 140, 999), BDP, "sent before");
        assert_eq!(marked(&mut cc, 140, 1000), BDP / 2);
        let mut blind = known();
        blind.params.ecn = false;
        assert_eq!(marked(&mut blind, 100, 999), 2 * BDP);
    }

    /// Any mark ends Startup, whatever the RTT.
    #[test]
    fn a_mark_ends_startup() {
        let mut cc = bbr();
        assert_eq!(marked(&mut cc, 100, 5), 7_680);
        assert_eq!((cc.state, cc.filled_pipe, cc.cycle.on_loss), (State::Drain, true, false));
    }

    /// Half of the window is back after a window of ACKs.
    #[test]
    fn half_is_soon_back() {
        let mut cc = known();
        cc.update_control_parameters(&acked(20 * MDS));
        let full = cc.window.cwnd;
        marked(&mut cc, 100, 999);
        for _ in 0..full.div_ceil(2 * MDS) {
            assert!(cc.window.cwnd < full);
            cc.update_control_parameters(&acked(MDS));
        }
        assert_eq!(cc.window.cwnd, full);
    }

    /// The fourth loss in a row is the first that counts; a timeout leaves 3072 bytes and follows any event but a timeout.
    #[test]
    fn losses_and_timeouts() {
        let mut cc = known();
        cc.loss_filter = LossFilter::new(0.2, 0.0625, 32);
        cc.on_lost(&lost(&[1001, 1002, 1003], MDS).batch());
        assert_eq!(cc.window.cwnd, 2 * BDP);
        cc.on_lost(&lost(&[1004], MDS).batch());
        assert_eq!(cc.window.cwnd, BDP);
        cc.on_congestion(&congestion(Cause::Loss, MDS));
        assert_eq!(cc.window.cwnd, BDP, "the sender's event is none here");
        cc.on_congestion(&congestion(Cause::Timeout, MDS));
        assert_eq!(cc.window.cwnd, 3_072);
        cc.window.cwnd = BDP;
        cc.on_congestion(&congestion(Cause::Timeout, MDS));
        assert_eq!(cc.window.cwnd, BDP, "a timeout behind a timeout");
    }

    /// 4 packets for 200 ms and a round, then ProbeBW with the old window.
    #[test]
    fn probe_rtt() {
        let mut cc = known();
        cc.update_control_parameters(&acked(20 * MDS));
        let (full, mut delivered) = (cc.window.cwnd, 0);
        let mut round = |cc: &mut Bbr1Picoquic, ms, inflight| {
            let (rate, latest_rtt) = (Some(sample(10, delivered)), Some(Duration::from_millis(50)));
            delivered += MDS;
            cc.on_ack(&Ack { rate, latest_rtt, delivered, bytes_in_flight: inflight, ..at(ms) });
            cc.state
        };
        assert_eq!(round(&mut cc, 10_000, BDP), State::ProbeBw);
        assert_eq!(round(&mut cc, 10_001, BDP), State::ProbeRtt);
        assert_eq!(cc.control().cwnd, 4 * MDS);
        for ms in [10_050, 10_100, 10_250] {
            assert_eq!(round(&mut cc, ms, 4 * MDS), State::ProbeRtt);
        }
        assert_eq!(round(&mut cc, 10_251, 4 * MDS), State::ProbeBw);
        assert!(cc.control().cwnd >= full);
    }

    /// Parameters out of all bounds may be useless, but never panic.
    #[test]
    fn absurd_parameters_do_not_panic() {
        let params = Params {
            high_gain: f64::MAX,
            bw_filter_len: 0,
            cycle_entry: u64::MAX,
            cycle_max_start: u64::MAX,
            target_rtt: Duration::ZERO,
            probe_rtt_rtts: f64::MAX,
            min_pipe_cwnd: u64::MAX,
            offload_quanta: u64::MAX,
            ..Params::default()
        };
        let mut cc = Bbr1Picoquic::new(params, path(MDS));
        for i in 0..200 {
            cc.on_lost(&lost(&[i], MDS).batch());
            let (rate, now) = (Some(sample(10, i * MDS)), Time::from_millis(i * 100));
            cc.on_ack(&Ack { now, rate, delivered: (i + 1) * MDS, ce: i % 2, ..acked(MDS) });
            cc.on_congestion(&congestion(Cause::Timeout, MDS));
        }
    }
}
