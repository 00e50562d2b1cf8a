use std::sync::{Arc, Mutex};

use recovery::congestion::algorithms::reno::new_reno;
use recovery::congestion::{Ack, Congestion, Needs, Parameters};

use super::*;

const MTU: u64 = 1200;
const RTT: std::time::Duration = std::time::Duration::from_millis(50);

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

#[allow(clippy::disallowed_methods, reason = "any moment will do")]
fn ledger(controller: Box<dyn Controller>) -> Ledger {
    Ledger::new(controller, PathInfo::default(), Instant::now())
}

/// The initial window of ten packets, numbers 0 to 9, left at 0.
fn ten(controller: Box<dyn Controller>) -> Ledger {
    let mut ledger = ledger(controller);
    for pn in 0..10 {
        ledger.sent(ms(0), pn, MTU);
    }
    ledger
}

fn reno() -> Box<dyn Controller> {
    new_reno::Params::default().build(PathInfo::default())
}

fn ack(ledger: &mut Ledger, now: Time, numbers: std::ops::Range<u64>, in_flight: u64) {
    for pn in numbers {
        ledger.acked(now, pn, |_| true, RTT);
    }
    ledger.end_of_packets(now, in_flight, false, |serial, _| serial);
}

/// Slow start: the window grows by what arrives (RFC 9002 section 7.3.1).
#[test]
fn what_arrives_opens_the_window() {
    let mut ledger = ten(reno());
    ledger.window_full();
    ack(&mut ledger, ms(50), 0..2, 8 * MTU);
    assert_eq!(ledger.control().cwnd, 12 * MTU);
}

/// Losses and marks come after the end of their ACK, and count as before it: one reduction from the window before, without growth.
#[test]
fn losses_and_marks_of_an_ack_come_before_it() {
    let mut ledger = ten(reno());
    ledger.window_full();
    ack(&mut ledger, ms(50), 4..6, 8 * MTU);
    ledger.lost(ms(50), 0, |_| true);
    ledger.lost(ms(50), 1, |_| true);
    ledger.end_of_losses(ms(50), false);
    ledger.marked(ms(50));
    assert_eq!(ledger.control().cwnd, 5 * MTU);
    assert_eq!(ledger.feed.bytes_in_flight(), 6 * MTU);
}

/// Losses that a timer finds, behind an ACK that nobody has asked about.
#[test]
fn losses_without_an_ack() {
    let mut ledger = ten(reno());
    ledger.window_full();
    ack(&mut ledger, ms(50), 4..5, 9 * MTU);
    ledger.lost_up_to(ms(60), 3, 2 * MTU);
    ledger.end_of_losses(ms(60), false);
    assert_eq!(ledger.control().cwnd, 11 * MTU / 2);
    assert_eq!(ledger.feed.bytes_in_flight(), 7 * MTU);
}

#[test]
fn persistent_congestion_collapses_the_window() {
    let mut ledger = ten(reno());
    ack(&mut ledger, ms(50), 9..10, 9 * MTU);
    (0..9).for_each(|pn| ledger.lost(ms(50), pn, |_| true));
    ledger.end_of_losses(ms(50), true);
    assert_eq!(ledger.control().cwnd, 2 * MTU);
}

/// A mark alone reduces once in a round trip.
#[test]
fn marks_reduce_once() {
    let mut ledger = ten(reno());
    ack(&mut ledger, ms(50), 0..2, 8 * MTU);
    ledger.marked(ms(50));
    ack(&mut ledger, ms(51), 2..4, 6 * MTU);
    ledger.marked(ms(51));
    assert_eq!(ledger.control().cwnd, 5 * MTU);
}

#[test]
fn a_mistake_is_undone() {
    let mut ledger = ten(reno());
    ack(&mut ledger, ms(50), 5..6, 9 * MTU);
    let before = ledger.control().cwnd;
    ledger.lost(ms(51), 0, |_| true);
    ledger.end_of_losses(ms(51), false);
    assert!(ledger.control().cwnd < before);
    ledger.spurious();
    assert_eq!(ledger.control().cwnd, before);
}

/// Handshake packets whose keys are discarded leave the flight without a verdict.
#[test]
fn what_the_stack_forgets_is_forgotten() {
    let mut ledger = ten(reno());
    // Number 0 of another space.
    ledger.sent(ms(1), 0, 900);
    ack(&mut ledger, ms(50), 5..6, 8 * MTU + 900);
    assert_eq!(ledger.feed.bytes_in_flight(), 8 * MTU + 900, "the oldest of one packet is gone");
    ack(&mut ledger, ms(52), 0..1, 8 * MTU);
    assert_eq!(ledger.feed.bytes_in_flight(), 8 * MTU, "the other number 0");
}

#[test]
fn another_path_begins_with_the_window_of_the_first() {
    let mut ledger = ten(reno());
    ledger.window_full();
    ack(&mut ledger, ms(50), 0..4, 6 * MTU);
    let mut other = ledger.for_another_path();
    assert_eq!(other.feed.bytes_in_flight(), 0);
    assert_eq!(other.control().cwnd, 14 * MTU);
    // What was on the old path says nothing of the new one.
    ack(&mut other, ms(60), 4..6, 0);
    assert_eq!(other.control().cwnd, 14 * MTU);
}

/// What a controller is told, for what only signals show.
#[derive(Clone, Debug, Default)]
struct Told {
    acks: Vec<(u64, Duration, Duration, bool)>,
    timers: u64,
}

#[derive(Clone, Debug)]
struct Listener(Arc<Mutex<Told>>);

impl Controller for Listener {
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.0.lock().unwrap().acks.push((ack.ce, ack.min_rtt, ack.smoothed_rtt, ack.rate.is_some()));
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_timer(&mut self, _: Time) {
        self.0.lock().unwrap().timers += 1;
    }
    fn on_path_change(&mut self, _: PathInfo) {}
    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Default::default() }
    }
    fn control(&self) -> Control {
        Control { wake: ms(100), ..Control::window(20 * MTU) }
    }
}

/// Marks as one packet, RTTs of the samples though the stack begins with a smaller one, rate samples; and a timer that waits for an event.
#[test]
fn what_a_controller_is_told() {
    let told = Arc::new(Mutex::new(Told::default()));
    let mut ledger = ten(Box::new(Listener(Arc::clone(&told))));
    let initial = std::time::Duration::from_millis(333);
    ledger.acked(ms(600), 0, |_| true, initial);
    ledger.end_of_packets(ms(600), 9 * MTU, false, |serial, _| serial);
    ledger.marked(ms(600));
    let slow = Duration::from_millis(600);
    assert_eq!(told.lock().unwrap().timers, 0, "nothing has asked yet");
    ledger.control();
    assert_eq!(told.lock().unwrap().acks, [(1, slow, slow, true)]);
    assert_eq!(told.lock().unwrap().timers, 1, "due since 100 ms");
}
