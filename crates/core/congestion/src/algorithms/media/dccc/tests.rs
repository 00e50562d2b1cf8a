use super::feedback::Feedback;
use super::*;
use crate::testing::closed_loop::{Flow, Loop};
use crate::testing::fixtures::MDS;
use crate::testing::fixtures::{acked, path, stamped};
use crate::{Ack, AckedPacket, Controller, Sent};
use units::{Duration, Rate, Time};

const MS: Duration = Duration::from_millis(1);
/// The paper's propagation delay in each direction.
const PROPAGATION: Duration = Duration::from_millis(25);

fn controller(params: Params) -> Dccc {
    Dccc::new(params, path(MDS))
}

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * b.abs(), "{a} is not {b}");
}

fn feedback(owd_ms: f64, sent: f64, received: f64) -> Feedback {
    Feedback { owd: owd_ms * 1e-3, rtt: owd_ms * 1e-3 + 0.025, sent, received }
}

/// Equation 26 with nothing delayed or lost: 0.4 h = 8 kbit/s per round trip.
#[test]
fn growth() {
    for (x, owd) in [(100e3, 25.0), (1e6, 99.9), (1e6, 100.0)] {
        let next = Params::default().next_rate(x, &feedback(owd, x, x));
        assert!((next - x - 8000.0).abs() < 1e-6, "{x}: {next}");
    }
}

/// kr = gain / max(T_s, RTT): at a quarter of the RTT a quarter of the step, at four RTTs the same
/// step.
#[test]
fn fixed_periods() {
    for (ms, growth) in [(50, 2000.0), (200, 8000.0), (800, 8000.0)] {
        let params = Params { fixed_period: Some(MS * ms), ..Params::default() };
        let f = Feedback { rtt: 0.2, ..feedback(50.0, 1e6, 1e6) };
        near(params.next_rate(1e6, &f) - 1e6, growth, 1e-9);
    }
}

/// Equation 19 with h/beta = 200 kbit/s, T_r = 100 ms and 25 ms back. Equation 26 is in equilibrium
/// there.
#[test]
fn equilibrium_of_delay() {
    let params = Params::default();
    for (kbit, ms) in [(300, 350.0), (500, 550.0 / 3.0), (1000, 131.25), (1500, 1550.0 / 13.0)] {
        let e = equilibrium_delay(&params, Rate(kbit * 1000), PROPAGATION).unwrap_or_default();
        near(e.as_millis_f64(), ms, 1e-6);
        let x = kbit as f64 * 1e3;
        near(params.next_rate(x, &feedback(ms, x, x)), x, 1e-12);
    }
    for kbit in [100, 200] {
        assert_eq!(equilibrium_delay(&params, Rate(kbit * 1000), PROPAGATION), None, "equation 20");
    }
}

/// With losses, loss / (1 - loss) = h / x at equilibrium, and twice the h gives twice that ratio.
#[test]
fn equilibrium_of_loss() {
    for (kbit, percent) in [(200.0, 9.09), (500.0, 3.85), (1000.0, 1.96), (2000.0, 0.99)] {
        let (x, loss): (f64, f64) = (kbit * 1e3, 20.0 / (kbit + 20.0));
        near(100.0 * loss, percent, 1e-3);
        let at_rest = |h: u64, odds: f64| {
            let params = Params { h: Rate(h), ..Params::default() };
            near(params.next_rate(x, &feedback(50.0, x, x / (1.0 + odds))), x, 1e-12);
        };
        at_rest(20_000, loss / (1.0 - loss));
        at_rest(40_000, 2.0 * loss / (1.0 - loss));
    }
}

/// Equation 20: no delay pushes the rate below h / beta.
#[test]
fn floor_of_delay() {
    for owd in [1e3, 1e4, 1e6] {
        let mut x = 2e6;
        for _ in 0..2000 {
            x = Params::default().next_rate(x, &feedback(owd, x, x));
            assert!(x > 200e3);
        }
        assert!(owd < 1e6 || x < 201e3, "{x}");
    }
}

/// A link as seen by the sender: packets with given intervals of sending and arrival, acknowledged
/// at once.
struct Script {
    cc: Dccc,
    pn: u64,
    sent: Time,
    received: i64,
    ack_delay: Duration,
}

impl Script {
    fn new(cc: Dccc) -> Self {
        Self { cc, pn: 0, sent: Time::ZERO, received: 25_000_000, ack_delay: Duration::ZERO }
    }

    /// Plays the next packet of 1200 bytes, lost or not, acknowledged with or without a receive
    /// time.
    fn packet(&mut self, apart_out: Duration, apart_in: Duration, seen: Seen) {
        self.sent += apart_out;
        self.received += apart_in.0 as i64;
        let (now, pn) = (self.sent, self.pn);
        self.pn += 1;
        self.cc.on_sent(&Sent { now, pn, bytes: 1200, bytes_in_flight: 1200, app_limited: false });
        let packet = stamped(pn, now, self.received);
        let packet = match seen {
            Seen::Stamped => packet,
            Seen::Acked => AckedPacket { received: None, ..packet },
            Seen::Lost => return,
        };
        let rtt = MS * 50 + self.ack_delay;
        let ack_delay = self.ack_delay;
        self.cc.on_ack(&Ack {
            now: now + rtt,
            packets: &[packet],
            latest_rtt: Some(rtt),
            ack_delay,
            ..acked(1200)
        });
    }

    fn even(&mut self, packets: u64, apart: Duration) {
        (0..packets).for_each(|_| self.packet(apart, apart, Seen::Stamped));
    }

    fn received(&self) -> f64 {
        self.cc.feedback.map_or(f64::NAN, |f| f.received)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Stamped,
    Acked,
    Lost,
}

/// A controller with a constant rate, to test only the measurements.
fn still() -> Dccc {
    let rate = Rate(96_000);
    controller(Params { initial_rate: rate, min_rate: rate, max_rate: Some(rate), ..Params::default() })
}

/// Appendix C: RTT is forward plus backward delay, 50 ms here. The receiver's ACK delay is part of
/// neither.
#[test]
fn delay_of_the_ack() {
    for ack_delay in [0, 10, 25] {
        let mut s = Script::new(still());
        s.ack_delay = MS * ack_delay;
        s.even(20, MS * 20);
        near(s.cc.feedback.map_or(f64::NAN, |f| f.rtt), 0.05, 1e-9);
        near(s.cc.rtt.as_secs_f64(), 0.05, 1e-9);
    }
}

/// 1200 bytes every 100 ms are 96 kbit/s, although only every second RTT has a packet. Likewise for
/// 1, 2 and 25 packets per RTT.
#[test]
fn receive_rate() {
    for apart in [100, 50, 25, 2] {
        let mut s = Script::new(still());
        s.even(200, MS * apart);
        near(s.received(), 9600.0 / (apart as f64 * 1e-3), 1e-9);
        near(s.cc.feedback.map_or(0.0, |f| f.sent), 96e3, 1e-9);
    }
}

/// As many periods as with a timer, although they end with packets. One per packet if packets are
/// less frequent.
#[test]
fn periods() {
    for (apart, expected) in [(7, 198..=200), (45, 198..=200), (70, 142..=142)] {
        let mut s = Script::new(still());
        s.even(1, MS * apart);
        let mut periods = 0;
        while s.sent < Time::from_millis(10_000) {
            let before = s.cc.due;
            s.even(1, MS * apart);
            periods += u64::from(s.cc.due != before);
        }
        assert!(expected.contains(&periods), "{apart}: {periods}");
    }
}

/// A packet acknowledged without a receive time has arrived, a lost one has not: a fifth is
/// missing.
#[test]
fn missing_stamps_and_losses() {
    for (seen, rate) in [(Seen::Acked, 960e3), (Seen::Lost, 768e3)] {
        let mut s = Script::new(still());
        for pn in 0..500 {
            s.packet(MS * 10, MS * 10, if pn % 5 == 3 { seen } else { Seen::Stamped });
        }
        near(s.received(), rate, 1e-9);
    }
}

/// Without receive times the rate stays constant.
#[test]
fn without_receive_times() {
    let mut s = Script::new(controller(Params::default()));
    (0..100).for_each(|_| s.packet(MS * 10, MS * 10, Seen::Acked));
    near(s.cc.x, 100e3, 0.0);
    s.packet(MS * 10, MS * 10, Seen::Stamped);
    near(s.cc.x, 100e3, 0.0);
}

/// Equation 61 with alpha = 0.75: three quarters of a step are missing, then nine sixteenths, then
/// 27 of 64.
#[test]
fn smoothing() {
    let mut s = Script::new(still());
    s.cc.params.smoothing = 0.75;
    s.even(20, MS * 50);
    for missing in [0.75, 0.5625, 0.421_875] {
        s.packet(MS * 50, MS * 25, Seen::Stamped);
        near(s.received(), 192e3 * (2.0 - missing), 1e-9);
    }
}

/// x_recv = x / 4 gives -3 in the bracket, and equation 26 falls below zero: the smallest rate
/// remains. The same at the other end.
#[test]
fn limits() {
    let params = Params { max_rate: Some(Rate(1_500_000)), ..Params::default() };
    let mut cc = controller(params);
    near(cc.params.next_rate(1e6, &feedback(50.0, 1e6, 250e3)), -192e3, 1e-9);
    for (x, limited) in [(-192e3, 10e3), (f64::NAN, 1.5e6), (1.6e6, 1.5e6), (1e6, 1e6)] {
        cc.set_rate(x);
        near(cc.x, limited, 0.0);
    }
}

/// A packet's header has the rate at its time of sending.
#[test]
fn headers() {
    let mut cc = controller(Params::default());
    for round in 1..=100 {
        (cc.next_pn, cc.x) = (10 * round, 0.0);
        cc.set_rate(1000.0 * round as f64 + 20_000.0);
    }
    for (pn, rate) in [(999, 119e3), (1000, 120e3), (1001, 120e3), (500, 70e3), (0, 57e3)] {
        near(cc.header(pn), rate, 1e-12);
    }
    // The first packet is the anchor, ten were sent at 119 kbit/s, thirty at 120 kbit/s.
    (989..1030).for_each(|pn| cc.on_packet(&stamped(pn, Time::ZERO, pn as i64)));
    near(cc.averages.finish(MS, false).map_or(f64::NAN, |f| f.sent), 119_750.0, 1e-12);
}

/// Ten seconds without data: by the headers the network delayed packets, by the send times it did
/// not.
#[test]
fn idle_application() {
    for (sending_rate, held) in [(SendingRate::Header, true), (SendingRate::Measured, false)] {
        let mut s = Script::new(still());
        s.cc.params.sending_rate = sending_rate;
        s.even(20, MS * 100);
        s.packet(MS * 10_000, MS * 10_000, Seen::Stamped);
        let f = s.cc.feedback.expect("packets came");
        assert_eq!(f.sent > 10.0 * f.received, held);
        // Losses are visible in both cases.
        for pn in 0..500 {
            s.packet(MS * 100, MS * 100, if pn % 2 == 0 { Seen::Lost } else { Seen::Stamped });
        }
        let f = s.cc.feedback.expect("packets came");
        near(f.sent, 2.0 * f.received, 1e-9);
    }
}

/// The rate halves per RTT after max(4 RTT, 500 ms) without an ACK. With nothing in flight there is
/// no timeout.
#[test]
fn feedback_timeout() {
    let mut s = Script::new(controller(Params { initial_rate: Rate(960_000), ..Params::default() }));
    s.even(20, MS * 10);
    let (x, sent) = (s.cc.x, s.sent);
    let mut send = |ms: u64, bytes_in_flight| {
        s.pn += 1;
        let now = sent + MS * ms;
        s.cc.on_sent(&Sent { now, pn: s.pn, bytes: 1200, bytes_in_flight, app_limited: false });
        s.cc.x
    };
    assert_eq!(send(5000, 1200), x, "feedback is due from this packet on");
    for (ms, halvings) in [(5499, 1.0), (5500, 2.0), (5549, 2.0), (5550, 4.0), (5600, 8.0)] {
        near(send(ms, 2400), x / halvings, 1e-12);
    }
    near(send(60_000, 2400), 10e3, 0.0);
}

/// Appendix B: a receiver clock ahead by d acts like a threshold lower by d. The smallest delay
/// anchors it.
#[test]
fn clocks() {
    for (owd, expected) in [(Owd::Absolute, 0.075), (Owd::Anchored, 0.0), (Owd::Windowed, 0.0)] {
        let mut s = Script::new(controller(Params { owd, ..Params::default() }));
        s.received += 50_000_000;
        s.even(20, MS * 100);
        near(s.cc.feedback.map_or(f64::NAN, |f| f.owd), expected, 1e-9);
    }
}

/// Twice the bytes in flight of the fastest packets, at least ten packets, without a window from
/// the sender.
#[test]
fn window() {
    let mut cc = controller(Params::default());
    assert_eq!(cc.control().cwnd, 10 * MDS);
    assert_eq!(cc.control().pacing_rate, Some(Rate(100_000)));
    cc.set_rate(2e6);
    cc.latest_rtt = MS * 400;
    assert_eq!(cc.control().cwnd, 200_000);
    cc.feedback = Some(feedback(50.0, 4e6, 2e6));
    assert_eq!(cc.control().cwnd, 400_000);
    assert!(cc.shapes_recovery());
}

/// Returns the link's time for one packet at `kbit` kbit/s.
fn rate(kbit: u64) -> Rate {
    Rate(kbit * 1000)
}

fn flow(start: u64) -> Flow<Dccc> {
    Flow::new(Box::new(controller(Params::default())), PROPAGATION * 2, Time::from_millis(start))
}

fn owd_ms(cc: &Dccc) -> f64 {
    cc.feedback.map_or(f64::NAN, |f| f.owd * 1e3)
}

/// A single flow gets the whole link, and the delay of equation 19 within 3 %.
#[test]
fn alone() {
    for kbit in [300, 500, 1000, 1500, 6000] {
        let mut link = Loop::new(vec![flow(0)], MDS, rate(kbit));
        link.run_to(Time::from_millis(300_000));
        let cc = &link.flows[0].cc;
        let e = equilibrium_delay(&cc.params, Rate(kbit * 1000), PROPAGATION).unwrap_or_default();
        near(owd_ms(cc), e.as_millis_f64(), 0.03);
        near(cc.x, kbit as f64 * 1e3, 0.03);
    }
}

/// Figure 5 without its UDP flow: the third flow starts late and gets its third. The delay is that
/// of 1 Mbit/s.
#[test]
fn latecomer_gets_its_share() {
    let mut link = Loop::new(vec![flow(2000), flow(4000), flow(100_000)], MDS, rate(3000));
    link.run_to(Time::from_millis(100_000));
    near(owd_ms(&link.flows[0].cc), 1550.0 / 13.0, 0.03);
    link.run_to(Time::from_millis(260_000));
    let (sum, squares) = link.flows.iter().fold((0.0, 0.0), |(s, q), f| (s + f.cc.x, q + f.cc.x * f.cc.x));
    assert!(sum * sum / (3.0 * squares) > 0.99, "{sum} {squares}");
    near(owd_ms(&link.flows[0].cc), 131.25, 0.03);
}
