//! The guests of a run, in the places of flows. Such a flow is done from the start and keeps the
//! record. Guests are therefore looked up only for flows that are done.

use scenario::{End, FlowSample, FlowSnapshot, Guest};
use units::Time;

use crate::endpoints::flow::Flow;
use crate::endpoints::hosted::Hosted;
use crate::engine::links::Links;
use crate::packet::Data;

/// Result of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    /// Number of the guest, from 0.
    pub(crate) index: usize,
    /// Whether it has ended by itself now.
    pub(crate) complete: bool,
    /// Whether it has failed.
    pub(crate) failed: bool,
    /// Time of the next call.
    pub(crate) next: Time,
}

/// Guests in order of their flows.
pub(crate) struct Guests(Vec<Hosted>);

impl Guests {
    /// Puts guests in the places of flows, by number. The first of several guests for a flow
    /// counts. Guests for unknown flows are ignored.
    pub(crate) fn new(mut guests: Vec<(usize, Box<dyn Guest>)>, flows: &mut [Flow]) -> Self {
        guests.sort_by_key(|(flow, _)| *flow);
        guests.dedup_by_key(|(flow, _)| *flow);
        let host = |(number, guest)| flows.get_mut(number).map(|flow| Hosted::new(guest, number, flow));
        Self(guests.into_iter().filter_map(host).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the time of each guest's next call.
    pub(crate) fn times(&self) -> impl Iterator<Item = Time> + '_ {
        self.0.iter().map(Hosted::next)
    }

    fn find(&self, flow: usize) -> Option<usize> {
        self.0.binary_search_by_key(&flow, Hosted::flow).ok()
    }

    fn called(&self, index: usize) -> Called {
        let guest = &self.0[index];
        Called { index, complete: guest.is_complete(), failed: guest.has_failed(), next: guest.next() }
    }

    /// Runs a turn of a guest.
    #[cold] // keeps the code of flows small, as below
    pub(crate) fn turn(&mut self, now: Time, index: usize, flows: &mut [Flow], links: &mut Links) -> Called {
        let guest = &mut self.0[index];
        guest.on_time(now, &mut flows[guest.flow()].record, links);
        self.called(index)
    }

    /// Delivers a packet whose flow is done: it belongs to a guest, or is late.
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

    /// Notes a dropped packet whose flow is done. Reports whether it belonged to a guest.
    #[cold]
    pub(crate) fn on_dropped(&mut self, (flow, from): (usize, End), data: &Data, flows: &mut [Flow]) -> bool {
        let Some(index) = self.find(flow) else { return false };
        self.0[index].on_dropped(from, data, &mut flows[flow].record);
        true
    }

    /// Copies the guests' counters to their flows.
    pub(crate) fn count(&self, flows: &mut [Flow]) {
        for guest in &self.0 {
            flows[guest.flow()].set_stats(guest.stats());
        }
    }

    /// Returns a sample of this flow, if a guest has its place, and the guest for its controller's
    /// variables.
    pub(crate) fn sample(&self, now: Time, flow: usize, place: &mut Flow) -> Option<(FlowSample, &Hosted)> {
        let guest = &self.0[self.find(flow)?];
        Some((guest.sample(now, &mut place.record), guest))
    }

    /// Returns the state of the guest in the place of this flow, if there is one.
    pub(crate) fn snapshot(&self, now: Time, flow: usize, place: &Flow) -> Option<FlowSnapshot> {
        Some(self.0[self.find(flow)?].snapshot(now, &place.record))
    }
}
