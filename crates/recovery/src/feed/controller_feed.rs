//! The interface for stacks that do their own loss detection.

use std::collections::BTreeMap;

use congestion::{Cause, Control, Controller, Detection};
use units::{Duration, Time};

use crate::feed::bookkeeping::{AckDetails, Batch, Bookkeeping, Left, Reason, RttEstimate};
use crate::feed::rate::Snapshot;
use crate::feed::recovery_period::Exit;

/// Turns the verdicts of another stack into the signals of a controller: rate samples, round trips, what may open the window,
/// at most one reduction per round trip, and its undo when all packets that caused it arrive after all.
///
/// For each ACK: [`acked`](Self::acked) for every packet that it newly acknowledges, [`rtt`](Self::rtt),
/// [`lost`](Self::lost) for every packet that it reveals as lost, [`event`](Self::event) for what is more than a loss, and
/// [`end_of_ack`](Self::end_of_ack). When a timer finds losses: `lost`, `event`, [`end_of_losses`](Self::end_of_losses).
///
/// Packet numbers are those of one space and ascend; a stack with several spaces numbers its packets itself. What the feed has not
/// been told of leaving, or knows to have arrived, it ignores.
///
/// ```
/// use ackclock_recovery::congestion::algorithms::reno::new_reno;
/// use ackclock_recovery::congestion::{Detection, Parameters, PathInfo};
/// use ackclock_recovery::feed::{ControllerFeed, RttEstimate};
/// use ackclock_recovery::units::{Duration, Time};
///
/// let path = PathInfo::default();
/// let mut feed = ControllerFeed::new(new_reno::Params::default().build(path));
/// let window = feed.control().cwnd;
/// for pn in 0..5 {
///     feed.sent(Time::ZERO, pn, 1200);
/// }
/// let (now, rtt) = (Time::from_millis(50), Duration::from_millis(50));
/// feed.acked(4, None);
/// feed.rtt(now, RttEstimate { latest: Some(rtt), min: rtt, smoothed: rtt });
/// feed.lost(0, Detection::PacketThreshold);
/// feed.lost(1, Detection::PacketThreshold);
/// feed.end_of_ack(now, Duration::ZERO, 0);
/// assert_eq!(feed.bytes_in_flight(), 2 * 1200);
/// assert_eq!(feed.control().cwnd, window / 2, "one reduction for both");
/// ```
#[derive(Clone, Debug)]
pub struct ControllerFeed {
    books: Bookkeeping,
    /// The controller needs them.
    rate_samples: bool,
    /// In flight, or lost and remembered.
    packets: BTreeMap<u64, Packet>,
    /// How many of them are lost.
    remembered: usize,
    next_pn: u64,
    largest_acked: Option<u64>,
    rtt: RttEstimate,
    /// Verdicts that the controller has not been told of: packet and receive time, packet and rule.
    acked: Vec<(u64, Option<i64>)>,
    lost: Vec<(u64, Detection)>,
    batch: Batch,
    open: Option<Open>,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    sent: Time,
    bytes: u64,
    app_limited: bool,
    /// If the controller needs rate samples.
    snapshot: Option<Snapshot>,
    /// When it was lost, in which recovery period.
    lost: Option<(Time, u64)>,
}

/// What was before the first verdict of an ACK or a timer.
#[derive(Clone, Copy, Debug)]
struct Open {
    prior_in_flight: u64,
    period: u64,
    /// Packets lost in that period that have arrived.
    arrived: u64,
    /// Packets of any period that have.
    late: u64,
}

/// So many lost packets are remembered, should they arrive after all: as many as an RTT of 100 ms at 1 Gbit/s may lose.
const MEMORY: usize = 10_000;

impl ControllerFeed {
    /// Nothing sent yet.
    pub fn new(controller: Box<dyn Controller>) -> Self {
        Self {
            rate_samples: controller.needs().rate_samples,
            books: Bookkeeping::new(controller, Exit::Quic),
            packets: BTreeMap::new(),
            remembered: 0,
            next_pn: 0,
            largest_acked: None,
            rtt: RttEstimate { latest: None, min: Duration::MAX, smoothed: Duration::ZERO },
            acked: Vec::new(),
            lost: Vec::new(),
            batch: Batch::default(),
            open: None,
        }
    }

    /// A packet that counts towards the window leaves. One whose number does not ascend is ignored.
    pub fn sent(&mut self, now: Time, pn: u64, bytes: u64) {
        if pn < self.next_pn {
            return;
        }
        self.next_pn = pn + 1;
        let snapshot = self.books.on_sent(now, pn, bytes);
        let app_limited = snapshot.app_limited;
        let snapshot = Some(snapshot).filter(|_| self.rate_samples);
        self.packets.insert(pn, Packet { sent: now, bytes, app_limited, snapshot, lost: None });
    }

    /// The application has nothing more to send; packets that leave from now on are marked, until all before them have arrived.
    /// Has no effect while the window is full.
    pub fn app_limited(&mut self) {
        let window = self.books.controller.control().cwnd;
        self.books.mark_app_limited(window);
    }

    /// The window, not pacer or application, keeps the next packet from leaving: what is in flight may open it.
    pub fn window_full(&mut self) {
        self.books.on_window_full(self.next_pn);
    }

    /// The ACK at hand newly acknowledges this packet, in any order, also one that had been declared lost. `received` is when it
    /// arrived, nanoseconds on the peer's clock, if the peer says so.
    pub fn acked(&mut self, pn: u64, received: Option<i64>) {
        self.acked.push((pn, received));
    }

    /// The stack's estimate, from here on. Losses reported before go with the estimate before.
    pub fn rtt(&mut self, now: Time, rtt: RttEstimate) {
        self.tell(now);
        self.rtt = rtt;
    }

    /// This packet is declared lost. The window shrinks for it unless a reduction since its departure answers for it; a
    /// [`Detection::Timeout`] alone does not shrink it, but the [`event`](Self::event) does that says so.
    pub fn lost(&mut self, pn: u64, detection: Detection) {
        self.lost.push((pn, detection));
    }

    /// This packet left the flight without a verdict (RFC 9002 section 6.4: its keys are discarded).
    pub fn discarded(&mut self, pn: u64) {
        match self.packets.remove(&pn) {
            Some(packet) if packet.lost.is_some() => self.remembered -= 1,
            Some(packet) => self.books.bytes_in_flight -= packet.bytes,
            None => {}
        }
    }

    /// Something that must shrink the window: persistent congestion or a timeout, always; a mark or a loss that no packet was
    /// declared lost for, at most once per round trip. Marks that an ACK counts belong into [`end_of_ack`](Self::end_of_ack).
    pub fn event(&mut self, now: Time, cause: Cause) {
        self.tell(now);
        let newest = self.batch.summary.newest_pn().max(self.largest_acked.unwrap_or(0));
        let collapses = matches!(cause, Cause::PersistentCongestion | Cause::Timeout);
        if collapses || !self.books.period.covers(newest) {
            self.reduce(now, cause);
        }
        if collapses {
            self.count_losses(now, 0); // they are why
        }
        if cause == Cause::Ecn {
            self.books.period.forbid_undo();
        }
    }

    /// The ACK at hand is complete: the controller is told of it. `ce`: packets that it newly reports as marked CE.
    pub fn end_of_ack(&mut self, now: Time, ack_delay: Duration, ce: u64) {
        self.tell(now);
        let newest = self.batch.summary.newest.map(|newest| newest.0);
        if !self.batch.acked.is_empty() || self.batch.summary.late > 0 || self.rtt.latest.is_some() {
            self.tell_ack(now, newest, ack_delay, ce);
        }
        let open = self.open();
        if open.late > 0 {
            self.books.forgive(open.period, open.arrived);
        }
        self.rtt.latest = None;
        self.close();
    }

    /// A timer's losses are complete.
    pub fn end_of_losses(&mut self, now: Time) {
        self.tell(now);
        self.close();
    }

    /// The stack found out on its own that the last reduction, for losses or a timeout, was spurious. Nothing if it has been undone
    /// already, or if a mark confirmed it.
    pub fn spurious(&mut self) {
        if self.books.period.on_mistake() {
            self.books.controller.on_spurious();
        }
    }

    /// When the controller's timer is due, if it has set one.
    pub fn next_timer(&self) -> Option<Time> {
        Some(self.books.timer(&self.control())).filter(|due| *due != Time::NEVER)
    }

    /// The time of [`ControllerFeed::next_timer`] has come (calling earlier does nothing).
    pub fn on_timer(&mut self, now: Time) {
        self.books.on_timer(now);
    }

    /// How much and how fast may be sent.
    pub fn control(&self) -> Control {
        self.books.controller.control()
    }

    /// The controller.
    pub fn controller(&self) -> &dyn Controller {
        self.books.controller.as_ref()
    }

    /// Its path changes, or something else that only the adapter knows.
    pub fn controller_mut(&mut self) -> &mut dyn Controller {
        self.books.controller.as_mut()
    }

    /// Bytes in flight, as of the last verdicts told.
    pub fn bytes_in_flight(&self) -> u64 {
        self.books.bytes_in_flight
    }

    fn open(&mut self) -> Open {
        let (prior_in_flight, period) = (self.books.bytes_in_flight, self.books.period.serial());
        *self.open.get_or_insert(Open { prior_in_flight, period, arrived: 0, late: 0 })
    }

    fn close(&mut self) {
        self.open = None;
        self.batch.clear();
        let oldest_is_lost = |packets: &BTreeMap<u64, Packet>| {
            packets.first_key_value().is_some_and(|(_, packet)| packet.lost.is_some())
        };
        while self.remembered > MEMORY && oldest_is_lost(&self.packets) {
            self.packets.pop_first();
            self.remembered -= 1;
        }
    }

    /// Takes the verdicts at hand out of flight, first what arrived, then what is lost.
    fn tell(&mut self, now: Time) {
        self.open();
        self.mark_acked(now);
        self.mark_lost(now);
    }

    fn mark_acked(&mut self, now: Time) {
        let mut acked = std::mem::take(&mut self.acked);
        acked.sort_unstable_by_key(|a| a.0);
        for &(pn, received) in &acked {
            let Some(packet) = self.packets.get(&pn).filter(|p| p.lost.is_none()) else { continue };
            self.books.mark_acked(now, packet.left(pn), received, true, &mut self.batch);
            self.batch.summary.newest = self.batch.summary.newest.max(Some((pn, packet.sent)));
            self.largest_acked = self.largest_acked.max(Some(pn));
            self.packets.remove(&pn);
        }
        for &(pn, _) in &acked {
            if let Some(packet) = self.packets.remove(&pn) {
                self.remembered -= 1;
                self.mark_late(now, pn, &packet);
            }
        }
        acked.clear();
        self.acked = acked;
    }

    fn mark_late(&mut self, now: Time, pn: u64, packet: &Packet) {
        self.books.mark_late(now, packet.left(pn), &mut self.batch);
        if self.largest_acked.is_none_or(|largest| pn > largest) {
            self.largest_acked = Some(pn);
            self.batch.summary.newest = Some((pn, packet.sent));
        }
        if let Some(open) = &mut self.open {
            open.late += 1;
            open.arrived += u64::from(packet.lost.is_some_and(|lost| lost.1 == open.period));
        }
    }

    fn mark_lost(&mut self, now: Time) {
        let mut lost = std::mem::take(&mut self.lost);
        lost.sort_unstable_by_key(|l| l.0);
        lost.retain(|(pn, _)| self.packets.get(pn).is_some_and(|p| p.lost.is_none()));
        lost.dedup_by_key(|l| l.0);
        if !lost.is_empty() {
            self.lose(now, &lost);
        }
        lost.clear();
        self.lost = lost;
    }

    fn lose(&mut self, now: Time, lost: &[(u64, Detection)]) {
        let first = self.batch.lost.len();
        for &(pn, detection) in lost {
            if let Some(packet) = self.packets.get(&pn) {
                self.books.mark_lost(packet.left(pn), detection, &mut self.batch);
            }
        }
        self.books.tell_losses(now, first, &self.batch);
        let newest = lost.iter().rev().find(|l| l.1 != Detection::Timeout);
        if newest.is_some_and(|l| !self.books.period.covers(l.0)) {
            self.reduce(now, Cause::Loss);
        }
        self.count_losses(now, first);
    }

    /// The losses of this batch from number `first` on belong to the recovery period as it is now.
    fn count_losses(&mut self, now: Time, first: usize) {
        let lost = self.batch.lost.get(first..).unwrap_or_default();
        self.books.period.add_losses(lost.len() as u64);
        let at = (now, self.books.period.serial());
        for loss in lost {
            if let Some(packet) = self.packets.get_mut(&loss.pn) {
                self.remembered += usize::from(packet.lost.is_none());
                packet.lost = Some(at);
            }
        }
    }

    fn tell_ack(&mut self, now: Time, newest: Option<u64>, ack_delay: Duration, ce: u64) {
        let round_start = newest.is_some_and(|newest| self.books.ends_round(newest, self.next_pn));
        if ce > 0 {
            if !self.books.period.covers(newest.unwrap_or(0)) {
                self.reduce(now, Cause::Ecn);
            }
            self.books.period.forbid_undo();
        }
        self.books.period.try_exit(newest.unwrap_or(0), 0);
        let (prior_in_flight, rtt) = (self.open().prior_in_flight, self.rtt);
        let details = AckDetails { ack_delay, ce, round_start, prior_in_flight, rtt };
        if let Some(cause) = self.books.tell_ack(now, &details, &self.batch) {
            self.reduce(now, cause);
        }
    }

    fn reduce(&mut self, now: Time, cause: Cause) {
        let (prior_in_flight, next_pn, rtt) = (self.open().prior_in_flight, self.next_pn, self.rtt);
        self.books.reduce(now, Reason { cause, next_pn, edge: 0, prior_in_flight, rtt }, &mut self.batch);
    }
}

impl Packet {
    fn left(&self, pn: u64) -> Left<'_> {
        let Self { sent, bytes, app_limited, ref snapshot, .. } = *self;
        Left { pn, sent, bytes, app_limited, snapshot: snapshot.as_ref() }
    }
}
