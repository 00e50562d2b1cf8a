//! RTTs of a round trip and sums of their gradients. Linux tcp_cdg_grad.

use alloc::vec;
use alloc::vec::Vec;

/// Smallest and largest RTT of a round trip, or their gradients, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MinMax {
    pub(super) min: i64,
    pub(super) max: i64,
}

impl MinMax {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { min: self.min + other.min, max: self.max + other.max }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self { min: self.min - other.min, max: self.max - other.max }
    }
}

/// The last gradients and their sum.
#[derive(Clone, Debug)]
pub(super) struct Gradients {
    ring: Vec<MinMax>,
    next: usize,
    filled: bool,
    pub(super) sum: MinMax,
}

impl Gradients {
    pub(super) fn new(window: u64) -> Self {
        let ring = vec![MinMax::default(); window.max(1) as usize];
        Self { ring, next: 0, filled: false, sum: MinMax::default() }
    }

    /// Adds a gradient. Returns g, extrapolated while the ring is not full.
    pub(super) fn add(&mut self, gradient: MinMax) -> i64 {
        self.sum = self.sum.plus(gradient.minus(self.ring[self.next]));
        self.ring[self.next] = gradient;
        self.next = (self.next + 1) % self.ring.len();
        self.filled |= self.next == 0;
        let g = if self.sum.min > 0 { self.sum.min } else { self.sum.max };
        if self.filled { g } else { g * self.ring.len() as i64 / self.next as i64 }
    }
}
