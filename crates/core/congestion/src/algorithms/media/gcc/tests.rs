use super::*;
use crate::algorithms::media::gcc::state::State;
use crate::testing::closed_loop::{Flow, Loop};
use crate::testing::fixtures::MDS;
use crate::testing::fixtures::{acked, congestion, path, stamped};
use crate::{Detection, LostPacket};
use units::Time;
use units::{Duration, Rate};

fn gcc() -> Gcc {
    Gcc::new(Params::default(), path(MDS))
}

/// Plays a packet every 10 ms. From packet 200 on, each packet's delay is `slope` ms more than the
/// previous one's.
fn play(cc: &mut Gcc, pns: core::ops::Range<u64>, slope: i64) {
    for pn in pns {
        let sent = Time::from_millis(10 * pn);
        let received = sent.0 as i64 + (25 + slope * pn.saturating_sub(199) as i64) * 1_000_000;
        let packets = [stamped(pn, sent, received)];
        cc.on_ack(&Ack { now: sent + Duration::from_millis(50), packets: &packets, ..acked(1200) });
    }
}

fn lose(cc: &mut Gcc, packets: u64) {
    let packet = LostPacket {
        pn: 0,
        bytes: 1200,
        sent: Time::ZERO,
        detection: Detection::PacketThreshold,
        tx_in_flight: 0,
        lost_at_send: 0,
        app_limited: false,
    };
    let packets = vec![packet; packets as usize];
    cc.on_lost(&Lost { now: Time::ZERO, packets: &packets, total_lost: 0, delivered: 0, bytes_in_flight: 0 });
}

/// As_hat and A_hat grow by 1.08 per second. The receive rate of 960 kbit/s allows it.
#[test]
fn grows_by_eight_percent_a_second() {
    let mut cc = gcc();
    play(&mut cc, 0..501, 0);
    let expected = 300_000.0 * libm::pow(1.08, 5.0);
    assert!((cc.rate() / expected - 1.0).abs() < 1e-9, "{} {expected}", cc.rate());
}

/// The rate falls before the report, at the first group that signals over-use, to beta times the
/// receive rate.
#[test]
fn over_use_does_not_wait() {
    let mut cc = gcc();
    play(&mut cc, 0..200, 0);
    let mut pn = 200;
    while cc.detector.signal != Signal::Over {
        assert!(pn < 300, "{cc:?}");
        assert_eq!(cc.delay_based.state, State::Increase);
        play(&mut cc, pn..pn + 1, 1);
        pn += 1;
    }
    assert_eq!(cc.delay_based.state, State::Decrease);
    let received = cc.received.rate().expect("packets");
    assert!((cc.delay_based.rate - 0.85 * received).abs() < 1e-6);
}

/// No loss in the last report: as A_hat. 1 of 11 lost: constant. 3 of 13 lost: reduced by half of
/// that. A_hat is not affected.
#[test]
fn losses_bind() {
    let second = 300_000.0 * 1.08;
    let report_before = 300_000.0 * libm::pow(1.08, 0.9);
    for (lost, rate) in [(0, second), (1, report_before), (3, report_before * (1.0 - 0.5 * 3.0 / 13.0))] {
        let mut cc = gcc();
        play(&mut cc, 0..100, 0);
        lose(&mut cc, lost);
        play(&mut cc, 100..101, 0);
        assert!((cc.rate() - rate).abs() < 1e-6, "{lost} lost: {} {rate}", cc.rate());
        assert!((cc.delay_based.rate - second).abs() < 1e-6);
    }
}

/// As_hat does not remember a time when A_hat was higher.
#[test]
fn loss_based_starts_from_the_rate() {
    let mut cc = gcc();
    play(&mut cc, 0..2000, 0);
    assert!(cc.loss_based <= 1.05 * cc.delay_based.rate, "{cc:?}");
}

#[test]
fn events() {
    for (cause, rate) in [
        (Cause::Loss, 300_000.0),
        (Cause::Ecn, 300_000.0),
        (Cause::Timeout, 10_000.0),
        (Cause::PersistentCongestion, 10_000.0),
    ] {
        let mut cc = gcc();
        cc.on_congestion(&congestion(cause, 0));
        assert_eq!(cc.rate(), rate, "{cause:?}");
    }
    let params = Params { max_rate: Some(Rate(200_000)), ..Params::default() };
    assert_eq!(Gcc::new(params, path(MDS)).rate(), 200_000.0);
}

fn link(params: Params, kbits: u64) -> Loop<Gcc> {
    let flow = Flow::new(Box::new(Gcc::new(params, path(MDS))), Duration::from_millis(50), Time::ZERO);
    Loop::new(vec![flow], MDS, Rate(kbits * 1000))
}

/// Returns the longest queue in ms and the used share of the link, from now to `until`.
fn watch(link: &mut Loop<Gcc>, until: u64) -> (f64, f64) {
    let (start, delivered, mut longest) = (link.now, link.flows[0].delivered, 0f64);
    while link.now < Time::from_millis(until) {
        link.step(Time::NEVER);
        let queue = link.flows[0].latest_rtt - Duration::from_millis(50) - link.packet_time();
        longest = longest.max(queue.as_millis_f64());
    }
    let could = (link.now - start).as_secs_f64() / link.packet_time().as_secs_f64();
    (longest, ((link.flows[0].delivered - delivered) / MDS) as f64 / could)
}

/// Alone on 1 Mbit/s and 50 ms, no queue above 100 ms after 30 s. From 300 kbit/s, growth by 8 %
/// per second fills the link after ln(C / 300 kbit/s) / ln 1.08: 16 s, at 10 Mbit/s 46 s.
#[test]
fn alone() {
    for (kbits, settled) in [(300, 30), (1000, 30), (2500, 40), (10_000, 60)] {
        let mut link = link(Params::default(), kbits);
        link.run_to(Time::from_millis(settled * 1000));
        let (longest, used) = watch(&mut link, settled * 1000 + 120_000);
        assert!(longest < 100.0, "{kbits}: {longest} ms");
        assert!(used > 0.93, "{kbits}: {used}");
    }
}

/// M = m, the draft as printed: at 1 Mbit/s it never detects the queue that it builds.
#[test]
fn draft_as_printed() {
    let mut link = link(Params { deltas: 1, ..Params::default() }, 1000);
    let (longest, _) = watch(&mut link, 60_000);
    assert!(longest > 10_000.0, "{longest}");
    assert_eq!(link.flows[0].cc.delay_based.state, State::Increase);
}

/// The capacity halves: the resulting queue disappears after a while, and the link stays in use.
#[test]
fn follows_the_capacity() {
    let mut link = link(Params::default(), 2000);
    link.run_to(Time::from_millis(60_000));
    link.link.rate = Rate(1_000_000);
    link.run_to(Time::from_millis(80_000));
    let (longest, used) = watch(&mut link, 140_000);
    assert!(longest < 100.0 && used > 0.9, "{longest} {used}");
}
