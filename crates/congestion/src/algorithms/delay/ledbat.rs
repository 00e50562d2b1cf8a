//! LEDBAT, RFC 6817 (December 2012): a window that adds no more than TARGET to the one-way delay.
//!
//! ```text
//! for each delay d = received - sent in an ACK                                                (2.4.2)
//!   base_delays[this minute] = min(base_delays[this minute], d), of the last BASE_HISTORY minutes
//!   current_delays           = the last CURRENT_FILTER of d, none older than an RTT
//! queuing_delay = min(current_delays) - min(base_delays)                                      ns
//! off_target    = (TARGET - queuing_delay) / TARGET                                           -inf..1
//! cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd                                  bytes
//! cwnd  = max(MIN_CWND * MSS, min(cwnd, flightsize before this ACK + ALLOWED_INCREASE * MSS))
//!
//! loss, mark, at most once per RTT   cwnd = min(cwnd, max(cwnd / 2, MIN_CWND * MSS))
//! congestion timeout                 cwnd = MSS
//! ```
//!
//! Alone, the queue rests where off_target = 0: at TARGET. A flow that starts while another one keeps the queue at
//! TARGET takes that queue for its base and pushes it to twice the TARGET, which the first one flees from (section
//! 4.4, the latecomer's advantage). A receiver's clock that runs fast raises the delays: what it gains in BASE_HISTORY
//! minutes counts as queue (50 ppm: 27 to 30 ms) and the flow gets less. The base follows a slow clock at once. A flow
//! whose queue stands for longer than BASE_HISTORY minutes takes it for its base and adds another TARGET, again and again.
//!
//! FILTER() is the minimum. Delays are one-way, without the delay of an ACK; the RTT that ages them is `smoothed_rtt`. The timeout, its backoff and the flight size are the sender's. Slow start is not in the
//! RFC's algorithm; ns-3 and M. Kühlewind's Linux module have it up to the first loss, here `slow-start`. It knows
//! nothing of TARGET and is not bound by ALLOWED_INCREASE. ssthresh is the window after each reduction, and falls with it
//! where the delay shrinks it, as in ns-3: slow start returns after a timeout only.
//!
//! Deviations: the window grows (not: shrinks) by the bytes that the sender grants, none of which left before the last
//! reduction or an idle sender; the RFC counts every byte. After a timeout the window is MIN_CWND only with the first
//! byte that may grow it. Persistent congestion (RFC 9002 section 7.6.2) leaves MIN_CWND. A spurious loss or timeout is undone. Idle time restarts the
//! window where the sender asks for it (see `idle`), with INIT_CWND for the initial one.
//! Without receive times off_target is 1, which is Reno's growth and Reno's cut, as in ns-3.

use alloc::collections::VecDeque;

use crate::components::idle;
use crate::components::slow_start::{Kind, SlowStart};
use crate::components::undo::Undo;
use crate::{Ack, AckedPacket, Cause, Congestion, Control, Controller, Idle, Needs, PathInfo};
use crate::{Range, params};
use units::{Duration, Time};

params! {
    /// TARGET, the queuing delay to add. RFC 6817 section 2.5; at most 100 ms.
    target: Duration = Duration::from_millis(100),
    /// GAIN, growth per round trip at an empty queue, packets. RFC 6817 section 2.5; at most 1. D'Aronco et al. have 0.5.
    gain: f64 = 1.0 => Range::FACTOR,
    /// ALLOWED_INCREASE, what the window may be above the flight size, packets. RFC 6817 section 2.5; more than 0.
    allowed_increase: f64 = 1.0 => Range::above(0.0),
    /// BASE_HISTORY, minima kept of the base delay. RFC 6817 section 2.5.
    base_history: usize = 10 => Range::COUNT,
    /// Time over which each of these minima is taken. RFC 6817 section 2.4.2.
    base_interval: Duration = Duration::from_secs(60),
    /// CURRENT_FILTER, delays of the last RTT of which the smallest is the current one. RFC 6817 section 2.5; at least 4.
    current_filter: usize = 4 => Range::COUNT,
    /// INIT_CWND, packets. RFC 6817 section 2.5.
    init_window: u64 = 2 => Range::PACKETS,
    /// MIN_CWND, packets. RFC 6817 section 2.5.
    min_window: u64 = 2 => Range::PACKETS,
    /// What is left of the window after a loss, 0..1. RFC 6817 section 2.4.2.
    beta: f64 = 0.5 => Range::SHARE,
    /// How slow start grows and ends: `standard`, `hystart++` (RFC 9406), `hystart` (Linux), `hystart-picoquic`, `hystart-mvfst`, or `"off"`. Not in RFC 6817.
    #[serde(with = "units::or_off")]
    slow_start: Option<Kind> = None,
}

/// base_delays and current_delays. Delays in nanoseconds, with the offset of the clocks.
#[derive(Clone, Debug)]
struct Delays {
    base_history: usize,
    base_interval: Duration,
    current_filter: usize,
    base: VecDeque<i64>,
    /// Number of the interval that the last base belongs to.
    interval: u64,
    current: VecDeque<(Time, i64)>,
}

impl Delays {
    fn on_packet(&mut self, now: Time, packet: &AckedPacket) {
        let Some(received) = packet.received else { return };
        let delay = received.saturating_sub(i64::try_from(packet.sent.0).unwrap_or(i64::MAX));
        let interval = now.0 / self.base_interval.0.max(1);
        match self.base.back_mut() {
            Some(base) if interval == self.interval => *base = delay.min(*base),
            _ => {
                self.base.push_back(delay);
                self.interval = interval;
            }
        }
        while self.base.len() > self.base_history.max(1) {
            self.base.pop_front();
        }
        self.current.push_back((now, delay));
        while self.current.len() > self.current_filter.max(1) {
            self.current.pop_front();
        }
    }

    /// Samples must not be older than a round trip; the last one is better than none.
    fn forget(&mut self, now: Time, rtt: Duration) {
        while self.current.len() > 1 && self.current.front().is_some_and(|&(then, _)| now - then > rtt) {
            self.current.pop_front();
        }
    }

    fn queuing(&self) -> Option<i64> {
        let current = self.current.iter().map(|&(_, delay)| delay).min()?;
        Some(current.saturating_sub(self.base.iter().copied().min()?).max(0))
    }
}

/// What an undo restores, bytes.
#[derive(Clone, Debug)]
struct Window {
    cwnd: f64,
    ssthresh: f64,
    slow_start: Option<SlowStart>,
}

/// The controller. Windows in bytes.
#[derive(Clone, Debug)]
pub struct Ledbat {
    params: Params,
    mds: f64,
    state: Window,
    undo: Undo<Window>,
    delays: Delays,
}

impl Ledbat {
    /// With the initial window.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let mds = path.max_datagram_size.max(1);
        let Params { base_history, base_interval, current_filter, .. } = params;
        let (base, current) = (VecDeque::new(), VecDeque::new());
        let ssthresh = params.slow_start.map_or(0.0, |_| f64::INFINITY);
        Self {
            mds: mds as f64,
            state: Window {
                cwnd: (params.init_window * mds) as f64,
                ssthresh,
                slow_start: params.slow_start.map(|kind| SlowStart::new(kind, path)),
            },
            undo: Undo::new(),
            delays: Delays { base_history, base_interval, current_filter, base, interval: 0, current },
            params,
        }
    }

    fn min_window(&self) -> f64 {
        self.params.min_window.max(1) as f64 * self.mds
    }

    fn cwnd(&self) -> u64 {
        (self.state.cwnd + 0.5) as u64
    }

    /// 1 at an empty queue, 0 at the target, without a lower end.
    fn off_target(&self) -> f64 {
        let target = self.params.target.0.max(1) as f64;
        self.delays.queuing().map_or(1.0, |queuing| (target - queuing as f64) / target)
    }

    fn follow_delay(&mut self, ack: &Ack) {
        let Params { gain, allowed_increase, .. } = self.params;
        let off_target = self.off_target();
        let bytes = if off_target > 0.0 { ack.growth } else { ack.acked };
        let cwnd = self.state.cwnd + gain * off_target * bytes as f64 * self.mds / self.state.cwnd;
        let max_allowed = ack.prior_in_flight as f64 + allowed_increase * self.mds;
        // The floor must not lift a window that a timeout left below it before something may grow.
        let floor = if ack.growth > 0 { self.min_window() } else { self.min_window().min(self.state.cwnd) };
        self.state.cwnd = cwnd.min(max_allowed).max(floor);
        // Below it slow start would begin again, and the queue would rest at half of what overflowed.
        self.state.ssthresh = self.state.ssthresh.min(self.state.cwnd);
    }

    fn reduced(&self) -> f64 {
        (self.state.cwnd * self.params.beta).max(self.min_window())
    }

    /// Without slow start the window is always at or above its end.
    fn set(&mut self, cwnd: f64, ssthresh: f64) {
        let ssthresh = if self.state.slow_start.is_some() { ssthresh } else { 0.0 };
        (self.state.cwnd, self.state.ssthresh) = (cwnd, ssthresh);
    }

    fn shrink(&mut self, cwnd: f64, ssthresh: f64) {
        let cwnd = cwnd.min(self.state.cwnd);
        if let Some(slow_start) = &mut self.state.slow_start {
            slow_start.leave();
        }
        self.set(cwnd, ssthresh);
    }
}

impl Controller for Ledbat {
    fn needs(&self) -> Needs {
        Needs { receive_times: true, ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.undo.on_ack(ack);
        for packet in ack.packets {
            self.delays.on_packet(ack.now, packet);
        }
        self.delays.forget(ack.now, ack.smoothed_rtt);
        match &mut self.state.slow_start {
            Some(slow_start) if self.state.cwnd < self.state.ssthresh => {
                self.state.cwnd += slow_start.growth(ack.growth) as f64;
                if slow_start.ended(ack, self.state.cwnd as u64) {
                    self.state.ssthresh = self.state.cwnd;
                }
            }
            _ => self.follow_delay(ack),
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.undo.on_congestion(event.cause, &self.state);
        let reduced = self.reduced();
        match event.cause {
            Cause::Loss | Cause::Ecn | Cause::Delay => self.shrink(reduced, reduced),
            Cause::PersistentCongestion => self.shrink(self.min_window(), self.state.ssthresh),
            // A second one in a row: still nothing has opened the window.
            Cause::Timeout if self.state.cwnd < self.min_window() => {
                self.shrink(self.mds, self.state.ssthresh);
            }
            Cause::Timeout => self.shrink(self.mds, reduced),
        }
    }

    fn on_spurious(&mut self) {
        if let Some(before) = self.undo.take().filter(|b| b.cwnd > self.state.cwnd) {
            self.state = before;
        }
    }

    fn on_idle(&mut self, event: &Idle) {
        let initial = self.params.init_window as f64 * self.mds;
        let (cwnd, ssthresh) = idle::restart(event, self.state.cwnd, self.state.ssthresh, initial);
        self.set(cwnd, ssthresh);
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let mds = path.max_datagram_size.max(1);
        let before = core::mem::replace(&mut self.mds, mds as f64);
        let least = self.params.min_window.max(1) as f64 * before;
        for window in self.undo.saved().into_iter().chain([&mut self.state]) {
            window.cwnd = window.cwnd.max(window.cwnd.min(least) / before * self.mds);
            if let Some(slow_start) = &mut window.slow_start {
                slow_start.on_path_change(path);
            }
        }
    }

    fn control(&self) -> Control {
        let ssthresh = (self.state.ssthresh + 0.5) as u64;
        Control { cwnd: self.cwnd(), pacing_rate: None, ssthresh, send_quantum: None, wake: Time::NEVER }
    }

    /// In seconds.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        if let Some(queuing) = self.delays.queuing() {
            put("queuing_delay", queuing as f64 * 1e-9);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::closed_loop::{Flow, Loop};
    use crate::testing::fixtures::MDS;
    use crate::testing::fixtures::{acked, congestion, path, stamped};
    use units::Rate;

    /// A packet each millisecond.
    const LINK: Rate = Rate(8_000_000);

    const MS: Duration = Duration::from_millis(1);
    const BASE: i64 = 50_000_000;

    fn controller(params: Params) -> Ledbat {
        Ledbat::new(params, path(MDS))
    }

    /// Past the start: a window of so many packets that has seen an empty queue.
    fn settled(packets: u64) -> Ledbat {
        let mut cc = controller(Params::default());
        delay(&mut cc, 0, 0);
        cc.state.cwnd = (packets * MDS) as f64;
        cc
    }

    /// A packet acknowledged at `ms` that was queued so long, without a byte that counts.
    fn delay(cc: &mut Ledbat, ms: u64, queued: i64) {
        let (now, in_flight) = (Time::from_millis(ms), cc.cwnd());
        let packets = [stamped(ms, now, now.0 as i64 + BASE + queued)];
        cc.on_ack(&Ack { now, packets: &packets, prior_in_flight: in_flight, ..acked(0) });
    }

    /// A full window acknowledged packet by packet, each of which was queued so long.
    fn round(cc: &mut Ledbat, at: u64, queued: i64) {
        let window = cc.cwnd() / MDS;
        for _ in 0..window {
            let (now, prior_in_flight) = (Time::from_millis(at), cc.cwnd());
            let packets = [stamped(at, now, now.0 as i64 + BASE + queued)];
            cc.on_ack(&Ack { now, packets: &packets, prior_in_flight, ..acked(MDS) });
        }
    }

    fn packets(cc: &Ledbat) -> f64 {
        cc.state.cwnd / MDS as f64
    }

    /// Fact sheet appendix A: at half of TARGET half a packet more per round trip, at twice one less; 1 at none, 0 at it.
    #[test]
    fn once_around() {
        for (queued, change) in [(0, 1.0), (50, 0.5), (100, 0.0), (150, -0.5), (200, -1.0), (500, -4.0)] {
            for gain in [1.0, 0.5] {
                let mut cc = settled(100);
                cc.params.gain = gain;
                // Samples of an empty queue are out of the filter an RTT later.
                delay(&mut cc, 1000, queued * 1_000_000);
                round(&mut cc, 1000, queued * 1_000_000);
                // The window changes under way by a percent per percent.
                let change: f64 = change * gain;
                assert!(
                    (packets(&cc) - 100.0 - change).abs() < 0.03 * change.abs() + 1e-9,
                    "{queued}: {}",
                    packets(&cc)
                );
            }
        }
    }

    /// FILTER is the minimum of the last four samples, no older than an RTT (100 ms here).
    #[test]
    fn current_filter() {
        let mut cc = settled(100);
        for (ms, queued, filtered) in
            [(1000, 30, 30), (1001, 10, 10), (1002, 20, 10), (1003, 40, 10), (1004, 50, 10), (1005, 60, 20)]
        {
            delay(&mut cc, ms, queued * 1_000_000);
            assert_eq!(cc.delays.queuing(), Some(filtered * 1_000_000), "{ms}");
        }
        delay(&mut cc, 1104, 70_000_000);
        assert_eq!(cc.delays.queuing(), Some(50_000_000));
        delay(&mut cc, 1205, 80_000_000);
        assert_eq!(cc.delays.queuing(), Some(80_000_000));
    }

    /// One minimum per minute, the last ten of them: minute 10 forgets minute 0, not before.
    #[test]
    fn base_history() {
        let mut cc = settled(100);
        for second in 1..900 {
            delay(&mut cc, 1000 * second, 70_000_000);
            let standing = if second < 600 { 70_000_000 } else { 0 };
            assert_eq!(cc.delays.queuing(), Some(standing), "{second}");
        }
        assert_eq!(cc.delays.base.len(), 10);
    }

    /// A shorter path is the new base at once.
    #[test]
    fn base_falls_at_once() {
        let mut cc = settled(100);
        delay(&mut cc, 1000, -20_000_000);
        delay(&mut cc, 2000, 0);
        assert_eq!(cc.delays.queuing(), Some(20_000_000));
    }

    /// A receiver's clock 50 ppm fast looks like 27 to 30 ms of queue, a slow one like none.
    #[test]
    fn clock_skew() {
        for (ppm, looks_like) in [(50, 26_900_000..=30_000_000), (-50, 0..=0)] {
            let mut cc = settled(100);
            for second in 1..3600 {
                delay(&mut cc, 1000 * second, second as i64 * ppm * 1000);
                let queuing = cc.delays.queuing().unwrap_or(-1);
                assert!(second < 600 || looks_like.contains(&queuing), "{ppm} ppm: {queuing}");
            }
        }
    }

    /// max_allowed_cwnd: one packet above what was in flight, downwards too; never below two packets.
    #[test]
    fn flight_size() {
        for (in_flight, expected) in [(100, 100.01), (99, 100.0), (50, 51.0), (1, 2.0), (0, 2.0)] {
            let mut cc = settled(100);
            cc.on_ack(&Ack { prior_in_flight: in_flight * MDS, ..acked(MDS) });
            assert!((packets(&cc) - expected).abs() < 1e-9, "{in_flight}: {}", packets(&cc));
        }
    }

    /// Half; not below two packets, and not up to them; one packet after a timeout, two with the next ACK.
    #[test]
    fn reductions() {
        for cause in [Cause::Loss, Cause::Ecn] {
            for (before, after) in [(100, 50.0), (3, 2.0), (1, 1.0)] {
                let mut cc = settled(before);
                cc.on_congestion(&congestion(cause, 0));
                assert_eq!(packets(&cc), after);
            }
        }
        let mut cc = settled(100);
        cc.on_congestion(&congestion(Cause::PersistentCongestion, 0));
        assert_eq!(packets(&cc), 2.0);
        cc.on_congestion(&congestion(Cause::Timeout, 0));
        assert_eq!(packets(&cc), 1.0);
        cc.on_ack(&Ack { growth: 0, ..acked(MDS) });
        assert_eq!(packets(&cc), 1.0);
        cc.on_ack(&acked(MDS));
        assert_eq!(packets(&cc), 2.0);
    }

    #[test]
    fn spurious_event_is_undone() {
        let mut cc = settled(100);
        cc.on_congestion(&congestion(Cause::Loss, 0));
        cc.on_spurious();
        assert_eq!(packets(&cc), 100.0);
    }

    /// What the sender does not grant does not grow the window; the delay shrinks it all the same.
    #[test]
    fn without_a_grant() {
        let mut cc = settled(100);
        let recovering = Ack { growth: 0, prior_in_flight: 100 * MDS, ..acked(MDS) };
        cc.on_ack(&recovering);
        assert_eq!(packets(&cc), 100.0);
        delay(&mut cc, 1000, 200_000_000);
        cc.on_ack(&Ack { now: Time::from_millis(1000), ..recovering });
        assert!(packets(&cc) < 100.0);
    }

    /// Two packets at the start; Reno's pace without receive times; with slow start, double until the first loss.
    #[test]
    fn start() {
        let cc = controller(Params::default());
        assert_eq!((cc.control().cwnd, cc.control().in_slow_start()), (2 * MDS, false));
        let mut cc = controller(Params { slow_start: Some(Kind::Standard), ..Params::default() });
        assert!(cc.control().in_slow_start());
        for doubled in [4, 8, 16] {
            let bytes = cc.control().cwnd;
            cc.on_ack(&acked(bytes));
            assert_eq!(cc.control().cwnd, doubled * MDS);
        }
        cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!((cc.control().cwnd, cc.control().in_slow_start()), (8 * MDS, false));
        for _ in 0..2 {
            cc.on_congestion(&congestion(Cause::Timeout, 0));
            assert_eq!((cc.control().cwnd, cc.state.ssthresh), (MDS, 4e3), "kept by the second timeout");
        }
    }

    /// A window that the delay shrinks below what a loss left does not double again.
    #[test]
    fn delay_is_no_slow_start() {
        let mut cc = controller(Params { slow_start: Some(Kind::Standard), ..Params::default() });
        delay(&mut cc, 0, 0);
        cc.state.cwnd = (100 * MDS) as f64;
        cc.on_congestion(&congestion(Cause::Loss, 0));
        for ms in [1000, 2000, 3000] {
            let before = packets(&cc);
            delay(&mut cc, ms, 200_000_000);
            round(&mut cc, ms, 200_000_000);
            let change = packets(&cc) - before;
            assert!(!cc.control().in_slow_start() && (-1.1..-0.9).contains(&change), "{change}");
        }
    }

    /// A thousand packets a second, 50 ms of propagation.
    fn flow(start_s: u64) -> Flow<Ledbat> {
        Flow::new(Box::new(controller(Params::default())), MS * 50, Time::from_millis(1000 * start_s))
    }

    fn queue_ms(flow: &Flow<Ledbat>) -> f64 {
        (flow.latest_rtt - MS * 51).as_millis_f64()
    }

    /// Alone: TARGET, within a packet.
    #[test]
    fn alone() {
        for target in [25, 50, 100] {
            let mut link = Loop::new(vec![flow(0)], MDS, LINK);
            link.flows[0].cc.params.target = MS * target;
            link.run_to(Time::from_millis(200_000));
            let queue = queue_ms(&link.flows[0]);
            assert!((queue - target as f64).abs() <= 1.0, "{queue}");
        }
    }

    /// The latecomer takes the queue of the first for its base, doubles it, and drives the first to its smallest window.
    #[test]
    fn latecomer() {
        let mut link = Loop::new(vec![flow(0), flow(100)], MDS, LINK);
        link.run_to(Time::from_millis(400_000));
        let queue = queue_ms(&link.flows[1]);
        assert!((190.0..=202.0).contains(&queue), "{queue}");
        assert_eq!(link.flows[0].cc.cwnd(), 2 * MDS);
        let before: Vec<_> = link.flows.iter().map(|f| f.delivered).collect();
        link.run_to(Time::from_millis(500_000));
        let got: Vec<_> =
            link.flows.iter().zip(before).map(|(f, b)| ((f.delivered - b) / MDS) as f64 / 1e5).collect();
        assert!(got[0] < 0.01 && got[1] > 0.98, "{got:?}");
    }

    /// Two that both saw the empty queue have one target between them.
    #[test]
    fn together() {
        let mut link = Loop::new(vec![flow(0), flow(0)], MDS, LINK);
        link.run_to(Time::from_millis(200_000));
        let queue = queue_ms(&link.flows[0]);
        assert!((queue - 100.0).abs() <= 2.0, "{queue}");
    }

    /// The window stays, but two packets stay two packets; an empty queue adds a packet of the new size in a round trip.
    #[test]
    fn larger_datagrams() {
        let mut cc = Ledbat::new(Params::default(), path(1200));
        cc.on_path_change(path(1400));
        assert_eq!(cc.control().cwnd, 2800);
        cc.state.cwnd = 140_000.0;
        cc.on_ack(&acked(140_000));
        assert_eq!(cc.control().cwnd, 141_400);
        cc.on_path_change(path(1200));
        assert_eq!(cc.control().cwnd, 141_400);
    }
}
