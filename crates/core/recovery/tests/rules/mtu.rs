//! Probes for the MTU of the path, as packets of the sender (RFC 9000 sections 14.3 and 14.4).

use std::sync::{Arc, Mutex};

use ackclock_recovery::{AckEffects, BASE_DATAGRAM, Config, Role, SendDecision, Sender};
use congestion::{Ack, Cause, Congestion, Control, Controller, Lost, PathInfo};
use units::{Ecn, Time};

use crate::common::*;

/// Signals of a controller with a fixed window.
#[derive(Debug, Default)]
struct Heard {
    cwnd: u64,
    lost: usize,
    reduced: usize,
    sizes: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Listener(Arc<Mutex<Heard>>);

impl Controller for Listener {
    fn on_ack(&mut self, _: &Ack) -> Option<Cause> {
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {
        self.0.lock().unwrap().reduced += 1;
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.0.lock().unwrap().lost += lost.packets.len();
    }
    fn on_path_change(&mut self, path: PathInfo) {
        self.0.lock().unwrap().sizes.push(path.max_datagram_size);
    }
    fn control(&self) -> Control {
        Control::window(self.0.lock().unwrap().cwnd)
    }
}

/// A sender that searches up to 1472 bytes.
struct Searching {
    sender: Sender<Piece>,
    out: AckEffects<Piece>,
    heard: Arc<Mutex<Heard>>,
}

impl Searching {
    /// Creates the sender, with an RTT of 50 ms from packet 0.
    fn new(cwnd: u64) -> Self {
        let heard = Arc::new(Mutex::new(Heard { cwnd, ..Heard::default() }));
        let config = Config { mtu_search: true, ..Config::quic() };
        let path = PathInfo { max_datagram_size: 1472, paced: false, seed: 1 };
        let sender = Sender::new(config, Box::new(Listener(Arc::clone(&heard))), path);
        let mut new = Self { sender, out: AckEffects::default(), heard };
        assert_eq!(new.sender.mtu_probe(ms(0.0)), None, "not before the first RTT sample");
        new.send(0.0);
        new.ack(50.0, 0);
        new
    }

    /// Sends data in a packet of the current size.
    fn send(&mut self, at: f64) -> u64 {
        let bytes = self.sender.datagram_size();
        self.sender.on_sent(ms(at), bytes, piece(0), false).0
    }

    /// Sends the probe that is due.
    fn probe(&mut self, at: f64) -> (u64, u64) {
        let bytes = self.sender.mtu_probe(ms(at)).expect("a probe is due");
        assert_eq!(self.sender.can_send(ms(at), bytes), SendDecision::Now);
        let number = self.sender.on_sent(ms(at), bytes, Piece(0, 0), false).0;
        self.sender.on_mtu_probe_sent(bytes);
        assert_eq!(self.sender.mtu_probe(ms(at)), None, "one at a time");
        (number, bytes)
    }

    fn ack(&mut self, at: f64, number: u64) {
        let frame = ackclock_recovery::AckFrame { ranges: vec![(number, number)], ..Default::default() };
        self.sender.on_ack(ms(at), &frame, None, &mut self.out);
    }
}

/// The loss of a probe is no congestion event, and the controller does not hear of it. The probe
/// leaves flight, and its packet is reported as lost.
#[test]
fn a_lost_probe_is_no_congestion() {
    let mut it = Searching::new(1 << 20);
    for round in 1..=3 {
        let at = 100.0 * f64::from(round);
        let (probe, bytes) = it.probe(at);
        assert_eq!(bytes, 1336);
        let numbers: Vec<u64> = (0..3).map(|_| it.send(at)).collect();
        for number in numbers {
            it.ack(at + 50.0, number);
        }
        assert_eq!(it.out.lost.iter().map(|lost| lost.0).collect::<Vec<_>>(), [probe]);
        assert_eq!(it.sender.bytes_in_flight(), 0);
    }
    let heard = it.heard.lock().unwrap();
    assert_eq!((heard.lost, heard.reduced, heard.sizes.len()), (0, 0, 0));
    let stats = it.sender.stats();
    assert_eq!((stats.lost(), stats.mtu_probes, stats.loss_events), (3, 3, 0));
    drop(heard);
    assert_eq!(it.sender.mtu_probe(ms(400.0)), Some(1268), "halfway to the refused size");
}

/// A data packet lost beside the probe is a congestion event as ever.
#[test]
fn data_lost_beside_a_probe() {
    let mut it = Searching::new(1 << 20);
    it.probe(100.0);
    for number in (0..4).map(|_| it.send(100.0)).collect::<Vec<_>>().into_iter().skip(1) {
        it.ack(150.0, number);
    }
    let heard = it.heard.lock().unwrap();
    assert_eq!((heard.lost, heard.reduced), (1, 1));
}

/// The size rises with the acknowledgement, and the controller is told.
#[test]
fn an_acknowledged_size_is_used() {
    let mut it = Searching::new(1 << 20);
    for (at, size) in [(100.0, 1336), (150.0, 1404), (200.0, 1438), (250.0, 1455)] {
        let (number, bytes) = it.probe(at);
        assert_eq!(bytes, size);
        it.ack(at + 50.0, number);
        assert_eq!((it.sender.datagram_size(), it.sender.stats().datagram_size), (size, Some(size)));
    }
    assert_eq!(it.heard.lock().unwrap().sizes, [1336, 1404, 1438, 1455]);
    assert_eq!(it.sender.mtu_probe(ms(400.0)), None);
}

/// A probe waits for room in the window, and never exceeds it.
#[test]
fn inside_the_window() {
    let mut it = Searching::new(2 * 1336);
    it.send(60.0);
    it.send(60.0);
    let bytes = it.sender.mtu_probe(ms(60.0)).unwrap();
    assert_eq!(it.sender.can_send(ms(60.0), bytes), SendDecision::WindowFull);
    it.ack(110.0, 1);
    assert_eq!(it.sender.can_send(ms(110.0), bytes), SendDecision::Now);
    assert_eq!(Searching::new(1335).sender.mtu_probe(ms(60.0)), None);
}

/// A timeout sends packets of the base size, which pass even if the MTU has fallen. Their
/// acknowledgement reveals three losses, and the size falls back.
#[test]
fn a_timeout_finds_a_black_hole() {
    let mut it = Searching::new(1 << 20);
    let (number, _) = it.probe(100.0);
    it.ack(150.0, number);
    for _ in 0..3 {
        assert_eq!(it.send(200.0), it.sender.stats().sent - 1);
    }
    let due: Time = it.sender.next_timer().unwrap();
    it.sender.on_timer(due, &mut it.out);
    assert!(it.out.probe && it.sender.mtu_probe(due).is_none(), "data first");
    assert_eq!(it.sender.datagram_size(), BASE_DATAGRAM);
    let at = due.as_secs_f64() * 1e3;
    let number = it.send(at);
    it.send(at);
    assert_eq!(it.sender.datagram_size(), 1336, "the timeout's probes are sent");
    it.ack(at + 50.0, number);
    assert_eq!(it.out.lost.len(), 3);
    assert_eq!((it.sender.datagram_size(), it.heard.lock().unwrap().sizes.last()), (1200, Some(&1200)));
    it.send(at + 50.0); // one packet may leave to speed up recovery
    assert_eq!(it.sender.mtu_probe(ms(at + 599_000.0)), None);
    assert_eq!(it.sender.mtu_probe(ms(at + 601_000.0)), Some(1336));
}

/// With three spaces the search waits until the handshake is confirmed. The peer limits it. Another
/// path starts it again.
#[test]
fn spaces_and_paths() {
    let heard = Arc::new(Mutex::new(Heard { cwnd: 1 << 20, ..Heard::default() }));
    let config = Config { mtu_search: true, ..Config::quic() };
    let path = PathInfo { max_datagram_size: 1472, paced: false, seed: 1 };
    let controller = || Box::new(Listener(Arc::clone(&heard)));
    let mut sender: Sender<Piece> = Sender::with_spaces(config, controller(), path, Role::Client);
    let mut out = AckEffects::default();
    sender.limit_datagram_size(1400);
    sender.on_handshake(ms(50.0), ms(50.0) - Time::ZERO, &mut out);
    assert_eq!(sender.mtu_probe(ms(50.0)), None);
    sender.on_handshake_confirmed(ms(50.0));
    let bytes = sender.mtu_probe(ms(50.0)).unwrap();
    assert_eq!(bytes, 1300, "halfway to 1400");
    let space = ackclock_recovery::SpaceId::Application;
    let number = sender.on_sent_in(ms(50.0), space, bytes, Ecn::NotEct, Piece(0, 0), true);
    sender.on_mtu_probe_sent(bytes);
    let frame = ackclock_recovery::AckFrame { ranges: vec![(number, number)], ..Default::default() };
    sender.on_ack_in(ms(100.0), space, &frame, None, &mut out).unwrap();
    assert_eq!(sender.datagram_size(), 1300);
    sender.on_path_change(ms(150.0), controller(), path);
    assert_eq!((sender.datagram_size(), sender.stats().datagram_size), (1200, Some(1200)));
    sender.limit_datagram_size(1100);
    assert_eq!(sender.datagram_size(), 1100);
}
