//! Recovery periods: one reduction for each, which packets it covers, when it ends, and whether it was a mistake.

use std::collections::VecDeque;

use congestion::{Cause, Duration, Time};

use crate::config::Exit;

/// The current or last recovery period.
#[derive(Clone, Debug)]
pub(crate) struct Epoch {
    exit: Exit,
    serial: u64,
    active: bool,
    /// Packets below this one left before the reduction: their loss or mark is covered by it.
    covered_below: u64,
    /// Packets below this one do not open the window.
    no_growth_below: u64,
    /// [`Exit::NewrenoTcp`]: ends when all stream bytes below this one have arrived.
    until_offset: u64,
    /// The window collapsed and may grow again although the period lasts.
    collapsed: bool,
    /// Only losses, which may prove spurious, caused it.
    undoable: bool,
    losses: u64,
    spurious: u64,
}

impl Epoch {
    pub(crate) fn new(exit: Exit) -> Self {
        Self {
            exit,
            serial: 0,
            active: false,
            covered_below: 0,
            no_growth_below: 0,
            until_offset: 0,
            collapsed: false,
            undoable: false,
            losses: 0,
            spurious: 0,
        }
    }

    /// The window shrinks.
    pub(crate) fn begin(&mut self, cause: Cause, next_pn: u64, highest_offset: u64) {
        let collapsed = matches!(cause, Cause::Timeout | Cause::PersistentCongestion);
        let persistent = cause == Cause::PersistentCongestion;
        *self = Self {
            serial: self.serial + 1,
            // RFC 9002 section 7.6.2: persistent congestion forgets the recovery period.
            active: !persistent,
            covered_below: if persistent { 0 } else { next_pn },
            no_growth_below: if collapsed { 0 } else { next_pn },
            until_offset: highest_offset,
            collapsed,
            undoable: cause == Cause::Loss,
            ..Self::new(self.exit)
        };
    }

    /// A reduction since this packet's departure answers for it.
    pub(crate) fn covers(&self, pn: u64) -> bool {
        pn < self.covered_below || (self.exit == Exit::NewrenoTcp && self.active)
    }

    /// The acknowledgement of this packet must not open the window.
    pub(crate) fn forbids_growth(&self, pn: u64) -> bool {
        pn < self.no_growth_below || (self.exit == Exit::NewrenoTcp && self.active && !self.collapsed)
    }

    /// Ends the period if this acknowledgement does; returns whether it did.
    pub(crate) fn try_exit(&mut self, newest_acked: u64, cumulative: u64) -> bool {
        let over = match self.exit {
            Exit::Quic => newest_acked >= self.covered_below,
            Exit::NewrenoTcp => cumulative >= self.until_offset,
        };
        let ends = self.active && over;
        self.active &= !over;
        ends
    }

    /// A mark was seen: the period was no mistake.
    pub(crate) fn forbid_undo(&mut self) {
        self.undoable = false;
    }

    /// So many losses belong to this period.
    pub(crate) fn add_losses(&mut self, count: u64) {
        self.losses += count;
    }

    /// So many of its losses were none. True when that leaves no reason for the reduction: the period is forgotten.
    pub(crate) fn on_spurious(&mut self, count: u64) -> bool {
        self.spurious += count;
        let mistake = self.undoable && self.losses > 0 && self.spurious >= self.losses;
        if mistake {
            *self = Self { serial: self.serial, ..Self::new(self.exit) };
        }
        mistake
    }

    /// Where [`Exit::NewrenoTcp`] ends.
    pub(crate) fn until_offset(&self) -> u64 {
        self.until_offset
    }

    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    pub(crate) fn in_recovery(&self) -> bool {
        self.active
    }
}

/// Packets declared lost that may still be acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct LateAcks<T> {
    /// Ascending in packet number and time: a verdict falls on the oldest packets in flight.
    lost: VecDeque<Verdict<T>>,
}

#[derive(Clone, Debug)]
struct Verdict<T> {
    pn: u64,
    at: Time,
    /// Serial of the recovery period.
    period: u64,
    data: T,
}

/// How long a lost packet may come back, in probe timeouts.
const MEMORY: u64 = 3;

impl<T> LateAcks<T> {
    pub(crate) fn new() -> Self {
        Self { lost: VecDeque::new() }
    }

    pub(crate) fn add(&mut self, pn: u64, at: Time, period: u64, data: T) {
        self.lost.push_back(Verdict { pn, at, period, data });
    }

    /// Forgets verdicts older than three probe timeouts.
    pub(crate) fn prune(&mut self, now: Time, probe_timeout: Duration) {
        while self.lost.front().is_some_and(|v| v.at + probe_timeout * MEMORY < now) {
            self.lost.pop_front();
        }
    }

    /// Moves the packets `low..=high` into `arrived`; returns how many of them belong to this recovery period.
    pub(crate) fn take(&mut self, low: u64, high: u64, period: u64, arrived: &mut Vec<(u64, T)>) -> u64 {
        if self.lost.back().is_none_or(|v| v.pn < low) {
            return 0; // nearly always: what arrives is newer than what was given up
        }
        let from = self.lost.partition_point(|v| v.pn < low);
        let to = self.lost.partition_point(|v| v.pn <= high).max(from);
        let mut current = 0;
        for verdict in self.lost.drain(from..to) {
            current += u64::from(verdict.period == period);
            arrived.push((verdict.pn, verdict.data));
        }
        current
    }

    pub(crate) fn oldest(&self) -> Option<u64> {
        self.lost.front().map(|v| v.pn)
    }
}
