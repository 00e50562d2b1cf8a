//! ECN validation, RFC 9000 section 13.4 and appendix A.4.

use units::{Duration, Ecn, Time};

use crate::ecn::EcnCounts;

/// Whether the path carries ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The first packets carry ECT.
    Testing,
    /// The test packets are out, no answer yet: packets carry none.
    Unknown,
    /// Validated.
    Capable,
    /// The path bleaches or miscounts: packets carry none.
    Failed,
    /// Decided elsewhere: packets carry ECT, and what is reported counts.
    Trusted,
}

/// The sender's side of one path.
#[derive(Clone, Debug)]
pub struct Validation {
    mark: Ecn,
    state: State,
    test_packets: u64,
    test_until: Option<Time>,
    test_lost: u64,
}

/// The counts of one packet number space: validation is a path's, counts are a space's (RFC 9000 section 13.4.2).
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    sent: EcnCounts,
    reported: EcnCounts,
}

impl Ledger {
    /// A packet of this space leaves with this mark. If it can be lost, [`Validation::on_sent`] is to know.
    #[inline]
    pub fn on_sent(&mut self, mark: Ecn) {
        self.sent.add(mark);
    }

    /// Section 13.4.2.1: counts never fall, cover what is newly acknowledged, and never pass what was sent.
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

/// Appendix A.4: test with ten packets or for three PTO.
const TEST_PACKETS: u64 = 10;
const TEST_PTOS: u64 = 3;

impl Validation {
    /// A sender that marks with `mark`; `NotEct` switches ECN off. Without `validation` the path is known to carry it.
    pub fn new(mark: Ecn, validation: bool) -> Self {
        let state = if validation { State::Testing } else { State::Trusted };
        Self {
            mark,
            state: if mark == Ecn::NotEct { State::Failed } else { state },
            test_packets: 0,
            test_until: None,
            test_lost: 0,
        }
    }

    /// The mark of the packet or datagram that leaves now, unless it may bear none.
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

    /// A packet leaves with this mark, maybe with others in one datagram, and will be acknowledged or lost.
    #[inline]
    pub fn on_sent(&mut self, ledger: &mut Ledger, mark: Ecn) {
        if mark != Ecn::NotEct {
            self.test_packets += u64::from(self.state == State::Testing);
            ledger.on_sent(mark);
        }
    }

    /// The mark of a packet that nobody waits for: it tests nothing.
    pub fn mark_unwatched(&self) -> Ecn {
        if matches!(self.state, State::Capable | State::Trusted) { self.mark } else { Ecn::NotEct }
    }

    /// A packet that carried a mark is lost. When the whole test is, the path drops ECT.
    pub fn on_lost(&mut self, mark: Ecn) {
        if mark != Ecn::NotEct && matches!(self.state, State::Testing | State::Unknown) {
            self.test_lost += 1;
            if self.state == State::Unknown && self.test_lost >= self.test_packets {
                self.state = State::Failed;
            }
        }
    }

    /// An ACK that raised the largest acknowledged packet arrives; `newly` counts, per mark, the packets it newly
    /// acknowledges as they were sent; `ledger` is that of its space. Returns how many packets are newly reported CE (0 unless valid).
    pub fn on_ack(&mut self, ledger: &mut Ledger, newly: &EcnCounts, reported: Option<&EcnCounts>) -> u64 {
        if self.state == State::Failed {
            return 0;
        }
        if self.state == State::Trusted {
            let ce = reported.map_or(0, |counts| counts.ce.saturating_sub(ledger.reported.ce));
            ledger.reported.ce += ce;
            return ce;
        }
        let Some(counts) = reported else {
            if newly.ect0 + newly.ect1 > 0 {
                self.state = State::Failed;
            }
            return 0;
        };
        let Some(ce) = ledger.check(newly, counts) else {
            self.state = State::Failed;
            return 0;
        };
        ledger.reported = *counts;
        if newly.ect0 + newly.ect1 > 0 {
            self.state = State::Capable;
        }
        ce
    }

    /// Where validation stands.
    pub fn state(&self) -> State {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTO: fn() -> Duration = || Duration::from_millis(100);

    /// A path with one space.
    struct Path(Validation, Ledger);

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
        let mut v = Path(Validation::new(Ecn::Ect0, true), Ledger::default());
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

    /// A lost ACK makes the counts grow by more than is newly acknowledged: allowed.
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

    /// Totals that no honest receiver can report fail, whatever their size.
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

    /// A packet that left unmarked needs no counts: no verdict, no marks counted.
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
