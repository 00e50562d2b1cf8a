//! The suite finds what is wrong with a controller, and says it in a sentence.

use crate::testing::conformance;
use crate::{
    Ack, Cause, Congestion, Control, Controller, Entry, PathInfo, Range, STATE, Variable, params, variables,
};

params! {
    /// Which rule it breaks; 0: none. Test.
    mistake: u64 = 0 => Range::from(0.0),
}

crate::algorithm! {
    /// A packet more each round trip, half after a loss. Test.
    "aimd", Params, |p, path| Box::new(Aimd { mistake: p.mistake, cwnd: 10 * path.max_datagram_size, mds: path.max_datagram_size }),
    states = &["small", "large"],
    variables = VARIABLES
}

variables! {
    /// The congestion window. Test.
    window: "bytes",
    /// Bytes of growth by the newest ACK. Test.
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
    conformance::check(&Entry::of::<Params>());
}

#[test]
#[should_panic(expected = "the window grew without a grant")]
fn ungranted() {
    check(1);
}

#[test]
#[should_panic(expected = "the window is below its minimum")]
fn no_minimum() {
    check(2);
}

#[test]
#[should_panic(expected = "undone beyond what was")]
fn too_much_undone() {
    check(3);
}

#[test]
#[should_panic(expected = "datagrams of 1400 bytes moved the window")]
fn window_in_packets() {
    check(4);
}

#[test]
#[should_panic(expected = "a trace has each name once, in snake_case")]
fn a_name_for_charts() {
    check(5);
}

#[test]
#[should_panic(expected = "its state is Some(1.5), and its states are [\"small\", \"large\"]")]
fn state_without_a_name() {
    check(6);
}

#[test]
#[should_panic(expected = "its row lists Some(\"window\"), which it does not tell")]
fn a_variable_that_is_not_told() {
    check(7);
}

#[test]
#[should_panic(expected = "it tells Some(\"mds\"), which its row does not list")]
fn a_variable_without_a_unit() {
    check(8);
}

/// What the list itself says.
#[test]
fn lists_of_variables() {
    const GOOD: Variable = Variable { name: "x", unit: "s", doc: " A time. Test.", always: true };
    let refused = |variables: &'static [Variable]| {
        let mut entry = Entry::of::<Params>();
        entry.variables = variables;
        let why = std::panic::catch_unwind(|| conformance::check(&entry)).expect_err("it is wrong");
        why.downcast_ref::<String>().expect("a sentence").clone()
    };
    for (variables, why) in [
        (const { &[GOOD, GOOD] } as &[_], "aimd: `x` is listed once, in snake_case"),
        (const { &[Variable { name: "X", ..GOOD }] }, "aimd: `X` is listed once, in snake_case"),
        (const { &[Variable { name: STATE, ..GOOD }] }, "aimd: its states are a list of their own"),
        (const { &[Variable { doc: "", ..GOOD }] }, "aimd: the documentation of `x` is no sentence: \"\""),
        (const { &[Variable { unit: "1", ..GOOD }] }, "aimd: the unit of `x` is \"1\": a word, or empty"),
        (const { &[Variable { unit: "a b", ..GOOD }] }, "aimd: the unit of `x` is \"a b\": a word, or empty"),
    ] {
        let said = refused(variables);
        assert!(said.starts_with(why), "{said}");
    }
}
