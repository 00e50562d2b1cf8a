//! CoDel: RFC 8289 (January 2018), section 5; marks instead of drops as in RFC 8290 section 4.2 and
//! Linux.
//!
//! ```text
//! above:    sojourn >= target and bytes behind > mtu, for a whole interval                  (dodequeue)
//! entering: signal; count = its gain in the last episode if that ended less than 16 intervals ago, else 1
//!           next = now + interval/sqrt(count)                                                (dequeue)
//! while above, at each `next`: signal, count += 1, next += interval/sqrt(count)              (control_law)
//! not above: the episode ends
//! ```
//!
//! After a drop, the next packet is examined in the same step. A marked packet is delivered and
//! ends the step.
//! The square root is exact (Linux: one Newton step per count).

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Time};

use crate::aqm::check::first_broken;
use crate::aqm::fifo::{Fifo, Waiting};
use crate::aqm::signals::Signals;
use crate::counters::DropReason;
use crate::packet::Packet;

/// Parameters of CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "codel"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Acceptable time in the queue, above 0 (TARGET; default 5 ms: RFC 8289 section 4).
    pub target: Duration,
    /// Time that the target must be exceeded, on the order of a round trip, above 0 (INTERVAL;
    /// default 100 ms: section 4).
    pub interval: Duration,
    /// Backlog, in bytes, up to which the queue is never too long (default 1514 B, a full Ethernet
    /// frame: section 5).
    pub mtu: Bytes,
    /// Marks ECN-capable packets instead of dropping them (default on).
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: Bytes(1514),
            ecn: true,
        }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), String> {
        first_broken(&[
            (self.target > Duration::ZERO, "`target` must be longer than 0 s"),
            (self.interval > Duration::ZERO, "`interval` must be longer than 0 s"),
        ])
    }
}

/// Number of intervals after which the previous episode no longer sets the starting count (RFC 8289
/// section 5).
const MEMORY: u64 = 16;

/// Control state of one queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Control {
    /// Time at which the delay has exceeded the target for a whole interval.
    first_above: Option<Time>,
    dropping: bool,
    next: Time,
    count: u64,
    last_count: u64,
}

impl Control {
    /// Returns the packet that leaves now, after marking or dropping as the control law demands.
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        now: Time,
        queue: &mut Fifo<P>,
        params: &Params,
        signals: &mut Signals<P>,
    ) -> Option<Waiting<P>> {
        let (mut head, mut above) = self.take_head(now, queue, params);
        if !self.dropping {
            if above {
                head = self.signal(now, head, queue, params, signals).0;
                self.enter(now, params);
            }
            return head;
        }
        self.dropping = above;
        while self.dropping && now >= self.next {
            self.count += 1;
            let passed;
            (head, above, passed) = self.signal(now, head, queue, params, signals);
            if passed || above {
                self.next += pause(params, self.count);
            }
            self.dropping = above;
            if passed {
                break;
            }
        }
        head
    }

    /// Takes the head. Reports whether the queue has been too long for an interval.
    fn take_head<P: Packet>(
        &mut self,
        now: Time,
        queue: &mut Fifo<P>,
        params: &Params,
    ) -> (Option<Waiting<P>>, bool) {
        let head = queue.pop();
        let long = |head: &Waiting<P>| now - head.arrival >= params.target && queue.bytes() > params.mtu.0;
        if !head.as_ref().is_some_and(long) {
            self.first_above = None;
            return (head, false);
        }
        let due = *self.first_above.get_or_insert(now + params.interval);
        (head, now >= due)
    }

    /// Marks the head, or drops it and takes the next packet. Returns the packet to continue with,
    /// whether the queue is still too long, and whether that packet was marked.
    fn signal<P: Packet>(
        &mut self,
        now: Time,
        head: Option<Waiting<P>>,
        queue: &mut Fifo<P>,
        params: &Params,
        signals: &mut Signals<P>,
    ) -> (Option<Waiting<P>>, bool, bool) {
        let Some(mut head) = head else { return (None, false, false) };
        if params.ecn && signals.mark(&mut head.packet) {
            return (Some(head), true, true);
        }
        signals.drop(head, DropReason::Aqm);
        let (next, above) = self.take_head(now, queue, params);
        (next, above, false)
    }

    fn enter(&mut self, now: Time, params: &Params) {
        let gained = self.count.saturating_sub(self.last_count);
        let recent = now - self.next < params.interval * MEMORY;
        self.count = if gained > 1 && recent { gained } else { 1 };
        self.last_count = self.count;
        self.next = now + pause(params, self.count);
        self.dropping = true;
    }
}

/// Returns interval / sqrt(count), rounded to the nanosecond.
fn pause(params: &Params, count: u64) -> Duration {
    Duration((params.interval.0 as f64 / (count.max(1) as f64).sqrt() + 0.5) as u64)
}

/// Single queue managed by CoDel.
#[derive(Debug)]
pub(crate) struct Codel<P> {
    params: Params,
    queue: Fifo<P>,
    control: Control,
}

impl<P: Packet> Codel<P> {
    pub(crate) fn new(params: &Params) -> Self {
        Self { params: params.clone(), queue: Fifo::default(), control: Control::default() }
    }

    pub(crate) fn enqueue(&mut self, waiting: Waiting<P>) {
        self.queue.push(waiting);
    }

    pub(crate) fn dequeue(&mut self, now: Time, signals: &mut Signals<P>) -> Option<Waiting<P>> {
        self.control.dequeue(now, &mut self.queue, &self.params, signals)
    }
}

#[cfg(test)]
mod tests {
    use units::Ecn;

    use super::*;
    use crate::aqm::fixtures::{Pkt, ms};

    /// Returns the times of the signals, in ms, of a standing queue of 50 ms with one departure per
    /// millisecond.
    fn times(ecn: Ecn, params: &Params, until_ms: u64) -> Vec<u64> {
        let (mut codel, mut signals, mut times) = (Codel::new(params), Signals::default(), Vec::new());
        for arrival in 0..until_ms * 20 {
            codel
                .enqueue(Waiting { arrival: ms(arrival / 2), packet: Pkt::new(arrival, 1500).with_ecn(ecn) });
        }
        for now in (50..until_ms).map(ms) {
            codel.dequeue(now, &mut signals).unwrap();
            let count = signals.dropped.len() as u64 + signals.marked.packets;
            times.extend((0..count).map(|_| now.0 / 1_000_000));
            signals = Signals::default();
        }
        times
    }

    /// Signals fall at 0, 100, 170.7, 228.4, 278.4, 323.2 and 364.0 ms after the first interval
    /// above the target. Departures on a grid of 1 ms round them up.
    #[test]
    fn schedule() {
        let times = times(Ecn::NotEct, &Params::default(), 600);
        let first = times[0];
        assert_eq!(first, 150, "the queue was above the target from 50 ms on");
        for (at, exact) in times.iter().zip([0.0, 100.0, 170.71, 228.45, 278.45, 323.17, 363.99_f64]) {
            assert_eq!(at - first, exact.ceil() as u64, "{exact}");
        }
    }

    /// An ECN-capable flow is signalled on the same schedule and loses nothing.
    #[test]
    fn marks_instead_of_drops() {
        let params = Params::default();
        assert_eq!(times(Ecn::Ect0, &params, 600), times(Ecn::NotEct, &params, 600));
        let (mut codel, mut signals) = (Codel::new(&params), Signals::default());
        for i in 0..2000 {
            codel.enqueue(Waiting { arrival: ms(0), packet: Pkt::new(i, 1500).with_ecn(Ecn::Ect0) });
        }
        let out: Vec<_> = (0..2000).filter_map(|i| codel.dequeue(ms(10 + i), &mut signals)).collect();
        assert_eq!((out.len(), signals.dropped.len()), (2000, 0));
        let ce = out.iter().filter(|w| w.packet.ecn() == Ecn::Ce).count() as u64;
        assert!(ce > 50 && ce == signals.marked.packets, "{ce}");
        let without = Params { ecn: false, ..params };
        assert_eq!(times(Ecn::Ect0, &without, 600), times(Ecn::NotEct, &without, 600));
    }

    /// Below the target nothing is signalled, however long it lasts. The same holds with one packet
    /// behind the head.
    #[test]
    fn spares_the_short_queue() {
        for (wait, behind) in [(4, 100), (90, 1)] {
            let (mut codel, mut signals) = (Codel::new(&Params::default()), Signals::default());
            for now in 0..10_000_u64 {
                codel.enqueue(Waiting { arrival: ms(now), packet: Pkt::new(now, 1500) });
                while codel.queue.packets() > behind {
                    codel.queue.pop();
                }
                if let Some(head) = codel.queue.pop() {
                    let arrival = ms(now.saturating_sub(wait));
                    codel.queue = prepend(codel.queue, Waiting { arrival, ..head });
                    codel.dequeue(ms(now), &mut signals);
                }
            }
            assert!(signals.dropped.is_empty(), "{wait} ms, {behind} packets");
        }
    }

    fn prepend(mut old: Fifo<Pkt>, first: Waiting<Pkt>) -> Fifo<Pkt> {
        let mut queue = Fifo::default();
        queue.push(first);
        while let Some(waiting) = old.pop() {
            queue.push(waiting);
        }
        queue
    }

    /// A burst that drains within an interval of first exceeding the target loses nothing.
    #[test]
    fn spares_the_burst() {
        for (packets, lost) in [(100, false), (120, true)] {
            let (mut codel, mut signals) = (Codel::new(&Params::default()), Signals::default());
            for i in 0..packets {
                codel.enqueue(Waiting { arrival: ms(0), packet: Pkt::new(i, 1500) });
            }
            for now in 0..packets {
                codel.dequeue(ms(now), &mut signals);
            }
            assert_eq!(!signals.dropped.is_empty(), lost, "{packets} ms");
        }
    }

    /// RFC 8289 section 5: a new episode soon after the last one resumes at the rate reached then.
    #[test]
    fn resumes_where_it_left() {
        let params = Params::default();
        let at = |now, next| {
            let mut c = Control { count: 12, last_count: 2, next: ms(next), ..Control::default() };
            c.enter(ms(now), &params);
            c.count
        };
        assert_eq!((at(2000, 500), at(2100, 500)), (10, 1));
        let mut c = Control { count: 3, last_count: 2, ..Control::default() };
        c.enter(ms(1), &params);
        assert_eq!((c.count, c.next), (1, ms(101)), "a gain of one is too little to resume from");
    }
}
