//! Time series of the controllers' own variables.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use scenario::{FlowSample, FlowSampler, Variables};
use units::{Duration, Time};

/// Start of a run on the kernel's clock, and the interval of its samples. Unset until the run
/// begins.
pub type Grid = Arc<OnceLock<(Time, Duration)>>;

/// Samples of the variables of a program's connections, on a grid. Changes between two samples
/// leave the newest.
#[derive(Debug, Default)]
pub struct Inner {
    grid: Grid,
    /// Position of the newest sample.
    newest: u32,
    connections: BTreeMap<u32, FlowSampler>,
}

impl Inner {
    /// Creates samples on a grid. None are taken before it is set.
    pub fn new(grid: &Grid) -> Self {
        Self { grid: Arc::clone(grid), ..Self::default() }
    }

    /// Samples a connection, given as its number among those of the program. The sample holds from
    /// `now` until the next one. `trace` reports the variables.
    pub fn sample(&mut self, number: u32, now: Time, trace: impl FnOnce(&mut dyn FnMut(&'static str, f64))) {
        let Some(&(start, interval)) = self.grid.get() else { return };
        let at = (now - start).0 / interval.0.max(1);
        // Times of two connections may be reported out of order.
        self.newest = self.newest.max(u32::try_from(at).unwrap_or(u32::MAX).min(u32::MAX - 1));
        let flow = FlowSample { running: true, ..FlowSample::default() };
        self.connections.entry(number).or_default().sample(self.newest, interval, &flow, trace);
    }

    /// Returns the columns of each connection up to the newest sample of all.
    pub fn take(self) -> BTreeMap<u32, Variables> {
        let length = self.newest + 1;
        self.connections.into_iter().map(|(number, mut flow)| (number, flow.take(length).inner)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn samples_are_on_the_grid() {
        let grid = Grid::default();
        let mut inner = Inner::new(&grid);
        let mut on = |number, at, value| inner.sample(number, at, |put| put("x", value));
        on(0, ms(900), 1.0);
        grid.set((ms(1000), Duration::from_millis(10))).unwrap();
        for (number, at, value) in
            [(0, 990, 2.0), (0, 1003, 3.0), (0, 1009, 4.0), (3, 1020, 5.0), (0, 1019, 6.0), (0, 1041, 7.0)]
        {
            on(number, ms(at), value);
        }
        let columns = inner.take();
        let column = |number| format!("{:?}", columns[&number]["x"].to_vec());
        assert_eq!(column(0), "[4.0, 4.0, 6.0, 6.0, 7.0]");
        assert_eq!(column(3), "[NaN, NaN, 5.0, 5.0, 5.0]");
        assert_eq!(columns.len(), 2);
    }

    #[test]
    fn times_that_cannot_be() {
        let grid = Grid::default();
        grid.set((Time::ZERO, Duration::ZERO)).unwrap();
        let mut inner = Inner::new(&grid);
        for at in [Time::NEVER, Time::ZERO, Time::NEVER] {
            inner.sample(0, at, |put| put("x", 1.0));
        }
        assert_eq!(inner.take()[&0]["x"].len(), u32::MAX as usize);
    }
}
