//! Guests against closed forms: arrival of their datagrams, marks and drops, start and end.

use std::sync::{Arc, Mutex};

use crate::common::*;
use ackclock_sim::{Simulation, run_with_guests};
use congestion::Controller;
use link::aqm::red;
use link::{Aqm, Limit, LinkConfig, Threshold};
use recovery::Stats;
use scenario::guest::{Arrival, Datagram, Snapshot};
use scenario::{Back, End, FlowConfig, Guest, Guests, Outcome, Record, Route, Scenario, Watch};
use units::{Duration, Ecn, Rate, Time};

/// Datagrams that a guest received: time, end, first byte, ECN field, departure.
type Seen = Arc<Mutex<Vec<(Time, End, u8, Ecn, Time)>>>;

/// Sends a burst of datagrams at the start and at every interval. The other end answers each with
/// one of 100 bytes.
struct Echo {
    seen: Seen,
    burst: u8,
    size: u32,
    interval: Duration,
    /// Number of answers after which it is done.
    enough: usize,
    /// Number of answers after which it fails.
    bearable: usize,
    answers: usize,
    next: Time,
    waiting: Vec<Datagram>,
}

impl Echo {
    fn new(burst: u8, seen: &Seen) -> Self {
        let (interval, enough, bearable) = (Duration::from_secs(100), usize::MAX, usize::MAX);
        let (answers, next, waiting) = (0, Time::NEVER, Vec::new());
        Self { seen: Arc::clone(seen), burst, size: 1250, interval, enough, bearable, answers, next, waiting }
    }
}

impl Guest for Echo {
    fn deliver(&mut self, now: Time, arrival: Arrival, record: &mut Record) {
        let Arrival { at, sent, ecn, bytes, .. } = arrival;
        self.seen.lock().unwrap().push((now, at, bytes[0], ecn, sent));
        match at {
            End::Receiver => {
                record.on_received(now, now - sent, u64::from(self.size), ecn, None);
                let from = End::Receiver;
                self.waiting.push(Datagram { from, size: 100, ecn: Ecn::NotEct, bare: false, bytes });
            }
            End::Sender => self.answers += 1,
        }
    }
    fn next(&mut self) -> Time {
        self.next
    }
    fn on_time(&mut self, now: Time, _: &mut Record) {
        for number in (0..self.burst).rev() {
            let bare = number % 2 == 1;
            let (from, size, ecn) = (End::Sender, self.size, Ecn::Ect0);
            self.waiting.push(Datagram { from, size, ecn, bare, bytes: vec![number; 10] });
        }
        self.next = now + self.interval;
    }
    fn transmit(&mut self, _: Time, _: &mut Record) -> Option<Datagram> {
        self.waiting.pop()
    }
    fn is_done(&self) -> bool {
        self.answers >= self.enough
    }
    fn failure(&self) -> Option<String> {
        (self.answers >= self.bearable).then(|| "KeyError: 'cwnd'".to_owned())
    }
    fn observe(&self) -> Snapshot {
        Snapshot { cwnd: Some(77), ..Snapshot::default() }
    }
    fn stats(&self) -> Stats {
        Stats { sent: 5, ..Stats::default() }
    }
    fn controller(&self) -> Option<&dyn Controller> {
        None
    }
}

/// Returns a link of 10 Mbit/s and 25 ms: a datagram of 1250 bytes takes 1 ms.
fn link() -> LinkConfig {
    LinkConfig { delay: Duration::from_millis(25), ..LinkConfig::plain(RATE) }
}

/// Returns a flow with a round trip of 60 ms, from 10 ms on.
fn place() -> FlowConfig {
    FlowConfig { start: Time::from_millis(10), rtt: Duration::from_millis(60), ..quic_flow("name = 'cubic'") }
}

fn with(scenario: &Scenario, guest: Echo) -> Outcome {
    run_with_guests(scenario, vec![(0, Box::new(guest))], &Watch::default(), None).unwrap()
}

fn times(seen: &Seen, end: End) -> Vec<f64> {
    let seen = seen.lock().unwrap();
    seen.iter().filter(|seen| seen.1 == end).map(|seen| seen.0.0 as f64 / 1e6).collect()
}

/// The link, 5 ms behind it, and 30 ms back.
#[test]
fn datagrams_take_the_way_of_the_flow() {
    let seen = Seen::default();
    let mut scenario = Scenario::new(link(), [place()], Duration::from_secs(1));
    scenario.series = Some(Duration::from_millis(100));
    let out = with(&scenario, Echo { enough: 3, ..Echo::new(3, &seen) });
    assert_eq!(times(&seen, End::Receiver), [41.0, 42.0, 43.0]);
    assert_eq!(times(&seen, End::Sender), [71.0, 72.0, 73.0]);
    assert!(
        seen.lock()
            .unwrap()
            .iter()
            .filter(|seen| seen.1 == End::Receiver)
            .all(|seen| seen.4 == Time::from_millis(10))
    );
    let flow = &out.flows[0];
    assert_eq!((flow.started, flow.finished), (Time::from_millis(10), Some(Time::from_millis(73))));
    assert_eq!(
        (out.end, out.link.delivered.packets),
        (Time::from_millis(73), 3),
        "there is no other traffic"
    );
    assert_eq!((flow.stats.sent, flow.delivered, flow.totals.dropped), (5, 3750, 0));
    assert_eq!(flow.totals.queue_delay.mean_ms(), 2.0, "1, 2 and 3 ms in queue and transmission");
}

/// A return link of 1 Mbit/s: 100 bytes take 0.8 ms. With 10 ms of its own, 20 ms are left behind
/// it.
#[test]
fn answers_cross_the_links_back() {
    let seen = Seen::default();
    let back = Back { route: Route { first: 1, last: u16::MAX }, size: 999 };
    let mut scenario =
        Scenario::new(link(), [FlowConfig { back: Some(back), ..place() }], Duration::from_secs(1));
    let delay = Duration::from_millis(10);
    scenario.reverse = vec![LinkConfig { delay, ..LinkConfig::plain(Rate(1_000_000)) }];
    scenario.reverse_names = vec!["back".to_owned()];
    let out = with(&scenario, Echo { enough: 2, ..Echo::new(2, &seen) });
    assert_eq!(times(&seen, End::Sender), [71.8, 72.8]);
    assert_eq!((out.flows[0].totals.feedback, out.reverse[0].delivered.bytes), (2, 200));
}

/// A guest gets the bytes as the link leaves them, and both copies of a duplicated datagram.
#[test]
fn damaged_and_doubled_datagrams_arrive() {
    let seen = Seen::default();
    let faulty = LinkConfig { corrupt: 1.0, duplicate: 1.0, ..link() };
    let out = with(&Scenario::new(faulty, [place()], Duration::from_secs(1)), Echo::new(3, &seen));
    let seen = seen.lock().unwrap();
    let arrived: Vec<_> = seen.iter().filter(|seen| seen.1 == End::Receiver).collect();
    assert_eq!((arrived.len(), out.link.corrupted.packets, out.link.duplicated.packets), (6, 3, 3));
    let whole: Vec<u8> = arrived.iter().skip(1).step_by(2).map(|seen| seen.2).collect();
    assert_eq!(whole, [0, 1, 2], "copies are intact");
    assert_eq!(
        (out.flows[0].totals.dropped, out.flows[0].delivered),
        (0, 6 * 1250),
        "the guest itself must detect damage"
    );
}

/// One datagram waits behind the one in transmission, and no more.
#[test]
fn drops_are_counted_by_kind() {
    let seen = Seen::default();
    let scenario =
        Scenario::new(LinkConfig { limit: Limit::Packets(1), ..link() }, [place()], Duration::from_secs(1));
    let out = with(&scenario, Echo::new(5, &seen));
    let totals = &out.flows[0].totals;
    assert_eq!((totals.dropped, totals.acks_dropped), (3, 1), "2, 3 and 4, of which 3 held only ACKs");
    let arrived: Vec<u8> =
        seen.lock().unwrap().iter().filter(|s| s.1 == End::Receiver).map(|s| s.2).collect();
    assert_eq!(arrived, [0, 1]);
    assert_eq!(out.end, Time::ZERO + scenario.duration);
}

#[test]
fn marks_change_on_the_way() {
    let seen = Seen::default();
    let aqm = Aqm::Red(red::Params::mark_above(Threshold::OfLimit(0.5)));
    let scenario = Scenario::new(
        LinkConfig { limit: Limit::Packets(8), aqm, ..link() },
        [place()],
        Duration::from_secs(1),
    );
    let out = with(&scenario, Echo::new(8, &seen));
    let marks: Vec<Ecn> = seen.lock().unwrap().iter().filter(|s| s.1 == End::Receiver).map(|s| s.3).collect();
    assert_eq!((marks.len(), marks[0], *marks.last().unwrap()), (8, Ecn::Ect0, Ecn::Ce));
    assert_eq!(out.flows[0].ecn.ce, marks.iter().filter(|mark| **mark == Ecn::Ce).count() as u64);
}

/// A guest is called at its start and at its intervals, and not after its stop. The run goes on.
#[test]
fn it_stops_with_its_flow() {
    let seen = Seen::default();
    let flow = FlowConfig { stop: Some(Time::from_millis(500)), ..place() };
    let scenario = Scenario::new(link(), [flow], Duration::from_secs(2));
    let out = with(&scenario, Echo { interval: Duration::from_millis(100), ..Echo::new(1, &seen) });
    assert_eq!(times(&seen, End::Receiver), [41.0, 141.0, 241.0, 341.0, 441.0]);
    assert_eq!((out.flows[0].finished, out.end), (Some(Time::from_millis(500)), Time::from_millis(2000)));
}

/// The second answer arrives at 72 ms, beside a flow that would go on.
#[test]
fn a_failure_ends_the_run_at_once() {
    let seen = Seen::default();
    let scenario = Scenario::new(link(), [place(), quic_flow("name = 'cubic'")], Duration::from_secs(1));
    let watch = Watch::default();
    let guests: Guests = vec![(0, Box::new(Echo { bearable: 2, ..Echo::new(3, &seen) }))];
    let mut simulation = Simulation::new(&scenario, guests);
    assert!(simulation.step(Time::from_millis(71), &watch, &mut None) && !simulation.is_done());
    assert!(simulation.step(Time::NEVER, &watch, &mut None) && simulation.is_done());
    assert!(!simulation.snapshot().flows[0].sample.running);
    let out = simulation.finish();
    let failed = out.flows[0].broken.clone().unwrap();
    assert_eq!(failed, (out.end, "KeyError: 'cwnd'".to_owned()));
    assert!(out.end >= Time::from_millis(72) && out.end < Time::from_millis(80), "{:?}", out.end);
    assert_eq!((out.flows[0].finished, out.flows[1].broken.is_none()), (None, true));
    assert_eq!(times(&seen, End::Sender).len(), 2, "nothing is delivered to it any more");
}

/// A guest that always wants to be called now does not stop time. Guests for unknown flows are
/// ignored.
#[test]
fn nobody_stops_the_time() {
    let seen = Seen::default();
    let mut scenario = Scenario::new(link(), [place()], Duration::from_millis(11));
    scenario.flows[0].start = Time(10_999_000);
    let guest = Echo { interval: Duration::ZERO, ..Echo::new(0, &seen) };
    let other = Echo::new(1, &seen);
    let guests: Guests = vec![(9, Box::new(other)), (0, Box::new(guest))];
    let out = run_with_guests(&scenario, guests, &Watch::default(), None).unwrap();
    assert_eq!((out.events, seen.lock().unwrap().len()), (1001, 0), "one event per nanosecond");
}

/// Without guests the run is the same. Beside a guest that sends nothing it is too, except for the
/// number of events.
#[test]
fn flows_do_not_notice() {
    let flows = vec![quic_flow("name = 'cubic'"), tcp_flow("name = 'tcp-reno'"), quic_flow("name = 'bbr3'")];
    let alone = scenario(1.0, 10, flows);
    let plain = run(&alone);
    let same = run_with_guests(&alone, Vec::new(), &Watch::default(), None).unwrap();
    assert_eq!(format!("{plain:?}"), format!("{same:?}"));
    let beside = Scenario { flows: [alone.flows.clone(), vec![place()]].concat(), ..alone };
    let seen = Seen::default();
    let silent: Guests = vec![(3, Box::new(Echo::new(0, &seen)))];
    let more = run_with_guests(&beside, silent, &Watch::default(), None).unwrap();
    assert_eq!(format!("{:?}", plain.flows), format!("{:?}", &more.flows[..3]));
}

/// A turn of a guest may take a fraction of a millisecond. So a run that is to stop looks at that
/// after some hundred turns.
#[test]
fn a_run_with_a_guest_stops_soon() {
    let seen = Seen::default();
    let watch = Watch::default();
    watch.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let scenario = Scenario::new(link(), [place()], Duration::from_secs(3600));
    let guest = Echo { interval: Duration::from_millis(2), ..Echo::new(1, &seen) };
    run_with_guests(&scenario, vec![(0, Box::new(guest))], &watch, None);
    let arrivals = seen.lock().unwrap().len();
    assert!((1..1100).contains(&arrivals), "{arrivals}");
}
