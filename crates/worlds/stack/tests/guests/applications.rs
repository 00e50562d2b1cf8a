//! Pauses, short transfers and media (in messages) over noq and quinn, with the simulator's
//! sources, compared with simulated flows.

use scenario::{Connection, FlowConfig, Scenario};
use units::{Duration, Time};

use crate::common::*;
use crate::{OTHERS, on};

fn minute(flow: FlowConfig) -> Scenario {
    let series = Some(Duration::from_millis(500));
    Scenario { series, ..Scenario::new(link(), [flow], Duration::from_secs(60)) }
}

/// Data that the stack has accepted before a pause is still sent: at most two windows. The flow
/// continues after the pause.
#[test]
fn pauses() {
    let span = (Time::from_millis(10_000), Time::from_millis(50_000));
    let scenario = minute(FlowConfig { pauses: vec![span], ..flow("cubic") });
    let model = on_simulator(&scenario);
    for stack in OTHERS {
        let outcome = on(stack, &scenario);
        let [there, here] = [&model, &outcome].map(|outcome| outcome.flows[0].delivered);
        println!("{stack:?}: {there} and {here} bytes");
        // Twenty seconds at 10 Mbit/s, plus two windows of 100 packets.
        assert!(more(here as f64, there as f64).abs() < 0.02, "{stack:?}: {here} for {there}");
        let silent = &outcome.series.flows[0].goodput_mbit_s.to_vec()[21..99];
        assert!(silent.iter().all(|rate| *rate == 0.0), "{stack:?}: {silent:?}");
    }
}

#[test]
fn short_transfers() {
    for connection in [Connection::New, Connection::Kept] {
        let scenario = minute(objects(connection));
        let there = on_simulator(&scenario).flows[0].objects.clone().unwrap().time;
        for stack in OTHERS {
            let outcome = on(stack, &scenario);
            let here = outcome.flows[0].objects.clone().unwrap().time;
            println!(
                "{stack:?}, {connection:?}: {} and {} objects, mean {:.1} and {:.1} ms",
                there.count(),
                here.count(),
                there.mean_ms(),
                here.mean_ms()
            );
            assert!(here.count().abs_diff(there.count()) <= 4, "{stack:?}");
            assert!(more(here.mean_ms(), there.mean_ms()).abs() < 0.1, "{stack:?}");
        }
    }
}

/// Without loss, every frame is complete, with the same delay as in the simulator. A lost packet
/// affects only its own frame.
#[test]
fn media_over_messages() {
    for (max, loss) in [(1_500_000, 0.0), (6_000_000, 0.0), (1_500_000, 0.01)] {
        let mut scenario = minute(media(max));
        scenario.link.loss = loss;
        let there = on_simulator(&scenario).flows[0].media.clone().unwrap();
        for stack in OTHERS {
            let outcome = on(stack, &scenario);
            let here = outcome.flows[0].media.clone().unwrap();
            println!("{stack:?}, {max}, {loss}: {}", frames(&there, &here));
            if loss == 0.0 {
                assert!(here.complete.abs_diff(there.complete) <= 5, "{stack:?}");
                assert!(more(here.made as f64, there.made as f64).abs() < 0.02, "{stack:?}");
                assert!(more(here.delay.mean_ms(), there.delay.mean_ms()).abs() < 0.05, "{stack:?}");
                assert_eq!((here.lost, here.skipped), (0, 0), "{stack:?}");
            } else {
                assert!(
                    here.lost > 20 && here.complete + here.lost > 1780,
                    "{stack:?}: each frame is one of both"
                );
            }
        }
    }
}

/// If a window allows less than the source's minimum rate, frames are skipped. At most one message
/// waits in the stack.
#[test]
fn frames_that_wait_too_long() {
    let scenario = minute(media_that_waits());
    let there = on_simulator(&scenario).flows[0].media.clone().unwrap();
    for stack in OTHERS {
        let here = on(stack, &scenario).flows[0].media.clone().unwrap();
        println!(
            "{stack:?}: complete {} and {}, skipped {} and {}",
            there.complete, here.complete, there.skipped, here.skipped
        );
        assert!(
            here.skipped > 1000 && more(here.skipped as f64, there.skipped as f64).abs() < 0.05,
            "{stack:?}"
        );
    }
}

#[test]
fn the_same_twice() {
    for flow in [objects(Connection::New), objects(Connection::Kept), media(1_500_000)] {
        let mut scenario = minute(flow);
        scenario.duration = Duration::from_secs(10);
        for stack in OTHERS {
            let [one, two] = [0; 2].map(|_| on(stack, &scenario));
            assert_eq!(format!("{one:?}"), format!("{two:?}"), "{stack:?}");
        }
    }
}
