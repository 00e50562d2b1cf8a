//! Windows in which metrics count.

use units::Time;

/// Time window, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First nanosecond.
    pub from: Time,
    /// Last nanosecond.
    pub to: Time,
}

impl Window {
    /// Reports whether the window contains this time.
    #[inline]
    pub fn holds(self, now: Time) -> bool {
        self.from <= now && now <= self.to
    }
}

/// Separate counts for several windows: the measuring one and others.
#[derive(Clone, Debug)]
pub struct Windowed<T> {
    own: (Window, T),
    others: Vec<(Window, T)>,
}

impl<T: Default> Windowed<T> {
    /// Creates empty counts.
    pub fn new(own: Window, others: impl Iterator<Item = Window>) -> Self {
        Self { own: (own, T::default()), others: others.map(|window| (window, T::default())).collect() }
    }

    /// Counts an event at `now` in every window that contains it.
    pub fn count(&mut self, now: Time, count: impl Fn(&mut T)) {
        let all = std::iter::once(&mut self.own).chain(&mut self.others);
        all.filter(|(window, _)| window.holds(now)).for_each(|(_, counts)| count(counts));
    }

    /// Returns the counts of the measuring window, and those of the others.
    pub fn into_counts(self) -> (T, Vec<T>) {
        (self.own.1, self.others.into_iter().map(|(_, counts)| counts).collect())
    }
}
