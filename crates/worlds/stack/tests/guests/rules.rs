//! Refused flows, and counters of the record.

use std::sync::Arc;

use ackclock_stack::{Host, Profile, Stack, guests_on};
use congestion::{Ack, Cause, Congestion, Control, Controller, Entry, PathInfo};
use link::aqm::red;
use link::{Aqm, Limit, Threshold};
use scenario::FlowConfig;
use units::{Duration, Ecn, Time};

use crate::common::*;
use crate::{OTHERS, on};

/// Refusals name the controller and the reason.
#[test]
fn controllers_that_a_trait_cannot_carry() {
    let why = |stack: Stack, name: &str| {
        let scenario = transfer(name);
        guests_on(stack, &scenario, &Profile::default(), &Host::default())
            .err()
            .map(|refusal| refusal.to_string())
    };
    for (stack, name, reason) in [
        (Stack::Noq, "quic-dc", "quic-dc does not run in noq: it needs receive times"),
        (Stack::Noq, "nada", "nada does not run in noq: it needs receive times"),
        (Stack::Noq, "bbr1-ecn-gated", "bbr1-ecn-gated does not run in noq: it needs the number of CE marks"),
        (Stack::Quinn, "gcc", "gcc does not run in quinn: it needs receive times"),
        (Stack::Quinn, "bbr3", "bbr3 does not run in quinn: it needs delivery-rate samples"),
    ] {
        let refusal = why(stack, name).unwrap();
        assert!(refusal.starts_with(reason), "{refusal}");
    }
    assert_eq!(why(Stack::Noq, "bbr3"), None);
}

/// Built-in controllers complete a transfer in about the time of our own in the simulator. Two runs
/// are identical, and the record shows their reductions.
#[test]
fn controllers_of_their_own() {
    for stack in OTHERS.into_iter().filter(|stack| [Stack::Noq, Stack::Quinn].contains(stack)) {
        for name in ["new-reno", "cubic"] {
            let mut scenario = transfer(name);
            scenario.flows[0].own_controller = true;
            let (model, outcome) = (on_simulator(&scenario), on(stack, &scenario));
            let flow = &outcome.flows[0];
            println!(
                "{} {name}: {:.2} for {:.2} s, {} reductions for {}",
                stack.word(),
                done(&outcome),
                done(&model),
                flow.stats.loss_events,
                model.flows[0].stats.loss_events
            );
            assert_eq!((flow.delivered, flow.stats.lost() > 0), (10_000_000, true));
            assert!(more(done(&outcome), done(&model)).abs() < 0.05);
            // RFC 9002's initial window of ten packets of 1200 bytes, whatever the datagram size.
            assert_eq!(outcome.series.flows[0].cwnd.iter().nth(1), Some(12_000.0));
            assert!(flow.stats.loss_events > 0 && outcome.series.flows[0].latest_rtt_ms.to_vec()[40] >= 50.0);
            assert_eq!(on(stack, &scenario).flows[0].finished, flow.finished);
        }
    }
}

/// Every controller that is not refused completes a transfer.
#[test]
fn every_controller_that_is_not_refused() {
    for stack in OTHERS {
        for entry in congestion::Registry::default().iter() {
            let mut scenario = transfer(entry.name);
            scenario.flows[0].transfer = Some(300_000);
            if stack.check(&scenario.flows[0]).is_ok() {
                let outcome = on(stack, &scenario);
                assert_eq!(outcome.flows[0].delivered, 300_000, "{} in {}", entry.name, stack.word());
            }
        }
    }
}

/// ECN marks return in ACKs, and the window reacts to them. Without `recovery.ecn`, no packet is
/// marked.
#[test]
fn marks() {
    for stack in OTHERS {
        let mut scenario = transfer("new-reno");
        scenario.flows[0].transfer = Some(4_000_000);
        scenario.link.limit = Limit::Packets(400);
        scenario.link.aqm = Aqm::Red(red::Params::mark_above(Threshold::OfLimit(0.1)));
        scenario.flows[0].recovery.ecn = Ecn::Ect0;
        let (model, outcome) = (on_simulator(&scenario), on(stack, &scenario));
        let (there, here) = (&model.flows[0], &outcome.flows[0]);
        println!(
            "{}: done {:.3} and {:.3} s, marked {} and {}, reductions {} and {}",
            stack.word(),
            done(&model),
            done(&outcome),
            there.ecn.ce,
            here.ecn.ce,
            there.stats.ecn_events,
            here.stats.ecn_events
        );
        assert!(here.ecn.ce > 0);
        assert!(here.stats.ecn_events.abs_diff(there.stats.ecn_events) <= 1);
        assert_eq!((here.totals.dropped, here.stats.lost(), here.stats.loss_events), (0, 0, 0));
        assert!(more(done(&outcome), done(&model)).abs() < 0.01);
    }
}

/// The record contains what a stack reports. The lengths of stream data in packets are missing.
#[test]
fn what_is_counted() {
    for stack in OTHERS {
        let mut scenario = transfer("cubic");
        scenario.flows[0].transfer = Some(2_000_000);
        let outcome = on(stack, &scenario);
        let flow = &outcome.flows[0];
        assert!(flow.totals.rtt.count() > 500, "a sample for each ACK");
        assert_eq!(flow.totals.sent, 0, "not shown");
        assert_eq!(flow.totals.packets, flow.stats.sent);
        assert!(flow.totals.wire > 2_000_000);
        assert!(flow.least_window.is_some_and(|least| least < flow.slow_start_window));
        let series = &outcome.series.flows[0];
        assert!(series.cwnd.iter().skip(5).all(|cwnd| cwnd > 0.0), "{:?}", series.cwnd);
    }
}

/// The variables of a controller inside another stack are accessible.
#[test]
fn its_own_variables() {
    let scenario = transfer("bbr3");
    let guest = guests_on(Stack::Noq, &scenario, &Profile::default(), &Host::default()).unwrap().remove(0).1;
    let mut names = Vec::new();
    guest.controller().unwrap().trace(&mut |name, _| names.push(name));
    assert!(names.contains(&congestion::STATE), "{names:?}");
}

/// Datagrams larger than UDP can carry are refused.
#[test]
fn too_large() {
    let mut scenario = transfer("cubic");
    let transport = scenario::Transport::Quic { datagram: 70_000, header: 37, overhead: 42 };
    scenario.flows[0] = FlowConfig { transport, ..scenario.flows[0].clone() };
    for stack in OTHERS {
        let refusal = guests_on(stack, &scenario, &Profile::default(), &Host::default()).err().unwrap();
        assert!(refusal.to_string().contains("larger"), "{refusal}");
    }
}

/// noq sends a packet that exactly fills the window, and quinn only one that leaves space in it. So
/// quinn uses half of a window of two packets. A receiver that acknowledges every second packet
/// then delays each ACK by its `max_ack_delay` of 25 ms. NewReno's smallest window has two packets.
/// This is why quinn has less than half of noq's throughput with a queue of three packets
/// (thesis/table-9-10, 5 Mbit/s and 5 ms).
#[test]
fn what_a_window_of_two_packets_holds() {
    let rtt = |stack| {
        let mut scenario = transfer("new-reno");
        let two = congestion::algorithms::fixed_window::Params { window: 2 };
        scenario.flows[0].algorithm = two.into();
        scenario.flows[0].transfer = Some(100_000);
        on(stack, &scenario).flows[0].totals.rtt.quantile_ms(0.5)
    };
    let (noq, quinn) = (rtt(Stack::Noq), rtt(Stack::Quinn));
    println!("median RTT: noq {noq:.1} ms, quinn {quinn:.1} ms");
    assert!((50.0..54.0).contains(&noq), "{noq}");
    assert!((75.0..78.0).contains(&quinn), "{quinn}");
}

/// Every ACK gives an RTT sample.
#[test]
fn samples_of_every_acknowledgement() {
    for stack in OTHERS {
        let mut scenario = transfer("fixed-window");
        scenario.flows[0].transfer = Some(200_000);
        let flow = &on(stack, &scenario).flows[0];
        // There are 166 packets with one ACK for two, and handshake packets. The last ACKs come
        // after the end.
        let samples = flow.totals.rtt.count();
        assert!((78..=90).contains(&samples), "{}: {samples}", stack.word());
    }
}

/// A window of ten packets, of another language, that fails at its hundredth ACK.
#[derive(Clone, Debug)]
struct Failing {
    acks: u64,
}

impl Controller for Failing {
    fn on_ack(&mut self, _: &Ack) -> Option<Cause> {
        self.acks += 1;
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_path_change(&mut self, _: PathInfo) {}
    fn control(&self) -> Control {
        Control::window(12_000)
    }
    fn failure(&self) -> Option<String> {
        (self.acks >= 100).then(|| "KeyError: 'cwnd'".to_owned())
    }
}

/// A controller that fails ends the run on every stack, and the outcome says why.
#[test]
fn a_failing_controller_ends_the_run() {
    let build = |_: PathInfo, _: &[_]| -> Box<dyn Controller> { Box::new(Failing { acks: 0 }) };
    let entry = Entry::dynamic("failing", "A controller of a test.", &[], Vec::new(), Arc::new(build));
    let mut scenario = transfer("cubic");
    scenario.flows[0].algorithm = entry.algorithm();
    for stack in [Stack::Ackclock, Stack::Noq, Stack::Quinn] {
        let outcome = on(stack, &scenario);
        let (at, why) = outcome.flows[0].broken.clone().unwrap();
        assert_eq!(why, "KeyError: 'cwnd'", "{}", stack.word());
        assert!(outcome.end < Time::ZERO + Duration::from_secs(5) && at <= outcome.end, "{:?}", outcome.end);
    }
}
