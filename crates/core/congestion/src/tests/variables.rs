//! Tests of the variables that controllers list: all of them are reported, and in the listed units.

use std::collections::BTreeMap;

use super::path::{RTT, alone};
use super::read::named;
use crate::testing::fixtures::path;
use crate::{Algorithm, Controller};
use units::{Rate, Time};

/// Rate of the link, in Mbit/s.
const MBIT: u64 = 2;

fn told(cc: &dyn Controller) -> BTreeMap<&'static str, f64> {
    let mut all = BTreeMap::new();
    cc.trace(&mut |name, value| {
        all.insert(name, value);
    });
    all
}

/// Runs a single flow for half a minute on a link with two BDPs of buffer. Returns the last value
/// of every variable.
fn run(algorithm: &Algorithm) -> BTreeMap<&'static str, f64> {
    let mut path = alone(&named(algorithm), MBIT, 2.0);
    let mut last = BTreeMap::new();
    for step in 1..300 {
        path.run_to(Time::from_millis(100 * step));
        last.extend(told(&*path.flow().cc));
    }
    last
}

/// A new controller reports exactly the variables that always have a value. In a run, each variable
/// is reported at some time.
#[test]
fn what_comes_later_comes() {
    for algorithm in Algorithm::all() {
        let fresh = told(&*algorithm.build(path(1200)));
        let after = run(&algorithm);
        for variable in algorithm.variables() {
            let name = variable.name;
            assert_eq!(fresh.contains_key(name), variable.always, "{} {name}", algorithm.name());
            assert!(after.contains_key(name), "{} {name}", algorithm.name());
        }
    }
}

/// Values not yet measured are infinite. A time of centuries would distort every mean and every
/// axis.
#[test]
fn what_is_not_known_yet_is_no_number() {
    for algorithm in Algorithm::all() {
        for (name, value) in told(&*algorithm.build(path(1200))) {
            assert!(value.abs() < 1e15 || value.is_infinite(), "{} {name}: {value}", algorithm.name());
        }
        let times = algorithm.variables().iter().filter(|variable| variable.unit == "s");
        let fresh = told(&*algorithm.build(path(1200)));
        for name in times.map(|variable| variable.name) {
            let value = fresh.get(name).copied().unwrap_or(0.0);
            assert!(value < 1e4 || value.is_infinite(), "{} {name}: {value} s", algorithm.name());
        }
    }
}

/// A wrong unit is off by a factor of 8 or 1000. On a link of 2 Mbit/s a rate in bit/s is a few
/// millions, in bytes/s an eighth of that, and a time in seconds is far below one. Zero and
/// infinity are ignored.
#[test]
fn units_are_those_of_the_values() {
    let rate = Rate(MBIT * 1_000_000);
    let (bits, bytes, bdp) = (rate.0 as f64, rate.bytes_per_sec(), rate.bytes_in(RTT) as f64);
    let mut wrong = Vec::new();
    for algorithm in Algorithm::all() {
        let after = run(&algorithm);
        for variable in algorithm.variables() {
            let Some(value) = after.get(variable.name).copied().filter(|v| *v != 0.0 && v.is_finite()) else {
                continue;
            };
            let (low, high) = match variable.unit {
                "bit/s" => (bits / 2.5, bits * 2.5),
                "bytes/s" => (bytes / 2.5, bytes * 2.5),
                // From one packet on, because ACKs of single packets are hardly aggregated.
                "bytes" => (1200.0, bdp * 8.0),
                // Up to BBRv3's wait for a probe, 2 to 3 s.
                "s" => (1e-7, 3.0),
                "s^2" => (1e-9, 1e-3),
                // From a tenth on: growth per round trip, as Illinois's alpha.
                "packets" => (0.1, 1e6),
                "rounds" => (0.0, 1000.0),
                "" => (0.0, 10.0),
                unit => panic!("{unit}"),
            };
            let size = value.abs();
            if !(low..=high).contains(&size) {
                wrong.push(format!("{} {} {value} {}", algorithm.name(), variable.name, variable.unit));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
