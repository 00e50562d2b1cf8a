//! When the file's own link carries nothing: silence then is no stack's fault.

use std::time::{Duration, Instant};

use scenario::Scenario;

/// The holes of all links (`blackhole`), on the clock.
#[derive(Debug)]
pub(super) struct Dark(Vec<(Instant, Instant)>);

impl Dark {
    /// Of an emulator that began then.
    pub(super) fn of(scenario: &Scenario, began: Instant) -> Self {
        let holes = scenario.links().flat_map(|link| &link.blackhole);
        let at = |time: units::Time| began + Duration::from_nanos(time.0);
        Self(holes.map(|(from, until)| (at(*from), at(*until))).collect())
    }

    /// From when on it counts that nothing arrived, if nothing has since then. Whoever tries again after twice the time each time (RFC 9002
    /// section 6.2) tries at the latest when the silence after a hole is as long as that within it was.
    pub(super) fn counts_from(&self, since: Instant, now: Instant) -> Instant {
        let begun = self.0.iter().filter(|(from, until)| *from <= now && since < *until);
        begun.map(|(_, until)| *until + until.saturating_duration_since(since)).max().unwrap_or(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_and_the_next_try_after_them() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let dark = Dark(vec![(at(1), at(12)), (at(100), at(103))]);
        assert_eq!(dark.counts_from(at(0), at(0)), at(0), "the hole is to come");
        assert_eq!(dark.counts_from(at(1), at(11)), at(23), "in it, and as long after it");
        assert_eq!(dark.counts_from(at(1), at(90)), at(23));
        assert_eq!(dark.counts_from(at(12), at(90)), at(12), "something came after it");
        assert_eq!(dark.counts_from(at(98), at(101)), at(108));
        assert_eq!(Dark(Vec::new()).counts_from(at(5), at(90)), at(5));
    }
}
