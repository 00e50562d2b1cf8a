use super::v1::{Params, PhaseEnd};
use super::*;
use crate::AckedPacket;
use crate::algorithms::bbr::common::script::{MDS, sample};
use crate::algorithms::bbr::v1::Bbr1;
use crate::algorithms::bbr::{v2::Bbr2, v3::Bbr3};
use crate::components::rtt_ratio::Estimator;
use crate::testing::fixtures::{acked, path};
use crate::{Ack, Controller};
use units::Duration;
use units::Time;

const MIN_RTT: Duration = Duration::from_millis(40);
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const PROBE_BW: f64 = 2.0;

/// A flow at 10 Mbit/s and 40 ms, so with a BDP of 50 kB.
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

    /// After `ms` milliseconds, an ACK of 10 packets that forms a round trip of its own.
    fn ack(&mut self, ms: u64, r: f64, ce: u64) {
        self.now += Duration::from_millis(ms);
        let rate = Some(sample(10, self.delivered));
        self.delivered += MDS;
        let one = AckedPacket { pn: 0, bytes: MDS, sent: self.now, received: None, before_reduction: false };
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

    /// Runs to the end of a cycle: the next phase of ProbeBW begins the next cycle.
    fn settle(&mut self, r: f64) {
        (0..4).for_each(|_| self.ack(50, r, 0));
        self.in_flight = 0;
        self.ack(50, r, 0);
        assert_eq!(self.get("state"), PROBE_BW);
        self.in_flight = 1 << 20;
    }
}

fn gated(params: Params) -> Flow<EcnGated<Bbr1>> {
    Flow::new(params.controller(path(MDS)))
}

/// The reading that these tests can follow gain by gain. The default decides once per visit.
fn by_cycle() -> Params {
    Params { unit: Unit::Cycle, rtt: Estimator::Smoothed, ..Params::default() }
}

/// A flow in the last phase of a cycle, with R = 1.5 so far.
fn before_cycle(params: Params) -> Flow<EcnGated<Bbr1>> {
    let mut flow = gated(params);
    flow.settle(1.5);
    while flow.cc.base.phase() != Some(7) {
        flow.ack(50, 1.5, 0);
    }
    flow
}

/// The gains of the next eight phases, with this R and this many marks per phase.
fn cycle(flow: &mut Flow<EcnGated<Bbr1>>, r: f64, ce: u64) -> [f64; 8] {
    core::array::from_fn(|_| {
        flow.ack(50, r, ce);
        flow.get("pacing_gain")
    })
}

/// Section 3: a mark in Startup together with R below the gate, and only both.
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

/// Section 3 at R = 1.49, 1.5 and 1.51: 1.25 * 1.25, 0.75 * 0.75 and so on for a cycle, then the
/// next decision.
#[test]
fn gains() {
    for (r, ce, factor) in [(1.51, 0, 1.25), (1.51, 9, 1.25), (1.5, 9, 1.0), (1.49, 0, 1.0), (1.49, 1, 0.75)]
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

/// N as a number of packets and as a share, for 8 phases of 10 packets each.
#[test]
fn many_marks() {
    for (marks, ce, lowered) in [
        ("1 packet".parse().unwrap(), 1, true),
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

/// R rises in the middle of a cycle: the next phase, the next cycle or the next visit is scaled.
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

/// A BDP in flight with factor 0.75. By the cycle's gains each phase lasts a min_rtt, also the
/// probing one, although it builds no queue. By the scaled gains each ACK ends a phase.
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

/// Without factors it behaves like its base.
#[test]
fn unscaled_is_the_base() {
    let params = Params { raise: 1.0, lower: 1.0, startup_drain: false, ..by_cycle() };
    let (mut layer, mut base) = (gated(params), Flow::new(Bbr1::new(Params::default().base, path(MDS))));
    for i in 0..2000 {
        let (r, ce, in_flight) = (1.0 + (i % 10) as f64 / 10.0, u64::from(i % 3 == 0), (i % 7) * 20_000);
        (layer.in_flight, base.in_flight) = (in_flight, in_flight);
        layer.ack(13, r, ce);
        base.ack(13, r, ce);
        assert_eq!(layer.cc.control(), base.cc.control());
    }
}

/// A version 2 or 3 in the last phase of a cycle, UP, with R = 1.5 so far.
fn before_down<B: Scaled>(cc: EcnGated<B>) -> Flow<EcnGated<B>> {
    let mut flow = Flow::new(cc);
    (0..4).for_each(|_| flow.ack(50, 1.5, 0));
    flow.in_flight = 0;
    while flow.cc.base.phase() != Some(3) {
        flow.ack(50, 1.5, 0);
        assert!(flow.now < Time::from_millis(4500), "no UP before ProbeRTT");
    }
    flow
}

/// Pacing gains of the next cycle, phase by phase, each with its window gain. R and the marks per
/// ACK are given, and UP has 1.5 BDP in flight.
fn next_cycle<B: Scaled>(flow: &mut Flow<EcnGated<B>>, r: f64, ce: u64) -> Vec<(f64, f64)> {
    let mut gains = Vec::new();
    let mut before = flow.cc.base.phase();
    while gains.len() < 5 {
        flow.in_flight = if before == Some(3) { 75_000 } else { 0 };
        flow.ack(50, r, ce);
        let after = flow.cc.base.phase();
        assert!(after.is_some(), "ProbeRTT");
        if after != before {
            gains.push((flow.get("pacing_gain"), flow.get("cwnd_gain")));
        }
        before = after;
    }
    gains
}

macro_rules! later_version {
    ($name:ident, $base:ident, $up_cwnd:literal) => {
        mod $name {
            use super::super::$name::Params;
            use super::*;
            use crate::algorithms::bbr::$name;

            fn by_cycle() -> Params {
                let base =
                    $name::Params { probe_rtt_interval: Duration::from_secs(100), ..Default::default() };
                Params { unit: Unit::Cycle, rtt: Estimator::Smoothed, base, ..Params::default() }
            }

            fn controller(params: &Params) -> EcnGated<$base> {
                params.clone().controller(path(MDS))
            }

            /// A mark in Startup together with R below the gate, and only both.
            #[test]
            fn startup() {
                for (r, ce, state) in
                    [(1.49, 1, DRAIN), (1.5, 1, STARTUP), (1.51, 1, STARTUP), (1.2, 0, STARTUP)]
                {
                    let mut flow = Flow::new(controller(&by_cycle()));
                    flow.ack(50, r, 0);
                    flow.ack(50, r, ce);
                    assert_eq!(flow.get("state"), state, "R = {r}, {ce} marks");
                }
            }

            /// DOWN, CRUISE, REFILL, UP at R = 1.49, 1.5 and 1.51, then the next decision. A UP at
            /// 0.9375 ends although it builds no queue.
            #[test]
            fn gains() {
                let base = [(0.9, 2.0), (1.0, 2.0), (1.0, 2.0), (1.25, $up_cwnd)];
                for (r, ce, factor) in
                    [(1.51, 0, 1.25), (1.51, 1, 1.25), (1.5, 1, 1.0), (1.49, 0, 1.0), (1.49, 1, 0.75)]
                {
                    for (scope, pacing, cwnd) in [
                        (Scope::Pacing, factor, 1.0),
                        (Scope::Cwnd, 1.0, factor),
                        (Scope::Both, factor, factor),
                    ] {
                        let mut flow = before_down(controller(&Params { scope, ..by_cycle() }));
                        flow.cc.ce = ce;
                        let gains = next_cycle(&mut flow, r, 0);
                        assert_eq!(
                            gains[..4],
                            base.map(|(p, w)| (p * pacing, w * cwnd)),
                            "R = {r}, {ce} marks"
                        );
                    }
                }
                let mut flow = before_down(controller(&by_cycle()));
                flow.cc.ce = 1;
                next_cycle(&mut flow, 1.4, 0);
                assert_eq!(flow.get("factor"), 1.0, "no marks in this cycle");
            }

            /// Marks reach the base only if asked for: its bound on the bandwidth.
            #[test]
            fn base_marks() {
                for (base_marks, lowered) in [(false, false), (true, true)] {
                    let mut flow = Flow::new(controller(&Params { base_marks, ..by_cycle() }));
                    (0..4).for_each(|_| flow.ack(50, 1.5, 0));
                    flow.in_flight = 0;
                    let mut bounded = false;
                    for _ in 0..20 {
                        flow.ack(50, 1.5, 1);
                        flow.cc.trace(&mut |name, value| {
                            bounded |= ["bw_lo", "bw_shortterm"].contains(&name) && value.is_finite();
                        });
                    }
                    assert_eq!(bounded, lowered);
                }
            }

            /// Without factors it behaves like its base.
            #[test]
            fn unscaled_is_the_base() {
                let unscaled =
                    Params { raise: 1.0, lower: 1.0, startup_drain: false, base_marks: true, ..by_cycle() };
                let mut layer = Flow::new(controller(&unscaled));
                let mut base = Flow::new($base::new(unscaled.base, path(MDS)));
                for i in 0..2000 {
                    let (r, ce, in_flight) =
                        (1.0 + (i % 10) as f64 / 10.0, u64::from(i % 3 == 0), (i % 7) * 20_000);
                    (layer.in_flight, base.in_flight) = (in_flight, in_flight);
                    layer.ack(13, r, ce);
                    base.ack(13, r, ce);
                    assert_eq!(layer.cc.control(), base.cc.control());
                }
            }
        }
    };
}

later_version!(v2, Bbr2, 2.0);
later_version!(v3, Bbr3, 2.25);
