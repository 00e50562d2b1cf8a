//! Recovery periods: one reduction each, the packets it covers, its end, and whether it was
//! spurious.

use congestion::Cause;
use serde::{Deserialize, Serialize};
use units::Time;

/// End of a recovery period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// When a packet sent after the reduction is acknowledged, which takes about one round trip
    /// (RFC 9002 section 7.3.2).
    Quic,
    /// When everything sent before the reduction has arrived (RFC 6582). There is no second
    /// reduction until all holes are filled.
    NewrenoTcp,
    /// TCP only: when the first new data is acknowledged. A further hole in the same window then
    /// starts another period, with another reduction (Reno of 1990; RFC 2581 section 3.2).
    RenoTcp,
}

/// The current or last recovery period.
#[derive(Clone, Debug)]
pub(crate) struct RecoveryPeriod {
    exit: Exit,
    serial: u64,
    active: bool,
    /// Start of the period.
    since: Time,
    /// Packets sent now still respond to the event that started the period. This can take a while.
    responding: bool,
    cause: Option<Cause>,
    /// [`Exit::Quic`]: the period ends when this packet, the first sent after the reduction, or a
    /// later one is acknowledged.
    ends_with: u64,
    /// Packets below this number were sent before or at the reduction, which covers their loss or
    /// mark.
    covered_below: u64,
    /// Packets below this number do not grow the window.
    no_growth_below: u64,
    /// TCP's exits: the period ends when all stream bytes below this offset have arrived.
    until_offset: u64,
    /// The window collapsed, and may grow again during the period.
    collapsed: bool,
    /// Caused only by losses or a timeout, which may prove spurious.
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
            responding: false,
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

    /// Starts a period because the window is reduced.
    pub(crate) fn begin(&mut self, now: Time, cause: Cause, next_pn: u64, until_offset: u64) {
        let collapsed = matches!(cause, Cause::Timeout | Cause::PersistentCongestion);
        let persistent = cause == Cause::PersistentCongestion;
        let undoable = match cause {
            Cause::Loss => true,
            // During loss repair a timeout is not undone separately (Linux tries F-RTO only outside
            // of recovery).
            Cause::Timeout => !self.active || self.cause == Some(Cause::Timeout),
            _ => false,
        };
        *self = Self {
            serial: self.serial + 1,
            // RFC 9002 section 7.6.2: persistent congestion ends the recovery period.
            active: !persistent,
            since: now,
            cause: Some(cause),
            ends_with: next_pn,
            covered_below: if persistent { 0 } else { next_pn },
            no_growth_below: if collapsed { 0 } else { next_pn },
            until_offset,
            collapsed,
            undoable,
            ..Self::new(self.exit)
        };
    }

    /// Starts over on another path, without a period.
    pub(crate) fn restart(&mut self) {
        *self = Self { serial: self.serial + 1, ..Self::new(self.exit) };
    }

    /// Counts packets sent until [`end_response`](Self::end_response) as sent at the moment of the
    /// reduction.
    pub(crate) fn begin_response(&mut self) {
        self.responding = true;
    }

    /// Ends the response. Packets sent from now on are new.
    pub(crate) fn end_response(&mut self) {
        self.responding = false;
    }

    /// Records a sent packet.
    ///
    /// The reduction also covers packets sent at the same instant (RFC 9002 appendix B.5:
    /// `sent_time <= congestion_recovery_start_time`; section 7.3.2: "a single packet can be sent
    /// prior to reduction"). They meet the queue that has just overflowed. A real sender needs some
    /// time to send them.
    pub(crate) fn on_sent(&mut self, now: Time, pn: u64) {
        if self.active && (now == self.since || self.responding) {
            self.covered_below = pn + 1;
            self.no_growth_below = if self.collapsed { 0 } else { pn + 1 };
        }
    }

    /// Reports whether a reduction since this packet was sent covers its loss or mark.
    pub(crate) fn covers(&self, pn: u64, cause: Cause) -> bool {
        match (self.exit, cause) {
            (Exit::RenoTcp, Cause::Loss) => self.active,
            (exit, _) => pn < self.covered_below || (exit == Exit::NewrenoTcp && self.active),
        }
    }

    /// Reports whether the acknowledgement of this packet must not grow the window.
    pub(crate) fn forbids_growth(&self, pn: u64) -> bool {
        let repairing = self.active && !self.collapsed;
        match self.exit {
            Exit::RenoTcp => repairing,
            exit => pn < self.no_growth_below || (exit == Exit::NewrenoTcp && repairing),
        }
    }

    /// Ends the period if this acknowledgement does. Returns true if it did.
    pub(crate) fn try_exit(&mut self, newest_acked: u64, cumulative: u64) -> bool {
        let over = match self.exit {
            Exit::Quic => newest_acked >= self.ends_with,
            Exit::NewrenoTcp | Exit::RenoTcp => cumulative >= self.until_offset,
        };
        let ends = self.active && over;
        self.active &= !over;
        ends
    }

    /// Records a mark, which proves that the period was not spurious.
    pub(crate) fn forbid_undo(&mut self) {
        self.undoable = false;
    }

    /// Adds losses to this period.
    pub(crate) fn add_losses(&mut self, count: u64) {
        self.losses += count;
    }

    /// Counts losses of this period that proved spurious. Returns true, and ends the period, if
    /// none remains.
    pub(crate) fn on_spurious(&mut self, count: u64) -> bool {
        self.spurious += count;
        let undone = self.undoable && self.losses > 0 && self.spurious >= self.losses;
        if undone {
            self.reset();
        }
        undone
    }

    /// Ends the period without a trace.
    fn reset(&mut self) {
        *self = Self { serial: self.serial, ..Self::new(self.exit) };
    }

    /// Ends the period, which the stack found spurious. Returns false if it cannot be undone.
    pub(crate) fn try_undo(&mut self) -> bool {
        let undone = self.undoable;
        if undone {
            self.reset();
        }
        undone
    }

    /// Ends the period after a spurious timeout, even if a loss remains. Returns false if it cannot
    /// be undone.
    pub(crate) fn on_spurious_timeout(&mut self) -> bool {
        let undone = self.undoable && self.cause == Some(Cause::Timeout);
        if undone {
            self.reset();
        }
        undone
    }

    /// Reports whether a tail loss probe is allowed. It is not while losses are being repaired; a
    /// CE mark needs no repair (Linux: in CWR).
    pub(crate) fn allows_probe(&self) -> bool {
        !self.active || self.cause == Some(Cause::Ecn)
    }

    /// Returns the offset at which TCP's exits end the period.
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
