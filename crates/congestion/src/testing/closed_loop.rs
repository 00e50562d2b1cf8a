//! A closed loop: flows that share one FIFO link, each with a controller, a pacer and an ACK for each packet.
//!
//! The round trip of a packet is its wait, its time on the link and the flow's propagation delay, half of which lies before the
//! receiver. The sender knows the packet threshold, recovery, timeouts, spurious losses and the delivery rate, and nothing else.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use units::{Duration, Rate, Time};

use super::fixtures::acked;
use crate::{Ack, AckedPacket, Cause, Congestion, Controller, Detection, Lost, LostPacket, RateSample, Sent};

/// RFC 9002 section 6.1.1.
const PACKET_THRESHOLD: u64 = 3;
/// Nothing was acknowledged for so long: everything in flight is lost.
const RTO: Duration = Duration::from_secs(1);

/// The bottleneck of all flows. Its fields may change at any time.
#[derive(Clone, Debug)]
pub struct Link {
    /// At which packets leave it.
    pub rate: Rate,
    /// Packets that may wait; `u64::MAX`: nothing is ever dropped.
    pub buffer: u64,
    /// Drops what exceeds a rate.
    pub policer: Option<Policer>,
    /// Of each flow every so many packets one is lost.
    pub lose_every: Option<u64>,
    /// So many packets to come arrive so much later.
    pub late: (u64, Duration),
    /// ACKs come together, at multiples of this.
    pub aggregate: Duration,
    /// When the last packet will have left it.
    free: Time,
}

/// A token bucket that drops what it has no tokens for.
#[derive(Clone, Copy, Debug)]
pub struct Policer {
    rate: Rate,
    /// Bytes.
    burst: f64,
    /// Bytes.
    tokens: f64,
    updated: Time,
}

impl Policer {
    /// A full bucket of so many bytes.
    pub fn new(rate: Rate, burst: u64, now: Time) -> Self {
        Self { rate, burst: burst as f64, tokens: burst as f64, updated: now }
    }

    fn admits(&mut self, now: Time, bytes: u64) -> bool {
        let earned = self.rate.bytes_per_sec() * (now - self.updated).as_secs_f64();
        (self.tokens, self.updated) = ((self.tokens + earned).min(self.burst), now);
        let admits = self.tokens >= bytes as f64;
        self.tokens -= if admits { bytes as f64 } else { 0.0 };
        admits
    }
}

impl Link {
    /// When the ACK of the flow's packet `pn` that leaves now is back, if ever, and whether it has been overtaken.
    fn travel(&mut self, now: Time, pn: u64, mds: u64, rtt: Duration) -> (Time, bool) {
        let tx = self.rate.time_for(mds);
        let lost = self.lose_every.is_some_and(|n| pn.is_multiple_of(n));
        let policed = self.policer.as_mut().is_some_and(|p| !p.admits(now, mds));
        if lost || policed || (self.free - now).0 / tx.0 > self.buffer {
            return (Time::NEVER, false);
        }
        self.free = self.free.max(now) + tx;
        let mut back = self.free + rtt;
        let late = self.late.0 > 0;
        if late {
            (self.late.0, back) = (self.late.0 - 1, back + self.late.1);
        }
        match self.aggregate {
            Duration::ZERO => (back, late),
            Duration(lump) => (Time(back.0.div_ceil(lump) * lump), late),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    pn: u64,
    sent: Time,
    /// When its ACK is back; never, if it was dropped.
    back: Time,
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    tx_in_flight: u64,
    lost_at_send: u64,
    app_limited: bool,
}

/// A sender with its controller.
#[derive(Debug)]
pub struct Flow<C: ?Sized> {
    /// The controller.
    pub cc: Box<C>,
    /// Propagation delay there and back.
    pub rtt: Duration,
    /// Bytes of each packet.
    mds: u64,
    /// The application's pace; `None`: it always has more. See [`Loop::set_app`].
    app: Option<Rate>,
    app_bytes: f64,
    app_updated: Time,
    /// Bytes that arrived, late ones among them.
    pub delivered: u64,
    /// Bytes declared lost.
    pub lost: u64,
    /// How often a recovery proved spurious.
    pub undone: u64,
    /// Of the last ACK.
    pub latest_rtt: Duration,
    min_rtt: Duration,
    rtt_sum: u64,
    rtts: u64,
    /// The sample is the application's up to this value of `delivered`; 0: it is not.
    app_limited: u64,
    flying: VecDeque<Packet>,
    /// Declared lost, but on their way.
    given_up: VecDeque<Packet>,
    /// The pacer lets nothing go before.
    next_send: Time,
    /// When the next ACK is back: the earliest of `flying` and `given_up`.
    next_ack: Time,
    /// Packets overtake: the first in flight need not be the first back.
    disordered: bool,
    progress: Time,
    /// When the window was full last.
    full: Option<Time>,
    pn: u64,
    delivered_time: Time,
    first_sent: Time,
    /// Packets below this one left before the last reduction.
    recovery_pn: u64,
    /// Losses since then.
    period_losses: u64,
}

impl<C: Controller + ?Sized> Flow<C> {
    /// With always something to send from `start` on.
    pub fn new(cc: Box<C>, rtt: Duration, start: Time) -> Self {
        Self {
            cc,
            rtt,
            mds: 0,
            app: None,
            app_bytes: 0.0,
            app_updated: Time::ZERO,
            delivered: 0,
            lost: 0,
            undone: 0,
            latest_rtt: Duration::ZERO,
            min_rtt: Duration::MAX,
            rtt_sum: 0,
            rtts: 0,
            app_limited: 0,
            flying: VecDeque::new(),
            given_up: VecDeque::new(),
            next_send: start,
            next_ack: Time::NEVER,
            disordered: false,
            progress: Time::ZERO,
            full: None,
            pn: 0,
            delivered_time: Time::ZERO,
            first_sent: Time::ZERO,
            recovery_pn: 0,
            period_losses: 0,
        }
    }

    /// A variable of the controller's trace.
    ///
    /// # Panics
    /// If it is not in the trace.
    pub fn get(&self, name: &str) -> f64 {
        let mut found = None;
        self.cc.trace(&mut |n, value| found = if n == name { Some(value) } else { found });
        found.expect(name)
    }

    /// Bytes.
    pub fn in_flight(&self) -> u64 {
        self.flying.len() as u64 * self.mds
    }

    fn may_send(&self) -> bool {
        self.in_flight() + self.mds <= self.cc.control().cwnd
    }

    /// When the application has a packet.
    fn app_ready(&mut self, now: Time) -> Time {
        let Some(rate) = self.app else { return now };
        self.app_bytes += rate.bytes_per_sec() * (now - self.app_updated).as_secs_f64();
        self.app_updated = now;
        let missing = self.mds as f64 - self.app_bytes;
        match rate {
            // A thousandth of a byte: what rounding to whole nanoseconds may leave missing.
            _ if missing <= 1e-3 => now,
            Rate(0) => Time::NEVER,
            rate => now + Duration::from_secs_f64(missing / rate.bytes_per_sec()) + Duration(1),
        }
    }

    /// When it sends, hears an ACK, and gives up what is in flight, if nothing else happens.
    fn next(&mut self, now: Time) -> [Time; 3] {
        let send =
            if self.may_send() { self.app_ready(now).max(self.next_send).max(now) } else { Time::NEVER };
        let timer = if self.flying.is_empty() { Time::NEVER } else { self.progress + RTO };
        [send, self.next_ack, timer]
    }

    fn send(&mut self, now: Time, link: &mut Link) {
        if self.flying.is_empty() {
            (self.first_sent, self.delivered_time, self.progress) = (now, now, now);
        }
        let (back, late) = link.travel(now, self.pn, self.mds, self.rtt);
        self.disordered |= late;
        let packet = Packet {
            pn: self.pn,
            sent: now,
            back,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            tx_in_flight: self.in_flight() + self.mds,
            lost_at_send: self.lost,
            app_limited: self.app_limited != 0,
        };
        self.flying.push_back(packet);
        self.next_ack = self.next_ack.min(packet.back);
        self.pn += 1;
        self.app_bytes -= self.mds as f64;
        let (pn, app_limited, bytes_in_flight) = (packet.pn, packet.app_limited, packet.tx_in_flight);
        self.cc.on_sent(&Sent { now, pn, bytes: self.mds, bytes_in_flight, app_limited });
        if !self.may_send() {
            self.full = Some(now);
        }
        let pace = self.cc.control().pacing_rate;
        self.next_send = now + pace.map_or(Duration::ZERO, |rate| rate.time_for(self.mds));
    }

    /// Declares the packets below `end` lost. Answers their bytes.
    fn lose(&mut self, now: Time, end: u64, cause: Cause) -> u64 {
        let below = self.flying.partition_point(|p| p.pn < end);
        let gone: Vec<_> = self.flying.drain(..below).collect();
        let Some(last) = gone.last().map(|p| p.pn) else { return 0 };
        let bytes = self.mds * gone.len() as u64;
        self.lost += bytes;
        let packets: Vec<_> = gone.iter().map(|p| self.lost_packet(p)).collect();
        self.given_up.extend(gone.iter().filter(|p| p.back != Time::NEVER));
        let (total_lost, delivered, bytes_in_flight) = (self.lost, self.delivered, self.in_flight());
        self.cc.on_lost(&Lost { now, packets: &packets, total_lost, delivered, bytes_in_flight });
        if last >= self.recovery_pn || cause == Cause::Timeout {
            (self.recovery_pn, self.period_losses) = (self.pn, 0);
            let (min_rtt, smoothed_rtt, prior_in_flight) = (self.min_rtt, self.rtt, bytes_in_flight);
            self.cc.on_congestion(&Congestion { now, cause, prior_in_flight, min_rtt, smoothed_rtt });
        }
        self.period_losses += gone.len() as u64;
        bytes
    }

    fn lost_packet(&self, p: &Packet) -> LostPacket {
        LostPacket {
            pn: p.pn,
            bytes: self.mds,
            sent: p.sent,
            detection: Detection::PacketThreshold,
            tx_in_flight: p.tx_in_flight,
            lost_at_send: p.lost_at_send,
            app_limited: p.app_limited,
        }
    }

    /// Takes the packets out of flight whose ACK is back.
    fn arrived(&mut self, now: Time) -> Vec<Packet> {
        let (mut acked, mut i) = (Vec::new(), 0);
        while let Some(&p) = self.flying.get(i) {
            if p.back <= now {
                acked.extend(self.flying.remove(i));
            } else if p.back == Time::NEVER || self.disordered {
                i += 1;
            } else {
                break;
            }
        }
        acked
    }

    fn earliest_back(&self) -> Time {
        let mut flying = self.flying.iter().map(|p| p.back).filter(|&back| back != Time::NEVER);
        let first = if self.disordered { flying.min() } else { flying.next() };
        first.into_iter().chain(self.given_up.iter().map(|p| p.back)).min().unwrap_or(Time::NEVER)
    }

    /// The ACK of all that is back now.
    fn ack(&mut self, now: Time) {
        let late = self.mds * self.late_packets(now);
        let prior_in_flight = self.in_flight();
        let arrived = self.arrived(now);
        let bytes = self.mds * arrived.len() as u64;
        if bytes + late == 0 {
            return;
        }
        self.delivered += bytes + late;
        (self.delivered_time, self.progress) = (now, now);
        let newest = arrived.last();
        let lost = newest.map_or(0, |p| {
            self.first_sent = p.sent;
            self.lose(now, (p.pn + 1).saturating_sub(PACKET_THRESHOLD), Cause::Loss)
        });
        let latest_rtt = newest.map(|p| now - p.sent);
        if let Some(rtt) = latest_rtt {
            (self.latest_rtt, self.min_rtt) = (rtt, self.min_rtt.min(rtt));
            (self.rtt_sum, self.rtts) = (self.rtt_sum + rtt.0, self.rtts + 1);
        }
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let packets: Vec<_> = arrived.iter().map(|p| self.acked_packet(p)).collect();
        self.cc.on_ack(&Ack {
            now,
            packets: &packets,
            late,
            lost,
            prior_in_flight,
            bytes_in_flight: self.in_flight(),
            latest_rtt,
            min_rtt: self.min_rtt,
            smoothed_rtt: latest_rtt.unwrap_or(self.rtt),
            delivered: self.delivered,
            rate: newest.map(|p| self.sample(now, p)),
            in_recovery: newest.is_none_or(|p| p.pn < self.recovery_pn),
            app_limited: newest.is_some_and(|p| p.app_limited),
            cwnd_limited: newest.is_some_and(|p| self.full.is_some_and(|full| full >= p.sent)),
            ..acked(bytes)
        });
    }

    fn acked_packet(&self, p: &Packet) -> AckedPacket {
        AckedPacket {
            pn: p.pn,
            bytes: self.mds,
            sent: p.sent,
            // Half of the propagation is on the way back.
            received: i64::try_from((p.back - self.rtt / 2).0).ok(),
            before_reduction: p.pn < self.recovery_pn,
        }
    }

    fn sample(&self, now: Time, p: &Packet) -> RateSample {
        let interval = (p.sent - p.first_sent).max(now - p.delivered_time);
        let delivered = self.delivered - p.delivered;
        RateSample {
            prior_delivered: p.delivered,
            delivered,
            interval,
            delivery_rate: (interval >= self.min_rtt).then(|| Rate::from_delivery(delivered, interval)),
            app_limited: p.app_limited,
            tx_in_flight: p.tx_in_flight,
            lost: self.lost - p.lost_at_send,
        }
    }

    /// Packets that were declared lost arrive: when they were all there was, the recovery was spurious. Answers how many.
    fn late_packets(&mut self, now: Time) -> u64 {
        let before = self.given_up.len();
        self.given_up.retain(|p| p.back > now);
        let arrived = (before - self.given_up.len()) as u64;
        if arrived > 0 {
            self.period_losses = self.period_losses.saturating_sub(arrived);
            if self.period_losses == 0 {
                (self.recovery_pn, self.undone) = (0, self.undone + 1);
                self.cc.on_spurious();
            }
        }
        arrived
    }
}

/// What a stretch of time was like.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Delivered, of what the link could.
    pub goodput: f64,
    /// Lost, of what was sent.
    pub lost: f64,
    /// Mean RTT, of that of an empty queue.
    pub rtt: f64,
}

/// Flows on their link.
#[derive(Debug)]
pub struct Loop<C: ?Sized> {
    /// The senders.
    pub flows: Vec<Flow<C>>,
    /// What they share.
    pub link: Link,
    /// The last event.
    pub now: Time,
    mds: u64,
}

impl<C: Controller + ?Sized> Loop<C> {
    /// These flows, with packets of `mds` bytes, on a link that drops nothing.
    pub fn new(mut flows: Vec<Flow<C>>, mds: u64, rate: Rate) -> Self {
        flows.iter_mut().for_each(|flow| flow.mds = mds);
        let (late, aggregate) = ((0, Duration::ZERO), Duration::ZERO);
        let link = Link {
            rate,
            buffer: u64::MAX,
            policer: None,
            lose_every: None,
            late,
            aggregate,
            free: Time::ZERO,
        };
        Self { flows, link, now: Time::ZERO, mds }
    }

    /// The first flow, for loops that have no other.
    pub fn flow(&self) -> &Flow<C> {
        &self.flows[0]
    }

    /// The same, to change it.
    pub fn flow_mut(&mut self) -> &mut Flow<C> {
        &mut self.flows[0]
    }

    /// A variable of the first controller's trace.
    ///
    /// # Panics
    /// If it is not in the trace.
    pub fn get(&self, name: &str) -> f64 {
        self.flow().get(name)
    }

    /// Bytes that the link and the first flow's propagation hold.
    pub fn bdp(&self) -> u64 {
        self.link.rate.bytes_in(self.flow().rtt)
    }

    /// How long a packet is on the link.
    pub fn packet_time(&self) -> Duration {
        self.link.rate.time_for(self.mds)
    }

    /// The first flow's application changes its pace; `None`: it always has more.
    pub fn set_app(&mut self, app: Option<Rate>) {
        let now = self.now;
        let flow = self.flow_mut();
        (flow.app, flow.app_bytes, flow.app_updated) = (app, 0.0, now);
    }

    /// The next event: a packet leaves, an ACK arrives, a timer fires. Answers whose it was; `None`: there is none up to `end`.
    pub fn step(&mut self, end: Time) -> Option<usize> {
        let now = self.now;
        let next = self.flows.iter_mut().map(|flow| flow.next(now)).enumerate();
        let first = |times: [Time; 3]| times[0].min(times[1]).min(times[2]);
        let (whose, times) = next.min_by_key(|&(_, times)| first(times))?;
        let at = first(times);
        if at > end {
            self.now = end;
            return None;
        }
        self.now = at;
        let flow = &mut self.flows[whose];
        if times[0] == at {
            flow.send(at, &mut self.link);
        } else if times[1] == at {
            flow.ack(at);
            flow.next_ack = flow.earliest_back();
        } else {
            flow.progress = at;
            flow.lose(at, u64::MAX, Cause::Timeout);
        }
        if flow.app_ready(at) > at && flow.in_flight() < flow.cc.control().cwnd {
            flow.app_limited = (flow.delivered + flow.in_flight()).max(1);
        }
        Some(whose)
    }

    /// Up to a time.
    pub fn run_to(&mut self, end: Time) {
        while self.now < end {
            self.step(end);
        }
    }

    /// Until `stop` says so, at most so long. Answers whether it did.
    pub fn run_until(&mut self, most: Duration, mut stop: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now + most;
        while self.now < end {
            if stop(self) {
                return true;
            }
            self.step(end);
        }
        stop(self)
    }

    /// For so long; what it was like for the first flow.
    pub fn run(&mut self, time: Duration) -> Figures {
        let (delivered, lost) = (self.flow().delivered, self.flow().lost);
        (self.flow_mut().rtt_sum, self.flow_mut().rtts) = (0, 0);
        self.run_to(self.now + time);
        let flow = self.flow();
        let bytes = (flow.delivered - delivered) as f64;
        let lost = (flow.lost - lost) as f64;
        let empty = flow.rtt + self.packet_time();
        Figures {
            goodput: bytes / self.link.rate.bytes_in(time) as f64,
            lost: lost / (bytes + lost),
            rtt: flow.rtt_sum as f64 / flow.rtts as f64 / empty.0 as f64,
        }
    }

    /// For so many seconds.
    pub fn run_secs(&mut self, seconds: u64) -> Figures {
        self.run(Duration::from_secs(seconds))
    }
}
