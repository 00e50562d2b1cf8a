//! The rules that every controller must obey, and a suite that tests any controller against them.
//!
//! ```
//! use ackclock_congestion::Registry;
//! use ackclock_congestion::testing::conformance;
//!
//! conformance::check(Registry::default().get("cubic").expect("built in"));
//! ```
//!
//! An algorithm whose specification breaks a rule names that rule and the reason: see
//! [`Exemptions`].

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use units::{Duration, Time};

use super::script::{QUIC, Sender, Step, TCP, steps};
use crate::{Algorithm, Cause, Control, Controller, Entry, ParamDoc, PathInfo, STATE, Variable};

const MDS: u64 = 1200;
const LARGER: u64 = 1400;
/// Number of scripts per rule.
const SCRIPTS: u32 = 64;

fn path(max_datagram_size: u64) -> PathInfo {
    PathInfo { max_datagram_size, paced: true, seed: 1 }
}

/// A rule from which an algorithm may be exempt. The rules do not apply to controllers that set
/// their own pacing rate, because these derive the window from a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// Only an ACK that allows growth ([`Ack::growth`](crate::Ack::growth)) may enlarge the window.
    Granted,
    /// The window grows no faster than in slow start: since the last event by at most the sum of
    /// [`Ack::growth`](crate::Ack::growth), plus one packet.
    SlowStart,
    /// A congestion event never enlarges the window that it finds.
    ///
    /// An ACK may enlarge the window and then ask for an event. The event is judged by the window
    /// just before it, not by the window before the ACK.
    EventCuts,
    /// An undo ([`Controller::on_spurious`]) never makes the window larger than it has been before.
    UndoRestores,
    /// The loss of a packet sent before a reduction does not reduce the window again.
    OncePerEvent,
    /// Only a timeout leaves less than two packets (RFC 9002 section 7.2).
    TwoPackets,
}

/// The rules that an algorithm's specification breaks, each with the reason.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exemptions(&'static [(Rule, &'static str)]);

impl Exemptions {
    /// No exemption: every rule applies.
    pub const NONE: Self = Self(&[]);

    /// Exempts an algorithm from `rules`.
    ///
    /// # Panics
    /// Panics if a reason is empty.
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

/// Runs the whole suite on a registry entry with its default parameters.
///
/// # Panics
/// Panics if the controller breaks a rule. The message names the rule and contains the shortest
/// script found that breaks it.
pub fn check(entry: &Entry) {
    check_with(entry, Exemptions::NONE);
}

/// Runs the whole suite like [`check`], with exemptions.
///
/// # Panics
/// Panics if the controller breaks a rule, as [`check`] does.
pub fn check_with(entry: &Entry, exempt: Exemptions) {
    check_documentation(entry);
    #[cfg(feature = "serde")]
    check_unknown(entry);
    check_algorithm(&entry.algorithm(), exempt);
}

/// Checks the rules of behaviour for an algorithm with any parameters.
///
/// # Panics
/// Panics if the controller breaks a rule, as [`check`] does.
pub fn check_algorithm(algorithm: &Algorithm, exempt: Exemptions) {
    if let Some(failure) = verdicts(algorithm, exempt).find_map(|verdict| verdict.failure) {
        panic!("{failure}");
    }
}

/// Verdict on a group of rules.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Description of the rules.
    pub rules: &'static str,
    /// The broken rule with the shortest script found that breaks it; `None` if all hold.
    pub failure: Option<String>,
}

/// Checks the rules of behaviour, group by group, for an algorithm with any parameters.
pub fn verdicts(algorithm: &Algorithm, exempt: Exemptions) -> impl Iterator<Item = Verdict> {
    let quic = if exempt.bind(Rule::TwoPackets) { 2 * MDS } else { MDS };
    let all: Vec<(&'static str, &'static [Cause], Check<'_>)> = vec![
        (
            "window over QUIC: smallest, growth, events, undo",
            QUIC,
            Box::new(move |script| check_window(algorithm, script, quic, exempt)),
        ),
        (
            "window over TCP: smallest, growth, events, undo",
            TCP,
            Box::new(move |script| check_window(algorithm, script, MDS, exempt)),
        ),
        (
            "same outputs for the same inputs, copies too, over QUIC",
            QUIC,
            Box::new(|script| check_determinism(algorithm, script)),
        ),
        (
            "same outputs for the same inputs, copies too, over TCP",
            TCP,
            Box::new(|script| check_determinism(algorithm, script)),
        ),
        (
            "a change of the datagram size, over QUIC",
            QUIC,
            Box::new(|script| check_path_change(algorithm, script)),
        ),
        (
            "a change of the datagram size, over TCP",
            TCP,
            Box::new(|script| check_path_change(algorithm, script)),
        ),
        (
            "one reduction for the losses of one window",
            QUIC,
            Box::new(move |script| check_single_reduction(algorithm, script, exempt)),
        ),
        ("timers", QUIC, Box::new(|script| check_timers(algorithm, script))),
        ("needs", QUIC, Box::new(|script| check_needs(algorithm, script))),
    ];
    all.into_iter().map(|(rules, causes, check)| Verdict { rules, failure: run(algorithm, causes, check) })
}

type Script = [(u64, Step)];
type Check<'a> = Box<dyn Fn(&Script) -> Result<(), TestCaseError> + 'a>;

/// Runs random scripts. Returns the rule that the shortest failing one breaks.
fn run(
    algorithm: &Algorithm,
    causes: &'static [Cause],
    rule: impl Fn(&Script) -> Result<(), TestCaseError>,
) -> Option<String> {
    // A fixed seed: a failing rule fails again with the same script.
    let config = Config { cases: SCRIPTS, failure_persistence: None, ..Config::default() };
    let rng = proptest::test_runner::TestRng::deterministic_rng(config.rng_algorithm);
    match TestRunner::new_with_rng(config, rng).run(&steps(causes), |script| rule(&script)) {
        Ok(()) => None,
        Err(TestError::Fail(reason, script)) => {
            Some(format!("{algorithm:?}: {reason}; shortest failing script: {script:?}"))
        }
        Err(TestError::Abort(reason)) => Some(format!("{algorithm:?}: {reason}")),
    }
}

/// Reports whether the window limits the sender, not a pacing rate set by the controller.
fn by_window(cc: &dyn Controller) -> bool {
    cc.control().pacing_rate.is_none()
}

/// Checks what must hold in any state of any controller.
fn sane(cc: &dyn Controller, min: u64) -> Result<(), TestCaseError> {
    let Control { cwnd, pacing_rate, .. } = cc.control();
    prop_assert!(cwnd >= min, "the window is {cwnd} bytes, below its minimum of {min} bytes");
    prop_assert!(cwnd < 1 << 50, "the window must stay below 2^50 bytes, not {cwnd} bytes");
    prop_assert!(pacing_rate.is_none_or(|r| r.0 > 0), "the pacing rate must be above 0");
    let mut seen: Vec<&str> = Vec::new();
    let mut wrong = None;
    cc.trace(&mut |name, value| {
        if value.is_nan() || !is_snake(name) || seen.contains(&name) {
            wrong = Some((name, value));
        }
        seen.push(name);
    });
    prop_assert_eq!(
        wrong,
        None,
        "`trace` must report each name once, in snake_case, with a value that is not NaN"
    );
    Ok(())
}

fn is_snake(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b"_0123456789".contains(&b))
}

/// Checks that `trace` reports exactly the listed variables, whose units the columns need.
/// Variables declared as `later` may be missing.
fn listed_variables(algorithm: &Algorithm, cc: &dyn Controller) -> Result<(), TestCaseError> {
    let mut told: Vec<&str> = Vec::new();
    cc.trace(&mut |name, _| told.push(name));
    let listed = algorithm.variables();
    let unlisted = told.iter().find(|name| **name != STATE && listed.iter().all(|v| v.name != **name));
    prop_assert!(
        unlisted.is_none(),
        "`trace` reports {unlisted:?}, which is not listed in `variables!`: list it with its unit"
    );
    let missing = listed.iter().find(|v| v.always && !told.contains(&v.name)).map(|v| v.name);
    prop_assert!(
        missing.is_none(),
        "`variables!` lists {missing:?}, which `trace` does not report: report it, or declare it as `later`"
    );
    Ok(())
}

/// Checks that the reported state is one of the named states. A controller without named states
/// reports none.
fn named_state(algorithm: &Algorithm, cc: &dyn Controller) -> Result<(), TestCaseError> {
    let mut told = None;
    cc.trace(&mut |name, value| told = if name == STATE { Some(value) } else { told });
    let names = algorithm.states();
    let known = |number: f64| (0..names.len()).any(|i| i as f64 == number);
    let holds = told.map_or(names.is_empty(), known);
    prop_assert!(
        holds,
        "`trace` reports state {told:?}, which is not a number of one of the states {names:?}"
    );
    Ok(())
}

/// Checks the smallest window, growth, congestion events, and undo.
fn check_window(
    algorithm: &Algorithm,
    script: &Script,
    min: u64,
    exempt: Exemptions,
) -> Result<(), TestCaseError> {
    let mut cc = algorithm.build(path(MDS));
    let by_window = by_window(&*cc);
    let bound = |rule| by_window && exempt.bind(rule);
    let mut sender = Sender::new(MDS);
    // The window after the last event, and the bytes since then that were allowed to enlarge it.
    let (mut start, mut granted) = (cc.control().cwnd, 0);
    let mut largest = start;
    for &(ms, step) in script {
        let before = cc.control().cwnd;
        let event = sender.play(&mut *cc, ms, step);
        let after = cc.control().cwnd;
        // An ACK may enlarge the window and then ask for an event: growth ends where the event
        // begins.
        let reached = match step {
            Step::Event(_) => before,
            _ if event.is_some() => sender.window_before_event,
            _ => after,
        };
        match step {
            Step::Ack { packets, grow: true, .. } => granted += packets * MDS,
            Step::Ack { .. } | Step::Late { .. } if bound(Rule::Granted) => {
                prop_assert!(
                    reached <= before,
                    "the window grew from {before} to {reached} bytes on an ACK that allows no growth (rule Granted): \
                     grow by `ack.growth`, not by `ack.acked`"
                );
            }
            Step::Idle { .. } if by_window => {
                prop_assert!(
                    after <= before,
                    "the window grew from {before} to {after} bytes after an idle time: `on_idle` may only reduce it"
                );
            }
            _ => {}
        }
        if bound(Rule::SlowStart) && matches!(step, Step::Ack { .. }) {
            // One packet more: a controller that grows in whole packets may have kept part of one
            // at the last event.
            let most = start + granted + MDS;
            prop_assert!(
                reached <= most,
                "the window grew faster than in slow start (rule SlowStart): from {start} to {reached} bytes since the \
                 last event, although only {granted} bytes were allowed; grow by at most the sum of `ack.growth`"
            );
        }
        if let Some(cause) = event.filter(|_| bound(Rule::EventCuts)) {
            prop_assert!(
                after <= reached,
                "congestion event {cause:?} enlarged the window from {reached} to {after} bytes (rule EventCuts): \
                 `on_congestion` may only reduce it"
            );
        }
        if bound(Rule::UndoRestores) && bound(Rule::EventCuts) && matches!(step, Step::Spurious) {
            prop_assert!(
                after <= largest,
                "`on_spurious` restored more than the window had ever been (rule UndoRestores): {after} bytes, largest \
                 so far {largest}; restore at most the window that the undone event found"
            );
        }
        if event.is_some() || matches!(step, Step::Spurious | Step::Idle { .. }) {
            (start, granted) = (after, 0);
        }
        largest = largest.max(reached).max(after);
        sane(&*cc, if by_window { min } else { MDS })?;
        named_state(algorithm, &*cc)?;
        listed_variables(algorithm, &*cc)?;
    }
    Ok(())
}

/// Returns window, rate and trace, bit for bit.
fn state(cc: &dyn Controller) -> (Control, Vec<(&'static str, u64)>) {
    let mut trace = Vec::new();
    cc.trace(&mut |name, value| trace.push((name, value.to_bits())));
    (cc.control(), trace)
}

/// Checks that equal inputs give equal outputs, and that a copy continues like its original.
fn check_determinism(algorithm: &Algorithm, script: &Script) -> Result<(), TestCaseError> {
    let mut flows = [(); 2].map(|()| (algorithm.build(path(MDS)), Sender::new(MDS)));
    for (i, &(ms, step)) in script.iter().enumerate() {
        for (cc, sender) in &mut flows {
            sender.play(&mut **cc, ms, step);
        }
        let [a, b] = flows.each_ref().map(|(cc, _)| state(&**cc));
        let what = if i > script.len() / 2 {
            "a copy behaves differently from its original: does `Clone` copy all state?"
        } else {
            "two controllers with equal inputs differ: use no clock and no randomness except `PathInfo::seed`"
        };
        prop_assert_eq!(a, b, "{}", what);
        if i == script.len() / 2 {
            flows[1] = flows[0].clone();
        }
    }
    Ok(())
}

/// Checks that a controller that declares no need for rate samples behaves the same without them.
fn check_needs(algorithm: &Algorithm, script: &Script) -> Result<(), TestCaseError> {
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
        prop_assert_eq!(
            a,
            b,
            "it uses rate samples without declaring it: return `rate_samples: true` from `needs`"
        );
    }
    Ok(())
}

/// Checks that packets of one window lost in two batches cause one reduction.
fn check_single_reduction(
    algorithm: &Algorithm,
    script: &Script,
    exempt: Exemptions,
) -> Result<(), TestCaseError> {
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
        // The first four losses may have been too few for a reduction.
        prop_assert!(
            twice >= once || once == before,
            "the losses of one window reduced it twice (rule OncePerEvent): to {once}, then to {twice} bytes; reduce it in \
             `on_congestion`, not in `on_lost`"
        );
    }
    Ok(())
}

/// Checks that a timer that has fired is not requested again, and that an unrequested one does no
/// harm.
fn check_timers(algorithm: &Algorithm, script: &Script) -> Result<(), TestCaseError> {
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
        prop_assert!(
            next > at,
            "the timer fired at {at:?} and `control().wake` still asks for {next:?}: ask for a later time"
        );
        prop_assert!(
            !by_window || cwnd <= before,
            "the timer enlarged the window from {before} to {cwnd} bytes: `on_timer` may only reduce it"
        );
        sane(&*cc, MDS)?;
    }
    Ok(())
}

/// Returns the smallest window, which repeated persistent congestion leaves, with datagrams of this
/// size.
fn smallest(algorithm: &Algorithm, mds: u64) -> u64 {
    let mut cc = algorithm.build(path(mds));
    let mut sender = Sender::new(mds);
    for _ in 0..20 {
        sender.congestion(&mut *cc, Cause::PersistentCongestion);
    }
    // A model-based controller may leave one packet until the next ACK.
    sender.ack(&mut *cc, 1, false, Duration::ZERO);
    cc.control().cwnd
}

/// Checks a change of the datagram size after a script, to a larger size and back.
///
/// The window in bytes moves by less than a packet unless its minimum demands more. A controller
/// that would have grown without the change also grows with it.
fn check_path_change(algorithm: &Algorithm, script: &Script) -> Result<(), TestCaseError> {
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
        // The minimum is counted in packets. It may raise a window, and a window at the minimum may
        // follow it down.
        let lifted = after.cwnd >= before.cwnd && after.cwnd <= new;
        let held = lifted || (before.cwnd <= old && after.cwnd >= new);
        let moved = held || after.cwnd.abs_diff(before.cwnd) < LARGER;
        prop_assert!(
            moved,
            "datagrams of {mds} bytes changed the window from {} to {} bytes: `on_path_change` must keep it in bytes",
            before.cwnd,
            after.cwnd
        );
        let endless = [before, after].map(|control| control.ssthresh == u64::MAX);
        prop_assert!(
            endless[0] == endless[1],
            "datagrams of {mds} bytes changed ssthresh to or from `u64::MAX`: `on_path_change` must keep it"
        );
        sane(&*cc, mds)?;
        let [mut changed, mut stayed] = [cc.clone(), stays[0].clone()];
        let grown = |cc: &mut Box<dyn Controller>, mds: u64| {
            let (before, mut sender) = (cc.control().cwnd, sender.clone());
            sender.mds = mds;
            (0..200).any(|_| {
                sender.ack(&mut **cc, before / mds + 1, true, Duration::ZERO);
                cc.control().cwnd > before
            })
        };
        let grows = grown(&mut changed, mds);
        prop_assert!(
            grows || !grown(&mut stayed, MDS),
            "the window no longer grows with datagrams of {mds} bytes: does `on_path_change` update the packet size?"
        );
        sane(&*changed, mds)?;
    }
    Ok(())
}

/// Checks the name, the description, parameters, states and variables of an entry.
fn check_documentation(entry: &Entry) {
    let Entry { name, doc, .. } = entry;
    let kebab = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    assert!(
        !name.is_empty() && kebab,
        "{name:?}: the name must consist of lower-case letters, digits and dashes"
    );
    assert!(
        doc.len() > 20 && doc.trim().ends_with('.'),
        "{name}: the doc comment must be a sentence of more than 20 characters that ends with a full stop, not {doc:?}"
    );
    check_parameters(name, entry.params);
    let distinct = |(i, state): (usize, &&str)| !state.is_empty() && !entry.states[..i].contains(state);
    assert!(
        entry.states.iter().enumerate().all(distinct),
        "{name}: state names must be distinct and not empty"
    );
    check_variables(name, entry.variables);
}

fn check_variables(name: &str, variables: &[Variable]) {
    for (i, Variable { name: variable, unit, doc, .. }) in variables.iter().enumerate() {
        let is_new = variables[..i].iter().all(|earlier| earlier.name != *variable);
        assert!(
            is_snake(variable) && is_new,
            "{name}: variable `{variable}` must be listed once, in snake_case"
        );
        assert!(
            *variable != STATE,
            "{name}: remove `{STATE}` from the variables; states are declared with `states = ...`"
        );
        assert!(
            is_sentence(doc),
            "{name}: the doc comment of `{variable}` must be a sentence that ends with a full stop, not {doc:?}"
        );
        let is_plain = !unit.contains(|c: char| c.is_whitespace() || c.is_control()) && *unit != "1";
        assert!(
            is_plain,
            "{name}: the unit of `{variable}` must be one word, or empty for a plain number, not {unit:?}"
        );
    }
}

fn is_sentence(doc: &str) -> bool {
    doc.trim().ends_with('.') && doc.trim().len() > 1
}

fn check_parameters(name: &str, params: &[ParamDoc]) {
    for param in params {
        let ParamDoc { name: key, doc, kind, range, keys } = param;
        assert!(
            is_sentence(doc),
            "{name}: the doc comment of `{key}` must be a sentence that ends with a full stop, not {doc:?}"
        );
        assert!(
            !is_number(kind) || range.is_some(),
            "{name}: parameter `{key}` needs a range (`=> Range::...`)"
        );
        check_parameters(&format!("{name}: {key}"), keys);
    }
}

/// Reports whether a type is a number, an array of numbers, or an optional number.
fn is_number(kind: &str) -> bool {
    ["f64", "f32", "u64", "u32", "usize"].iter().any(|number| kind.contains(number))
}

/// Checks that a misspelt parameter is an error.
#[cfg(feature = "serde")]
fn check_unknown(entry: &Entry) {
    use serde::de::value::{Error, MapDeserializer};
    let key = "no-such-parameter";
    let table = MapDeserializer::<_, Error>::new(core::iter::once((key, 1)));
    match entry.read(table) {
        Ok(_) => panic!("{}: an unknown parameter must be an error", entry.name),
        Err(error) => {
            let text = format!("{error}");
            assert!(
                text.contains(key),
                "{}: the error must name the unknown parameter `{key}`: {text}",
                entry.name
            );
        }
    }
}
