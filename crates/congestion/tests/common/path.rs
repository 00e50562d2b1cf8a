//! A closed loop: a controller, a pacer, a FIFO link of so many packets, ACKs for each packet. One flow alone; its
//! ledger knows the packet threshold, recovery, timeouts, spurious losses and the delivery rate, and nothing else.

use std::collections::VecDeque;

use kneepoint_congestion::{
    Ack, AckedPacket, Cause, Congestion, Controller, Detection, Lost, LostPacket, PathInfo, RateSample, Sent,
};
use units::{Duration, Rate, Time};

pub const MDS: u64 = 1200;
pub const RTT: Duration = Duration::from_millis(40);
const RTO: Duration = Duration::from_secs(1);
/// RFC 9002 section 6.1.1.
const PACKET_THRESHOLD: u64 = 3;

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

/// A token bucket that drops what it has no tokens for, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Policer {
    pub rate: Rate,
    pub burst: f64,
    pub tokens: f64,
    pub updated: Time,
}

impl Policer {
    pub fn new(rate: Rate, burst: u64, now: Time) -> Self {
        Self { rate, burst: burst as f64, tokens: burst as f64, updated: now }
    }

    fn admits(&mut self, now: Time) -> bool {
        let earned = self.rate.bytes_per_sec() * (now - self.updated).as_secs_f64();
        (self.tokens, self.updated) = ((self.tokens + earned).min(self.burst), now);
        let admits = self.tokens >= MDS as f64;
        self.tokens -= if admits { MDS as f64 } else { 0.0 };
        admits
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

pub struct Loop {
    pub cc: Box<dyn Controller>,
    pub link: Rate,
    pub rtt: Duration,
    /// Packets that may wait.
    pub buffer: u64,
    pub policer: Option<Policer>,
    /// The application's pace; nothing: it always has more.
    pub app: Option<Rate>,
    /// Each so-manieth packet is lost on the way.
    pub lose_every: Option<u64>,
    /// So many packets to come arrive so much later.
    pub late: (u64, Duration),
    /// ACKs come together at multiples of this.
    pub aggregate: Duration,
    pub now: Time,
    pub delivered: u64,
    pub lost: u64,
    /// Times the ledger took a recovery back.
    pub undone: u64,
    app_bytes: f64,
    app_updated: Time,
    app_limited: u64,
    link_free: Time,
    flying: VecDeque<Packet>,
    /// Declared lost, but on their way.
    given_up: VecDeque<Packet>,
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
    epoch_losses: u64,
    min_rtt: Duration,
    rtt_sum: u64,
    rtts: u64,
}

impl Loop {
    pub fn new(algorithm: &str, mbit: u64, buffer_bdp: f64) -> Self {
        let algorithm = super::read::read(algorithm).expect(algorithm);
        let link = Rate(mbit * 1_000_000);
        Self {
            cc: algorithm.build(PathInfo { max_datagram_size: MDS, paced: true, seed: 1 }),
            link,
            rtt: RTT,
            buffer: (buffer_bdp * link.bytes_in(RTT) as f64) as u64 / MDS,
            policer: None,
            app: None,
            lose_every: None,
            late: (0, Duration::ZERO),
            aggregate: Duration::ZERO,
            now: Time::ZERO,
            delivered: 0,
            lost: 0,
            undone: 0,
            app_bytes: 0.0,
            app_updated: Time::ZERO,
            app_limited: 0,
            link_free: Time::ZERO,
            flying: VecDeque::new(),
            given_up: VecDeque::new(),
            next_send: Time::ZERO,
            next_ack: Time::NEVER,
            disordered: false,
            progress: Time::ZERO,
            full: None,
            pn: 0,
            delivered_time: Time::ZERO,
            first_sent: Time::ZERO,
            recovery_pn: 0,
            epoch_losses: 0,
            min_rtt: Duration::MAX,
            rtt_sum: 0,
            rtts: 0,
        }
    }

    /// A variable of the controller's trace.
    pub fn get(&self, name: &str) -> f64 {
        let mut found = None;
        self.cc.trace(&mut |n, value| found = if n == name { Some(value) } else { found });
        found.expect(name)
    }

    pub fn in_flight(&self) -> u64 {
        self.flying.len() as u64 * MDS
    }

    /// Bytes that the pipe holds.
    pub fn bdp(&self) -> u64 {
        self.link.bytes_in(self.rtt)
    }

    /// The application changes its pace.
    pub fn set_app(&mut self, app: Option<Rate>) {
        (self.app, self.app_bytes, self.app_updated) = (app, 0.0, self.now);
    }

    /// When the application has a packet.
    fn app_ready(&mut self) -> Time {
        let Some(rate) = self.app else { return self.now };
        self.app_bytes += rate.bytes_per_sec() * (self.now - self.app_updated).as_secs_f64();
        self.app_updated = self.now;
        let missing = MDS as f64 - self.app_bytes;
        match rate {
            // A thousandth of a byte: what rounding to whole nanoseconds may leave missing.
            _ if missing <= 1e-3 => self.now,
            Rate(0) => Time::NEVER,
            rate => self.now + Duration::from_secs_f64(missing / rate.bytes_per_sec()) + Duration(1),
        }
    }

    fn may_send(&self) -> bool {
        self.in_flight() + MDS <= self.cc.control().cwnd
    }

    /// When the ACK of a packet that leaves now is back.
    fn travel(&mut self) -> Time {
        let tx = self.link.time_for(MDS);
        let lost = self.lose_every.is_some_and(|n| self.pn.is_multiple_of(n));
        let now = self.now;
        let policed = self.policer.as_mut().is_some_and(|p| !p.admits(now));
        if lost || policed || (self.link_free - now).0 / tx.0 > self.buffer {
            return Time::NEVER;
        }
        self.link_free = self.link_free.max(now) + tx;
        let mut back = self.link_free + self.rtt;
        if self.late.0 > 0 {
            (self.late.0, back) = (self.late.0 - 1, back + self.late.1);
            self.disordered = true;
        }
        match self.aggregate {
            Duration::ZERO => back,
            Duration(lump) => Time(back.0.div_ceil(lump) * lump),
        }
    }

    fn send(&mut self) {
        if self.flying.is_empty() {
            (self.first_sent, self.delivered_time, self.progress) = (self.now, self.now, self.now);
        }
        let packet = Packet {
            pn: self.pn,
            sent: self.now,
            back: self.travel(),
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            tx_in_flight: self.in_flight() + MDS,
            lost_at_send: self.lost,
            app_limited: self.app_limited != 0,
        };
        self.flying.push_back(packet);
        self.next_ack = self.next_ack.min(packet.back);
        self.pn += 1;
        self.app_bytes -= MDS as f64;
        let (now, pn, app_limited) = (packet.sent, packet.pn, packet.app_limited);
        let bytes_in_flight = packet.tx_in_flight;
        self.cc.on_sent(&Sent { now, pn, bytes: MDS, bytes_in_flight, app_limited });
        if !self.may_send() {
            self.full = Some(self.now);
        }
        self.next_send = self.now + self.cc.control().pacing_rate.map_or(Duration::ZERO, |r| r.time_for(MDS));
    }

    /// Declares the packets below `end` lost.
    fn lose(&mut self, end: u64, cause: Cause) -> u64 {
        let detection = Detection::PacketThreshold;
        let mut gone = Vec::new();
        let below = self.flying.partition_point(|p| p.pn < end);
        for p in self.flying.drain(..below) {
            self.lost += MDS;
            gone.push(LostPacket {
                pn: p.pn,
                bytes: MDS,
                sent: p.sent,
                detection,
                tx_in_flight: p.tx_in_flight,
                lost_at_send: p.lost_at_send,
                app_limited: p.app_limited,
            });
            if p.back != Time::NEVER {
                self.given_up.push_back(p);
            }
        }
        let Some(last) = gone.last() else { return 0 };
        let (now, total_lost, delivered) = (self.now, self.lost, self.delivered);
        let bytes_in_flight = self.in_flight();
        self.cc.on_lost(&Lost { now, packets: &gone, total_lost, delivered, bytes_in_flight });
        if last.pn >= self.recovery_pn || cause == Cause::Timeout {
            (self.recovery_pn, self.epoch_losses) = (self.pn, 0);
            let (min_rtt, smoothed_rtt) = (self.min_rtt, self.rtt);
            let prior_in_flight = bytes_in_flight;
            self.cc.on_congestion(&Congestion { now, cause, prior_in_flight, min_rtt, smoothed_rtt });
        }
        self.epoch_losses += gone.len() as u64;
        gone.len() as u64 * MDS
    }

    /// Takes the packets out of flight whose ACK is back.
    fn arrived(&mut self) -> Vec<Packet> {
        let (mut acked, mut i) = (Vec::new(), 0);
        while let Some(&p) = self.flying.get(i) {
            if p.back <= self.now {
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
    fn ack(&mut self) {
        let late = MDS * self.late_packets();
        let now = self.now;
        let prior_in_flight = self.in_flight();
        let acked = self.arrived();
        let bytes = MDS * acked.len() as u64;
        if bytes + late == 0 {
            return;
        }
        self.delivered += bytes + late;
        (self.delivered_time, self.progress) = (now, now);
        let newest = acked.last();
        let lost = newest.map_or(0, |p| {
            self.first_sent = p.sent;
            self.lose((p.pn + 1).saturating_sub(PACKET_THRESHOLD), Cause::Loss)
        });
        let latest_rtt = newest.map(|p| now - p.sent);
        if let Some(rtt) = latest_rtt {
            self.min_rtt = self.min_rtt.min(rtt);
            (self.rtt_sum, self.rtts) = (self.rtt_sum + rtt.0, self.rtts + 1);
        }
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let packet = |p: &Packet| AckedPacket {
            pn: p.pn,
            bytes: MDS,
            sent: p.sent,
            // Half of the propagation is on the way back.
            received: i64::try_from((p.back - self.rtt / 2).0).ok(),
            before_reduction: p.pn < self.recovery_pn,
        };
        let packets: Vec<_> = acked.iter().map(packet).collect();
        self.cc.on_ack(&Ack {
            now,
            packets: &packets,
            acked: bytes,
            late,
            growth: bytes,
            lost,
            prior_in_flight,
            bytes_in_flight: self.in_flight(),
            latest_rtt,
            min_rtt: self.min_rtt,
            smoothed_rtt: latest_rtt.unwrap_or(self.rtt),
            ack_delay: Duration::ZERO,
            ce: 0,
            delivered: self.delivered,
            rate: newest.map(|p| self.sample(p)),
            round: 0,
            round_start: false,
            in_recovery: newest.is_none_or(|p| p.pn < self.recovery_pn),
            app_limited: newest.is_some_and(|p| p.app_limited),
            cwnd_limited: newest.is_some_and(|p| self.full.is_some_and(|full| full >= p.sent)),
        });
    }

    fn sample(&self, p: &Packet) -> RateSample {
        let interval = (p.sent - p.first_sent).max(self.now - p.delivered_time);
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

    /// Packets that were declared lost arrive: when they were all there was, the recovery was a mistake. Answers how many.
    fn late_packets(&mut self) -> u64 {
        let before = self.given_up.len();
        self.given_up.retain(|p| p.back > self.now);
        let arrived = (before - self.given_up.len()) as u64;
        if arrived > 0 {
            self.epoch_losses = self.epoch_losses.saturating_sub(arrived);
            if self.epoch_losses == 0 {
                (self.recovery_pn, self.undone) = (0, self.undone + 1);
                self.cc.on_spurious();
            }
        }
        arrived
    }

    /// The next event, if it is not after `end`: a packet leaves, an ACK arrives, the timer fires.
    pub fn step(&mut self, end: Time) {
        let ack = self.next_ack;
        let send =
            if self.may_send() { self.app_ready().max(self.next_send).max(self.now) } else { Time::NEVER };
        let timer = if self.flying.is_empty() { Time::NEVER } else { self.progress + RTO };
        let at = send.min(ack).min(timer);
        if at > end {
            self.now = end;
            return;
        }
        self.now = at;
        if send == at {
            self.send();
        } else if ack == at {
            self.ack();
            self.next_ack = self.earliest_back();
        } else {
            self.progress = at;
            self.lose(u64::MAX, Cause::Timeout);
        }
        if self.app_ready() > self.now && self.in_flight() < self.cc.control().cwnd {
            self.app_limited = (self.delivered + self.in_flight()).max(1);
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

    pub fn run(&mut self, time: Duration) -> Figures {
        let (delivered, lost) = (self.delivered, self.lost);
        (self.rtt_sum, self.rtts) = (0, 0);
        self.run_until(time, |_| false);
        let bytes = (self.delivered - delivered) as f64;
        let lost = (self.lost - lost) as f64;
        let empty = self.rtt + self.link.time_for(MDS);
        Figures {
            goodput: bytes / self.link.bytes_in(time) as f64,
            lost: lost / (bytes + lost),
            rtt: self.rtt_sum as f64 / self.rtts as f64 / empty.0 as f64,
        }
    }

    pub fn run_secs(&mut self, seconds: u64) -> Figures {
        self.run(Duration::from_secs(seconds))
    }
}
