//! Construction of controllers, shared by the factories.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use recovery::congestion::{Algorithm, Controller, PathInfo};

use crate::refusal::{Refusal, Trait, check};
use crate::stack_feed::StackFeed;

type Build = dyn Fn(PathInfo) -> Box<dyn Controller> + Send + Sync;

#[derive(Clone)]
pub(crate) struct Source {
    build: Arc<Build>,
    seed: u64,
}

impl Source {
    /// Returns a source for this algorithm if the trait carries every signal that it needs.
    pub(crate) fn checked(algorithm: Algorithm, seed: u64, stack: Trait) -> Result<Self, Refusal> {
        check(&algorithm, stack)?;
        Ok(Self::from_fn(move |path| algorithm.build(path), seed))
    }

    pub(crate) fn from_fn(
        build: impl Fn(PathInfo) -> Box<dyn Controller> + Send + Sync + 'static,
        seed: u64,
    ) -> Self {
        Self { build: Arc::new(build), seed }
    }

    /// Builds a controller for a path that starts now. Both stacks pace every controller.
    pub(crate) fn stack_feed(&self, now: Instant, mtu: u16) -> StackFeed {
        let path = PathInfo { max_datagram_size: mtu.into(), paced: true, seed: self.seed };
        StackFeed::new((self.build)(path), path, now)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("seed", &self.seed).finish_non_exhaustive()
    }
}
