//! Compares model and protocol packet by packet. Without a cipher and with encodings of fixed size,
//! both take the same steps at the same nanoseconds, for every controller of the registry.
//!
//! These tests revealed two defects of the model, now fixed: a receiver's timer refilled the
//! sender's pacer, and ACK delays were reported with nanosecond resolution.

use std::num::NonZeroU64;

use ackclock_stack::{EXACT_HEADER, Profile};
use congestion::{Cause, Detection, Registry};
use link::{Limit, LinkConfig, Reorder};
use quic::config::{Config, ENDLESS};
use quic::streams::WindowConfig;
use recovery::{
    AckConfig, Config as Recovery, Offload, OnGap, Paced, Pacing, Pto, Reduction, Style, TimeThreshold,
};
use scenario::trace::{Event, Metrics};
use scenario::{FlowConfig, Outcome, Scenario, Transport, Watch};
use units::{Duration, Rate, Time};

use crate::common::*;

/// Packets sent by each controller on each network, and in the long runs.
const FEW: usize = 2_000;
const MANY: usize = 100_000;
/// Packets of a group.
const EIGHT: NonZeroU64 = NonZeroU64::new(8).unwrap();
/// Rate of the link, in bits per second.
const RATE: u64 = 20_000_000;

/// Returns the networks, each with 25 ms per direction.
fn networks() -> [(&'static str, LinkConfig); 4] {
    let plain = LinkConfig { delay: Duration::from_millis(25), ..LinkConfig::plain(Rate(RATE)) };
    let (deep, reorder) = (Limit::Packets(300), Some(Reorder { every: 100, by: Duration::from_millis(5) }));
    [
        ("no loss", plain.clone()),
        ("drop-tail", LinkConfig { limit: Limit::Packets(60), ..plain.clone() }),
        ("random loss", LinkConfig { loss: 0.01, limit: deep, ..plain.clone() }),
        ("reordering", LinkConfig { limit: deep, reorder, ..plain }),
    ]
}

/// A function that changes rules of a flow.
type Set<'a> = &'a dyn Fn(&mut FlowConfig);

/// A step of a sender. Packet numbers are relative to the first one.
#[derive(Debug, PartialEq)]
enum Step {
    /// Stream offsets are not compared. The endpoint retransmits lost bytes in order of offset, and
    /// the model in order of detection. RFC 9000 section 13.3 allows both.
    Sent {
        number: u64,
        bytes: u32,
        len: u32,
    },
    Lost(u64, Detection),
    Reduced(Cause),
    /// State after an ACK: window, bytes in flight, RTT, pacing, and the controller's variables.
    Metrics(Metrics),
}

/// Returns the steps up to this number of packets, with their times.
fn steps(outcome: Outcome, packets: usize) -> Vec<(Time, Step)> {
    let trace = outcome.flows.into_iter().next().unwrap().trace.unwrap();
    let (mut first, mut steps) = (None, Vec::new());
    for (time, event) in trace {
        let step = match event {
            Event::Sent { pn, bytes, len, .. } => {
                let number = pn - *first.get_or_insert(pn);
                if number == packets as u64 {
                    break;
                }
                Step::Sent { number, bytes, len }
            }
            Event::Lost { pn, detection } => Step::Lost(pn - first.unwrap(), detection),
            Event::Reduced(cause) => Step::Reduced(cause),
            Event::Metrics(metrics) => Step::Metrics(metrics),
            _ => continue,
        };
        steps.push((time, step));
    }
    steps
}

/// Runs model and protocol with datagrams of 1252 bytes.
fn compare(flow: FlowConfig, link: LinkConfig, packets: usize) -> Result<(usize, usize), String> {
    compare_with(1252, flow, link, packets)
}

/// Runs model and protocol. Returns the packets sent and lost, or the first difference.
fn compare_with(
    datagram: u32,
    mut flow: FlowConfig,
    link: LinkConfig,
    packets: usize,
) -> Result<(usize, usize), String> {
    flow.handshake = false;
    flow.transport = Transport::Quic { datagram, header: EXACT_HEADER, overhead: 42 };
    flow.transfer = Some(packets as u64 * u64::from(flow.transport.payload()));
    // Long enough even for the rate of a slow media controller.
    let scenario = Scenario { trace: true, ..Scenario::new(link, [flow], Duration::from_secs(100_000)) };
    let model = steps(on_simulator(&scenario), packets);
    let outcome = ackclock_stack::run(&scenario, &Profile::exact(), &Watch::default(), None);
    let protocol = steps(outcome.unwrap().unwrap(), packets);
    let at = model.iter().zip(&protocol).position(|(a, b)| a != b).unwrap_or(model.len().min(protocol.len()));
    if at == model.len() && at == protocol.len() {
        let count = |of: fn(&Step) -> bool| model.iter().filter(|(_, step)| of(step)).count();
        return Ok((
            count(|step| matches!(step, Step::Sent { .. })),
            count(|step| matches!(step, Step::Lost(..))),
        ));
    }
    let around = |steps: &[(Time, Step)]| {
        let near = steps.get(at.saturating_sub(3)..(at + 4).min(steps.len())).unwrap_or_default();
        near.iter().map(|(time, step)| format!("  {time:?} {step:?}\n")).collect::<String>()
    };
    Err(format!("step {at}\nmodel\n{}protocol\n{}", around(&model), around(&protocol)))
}

fn compare_all(names: &[&str], packets: usize) {
    for name in names {
        for (network, link) in networks() {
            match compare(flow(name), link, packets) {
                Ok((sent, lost)) => println!("{name}, {network}: {sent} packets, {lost} lost"),
                Err(apart) => panic!("{name}, {network}: {apart}"),
            }
        }
    }
}

/// Credit is sent with ACKs that are due anyway, so the sender behaves as without flow control.
#[test]
fn credit_moves_nothing() {
    let scenario = Scenario { trace: true, ..transfer("cubic") };
    let steps_with = |window: WindowConfig| {
        let quic =
            Config { data_window: window, stream_window: window, ping_every: None, ..Config::default() };
        let profile = Profile { quic, ..Profile::exact() };
        let outcome = ackclock_stack::run(&scenario, &profile, &Watch::default(), None).unwrap().unwrap();
        // ACKs of packets with credit take space from the stream data.
        let of = |(time, step)| match step {
            Step::Sent { number, bytes, .. } => (time, Step::Sent { number, bytes, len: 0 }),
            step => (time, step),
        };
        steps(outcome, 2000).into_iter().map(of).collect::<Vec<_>>()
    };
    let growing = steps_with(WindowConfig { initial: 512 << 10, max: 64 << 20 });
    assert!(growing == steps_with(ENDLESS));
}

#[test]
fn every_controller() {
    let registry = Registry::default();
    let names: Vec<_> = registry.iter().map(|entry| entry.name).collect();
    compare_all(&names, FEW);
}

/// Datagrams below 1200 bytes, as in DCCC's paper and below. The handshake's are larger, but it
/// leaves no trace.
#[test]
fn small_datagrams() {
    let registry = Registry::default();
    for entry in registry.iter() {
        for datagram in [1064, 300, 106] {
            for (network, link) in networks() {
                match compare_with(datagram, flow(entry.name), link, FEW) {
                    Ok((sent, _)) => assert!(sent >= FEW),
                    Err(apart) => panic!("{}, {datagram}, {network}: {apart}", entry.name),
                }
            }
        }
    }
}

/// Other rules of loss recovery, pacing and acknowledgements, including all of `stack = "mvfst"`.
#[test]
fn other_rules() {
    let mvfst = |flow: &mut FlowConfig| {
        flow.ack = AckConfig {
            ack_every: 10.into(),
            delay_factor: Some(0.25),
            timer_tick: Duration::from_millis(1),
            timestamps: 10,
            timestamp_exponent: 3,
            ..AckConfig::default()
        };
        flow.recovery = Recovery {
            packet_threshold: Some(4),
            time_threshold: TimeThreshold::Factor(1.25),
            granularity: Duration::ZERO,
            initial_rtt: Duration::from_millis(50),
            pto: Pto::Mvfst,
            undo: false,
            overshoot: true,
            paced: Paced::ByRate,
            pacing: Pacing {
                style: Style::Bursts,
                interval: Duration::from_micros(200),
                ..Pacing::default()
            },
            ..Recovery::quic()
        };
    };
    let prr = |flow: &mut FlowConfig| {
        flow.recovery.reduction = Reduction::Prr;
        flow.recovery.max_packet_threshold = Some(20);
        flow.recovery.max_time_threshold = Some(2.0);
    };
    let rack = |flow: &mut FlowConfig| {
        flow.recovery.time_threshold = TimeThreshold::Rack;
        (flow.recovery.paced, flow.recovery.pacing.burst) = (Paced::Never, Some(2));
        flow.ack.immediate_on_gap = OnGap::Off;
    };
    // A receiver that acknowledges 1 ms after the first packet but advertises 25 ms.
    let aioquic = |flow: &mut FlowConfig| {
        (flow.ack.ack_every, flow.ack.max_ack_delay) = (1_000_000.into(), Duration::from_millis(1));
        flow.ack.immediate_on_gap = OnGap::Off;
        (flow.recovery.persistent_congestion, flow.recovery.undo) = (None, false);
        flow.recovery.paced = Paced::Never;
    };
    let offload = |flow: &mut FlowConfig| {
        (flow.recovery.offload, flow.recovery.paced) = (Offload::Packets(EIGHT), Paced::Never);
    };
    let linux = |flow: &mut FlowConfig| flow.recovery.offload = Offload::LINUX;
    let rules: [(&str, Set); 6] = [
        ("mvfst", &mvfst),
        ("prr", &prr),
        ("rack", &rack),
        ("aioquic", &aioquic),
        ("offload", &offload),
        ("offload of Linux", &linux),
    ];
    for (rules, set) in rules {
        for name in ["new-reno", "cubic-mvfst", "bbr2-mvfst", "quic-dc"] {
            for (network, link) in networks() {
                let mut flow = flow(name);
                set(&mut flow);
                match compare(flow, link, FEW) {
                    Ok((sent, lost)) => println!("{rules}, {name}, {network}: {sent} packets, {lost} lost"),
                    Err(apart) => panic!("{rules}, {name}, {network}: {apart}"),
                }
            }
        }
    }
}

/// Four flows share one link, as in figure 6 of Uchida et al. (2024). All flows together decide
/// which packet meets a full queue, and all of them behave the same in both.
#[test]
fn several_flows() {
    let transport = Transport::Quic { datagram: 1252, header: EXACT_HEADER, overhead: 42 };
    let flows = ["cubic-picoquic", "bbr1", "bbr2-mvfst", "westwood-plus"].map(|name| FlowConfig {
        handshake: false,
        transport,
        rtt: Duration::from_millis(40),
        ..flow(name)
    });
    let (delay, limit) = (Duration::from_millis(20), Limit::Packets(100));
    let link = LinkConfig { delay, limit, ..LinkConfig::plain(Rate(25_000_000)) };
    let scenario = Scenario::new(link, flows, Duration::from_secs(20));
    let counts = |outcome: Outcome| {
        let of = |flow: scenario::Record| {
            (flow.delivered, flow.totals.dropped, flow.stats.lost(), flow.stats.loss_events)
        };
        outcome.flows.into_iter().map(of).collect::<Vec<_>>()
    };
    let model = counts(on_simulator(&scenario));
    assert!(model.iter().all(|flow| flow.1 > 5), "{model:?}");
    let outcome = ackclock_stack::run(&scenario, &Profile::exact(), &Watch::default(), None);
    assert_eq!(model, counts(outcome.unwrap().unwrap()));
}

#[test]
fn a_hundred_thousand_packets() {
    compare_all(&["cubic"], MANY);
}

/// Runs all controllers, in minutes: `cargo test -p ackclock-stack --test runs -- --ignored`.
#[test]
#[ignore = "minutes"]
fn a_hundred_thousand_packets_of_every_controller() {
    let registry = Registry::default();
    let names: Vec<_> = registry.iter().map(|entry| entry.name).collect();
    compare_all(&names, MANY);
}
