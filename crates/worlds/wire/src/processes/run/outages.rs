//! Outages of the scenario's own links. Silence during an outage is not the stack's fault.

use std::time::{Duration, Instant};

use scenario::Scenario;

/// Outages of all links (`blackhole`), on the clock.
#[derive(Debug)]
pub(super) struct Outages(Vec<(Instant, Instant)>);

impl Outages {
    /// Returns the outages of a scenario whose emulator started at `began`.
    pub(super) fn new(scenario: &Scenario, began: Instant) -> Self {
        let holes = scenario.links().flat_map(|link| &link.blackhole);
        let at = |time: units::Time| began + Duration::from_nanos(time.0);
        Self(holes.map(|(from, until)| (at(*from), at(*until))).collect())
    }

    /// Returns the time from which silence counts, if nothing has arrived since `since`. A sender
    /// that doubles its timer (RFC 9002 section 6.2) may pause after an outage as long as it was
    /// silent within it.
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
        let outages = Outages(vec![(at(1), at(12)), (at(100), at(103))]);
        assert_eq!(outages.counts_from(at(0), at(0)), at(0), "the hole is to come");
        assert_eq!(outages.counts_from(at(1), at(11)), at(23), "in it, and as long after it");
        assert_eq!(outages.counts_from(at(1), at(90)), at(23));
        assert_eq!(outages.counts_from(at(12), at(90)), at(12), "something came after it");
        assert_eq!(outages.counts_from(at(98), at(101)), at(108));
        assert_eq!(Outages(Vec::new()).counts_from(at(5), at(90)), at(5));
    }
}
