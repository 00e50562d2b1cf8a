use super::*;
use crate::AckedPacket;
use crate::testing::closed_loop::{Flow, Loop};
use crate::testing::fixtures::MDS;
use crate::testing::fixtures::{acked, congestion, path, stamped};
use units::Time;
use units::{Bytes, Duration, Rate};

fn nada() -> Nada {
    Nada::new(Params::default(), path(MDS))
}

fn at(r_ref: f64) -> Nada {
    Nada { r_ref, ..nada() }
}

fn with_rtt(ms: u64) -> Nada {
    let mut cc = nada();
    cc.window.on_ack(&Ack { smoothed_rtt: Duration::from_millis(ms), ..acked(0) });
    cc
}

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a}, not {b}");
}

/// Test vector of equation 3.
#[test]
fn gamma() {
    for (rtt, gamma) in [(20, 0.2083), (100, 0.1562), (300, 0.0962)] {
        near(with_rtt(rtt).gamma(), gamma, 5.001e-5);
    }
    let hasty = Params { qbound: Duration::from_secs(1), ..Params::default() };
    assert_eq!(Nada::new(hasty, path(MDS)).gamma(), 0.5, "GAMMA_MAX");
}

/// Test vector A13: the equilibrium of equations 5 to 7.
#[test]
fn equilibrium() {
    for (kbits, ms) in [(150.0, 100.0), (300.0, 50.0), (500.0, 30.0), (1000.0, 15.0), (1500.0, 10.0)] {
        let cc = Nada { x_prev: ms * 1e-3, ..at(kbits * 1e3) };
        near(cc.gradual(ms * 1e-3, 0.1), 0.0, 1e-6);
    }
}

/// By hand at 1 Mbit/s: x_offset = 25 - 15 = 10 ms subtracts 0.5 * 0.2 * 0.02 = 0.2 %, x_diff = 5
/// ms subtracts 0.5 * 2 * 0.01 = 1 %. A delta of a minute is limited to 500 ms.
#[test]
fn gradual_step() {
    let cc = Nada { x_prev: 0.020, ..at(1e6) };
    near(cc.gradual(0.025, 0.1), 12_000.0, 1e-6);
    near(cc.gradual(0.025, 0.5), 20_000.0, 1e-6);
    near(cc.gradual(0.025, 60.0), 20_000.0, 1e-6);
}

#[test]
fn modes_and_limits() {
    let mut cc = with_rtt(100);
    let ramp_up = |r_recv| Feedback { ramp_up: true, x_curr: 0.005, r_recv: Some(r_recv) };
    cc.update(ramp_up(160_000.0), 0.1);
    assert_eq!(cc.r_ref, 160_000.0 * 1.15625);
    cc.update(ramp_up(100_000.0), 0.1);
    assert_eq!(cc.r_ref, 160_000.0 * 1.15625, "never down");
    assert_eq!(cc.x_prev, 0.005);
    cc.update(ramp_up(9e6), 0.1);
    assert_eq!(cc.r_ref, 1.5e6);
    cc.update(Feedback { ramp_up: false, x_curr: 10.0, r_recv: None }, 0.1);
    assert_eq!(cc.r_ref, 150_000.0);
}

/// Equations 11 to 14: 1000 bytes are 24 kbit/s, 10 000 bytes give the largest effect, 5 %.
#[test]
fn shaping_buffer() {
    for (bytes, moved) in [(0, 0.0), (1000, 24e3), (10_000, 50e3)] {
        let params = Params { buffer_len: Bytes(bytes), ..Params::default() };
        let cc = Nada { r_ref: 1e6, ..Nada::new(params, path(MDS)) };
        assert_eq!((cc.r_vin(), cc.r_send()), (1e6 - moved, 1e6 + moved));
        assert_eq!(cc.control().pacing_rate, Some(Rate(1_000_000 + moved as u64)));
    }
    let params = Params { buffer_len: Bytes(10_000), ..Params::default() };
    let limits = |r_ref| Nada { r_ref, ..Nada::new(params.clone(), path(MDS)) };
    assert_eq!((limits(150e3).r_vin(), limits(1.5e6).r_send()), (150e3, 1.5e6));
}

/// A dead path: back to RMIN. Losses and marks of a live path act only through x_curr.
#[test]
fn events() {
    for (cause, rate) in [
        (Cause::Loss, 1e6),
        (Cause::Ecn, 1e6),
        (Cause::Timeout, 150_000.0),
        (Cause::PersistentCongestion, 150_000.0),
    ] {
        let mut cc = at(1e6);
        cc.on_congestion(&congestion(cause, 0));
        assert_eq!(cc.r_ref, rate, "{cause:?}");
    }
}

/// Without receive times there is no receive rate, and the rate stays constant.
#[test]
fn without_receive_times() {
    let mut cc = nada();
    for pn in 0..1000 {
        let packet = AckedPacket { received: None, ..stamped(pn, Time::ZERO, 0) };
        let packets = [packet];
        cc.on_ack(&Ack { now: Time::from_millis(10 * pn), packets: &packets, ..acked(1200) });
    }
    assert_eq!(cc.r_ref, 150_000.0);
}

fn flow(params: Params) -> Flow<Nada> {
    Flow::new(Box::new(Nada::new(params, path(MDS))), Duration::from_millis(50), Time::ZERO)
}

fn queue(link: &Loop<Nada>) -> f64 {
    (link.flows[0].latest_rtt - Duration::from_millis(50) - link.packet_time()).as_millis_f64()
}

/// A single flow gets the link's rate and the equilibrium's queue. From 20 s on it is constant.
#[test]
fn settles_at_the_equilibrium() {
    for (kbits, ms) in [(300, 50.0), (500, 30.0), (1000, 15.0)] {
        let mut link = Loop::new(vec![flow(Params::default())], MDS, Rate(kbits * 1000));
        link.run_to(Time::from_millis(20_000));
        while link.now < Time::from_millis(60_000) {
            link.step(Time::NEVER);
            // A packet is sent every 8 to 27 ms, and the filter takes the shortest wait.
            near(queue(&link), ms, 0.5);
        }
        near(link.flows[0].cc.r_ref, kbits as f64 * 1e3, 3e3);
    }
}

/// A link with capacity for RMAX has no queue.
#[test]
fn no_queue_at_rmax() {
    let mut link = Loop::new(vec![flow(Params::default())], MDS, Rate(2_000_000));
    link.run_to(Time::from_millis(10_000));
    assert_eq!((link.flows[0].cc.r_ref, queue(&link)), (1.5e6, 0.0));
}

/// The capacity halves: the queue goes from 15 ms over a peak to 30 ms. 8 ms of that are the longer
/// transmission time, because the base is the shorter one.
#[test]
fn follows_the_capacity() {
    let mut link = Loop::new(vec![flow(Params::default())], MDS, Rate(1_000_000));
    link.run_to(Time::from_millis(30_000));
    link.link.rate = Rate(500_000);
    link.run_to(Time::from_millis(60_000));
    near(queue(&link) + 8.0, 30.0, 0.5);
    link.link.rate = Rate(1_000_000);
    link.run_to(Time::from_millis(90_000));
    near(queue(&link), 15.0, 0.5);
}

/// Two flows that start together share by their priorities, below RMAX.
#[test]
fn priorities() {
    for (prio, share) in [(1.0, 0.5), (2.0, 2.0 / 3.0)] {
        let flows = vec![flow(Params { prio, ..Params::default() }), flow(Params::default())];
        let mut link = Loop::new(flows, MDS, Rate(1_200_000));
        link.run_to(Time::from_millis(120_000));
        let before: Vec<_> = link.flows.iter().map(|f| f.delivered).collect();
        link.run_to(Time::from_millis(180_000));
        let got: Vec<_> = link.flows.iter().zip(before).map(|(f, b)| (f.delivered - b) as f64).collect();
        // Each flow waits for the other's packets, so their smallest delays differ by up to a
        // packet, 7 ms of 25.
        near(got[0] / (got[0] + got[1]), share, 0.05);
    }
}
