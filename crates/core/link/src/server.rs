//! Server behind the queue: a rate over time, or chances to deliver.

use units::{Bytes, Rate, Rng, Time};

use crate::rate::{Departure, Fluid, RateModel};
use crate::trace::ChanceServer;

/// Server behind the queue.
#[derive(Debug)]
// There is one per link, and the large variant is the usual one, so it is not boxed.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Server {
    Fluid(Fluid),
    Chances(ChanceServer),
}

impl Server {
    pub(crate) fn new(model: &RateModel, burst: Bytes, rng: Rng) -> Self {
        match model.chances() {
            Some((chances, phase)) => Self::Chances(ChanceServer::new(chances.clone(), phase)),
            None => Self::Fluid(Fluid::new(model, burst, rng)),
        }
    }

    /// Advances to `now`, which never goes back and is never [`Time::NEVER`].
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        match self {
            Self::Fluid(fluid) => fluid.advance(now),
            Self::Chances(chances) => chances.advance(now),
        }
    }

    /// Reports whether packets that arrive now are lost.
    #[inline]
    pub(crate) fn in_outage(&self) -> bool {
        match self {
            Self::Fluid(fluid) => fluid.in_outage(),
            Self::Chances(_) => false,
        }
    }

    /// Returns the current rate, or the mean of a trace of chances.
    pub(crate) fn rate(&self) -> Rate {
        match self {
            Self::Fluid(fluid) => fluid.rate(),
            Self::Chances(chances) => chances.rate(),
        }
    }

    /// Reports whether a packet that arrives now finds tokens for all of its bytes.
    pub(crate) fn has_tokens(&self, size: u32) -> bool {
        match self {
            Self::Fluid(fluid) => fluid.has_tokens(size),
            Self::Chances(_) => false,
        }
    }

    /// Returns the time at which an arriving packet, or the next waiting one, begins, if that is
    /// not as soon as the server is free.
    #[inline]
    pub(crate) fn begins(&mut self, arrives: bool) -> Option<Time> {
        match self {
            Self::Fluid(_) => None,
            Self::Chances(chances) => Some(chances.begins(arrives)),
        }
    }

    /// Returns the departure of a packet that arrives now.
    #[inline]
    pub(crate) fn depart(&mut self, size: u32) -> Departure {
        match self {
            Self::Fluid(fluid) => fluid.depart(size),
            Self::Chances(chances) => chances.depart(size),
        }
    }

    /// Returns the departure of a packet that already waited, and begins now.
    #[inline]
    pub(crate) fn depart_next(&mut self, size: u32) -> Departure {
        match self {
            Self::Fluid(fluid) => fluid.depart_next(size),
            Self::Chances(chances) => chances.depart_next(size),
        }
    }
}
