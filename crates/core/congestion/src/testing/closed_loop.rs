//! A closed loop: flows that share a FIFO link. Each flow has a controller, a pacer, and an ACK for
//! each packet.
//!
//! The round-trip time of a packet is the sum of its queuing delay, its transmission time and the
//! flow's propagation delay. Half of the propagation delay is on the way to the receiver. The
//! sender implements the packet threshold, recovery, timeouts, spurious losses, round trips and the
//! delivery rate, and nothing else.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use units::{Duration, Rate, Time};

use super::fixtures::acked;
use crate::{Ack, AckedPacket, Cause, Congestion, Controller, Detection, Lost, LostPacket, RateSample, Sent};

/// Packet threshold, RFC 9002 section 6.1.1.
const PACKET_THRESHOLD: u64 = 3;
/// Time without an ACK after which everything in flight is lost.
const RTO: Duration = Duration::from_secs(1);

/// The bottleneck link of all flows. Its fields may change at any time.
#[derive(Clone, Debug)]
pub struct Link {
    /// Rate of the link.
    pub rate: Rate,
    /// Largest number of waiting packets. `u64::MAX` means that nothing is ever dropped.
    pub buffer: u64,
    /// Policer that drops packets in excess of a rate.
    pub policer: Option<Policer>,
    /// Period of losses: each flow loses one of this many packets.
    pub lose_every: Option<u64>,
    /// Number of next packets that arrive late, and their extra delay.
    pub late: (u64, Duration),
    /// Interval of ACK aggregation: ACKs arrive together at multiples of it.
    pub aggregate: Duration,
    /// Time at which the last packet will have left the link.
    free: Time,
}

/// A token bucket that drops packets for which it has no tokens.
#[derive(Clone, Copy, Debug)]
pub struct Policer {
    rate: Rate,
    /// Size of the bucket in bytes.
    burst: f64,
    /// Available tokens in bytes.
    tokens: f64,
    updated: Time,
}

impl Policer {
    /// Creates a full bucket of `burst` bytes.
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
    /// Sends the flow's packet `pn` now. Returns the arrival time of its ACK, and whether the
    /// packet is reordered.
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
    /// Arrival time of its ACK, or never if the packet was dropped.
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
    /// Propagation delay of the round trip.
    pub rtt: Duration,
    /// Packet size in bytes.
    mds: u64,
    /// Rate of the application, or `None` if it always has data. See [`Loop::set_app`].
    app: Option<Rate>,
    app_bytes: f64,
    app_updated: Time,
    /// Bytes that arrived, including late ones.
    pub delivered: u64,
    /// Bytes declared lost.
    pub lost: u64,
    /// Number of recoveries that proved spurious.
    pub undone: u64,
    /// RTT of the last ACK.
    pub latest_rtt: Duration,
    min_rtt: Duration,
    rtt_sum: u64,
    rtts: u64,
    /// Value of `delivered` up to which samples are application-limited, or 0.
    app_limited: u64,
    flying: VecDeque<Packet>,
    /// Packets declared lost but still on their way.
    given_up: VecDeque<Packet>,
    /// Earliest time at which the pacer allows the next packet.
    next_send: Time,
    /// Arrival time of the next ACK: the earliest of `flying` and `given_up`.
    next_ack: Time,
    /// Whether packets are reordered, so that the first packet in flight need not be the first
    /// acknowledged.
    disordered: bool,
    progress: Time,
    /// Last time at which the window was full.
    full: Option<Time>,
    pn: u64,
    delivered_time: Time,
    first_sent: Time,
    /// First packet number sent after the last reduction.
    recovery_pn: u64,
    /// Losses since that reduction.
    period_losses: u64,
    /// First packet number of the next round trip.
    round_end: u64,
}

impl<C: Controller + ?Sized> Flow<C> {
    /// Creates a flow that always has data to send from `start` on.
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
            round_end: 0,
        }
    }

    /// Returns a variable of the controller's trace.
    ///
    /// # Panics
    /// Panics if the trace has no such variable.
    pub fn get(&self, name: &str) -> f64 {
        let mut found = None;
        self.cc.trace(&mut |n, value| found = if n == name { Some(value) } else { found });
        found.expect(name)
    }

    /// Returns the bytes in flight.
    pub fn in_flight(&self) -> u64 {
        self.flying.len() as u64 * self.mds
    }

    fn may_send(&self) -> bool {
        self.in_flight() + self.mds <= self.cc.control().cwnd
    }

    /// Returns the time at which the application has a packet.
    fn app_ready(&mut self, now: Time) -> Time {
        let Some(rate) = self.app else { return now };
        self.app_bytes += rate.bytes_per_sec() * (now - self.app_updated).as_secs_f64();
        self.app_updated = now;
        let missing = self.mds as f64 - self.app_bytes;
        match rate {
            // A thousandth of a byte: the error from rounding to whole nanoseconds.
            _ if missing <= 1e-3 => now,
            Rate(0) => Time::NEVER,
            rate => now + Duration::from_secs_f64(missing / rate.bytes_per_sec()) + Duration(1),
        }
    }

    /// Returns the times of its next packet, its next ACK and its timeout, if nothing else happens.
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

    /// Declares the packets below `end` lost. Returns their bytes.
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

    /// Removes the packets whose ACK has arrived from those in flight.
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

    /// Processes the ACK of all packets whose ACK arrives now.
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
        let round_start = newest.is_some_and(|p| p.pn >= self.round_end);
        if round_start {
            self.round_end = self.pn;
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
            round_start,
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
            // Half of the propagation delay is on the way back.
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

    /// Counts arrivals of packets declared lost. If all of them arrive, the recovery was spurious.
    /// Returns their number.
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

/// Statistics of a period of time.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Delivered bytes as a share of the link's capacity.
    pub goodput: f64,
    /// Lost bytes as a share of the sent ones.
    pub lost: f64,
    /// Mean RTT, relative to the RTT with an empty queue.
    pub rtt: f64,
}

/// Flows on their link.
#[derive(Debug)]
pub struct Loop<C: ?Sized> {
    /// The flows.
    pub flows: Vec<Flow<C>>,
    /// The link that they share.
    pub link: Link,
    /// Time of the last event.
    pub now: Time,
    mds: u64,
}

impl<C: Controller + ?Sized> Loop<C> {
    /// Creates a loop of these flows, with packets of `mds` bytes, on a link that drops nothing.
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

    /// Returns the first flow.
    pub fn flow(&self) -> &Flow<C> {
        &self.flows[0]
    }

    /// Returns the first flow, mutably.
    pub fn flow_mut(&mut self) -> &mut Flow<C> {
        &mut self.flows[0]
    }

    /// Returns a variable of the first controller's trace.
    ///
    /// # Panics
    /// Panics if the trace has no such variable.
    pub fn get(&self, name: &str) -> f64 {
        self.flow().get(name)
    }

    /// Returns the bandwidth-delay product of the link and the first flow, in bytes.
    pub fn bdp(&self) -> u64 {
        self.link.rate.bytes_in(self.flow().rtt)
    }

    /// Returns the transmission time of a packet.
    pub fn packet_time(&self) -> Duration {
        self.link.rate.time_for(self.mds)
    }

    /// Sets the rate of the first flow's application. `None` means that it always has data.
    pub fn set_app(&mut self, app: Option<Rate>) {
        let now = self.now;
        let flow = self.flow_mut();
        (flow.app, flow.app_bytes, flow.app_updated) = (app, 0.0, now);
    }

    /// Advances to the next event: a packet is sent, an ACK arrives, or a timer fires.
    ///
    /// Returns the flow's index, or `None` if there is no event up to `end`.
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

    /// Runs up to a time.
    pub fn run_to(&mut self, end: Time) {
        while self.now < end {
            self.step(end);
        }
    }

    /// Runs until `stop` returns true, for at most `most`. Returns whether it did.
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

    /// Runs for a time. Returns the statistics of the first flow.
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

    /// Runs for a number of seconds. Returns the statistics of the first flow.
    pub fn run_secs(&mut self, seconds: u64) -> Figures {
        self.run(Duration::from_secs(seconds))
    }
}
