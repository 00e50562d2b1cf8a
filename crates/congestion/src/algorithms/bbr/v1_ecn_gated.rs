//! BBR that takes the queue it sees at CE marks as a hint on its own aggressiveness: "Fairness improvement method using
//! explicit congestion notification for QUIC" (Uchida et al., IEICE ComEX, April 2024), section 3, over BBRv1.
//!
//! ```text
//! R        = RTT / minRTT                                                          (section 3)
//! Startup    a mark while R < 1.5: Drain
//! ProbeBW    n marks in the previous ProbeBW; when the next begins:
//!              R > 1.5:            gain *= 1.25
//!              R < 1.5 and n > N:  gain *= 0.75
//! ```
//!
//! Everything else is [`bbr1`](crate::algorithms::bbr::v1)'s, in `base`. R = 1.5 changes nothing, by the letter.
//!
//! **Ambiguities** (fact sheet section 5.2), each a parameter with the recommended default:
//! * which RTT and which minimum are in R: `rtt`, `min-rtt-window`;
//! * which gain: `scope`. With marks from half of a large buffer on, twice the BDP in flight and not the pacing rate
//!   limits BBR, so `cwnd` may be what moved the throughput;
//! * what "the previous ProbeBW" is: `unit`;
//! * "a certain value" N: `marks`, a number of packets or a share of those acknowledged, a mark being a packet of the
//!   ACK's counter;
//! * whether the factors add up from one ProbeBW to the next: `persistence`;
//! * whether R > 1.5 needs marks too: by the letter of section 3 no, but section 5 explains throughput by "gain by 1.25
//!   based on RTT and the number of ECN packets": `raise-needs-marks`;
//! * how a phase ends whose gain is scaled: `phase-end`. BBR ends a phase above 1 when that much is in flight and one
//!   below 1 when no more than the BDP is. Judged by the scaled gain, a cycle at 0.75 has no phase above 1, and all
//!   its phases may end with one ACK each; judged by the cycle's own, phases last as in BBR.
//!
//! Not answered in ProbeBW: marks as such. picoquic's own answer (half the window, at most once per srtt) is not there:
//! the paper's regular flows did not react (fact sheet section 5.2, "baseline").
//!
//! The sender opens a recovery period at each mark (`Cause::Ecn`), of which `bbr1` takes no notice: it asks neither for
//! the granted growth nor for the sender's period, so a mark that is ignored costs nothing here.
//!
//! Deviations: the base is BBRv1 of draft and Linux, not picoquic's (cycle 1.25, 0.75, 1 ...; see `bbr1`). A cycle
//! begins when the phase wraps, or ProbeBW is entered at whatever phase. Marks of Startup, Drain and ProbeRTT are not
//! counted: they are not of "the previous ProbeBW". Under a policer's rate (`base.policer`) nothing is scaled.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::algorithms::bbr::v1::{self, Bbr1, Scale};
use crate::components::rtt_ratio::{Estimator, Ratio};
use crate::{Ack, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo, Sent};
use crate::{Range, params};
use units::Duration;
use units::split_number;

params! {
    /// R that separates a small from a large buffer. Uchida et al. section 3.
    gate: f64 = 1.5 => Range::from(1.0),
    /// Which RTT is in R, "the current RTT" of section 3: `latest`, `smoothed` or `round-min`.
    rtt: Estimator = Estimator::Latest,
    /// How long a minimum RTT is believed, or `"off"`: for ever. Not in the paper; fact sheet section 5.2.
    #[serde(with = "units::or_off")]
    min_rtt_window: Option<Duration> = None,
    /// A mark below the gate ends Startup. Uchida et al. section 3.
    startup_drain: bool = true,
    /// Factor on the gain above the gate. Uchida et al. section 3.
    raise: f64 = 1.25 => Range::FACTOR,
    /// Factor on the gain below the gate after many marks. Uchida et al. section 3.
    lower: f64 = 0.75 => Range::FACTOR,
    /// The factor above the gate needs many marks too. By section 3 no; section 5 may be read so.
    raise_needs_marks: bool = false,
    /// N, more than which are many: `"0 packets"`, or a part of the packets acknowledged, `"5 %"`. "A certain value" in the paper.
    marks: Marks = Marks::Packets(0),
    /// Which gain of ProbeBW: `pacing`, `cwnd` or `both`. Not in the paper; fact sheet section 5.2.
    scope: Scope = Scope::Pacing,
    /// "The previous ProbeBW": one `visit` between two ProbeRTTs, as one of "four phases" (section 3.2), one `cycle` of gains, or one
    /// `phase` of a cycle.
    unit: Unit = Unit::Visit,
    /// The factor holds until the next decision (`reset`), or multiplies what was there (`compound`). Fact sheet section 5.2.
    persistence: Persistence = Persistence::Reset,
    /// What compounded factors stay within: this and its reciprocal. Not in the paper, which diverges.
    compound_limit: f64 = 8.0 => Range::from(1.0),
    /// Which gain tells how a phase ends: the cycle's `own` or the `scaled`. Not in the paper.
    phase_end: PhaseEnd = PhaseEnd::Own,
    /// The parameters of `bbr1` below it.
    base: v1::Params = v1::Params::default(); v1::Params::DOCS,
}

/// N.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marks {
    /// `"1 packets"`.
    Packets(u64),
    /// `"5 %"` of the packets acknowledged.
    Percent(f64),
}

units::serde_as_string!(Marks);

impl FromStr for Marks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match split_number(text)? {
            (n, "packets") => Ok(Self::Packets(n as u64)),
            (percent, "%") => Ok(Self::Percent(percent)),
            _ => Err(format!("`{text}` is not a number of marks, like \"1 packets\" or \"5 %\"")),
        }
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n} packets"),
            Self::Percent(percent) => write!(f, "{percent} %"),
        }
    }
}

/// Which gain is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Scope {
    /// The pacing gain.
    Pacing,
    /// The window gain.
    Cwnd,
    /// Both.
    Both,
}

/// What one ProbeBW is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Unit {
    /// The eight phases of the gain cycle.
    Cycle,
    /// One of them.
    Phase,
    /// From entry to exit.
    Visit,
}

/// How long a factor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Persistence {
    /// Until the next decision.
    Reset,
    /// For ever: the next one multiplies it.
    Compound,
}

/// Which gain tells how a phase ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum PhaseEnd {
    /// The cycle's own.
    Own,
    /// The scaled one.
    Scaled,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Bbr1EcnGated {
    params: Params,
    ratio: Ratio,
    /// The last R.
    r: f64,
    /// Marked and acknowledged packets in ProbeBW since the last decision.
    ce: u64,
    packets: u64,
    factor: f64,
    base: Bbr1,
}

impl Bbr1EcnGated {
    /// In Startup.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let ratio = Ratio::new(params.rtt, params.min_rtt_window);
        let base = Bbr1::new(params.base.clone(), path);
        Self { params, ratio, r: 1.0, ce: 0, packets: 0, factor: 1.0, base }
    }

    fn many_marks(&self) -> bool {
        match self.params.marks {
            Marks::Packets(n) => self.ce > n,
            Marks::Percent(percent) => self.ce as f64 * 100.0 > percent * self.packets as f64,
        }
    }

    /// Section 3, for the ProbeBW that begins.
    fn decide(&mut self) {
        let p = &self.params;
        let many = self.many_marks();
        let factor = if self.r > p.gate && (many || !p.raise_needs_marks) {
            p.raise
        } else if self.r < p.gate && many {
            p.lower
        } else {
            1.0
        };
        let most = p.compound_limit.max(1.0);
        self.factor = match p.persistence {
            Persistence::Reset => factor,
            Persistence::Compound => (self.factor * factor).min(most).max(1.0 / most),
        };
        (self.ce, self.packets) = (0, 0);
        let (pacing, cwnd) = match p.scope {
            Scope::Pacing => (self.factor, 1.0),
            Scope::Cwnd => (1.0, self.factor),
            Scope::Both => (self.factor, self.factor),
        };
        self.base.scale_probe_bw(Scale { pacing, cwnd, ends: p.phase_end == PhaseEnd::Scaled });
    }

    /// Does a ProbeBW begin between these phases?
    fn begins(&self, before: Option<usize>, after: Option<usize>) -> bool {
        match (before, after, self.params.unit) {
            (None, Some(_), _) => true,
            (Some(before), Some(after), Unit::Cycle) => after < before,
            (Some(before), Some(after), Unit::Phase) => after != before,
            (Some(_), Some(_), Unit::Visit) | (_, None, _) => false,
        }
    }
}

impl Controller for Bbr1EcnGated {
    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        let before = self.base.phase();
        self.base.on_sent(sent);
        // The end of idle time may end ProbeRTT.
        if self.begins(before, self.base.phase()) {
            self.decide();
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.r = self.ratio.update(ack).unwrap_or(self.r);
        let before = self.base.phase();
        let startup = self.base.control().in_slow_start();
        if startup && self.params.startup_drain && ack.ce > 0 && self.r < self.params.gate {
            self.base.end_startup();
        }
        if before.is_some() {
            self.ce += ack.ce;
            self.packets += ack.packets.len() as u64;
        }
        let asked = self.base.on_ack(ack);
        if self.begins(before, self.base.phase()) {
            self.decide();
        }
        asked
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.base.on_lost(lost);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.base.on_congestion(event);
    }

    fn on_spurious(&mut self) {
        self.base.on_spurious();
    }

    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.base.on_path_change(path);
    }

    fn control(&self) -> Control {
        self.base.control()
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.base.trace(put);
        put("r", self.r);
        put("factor", self.factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AckedPacket;
    use crate::algorithms::bbr::common::script::{MDS, sample};
    use crate::testing::fixtures::{acked, path};
    use units::Time;

    const MIN_RTT: Duration = Duration::from_millis(40);
    const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    const STARTUP: f64 = 0.0;
    const DRAIN: f64 = 1.0;
    const PROBE_BW: f64 = 2.0;

    /// A flow at 10 Mbit/s and 40 ms, so a BDP of 50 kB.
    struct Flow<C> {
        cc: C,
        now: Time,
        delivered: u64,
        in_flight: u64,
    }

    impl<C: Controller> Flow<C> {
        fn new(cc: C) -> Self {
            Self { cc, now: Time::ZERO, delivered: 0, in_flight: 1 << 20 }
        }

        /// After this many milliseconds an ACK of 10 packets, a round trip of its own.
        fn ack(&mut self, ms: u64, r: f64, ce: u64) {
            self.now += Duration::from_millis(ms);
            let rate = Some(sample(10, self.delivered));
            self.delivered += MDS;
            let one =
                AckedPacket { pn: 0, bytes: MDS, sent: self.now, received: None, before_reduction: false };
            self.cc.on_ack(&Ack {
                now: self.now,
                packets: &[one; 10],
                prior_in_flight: self.in_flight,
                bytes_in_flight: self.in_flight,
                latest_rtt: Some(MIN_RTT),
                min_rtt: MIN_RTT,
                smoothed_rtt: MIN_RTT.mul_f64(r),
                ce,
                delivered: self.delivered,
                rate,
                ..acked(MDS)
            });
        }

        fn get(&self, name: &str) -> f64 {
            let mut found = f64::NAN;
            self.cc.trace(&mut |n, value| found = if n == name { value } else { found });
            found
        }

        /// To the end of a cycle: the next phase of ProbeBW begins the next one.
        fn settle(&mut self, r: f64) {
            (0..4).for_each(|_| self.ack(50, r, 0));
            self.in_flight = 0;
            self.ack(50, r, 0);
            assert_eq!(self.get("state"), PROBE_BW);
            self.in_flight = 1 << 20;
        }
    }

    fn gated(params: Params) -> Flow<Bbr1EcnGated> {
        Flow::new(Bbr1EcnGated::new(params, path(MDS)))
    }

    /// The reading that these tests can follow gain by gain; the default decides once per visit.
    fn by_cycle() -> Params {
        Params { unit: Unit::Cycle, rtt: Estimator::Smoothed, ..Params::default() }
    }

    /// In the last phase of a cycle, with R = 1.5 up to here.
    fn before_cycle(params: Params) -> Flow<Bbr1EcnGated> {
        let mut flow = gated(params);
        flow.settle(1.5);
        while flow.cc.base.phase() != Some(7) {
            flow.ack(50, 1.5, 0);
        }
        flow
    }

    /// The gains of the next eight phases, at this R and with so many marks per phase.
    fn cycle(flow: &mut Flow<Bbr1EcnGated>, r: f64, ce: u64) -> [f64; 8] {
        core::array::from_fn(|_| {
            flow.ack(50, r, ce);
            flow.get("pacing_gain")
        })
    }

    /// Section 3: a mark in Startup and R below the gate, and only both.
    #[test]
    fn startup() {
        for (r, ce, state) in
            [(1.2, 1, DRAIN), (1.49, 1, DRAIN), (1.5, 1, STARTUP), (1.51, 1, STARTUP), (1.2, 0, STARTUP)]
        {
            let mut flow = gated(by_cycle());
            flow.ack(50, r, 0);
            flow.ack(50, r, ce);
            assert_eq!(flow.get("state"), state, "R = {r}, {ce} marks");
        }
        let mut flow = gated(Params { startup_drain: false, ..by_cycle() });
        flow.ack(50, 1.2, 1);
        assert_eq!(flow.get("state"), STARTUP);
    }

    /// Section 3 at R = 1.49, 1.5 and 1.51: 1.25 * 1.25, 0.75 * 0.75 and so on for a cycle; then the next decision.
    #[test]
    fn gains() {
        for (r, ce, factor) in
            [(1.51, 0, 1.25), (1.51, 9, 1.25), (1.5, 9, 1.0), (1.49, 0, 1.0), (1.49, 1, 0.75)]
        {
            let mut flow = before_cycle(by_cycle());
            flow.cc.ce = ce;
            assert_eq!(cycle(&mut flow, r, 0), CYCLE.map(|gain| gain * factor), "R = {r}, {ce} marks");
            assert_eq!(cycle(&mut flow, 1.5, 0), CYCLE, "restored");
        }
        let mut flow = before_cycle(by_cycle());
        flow.cc.ce = 1;
        let lowered = cycle(&mut flow, 1.4, 0);
        assert_eq!((lowered[0], lowered[1]), (0.9375, 0.5625));
        assert_eq!(cycle(&mut flow, 2.0, 0)[0], 1.5625);
    }

    /// The pacing rate follows with the ACK that begins the cycle: 1.5625 * 10 Mbit/s less 1 %.
    #[test]
    fn rate_follows_at_once() {
        let mut flow = before_cycle(by_cycle());
        flow.ack(50, 1.6, 0);
        let rate = flow.cc.control().pacing_rate.map_or(0.0, units::Rate::mbit_s);
        assert!((rate - 15.625 * 0.99).abs() < 0.02, "{rate}");
    }

    /// N as a number of packets and as a share: 8 phases of 10 packets each.
    #[test]
    fn many_marks() {
        for (marks, ce, lowered) in [
            (Marks::Packets(0), 1, true),
            (Marks::Packets(8), 1, false),
            (Marks::Packets(7), 1, true),
            (Marks::Percent(10.0), 1, false),
            (Marks::Percent(9.0), 1, true),
        ] {
            let mut flow = before_cycle(Params { marks, ..by_cycle() });
            cycle(&mut flow, 1.5, ce);
            let factor = if lowered { 0.75 } else { 1.0 };
            assert_eq!(cycle(&mut flow, 1.4, ce)[0], 1.25 * factor, "{marks}");
        }
        for text in ["3 packets", "2.5 %"] {
            assert_eq!(text.parse::<Marks>().map(|m| m.to_string()), Ok(text.to_owned()));
        }
        assert!("3".parse::<Marks>().is_err());
    }

    #[test]
    fn scope() {
        for (scope, pacing, cwnd) in
            [(Scope::Pacing, 1.5625, 2.0), (Scope::Cwnd, 1.25, 2.5), (Scope::Both, 1.5625, 2.5)]
        {
            let mut flow = before_cycle(Params { scope, ..by_cycle() });
            flow.ack(50, 2.0, 0);
            assert_eq!((flow.get("pacing_gain"), flow.get("cwnd_gain")), (pacing, cwnd), "{scope:?}");
        }
    }

    /// When R rises in the middle of a cycle: the next phase, the next cycle or the next visit is scaled.
    #[test]
    fn unit() {
        for (unit, next_phase, next_cycle) in
            [(Unit::Phase, 1.25, 1.25), (Unit::Cycle, 1.0, 1.25), (Unit::Visit, 1.0, 1.0)]
        {
            let mut flow = before_cycle(Params { unit, ..by_cycle() });
            (0..4).for_each(|_| flow.ack(50, 1.5, 0));
            flow.ack(50, 2.0, 0);
            assert_eq!(flow.get("factor"), next_phase, "{unit:?}");
            (0..4).for_each(|_| flow.ack(50, 2.0, 0));
            assert_eq!(flow.get("factor"), next_cycle, "{unit:?}");
            flow.in_flight = 0;
            let mut left = false;
            while !left || flow.get("state") != PROBE_BW {
                flow.ack(50, 2.0, 0);
                left |= flow.get("state") > PROBE_BW;
            }
            assert_eq!(flow.get("factor"), 1.25, "{unit:?}");
        }
    }

    #[test]
    fn persistence() {
        let mut flow = before_cycle(Params { persistence: Persistence::Compound, ..by_cycle() });
        for factor in [1.25, 1.5625, 1.953125] {
            cycle(&mut flow, 2.0, 0);
            assert_eq!(flow.get("factor"), factor);
        }
        cycle(&mut flow, 1.5, 0);
        assert_eq!(flow.get("factor"), 1.953125);
        (0..20).for_each(|_| _ = cycle(&mut flow, 2.0, 0));
        assert_eq!(flow.get("factor"), 8.0);
    }

    #[test]
    fn raise_may_need_marks() {
        for (ce, factor) in [(0, 1.0), (1, 1.25)] {
            let mut flow = before_cycle(Params { raise_needs_marks: true, ..by_cycle() });
            flow.cc.ce = ce;
            flow.ack(50, 2.0, 0);
            assert_eq!(flow.get("factor"), factor);
        }
    }

    /// With a BDP in flight at 0.75: by the cycle's gains each phase lasts a min_rtt, the probing one too although it
    /// cannot queue anything; by the scaled ones each ACK ends one.
    #[test]
    fn phase_end() {
        for (phase_end, passed) in [(PhaseEnd::Own, 1), (PhaseEnd::Scaled, 5)] {
            let mut flow = before_cycle(Params { phase_end, ..by_cycle() });
            flow.cc.ce = 1;
            flow.ack(50, 1.4, 0);
            flow.in_flight = 50_000;
            (0..5).for_each(|_| flow.ack(9, 1.4, 0));
            assert_eq!(flow.cc.base.phase(), Some(passed), "{phase_end:?}");
        }
    }

    /// Without factors it is its base.
    #[test]
    fn unscaled_is_the_base() {
        let params = Params { raise: 1.0, lower: 1.0, startup_drain: false, ..by_cycle() };
        let (mut layer, mut base) = (gated(params), Flow::new(Bbr1::new(v1::Params::default(), path(MDS))));
        for i in 0..2000 {
            let (r, ce, in_flight) = (1.0 + (i % 10) as f64 / 10.0, u64::from(i % 3 == 0), (i % 7) * 20_000);
            (layer.in_flight, base.in_flight) = (in_flight, in_flight);
            layer.ack(13, r, ce);
            base.ack(13, r, ce);
            assert_eq!(layer.cc.control(), base.cc.control());
        }
    }
}
