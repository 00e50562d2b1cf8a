//! Reads the input as a network and a peer. Packets arrive or are lost, and ACKs acknowledge
//! packets that arrived or were never sent. Nothing panics, and the sender's accounting matches its
//! packets.
#![no_main]

use std::ops::Range;

use congestion::Registry;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use recovery::{
    AckConfig, AckFrame, Clock, Config, EcnCounts, Payload, Receiver, Sender, TcpAck, TcpReceiver,
};
use units::{Duration, Ecn, Time};

/// Packet size, in bytes of the window and of the stream.
const FULL: u64 = 1000;

#[derive(Clone, Copy, Debug, Default)]
struct Piece(u64);

impl Payload for Piece {
    fn range(&self) -> Range<u64> {
        self.0 * FULL..(self.0 + 1) * FULL
    }
}

#[derive(Arbitrary, Debug)]
enum Op {
    /// Sends this many packets, ignoring the window, which a peer does not see.
    Send(u8),
    /// Delivers the packet this many places before the newest, perhaps again. Marked CE if true.
    Arrive(u8, bool),
    /// Sends an ACK from the receiver.
    Answer,
    /// Sends a forged ACK: ranges, ECN counts and a delay.
    Forge(Vec<(u64, u64)>, Option<(u64, u64, u64)>, u32),
    /// Sends a forged TCP ACK.
    ForgeTcp(u64, [(u64, u64); 3], u64, bool),
    Wait(u32),
    Timer,
}

#[derive(Arbitrary, Debug)]
struct Case {
    controller: u8,
    tcp: bool,
    ops: Vec<Op>,
}

enum Far {
    Quic(Receiver),
    Tcp(TcpReceiver),
}

struct World {
    now: Time,
    sender: Sender<Piece>,
    far: Far,
    sent: u64,
}

impl World {
    fn new(case: &Case) -> Self {
        let registry = Registry::default();
        let entry = registry.iter().nth(usize::from(case.controller) % registry.iter().count()).unwrap();
        let path = congestion::PathInfo { max_datagram_size: FULL, paced: true, seed: 1 };
        let controller = entry.algorithm().build(path);
        let (config, ack, rtt) = match case.tcp {
            true => (Config::tcp(), AckConfig::tcp(), Duration::from_millis(50)),
            false => (Config::quic(), AckConfig::default(), Duration::from_millis(50)),
        };
        let far = match case.tcp {
            true => Far::Tcp(TcpReceiver::new(ack, Clock::default(), FULL as u32, rtt)),
            false => Far::Quic(Receiver::new(ack, Clock::default(), rtt)),
        };
        Self { now: Time::from_millis(1), sender: Sender::new(config, controller, path), far, sent: 0 }
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Send(count) => (0..*count % 32).for_each(|_| self.send()),
            Op::Arrive(back, ce) => self.arrive(*back, if *ce { Ecn::Ce } else { Ecn::NotEct }),
            Op::Answer => self.answer(),
            Op::Forge(ranges, ecn, delay) => {
                let ecn = ecn.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
                let ack_delay = Duration(u64::from(*delay));
                let frame = AckFrame { ranges: ranges.clone(), ack_delay, ecn, ..AckFrame::default() };
                self.sender.on_ack(self.now, &frame, None, &mut Default::default());
            }
            Op::ForgeTcp(cumulative, sacks, echo, duplicate) => {
                let (cumulative, sacks, echo, duplicate) = (*cumulative, *sacks, *echo, *duplicate);
                let ack = TcpAck { cumulative, sacks, echo, duplicate, ..TcpAck::default() };
                self.sender.on_tcp_ack(self.now, &ack, &mut Default::default());
            }
            Op::Wait(ns) => self.now += Duration(u64::from(*ns)),
            Op::Timer => self.timer(),
        }
        let stats = self.sender.stats();
        assert!(stats.acked + stats.lost() <= stats.sent);
        assert!(self.sender.bytes_in_flight() <= stats.sent * FULL);
    }

    fn send(&mut self) {
        self.sender.on_sent(self.now, FULL, Piece(self.sent), false);
        self.sent += 1;
    }

    /// Delivers the packet `back` places before the newest.
    fn arrive(&mut self, back: u8, ecn: Ecn) {
        let Some(pn) = self.sent.checked_sub(u64::from(back) + 1) else { return };
        let must_answer = match &mut self.far {
            Far::Quic(receiver) => receiver.on_packet(self.now, pn, ecn, self.sender.least_unacked()),
            Far::Tcp(receiver) => {
                let Range { start, end } = Piece(pn).range();
                receiver.on_packet(self.now, pn, ecn, start, end).1
            }
        };
        if must_answer {
            self.answer();
        }
    }

    fn answer(&mut self) {
        match &mut self.far {
            Far::Quic(receiver) => {
                let mut frame = AckFrame::default();
                receiver.write_ack(self.now, &mut frame);
                self.sender.on_ack(self.now, &frame, None, &mut Default::default());
            }
            Far::Tcp(receiver) => {
                let ack = receiver.ack(self.now);
                self.sender.on_tcp_ack(self.now, &ack, &mut Default::default());
            }
        }
    }

    fn timer(&mut self) {
        if let Some(due) = self.sender.next_timer() {
            self.now = self.now.max(due);
            self.sender.on_timer(self.now, &mut Default::default());
        }
    }
}

fuzz_target!(|case: Case| {
    let mut world = World::new(&case);
    case.ops.iter().for_each(|op| world.step(op));
});
