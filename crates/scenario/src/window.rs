//! When metrics count.

use units::Time;

/// A window of time, both ends inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first nanosecond.
    pub from: Time,
    /// Its last.
    pub to: Time,
}

impl Window {
    /// Whether this time is in it.
    #[inline]
    pub fn holds(self, now: Time) -> bool {
        self.from <= now && now <= self.to
    }
}

/// The same counts for several windows: the measuring one, and others.
#[derive(Clone, Debug)]
pub struct Windowed<T> {
    own: (Window, T),
    others: Vec<(Window, T)>,
}

impl<T: Default> Windowed<T> {
    /// Nothing counted yet.
    pub fn new(own: Window, others: impl Iterator<Item = Window>) -> Self {
        Self { own: (own, T::default()), others: others.map(|window| (window, T::default())).collect() }
    }

    /// Counts what happens now, in every window that it is in.
    pub fn count(&mut self, now: Time, count: impl Fn(&mut T)) {
        let all = std::iter::once(&mut self.own).chain(&mut self.others);
        all.filter(|(window, _)| window.holds(now)).for_each(|(_, counts)| count(counts));
    }

    /// That of the measuring window, and those of the others.
    pub fn into_counts(self) -> (T, Vec<T>) {
        (self.own.1, self.others.into_iter().map(|(_, counts)| counts).collect())
    }
}
