//! Where controllers come from.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use recovery::congestion::{Algorithm, Controller, PathInfo};

use crate::ledger::Ledger;
use crate::refusal::{Refusal, Trait, check};

type Build = dyn Fn(PathInfo) -> Box<dyn Controller> + Send + Sync;

/// Builds a controller for each path.
#[derive(Clone)]
pub(crate) struct Source {
    build: Arc<Build>,
    seed: u64,
}

impl Source {
    /// Of this algorithm, if the trait carries what it needs.
    pub(crate) fn checked(algorithm: Algorithm, seed: u64, stack: Trait) -> Result<Self, Refusal> {
        check(&algorithm, stack)?;
        Ok(Self::of(move |path| algorithm.build(path), seed))
    }

    pub(crate) fn of(
        build: impl Fn(PathInfo) -> Box<dyn Controller> + Send + Sync + 'static,
        seed: u64,
    ) -> Self {
        Self { build: Arc::new(build), seed }
    }

    /// For a path that begins now. Both stacks pace whatever controller they have.
    pub(crate) fn ledger(&self, now: Instant, mtu: u16) -> Ledger {
        let path = PathInfo { max_datagram_size: mtu.into(), paced: true, seed: self.seed };
        Ledger::new((self.build)(path), path, now)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("seed", &self.seed).finish_non_exhaustive()
    }
}
