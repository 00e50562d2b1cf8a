//! Controllers with a timer of their own, `Control::wake`.

use std::sync::{Arc, Mutex};

use crate::common::{Piece, SIZE, ms, piece};
use ackclock_recovery::{AckEffects, AckFrame, Config, SendDecision, Sender};
use congestion::{Ack, Cause, Congestion, Control, Controller, PathInfo};
use units::{Duration, Time};

/// Opens its window by a packet every 10 ms, regardless of acknowledgements.
#[derive(Clone, Debug)]
struct Clockwork {
    packets: u64,
    wake: Time,
}

impl Controller for Clockwork {
    fn on_path_change(&mut self, _: congestion::PathInfo) {}
    fn on_ack(&mut self, _: &Ack) -> Option<Cause> {
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_timer(&mut self, _: Time) {
        self.packets += 1;
        self.wake += Duration::from_millis(10);
    }
    fn control(&self) -> Control {
        Control { wake: self.wake, ..Control::window(self.packets * SIZE) }
    }
}

fn sender(controller: impl Controller + 'static) -> Sender<Piece> {
    let path = PathInfo { max_datagram_size: SIZE, paced: false, seed: 1 };
    Sender::new(Config::quic(), Box::new(controller), path)
}

#[test]
fn opens_the_window_by_a_timer() {
    let mut sender = sender(Clockwork { packets: 1, wake: ms(10.0) });
    let mut effects = AckEffects::default();
    assert_eq!(sender.next_timer(), Some(ms(10.0)), "with nothing in flight too");
    sender.on_sent(Time::ZERO, SIZE, piece(0), false);
    assert_eq!(sender.can_send(ms(9.0), SIZE), SendDecision::WindowFull);
    sender.on_timer(ms(9.0), &mut effects);
    assert_eq!(sender.window(), SIZE, "early: nothing happens");
    for round in 1..=5 {
        let due = sender.next_timer().unwrap();
        assert_eq!(due, ms(10.0 * round as f64));
        sender.on_timer(due, &mut effects);
        assert_eq!(sender.window(), (1 + round) * SIZE);
        assert!(effects.lost.is_empty() && !effects.probe, "the probe timeout is 1 s away");
    }
    assert_eq!(sender.can_send(ms(50.0), SIZE), SendDecision::Now);
}

/// An earlier loss-recovery timer is not delayed, and one at the same time is served by the same
/// call.
#[test]
fn beside_loss_recovery() {
    let mut sender = sender(Clockwork { packets: 9, wake: ms(2024.0) });
    let mut effects = AckEffects::default();
    sender.on_sent(Time::ZERO, SIZE, piece(0), false);
    // Before a sample: 3 * 333 ms plus the peer's 25 ms, then twice that.
    assert_eq!(sender.next_timer(), Some(ms(1024.0)));
    sender.on_timer(ms(1024.0), &mut effects);
    assert!(effects.probe && sender.window() == 9 * SIZE);
    assert_eq!(sender.next_timer(), Some(ms(2024.0)));
    sender.on_timer(ms(2048.0), &mut effects);
    assert!(effects.probe && sender.window() == 10 * SIZE);
}

/// Always asks for a time in the past.
#[derive(Clone, Debug)]
struct Impatient(Arc<Mutex<Vec<Time>>>);

impl Controller for Impatient {
    fn on_path_change(&mut self, _: congestion::PathInfo) {}
    fn on_ack(&mut self, _: &Ack) -> Option<Cause> {
        self.0.lock().unwrap().clear();
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_timer(&mut self, now: Time) {
        self.0.lock().unwrap().push(now);
    }
    fn control(&self) -> Control {
        let wake = self.0.lock().unwrap().last().map_or(ms(5.0), |called| Time(called.0 - 1));
        Control { wake, ..Control::window(9 * SIZE) }
    }
}

#[test]
fn a_time_in_the_past_is_served_once() {
    let calls = Arc::default();
    let mut sender = sender(Impatient(Arc::clone(&calls)));
    let mut effects = AckEffects::default();
    sender.on_sent(ms(20.0), SIZE, piece(0), false);
    assert_eq!(sender.next_timer(), Some(ms(20.0)), "not before what has happened already");
    sender.on_timer(ms(20.0), &mut effects);
    assert_eq!(*calls.lock().unwrap(), [ms(20.0)]);
    assert_eq!(sender.next_timer(), Some(ms(1044.0)), "the probe timeout: 19.999 ms was served");
    // The next event: it asks for 5 ms again, long past.
    sender.on_ack(ms(30.0), &AckFrame { ranges: vec![(0, 0)], ..AckFrame::default() }, None, &mut effects);
    assert_eq!(sender.next_timer(), None);
}
