//! The rules that every controller obeys, whatever it is, and a suite that tries them on anybody's.
//!
//! ```
//! use ackclock_congestion::Registry;
//! use ackclock_congestion::testing::conformance;
//!
//! conformance::check(Registry::default().get("cubic").expect("one of ours"));
//! ```
//!
//! A rule that an algorithm breaks because its document says so is named with the reason: see [`Exemptions`].

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use units::{Duration, Time};

use super::script::{QUIC, Sender, Step, TCP, steps};
use crate::{Algorithm, Cause, Control, Controller, Entry, ParamDoc, PathInfo, STATE, Variable};

const MDS: u64 = 1200;
const LARGER: u64 = 1400;
/// Scripts that each rule is tried on.
const SCRIPTS: u32 = 64;

fn path(max_datagram_size: u64) -> PathInfo {
    PathInfo { max_datagram_size, paced: true, seed: 1 }
}

/// A rule that an algorithm may be exempt from. Controllers with a pacing rate of their own set the window from a model; these
/// rules do not bind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// The window grows only by an ACK that grants it ([`Ack::growth`](crate::Ack::growth)).
    Granted,
    /// It grows by no more than what was granted since the last event: slow start is the fastest.
    SlowStart,
    /// A congestion event does not open it.
    EventCuts,
    /// An undo leaves no more than there has been.
    UndoRestores,
    /// What left before a reduction does not reduce it again.
    OncePerEvent,
}

/// The rules that an algorithm's own document breaks, each with the sentence that says why.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exemptions(&'static [(Rule, &'static str)]);

impl Exemptions {
    /// Bound by every rule.
    pub const NONE: Self = Self(&[]);

    /// Free of these.
    ///
    /// # Panics
    /// Where a reason is missing.
    pub const fn new(rules: &'static [(Rule, &'static str)]) -> Self {
        let mut i = 0;
        while i < rules.len() {
            assert!(!rules[i].1.is_empty(), "an exemption needs a reason");
            i += 1;
        }
        Self(rules)
    }

    fn bind(&self, rule: Rule) -> bool {
        self.0.iter().all(|(exempt, _)| *exempt != rule)
    }
}

/// The whole suite for a row of a registry with its defaults.
///
/// # Panics
/// With the sentence of the first rule that is broken, and the shortest script that was found to break it.
pub fn check(entry: &Entry) {
    check_with(entry, Exemptions::NONE);
}

/// The same, with exemptions.
///
/// # Panics
/// As [`check`].
pub fn check_with(entry: &Entry, exempt: Exemptions) {
    check_documentation(entry);
    #[cfg(feature = "serde")]
    check_unknown(entry);
    check_algorithm(&entry.algorithm(), exempt);
}

/// The rules of behaviour, for an algorithm with whatever parameters.
///
/// # Panics
/// As [`check`].
pub fn check_algorithm(algorithm: &Algorithm, exempt: Exemptions) {
    for (causes, min) in [(QUIC, 2 * MDS), (TCP, MDS)] {
        run(algorithm, causes, |script| obey(algorithm, script, min, exempt));
        run(algorithm, causes, |script| repeat(algorithm, script));
        run(algorithm, causes, |script| change_path(algorithm, script));
    }
    run(algorithm, QUIC, |script| reduce_once(algorithm, script, exempt));
    run(algorithm, QUIC, |script| answer_timers(algorithm, script));
    run(algorithm, QUIC, |script| name_its_needs(algorithm, script));
}

type Script = [(u64, Step)];

fn run(algorithm: &Algorithm, causes: &'static [Cause], rule: impl Fn(&Script) -> Result<(), TestCaseError>) {
    // The same scripts each time: what is red stays red.
    let config = Config { cases: SCRIPTS, failure_persistence: None, ..Config::default() };
    let rng = proptest::test_runner::TestRng::deterministic_rng(config.rng_algorithm);
    match TestRunner::new_with_rng(config, rng).run(&steps(causes), |script| rule(&script)) {
        Ok(()) => {}
        Err(TestError::Fail(reason, script)) => panic!("{algorithm:?}: {reason}; script: {script:?}"),
        Err(TestError::Abort(reason)) => panic!("{algorithm:?}: {reason}"),
    }
}

/// Whether its window, not a rate of its own, is what limits it.
fn by_window(cc: &dyn Controller) -> bool {
    cc.control().pacing_rate.is_none()
}

/// True of whatever state any controller is in.
fn sane(cc: &dyn Controller, min: u64) -> Result<(), TestCaseError> {
    let Control { cwnd, pacing_rate, .. } = cc.control();
    prop_assert!(cwnd >= min, "the window is below its minimum: {cwnd} bytes");
    prop_assert!(cwnd < 1 << 50, "the window has no end: {cwnd} bytes");
    prop_assert!(pacing_rate.is_none_or(|r| r.0 > 0), "pacing has stopped");
    let mut seen: Vec<&str> = Vec::new();
    let mut wrong = None;
    cc.trace(&mut |name, value| {
        if value.is_nan() || !is_snake(name) || seen.contains(&name) {
            wrong = Some((name, value));
        }
        seen.push(name);
    });
    prop_assert_eq!(wrong, None, "a trace has each name once, in snake_case, and numbers");
    Ok(())
}

fn is_snake(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b"_0123456789".contains(&b))
}

/// What it tells is what its row lists, so that its columns have their units; of that it leaves out only what has no value at first.
fn listed_variables(algorithm: &Algorithm, cc: &dyn Controller) -> Result<(), TestCaseError> {
    let mut told: Vec<&str> = Vec::new();
    cc.trace(&mut |name, _| told.push(name));
    let listed = algorithm.variables();
    let unlisted = told.iter().find(|name| **name != STATE && listed.iter().all(|v| v.name != **name));
    prop_assert!(
        unlisted.is_none(),
        "it tells {unlisted:?}, which its row does not list among its variables"
    );
    let missing = listed.iter().find(|v| v.always && !told.contains(&v.name)).map(|v| v.name);
    prop_assert!(
        missing.is_none(),
        "its row lists {missing:?}, which it does not tell; if it comes later: `later`"
    );
    Ok(())
}

/// The state that it tells is one of those that its row names; without names it tells none.
fn named_state(algorithm: &Algorithm, cc: &dyn Controller) -> Result<(), TestCaseError> {
    let mut told = None;
    cc.trace(&mut |name, value| told = if name == STATE { Some(value) } else { told });
    let names = algorithm.states();
    let known = |number: f64| (0..names.len()).any(|i| i as f64 == number);
    let holds = told.map_or(names.is_empty(), known);
    prop_assert!(holds, "its state is {told:?}, and its states are {names:?}");
    Ok(())
}

/// Smallest window, grants, events, undo.
fn obey(algorithm: &Algorithm, script: &Script, min: u64, exempt: Exemptions) -> Result<(), TestCaseError> {
    let mut cc = algorithm.build(path(MDS));
    let by_window = by_window(&*cc);
    let bound = |rule| by_window && exempt.bind(rule);
    let mut sender = Sender::new(MDS);
    // The window since the last event, and the bytes since that were allowed to open it.
    let (mut start, mut granted) = (cc.control().cwnd, 0);
    let mut largest = start;
    for &(ms, step) in script {
        let before = cc.control().cwnd;
        let event = sender.play(&mut *cc, ms, step);
        let after = cc.control().cwnd;
        let grew = after > before;
        match step {
            Step::Ack { packets, grow: true, .. } => granted += packets * MDS,
            Step::Ack { .. } | Step::Late { .. } if bound(Rule::Granted) && event.is_none() => {
                prop_assert!(!grew, "the window grew without a grant: {before} to {after} bytes");
            }
            Step::Idle { .. } if by_window => {
                prop_assert!(!grew, "the window grew by waiting: {before} to {after} bytes");
            }
            _ => {}
        }
        if bound(Rule::SlowStart) && matches!(step, Step::Ack { .. }) && event.is_none() {
            // One packet more: where growth comes in packets, the last event left part of one.
            let most = start + granted + MDS;
            prop_assert!(after <= most, "faster than slow start: {start} + {granted} to {after} bytes");
        }
        if bound(Rule::EventCuts) && matches!(step, Step::Event(_)) {
            prop_assert!(!grew, "the window grew on {event:?}: {before} to {after} bytes");
        }
        if event.is_some() || matches!(step, Step::Spurious | Step::Idle { .. }) {
            (start, granted) = (after, 0);
            let restored = bound(Rule::UndoRestores) && bound(Rule::EventCuts);
            prop_assert!(!restored || after <= largest, "undone beyond what was: {largest} to {after} bytes");
        }
        largest = largest.max(after);
        sane(&*cc, if by_window { min } else { MDS })?;
        named_state(algorithm, &*cc)?;
        listed_variables(algorithm, &*cc)?;
    }
    Ok(())
}

/// Window, rate and trace, to the bit.
fn state(cc: &dyn Controller) -> (Control, Vec<(&'static str, u64)>) {
    let mut trace = Vec::new();
    cc.trace(&mut |name, value| trace.push((name, value.to_bits())));
    (cc.control(), trace)
}

/// Same inputs, same outputs; and a copy goes on as its original.
fn repeat(algorithm: &Algorithm, script: &Script) -> Result<(), TestCaseError> {
    let mut flows = [(); 2].map(|()| (algorithm.build(path(MDS)), Sender::new(MDS)));
    for (i, &(ms, step)) in script.iter().enumerate() {
        for (cc, sender) in &mut flows {
            sender.play(&mut **cc, ms, step);
        }
        let [a, b] = flows.each_ref().map(|(cc, _)| state(&**cc));
        let what = if i > script.len() / 2 { "a copy differs" } else { "same inputs, other outputs" };
        prop_assert_eq!(a, b, "{}", what);
        if i == script.len() / 2 {
            flows[1] = flows[0].clone();
        }
    }
    Ok(())
}

/// A controller that says that it needs no rate samples does the same without them.
fn name_its_needs(algorithm: &Algorithm, script: &Script) -> Result<(), TestCaseError> {
    let mut flows = [(); 2].map(|()| (algorithm.build(path(MDS)), Sender::new(MDS)));
    if flows[0].0.needs().rate_samples {
        return Ok(());
    }
    flows[1].1 = Sender::new(MDS).without_rate_samples();
    for &(ms, step) in script {
        let [a, b] = flows.each_mut().map(|(cc, sender)| {
            sender.play(&mut **cc, ms, step);
            state(&**cc)
        });
        prop_assert_eq!(a, b, "it reads rate samples, which it does not say that it needs");
    }
    Ok(())
}

/// Packets of one window that are lost in two batches are one reduction.
fn reduce_once(algorithm: &Algorithm, script: &Script, exempt: Exemptions) -> Result<(), TestCaseError> {
    let mut cc = algorithm.build(path(MDS));
    if !by_window(&*cc) || !exempt.bind(Rule::OncePerEvent) {
        return Ok(());
    }
    let mut sender = Sender::new(MDS);
    for &(ms, step) in script {
        sender.play(&mut *cc, ms, step);
        let (mut copy, mut its_sender) = (cc.clone(), sender.clone());
        let before = copy.control().cwnd;
        let once = its_sender.lose_in_two(&mut *copy);
        let twice = copy.control().cwnd;
        // The first four may have been too few for an answer.
        prop_assert!(
            twice >= once || once == before,
            "reduced twice for one window of packets: {once}, then {twice} bytes"
        );
    }
    Ok(())
}

/// A timer that has fired is not asked for again, and one that was not asked for does no harm.
fn answer_timers(algorithm: &Algorithm, script: &Script) -> Result<(), TestCaseError> {
    let mut cc = algorithm.build(path(MDS));
    let by_window = by_window(&*cc);
    let mut sender = Sender::new(MDS);
    for &(ms, step) in script {
        sender.play(&mut *cc, ms, step);
        let wake = cc.control().wake;
        let at = if wake == Time::NEVER { sender.now } else { wake.max(sender.now) };
        sender.now = at;
        let before = cc.control().cwnd;
        cc.on_timer(at);
        let Control { cwnd, wake: next, .. } = cc.control();
        prop_assert!(next > at, "the timer fired at {at:?} and asks for {next:?}");
        prop_assert!(!by_window || cwnd <= before, "the timer opened the window: {before} to {cwnd} bytes");
        sane(&*cc, MDS)?;
    }
    Ok(())
}

/// The smallest window that nothing but persistent congestion leaves, with datagrams of this size.
fn smallest(algorithm: &Algorithm, mds: u64) -> u64 {
    let mut cc = algorithm.build(path(mds));
    let mut sender = Sender::new(mds);
    for _ in 0..20 {
        sender.congestion(&mut *cc, Cause::PersistentCongestion);
    }
    // Where a model leaves a packet until the next ACK.
    sender.ack(&mut *cc, 1, false, Duration::ZERO);
    cc.control().cwnd
}

/// After a script datagrams become larger, and smaller again: the window in bytes moves by less than a packet unless its minimum
/// demands more, and where it would have grown without it grows with it.
fn change_path(algorithm: &Algorithm, script: &Script) -> Result<(), TestCaseError> {
    let mut cc = algorithm.build(path(MDS));
    let mut sender = Sender::new(MDS);
    for &(ms, step) in script {
        sender.play(&mut *cc, ms, step);
    }
    let stays = [cc.clone(), cc.clone()];
    let floor = [MDS, LARGER].map(|mds| smallest(algorithm, mds));
    for (mds, [old, new]) in [(LARGER, floor), (MDS, [floor[1], floor[0]])] {
        let before = cc.control();
        cc.on_path_change(path(mds));
        let after = cc.control();
        // The minimum is counted in packets: it lifts a window, and one that it held up may follow it down.
        let lifted = after.cwnd >= before.cwnd && after.cwnd <= new;
        let held = lifted || (before.cwnd <= old && after.cwnd >= new);
        let moved = held || after.cwnd.abs_diff(before.cwnd) < LARGER;
        prop_assert!(
            moved,
            "datagrams of {mds} bytes moved the window from {} to {}",
            before.cwnd,
            after.cwnd
        );
        let endless = [before, after].map(|control| control.ssthresh == u64::MAX);
        prop_assert!(endless[0] == endless[1], "datagrams of {mds} bytes gave ssthresh an end, or none");
        sane(&*cc, mds)?;
        let [mut changed, mut stayed] = [cc.clone(), stays[0].clone()];
        let grown = |cc: &mut Box<dyn Controller>, mds: u64| {
            let (before, mut sender) = (cc.control().cwnd, sender.clone());
            sender.mds = mds;
            for _ in 0..200 {
                sender.ack(&mut **cc, before / mds + 1, true, Duration::ZERO);
            }
            cc.control().cwnd > before
        };
        let grows = grown(&mut changed, mds);
        prop_assert!(grows || !grown(&mut stayed, MDS), "no growth with datagrams of {mds} bytes");
        sane(&*changed, mds)?;
    }
    Ok(())
}

/// Name, sentence and every parameter.
fn check_documentation(entry: &Entry) {
    let Entry { name, doc, .. } = entry;
    let kebab = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    assert!(!name.is_empty() && kebab, "{name:?}: a name has small letters, digits and dashes");
    assert!(doc.len() > 20 && doc.trim().ends_with('.'), "{name}: a sentence says what it is, not {doc:?}");
    check_parameters(name, entry.params);
    let distinct = |(i, state): (usize, &&str)| !state.is_empty() && !entry.states[..i].contains(state);
    assert!(entry.states.iter().enumerate().all(distinct), "{name}: each state has a name of its own");
    check_variables(name, entry.variables);
}

fn check_variables(name: &str, variables: &[Variable]) {
    for (i, Variable { name: variable, unit, doc, .. }) in variables.iter().enumerate() {
        let is_new = variables[..i].iter().all(|earlier| earlier.name != *variable);
        assert!(is_snake(variable) && is_new, "{name}: `{variable}` is listed once, in snake_case");
        assert!(*variable != STATE, "{name}: its states are a list of their own, not one of its variables");
        assert!(is_sentence(doc), "{name}: the documentation of `{variable}` is no sentence: {doc:?}");
        let is_plain = !unit.contains(|c: char| c.is_whitespace() || c.is_control()) && *unit != "1";
        assert!(
            is_plain,
            "{name}: the unit of `{variable}` is {unit:?}: a word, or empty where there is none"
        );
    }
}

fn is_sentence(doc: &str) -> bool {
    doc.trim().ends_with('.') && doc.trim().len() > 1
}

fn check_parameters(name: &str, params: &[ParamDoc]) {
    for param in params {
        let ParamDoc { name: key, doc, kind, range, keys } = param;
        assert!(is_sentence(doc), "{name}: the documentation of `{key}` is no sentence: {doc:?}");
        assert!(!is_number(kind) || range.is_some(), "{name}: which numbers may `{key}` have?");
        check_parameters(&format!("{name}: {key}"), keys);
    }
}

/// A number, an array of them, or one that may be off.
fn is_number(kind: &str) -> bool {
    ["f64", "f32", "u64", "u32", "usize"].iter().any(|number| kind.contains(number))
}

/// What an experiment file misspells must not be overlooked.
#[cfg(feature = "serde")]
fn check_unknown(entry: &Entry) {
    use serde::de::value::{Error, MapDeserializer};
    let key = "no-such-parameter";
    let table = MapDeserializer::<_, Error>::new(core::iter::once((key, 1)));
    match entry.read(table) {
        Ok(_) => panic!("{}: takes an unknown parameter", entry.name),
        Err(error) => {
            let text = format!("{error}");
            assert!(text.contains(key), "{}: does not name the unknown parameter: {text}", entry.name);
        }
    }
}
