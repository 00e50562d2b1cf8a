//! GCC, simplified as in the comparison of D'Aronco et al., arXiv 1506.02799v3 (January 2017),
//! appendix C-B. It is the delay-based controller of draft-alvestrand-rmcat-congestion-02 (2013)
//! without its filter, and nothing else.
//!
//! ```text
//! per packet      d = change of the one-way delay since the previous packet                    seconds
//!                 over-use if d > gamma (for `overuse_time`), under-use if d < -gamma
//!                 the signal changes the state, see `gcc::state`
//! every `remb`    Increase  A = eta A;   Decrease  A = alpha R;   Hold  A                      bit/s
//!                 A <= 1.5 R;            R: received in the last 500 ms, see `receiver_report`
//!                 Decrease does not wait for it if A falls by more than `early-drop`
//! ```
//!
//! It has no equilibrium. While A is above the capacity C, a packet of L bits arrives later by L (1
//! / C - 1 / A) relative to the previous one. Below C it arrives earlier by that much, until the
//! queue is empty. An excess is detected if this is more than gamma. At eta^2 alpha C = 1.296 C
//! this holds up to C = 0.228 L / gamma, 5.0 Mbit/s with 1094 bytes. At 1.5 C it holds up to
//! L / (3 gamma), 7.3 Mbit/s. But a queue that drains at alpha C is detected only up to
//! C = (1 / alpha - 1) L / gamma, 2.4 Mbit/s. At higher capacities Decrease ends after two packets
//! and the rate grows before the queue is empty. The queue then grows without limit.
//!
//! The appendix keeps "the mathematical model" of the draft and says that one packet is enough as a
//! filter. It gives only eta, alpha, gamma and the interval of REMB messages. The rest is this
//! project's reading. No time above gamma is required (`overuse-time`; 100 ms in older WebRTC). The
//! rate grows once per REMB, so eta refers to that interval. A decrease does not wait for the next
//! REMB: draft-ietf-rmcat-gcc-02 section 3, "as soon as congestion is detected". The 3 % are this
//! project's choice. With `early-drop = "off"` a step above capacity lasts a whole second. At 2
//! Mbit/s the queue is then longer than NADA's, contrary to the paper's figure 13. Limit and window
//! of R are this project's choice.
//!
//! Deviations: the receiver runs at the sender, see `receiver_report`. Without receive times the
//! rate stays constant. No RTT is needed. Losses act only through R, and marks have no effect, as
//! in the paper: do not use ECT. Initial and smallest rate are not in the paper. Persistent
//! congestion or a timeout sets the rate to `min-rate`. R restarts after the application was idle
//! (see `receiver_report`).

use crate::algorithms::media::gcc::state::{Signal, State};
use crate::components::queuing_delay::{BaseDelay, QueuingDelay};
use crate::components::receiver_report::{ReceiveRate, Reports, Window, bits};
use crate::{Ack, AckedPacket, Cause, Congestion, Control, Controller, Needs, PathInfo, STATE, Sent};
use crate::{Range, params};
use units::{Duration, Rate};

params! {
    /// eta, growth factor per REMB. Appendix C-B.
    eta: f64 = 1.2 => Range::FACTOR,
    /// alpha, factor by which the receive rate is multiplied in Decrease, 0..1. Appendix C-B.
    alpha: f64 = 0.9 => Range::FACTOR,
    /// gamma, threshold of the delay variation. Appendix C-B.
    gamma: Duration = Duration::from_micros(400),
    /// Interval of REMB messages. Appendix C-B.
    remb: Duration = Duration::from_secs(1),
    /// Time above gamma that counts as over-use. Not in the paper.
    overuse_time: Duration = Duration::ZERO,
    /// Relative decrease of the rate, 0..1, above which the receiver reports at once, without
    /// waiting for the next REMB interval, or `"off"`: never. Chosen by this project.
    #[serde(with = "units::or_off")]
    early_drop: Option<f64> = Some(0.03) => Range::PART,
    /// Window of the receive rate. Chosen by this project.
    rate_window: Duration = Duration::from_millis(500),
    /// Largest rate, as a multiple of the receive rate. Chosen by this project.
    headroom: f64 = 1.5 => Range::FACTOR,
    /// Initial rate. Not in the paper.
    initial_rate: Rate = Rate(100_000),
    /// Smallest rate. Not in the paper.
    min_rate: Rate = Rate(10_000) => Range::from(0.0).up_to("max_rate"),
    /// Largest rate, normally that of the application, or `"off"`. Not in the paper.
    #[serde(with = "units::or_off")]
    max_rate: Option<Rate> = None,
    /// Window, in multiples of the bytes sent in an RTT and a REMB interval. Large enough not to
    /// limit the rate. Not in the paper.
    window: f64 = 2.0 => Range::PACKETS,
    /// Smallest window, packets. Not in the paper.
    min_window: u64 = 10 => Range::PACKETS,
}

crate::variables! {
    /// Sending rate, A. D'Aronco et al., appendix C-B.
    a: "bit/s",
    /// Rate at the receiver, R; 0 before it is known. D'Aronco et al., appendix C-B.
    r: "bit/s",
    /// Change of the one-way delay from the previous packet to the newest, d. D'Aronco et al.,
    /// appendix C-B.
    variation: "s",
}

/// The controller.
#[derive(Clone, Debug)]
pub struct GccSimplified {
    params: Params,
    delay: QueuingDelay,
    /// Time at which d exceeded gamma, on the peer's clock.
    over_since: Option<i64>,
    /// d of the last packet, in nanoseconds.
    variation: i64,
    state: State,
    received: ReceiveRate,
    reports: Reports,
    window: Window,
    /// Rate A, in bit/s.
    rate: f64,
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.0).unwrap_or(i64::MAX)
}

impl GccSimplified {
    /// Creates a controller at the initial rate, in Increase.
    pub fn new(params: Params, path: PathInfo) -> Self {
        Self {
            delay: QueuingDelay::new(BaseDelay::Raw, Duration::ZERO),
            over_since: None,
            variation: 0,
            state: State::default(),
            received: ReceiveRate::new(params.rate_window),
            reports: Reports::new(params.remb),
            window: Window::new(path, params.remb, params.window, params.min_window),
            rate: bits(params.initial_rate).max(1.0),
            params,
        }
    }

    fn on_packet(&mut self, packet: &AckedPacket) {
        self.received.on_packet(packet);
        let before = self.delay.owqd();
        let (Some(received), Some(after)) = (packet.received, self.delay.on_packet(packet)) else { return };
        self.variation = after.saturating_sub(before);
        self.state = self.state.after(self.signal(received));
    }

    fn signal(&mut self, received: i64) -> Signal {
        let gamma = nanos(self.params.gamma);
        if self.variation <= gamma {
            self.over_since = None;
            return if self.variation < -gamma { Signal::Under } else { Signal::Normal };
        }
        let over = received.saturating_sub(*self.over_since.get_or_insert(received));
        if over >= nanos(self.params.overuse_time) { Signal::Over } else { Signal::Normal }
    }

    /// Returns the rate that the next REMB would carry. `None` without a receive rate.
    fn next(&self) -> Option<f64> {
        let received = self.received.rate()?;
        let rate = match self.state {
            State::Increase => self.params.eta * self.rate,
            State::Hold => self.rate,
            State::Decrease => self.params.alpha * received,
        };
        Some(self.clip(rate.min(self.params.headroom * received)))
    }

    fn clip(&self, rate: f64) -> f64 {
        // In this order, a smallest rate above the largest does not panic.
        rate.min(self.params.max_rate.map_or(f64::INFINITY, bits)).max(bits(self.params.min_rate)).max(1.0)
    }

    /// Reports whether a decrease must not wait for the next REMB.
    fn early(&self) -> bool {
        let Some(drop) = self.params.early_drop.filter(|_| self.state == State::Decrease) else {
            return false;
        };
        self.next().is_some_and(|next| next < (1.0 - drop) * self.rate)
    }
}

impl Controller for GccSimplified {
    fn needs(&self) -> Needs {
        Needs { receive_times: true, every_receive_time: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.received.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.window.on_ack(ack);
        for packet in ack.packets {
            self.on_packet(packet);
        }
        if self.reports.on_ack(ack, self.early()).is_some() {
            self.rate = self.next().unwrap_or(self.rate);
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if matches!(event.cause, Cause::PersistentCongestion | Cause::Timeout) {
            self.rate = self.clip(0.0);
        }
    }

    /// The rate controls the sender, so the window must not be changed in recovery.
    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.window.on_path_change(path);
    }

    fn control(&self) -> Control {
        self.window.control(self.rate)
    }

    /// Reports rates in bit/s, `variation` in seconds, and `state` -1, 0, 1 for Decrease, Hold,
    /// Increase.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("a", self.rate);
        put("r", self.received.rate().unwrap_or(0.0));
        put("variation", self.variation as f64 * 1e-9);
        put(STATE, self.state.number());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::closed_loop::{Flow, Loop};
    use crate::testing::fixtures::MDS;
    use crate::testing::fixtures::{acked, congestion, path, stamped};
    use units::Time;

    fn cc(params: Params) -> GccSimplified {
        GccSimplified::new(params, path(MDS))
    }

    fn strict() -> Params {
        Params { early_drop: None, ..Params::default() }
    }

    /// Plays packets of 1200 bytes every 10 ms, 960 kbit/s, from `pn` on. Each step is the rise of
    /// the delay in microseconds.
    fn play(cc: &mut GccSimplified, pn: u64, steps: &[i64]) {
        let mut delay = cc.delay.owqd();
        for (pn, step) in (pn..).zip(steps) {
            let sent = Time::from_millis(10 * pn);
            delay += step * 1000;
            let packets = [stamped(pn, sent, sent.0 as i64 + delay)];
            cc.on_ack(&Ack { now: sent, packets: &packets, ..acked(1200) });
        }
    }

    /// More than 0.4 ms in either direction. The state follows packet by packet.
    #[test]
    fn threshold() {
        use State::{Decrease, Hold, Increase};
        let mut cc = cc(strict());
        for (pn, (step, state)) in [
            (0, Increase),
            (400, Increase),
            (401, Decrease),
            (400, Hold),
            (0, Increase),
            (-400, Increase),
            (-401, Hold),
            (-401, Hold),
            (0, Increase),
        ]
        .into_iter()
        .enumerate()
        {
            play(&mut cc, pn as u64, &[step]);
            assert_eq!(cc.state, state, "packet {pn}");
        }
    }

    /// `overuse-time`: packets of 100 ms, as in older WebRTC.
    #[test]
    fn overuse_time() {
        let mut cc = cc(Params { overuse_time: Duration::from_millis(100), ..strict() });
        play(&mut cc, 0, &[0]);
        // Arrivals are 10.5 ms apart: the first packet counts 0 ms, the tenth 94.5 ms, the eleventh
        // 105 ms.
        play(&mut cc, 1, &[500; 10]);
        assert_eq!(cc.state, State::Increase);
        play(&mut cc, 11, &[500]);
        assert_eq!(cc.state, State::Decrease);
    }

    /// eta per second, from 100 kbit/s, up to 1.5 times the receive rate of 960 kbit/s.
    #[test]
    fn increase() {
        let mut cc = cc(strict());
        let mut expected = 100e3;
        for second in 0..20 {
            play(&mut cc, 100 * second, &[0; 100]);
            assert!((cc.rate - expected).abs() < 1e-3, "{second} s: {} {expected}", cc.rate);
            expected = (1.2f64 * expected).min(1.44e6);
        }
        let params = Params { max_rate: Some(Rate(110_000)), ..strict() };
        let mut cc = super::GccSimplified::new(params, path(MDS));
        play(&mut cc, 0, &[0; 500]);
        assert_eq!(cc.rate, 110e3);
    }

    /// 0.9 of the receive rate: with the REMB, or at once if the rate falls by more than 3 %.
    #[test]
    fn decrease() {
        for (params, early) in [(strict(), false), (Params::default(), true)] {
            let mut cc = cc(params);
            play(&mut cc, 0, &[0; 1250]);
            let before = cc.rate;
            assert!(before > 880e3, "{before}");
            play(&mut cc, 1250, &[500]);
            assert_eq!(cc.rate < before, early);
            play(&mut cc, 1251, &[500; 99]);
            let received = cc.received.rate().expect("packets");
            assert_eq!(cc.state, State::Decrease);
            assert!((cc.rate / (0.9 * received) - 1.0).abs() < 0.01, "{} {received}", cc.rate);
        }
    }

    #[test]
    fn events() {
        for (cause, rate) in [
            (Cause::Loss, 100e3),
            (Cause::Ecn, 100e3),
            (Cause::Timeout, 10e3),
            (Cause::PersistentCongestion, 10e3),
        ] {
            let mut cc = cc(Params::default());
            cc.on_congestion(&congestion(cause, 0));
            assert_eq!(cc.rate, rate, "{cause:?}");
        }
    }

    /// Mean and longest queue in ms, smallest and largest rate as a share of the link's, after a
    /// minute.
    fn alone(params: Params, kbits: u64) -> (f64, f64, f64, f64) {
        let flow = Flow::new(Box::new(cc(params)), Duration::from_millis(50), Time::ZERO);
        let mut link = Loop::new(vec![flow], MDS, Rate(kbits * 1000));
        link.run_to(Time::from_millis(60_000));
        let (mut sum, mut n, mut longest, mut least, mut most) = (0.0, 0.0, 0f64, f64::MAX, 0f64);
        while link.now < Time::from_millis(180_000) {
            link.step(Time::NEVER);
            let wait = link.flows[0].latest_rtt - Duration::from_millis(50) - link.packet_time();
            (sum, n) = (sum + wait.as_millis_f64(), n + 1.0);
            longest = longest.max(wait.as_millis_f64());
            let part = link.flows[0].cc.rate / (kbits as f64 * 1e3);
            (least, most) = (least.min(part), most.max(part));
        }
        (sum / n, longest, least, most)
    }

    /// A sawtooth without equilibrium: the longest queue is far above the mean (paper, section
    /// V-D), and the mean is below NADA's.
    #[test]
    fn sawtooth() {
        for kbits in [500, 1000, 1500, 2000] {
            let (mean, longest, least, most) = alone(Params::default(), kbits);
            let nada = 25.0 * (5900.0 / (kbits as f64 - 100.0) - 1.0);
            assert!(mean < nada && longest > 2.5 * mean, "{kbits}: {mean} {longest}");
            assert!((0.79..0.91).contains(&least) && (1.0..1.31).contains(&most), "{kbits}: {least} {most}");
        }
        let (mean, longest, ..) = alone(strict(), 1000);
        assert!(mean > 10.0 && longest < 100.0, "a whole second of 8 %, {mean} {longest}");
    }

    /// The draining queue is not detected above (1 / alpha - 1) L / gamma, 2.2 Mbit/s with 1000
    /// bytes: the queue grows.
    #[test]
    fn no_under_use_at_high_rates() {
        for (kbits, bounded) in [(2000, true), (3000, false)] {
            let (_, longest, ..) = alone(Params::default(), kbits);
            assert_eq!(longest < 1000.0, bounded, "{kbits}: {longest}");
        }
    }

    /// The rate does not depend on the packet size, the smallest window does.
    #[test]
    fn larger_datagrams() {
        let params = Params { initial_rate: Rate(10_000), ..Params::default() };
        let mut cc = GccSimplified::new(params, path(1200));
        let before = cc.control();
        cc.on_path_change(path(1400));
        assert_eq!(cc.control(), Control { cwnd: 14_000, ..before });
    }
}
