//! The queue disciplines that decide when a packet leaves, behind one face.

use units::{Rng, Time};

use crate::aqm::codel::Codel;
use crate::aqm::dual_pi2::DualPi2;
use crate::aqm::fq_codel::FqCodel;
use crate::aqm::pie::Pie;
use crate::aqm::{Aqm, Bin, Waiting};
use crate::limit::Ceiling;
use crate::link::LinkConfig;
use crate::steps::Stepper;
use crate::{DropReason, Packet, Tally};

/// One of them.
#[derive(Debug)]
enum Kind<P> {
    Codel(Codel<P>),
    FqCodel(FqCodel<P>),
    Pie(Pie<P>),
    DualPi2(DualPi2<P>),
}

/// A discipline and the link's limit.
#[derive(Debug)]
pub(crate) struct Discipline<P> {
    kind: Kind<P>,
    ceiling: Stepper<Ceiling>,
}

impl<P: Packet> Discipline<P> {
    /// `None` for what decides at arrival.
    pub(crate) fn new(config: &LinkConfig, rng: Rng) -> Option<Self> {
        let kind = match &config.aqm {
            Aqm::DropTail(_) | Aqm::Red(_) => return None,
            Aqm::Codel(params) => Kind::Codel(Codel::new(params)),
            Aqm::FqCodel(params) => Kind::FqCodel(FqCodel::new(params, Ceiling::over_time(config), rng)),
            Aqm::Pie(params) => Kind::Pie(Pie::new(params, rng)),
            Aqm::DualPi2(params) => Kind::DualPi2(DualPi2::new(params)),
        };
        Some(Self { kind, ceiling: Ceiling::over_time(config) })
    }

    /// Why a packet that arrives beside those that wait is not taken; it may come back with a mark.
    pub(crate) fn refusal(
        &mut self,
        now: Time,
        waiting: Tally,
        packet: &mut P,
        bin: &mut Bin<P>,
    ) -> Option<DropReason> {
        match &mut self.kind {
            // Makes room by itself.
            Kind::FqCodel(_) => None,
            _ if !self.ceiling.at(now).admits(waiting, packet.size()) => Some(DropReason::QueueFull),
            Kind::Pie(pie) => (!pie.takes(now, packet, bin)).then_some(DropReason::Aqm),
            Kind::Codel(_) | Kind::DualPi2(_) => None,
        }
    }

    /// Takes a packet. `first` is one that waits for tokens, outside of the discipline.
    pub(crate) fn enqueue(&mut self, waiting: Waiting<P>, first: Tally, bin: &mut Bin<P>) {
        match &mut self.kind {
            Kind::Codel(codel) => codel.enqueue(waiting),
            Kind::FqCodel(fq) => fq.enqueue(waiting, first, bin),
            Kind::Pie(pie) => pie.enqueue(waiting),
            Kind::DualPi2(dual) => dual.enqueue(waiting),
        }
    }

    /// The packet whose transmission begins now.
    pub(crate) fn dequeue(&mut self, now: Time, bin: &mut Bin<P>) -> Option<Waiting<P>> {
        match &mut self.kind {
            Kind::Codel(codel) => codel.dequeue(now, bin),
            Kind::FqCodel(fq) => fq.dequeue(now, bin),
            Kind::Pie(pie) => pie.dequeue(now),
            Kind::DualPi2(dual) => dual.dequeue(now, bin),
        }
    }
}
