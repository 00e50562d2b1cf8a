//! An external controller that changes its window by a timer, through the whole simulator.

use crate::common::*;
use congestion::{Ack, Cause, Congestion, Control, Controller, ParamDoc, Parameters, PathInfo};
use scenario::FlowConfig;
use serde::{Deserialize, Serialize};
use units::{Duration, Time};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Clockwork {
    past: bool,
}

impl Parameters for Clockwork {
    const NAME: &'static str = "clockwork";
    const DOC: &'static str = "A packet more every 100 ms.";
    const PARAMS: &'static [ParamDoc] = &[];

    fn build(&self, path: PathInfo) -> Box<dyn Controller> {
        let wake = if self.past { Time::ZERO } else { Time::ZERO + STEP };
        Box::new(Window { past: self.past, packets: 2, mds: path.max_datagram_size, wake })
    }
}

const STEP: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
struct Window {
    past: bool,
    packets: u64,
    mds: u64,
    wake: Time,
}

impl Controller for Window {
    fn on_ack(&mut self, _: &Ack) -> Option<Cause> {
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_path_change(&mut self, _: PathInfo) {}
    fn on_timer(&mut self, now: Time) {
        if !self.past {
            assert_eq!(now, self.wake, "called when it requested");
            self.packets += 1;
            self.wake = now + STEP;
        }
    }
    fn control(&self) -> Control {
        Control { wake: self.wake, ..Control::window(self.packets * self.mds) }
    }
}

/// Fails at its tenth ACK.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Failing {}

impl Parameters for Failing {
    const NAME: &'static str = "failing";
    const DOC: &'static str = "A controller in another language, which fails.";
    const PARAMS: &'static [ParamDoc] = &[];

    fn build(&self, path: PathInfo) -> Box<dyn Controller> {
        Box::new(Foreign { acks: 0, mds: path.max_datagram_size })
    }
}

#[derive(Clone, Debug)]
struct Foreign {
    acks: u64,
    mds: u64,
}

impl Controller for Foreign {
    fn on_ack(&mut self, _: &Ack) -> Option<Cause> {
        assert!(self.acks < 10, "called after its failure");
        self.acks += 1;
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_path_change(&mut self, _: PathInfo) {}
    fn control(&self) -> Control {
        Control::window(10 * self.mds)
    }
    fn failure(&self) -> Option<String> {
        (self.acks == 10).then(|| "KeyError: 'cwnd'".to_owned())
    }
}

/// The run ends with the tenth ACK, and its outcome says why, however many flows go on.
#[test]
fn a_failure_ends_the_run() {
    let failing = FlowConfig::new("failing", Failing {}, QUIC, RTT);
    let out = run(&scenario(1.0, 10, vec![quic_flow("name = 'cubic'"), failing]));
    let (at, why) = out.flows[1].broken.clone().unwrap();
    assert_eq!(why, "KeyError: 'cwnd'");
    // Ten packets and five ACKs in a round trip: the tenth arrives in the second.
    assert!(at > Time::from_millis(100) && at < Time::from_millis(200), "{at:?}");
    assert!(out.end <= at && at - out.end < RTT, "found out at most a round trip ahead");
    assert_eq!((out.flows[1].finished, out.flows[0].broken.is_none()), (None, true));
}

fn flow(past: bool) -> FlowConfig {
    FlowConfig::new("clockwork", Clockwork { past }, QUIC, RTT)
}

/// Windows of 2 to 21 packets for 100 ms each, in 2 s: that many packets per RTT, on an empty path
/// of 50 ms with 1.04 ms a packet.
#[test]
fn a_packet_more_every_step() {
    let out = run(&scenario(4.0, 2, vec![flow(false)]));
    let sent = out.flows[0].stats.sent as f64;
    let expected: f64 = (2..22).map(|packets| f64::from(packets) * 100.0 / 51.04).sum();
    assert!((sent / expected - 1.0).abs() < 0.05, "{sent} for {expected}");
    assert_eq!(out.flows[0].stats.lost(), 0);
}

/// A timer in the past delays nothing and changes nothing: the run ends with the window as it was.
#[test]
fn a_time_that_is_over() {
    let out = run(&scenario(4.0, 2, vec![flow(true)]));
    let expected = 2.0 * 2000.0 / 51.04;
    let sent = out.flows[0].stats.sent as f64;
    assert!((sent / expected - 1.0).abs() < 0.05, "{sent} for {expected}");
}
