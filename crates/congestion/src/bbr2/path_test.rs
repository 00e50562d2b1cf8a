//! A closed loop: the controller, a pacer, a FIFO link of so many packets, ACKs for each packet.

use std::collections::VecDeque;

use super::script::{MDS, bbr};
use super::{Bbr2, State};
use crate::script::{acked, congestion};
use crate::{Ack, Cause, Controller, Detection, Duration, Lost, LostPacket, Rate, RateSample, Sent, Time};

const RTT: Duration = Duration::from_millis(40);

struct Flying {
    pn: u64,
    sent: Time,
    /// When its ACK is back; never, if the queue was full.
    back: Option<Time>,
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    tx_in_flight: u64,
    lost_at_send: u64,
}

/// One flow alone. Its ledger knows the packet threshold, recovery and the delivery rate, and nothing else.
struct Loop {
    cc: Bbr2,
    link: Rate,
    /// Packets that may wait.
    buffer: u64,
    link_free: Time,
    flying: VecDeque<Flying>,
    now: Time,
    next_send: Time,
    pn: u64,
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    lost: u64,
    recovery_pn: u64,
    min_rtt: Duration,
    /// Over the time of `run`: RTTs of all ACKs, summed in ns.
    rtt_sum: u64,
    rtts: u64,
}

impl Loop {
    fn new(mbit: u64, buffer_bdp: f64) -> Self {
        let link = Rate(mbit * 1_000_000);
        Self {
            cc: bbr(),
            link,
            buffer: (buffer_bdp * link.bytes_in(RTT) as f64) as u64 / MDS,
            link_free: Time::ZERO,
            flying: VecDeque::new(),
            now: Time::ZERO,
            next_send: Time::ZERO,
            pn: 0,
            delivered: 0,
            delivered_time: Time::ZERO,
            first_sent: Time::ZERO,
            lost: 0,
            recovery_pn: 0,
            min_rtt: Duration::MAX,
            rtt_sum: 0,
            rtts: 0,
        }
    }

    fn in_flight(&self) -> u64 {
        self.flying.len() as u64 * MDS
    }

    fn send(&mut self) {
        if self.flying.is_empty() {
            (self.first_sent, self.delivered_time) = (self.now, self.now);
        }
        let tx = self.link.time_for(MDS);
        let waiting = (self.link_free - self.now).0 / tx.0;
        let back = (waiting <= self.buffer).then(|| {
            self.link_free = self.link_free.max(self.now) + tx;
            self.link_free + RTT
        });
        let tx_in_flight = self.in_flight() + MDS;
        let (pn, sent, delivered, delivered_time) = (self.pn, self.now, self.delivered, self.delivered_time);
        let (first_sent, lost_at_send) = (self.first_sent, self.lost);
        let flying =
            Flying { pn, sent, back, delivered, delivered_time, first_sent, tx_in_flight, lost_at_send };
        self.flying.push_back(flying);
        self.pn += 1;
        self.cc.on_sent(&Sent {
            now: sent,
            pn,
            bytes: MDS,
            bytes_in_flight: tx_in_flight,
            app_limited: false,
        });
        self.next_send = self.now + self.cc.control().pacing_rate.map_or(Duration::ZERO, |r| r.time_for(MDS));
    }

    /// Losses of the packets up to `end`, from the front.
    fn lose(&mut self, end: u64, cause: Cause) -> u64 {
        let mut gone = Vec::new();
        let mut i = 0;
        while i < self.flying.len() && self.flying[i].pn < end {
            if self.flying[i].back.is_some() {
                i += 1;
                continue;
            }
            if let Some(f) = self.flying.remove(i) {
                self.lost += MDS;
                let (tx_in_flight, lost_at_send) = (f.tx_in_flight, f.lost_at_send);
                let detection = Detection::PacketThreshold;
                let (pn, sent, app_limited) = (f.pn, f.sent, false);
                gone.push(LostPacket {
                    pn,
                    bytes: MDS,
                    sent,
                    detection,
                    tx_in_flight,
                    lost_at_send,
                    app_limited,
                });
            }
        }
        let Some(last) = gone.last() else { return 0 };
        let new_event = last.pn >= self.recovery_pn || cause == Cause::Timeout;
        let bytes_in_flight = self.in_flight();
        let (now, total_lost, delivered) = (self.now, self.lost, self.delivered);
        self.cc.on_lost(&Lost { now, packets: &gone, total_lost, delivered, bytes_in_flight });
        if new_event {
            self.recovery_pn = self.pn;
            self.cc.on_congestion(&congestion(cause, bytes_in_flight));
        }
        gone.len() as u64 * MDS
    }

    fn ack(&mut self, i: usize) {
        let prior_in_flight = self.in_flight();
        let Some(p) = self.flying.remove(i) else { return };
        self.delivered += MDS;
        self.delivered_time = self.now;
        self.first_sent = p.sent;
        let lost = self.lose(p.pn.saturating_sub(2), Cause::Loss);
        let rtt = self.now - p.sent;
        self.min_rtt = self.min_rtt.min(rtt);
        (self.rtt_sum, self.rtts) = (self.rtt_sum + rtt.0, self.rtts + 1);
        let interval = (p.sent - p.first_sent).max(self.now - p.delivered_time);
        let delivered = self.delivered - p.delivered;
        let rate = RateSample {
            prior_delivered: p.delivered,
            delivered,
            interval,
            delivery_rate: (interval >= self.min_rtt).then(|| Rate::from_delivery(delivered, interval)),
            app_limited: false,
            tx_in_flight: p.tx_in_flight,
            lost: self.lost - p.lost_at_send,
        };
        self.cc.on_ack(&Ack {
            now: self.now,
            lost,
            prior_in_flight,
            bytes_in_flight: self.in_flight(),
            latest_rtt: Some(rtt),
            delivered: self.delivered,
            rate: Some(rate),
            in_recovery: p.pn < self.recovery_pn,
            ..acked(MDS)
        });
    }

    /// The next event: a packet leaves, an ACK arrives, or nothing is left to wait for.
    fn step(&mut self) {
        let head = self.flying.iter().position(|f| f.back.is_some());
        let back = head.and_then(|i| self.flying[i].back).unwrap_or(Time::NEVER);
        let may_send = self.in_flight() + MDS <= self.cc.control().cwnd;
        match head {
            _ if may_send && self.next_send.max(self.now) <= back => {
                self.now = self.next_send.max(self.now);
                self.send();
            }
            Some(i) => {
                self.now = back;
                self.ack(i);
            }
            None => {
                self.now += Duration::from_secs(1);
                self.lose(u64::MAX, Cause::Timeout);
            }
        }
    }

    /// Runs so many seconds. Answers goodput over link rate, lost over sent, mean RTT over that of an empty queue.
    fn run(&mut self, seconds: u64) -> (f64, f64, f64) {
        let end = self.now + Duration::from_secs(seconds);
        let (delivered, lost) = (self.delivered, self.lost);
        (self.rtt_sum, self.rtts) = (0, 0);
        while self.now < end {
            self.step();
        }
        let bytes = (self.delivered - delivered) as f64;
        let lost = (self.lost - lost) as f64;
        let empty = RTT + self.link.time_for(MDS);
        let capacity = self.link.bytes_in(Duration::from_secs(seconds)) as f64;
        (bytes / capacity, lost / (bytes + lost), self.rtt_sum as f64 / self.rtts as f64 / empty.0 as f64)
    }
}

/// The estimate is the link's rate. Of the goodput the margin takes 1 %, ProbeRTT 2 to 3 (240 ms at half rate per 5 s).
#[test]
fn converges_to_the_link() {
    for mbit in [2, 10, 100] {
        let mut path = Loop::new(mbit, 4.0);
        path.run(5);
        let (goodput, lost, rtt) = path.run(30);
        let bw = path.cc.model.max_bw().0 as f64 / path.link.0 as f64;
        assert!((bw - 1.0).abs() < 0.02, "{mbit} Mbit/s: estimates {bw}");
        assert!(goodput > 0.95, "{mbit} Mbit/s: {goodput}");
        assert!(rtt < 1.2, "{mbit} Mbit/s: mean RTT {rtt}");
        assert_eq!(lost, 0.0);
    }
}

#[test]
fn startup_is_short_and_its_queue_drained() {
    let mut path = Loop::new(50, 4.0);
    let (_, lost, _) = path.run(1);
    assert!(path.cc.full_pipe.filled_pipe && path.cc.state.is_probe_bw(), "{:?}", path.cc.state);
    assert_eq!(lost, 0.0);
}

/// Startup overflows it; later probes find its end once and stay below.
#[test]
fn survives_a_shallow_buffer() {
    for (mbit, buffer_bdp) in [(10, 0.5), (100, 0.5), (10, 0.1), (100, 0.1)] {
        let mut path = Loop::new(mbit, buffer_bdp);
        let (_, startup_lost, _) = path.run(3);
        assert!(startup_lost < 0.04, "{mbit} Mbit/s, {buffer_bdp} BDP: Startup loses {startup_lost}");
        let (goodput, lost, rtt) = path.run(30);
        assert!(goodput > 0.9, "{mbit} Mbit/s, {buffer_bdp} BDP: {goodput}");
        assert!(lost < 0.005, "{mbit} Mbit/s, {buffer_bdp} BDP: loses {lost}");
        assert!(rtt < 1.1, "{mbit} Mbit/s, {buffer_bdp} BDP: mean RTT {rtt}");
    }
}

#[test]
fn finds_ten_times_the_rate() {
    let mut path = Loop::new(10, 2.0);
    path.run(10);
    path.link = Rate(100_000_000);
    path.buffer *= 10;
    path.run(4);
    let (goodput, lost, _) = path.run(10);
    assert!(goodput > 0.95 && lost == 0.0, "{goodput} {lost}");
}

#[test]
fn adapts_to_a_tenth_of_the_rate() {
    let mut path = Loop::new(100, 1.0);
    path.run(10);
    path.link = Rate(10_000_000);
    path.buffer /= 10;
    let step = path.now;
    path.run(2);
    assert!(path.cc.model.bw < Rate(20_000_000), "the short-term bound at once: {:?}", path.cc.model.bw);
    assert!(path.cc.model.max_bw() > Rate(90_000_000), "the filter after two cycles");
    path.run(10);
    assert!(path.now - step < Duration::from_secs(13));
    let (goodput, lost, rtt) = path.run(10);
    assert!(goodput > 0.9, "{goodput}");
    assert!(lost < 0.001, "{lost}");
    assert!(rtt < 1.1, "{rtt}");
    assert!((path.cc.model.max_bw().0 as f64) < 1.05 * path.link.0 as f64);
}

#[test]
fn probes_the_rtt_every_five_seconds() {
    let mut path = Loop::new(10, 2.0);
    path.run(3);
    let (mut entries, mut before) = (0, path.cc.state);
    let end = path.now + Duration::from_secs(60);
    while path.now < end {
        path.step();
        entries += u64::from(path.cc.state == State::ProbeRtt && before != State::ProbeRtt);
        before = path.cc.state;
    }
    assert!((9..=12).contains(&entries), "{entries} in 60 s");
}
