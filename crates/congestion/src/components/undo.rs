//! Congestion events that belong together, and what an undo of them restores.
//!
//! An undo restores the state before the first event of its episode, as Linux' `prior_cwnd` (tcp_enter_loss, tcp_undo_cwnd_reduction):
//!
//! ```text
//! loss                     the state before it
//! timeout                  the state before it; but before the loss or the timeout that it follows, if no ACK has come
//!                          outside of recovery since
//! mark, delay, persistent congestion        nothing: they are not spurious
//! ```
//!
//! A loss begins an episode of its own, since the sender tells only of losses that no reduction covers. So the sender must
//! ask for the undo of a timeout that came while losses were repaired only if these were spurious too.

use crate::{Ack, Cause};

/// What an undo may restore, if anything.
#[derive(Clone, Debug)]
pub(crate) struct Undo<S> {
    saved: Option<S>,
    /// No ACK outside of recovery since the last event.
    open: bool,
    /// A timeout since the last ACK.
    timed_out: bool,
}

impl<S: Clone> Undo<S> {
    pub(crate) fn new() -> Self {
        Self { saved: None, open: false, timed_out: false }
    }

    /// To be told of each ACK.
    pub(crate) fn on_ack(&mut self, ack: &Ack) {
        self.timed_out = false;
        self.open &= ack.in_recovery;
    }

    /// To be told of each event before it is answered, with the state that it finds. True for a timeout that follows
    /// another one without an ACK in between: RFC 5681 section 3.1 keeps `ssthresh` then.
    pub(crate) fn on_congestion(&mut self, cause: Cause, state: &S) -> bool {
        let repeated = cause == Cause::Timeout && self.timed_out;
        let follows = cause == Cause::Timeout && self.open && self.saved.is_some();
        if !follows {
            self.saved = matches!(cause, Cause::Loss | Cause::Timeout).then(|| state.clone());
        }
        (self.open, self.timed_out) = (true, cause == Cause::Timeout);
        repeated
    }

    /// Changes the state, and what an undo would restore, alike.
    pub(crate) fn each(&mut self, state: &mut S, change: impl FnMut(&mut S)) {
        self.saved.iter_mut().chain([state]).for_each(change);
    }

    /// The event was spurious: the state that it found.
    pub(crate) fn take(&mut self) -> Option<S> {
        (self.open, self.timed_out) = (false, false);
        self.saved.take()
    }

    /// The same, for a state that is again what the event found; a window that has outgrown what it was stays.
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

    /// Each event finds its own index; what an undo after all of them restores. `None` stands for an ACK.
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

    /// Linux: a timeout in Recovery keeps `prior_cwnd`; one after it does not.
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
