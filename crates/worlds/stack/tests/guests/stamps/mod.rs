//! Receive times with aioquic at the other endpoint. `sitecustomize.py` adds the draft's frames to
//! it. Our controllers receive the times that it writes, and it decodes the times that we write.
//! Both must agree with the link's delays while a queue fills.

use std::cell::RefCell;
use std::fs;
use std::process::Command;

use ackclock_stack::Stack;
use congestion::{Ack, Cause, Congestion, Control, Controller, Entry, Needs, PathInfo, algorithm};
use link::Limit;
use scenario::{Outcome, Scenario};

use crate::aioquic::is_here;
use crate::common::*;
use crate::pairs::run;

/// One-way delays in microseconds, up to an unknown constant.
type Delays = Vec<f64>;

thread_local! {
    static TOLD: RefCell<Delays> = RefCell::default();
}

congestion::params! {
    /// Window, in packets.
    window: u64 = 80,
}

algorithm! {
    /// A fixed window that records one-way delays.
    "delays", Params, |p, path| Box::new(Witness(p.window * path.max_datagram_size))
}

#[derive(Clone, Debug)]
struct Witness(u64);

impl Controller for Witness {
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let delays = ack
            .packets
            .iter()
            .filter_map(|packet| Some((packet.received? - i64::try_from(packet.sent.0).ok()?) as f64 / 1e3));
        TOLD.with_borrow_mut(|told| told.extend(delays));
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_path_change(&mut self, _: PathInfo) {}
    fn needs(&self) -> Needs {
        Needs { receive_times: true, ..Needs::default() }
    }
    fn control(&self) -> Control {
        Control::window(self.0)
    }
}

fn scenario(controller: &str) -> Scenario {
    let mut scenario = transfer(controller);
    scenario.flows[0].transfer = Some(3_000_000);
    scenario.flows[0].ack.timestamp_exponent = 3;
    // With loss, the record of a transfer to our endpoint contains only packets in order. A
    // controller does not learn the delays of packets that it considers lost.
    scenario.link.limit = Limit::Unlimited;
    scenario
}

/// Checks that the delays are the link's: one for nearly every packet, with the same distribution.
fn check(who: &str, delays: &Delays, outcome: &Outcome) {
    let flow = &outcome.flows[0];
    let arrived = flow.totals.owd.count();
    assert!(delays.len() as f64 > 0.97 * arrived as f64, "{who}: {} delays of {arrived}", delays.len());
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let std = (delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / delays.len() as f64).sqrt();
    let most = delays.iter().copied().fold(f64::MIN, f64::max) - mean;
    let owd = &flow.totals.owd;
    let link = [owd.max_ms() - owd.mean_ms(), owd.std_ms()].map(|ms| 1e3 * ms);
    println!(
        "{who}: {} delays; most above their mean, deviation: {most:.0}, {std:.0} us, the link's {link:.0?}",
        delays.len()
    );
    // A stamp is up to 8 us early, and the last few packets are not acknowledged.
    for (told, link) in [(most, link[0]), (std, link[1])] {
        assert!((told - link).abs() < 0.01 * link + 10.0, "{who}: {told} for {link} us");
    }
}

/// Environment variable with the file for the decoded times. The test restarts itself with it, and
/// with the script's folder in PYTHONPATH.
const STAMPS: &str = "STAMPS";

#[test]
fn both_ways() {
    let Ok(stamps) = std::env::var(STAMPS) else { return again() };
    let mut ours = scenario("fixed-window");
    ours.flows[0].algorithm = Entry::for_params::<Params>().algorithm();
    let outcome = run(&ours, (Stack::Ackclock, Stack::Aioquic), false);
    check("aioquic to ours", &TOLD.take(), &outcome);

    fs::write(&stamps, "").unwrap();
    let outcome = run(&scenario("cubic"), (Stack::Aioquic, Stack::Ackclock), false);
    let text = fs::read_to_string(stamps).unwrap();
    let mut told = std::collections::BTreeMap::new();
    for line in text.lines() {
        let [number, sent, arrived]: [f64; 3] =
            line.split(' ').map(|word| word.parse().unwrap()).collect::<Vec<_>>().try_into().unwrap();
        told.insert(number as u64, arrived - sent);
    }
    check("ours to aioquic", &told.into_values().collect(), &outcome);
}

/// Restarts this test in a new process, because changing the environment of a running one is
/// unsafe.
fn again() {
    if !is_here() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "stamps::both_ways", "--nocapture"])
        .env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/stamps"))
        .env(STAMPS, dir.path().join("decoded"))
        .output()
        .unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
