//! Recovery periods: one reduction for each, which packets it covers, when it ends, and whether it was spurious.

use congestion::Cause;
use serde::{Deserialize, Serialize};
use units::Time;

/// When a recovery period ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// A packet sent after the reduction is acknowledged (RFC 9002 section 7.3.2): about one round trip.
    Quic,
    /// Everything sent before the reduction has arrived (RFC 6582): no second reduction until all holes are filled.
    NewrenoTcp,
}

/// The current or last recovery period.
#[derive(Clone, Debug)]
pub(crate) struct RecoveryPeriod {
    exit: Exit,
    serial: u64,
    active: bool,
    /// When it began.
    since: Time,
    /// What leaves in answer to what began it may take a while, and more may come.
    answering: bool,
    cause: Option<Cause>,
    /// [`Exit::Quic`]: ends with the acknowledgement of this packet or a later one, the first sent since the reduction.
    ends_with: u64,
    /// Packets below this one left before the reduction or at that moment: their loss or mark is covered by it.
    covered_below: u64,
    /// Packets below this one do not open the window.
    no_growth_below: u64,
    /// [`Exit::NewrenoTcp`]: ends when all stream bytes below this one have arrived.
    until_offset: u64,
    /// The window collapsed and may grow again although the period lasts.
    collapsed: bool,
    /// Only losses or a timeout, which may prove spurious, caused it.
    undoable: bool,
    losses: u64,
    spurious: u64,
}

impl RecoveryPeriod {
    pub(crate) fn new(exit: Exit) -> Self {
        Self {
            exit,
            serial: 0,
            active: false,
            since: Time::ZERO,
            answering: false,
            cause: None,
            ends_with: 0,
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
    pub(crate) fn begin(&mut self, now: Time, cause: Cause, next_pn: u64, highest_offset: u64) {
        let collapsed = matches!(cause, Cause::Timeout | Cause::PersistentCongestion);
        let persistent = cause == Cause::PersistentCongestion;
        let undoable = match cause {
            Cause::Loss => true,
            // While losses are repaired a timeout is not undone alone (Linux tries F-RTO outside of recovery only).
            Cause::Timeout => !self.active || self.cause == Some(Cause::Timeout),
            _ => false,
        };
        *self = Self {
            serial: self.serial + 1,
            // RFC 9002 section 7.6.2: persistent congestion forgets the recovery period.
            active: !persistent,
            since: now,
            cause: Some(cause),
            ends_with: next_pn,
            covered_below: if persistent { 0 } else { next_pn },
            no_growth_below: if collapsed { 0 } else { next_pn },
            until_offset: highest_offset,
            collapsed,
            undoable,
            ..Self::new(self.exit)
        };
    }

    /// Another path, where there has been none yet.
    pub(crate) fn restart(&mut self) {
        *self = Self { serial: self.serial + 1, ..Self::new(self.exit) };
    }

    /// What leaves until [`answered`](Self::answered) leaves in answer to what began the period.
    pub(crate) fn answer(&mut self) {
        self.answering = true;
    }

    /// What leaves from here on leaves for something else.
    pub(crate) fn answered(&mut self) {
        self.answering = false;
    }

    /// This packet leaves. At the very moment of the reduction it still belongs to what that answers for (RFC 9002 appendix B.5:
    /// `sent_time <= congestion_recovery_start_time`; section 7.3.2: "a single packet can be sent prior to reduction"): it meets the queue that
    /// has just overflowed. A real sender needs some time for it.
    pub(crate) fn on_sent(&mut self, now: Time, pn: u64) {
        if self.active && (now == self.since || self.answering) {
            self.covered_below = pn + 1;
            self.no_growth_below = if self.collapsed { 0 } else { pn + 1 };
        }
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
            Exit::Quic => newest_acked >= self.ends_with,
            Exit::NewrenoTcp => cumulative >= self.until_offset,
        };
        let ends = self.active && over;
        self.active &= !over;
        ends
    }

    /// A mark was seen: the period was not spurious.
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
            self.forget();
        }
        mistake
    }

    /// The period was spurious.
    fn forget(&mut self) {
        *self = Self { serial: self.serial, ..Self::new(self.exit) };
    }

    /// The stack says that the period was spurious. True when it can be undone: it is forgotten.
    pub(crate) fn on_mistake(&mut self) -> bool {
        let mistake = self.undoable;
        if mistake {
            self.forget();
        }
        mistake
    }

    /// Its timeout was spurious, although a loss may remain. True when that can be undone: the period is forgotten.
    pub(crate) fn on_spurious_timeout(&mut self) -> bool {
        let mistake = self.undoable && self.cause == Some(Cause::Timeout);
        if mistake {
            self.forget();
        }
        mistake
    }

    /// A tail may be probed: not while losses are repaired, but a CE mark has nothing to repair (Linux: in CWR).
    pub(crate) fn lets_probe(&self) -> bool {
        !self.active || self.cause == Some(Cause::Ecn)
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
