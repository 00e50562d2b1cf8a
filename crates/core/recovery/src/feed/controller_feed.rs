//! The interface for stacks with their own loss detection.

use std::collections::BTreeMap;

use congestion::{Cause, Control, Controller, Detection};
use units::{Duration, Time};

use crate::feed::accounting::{Accounting, AckDetails, Batch, Reason, RttEstimate, SentPacket};
use crate::feed::rate::Snapshot;
use crate::feed::recovery_period::Exit;

/// Feeds a controller from the loss detection of another stack.
///
/// It adds rate samples, round trips and the bytes that may grow the window. It limits reductions
/// to one per round trip, and undoes one when all packets that caused it arrive late.
///
/// For each ACK, call [`acked`](Self::acked) for every newly acknowledged packet, then
/// [`rtt`](Self::rtt), then [`lost`](Self::lost) for every packet that the ACK reveals as lost.
/// Call [`event`](Self::event) for congestion other than a loss, and finally
/// [`end_of_ack`](Self::end_of_ack). When a timer finds losses, call `lost`, `event` and
/// [`end_of_losses`](Self::end_of_losses).
///
/// Packet numbers ascend in a single space. A stack with several spaces must number its packets
/// itself. The feed ignores packets that were not reported as sent, and packets already known to
/// have arrived.
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
    accounting: Accounting,
    /// The controller needs rate samples.
    rate_samples: bool,
    /// Packets in flight, and lost packets that may still arrive.
    packets: BTreeMap<u64, Packet>,
    /// Number of lost packets in `packets`.
    remembered: usize,
    next_pn: u64,
    largest_acked: Option<u64>,
    rtt: RttEstimate,
    /// Packets not yet reported to the controller: number and receive time, number and rule.
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
    /// Present if the controller needs rate samples.
    snapshot: Option<Snapshot>,
    /// Time of the loss and serial of its recovery period.
    lost: Option<(Time, u64)>,
}

/// State before the first report of an ACK or a timer.
#[derive(Clone, Copy, Debug)]
struct Open {
    prior_in_flight: u64,
    period: u64,
    /// Lost packets of that period that have arrived.
    arrived: u64,
    /// Lost packets of any period that have arrived.
    late: u64,
}

/// Number of lost packets kept in case they arrive late: as many as an RTT of 100 ms at 1 Gbit/s
/// can lose.
const MEMORY: usize = 10_000;

impl ControllerFeed {
    /// Creates a feed for a controller, with no packets sent.
    pub fn new(controller: Box<dyn Controller>) -> Self {
        Self {
            rate_samples: controller.needs().rate_samples,
            accounting: Accounting::new(controller, Exit::Quic),
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

    /// Records a sent packet that counts towards the window. Ignored if `pn` does not ascend.
    pub fn sent(&mut self, now: Time, pn: u64, bytes: u64) {
        if pn < self.next_pn {
            return;
        }
        self.next_pn = pn + 1;
        let snapshot = self.accounting.on_sent(now, pn, bytes);
        let app_limited = snapshot.app_limited;
        let snapshot = Some(snapshot).filter(|_| self.rate_samples);
        self.packets.insert(pn, Packet { sent: now, bytes, app_limited, snapshot, lost: None });
    }

    /// Records that the application has no more data to send.
    ///
    /// Packets sent from now on are marked until all earlier ones have arrived. Has no effect while
    /// the window is full.
    pub fn app_limited(&mut self) {
        let window = self.accounting.controller.control().cwnd;
        self.accounting.mark_app_limited(window);
    }

    /// Records that the window blocks the next packet, rather than the pacer or the application.
    /// Packets in flight may then grow the window.
    pub fn window_full(&mut self) {
        self.accounting.on_window_full(self.next_pn);
    }

    /// Records that the current ACK newly acknowledges this packet.
    ///
    /// Call it in any order, also for packets declared lost. `received` is the arrival time in
    /// nanoseconds on the peer's clock, if the peer reports it.
    pub fn acked(&mut self, pn: u64, received: Option<i64>) {
        self.acked.push((pn, received));
    }

    /// Sets the stack's RTT estimate. Losses reported earlier belong to the previous estimate.
    pub fn rtt(&mut self, now: Time, rtt: RttEstimate) {
        self.apply_verdicts(now);
        self.rtt = rtt;
    }

    /// Declares this packet lost.
    ///
    /// The window is reduced unless an earlier reduction since the packet was sent covers the loss.
    /// A [`Detection::Timeout`] does not reduce the window: the [`event`](Self::event) that reports
    /// the timeout does.
    pub fn lost(&mut self, pn: u64, detection: Detection) {
        self.lost.push((pn, detection));
    }

    /// Removes a packet from flight that was neither acknowledged nor lost, because its keys are
    /// discarded (RFC 9002 section 6.4).
    pub fn discarded(&mut self, pn: u64) {
        match self.packets.remove(&pn) {
            Some(packet) if packet.lost.is_some() => self.remembered -= 1,
            Some(packet) => self.accounting.bytes_in_flight -= packet.bytes,
            None => {}
        }
    }

    /// Reports a congestion event.
    ///
    /// Persistent congestion and a timeout always reduce the window. A mark, or a loss without a
    /// lost packet, does so at most once per round trip. Pass marks that an ACK counts to
    /// [`end_of_ack`](Self::end_of_ack) instead.
    pub fn event(&mut self, now: Time, cause: Cause) {
        self.apply_verdicts(now);
        let newest = self.batch.summary.newest_pn().max(self.largest_acked.unwrap_or(0));
        let collapses = matches!(cause, Cause::PersistentCongestion | Cause::Timeout);
        if collapses || !self.accounting.period.covers(newest, cause) {
            self.reduce(now, cause);
        }
        if collapses {
            self.count_losses(now, 0); // they are the cause
        }
        if cause == Cause::Ecn {
            self.accounting.period.forbid_undo();
        }
    }

    /// Ends the current ACK and reports it to the controller. `ce` is the number of packets newly
    /// reported as marked CE.
    pub fn end_of_ack(&mut self, now: Time, ack_delay: Duration, ce: u64) {
        self.apply_verdicts(now);
        let newest = self.batch.summary.newest.map(|newest| newest.0);
        if !self.batch.acked.is_empty() || self.batch.summary.late > 0 || self.rtt.latest.is_some() {
            self.report_ack(now, newest, ack_delay, ce);
        }
        let open = self.open();
        if open.late > 0 {
            self.accounting.undo_if_spurious(open.period, open.arrived);
        }
        self.rtt.latest = None;
        self.close();
    }

    /// Ends the losses that a timer found.
    pub fn end_of_losses(&mut self, now: Time) {
        self.apply_verdicts(now);
        self.close();
    }

    /// Undoes the last reduction for losses or a timeout, which the stack found to be spurious. Has
    /// no effect if it has been undone already, or if a mark confirmed it.
    pub fn spurious(&mut self) {
        if self.accounting.period.try_undo() {
            self.accounting.controller.on_spurious();
        }
    }

    /// Returns the time of the controller's timer, if it has set one.
    pub fn next_timer(&self) -> Option<Time> {
        Some(self.accounting.timer(&self.control())).filter(|due| *due != Time::NEVER)
    }

    /// Calls the controller if its timer is due. Call it at the time that
    /// [`ControllerFeed::next_timer`] returns; earlier calls have no effect.
    pub fn on_timer(&mut self, now: Time) {
        self.accounting.on_timer(now);
    }

    /// Returns the window, the pacing rate and other limits on sending.
    pub fn control(&self) -> Control {
        self.accounting.controller.control()
    }

    /// Returns the controller.
    pub fn controller(&self) -> &dyn Controller {
        self.accounting.controller.as_ref()
    }

    /// Returns the controller for changes that only the adapter knows of, such as a new path.
    pub fn controller_mut(&mut self) -> &mut dyn Controller {
        self.accounting.controller.as_mut()
    }

    /// Returns the bytes in flight, as of the last packets processed.
    pub fn bytes_in_flight(&self) -> u64 {
        self.accounting.bytes_in_flight
    }

    fn open(&mut self) -> Open {
        let (prior_in_flight, period) = (self.accounting.bytes_in_flight, self.accounting.period.serial());
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

    /// Removes the packets reported so far from flight, acknowledged ones first.
    fn apply_verdicts(&mut self, now: Time) {
        self.open();
        self.mark_acked(now);
        self.mark_lost(now);
    }

    fn mark_acked(&mut self, now: Time) {
        let mut acked = std::mem::take(&mut self.acked);
        acked.sort_unstable_by_key(|a| a.0);
        for &(pn, received) in &acked {
            let Some(packet) = self.packets.get(&pn).filter(|p| p.lost.is_none()) else { continue };
            self.accounting.mark_acked(now, packet.left(pn), received, true, &mut self.batch);
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
        self.accounting.mark_late(now, packet.left(pn), &mut self.batch);
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
            self.declare_lost(now, &lost);
        }
        lost.clear();
        self.lost = lost;
    }

    fn declare_lost(&mut self, now: Time, lost: &[(u64, Detection)]) {
        let first = self.batch.lost.len();
        for &(pn, detection) in lost {
            if let Some(packet) = self.packets.get(&pn) {
                self.accounting.mark_lost(packet.left(pn), detection, &mut self.batch);
            }
        }
        self.accounting.report_losses(now, first, &self.batch);
        let newest = lost.iter().rev().find(|l| l.1 != Detection::Timeout);
        if newest.is_some_and(|l| !self.accounting.period.covers(l.0, Cause::Loss)) {
            self.reduce(now, Cause::Loss);
        }
        self.count_losses(now, first);
    }

    /// Assigns the losses of this batch, from index `first` on, to the current recovery period.
    fn count_losses(&mut self, now: Time, first: usize) {
        let lost = self.batch.lost.get(first..).unwrap_or_default();
        self.accounting.period.add_losses(lost.len() as u64);
        let at = (now, self.accounting.period.serial());
        for loss in lost {
            if let Some(packet) = self.packets.get_mut(&loss.pn) {
                self.remembered += usize::from(packet.lost.is_none());
                packet.lost = Some(at);
            }
        }
    }

    fn report_ack(&mut self, now: Time, newest: Option<u64>, ack_delay: Duration, ce: u64) {
        let round_start = newest.is_some_and(|newest| self.accounting.ends_round(newest, self.next_pn));
        if ce > 0 {
            if !self.accounting.period.covers(newest.unwrap_or(0), Cause::Ecn) {
                self.reduce(now, Cause::Ecn);
            }
            self.accounting.period.forbid_undo();
        }
        self.accounting.period.try_exit(newest.unwrap_or(0), 0);
        let (prior_in_flight, rtt) = (self.open().prior_in_flight, self.rtt);
        let details = AckDetails { ack_delay, ce, round_start, prior_in_flight, rtt };
        if let Some(cause) = self.accounting.report_ack(now, &details, &self.batch) {
            self.reduce(now, cause);
        }
    }

    fn reduce(&mut self, now: Time, cause: Cause) {
        let (prior_in_flight, next_pn, rtt) = (self.open().prior_in_flight, self.next_pn, self.rtt);
        self.accounting.reduce(
            now,
            Reason { cause, next_pn, until_offset: 0, prior_in_flight, rtt },
            &mut self.batch,
        );
    }
}

impl Packet {
    fn left(&self, pn: u64) -> SentPacket<'_> {
        let Self { sent, bytes, app_limited, ref snapshot, .. } = *self;
        SentPacket { pn, sent, bytes, app_limited, snapshot: snapshot.as_ref() }
    }
}
