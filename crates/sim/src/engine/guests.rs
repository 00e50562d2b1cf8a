//! The guests of a run, in the places of flows. Such a flow is done from the beginning and keeps the record, so that what asks for guests is
//! only what has found a flow that is done.

use scenario::{End, FlowSample};
use units::Time;

use crate::endpoints::flow::Flow;
use crate::endpoints::hosted::Hosted;
use crate::engine::links::Links;
use crate::guest::Guest;
use crate::packet::Data;

/// What became of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    /// Which guest, from 0.
    pub(crate) index: usize,
    /// It is done now.
    pub(crate) done: bool,
    /// When it is to be called next.
    pub(crate) next: Time,
}

/// The guests, ascending by their flows.
pub(crate) struct Guests(Vec<Hosted>);

impl Guests {
    /// In the places of these flows, by their numbers: of several for one flow the first counts, those for none are left out.
    pub(crate) fn new(mut guests: Vec<(usize, Box<dyn Guest>)>, flows: &mut [Flow]) -> Self {
        guests.sort_by_key(|(flow, _)| *flow);
        guests.dedup_by_key(|(flow, _)| *flow);
        let host = |(number, guest)| flows.get_mut(number).map(|flow| Hosted::new(guest, number, flow));
        Self(guests.into_iter().filter_map(host).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// When each is to be called.
    pub(crate) fn times(&self) -> impl Iterator<Item = Time> + '_ {
        self.0.iter().map(Hosted::next)
    }

    fn find(&self, flow: usize) -> Option<usize> {
        self.0.binary_search_by_key(&flow, Hosted::flow).ok()
    }

    fn called(&self, index: usize) -> Called {
        let guest = &self.0[index];
        Called { index, done: guest.is_done(), next: guest.next() }
    }

    /// It is this one's turn.
    #[cold] // out of the way of flows, like the next ones
    pub(crate) fn turn(&mut self, now: Time, index: usize, flows: &mut [Flow], links: &mut Links) -> Called {
        let guest = &mut self.0[index];
        guest.on_time(now, &mut flows[guest.flow()].record, links);
        self.called(index)
    }

    /// A packet arrives that its flow does not want: it is a guest's, or comes too late.
    #[cold]
    pub(crate) fn deliver(
        &mut self,
        now: Time,
        (flow, from): (usize, End),
        data: &Data,
        flows: &mut [Flow],
        links: &mut Links,
    ) -> Option<Called> {
        let index = self.find(flow)?;
        let guest = self.0.get_mut(index).filter(|guest| !guest.is_done())?;
        guest.on_delivery(now, from, data, &mut flows[flow].record, links);
        Some(self.called(index))
    }

    /// A packet is dropped whose flow is done. Whether it was a guest's.
    #[cold]
    pub(crate) fn on_dropped(
        &mut self,
        now: Time,
        (flow, from): (usize, End),
        data: &Data,
        flows: &mut [Flow],
    ) -> bool {
        let Some(index) = self.find(flow) else { return false };
        self.0[index].on_dropped(now, from, data, &mut flows[flow].record);
        true
    }

    /// What they have counted so far, where their flows' counters are looked for.
    pub(crate) fn count(&self, flows: &mut [Flow]) {
        for guest in &self.0 {
            flows[guest.flow()].set_stats(guest.stats());
        }
    }

    /// A sample of this flow, if a guest has its place; and the controller's own variables.
    pub(crate) fn sample(
        &mut self,
        now: Time,
        flow: usize,
        place: &mut Flow,
    ) -> Option<(FlowSample, &Hosted)> {
        let index = self.find(flow)?;
        let guest = &mut self.0[index];
        let sample = guest.sample(now, &mut place.record);
        Some((sample, guest))
    }
}
