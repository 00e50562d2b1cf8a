//! Packets that leave links or are dropped there, and their owners.

use link::{PacketOutcome, QueueTime};
use units::Time;

use super::World;
use crate::packet::{Data, Fault};
use scenario::End;

/// Owner of a packet.
enum Owner {
    Flow(usize),
    Ping,
    Udp(usize),
    /// Acknowledgements of a flow.
    Feedback(usize),
}

impl World {
    /// Tells the senders what an AQM decided about packets after it had admitted them.
    #[inline]
    pub(super) fn on_outcomes(&mut self, now: Time, link: usize) {
        while let Some(outcome) = self.shared.links.next_outcome(link) {
            self.on_outcome(now, link, &outcome);
        }
    }

    #[inline(never)]
    fn on_outcome(&mut self, now: Time, link: usize, outcome: &PacketOutcome<Data>) {
        match outcome {
            PacketOutcome::Departs { flow, queue_time } => self.on_queued(now, *flow, link, *queue_time),
            PacketOutcome::Dropped(dropped) => self.on_dropped(&dropped.packet),
        }
    }

    fn on_queued(&mut self, now: Time, id: u32, link: usize, queue_time: QueueTime) {
        match self.owner(id) {
            Owner::Flow(i) => self.flows[i].record.on_queued(now, link, queue_time),
            Owner::Ping | Owner::Feedback(_) => {}
            Owner::Udp(i) => self.udp[i].on_queued(now, link, queue_time),
        }
    }

    /// Counts a drop at the time when the packet was sent, as its sending is counted.
    fn on_dropped(&mut self, data: &Data) {
        match self.owner(data.flow) {
            Owner::Flow(i) if self.flows[i].is_done() => self.on_late_drop(i, End::Sender, data),
            Owner::Feedback(i) if self.flows[i].is_done() => self.on_late_drop(i, End::Receiver, data),
            _ if data.fault.copy => {} // the original packet has been counted
            Owner::Flow(i) => self.flows[i].record.on_dropped(data.sent),
            Owner::Ping => self.probe.iter_mut().for_each(|probe| probe.on_dropped(data.sent)),
            Owner::Udp(i) => self.udp[i].on_dropped(data.sent),
            Owner::Feedback(i) => self.flows[i].on_feedback_dropped(data, &mut self.shared),
        }
    }

    /// Moves packets out of a link: to their receivers or, in the same instant, into the next link
    /// of their route.
    pub(super) fn deliver(&mut self, now: Time, link: usize) {
        let last = link + 1 == self.shared.links.len();
        self.shared.links.touch(link);
        while let Some(data) = self.shared.links.pop(now, link) {
            if !last && usize::from(data.last_link) > link {
                self.forward(now, link + 1, data);
                continue;
            }
            if data.fault != Fault::NONE && !self.is_wanted(now, &data) {
                continue;
            }
            match self.owner(data.flow) {
                Owner::Flow(i) => self.deliver_to(now, i, &data),
                Owner::Ping => {
                    self.probe
                        .iter_mut()
                        .for_each(|probe| probe.on_delivery(now, &data, &mut self.shared.links));
                }
                Owner::Udp(i) => self.udp[i].on_delivery(now, &data),
                Owner::Feedback(i) => self.deliver_feedback(now, i, &data),
            }
        }
    }

    /// Reports whether the receiver takes a packet that a link has damaged or copied. Damaged
    /// packets are discarded and count as drops of the path. Only TCP takes copies. Guests decide
    /// for themselves.
    #[cold]
    fn is_wanted(&mut self, now: Time, data: &Data) -> bool {
        let Fault { damage, copy, .. } = data.fault;
        match self.owner(data.flow) {
            Owner::Flow(i) | Owner::Feedback(i) if self.flows[i].is_done() => return true,
            _ if damage > 0 => self.on_dropped(data),
            Owner::Flow(i) if copy => {
                self.flows[i].on_copy(now, data, &mut self.shared);
                self.queue.set(self.first_flow + i, self.flows[i].next());
            }
            _ => return !copy,
        }
        false
    }

    fn forward(&mut self, now: Time, link: usize, data: Data) {
        match self.shared.links.push(now, link, data) {
            Ok(admitted) => {
                admitted
                    .queue_time
                    .into_iter()
                    .for_each(|queue_time| self.on_queued(now, data.flow, link, queue_time));
            }
            Err(_) => self.on_dropped(&data),
        }
    }

    #[inline]
    fn deliver_to(&mut self, now: Time, flow: usize, data: &Data) {
        let actor = self.first_flow + flow;
        let flow = &mut self.flows[flow];
        if !flow.is_done() {
            if flow.on_delivery(now, data, &mut self.shared) {
                self.incomplete -= usize::from(flow.is_complete());
                self.queue.set(actor, flow.next());
            }
        } else {
            self.deliver_to_guest(now, actor - self.first_flow, End::Sender, data);
        }
    }

    fn deliver_feedback(&mut self, now: Time, flow: usize, data: &Data) {
        let actor = self.first_flow + flow;
        let flow = &mut self.flows[flow];
        if flow.is_done() {
            return self.deliver_to_guest(now, actor - self.first_flow, End::Receiver, data);
        }
        flow.on_feedback_delivery(now, data.pn);
        self.queue.set(actor, flow.next());
    }

    #[cold]
    fn deliver_to_guest(&mut self, now: Time, flow: usize, from: End, data: &Data) {
        let links = &mut self.shared.links;
        let called = self.guests.deliver(now, (flow, from), data, &mut self.flows, links);
        called.into_iter().for_each(|called| self.after_guest(called));
    }

    /// Counts a dropped packet of a guest, or of a flow that is done.
    #[cold]
    fn on_late_drop(&mut self, number: usize, from: End, data: &Data) {
        if self.guests.on_dropped((number, from), data, &mut self.flows) || data.fault.copy {
            return;
        }
        let flow = &mut self.flows[number];
        match from {
            End::Sender => flow.record.on_dropped(data.sent),
            End::Receiver => flow.on_feedback_dropped(data, &mut self.shared),
        }
    }

    /// Returns the owner of a packet. Senders are numbered: the flows from 0, then the ping, the
    /// UDP sources, and last each flow's receiver.
    #[inline]
    fn owner(&self, id: u32) -> Owner {
        let id = id as usize;
        match id.checked_sub(self.flows.len()) {
            None => Owner::Flow(id),
            Some(0) => Owner::Ping,
            Some(beyond) => match (beyond - 1).checked_sub(self.udp.len()) {
                None => Owner::Udp(beyond - 1),
                Some(flow) => Owner::Feedback(flow),
            },
        }
    }
}
