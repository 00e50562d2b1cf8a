//! Receive times in ACK frames (draft-ietf-quic-receive-ts-02). Delay-based controllers behave as
//! in the simulator, the times are the link's, and connections work without them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ackclock_stack::Cipher;
use congestion::algorithms::media::nada;
use congestion::{Ack, Cause, Congestion, Control, Controller, Entry, Needs, PathInfo, Sent, algorithm};
use link::{Limit, Reorder};
use scenario::trace::Event;
use scenario::{Outcome, Scenario};
use units::{Bytes, Duration, Rate, Time};

use crate::common::*;

/// Controllers that use one-way delay.
const BY_DELAY: [&str; 4] = ["quic-dc", "dccc", "nada", "gcc"];
/// Number of start times tried for the second flow.
const STARTS: u64 = 5;

/// Returns `number` bulk flows of this controller behind a queue of two BDP. The last one starts
/// `late`. Measurement starts at 10 s.
fn flows(name: &str, number: usize, late: Duration) -> Scenario {
    let mut flows = vec![flow(name); number];
    for flow in &mut flows {
        if name == "nada" {
            // As fast as the link allows, instead of the draft's limit of 1.5 Mbit/s.
            flow.algorithm = nada::Params { rmax: Rate(20_000_000), ..nada::Params::default() }.into();
        }
    }
    flows[number - 1].start = Time::ZERO + late;
    let mut scenario = Scenario::new(link(), flows, Duration::from_secs(60));
    scenario.link.limit = Limit::Bytes(Bytes(125_000));
    scenario.measure = Some((Time::from_millis(10_000), Time::ZERO + scenario.duration));
    scenario
}

/// Returns goodput in Mbit/s, RTT and queue delay in ms, each as a mean over the flows.
fn figures(outcome: &Outcome) -> [f64; 3] {
    let flows = &outcome.flows;
    let mean = |of: &dyn Fn(usize) -> f64| (0..flows.len()).map(of).sum::<f64>() / flows.len() as f64;
    [
        mean(&|n| goodput(outcome, n)),
        mean(&|n| flows[n].totals.rtt.mean_ms()),
        mean(&|n| flows[n].totals.queue_delay.mean_ms()),
    ]
}

/// Returns the median of each figure.
fn medians(runs: &[[f64; 3]]) -> [f64; 3] {
    [0, 1, 2].map(|n| {
        let mut all: Vec<f64> = runs.iter().map(|run| run[n]).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    })
}

/// Goodput, mean RTT and mean queue delay must agree with the simulator within 3 %. If two flows
/// share the link, the start of the second matters: a millisecond changes the simulator's queue by
/// up to 6 % (GCC, depending on which packets meet). Hence the medians over start times.
#[test]
fn beside_the_simulator() {
    let mut missed = Vec::new();
    for name in BY_DELAY {
        for (number, starts) in [(1, 1), (2, STARTS)] {
            let both = |n: u64| {
                let scenario = flows(name, number, Duration::from_millis(2000 + 37 * n));
                (figures(&on_simulator(&scenario)), figures(&on_stack(&scenario, Cipher::Tls)))
            };
            let (there, here): (Vec<_>, Vec<_>) = (0..starts).map(both).unzip();
            let (there, here) = (medians(&there), medians(&here));
            let apart: Vec<f64> = here.iter().zip(there).map(|(here, there)| more(*here, there)).collect();
            println!("{name}, {number} flows: {there:.3?} and {here:.3?}, {apart:.4?}");
            if apart.iter().any(|part| part.abs() >= 0.03) {
                missed.push((name, number));
            }
        }
    }
    assert_eq!(missed, []);
}

/// Sending and receive times of packets, by packet number.
type Told = (Vec<(u64, Time)>, BTreeMap<u64, i64>);

thread_local! {
    /// Times reported to the controller of this thread's run.
    static TOLD: RefCell<Told> = RefCell::default();
}

congestion::params! {
    /// Window, in packets.
    window: u64 = 80,
}

algorithm! {
    /// A fixed window that records receive times.
    "witness", Params, |p, path| Box::new(Witness(p.window * path.max_datagram_size))
}

#[derive(Clone, Debug)]
struct Witness(u64);

impl Controller for Witness {
    fn on_sent(&mut self, sent: &Sent) {
        TOLD.with_borrow_mut(|told| told.0.push((sent.pn, sent.now)));
    }
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let stamps = ack.packets.iter().filter_map(|packet| Some((packet.pn, packet.received?)));
        TOLD.with_borrow_mut(|told| told.1.extend(stamps));
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_path_change(&mut self, _: PathInfo) {}
    fn needs(&self) -> Needs {
        Needs { receive_times: true, ..Needs::default() }
    }
    fn control(&self) -> Control {
        Control::window(self.0)
    }
}

/// The controller's one-way delays agree with the link's log, to the quantum of 2^exponent
/// microseconds. The queue fills and drops, and some packets overtake others.
#[test]
fn one_way_delays_are_the_links() {
    for exponent in [0, 3, 10, 13] {
        let mut scenario = Scenario { trace: true, ..transfer("fixed-window") };
        scenario.flows[0].transfer = Some(3_000_000);
        scenario.flows[0].algorithm = Entry::for_params::<Params>().algorithm();
        scenario.flows[0].ack.timestamp_exponent = exponent;
        scenario.link.loss = 0.01;
        scenario.link.reorder = Some(Reorder { every: 50, by: Duration::from_millis(5) });
        TOLD.take();
        let outcome = on_stack(&scenario, Cipher::Tls);
        let (left, stamps) = TOLD.take();
        let flow = &outcome.flows[0];
        let logged = |trace: &Option<scenario::trace::Trace>, of: fn(&Event) -> Option<u64>| {
            let number = |(time, event): &(Time, Event)| Some((of(event)?, *time));
            trace.iter().flatten().filter_map(number).collect::<BTreeMap<_, _>>()
        };
        let departures = logged(&flow.trace, |event| match event {
            Event::Sent { pn, .. } => Some(*pn),
            _ => None,
        });
        let arrivals = logged(&flow.far_trace, |event| match event {
            Event::Received { pn, .. } => Some(*pn),
            _ => None,
        });
        // The controller counts packets over all packet number spaces, and a trace per space. The
        // order of departure is the same.
        let skipped = left.len() - departures.len();
        let quantum = 1000 << exponent;
        let mut compared = 0_u64;
        for ((serial, left), (number, departed)) in left.iter().skip(skipped).zip(&departures) {
            assert_eq!(left, departed);
            let (Some(stamp), Some(arrived)) = (stamps.get(serial), arrivals.get(number)) else { continue };
            let rest = arrived.0 as i64 - stamp;
            assert!(
                (0..quantum).contains(&rest),
                "2^{exponent} us, packet {number}: {stamp} for {arrived:?}"
            );
            compared += 1;
        }
        let acknowledged = flow.stats.acked;
        println!("2^{exponent} us: {compared} of {acknowledged} packets");
        assert!(compared as f64 > 0.98 * acknowledged as f64);
    }
}

/// Without the extension, the connection works, the controller uses its other inputs, and the
/// record shows no receive times (metric `receive_times`). QUIC-DC falls back to its window rule
/// and fills the queue. The media controllers stay at their minimum rate.
#[test]
fn without_the_extension() {
    for name in BY_DELAY {
        let run = |timestamps| {
            let mut scenario = transfer(name);
            (scenario.flows[0].ack.timestamps, scenario.flows[0].transfer) = (timestamps, Some(1_000_000));
            on_stack(&scenario, Cipher::Tls).flows.remove(0)
        };
        let (with, without) = (run(64), run(0));
        let share = with.stats.used_stamps as f64 / with.stats.acked as f64;
        println!(
            "{name}: {:.1} % with, delay events {} and {}, mean RTT {:.1} and {:.1} ms, {} and {} bytes",
            100.0 * share,
            with.stats.delay_events,
            without.stats.delay_events,
            with.totals.rtt.mean_ms(),
            without.totals.rtt.mean_ms(),
            with.delivered,
            without.delivered
        );
        // Handshake packets have no receive times.
        assert!(share > 0.98, "{name}: {share}");
        assert_eq!((without.stats.used_stamps, without.stats.unused_stamps), (0, 0), "{name}");
        assert_eq!(without.stats.delay_events, 0, "{name}");
        assert_eq!(with.delivered, 1_000_000, "{name}");
        assert!(without.delivered > 700_000 && (name != "quic-dc" || without.finished.is_some()), "{name}");
    }
}
