//! Tests that the suite finds each fault of a controller and names it.

use crate::testing::conformance;
use crate::{
    Ack, Cause, Congestion, Control, Controller, Entry, PathInfo, Range, STATE, Variable, params, variables,
};

params! {
    /// Number of the rule to break, 0 for none. Test.
    mistake: u64 = 0 => Range::from(0.0),
}

crate::algorithm! {
    /// One packet more per round trip, half after a loss. Test.
    "aimd", Params, |p, path| Box::new(Aimd { mistake: p.mistake, cwnd: 10 * path.max_datagram_size, mds: path.max_datagram_size }),
    states = &["small", "large"],
    variables = VARIABLES
}

variables! {
    /// The congestion window. Test.
    window: "bytes",
    /// Growth by the newest ACK. Test.
    growth: "bytes"; later,
}

#[derive(Clone, Debug)]
struct Aimd {
    mistake: u64,
    cwnd: u64,
    mds: u64,
}

impl Controller for Aimd {
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let granted = if self.mistake == 1 { ack.acked } else { ack.growth };
        self.cwnd += self.mds * granted / self.cwnd;
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {
        let packets = if self.mistake == 2 { 0 } else { 2 };
        self.cwnd = (self.cwnd / 2).max(packets * self.mds);
    }
    fn on_spurious(&mut self) {
        self.cwnd *= if self.mistake == 3 { 4 } else { 1 };
    }
    fn on_path_change(&mut self, path: PathInfo) {
        let (before, after) = (self.mds, path.max_datagram_size);
        self.mds = after;
        self.cwnd = if self.mistake == 4 { self.cwnd / before * after } else { self.cwnd.max(2 * after) };
    }
    fn control(&self) -> Control {
        Control::window(self.cwnd)
    }
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        if self.mistake != 7 {
            put(if self.mistake == 5 { "My window" } else { "window" }, self.cwnd as f64);
        }
        if self.mistake == 8 {
            put("mds", self.mds as f64);
        }
        put(STATE, if self.mistake == 6 { 1.5 } else { f64::from(u8::from(self.cwnd > 20_000)) });
    }
}

fn check(mistake: u64) {
    conformance::check_algorithm(&Params { mistake }.into(), conformance::Exemptions::NONE);
}

#[test]
fn conforms() {
    conformance::check(&Entry::for_params::<Params>());
}

#[test]
#[should_panic(expected = "on an ACK that allows no growth")]
fn ungranted() {
    check(1);
}

#[test]
#[should_panic(expected = "below its minimum")]
fn no_minimum() {
    check(2);
}

#[test]
#[should_panic(expected = "`on_spurious` restored more than the window had ever been")]
fn too_much_undone() {
    check(3);
}

#[test]
#[should_panic(expected = "datagrams of 1400 bytes changed the window")]
fn window_in_packets() {
    check(4);
}

#[test]
#[should_panic(expected = "`trace` must report each name once, in snake_case")]
fn a_name_for_charts() {
    check(5);
}

#[test]
#[should_panic(
    expected = "`trace` reports state Some(1.5), which is not a number of one of the states [\"small\", \"large\"]"
)]
fn state_without_a_name() {
    check(6);
}

#[test]
#[should_panic(expected = "`variables!` lists Some(\"window\"), which `trace` does not report")]
fn a_variable_that_is_not_told() {
    check(7);
}

#[test]
#[should_panic(expected = "`trace` reports Some(\"mds\"), which is not listed")]
fn a_variable_without_a_unit() {
    check(8);
}

/// AIMD with a delay threshold that grows and asks for a reduction on the same ACK.
mod delay {
    use crate::testing::conformance;
    use crate::{Ack, Cause, Congestion, Control, Controller, Entry, PathInfo, Range, params};
    use units::Duration;

    params! {
        /// Part of the window that an undo restores beyond the window before the cut. Test.
        excess: f64 = 0.0 => Range::PART,
        /// Factor on the window when the controller asks for a reduction. Test.
        jump: u64 = 1 => Range::COUNT,
    }

    crate::algorithm! {
        /// One packet more per round trip, 80 % after a loss or a rising delay. Test.
        "delay-aimd", Params, |p, path| Box::new(DelayAimd {
            params: p.clone(),
            cwnd: 10 * path.max_datagram_size,
            ssthresh: u64::MAX,
            before: 0,
            mds: path.max_datagram_size,
        })
    }

    #[derive(Clone, Debug)]
    struct DelayAimd {
        params: Params,
        cwnd: u64,
        ssthresh: u64,
        /// The window before the last cut, or 0.
        before: u64,
        mds: u64,
    }

    impl Controller for DelayAimd {
        fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
            self.cwnd +=
                if self.cwnd < self.ssthresh { ack.growth } else { self.mds * ack.growth / self.cwnd };
            let queue = ack.latest_rtt.unwrap_or(ack.min_rtt).saturating_sub(ack.min_rtt);
            let cut = ack.growth > 0 && queue > Duration::from_millis(5);
            self.cwnd *= if cut { self.params.jump } else { 1 };
            cut.then_some(Cause::Delay)
        }
        fn on_congestion(&mut self, _: &Congestion) {
            self.before = self.cwnd;
            self.cwnd = (self.cwnd * 4 / 5).max(2 * self.mds);
            self.ssthresh = self.cwnd;
        }
        fn on_spurious(&mut self) {
            let restored = (self.before as f64 * (1.0 + self.params.excess)) as u64;
            self.cwnd = self.cwnd.max(restored);
        }
        fn on_path_change(&mut self, path: PathInfo) {
            self.mds = path.max_datagram_size;
            self.cwnd = self.cwnd.max(2 * self.mds);
        }
        fn control(&self) -> Control {
            Control { ssthresh: self.ssthresh, ..Control::window(self.cwnd) }
        }
    }

    /// The window after the cut may exceed the one before the ACK: 12 000 + 3600 bytes times 0.8
    /// are 12 480.
    #[test]
    fn grows_and_cuts_on_one_ack() {
        conformance::check(&Entry::for_params::<Params>());
    }

    #[test]
    #[should_panic(expected = "`on_spurious` restored more than the window had ever been")]
    fn restores_too_much() {
        let params = Params { excess: 0.1, ..Params::default() };
        conformance::check_algorithm(&params.into(), conformance::Exemptions::NONE);
    }

    #[test]
    #[should_panic(expected = "the window grew faster than in slow start")]
    fn jumps_before_the_cut() {
        let params = Params { jump: 3, ..Params::default() };
        conformance::check_algorithm(&params.into(), conformance::Exemptions::NONE);
    }
}

/// Mistakes in the list of variables itself.
#[test]
fn lists_of_variables() {
    const GOOD: Variable = Variable { name: "x", unit: "s", doc: " A time. Test.", always: true };
    let refused = |variables: &'static [Variable]| {
        let mut entry = Entry::for_params::<Params>();
        entry.variables = variables;
        let why = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| conformance::check(&entry)))
            .expect_err("the list is wrong");
        why.downcast_ref::<String>().expect("a sentence").clone()
    };
    for (variables, why) in [
        (const { &[GOOD, GOOD] } as &[_], "aimd: variable `x` must be listed once, in snake_case"),
        (
            const { &[Variable { name: "X", ..GOOD }] },
            "aimd: variable `X` must be listed once, in snake_case",
        ),
        (const { &[Variable { name: STATE, ..GOOD }] }, "aimd: remove `state` from the variables"),
        (
            const { &[Variable { doc: "", ..GOOD }] },
            "aimd: the doc comment of `x` must be a sentence that ends with a full stop, not \"\"",
        ),
        (
            const { &[Variable { unit: "1", ..GOOD }] },
            "aimd: the unit of `x` must be one word, or empty for a plain number, not \"1\"",
        ),
        (
            const { &[Variable { unit: "a b", ..GOOD }] },
            "aimd: the unit of `x` must be one word, or empty for a plain number, not \"a b\"",
        ),
    ] {
        let said = refused(variables);
        assert!(said.starts_with(why), "{said}");
    }
}
