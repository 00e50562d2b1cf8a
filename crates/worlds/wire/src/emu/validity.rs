//! The self-audit of a run: lateness, steal time, unlogged losses, and whether the run is valid.

use std::fs;

use units::{Duration, Time};

use crate::emu::capture::log::LogReport;
use crate::emu::linux::tun::{self, HiddenDrops};
use crate::emu::linux::watch::Change;
use crate::emu::relay::outcome::{Anomalies, Outcome};

/// Largest 99th percentile of lateness of a valid run. A delay-based controller must not see a
/// delay of the emulator itself.
pub const LATE_P99: Duration = Duration::from_micros(500);
/// Largest lateness of a valid run. The hypervisor may take the CPU for some 9 ms at a time. A
/// spike of that size looks like a queue to a delay-based controller.
pub const LATE_MAX: Duration = Duration::from_millis(5);
/// Largest share of the processors' time that the hypervisor may take from a valid run.
pub const STEAL_SHARE: f64 = 0.01;

/// The self-audit of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    /// Duration of the run.
    pub elapsed: Duration,
    /// Delivered packets.
    pub deliveries: u64,
    /// Median lateness of a delivery: time from when the packet was due until the emulator
    /// delivered it.
    pub late_p50: Duration,
    /// 99th percentile of the lateness.
    pub late_p99: Duration,
    /// Largest lateness.
    pub late_max: Duration,
    /// Share of the processors' time that the hypervisor gave to others, 0 to 1.
    pub steal: f64,
    /// Share of one processor that the emulator's thread used, 0 to 1.
    pub cpu: f64,
    /// True if the emulator's thread ran under SCHED_FIFO.
    pub real_time: bool,
    /// Packets lost at the client's and the server's device; `None` if the device is gone.
    pub hidden: [Option<HiddenDrops>; 2],
    /// First change of the client's and the server's interface that the emulator did not make. It
    /// was seen at this time, at most a tenth of a second later.
    pub changes: [Option<(Time, Change)>; 2],
    /// Packets that the engine could not carry.
    pub anomalies: Anomalies,
    /// Result of the packet log, if there is one.
    pub log: Option<LogReport>,
}

impl Audit {
    pub(crate) fn new(
        outcome: &Outcome,
        real_time: bool,
        steal: f64,
        hidden: [Option<HiddenDrops>; 2],
        log: Option<LogReport>,
    ) -> Self {
        let lateness = &outcome.timing.lateness;
        let elapsed = outcome.snapshot.elapsed;
        Self {
            elapsed,
            deliveries: lateness.len(),
            late_p50: Duration(lateness.value_at_quantile(0.5)),
            late_p99: Duration(lateness.value_at_quantile(0.99)),
            late_max: Duration(lateness.max()),
            steal,
            cpu: outcome.cpu.as_secs_f64() / elapsed.as_secs_f64().max(1e-9),
            real_time,
            hidden,
            changes: outcome.changes,
            anomalies: outcome.anomalies,
            log,
        }
    }

    /// Returns why the run is not valid; empty if it is valid.
    pub fn invalid_reasons(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut require = |holds: bool, why: String| {
            if !holds {
                all.push(why);
            }
        };
        require(
            self.late_p99 <= LATE_P99,
            format!("1 % of the packets were more than {} late (at most {LATE_P99})", round(self.late_p99)),
        );
        require(
            self.late_max <= LATE_MAX,
            format!("a packet was {} late (at most {LATE_MAX})", round(self.late_max)),
        );
        require(
            self.steal <= STEAL_SHARE,
            format!("the hypervisor took {:.1} % of the processors' time", self.steal * 100.0),
        );
        for (side, hidden) in ["client", "server"].iter().zip(self.hidden) {
            let lost = hidden.unwrap_or_default();
            require(
                lost.to_emulator == 0,
                format!("{} packets were lost between the {side} and the emulator", lost.to_emulator),
            );
            require(
                lost.from_emulator == 0,
                format!("{} packets were lost between the emulator and the {side}", lost.from_emulator),
            );
            require(hidden.is_some(), format!("the {side}'s interface is gone"));
        }
        for (side, change) in ["client", "server"].iter().zip(self.changes) {
            let said = change.map(|(at, change)| {
                let after = (at - Time::ZERO).as_secs_f64();
                format!("the {side}'s interface {} {change} {after:.1} s after the start", tun::NAME)
            });
            require(said.is_none(), said.unwrap_or_default());
        }
        let Anomalies { malformed: _, refused, overflow } = self.anomalies;
        require(refused == 0, format!("{refused} packets were refused by the receiver's kernel"));
        require(
            overflow == 0,
            format!(
                "{overflow} packets were dropped because the queue outgrew the emulator's memory: limit the queue of the link"
            ),
        );
        if let Some(LogReport { lost, error }) = &self.log {
            // An error explains the losses.
            let too_slow = format!("{lost} entries of the packet log were lost: its destination is too slow");
            require(*lost == 0 && error.is_none(), error.clone().unwrap_or(too_slow));
        }
        all
    }

    /// Returns `valid`, or `invalid:` and the reasons.
    pub fn verdict(&self) -> String {
        match self.invalid_reasons() {
            none if none.is_empty() => "valid".to_owned(),
            why => format!("invalid: {}", why.join("; ")),
        }
    }
}

/// Rounds to microseconds.
pub(crate) fn round(duration: Duration) -> Duration {
    Duration((duration.0 + 500) / 1000 * 1000)
}

/// Ticks of all processors since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticks {
    steal: u64,
    all: u64,
}

impl Ticks {
    pub(crate) fn now() -> Self {
        Self::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Parses the first line:
    /// `cpu user nice system idle iowait irq softirq steal guest guest_nice`. User includes guest.
    fn parse(stat: &str) -> Self {
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).map_while(|t| t.parse().ok()).collect();
        Self { steal: ticks.get(7).copied().unwrap_or(0), all: ticks.iter().sum() }
    }

    /// Returns the share of steal time since `before`.
    pub(crate) fn steal_since(self, before: Self) -> f64 {
        let (steal, all) = (self.steal.saturating_sub(before.steal), self.all.saturating_sub(before.all));
        if all == 0 { 0.0 } else { steal as f64 / all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean() -> Audit {
        Audit {
            elapsed: Duration::from_secs(1),
            deliveries: 100,
            late_p50: Duration::from_micros(5),
            late_p99: Duration::from_micros(30),
            late_max: Duration::from_micros(900),
            steal: 0.0,
            cpu: 0.1,
            real_time: true,
            hidden: [Some(HiddenDrops::default()); 2],
            changes: [None; 2],
            anomalies: Anomalies::default(),
            log: None,
        }
    }

    #[test]
    fn a_clean_run_is_valid_and_each_blemish_is_named() {
        assert_eq!(clean().verdict(), "valid");
        let lost = HiddenDrops { to_emulator: 3, from_emulator: 0 };
        for (audit, word) in [
            (Audit { late_p99: Duration::from_millis(1), ..clean() }, "1 % of the packets"),
            (Audit { late_max: Duration::from_millis(9), ..clean() }, "a packet was 9 ms late"),
            (Audit { steal: 0.05, ..clean() }, "the hypervisor took 5.0 %"),
            (Audit { hidden: [Some(lost), None], ..clean() }, "3 packets were lost between the client"),
            (Audit { hidden: [Some(lost), None], ..clean() }, "the server's interface is gone"),
            (
                Audit { changes: [None, Some((Time(2_500_000_000), Change::Mtu(1400)))], ..clean() },
                "the server's interface ack0 got an MTU of 1400 bytes 2.5 s after the start",
            ),
            (Audit { anomalies: Anomalies { overflow: 1, ..Anomalies::default() }, ..clean() }, "outgrew"),
            (Audit { log: Some(LogReport { lost: 7, error: None }), ..clean() }, "7 entries"),
        ] {
            assert!(audit.verdict().starts_with("invalid: ") && audit.verdict().contains(word), "{word}");
        }
    }

    #[test]
    fn steal_is_a_share_of_all_ticks() {
        let before = Ticks::parse("cpu  10 0 10 70 0 0 0 10 5 5\ncpu0 ...");
        let after = Ticks::parse("cpu  20 0 20 130 0 0 0 30 5 5");
        assert_eq!(before, Ticks { steal: 10, all: 100 });
        assert!((after.steal_since(before) - 0.2).abs() < 1e-12);
        assert_eq!(Ticks::parse("").steal_since(Ticks::parse("nonsense")), 0.0);
    }
}
