//! Recovery periods: one reduction for each, which packets it covers, when it ends, and whether it was a mistake.

use std::collections::BTreeMap;

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

    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    pub(crate) fn in_recovery(&self) -> bool {
        self.active
    }
}

/// Packets declared lost that may still be acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct LateAcks {
    /// Packet number to time of the verdict and serial of the recovery period.
    lost: BTreeMap<u64, (Time, u64)>,
}

/// How long a lost packet may come back, in probe timeouts.
const MEMORY: u64 = 3;

impl LateAcks {
    pub(crate) fn add(&mut self, pn: u64, now: Time, serial: u64) {
        self.lost.insert(pn, (now, serial));
    }

    /// Forgets verdicts older than three probe timeouts.
    pub(crate) fn prune(&mut self, now: Time, probe_timeout: Duration) {
        let horizon = now - probe_timeout * MEMORY;
        while self.lost.first_key_value().is_some_and(|(_, v)| v.0 < horizon) {
            self.lost.pop_first();
        }
    }

    /// Removes the packets that `arrived`; returns how many, and how many of them belong to period `serial`.
    pub(crate) fn take(&mut self, serial: u64, arrived: impl Fn(u64) -> bool) -> (u64, u64) {
        let (mut all, mut current) = (0, 0);
        if !self.lost.is_empty() {
            self.lost.retain(|&pn, v| {
                let late = arrived(pn);
                all += u64::from(late);
                current += u64::from(late && v.1 == serial);
                !late
            });
        }
        (all, current)
    }

    pub(crate) fn oldest(&self) -> Option<u64> {
        self.lost.first_key_value().map(|(pn, _)| *pn)
    }
}
