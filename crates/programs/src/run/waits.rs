//! How long the processes of a run waited for a processor, or were stopped: a stack that is held up is not what was asked for, and its traffic
//! does not tell.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Between two looks; what a process waits after the last one before it ends is not known.
const EVERY: Duration = Duration::from_millis(50);

/// Of a run, that a thread may wait for a processor at most. On two processors, a megabyte in half a second: 1 to 3 % with little else to do,
/// 5 to 14 % beside compilers, and RTTs and losses as before; aioquic, whose one thread needs half a processor, at 36 to 50 % had RTTs 2 to
/// 16 ms longer.
const MOST: f64 = 0.2;

/// How long the machine held up a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// The thread of its processes that waited longest for a processor.
    pub(super) waited: Duration,
    /// How long one of its processes or several were stopped, by a signal or a debugger: at least until it was looked at next.
    pub(super) stopped: Duration,
    /// The run.
    pub(super) of: Duration,
}

impl Held {
    /// Why the run is not valid, if it is not. Nobody stops a process but from outside: its least time is too much, and no loss looks like it.
    pub(super) fn complaints(self) -> Vec<String> {
        let stopped = (!self.stopped.is_zero()).then(|| {
            format!(
                "a process of the stack was stopped for {:.1} s (by a signal or a debugger)",
                self.stopped.as_secs_f64()
            )
        });
        self.waiting().into_iter().chain(stopped).collect()
    }

    fn waiting(self) -> Option<String> {
        let share = self.waited.as_secs_f64() / self.of.as_secs_f64();
        (share > MOST).then(|| {
            format!(
                "a process of the stack waited for a processor for {:.0} % of the run (at most 20 %)",
                share * 100.0
            )
        })
    }
}

/// Waits of all processes below one, since [`Waits::begin`].
#[derive(Debug)]
pub(super) struct Waits {
    /// What each thread had waited before, and has by now, nanoseconds.
    threads: BTreeMap<u32, (u64, u64)>,
    stopped: Duration,
    looked: Instant,
}

impl Waits {
    /// From now on, of whatever this process has started and what that has started. What is started later counts from its beginning.
    pub(super) fn begin(now: Instant) -> Self {
        let mut waits = Self { threads: BTreeMap::new(), stopped: Duration::ZERO, looked: now };
        waits.sample(Duration::ZERO);
        waits.threads.values_mut().for_each(|(before, by_now)| *before = *by_now);
        waits
    }

    /// Looks, if it is time.
    pub(super) fn look(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.looked);
        if since >= EVERY {
            self.looked = now;
            self.sample(since);
        }
    }

    /// What was seen, of a run of this length.
    pub(super) fn held(&self, of: Duration) -> Held {
        Held { waited: self.longest(), stopped: self.stopped, of }
    }

    /// The longest that one of their threads waited in all.
    fn longest(&self) -> Duration {
        let waited = self.threads.values().map(|(before, by_now)| by_now.saturating_sub(*before));
        Duration::from_nanos(waited.max().unwrap_or(0))
    }

    /// `since` the last one.
    fn sample(&mut self, since: Duration) {
        let all = processes();
        let parents: Vec<(u32, u32)> = all.iter().map(|(process, stat)| (*process, stat.parent)).collect();
        let ours = descendants(&parents, std::process::id());
        if all.iter().any(|(process, stat)| stat.stopped && ours.contains(process)) {
            self.stopped += since;
        }
        for process in ours {
            for (thread, waited) in waits_of(process) {
                let entry = self.threads.entry(thread).or_default();
                entry.1 = entry.1.max(waited);
            }
        }
    }
}

/// What the kernel says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// By a signal (`T`) or a debugger (`t`).
    stopped: bool,
}

/// Every process.
fn processes() -> Vec<(u32, Stat)> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let pair = |entry: fs::DirEntry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((process, stat(&fs::read_to_string(entry.path().join("stat")).ok()?)?))
    };
    all.flatten().filter_map(pair).collect()
}

/// `pid (name) state parent ...`; the name may have anything in it.
fn stat(line: &str) -> Option<Stat> {
    let mut words = line.rsplit_once(')')?.1.split_whitespace();
    let stopped = matches!(words.next()?, "T" | "t");
    Some(Stat { parent: words.next()?.parse().ok()?, stopped })
}

fn descendants(parents: &[(u32, u32)], of: u32) -> Vec<u32> {
    let (mut all, mut next) = (Vec::new(), vec![of]);
    while let Some(parent) = next.pop() {
        let children = parents.iter().filter(|pair| pair.1 == parent).map(|pair| pair.0);
        let children: Vec<u32> = children.filter(|child| !all.contains(child)).collect();
        all.extend(&children);
        next.extend(children);
    }
    all
}

/// Of each of its threads, nanoseconds in the queue of a processor; nothing where it is gone, or the kernel does not count.
fn waits_of(process: u32) -> Vec<(u32, u64)> {
    let threads = fs::read_dir(Path::new("/proc").join(process.to_string()).join("task"));
    let of_thread = |thread: fs::DirEntry| {
        let number = thread.file_name().to_str()?.parse().ok()?;
        Some((number, in_queue(&fs::read_to_string(thread.path().join("schedstat")).ok()?)?))
    };
    threads.into_iter().flatten().flatten().filter_map(of_thread).collect()
}

/// Nanoseconds on a processor, waiting for one, and how often it ran.
fn in_queue(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_kernel() {
        assert_eq!(stat("12 (a) b) (c) S 7 1 2"), Some(Stat { parent: 7, stopped: false }));
        assert_eq!(stat("12 (T) T 7 1 2"), Some(Stat { parent: 7, stopped: true }));
        assert_eq!((stat("12 (a"), stat("12 (a) S"), stat("")), (None, None, None));
        assert_eq!((in_queue("9 45 2\n"), in_queue("9"), in_queue("")), (Some(45), None, None));
        assert_eq!(descendants(&[(2, 1), (3, 2), (4, 3), (5, 9), (1, 1)], 2), [3, 4]);
    }

    #[test]
    fn a_fifth_of_a_run_is_too_much() {
        let of = Duration::from_secs(1);
        let held = |waited| Held { waited: Duration::from_millis(waited), of, ..Held::default() };
        assert!(held(200).complaints().is_empty());
        assert!(held(364).complaints()[0].contains("for 36 % of the run"));
        assert!(Held::default().complaints().is_empty(), "nothing has begun");
    }

    /// A stop of 0.2 s in a run of any length; a process that only sleeps is none.
    #[test]
    fn who_was_stopped_is_told() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let signal = |name: &str| {
            let sent = std::process::Command::new("kill").args([name, &child.id().to_string()]).status();
            assert!(sent.unwrap().success());
        };
        let watch = |waits: &mut Waits| {
            for _ in 0..4 {
                std::thread::sleep(EVERY);
                waits.look(Instant::now());
            }
            waits.stopped
        };
        let mut waits = Waits::begin(Instant::now());
        let before = watch(&mut waits);
        signal("-STOP");
        let after = watch(&mut waits);
        signal("-CONT");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(before, Duration::ZERO);
        assert!(after >= EVERY * 4, "{after:?}");
        let why = waits.held(Duration::from_secs(600)).complaints().pop().unwrap();
        assert!(why.starts_with("a process of the stack was stopped for 0."), "{why}");
    }

    #[test]
    fn children_are_found() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let parents: Vec<(u32, u32)> =
            processes().iter().map(|(process, stat)| (*process, stat.parent)).collect();
        let found = descendants(&parents, std::process::id());
        let waits = waits_of(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&child.id()));
        assert_eq!(waits.len(), 1);
    }
}
