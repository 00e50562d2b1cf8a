use super::*;
use crate::testing::fixtures::{MDS, acked, congestion, path};
use crate::{Cause, Controller};

const MS: Duration = Duration::from_millis(1);

/// A flow whose ACKs and losses come round trip by round trip.
struct Flow {
    cc: HtcpController,
    /// Start of the next round trip, in ms.
    start: u64,
    min_rtt: u64,
}

impl Flow {
    fn new(packets: u64, params: Params) -> Self {
        let mut cc = HtcpController::new(params, path(MDS));
        (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (packets * MDS, 0);
        Self { cc, start: 1_000_000, min_rtt: u64::MAX }
    }

    fn packets(&self) -> u64 {
        self.cc.control().cwnd / MDS
    }

    fn event(&mut self, cause: Cause) {
        let (now, min_rtt) = (Time::from_millis(self.start), MS * self.min_rtt);
        self.cc.on_congestion(&Congestion { now, min_rtt, ..congestion(cause, 0) });
    }

    /// Plays a round trip of this many ms, with an ACK for each packet.
    fn round(&mut self, rtt: u64, lost: bool) {
        let acks = self.packets();
        if lost {
            self.event(Cause::Loss);
        }
        self.min_rtt = self.min_rtt.min(rtt);
        for i in 0..acks {
            let (now, growth) = (Time::from_millis(self.start + i * rtt / acks), if lost { 0 } else { MDS });
            let (latest_rtt, min_rtt) = (Some(MS * rtt), MS * self.min_rtt);
            self.cc.on_ack(&Ack { now, growth, latest_rtt, min_rtt, in_recovery: lost, ..acked(MDS) });
        }
        self.start += rtt;
    }

    /// Returns window, 128 alpha and 128 beta.
    fn state(&self) -> (u64, u64, u64) {
        let rule = &self.cc.rule;
        (self.packets(), (128.0 * rule.alpha) as u64, (128.0 * rule.beta) as u64)
    }
}

fn draft() -> Params {
    Params { rules: Rules::Draft, beta_max: 0.5, rtt_scaling: false, ..Params::default() }
}

/// Equation 1 and its scaling, without and with Linux's whole packets. beta is 0.5.
#[test]
fn increase() {
    for (ms, rtt, exact, linux) in [
        (500, 100, 1.0, 1.0),
        (1000, 100, 1.0, 1.0),
        (1300, 100, 4.0225, 4.0),
        (3000, 100, 22.0, 22.0),
        (3000, 50, 11.0, 11.0),
        (3000, 170, 37.4, 44.0),
        (3000, 500, 44.0, 44.0),
        (3000, 5, 2.2, 2.0),
        // Linux also scales Reno's growth.
        (500, 200, 1.0, 2.0),
        (500, 20, 1.0, 1.0),
    ] {
        for (rules, expected) in [(Rules::Draft, exact), (Rules::Linux, linux)] {
            let rule = Htcp::from(Params { rules, ..Params::default() });
            let alpha = rule.increase(MS * ms, MS * rtt);
            assert!((alpha - expected).abs() < 1e-9, "{rules:?} {ms} {rtt}: {alpha}");
        }
    }
    let mut rule = Htcp::from(Params::default());
    rule.beta = 0.75;
    assert_eq!(rule.increase(MS * 3000, MS * 100), 11.0);
    assert_eq!(rule.increase(MS * 3000, Duration::MAX), 11.0, "no RTT yet");
}

/// Round trips and mean increase while a loss is repaired, from half of the window, at 100 ms.
fn epoch(window: u64, params: Params) -> (f64, f64) {
    let rule = Htcp::from(params);
    let (mut w, mut rounds) = (window as f64 / 2.0, 0);
    while w < window as f64 {
        w += rule.increase(MS * (100 * rounds), MS * 100);
        rounds += 1;
    }
    (rounds as f64 / 10.0, window as f64 / 2.0 / rounds as f64)
}

/// The draft's tables 1 and 2 for 100 ms: seconds of an epoch after the first, and the mean
/// increase. They have q = 0.25. With the 0.5 of equation 1, the last row is 17.8 s.
#[test]
fn tables_of_the_draft() {
    for (window, seconds, increase) in [
        (100, 1.1, 2.0),
        (1000, 3.1, 12.0),
        (2000, 4.3, 19.0),
        (5000, 6.6, 33.0),
        (10_000, 9.2, 49.0),
        (20_000, 12.8, 72.0),
        (50_000, 19.4, 122.0),
    ] {
        let (long, _) = epoch(window, Params { delta_l: Duration::ZERO, ..draft() });
        // A round trip.
        assert!((long - seconds).abs() <= 0.1001, "{window}: {long} s");
        let (_, mean) = epoch(window, draft());
        // The table has whole packets.
        assert!((mean - increase).abs() <= 1.0, "{window}: {mean}");
    }
    let (long, _) = epoch(50_000, Params { delta_l: Duration::ZERO, quadratic: 0.5, ..draft() });
    assert!(long < 18.0, "{long}");
}

/// Linux's decisions on fixed RTTs and losses: window, 128 alpha and 128 beta after each phase.
/// `vectors/htcp.py`.
#[test]
fn as_linux() {
    for phases in LINUX {
        let mut flow = Flow::new(40, Params::default());
        for (phase, &((rtt, rounds, lost), expected)) in phases.iter().enumerate() {
            (0..rounds).for_each(|round| flow.round(rtt, lost && round == 0));
            assert_eq!(flow.state(), expected, "base {}, phase {phase}", phases[0].0.0);
        }
    }
}

/// RTT in ms, round trips, and whether the first one has a loss; window, 128 alpha and 128 beta
/// afterwards. Output of `vectors/htcp.py`.
type Phase = ((u64, u64, bool), (u64, u64, u64));

const LINUX: [&[Phase]; 4] = [
    &[
        ((100, 12, false), (52, 256, 64)),
        ((110, 6, false), (80, 1152, 64)),
        ((125, 4, false), (118, 1792, 64)),
        ((170, 1, false), (130, 2048, 64)),
        ((130, 1, true), (65, 2048, 64)),
        ((100, 14, false), (84, 512, 64)),
        ((118, 5, false), (116, 1408, 64)),
        ((130, 4, true), (61, 128, 64)),
        ((100, 12, false), (85, 768, 64)),
        ((115, 7, false), (148, 1920, 64)),
        ((125, 6, true), (116, 60, 98)),
        ((101, 18, false), (165, 900, 98)),
        ((119, 4, false), (196, 1260, 98)),
        ((120, 8, true), (105, 128, 64)),
        ((100, 20, false), (267, 2560, 64)),
        ((119, 3, false), (324, 3072, 64)),
        ((125, 1, true), (162, 3072, 64)),
        ((100, 3, false), (165, 128, 64)),
        ((100, 9, true), (89, 128, 64)),
        ((102, 17, false), (200, 2048, 64)),
        ((120, 1, true), (100, 2048, 64)),
        ((100, 30, false), (301, 2688, 64)),
        ((150, 1, true), (150, 2816, 64)),
        ((100, 12, false), (163, 256, 64)),
        ((100, 1, true), (81, 384, 64)),
        ((100, 12, false), (93, 256, 64)),
        ((118, 1, true), (46, 384, 64)),
        ((100, 14, false), (64, 512, 64)),
    ],
    &[
        ((30, 60, false), (105, 256, 64)),
        ((40, 20, false), (171, 640, 64)),
        ((41, 2, true), (86, 128, 64)),
        ((30, 55, false), (144, 256, 64)),
        ((45, 10, true), (81, 128, 64)),
        ((31, 50, false), (143, 384, 64)),
        ((50, 6, true), (97, 86, 85)),
        ((30, 50, false), (134, 172, 85)),
        ((50, 6, true), (83, 104, 76)),
        ((30, 90, false), (251, 624, 76)),
        ((49, 5, true), (129, 128, 64)),
        ((30, 44, false), (173, 128, 64)),
    ],
    &[
        ((9, 300, false), (336, 128, 64)),
        ((12, 1, true), (168, 128, 64)),
        ((9, 200, false), (366, 128, 64)),
        ((12, 1, true), (183, 128, 64)),
        ((9, 150, false), (332, 128, 64)),
        ((12, 1, true), (166, 128, 64)),
        ((9, 180, false), (344, 128, 64)),
    ],
    &[
        ((240, 8, false), (74, 2560, 64)),
        ((250, 3, true), (41, 256, 64)),
        ((240, 9, false), (126, 4608, 64)),
        ((250, 2, true), (65, 256, 64)),
        ((240, 8, false), (118, 3328, 64)),
        ((255, 2, true), (61, 256, 64)),
        ((240, 12, false), (211, 5888, 64)),
    ],
];

/// Half of the window at the first event, then the RTTs decide. Recovery gives no samples, and a
/// jump of the RTT does not count.
#[test]
fn backoff() {
    let mut flow = Flow::new(100, Params { bandwidth_switch: false, ..Params::default() });
    flow.round(100, false);
    flow.round(115, false);
    flow.round(150, false);
    assert_eq!(flow.cc.frame.window.memory.max_rtt, MS * 115);
    flow.event(Cause::Loss);
    assert_eq!((flow.packets(), flow.cc.rule.beta), (51, 0.5));
    assert_eq!(flow.cc.frame.window.memory.max_rtt, Duration::from_micros(114_250));
    flow.round(120, false);
    flow.round(120, false);
    flow.event(Cause::Loss);
    // 100 / 120, limited to 0.797, of at least 51 packets.
    assert_eq!(flow.cc.rule.beta, 102.0 / 128.0);
    flow.round(139, true);
    assert_eq!(flow.cc.frame.window.memory.max_rtt, Duration::from_micros(118_050));
}

/// An undo restores time, RTT and bandwidth with the window.
#[test]
fn undo() {
    let mut flow = Flow::new(100, Params::default());
    (0..12).for_each(|_| flow.round(100, false));
    flow.round(115, false);
    let before = (flow.packets(), flow.cc.frame.window.memory.max_rtt, flow.cc.frame.window.memory.since);
    flow.event(Cause::Timeout);
    assert_eq!((flow.packets(), flow.cc.frame.window.ssthresh), (1, before.0 / 2 * MDS));
    assert_ne!(flow.cc.frame.window.memory.since, before.2);
    flow.cc.on_spurious();
    let memory = flow.cc.frame.window.memory;
    assert_eq!((flow.packets(), memory.max_rtt, memory.since), before);
}

/// The draft grows by alpha per round trip, by each ACK, and never faster than slow start.
#[test]
fn draft_by_ack() {
    let mut flow = Flow::new(100, draft());
    (0..11).for_each(|_| flow.round(100, false));
    // One second of Reno. Bytes are rounded down at each ACK, which takes up to 1 of 10.
    assert!((110..=111).contains(&flow.packets()), "{}", flow.packets());
    let before = flow.cc.control().cwnd;
    (0..10).for_each(|_| flow.round(100, false));
    // 1 + 10 x + 0.25 x^2 at the starts of ten round trips: 55.7 from 0 s on, 66.0 from 0.1 s on.
    // Within the round trips it grows by up to 1.
    let grown = (flow.cc.control().cwnd - before) as f64 / MDS as f64;
    assert!((55.0..=76.0).contains(&grown), "{grown}");
    let mut flow = Flow::new(2, draft());
    flow.round(100_000, false);
    assert!(flow.cc.rule.alpha > 2.0 && flow.packets() <= 4);
}
