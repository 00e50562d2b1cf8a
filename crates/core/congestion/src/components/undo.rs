//! Groups congestion events into episodes, and stores the state that an undo restores.
//!
//! An undo restores the state before the first event of its episode, like Linux's `prior_cwnd`
//! (tcp_enter_loss, tcp_undo_cwnd_reduction):
//!
//! ```text
//! loss                     the state before it
//! timeout                  the state before it, or before the loss or timeout that it follows, if no ACK has arrived
//!                          outside of recovery since
//! mark, delay, persistent congestion        nothing: they are never spurious
//! ```
//!
//! A loss begins a new episode, because the sender reports only losses that no reduction covers. A
//! timeout may occur while losses are repaired. The sender must then ask for its undo only if those
//! losses were spurious too.

use crate::{Ack, Cause};

/// The state that an undo restores, if any.
#[derive(Clone, Debug)]
pub(crate) struct Undo<S> {
    saved: Option<S>,
    /// Whether no ACK outside of recovery has arrived since the last event.
    open: bool,
    /// Whether a timeout has occurred since the last ACK.
    timed_out: bool,
}

impl<S: Clone> Undo<S> {
    pub(crate) fn new() -> Self {
        Self { saved: None, open: false, timed_out: false }
    }

    /// Reports an ACK. Call it for each one.
    pub(crate) fn on_ack(&mut self, ack: &Ack) {
        self.timed_out = false;
        self.open &= ack.in_recovery;
    }

    /// Reports an event and the state that it finds. Call it before responding to the event.
    ///
    /// Returns true for a timeout that follows another one without an ACK in between. RFC 5681
    /// section 3.1 keeps `ssthresh` then.
    pub(crate) fn on_congestion(&mut self, cause: Cause, state: &S) -> bool {
        let repeated = cause == Cause::Timeout && self.timed_out;
        let follows = cause == Cause::Timeout && self.open && self.saved.is_some();
        if !follows {
            self.saved = matches!(cause, Cause::Loss | Cause::Timeout).then(|| state.clone());
        }
        (self.open, self.timed_out) = (true, cause == Cause::Timeout);
        repeated
    }

    /// Applies the same change to the current state and to the saved one.
    pub(crate) fn each(&mut self, state: &mut S, change: impl FnMut(&mut S)) {
        self.saved.iter_mut().chain([state]).for_each(change);
    }

    /// Takes the saved state: the event was spurious.
    pub(crate) fn take(&mut self) -> Option<S> {
        (self.open, self.timed_out) = (false, false);
        self.saved.take()
    }

    /// Restores the saved state if its window is larger than the current one.
    pub(crate) fn restore<W: PartialOrd>(&mut self, state: &mut S, cwnd: impl Fn(&S) -> W) {
        if let Some(saved) = self.take().filter(|saved| cwnd(saved) > cwnd(state)) {
            *state = saved;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::acked;

    /// Returns what an undo restores after these events. Each event finds its index as state.
    /// `None` stands for an ACK.
    fn restored(in_recovery: bool, events: &[Option<Cause>]) -> Option<usize> {
        let mut undo = Undo::new();
        for (i, event) in events.iter().enumerate() {
            match event {
                Some(cause) => _ = undo.on_congestion(*cause, &i),
                None => undo.on_ack(&Ack { in_recovery, ..acked(1200) }),
            }
        }
        undo.take()
    }

    /// Linux: a timeout in Recovery keeps `prior_cwnd`, a timeout after it does not.
    #[test]
    fn first_of_an_episode() {
        use Cause::{Delay, Ecn, Loss, PersistentCongestion, Timeout};
        let events = |causes: &[Cause]| causes.iter().copied().map(Some).collect::<Vec<_>>();
        for (causes, expected) in [
            (vec![Loss], Some(0)),
            (vec![Timeout], Some(0)),
            (vec![Loss, Timeout], Some(0)),
            (vec![Timeout, Timeout, Timeout], Some(0)),
            (vec![Loss, Timeout, Timeout], Some(0)),
            (vec![Timeout, Loss], Some(1)),
            (vec![Loss, Loss], Some(1)),
            (vec![Loss, Loss, Timeout], Some(1)),
            (vec![Ecn, Timeout], Some(1)),
            (vec![Loss, Ecn], None),
            (vec![Delay], None),
            (vec![Loss, PersistentCongestion], None),
        ] {
            assert_eq!(restored(true, &events(&causes)), expected, "{causes:?}");
        }
        for (in_recovery, expected) in [(true, 0), (false, 2)] {
            assert_eq!(restored(in_recovery, &[Some(Loss), None, Some(Timeout)]), Some(expected));
        }
    }

    #[test]
    fn only_once_and_only_repeated_timeouts() {
        let mut undo = Undo::new();
        assert!(!undo.on_congestion(Cause::Timeout, &1));
        assert!(undo.on_congestion(Cause::Timeout, &2));
        undo.on_ack(&acked(1200));
        assert!(!undo.on_congestion(Cause::Timeout, &3));
        assert_eq!((undo.take(), undo.take()), (Some(3), None));
        assert!(!undo.on_congestion(Cause::Timeout, &4), "undone: not a repeated one");
    }
}
