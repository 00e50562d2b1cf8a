//! Compares QUIC over UDP sockets and the emulator with the same stack in virtual time. Requires
//! root and /dev/net/tun.
//!
//! Bytes, marks and counts are checked in every run. Times, rates and RTTs are checked only in
//! valid runs (`ackclock_wire::emu::testing::timing`).
#![cfg(target_os = "linux")]

mod interop;

use ackclock_wire::emu::testing::{timing, turn};
use ackclock_wire::emu::validity::LATE_MAX;
use ackclock_wire::endpoints::{Feasibility, MAX_FLOWS, MakeGuests, Measured, run};
use congestion::Registry;
use link::{Limit, LinkConfig, Steps};
use recovery::{Pacing, Style};
use scenario::{FlowConfig, Scenario, Transport, Watch};
use stack::Profile;
use units::{Bytes, Duration, Ecn, Rate, Time};

const QUIC: Transport = Transport::Quic { datagram: 1252, header: 35, overhead: 28 };
const RTT: Duration = Duration::from_millis(50);

fn flow(controller: &str) -> FlowConfig {
    let algorithm = Registry::default().get(controller).unwrap().algorithm();
    FlowConfig { algorithm, transport: QUIC, rtt: RTT, ..FlowConfig::default() }
}

fn scenario(flows: impl IntoIterator<Item = FlowConfig>, seconds: u64) -> Scenario {
    let limit = Limit::Bytes(Bytes(62_500));
    let link = LinkConfig { limit, delay: RTT / 2, ..LinkConfig::plain(Rate(10_000_000)) };
    Scenario::new(link, flows, Duration::from_secs(seconds))
}

fn on_wire(scenario: &Scenario) -> Measured {
    let feasible = Feasibility::check(scenario).unwrap();
    let flows = scenario.clone();
    let make: MakeGuests =
        Box::new(move || stack::guests(&flows, &Profile::default()).map_err(|e| e.to_string()));
    run(scenario, &feasible, Some(make), None, &Watch::default(), &|_| {}).unwrap().unwrap()
}

/// Returns the smallest and the largest mean RTT of the stack in virtual time, in milliseconds, if
/// one of its waits is as long as a valid run permits.
///
/// The bandwidth filter of BBR keeps the largest sample. Packets that wait for 5 ms and then arrive
/// together raise it by some 5 %. The flow paces above the rate of the link for the rest of this
/// transfer, and the queue grows: bbr3 with a wait in Startup has 1.3 times the RTT.
fn rtts_with_a_wait(scenario: &Scenario) -> (f64, f64) {
    let rtt = |link: LinkConfig| {
        let waiting = Scenario { link, ..scenario.clone() };
        let outcome = stack::run(&waiting, &Profile::default(), &Watch::default(), None).unwrap().unwrap();
        outcome.flows[0].totals.rtt.mean_ms()
    };
    let link = &scenario.link;
    let waits = (5..16).map(|nth| {
        let from = Time::from_millis(20 * nth);
        let steps = vec![(from, link.delay + LATE_MAX), (from + LATE_MAX, link.delay)];
        LinkConfig { delay_steps: Steps(steps), ..link.clone() }
    });
    let all = std::iter::once(link.clone()).chain(waits).map(rtt);
    all.fold((f64::MAX, 0.0), |(least, most), rtt| (rtt.min(least), rtt.max(most)))
}

/// Transfers with NewReno, with BBR, and with bursts at intervals (mvfst's pacer) take as long and
/// lose as many packets as in virtual time. The ends measure the one-way delays of the link.
#[test]
fn the_wire_is_the_stack() {
    let Some(_turn) = turn("the_wire_is_the_stack") else { return };
    for controller in ["new-reno", "bbr3", "bbr2-mvfst"] {
        let mut transfer = FlowConfig { transfer: Some(2_000_000), ..flow(controller) };
        if controller == "bbr2-mvfst" {
            let interval = Duration::from_micros(200);
            transfer.recovery.pacing =
                Pacing { style: Style::Bursts, interval, min_burst: 5, ..Pacing::default() };
        }
        let scenario = scenario([transfer], 20);
        let expected = stack::run(&scenario, &Profile::default(), &Watch::default(), None).unwrap().unwrap();
        let (mut least_rtt, most_rtt) = rtts_with_a_wait(&scenario);
        if controller == "bbr2-mvfst" {
            // Its full window cancels the waits of the pacer, so that Drain does not end. 200 us
            // between two packets of a burst, which no audit sees, put the pacer in force: Drain
            // ends, and the queue is empty from then on (notebook, the wire).
            least_rtt = RTT.as_secs_f64() * 1e3;
        }
        timing(&format!("the_wire_is_the_stack ({controller})"), || {
            let Measured { outcome, invalid_reasons, owd_error } = on_wire(&scenario);
            let (real, virtual_) = (&outcome.flows[0], &expected.flows[0]);
            assert_eq!(real.delivered, 2_000_000, "{controller}: {invalid_reasons:?}");
            let time = real.finished.unwrap().as_secs_f64() / virtual_.finished.unwrap().as_secs_f64();
            let rtt = real.totals.rtt.mean_ms();
            let (drops, of_stack) = (real.totals.dropped as f64, virtual_.totals.dropped as f64);
            let error = owd_error.unwrap();
            let said = format!(
                "time {time:.3}, RTT {rtt:.1} ms for {least_rtt:.1} to {most_rtt:.1}, drops {drops} for {of_stack}, delays {error}: {invalid_reasons:?}"
            );
            println!("{controller}: {said}");
            let holds = (time - 1.0).abs() < 0.03
                && rtt > 0.95 * least_rtt
                && rtt < 1.05 * most_rtt
                && (drops - of_stack).abs() <= 3.0 + 0.2 * of_stack
                && error < Duration::from_micros(300);
            (invalid_reasons, holds.then_some(()).ok_or(said))
        });
    }
}

/// The receiver counts exactly the packets that the emulator marked.
#[test]
fn every_mark_is_counted() {
    let Some(_turn) = turn("every_mark_is_counted") else { return };
    let mut transfer = FlowConfig { transfer: Some(1_500_000), ..flow("cubic") };
    transfer.recovery.ecn = Ecn::Ect0;
    let mut scenario = scenario([transfer], 20);
    scenario.link.aqm = link::Aqm::Codel(Default::default());
    timing("every_mark_is_counted", || {
        let Measured { outcome, invalid_reasons, .. } = on_wire(&scenario);
        let (record, marked) = (&outcome.flows[0], outcome.link.marked.packets);
        assert_eq!((record.delivered, record.ecn.ect1), (1_500_000, 0), "{:?}", record.ecn);
        assert!(record.ecn.ce > 0 && record.ecn.ce <= marked, "{marked} {:?}", record.ecn);
        // A spurious retransmission can be in flight when the transfer ends.
        let holds = record.ecn.ce > 3 && record.ecn.ce == marked;
        (invalid_reasons, holds.then_some(()).ok_or_else(|| format!("{marked} {:?}", record.ecn)))
    });
}

/// A kernel TCP flow and a QUIC flow share the link. Both appear in the outcome, and together fill
/// it.
#[test]
fn beside_the_kernels_tcp() {
    let Some(_turn) = turn("beside_the_kernels_tcp") else { return };
    let tcp = FlowConfig { transport: Transport::Tcp { mss: 1448, overhead: 52 }, ..flow("cubic") };
    let scenario = Scenario { series: Some(Duration::from_millis(100)), ..scenario([tcp, flow("cubic")], 4) };
    timing("beside_the_kernels_tcp", || {
        let Measured { outcome, invalid_reasons, .. } = on_wire(&scenario);
        let series = &outcome.series;
        assert!(series.flows.iter().all(|flow| flow.cwnd.len() == series.times.len()));
        let goodput = |flow: usize| outcome.flows[flow].delivered as f64 * 8e-6 / 4.0;
        let (tcp, quic) = (goodput(0), goodput(1));
        assert!(tcp + quic < 9.8, "{tcp} and {quic} of 10 Mbit/s");
        let windows = || series.flows.iter().flat_map(|flow| flow.cwnd.iter().skip(3));
        let holds = tcp > 1.0 && quic > 1.0 && tcp + quic > 8.0 && windows().all(|cwnd| cwnd > 2000.0);
        let said = || format!("{tcp} and {quic}, {:?}", windows().collect::<Vec<_>>());
        (invalid_reasons, holds.then_some(()).ok_or_else(said))
    });
}

/// As many flows as a run may have, with datagrams below those of a handshake: every byte arrives.
#[test]
fn many_flows_of_small_datagrams() {
    let Some(_turn) = turn("many_flows_of_small_datagrams") else { return };
    let transport = Transport::Quic { datagram: 549, header: 35, overhead: 28 };
    let small = FlowConfig { transport, transfer: Some(20_000), ..flow("new-reno") };
    let Measured { outcome, .. } = on_wire(&scenario(vec![small; MAX_FLOWS], 60));
    let delivered: Vec<u64> = outcome.flows.iter().map(|flow| flow.delivered).collect();
    assert_eq!(delivered, [20_000; MAX_FLOWS]);
}

#[test]
fn says_what_does_not_fit() {
    let large = Transport::Quic { datagram: 1473, header: 35, overhead: 28 };
    let thin = Transport::Quic { datagram: 1252, header: 35, overhead: 20 };
    for (flow, word) in [
        (FlowConfig { transport: large, ..flow("cubic") }, "1473"),
        (FlowConfig { transport: thin, ..flow("cubic") }, "at least 28"),
    ] {
        let why = Feasibility::check(&scenario([flow], 4)).unwrap_err();
        assert!(why.contains(word), "{why}");
    }
}
