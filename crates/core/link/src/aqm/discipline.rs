//! Common interface of the queue disciplines that decide when a packet leaves.

use units::{Rng, Time};

use crate::aqm::Aqm;
use crate::aqm::codel::Codel;
use crate::aqm::dual_pi2::DualPi2;
use crate::aqm::fifo::Waiting;
use crate::aqm::fq_codel::FqCodel;
use crate::aqm::pie::Pie;
use crate::aqm::signals::Signals;
use crate::backlog::Count;
use crate::config::LinkConfig;
use crate::counters::DropReason;
use crate::limit::Capacity;
use crate::packet::Packet;
use crate::steps::Stepper;

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
    capacity: Stepper<Capacity>,
}

impl<P: Packet> Discipline<P> {
    /// Creates the discipline. Returns `None` for AQMs that decide at arrival.
    pub(crate) fn new(config: &LinkConfig, rng: Rng) -> Option<Self> {
        let kind = match &config.aqm {
            Aqm::DropTail(_) | Aqm::Red(_) => return None,
            Aqm::Codel(params) => Kind::Codel(Codel::new(params)),
            Aqm::FqCodel(params) => Kind::FqCodel(FqCodel::new(params, config.capacity(), rng)),
            Aqm::Pie(params) => Kind::Pie(Pie::new(params, rng)),
            Aqm::DualPi2(params) => Kind::DualPi2(DualPi2::new(params)),
        };
        Some(Self { kind, capacity: config.capacity() })
    }

    /// Returns the reason to drop an arriving packet, given the packets that wait. May mark the
    /// packet instead.
    pub(crate) fn drop_reason(
        &mut self,
        now: Time,
        waiting: Count,
        packet: &mut P,
        signals: &mut Signals<P>,
    ) -> Option<DropReason> {
        match &mut self.kind {
            // FQ-CoDel frees space by itself.
            Kind::FqCodel(_) => None,
            _ if !self.capacity.at(now).admits(waiting, packet.size()) => Some(DropReason::QueueFull),
            Kind::Pie(pie) => (!pie.accepts(now, packet, signals)).then_some(DropReason::Aqm),
            Kind::Codel(_) | Kind::DualPi2(_) => None,
        }
    }

    /// Takes a packet. `first` is a packet that waits for tokens outside the discipline.
    pub(crate) fn enqueue(&mut self, waiting: Waiting<P>, first: Count, signals: &mut Signals<P>) {
        match &mut self.kind {
            Kind::Codel(codel) => codel.enqueue(waiting),
            Kind::FqCodel(fq) => fq.enqueue(waiting, first, signals),
            Kind::Pie(pie) => pie.enqueue(waiting),
            Kind::DualPi2(dual) => dual.enqueue(waiting),
        }
    }

    /// Returns the packet whose transmission begins now.
    pub(crate) fn dequeue(&mut self, now: Time, signals: &mut Signals<P>) -> Option<Waiting<P>> {
        match &mut self.kind {
            Kind::Codel(codel) => codel.dequeue(now, signals),
            Kind::FqCodel(fq) => fq.dequeue(now, signals),
            Kind::Pie(pie) => pie.dequeue(now),
            Kind::DualPi2(dual) => dual.dequeue(now, signals),
        }
    }
}
