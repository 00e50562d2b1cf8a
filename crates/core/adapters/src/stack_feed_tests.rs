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
fn stack_feed(controller: Box<dyn Controller>) -> StackFeed {
    StackFeed::new(controller, PathInfo::default(), Instant::now())
}

/// The initial window of ten packets, numbers 0 to 9, sent at time 0.
fn ten(controller: Box<dyn Controller>) -> StackFeed {
    let mut feed = stack_feed(controller);
    for pn in 0..10 {
        feed.sent(ms(0), pn, MTU);
    }
    feed
}

fn reno() -> Box<dyn Controller> {
    new_reno::Params::default().build(PathInfo::default())
}

fn ack(feed: &mut StackFeed, now: Time, numbers: std::ops::Range<u64>, in_flight: u64) {
    for pn in numbers {
        feed.acked(now, pn, |_| true, RTT);
    }
    feed.end_of_packets(now, in_flight, false, |serial, _| serial);
}

/// Slow start: the window grows by what arrives (RFC 9002 section 7.3.1).
#[test]
fn what_arrives_opens_the_window() {
    let mut feed = ten(reno());
    feed.window_full();
    ack(&mut feed, ms(50), 0..2, 8 * MTU);
    assert_eq!(feed.control().cwnd, 12 * MTU);
}

/// Losses and marks follow the end of their ACK but count as before it: one reduction from the old
/// window, and no growth.
#[test]
fn losses_and_marks_of_an_ack_come_before_it() {
    let mut feed = ten(reno());
    feed.window_full();
    ack(&mut feed, ms(50), 4..6, 8 * MTU);
    feed.lost(ms(50), 0, |_| true);
    feed.lost(ms(50), 1, |_| true);
    feed.end_of_losses(ms(50), false);
    feed.marked(ms(50));
    assert_eq!(feed.control().cwnd, 5 * MTU);
    assert_eq!(feed.feed.bytes_in_flight(), 6 * MTU);
}

/// A timer finds losses after an ACK, with no request for the window between.
#[test]
fn losses_without_an_ack() {
    let mut feed = ten(reno());
    feed.window_full();
    ack(&mut feed, ms(50), 4..5, 9 * MTU);
    feed.lost_up_to(ms(60), 3, 2 * MTU);
    feed.end_of_losses(ms(60), false);
    assert_eq!(feed.control().cwnd, 11 * MTU / 2);
    assert_eq!(feed.feed.bytes_in_flight(), 7 * MTU);
}

#[test]
fn persistent_congestion_collapses_the_window() {
    let mut feed = ten(reno());
    ack(&mut feed, ms(50), 9..10, 9 * MTU);
    (0..9).for_each(|pn| feed.lost(ms(50), pn, |_| true));
    feed.end_of_losses(ms(50), true);
    assert_eq!(feed.control().cwnd, 2 * MTU);
}

/// Marks alone reduce the window once per round trip.
#[test]
fn marks_reduce_once() {
    let mut feed = ten(reno());
    ack(&mut feed, ms(50), 0..2, 8 * MTU);
    feed.marked(ms(50));
    ack(&mut feed, ms(51), 2..4, 6 * MTU);
    feed.marked(ms(51));
    assert_eq!(feed.control().cwnd, 5 * MTU);
}

#[test]
fn a_mistake_is_undone() {
    let mut feed = ten(reno());
    ack(&mut feed, ms(50), 5..6, 9 * MTU);
    let before = feed.control().cwnd;
    feed.lost(ms(51), 0, |_| true);
    feed.end_of_losses(ms(51), false);
    assert!(feed.control().cwnd < before);
    feed.spurious();
    assert_eq!(feed.control().cwnd, before);
}

/// Handshake packets whose keys are discarded leave flight without being acknowledged or lost.
#[test]
fn what_the_stack_forgets_is_forgotten() {
    let mut feed = ten(reno());
    // Number 0 of another space.
    feed.sent(ms(1), 0, 900);
    ack(&mut feed, ms(50), 5..6, 8 * MTU + 900);
    assert_eq!(feed.feed.bytes_in_flight(), 8 * MTU + 900, "the oldest of one packet is gone");
    ack(&mut feed, ms(52), 0..1, 8 * MTU);
    assert_eq!(feed.feed.bytes_in_flight(), 8 * MTU, "the other number 0");
}

#[test]
fn another_path_begins_with_the_window_of_the_first() {
    let mut feed = ten(reno());
    feed.window_full();
    ack(&mut feed, ms(50), 0..4, 6 * MTU);
    let mut other = feed.for_new_path();
    assert_eq!(other.feed.bytes_in_flight(), 0);
    assert_eq!(other.control().cwnd, 14 * MTU);
    // Packets of the old path say nothing about the new one.
    ack(&mut other, ms(60), 4..6, 0);
    assert_eq!(other.control().cwnd, 14 * MTU);
}

/// Calls that a controller receives, for effects that only the signals show.
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

/// Marks count as one packet, RTTs come from samples although the stack starts lower, rate samples
/// arrive, and a timer waits for an event.
#[test]
fn what_a_controller_is_told() {
    let told = Arc::new(Mutex::new(Told::default()));
    let mut feed = ten(Box::new(Listener(Arc::clone(&told))));
    let initial = std::time::Duration::from_millis(333);
    feed.acked(ms(600), 0, |_| true, initial);
    feed.end_of_packets(ms(600), 9 * MTU, false, |serial, _| serial);
    feed.marked(ms(600));
    let slow = Duration::from_millis(600);
    assert_eq!(told.lock().unwrap().timers, 0, "nothing has asked yet");
    feed.control();
    assert_eq!(told.lock().unwrap().acks, [(1, slow, slow, true)]);
    assert_eq!(told.lock().unwrap().timers, 1, "due since 100 ms");
}
