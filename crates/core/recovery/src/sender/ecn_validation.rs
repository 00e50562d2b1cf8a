//! ECN validation, RFC 9000 section 13.4 and appendix A.4.

use units::{Duration, Ecn, Time};

use crate::ecn::EcnCounts;

/// State of ECN validation on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The first packets carry ECT.
    Testing,
    /// All test packets are sent and not yet acknowledged. Packets carry no mark.
    Unknown,
    /// The path carries ECN. Packets carry ECT.
    Capable,
    /// The path bleaches marks or the counts are wrong. Packets carry no mark.
    Failed,
    /// Validation is off. Packets carry ECT, and every reported mark counts.
    Trusted,
}

/// ECN validation of one path, at the sender.
#[derive(Clone, Debug)]
pub struct Validation {
    mark: Ecn,
    state: State,
    test_packets: u64,
    test_until: Option<Time>,
    test_lost: u64,
    /// Whether a failure is counted, or none can come.
    counted: bool,
}

/// ECN counts of one packet number space. Validation belongs to a path, counts belong to a space
/// (RFC 9000 section 13.4.2).
#[derive(Clone, Debug, Default)]
pub struct SpaceCounts {
    sent: EcnCounts,
    reported: EcnCounts,
}

impl SpaceCounts {
    /// Counts a packet sent with this mark. For packets that can be lost, call
    /// [`Validation::on_sent`] instead.
    #[inline]
    pub fn on_sent(&mut self, mark: Ecn) {
        self.sent.add(mark);
    }

    /// Checks reported counts by section 13.4.2.1: they never fall, cover the newly acknowledged
    /// packets, and never exceed what was sent. Returns the number of new CE marks if they are
    /// valid.
    fn check(&self, newly: &EcnCounts, counts: &EcnCounts) -> Option<u64> {
        let sent = self.sent.ect0 + self.sent.ect1;
        let each = counts.ect0 <= self.sent.ect0 && counts.ect1 <= self.sent.ect1 && counts.ce <= sent;
        if !each || counts.ect0 + counts.ect1 + counts.ce > sent {
            return None;
        }
        let ect0 = counts.ect0.checked_sub(self.reported.ect0)?;
        let ect1 = counts.ect1.checked_sub(self.reported.ect1)?;
        let ce = counts.ce.checked_sub(self.reported.ce)?;
        let covers = ect0 + ce >= newly.ect0 && ect1 + ce >= newly.ect1;
        covers.then_some(ce)
    }
}

/// Appendix A.4: test with ten packets or for three PTOs.
const TEST_PACKETS: u64 = 10;
const TEST_PTOS: u64 = 3;

impl Validation {
    /// Creates the state of a sender that marks with `mark`; `NotEct` disables ECN. Without
    /// `validation` the path is assumed to carry ECN.
    pub fn new(mark: Ecn, validation: bool) -> Self {
        let state = if validation { State::Testing } else { State::Trusted };
        Self {
            mark,
            state: if mark == Ecn::NotEct { State::Failed } else { state },
            test_packets: 0,
            test_until: None,
            test_lost: 0,
            counted: mark == Ecn::NotEct,
        }
    }

    /// Returns the mark of the packet or datagram to send now. `may_mark` is false for packets that
    /// must not carry one.
    pub fn mark(&mut self, now: Time, pto: impl FnOnce() -> Duration, may_mark: bool) -> Ecn {
        if !may_mark || self.mark == Ecn::NotEct {
            return Ecn::NotEct;
        }
        if self.state == State::Testing {
            let until = *self.test_until.get_or_insert_with(|| now + pto() * TEST_PTOS);
            if self.test_packets >= TEST_PACKETS || now > until {
                self.state = State::Unknown;
            }
        }
        match self.state {
            State::Testing | State::Capable | State::Trusted => self.mark,
            State::Unknown | State::Failed => Ecn::NotEct,
        }
    }

    /// Records a packet sent with this mark that will be acknowledged or lost. Several packets can
    /// share a datagram.
    #[inline]
    pub fn on_sent(&mut self, space: &mut SpaceCounts, mark: Ecn) {
        if mark != Ecn::NotEct {
            self.test_packets += u64::from(self.state == State::Testing);
            space.on_sent(mark);
        }
    }

    /// Returns the mark of a packet that is not in flight. Such a packet tests nothing.
    pub fn mark_untracked(&self) -> Ecn {
        if matches!(self.state, State::Capable | State::Trusted) { self.mark } else { Ecn::NotEct }
    }

    /// Records the loss of a packet with this mark. If all test packets are lost, the path drops
    /// ECT.
    pub fn on_lost(&mut self, mark: Ecn) {
        if mark != Ecn::NotEct && matches!(self.state, State::Testing | State::Unknown) {
            self.test_lost += 1;
            if self.state == State::Unknown && self.test_lost >= self.test_packets {
                self.state = State::Failed;
            }
        }
    }

    /// Processes an ACK that raised the largest acknowledged packet. Returns the number of packets
    /// newly reported CE, or 0 if the counts are invalid.
    ///
    /// `newly` counts the newly acknowledged packets by the mark they were sent with. `space` holds
    /// the counts of their space.
    pub fn on_ack(
        &mut self,
        space: &mut SpaceCounts,
        newly: &EcnCounts,
        reported: Option<&EcnCounts>,
    ) -> u64 {
        if self.state == State::Failed {
            return 0;
        }
        if self.state == State::Trusted {
            let ce = reported.map_or(0, |counts| counts.ce.saturating_sub(space.reported.ce));
            space.reported.ce += ce;
            return ce;
        }
        let Some(counts) = reported else {
            if newly.ect0 + newly.ect1 > 0 {
                self.state = State::Failed;
            }
            return 0;
        };
        let Some(ce) = space.check(newly, counts) else {
            self.state = State::Failed;
            return 0;
        };
        space.reported = *counts;
        if newly.ect0 + newly.ect1 > 0 {
            self.state = State::Capable;
        }
        ce
    }

    /// Reports whether validation has failed since the last call.
    pub(super) fn has_newly_failed(&mut self) -> bool {
        let failed = self.state == State::Failed && !self.counted;
        self.counted |= failed;
        failed
    }

    /// Returns the state of validation.
    pub fn state(&self) -> State {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTO: fn() -> Duration = || Duration::from_millis(100);

    /// A path with one space.
    struct Path(Validation, SpaceCounts);

    impl Path {
        fn on_sent(&mut self, now: Time, pto: impl FnOnce() -> Duration, may_mark: bool) -> Ecn {
            let mark = self.0.mark(now, pto, may_mark);
            self.0.on_sent(&mut self.1, mark);
            mark
        }
        fn on_ack(&mut self, newly: &EcnCounts, reported: Option<&EcnCounts>) -> u64 {
            self.0.on_ack(&mut self.1, newly, reported)
        }
        fn on_lost(&mut self, mark: Ecn) {
            self.0.on_lost(mark);
        }
        fn state(&self) -> State {
            self.0.state()
        }
    }

    fn tested() -> Path {
        let mut v = Path(Validation::new(Ecn::Ect0, true), SpaceCounts::default());
        for _ in 0..10 {
            assert_eq!(v.on_sent(Time(0), PTO, true), Ecn::Ect0);
        }
        assert_eq!(v.on_sent(Time(0), PTO, true), Ecn::NotEct, "after the test, before the answer");
        v
    }

    fn ect0(n: u64) -> EcnCounts {
        EcnCounts { ect0: n, ..EcnCounts::default() }
    }

    #[test]
    fn validates_and_counts_marks() {
        let mut v = tested();
        let reported = EcnCounts { ect0: 7, ect1: 0, ce: 3 };
        assert_eq!(v.on_ack(&ect0(10), Some(&reported)), 3);
        assert_eq!(v.state(), State::Capable);
        assert_eq!(v.on_sent(Time(0), PTO, true), Ecn::Ect0);
    }

    /// After a lost ACK, the counts grow by more than the newly acknowledged packets. This is
    /// allowed.
    #[test]
    fn lost_acks_do_no_harm() {
        let mut v = tested();
        assert_eq!(v.on_ack(&ect0(2), Some(&EcnCounts { ect0: 8, ect1: 0, ce: 2 })), 2);
        assert_eq!(v.state(), State::Capable);
    }

    #[test]
    fn bleaching_fails() {
        for reported in
            [None, Some(ect0(0)), Some(ect0(9)), Some(ect0(11)), Some(EcnCounts { ect0: 10, ect1: 1, ce: 0 })]
        {
            let mut v = tested();
            assert_eq!(v.on_ack(&ect0(10), reported.as_ref()), 0);
            assert_eq!(v.state(), State::Failed, "{reported:?}");
            assert_eq!(v.on_sent(Time(0), PTO, true), Ecn::NotEct);
        }
    }

    /// Totals that no honest receiver reports fail, whatever their size.
    #[test]
    fn nonsense_fails() {
        for (e0, e1, ce) in
            [(u64::MAX, u64::MAX, u64::MAX), (10, 0, u64::MAX), (8, 0, 3), (0, 0, 11), (0, 10, 0)]
        {
            let mut v = tested();
            assert_eq!(v.on_ack(&ect0(10), Some(&EcnCounts { ect0: e0, ect1: e1, ce })), 0);
            assert_eq!(v.state(), State::Failed);
        }
        let mut v = tested();
        assert_eq!(v.on_ack(&ect0(5), Some(&ect0(5))), 0);
        assert_eq!(v.on_ack(&ect0(1), Some(&ect0(4))), 0);
        assert_eq!(v.state(), State::Failed, "totals never fall");
    }

    /// A packet sent without a mark needs no counts: it decides nothing and counts no marks.
    #[test]
    fn unmarked_packets_decide_nothing() {
        let mut v = tested();
        assert_eq!(v.on_ack(&EcnCounts::default(), None), 0);
        assert_eq!(v.state(), State::Unknown);
    }

    #[test]
    fn a_path_that_drops_ect_fails() {
        let mut v = tested();
        (0..10).for_each(|_| v.on_lost(Ecn::Ect0));
        assert_eq!(v.state(), State::Failed);
    }
}
