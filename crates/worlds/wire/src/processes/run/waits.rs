//! Measures how long the processes of a run waited for a processor or were stopped. A delayed stack
//! behaves differently, and its traffic does not show why.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval between samples. Waiting time between the last sample and the end of a process is not
/// counted.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// Largest valid share of a run that a thread waited for a processor. Measured with a transfer of 1
/// MB in half a second on two processors: 1 to 3 % on an idle machine. Beside compilers it was 5 to
/// 14 %, with the same RTTs and losses. aioquic needs half a processor in one thread; at 36 to 50 %
/// its RTTs were 2 to 16 ms longer.
const MAX_WAIT_SHARE: f64 = 0.2;

/// Delays that the machine caused in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MachineDelays {
    /// Longest total time that one thread waited for a processor.
    pub(super) waited: Duration,
    /// Time during which a process was stopped by a signal or a debugger, rounded up to the next
    /// sample.
    pub(super) stopped: Duration,
    /// Duration of the run.
    pub(super) run: Duration,
}

impl MachineDelays {
    /// Returns the reasons why the run is not valid. Only something outside the run stops a
    /// process, so any stop makes it invalid. A stop is not visible in the losses.
    pub(super) fn invalid_reasons(self) -> Vec<String> {
        let stopped = (!self.stopped.is_zero()).then(|| {
            format!(
                "a process of the stack was stopped for {:.1} s (by a signal or a debugger)",
                self.stopped.as_secs_f64()
            )
        });
        self.waiting().into_iter().chain(stopped).collect()
    }

    fn waiting(self) -> Option<String> {
        let share = self.waited.as_secs_f64() / self.run.as_secs_f64();
        (share > MAX_WAIT_SHARE).then(|| {
            format!(
                "a process of the stack waited for a processor for {:.0} % of the run (at most 20 %)",
                share * 100.0
            )
        })
    }
}

/// Waiting times of all descendants of this process, since [`Waits::begin`].
#[derive(Debug)]
pub(super) struct Waits {
    /// Waiting time of each thread before the start and until now, in nanoseconds.
    threads: BTreeMap<u32, (u64, u64)>,
    stopped: Duration,
    sampled: Instant,
}

impl Waits {
    /// Starts the measurement for all descendants of this process. Processes started later count
    /// from their start.
    pub(super) fn begin(now: Instant) -> Self {
        let mut waits = Self { threads: BTreeMap::new(), stopped: Duration::ZERO, sampled: now };
        waits.sample(Duration::ZERO);
        waits.threads.values_mut().for_each(|(before, by_now)| *before = *by_now);
        waits
    }

    /// Takes a sample if the interval has passed.
    pub(super) fn poll(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.sampled);
        if since >= SAMPLE_INTERVAL {
            self.sampled = now;
            self.sample(since);
        }
    }

    /// Returns the delays in a run of duration `run`.
    pub(super) fn delays(&self, run: Duration) -> MachineDelays {
        MachineDelays { waited: self.longest(), stopped: self.stopped, run }
    }

    /// Returns the longest total waiting time of a thread.
    fn longest(&self) -> Duration {
        let waited = self.threads.values().map(|(before, by_now)| by_now.saturating_sub(*before));
        Duration::from_nanos(waited.max().unwrap_or(0))
    }

    /// Takes a sample. `since` is the time since the last one.
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

/// State of a process in `/proc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// True if it is stopped by a signal (`T`) or a debugger (`t`).
    stopped: bool,
}

/// Returns the state of every process, by process ID.
fn processes() -> Vec<(u32, Stat)> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let pair = |entry: fs::DirEntry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((process, stat(&fs::read_to_string(entry.path().join("stat")).ok()?)?))
    };
    all.flatten().filter_map(pair).collect()
}

/// Parses `pid (name) state parent ...`. The name may contain any character.
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

/// Returns the time that each thread has waited for a processor, in nanoseconds. Empty if the
/// process has ended or the kernel does not count.
fn waits_of(process: u32) -> Vec<(u32, u64)> {
    let threads = fs::read_dir(Path::new("/proc").join(process.to_string()).join("task"));
    let parse = |thread: fs::DirEntry| {
        let number = thread.file_name().to_str()?.parse().ok()?;
        Some((number, in_queue(&fs::read_to_string(thread.path().join("schedstat")).ok()?)?))
    };
    threads.into_iter().flatten().flatten().filter_map(parse).collect()
}

/// Parses the second of three numbers: nanoseconds on a processor, nanoseconds waiting for one, and
/// number of time slices.
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
        let run = Duration::from_secs(1);
        let delays =
            |waited| MachineDelays { waited: Duration::from_millis(waited), run, ..MachineDelays::default() };
        assert!(delays(200).invalid_reasons().is_empty());
        assert!(delays(364).invalid_reasons()[0].contains("for 36 % of the run"));
        assert!(MachineDelays::default().invalid_reasons().is_empty(), "the run has not started");
    }

    /// A stop of 0.2 s makes a run of any length invalid. A sleeping process is not stopped.
    #[test]
    fn who_was_stopped_is_told() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let signal = |name: &str| {
            let script = format!("kill {name} {}", child.id());
            let sent = std::process::Command::new("sh").args(["-c", &script]).status();
            assert!(sent.unwrap().success());
        };
        let watch = |waits: &mut Waits| {
            for _ in 0..4 {
                std::thread::sleep(SAMPLE_INTERVAL);
                waits.poll(Instant::now());
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
        assert!(after >= SAMPLE_INTERVAL * 4, "{after:?}");
        let why = waits.delays(Duration::from_secs(600)).invalid_reasons().pop().unwrap();
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
