//! Helpers for tests in real time: one test at a time, and assertions about time that only a quiet
//! machine can judge.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::resource::{Usage, UsageWho, getrusage};

use crate::emu::linux::privilege;

/// Tries of an assertion about time.
const TRIES: usize = 5;
/// Valid tries that decide an assertion: more of them must hold than fail. A wait that no audit
/// sees spoils one try, a fault of the program most.
const DECIDING: usize = 3;
/// Share of the machine's processors that other processes may use in a try.
const OTHERS: f64 = 0.1;
/// Variable with the name of a file to which a line is appended for each assertion about time.
const LOG: &str = "ACKCLOCK_TIMING_LOG";

/// The right to run in real time. Held by one test at a time: of this process, and of all test
/// binaries in the same folder.
#[derive(Debug)]
pub struct Turn {
    _folder: Option<Flock<File>>,
    _here: MutexGuard<'static, ()>,
}

/// Waits for the turn of a test that needs the emulator. Returns `None`, and says so, where the
/// emulator cannot run.
pub fn turn(test: &str) -> Option<Turn> {
    static HERE: Mutex<()> = Mutex::new(());
    if let Some(why) = privilege::missing() {
        skipped(test, &why);
        return None;
    }
    let here = HERE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = std::env::current_exe().ok().and_then(|file| File::open(file.parent()?).ok());
    // Some file systems have no locks: then binaries that run at the same time disturb each other,
    // and say so.
    let folder = folder.and_then(|folder| Flock::lock(folder, FlockArg::LockExclusive).ok());
    Some(Turn { _folder: folder, _here: here })
}

/// Says on standard error that a test is skipped. The test harness, which hides the output of tests
/// that pass, does not hide this.
pub fn skipped(test: &str, reason: &str) {
    say(&format!("{test}: skipped: {reason}"));
}

fn say(line: &str) {
    // The result of a test does not depend on who listens.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Makes an assertion about time, rate or RTT, which only a valid run can confirm or refute.
///
/// A try returns the reasons why its run is not valid, and the assertion's result. Checks that do
/// not depend on time are ordinary assertions inside the try, so they are made of every run. The
/// first valid try decides if it holds. If it fails, the majority of three valid tries decides. The
/// log names assertions that held after a valid try had failed. Without a decision the assertion is
/// skipped.
///
/// # Panics
/// If two valid tries fail before two hold. While other processes use the machine, all tries must
/// be valid and fail.
pub fn timing<E: Display>(name: &str, attempt: impl FnMut() -> (Vec<String>, Result<(), E>)) {
    report(name, judge(name, true, with_load(attempt)));
}

/// Makes an assertion as [`timing`] does, where the audit does not see every wait of what is
/// measured: of the kernel's TCP, or of a process. A try that fails while other processes use the
/// machine does not count.
///
/// # Panics
/// If two valid tries fail before two hold.
pub fn timing_of_unaudited<E: Display>(name: &str, attempt: impl FnMut() -> (Vec<String>, Result<(), E>)) {
    report(name, judge(name, false, with_load(attempt)));
}

/// Reasons why the run of a try is not valid, the assertion's result, and the share of the
/// processors that other processes used, 0 to 1.
type Try<E> = (Vec<String>, Result<(), E>, f64);

fn with_load<E>(mut attempt: impl FnMut() -> (Vec<String>, Result<(), E>)) -> impl FnMut() -> Try<E> {
    move || {
        let before = Processors::now();
        let (invalid, result) = attempt();
        (invalid, result, Processors::now().others_since(before))
    }
}

/// Outcome of an assertion that did not fail.
#[derive(Debug, PartialEq)]
enum Judged {
    /// It holds. The string is the failure of a valid try that was outvoted, or empty.
    Holds(String),
    /// It could not be made, for this reason.
    Skipped(String),
}

fn report(name: &str, judged: Judged) {
    match judged {
        Judged::Holds(outvoted) if outvoted.is_empty() => log(&format!("made {name}")),
        Judged::Holds(outvoted) => {
            say(&format!("{name}: one valid run failed: {outvoted}"));
            log(&format!("made {name}, against one valid run: {outvoted}"));
        }
        Judged::Skipped(why) => {
            skipped(name, &why);
            log(&format!("skipped {name}: {why}"));
        }
    }
}

fn judge<E: Display>(name: &str, audited: bool, mut attempt: impl FnMut() -> Try<E>) -> Judged {
    let (mut busy, mut failed, mut disturbed) = (Vec::new(), Vec::new(), Vec::new());
    let mut held = 0;
    for _ in 0..TRIES {
        let (mut invalid, result, others) = attempt();
        let Err(why) = result else {
            held += usize::from(invalid.is_empty());
            if held > failed.len() {
                return Judged::Holds(failed.pop().unwrap_or_default());
            }
            busy.extend(invalid);
            continue;
        };
        match (invalid.is_empty(), others > OTHERS) {
            (true, true) => disturbed.push(why.to_string()),
            (true, false) => failed.push(why.to_string()),
            _ => {}
        }
        if others > OTHERS {
            invalid.push(format!("other processes used {:.0} % of the processors", others * 100.0));
        }
        busy.extend(invalid);
        assert!(failed.len() <= DECIDING / 2, "{name}: in {} valid runs: {failed:#?}", failed.len());
    }
    let all = failed.len() + disturbed.len();
    assert!(!audited || all < TRIES, "{name}: in {TRIES} valid runs: {failed:#?} {disturbed:#?}");
    busy.extend(failed.into_iter().map(|why| format!("one valid run of {TRIES} failed: {why}")));
    // The same reason with another number says nothing new.
    let mut known = BTreeSet::new();
    busy.retain(|why| known.insert(why.replace(|c: char| c.is_ascii_digit() || c == '.', "")));
    Judged::Skipped(format!("machine too busy ({})", busy.join("; ")))
}

fn log(line: &str) {
    let Some(path) = std::env::var_os(LOG) else { return };
    let file = fs::File::options().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    if let Err(e) = written {
        say(&format!("cannot write to the file that {LOG} names: {e}"));
    }
}

/// Time of all processors, in seconds since they started.
#[derive(Clone, Copy, Debug)]
struct Processors {
    /// Time used by all processes and by other virtual machines, without interrupts.
    used: f64,
    all: f64,
    /// Time used by this process, and by its children that have ended.
    own: f64,
}

impl Processors {
    fn now() -> Self {
        let of = |who| getrusage(who).map_or(0.0, |usage| seconds(&usage));
        let own = of(UsageWho::RUSAGE_SELF) + of(UsageWho::RUSAGE_CHILDREN);
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        Self { own, ..Self::parse(&stat) }
    }

    /// First line: `cpu user nice system idle iowait irq softirq steal guest guest_nice`, in ticks
    /// of 10 ms; user includes guest.
    fn parse(stat: &str) -> Self {
        let line = stat.lines().next().unwrap_or_default();
        let ticks = line.split_whitespace().skip(1).take(8).map_while(|ticks| ticks.parse::<f64>().ok());
        let seconds: Vec<f64> = ticks.map(|ticks| ticks / 100.0).collect();
        let stolen = seconds.get(7).unwrap_or(&0.0);
        let used = seconds.iter().take(3).sum::<f64>() + stolen;
        Self { used, all: seconds.iter().sum(), own: 0.0 }
    }

    /// Returns the share of the processors that other processes have used, 0 to 1; 0 where the
    /// system does not tell.
    fn others_since(self, before: Self) -> f64 {
        let all = self.all - before.all;
        let others = (self.used - before.used) - (self.own - before.own);
        if all > 0.0 { (others / all).clamp(0.0, 1.0) } else { 0.0 }
    }
}

fn seconds(usage: &Usage) -> f64 {
    let of = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    of(usage.user_time()) + of(usage.system_time())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges tries, each with a reason why it is not valid, or empty, and its result. Other
    /// processes use this share of the processors. Returns the number of tries left as well.
    fn judged(tries: &[(&str, bool)], others: f64) -> (Option<Judged>, usize) {
        let mut tries = tries.iter();
        let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            judge("test", true, || {
                let (invalid, holds) = tries.next().unwrap();
                let invalid = if invalid.is_empty() { vec![] } else { vec![(*invalid).to_owned()] };
                (invalid, if *holds { Ok(()) } else { Err("off") }, others)
            })
        }));
        (judged.ok(), tries.len())
    }

    #[test]
    fn valid_tries_decide() {
        let holds = |outvoted: &str| Some(Judged::Holds(outvoted.to_owned()));
        assert_eq!(judged(&[("", true), ("", false)], 0.0), (holds(""), 1));
        assert_eq!(judged(&[("late", true), ("late", false), ("", true)], 0.0), (holds(""), 0));
        let late = [("1 ms late", false), ("2 ms late", true), ("3 ms late", false), ("4 ms late", true)];
        let (result, left) = judged(&[&late[..], &[("5 ms late", true)]].concat(), 0.0);
        assert!(
            matches!(result, Some(Judged::Skipped(why)) if why == "machine too busy (1 ms late)")
                && left == 0
        );
    }

    #[test]
    fn a_valid_failure_must_be_outvoted() {
        assert_eq!(judged(&[("", false), ("", false)], 0.0), (None, 0));
        let holds = Some(Judged::Holds("off".into()));
        assert_eq!(judged(&[("", false), ("", true), ("", true)], 0.0), (holds, 0));
        assert_eq!(judged(&[("", false), ("", true), ("", false)], 0.0), (None, 0));
    }

    /// On a machine that other processes use, a failure counts only if every try fails.
    #[test]
    fn a_failure_beside_other_work_does_not_count() {
        let (result, left) = judged(&[("", false), ("", false), ("", true)], 0.3);
        assert_eq!((result, left), (Some(Judged::Holds(String::new())), 0));
        assert_eq!(judged(&[("", false); TRIES], 0.3).0, None);
    }

    #[test]
    fn others_are_all_but_this_process() {
        let before = Processors { own: 1.0, ..Processors::parse("cpu 100 0 100 800 0 50 50 0 9 9\ncpu0 1") };
        let after = Processors { own: 2.0, ..Processors::parse("cpu 200 0 200 900 0 50 50 0 9 9") };
        // One second of three, and two of three used.
        assert!((after.others_since(before) - 1.0 / 3.0).abs() < 1e-9);
        // Another virtual machine had one second of four.
        let stolen = Processors { own: 1.0, ..Processors::parse("cpu 100 0 100 1000 0 0 0 100") };
        let start = Processors { own: 1.0, ..Processors::parse("cpu 100 0 100 700 0 0 0 0") };
        assert!((stolen.others_since(start) - 0.25).abs() < 1e-9);
        assert_eq!(Processors::parse("").others_since(Processors::parse("x")), 0.0);
    }
}
