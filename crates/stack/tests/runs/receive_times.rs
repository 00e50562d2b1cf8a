//! Receive times in ACK frames (draft-ietf-quic-receive-ts-02): what controllers of one-way delay make of them beside the simulator, that they are
//! the link's, and what is without them.

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

/// Controllers of one-way delay.
const BY_DELAY: [&str; 4] = ["quic-dc", "dccc", "nada", "gcc"];
/// Starts of the second flow that are tried.
const STARTS: u64 = 5;

/// So many flows of this controller that always have data, the last of which begins so late, measured from 10 s on, behind a queue of two BDP.
fn flows(name: &str, number: usize, late: Duration) -> Scenario {
    let mut flows = vec![flow(name); number];
    for flow in &mut flows {
        if name == "nada" {
            // As fast as the link allows, and not the draft's 1.5 Mbit/s of a camera.
            flow.algorithm = nada::Params { rmax: Rate(20_000_000), ..nada::Params::default() }.into();
        }
    }
    flows[number - 1].start = Time::ZERO + late;
    let mut scenario = Scenario::new(link(), flows, Duration::from_secs(60));
    scenario.link.limit = Limit::Bytes(Bytes(125_000));
    scenario.measure = Some((Time::from_millis(10_000), Time::ZERO + scenario.duration));
    scenario
}

/// Goodput in Mbit/s, mean RTT and mean queue delay in ms, of the flows together.
fn figures(outcome: &Outcome) -> [f64; 3] {
    let flows = &outcome.flows;
    let mean = |of: &dyn Fn(usize) -> f64| (0..flows.len()).map(of).sum::<f64>() / flows.len() as f64;
    [
        mean(&|n| goodput(outcome, n)),
        mean(&|n| flows[n].totals.rtt.mean_ms()),
        mean(&|n| flows[n].totals.queue_delay.mean_ms()),
    ]
}

/// Of each figure the median.
fn medians(runs: &[[f64; 3]]) -> [f64; 3] {
    [0, 1, 2].map(|n| {
        let mut all: Vec<f64> = runs.iter().map(|run| run[n]).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    })
}

/// The bar: 3 % of the simulator's goodput, mean RTT and mean queue delay. Where two flows share the link, a millisecond of the second one's start
/// moves the queue of the simulator alone by up to 6 % (GCC: which packets meet), hence medians over starts.
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

/// When packets left, and when they arrived, by their numbers.
type Told = (Vec<(u64, Time)>, BTreeMap<u64, i64>);

thread_local! {
    /// What the controller of this thread's run was told.
    static TOLD: RefCell<Told> = RefCell::default();
}

congestion::params! {
    /// The window, packets.
    window: u64 = 80,
}

algorithm! {
    /// A window that never moves, and writes down receive times.
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

/// One-way delays as the controller knows them are those of the link's log, to the quantum of 2^exponent microseconds: with a queue that fills, drops,
/// and packets that overtake others.
#[test]
fn one_way_delays_are_the_links() {
    for exponent in [0, 3, 10, 13] {
        let mut scenario = Scenario { trace: true, ..transfer("fixed-window") };
        scenario.flows[0].transfer = Some(3_000_000);
        scenario.flows[0].algorithm = Entry::of::<Params>().algorithm();
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
        // The controller counts packets of all spaces, a trace in each: in the order of departure they are the same.
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

/// Without the extension the connection works, the controller goes by what else it knows, and the record says that no receive time came: what the
/// metric `receive_times` shows. QUIC-DC is left with its window's rule, and fills the queue; those for cameras stay at their smallest rate.
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
        // Packets of the handshake have none.
        assert!(share > 0.98, "{name}: {share}");
        assert_eq!((without.stats.used_stamps, without.stats.unused_stamps), (0, 0), "{name}");
        assert_eq!(without.stats.delay_events, 0, "{name}");
        assert_eq!(with.delivered, 1_000_000, "{name}");
        assert!(without.delivered > 700_000 && (name != "quic-dc" || without.finished.is_some()), "{name}");
    }
}
