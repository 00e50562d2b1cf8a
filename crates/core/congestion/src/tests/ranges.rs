//! Tests of the ranges of the parameters of BBR and of mvfst's CUBIC: each has one, and an
//! experiment file accepts no other number.

use crate::{Algorithm, ParamDoc, Range};

const NAMES: [&str; 9] = [
    "bbr1",
    "bbr1-ecn-gated",
    "bbr1-picoquic",
    "bbr2",
    "bbr2-ecn-gated",
    "bbr2-mvfst",
    "bbr3",
    "bbr3-ecn-gated",
    "cubic-mvfst",
];

fn named(name: &str) -> Algorithm {
    let found = Algorithm::all().into_iter().find(|algorithm| algorithm.name() == name);
    found.expect(name)
}

fn range(name: &str, key: &str) -> Range {
    let docs = named(name).docs();
    let param = docs.iter().find(|param| param.name == key.replace('-', "_")).expect(key);
    param.range.expect(key)
}

/// Returns the numbers of a value: itself, or those of an array. `auto` and `off` stand for one.
fn numbers(value: &toml::Value) -> Vec<f64> {
    match value {
        toml::Value::Float(n) => vec![*n],
        toml::Value::Integer(n) => vec![*n as f64],
        toml::Value::Array(values) => values.iter().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

fn check(name: &str, params: &[ParamDoc], defaults: &toml::Table) {
    for param in params {
        let default = &defaults[&param.name.replace('_', "-")];
        if let (false, Some(table)) = (param.keys.is_empty(), default.as_table()) {
            check(name, param.keys, table);
            continue;
        }
        let (numbers, stands_for_one) = (numbers(default), default.as_str().is_some_and(|s| s == "auto"));
        assert!(param.range.is_some() || (numbers.is_empty() && !stands_for_one), "{name}: {}", param.name);
        assert!(numbers.iter().all(|&n| param.allowed().contains(n)), "{name}: {}", param.name);
    }
}

/// Every number has a range that contains its default.
#[test]
fn every_number_has_one() {
    for name in NAMES {
        let table = toml::Table::try_from(named(name)).expect(name);
        check(name, named(name).docs(), &table);
    }
}

#[test]
fn limits() {
    for (name, key, allowed, refused) in [
        ("bbr1", "high-gain", vec![1e-3, 1e6], vec![0.0, -1.0, 1e7]),
        ("bbr1", "pacing-gain-cycle", vec![0.1, 1e6], vec![0.0, -0.75]),
        ("bbr1", "bw-filter-len", vec![1.0, 1e9], vec![0.0]),
        ("bbr1", "min-rtt-slack", vec![0.0, 1.0], vec![-0.01, 1.01]),
        ("bbr1", "full-bw-growth", vec![1.0, 4.0], vec![0.99]),
        ("bbr1", "full-bw-rounds", vec![1.0], vec![0.0]),
        ("bbr1", "min-pipe-cwnd", vec![1.0, 1e6], vec![0.0, 1e6 + 1.0]),
        ("bbr1", "initial-window", vec![1.0, 1e6], vec![0.0, 1e6 + 1.0]),
        ("bbr1", "round-up-packets", vec![1.0, 1e6], vec![0.0]),
        ("bbr1", "unpaced-packets", vec![0.0, 10.0], vec![-1.0, 2e6]),
        ("bbr1", "probe-up-extra", vec![0.0, 1e6], vec![-1.0, 2e6]),
        ("bbr1", "pacing-margin", vec![0.0, 0.999], vec![-0.01, 1.0]),
        ("bbr1", "extra-acked-gain", vec![0.0, 1e6], vec![-1.0, 2e6]),
        ("bbr1", "lt-loss-thresh", vec![0.0, 1.5], vec![-0.1]),
        ("bbr1-ecn-gated", "gate", vec![1.0, 9.0], vec![0.99]),
        ("bbr1-ecn-gated", "raise", vec![0.1, 1.0], vec![0.0]),
        ("bbr1-picoquic", "cycle-entry", vec![0.0, 7.0], vec![8.0]),
        ("bbr1-picoquic", "rtt-slack", vec![0.0, 1.0], vec![1.1]),
        ("bbr1-picoquic", "loss-threshold", vec![0.0, 1.0], vec![-0.1, 1.1]),
        ("bbr2", "beta", vec![0.01, 1.0], vec![0.0, 1.01]),
        ("bbr2", "headroom", vec![0.0, 0.85], vec![1.0]),
        ("bbr2", "probe-up-inflight-gain", vec![1.25], vec![0.0]),
        ("bbr2", "send-quantum-low-packets", vec![1.0], vec![0.0]),
        ("bbr2", "cwnd-limited-share", vec![0.0, 0.9, 1.0], vec![-0.1, 1.1]),
        ("bbr2", "unpaced-packets", vec![0.0, 10.0], vec![-1.0, 2e6]),
        ("bbr2", "pacing-burst", vec![0.0, 5.0], vec![-1.0, 2e6]),
        ("bbr2-mvfst", "probe-up-cwnd-gain", vec![2.25], vec![0.0, 1e7]),
        ("bbr2-mvfst", "startup-full-loss-cnt", vec![1.0, 6.0], vec![0.0]),
        ("cubic-mvfst", "c", vec![1e-3, 0.4], vec![0.0]),
        ("cubic-mvfst", "beta", vec![0.01, 0.99], vec![0.0, 1.0]),
        ("cubic-mvfst", "last-max-reduction", vec![0.01, 1.0], vec![0.0, 1.01]),
        ("cubic-mvfst", "initial-window", vec![1.0, 1e6], vec![0.0, 1e6 + 1.0]),
        ("cubic-mvfst", "min-window", vec![1.0, 1e6], vec![0.0]),
        ("cubic-mvfst", "pacing-gain-hystart", vec![1e-3, 2.0], vec![0.0, 1e7]),
        ("cubic-mvfst", "pacing-burst", vec![1.0, 1e6], vec![0.0]),
        ("bbr3", "loss-thresh", vec![0.0, 0.99], vec![-0.02, 1.0]),
        ("bbr3", "probe-up-inflight-gain", vec![1.25], vec![0.0]),
        ("bbr3", "drain-max-rounds", vec![0.0, 3.0], vec![-1.0]),
        ("bbr3", "probe-rounds-spread", vec![0.0, 1.0], vec![-1.0]),
        ("bbr3", "startup-full-loss-cnt", vec![1.0, 8.0], vec![0.0]),
    ] {
        let range = range(name, key);
        for n in allowed {
            assert!(range.contains(n), "{name}: {key} = {n}: {range}");
        }
        for n in refused.into_iter().chain([f64::NAN, f64::INFINITY]) {
            assert!(!range.contains(n), "{name}: {key} = {n}: {range}");
        }
    }
}

/// 0 switches it off.
#[test]
fn extra_acked_may_be_off() {
    for text in [
        "name = 'bbr1'\nextra-acked-gain = 0",
        "name = 'bbr1'\nextra-acked-gain = 0.0\nmin-rtt-slack = 'off'",
    ] {
        assert!(super::read::read(text).is_ok(), "{text}");
    }
}
