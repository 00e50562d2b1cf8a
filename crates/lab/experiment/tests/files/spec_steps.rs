//! Steps of a link's delay and of its queue.

use crate::common::{scenario, small};
use link::{Limit, Steps};
use scenario::{Outcome, Scenario, Watch};
use units::{Bytes, Duration, Time};

const MS: Duration = Duration::from_millis(1);

fn run(scenario: &Scenario) -> Outcome {
    sim::run(scenario, &Watch::default()).unwrap()
}

/// Returns the values of a column between these times, in seconds.
fn during<'a>(outcome: &'a Outcome, column: &'a [f64], from: f64, to: f64) -> impl Iterator<Item = f64> + 'a {
    let samples = outcome.series.times.iter().zip(column);
    samples.filter(move |(t, v)| (from..to).contains(*t) && !v.is_nan()).map(|(_, v)| *v)
}

/// A fixed window that leaves the queue empty, so that its RTT is that of the path.
const QUIET: &str = "controller = { name = \"fixed-window\", window = 4 }";

/// Steps change both directions: the RTT is twice the delay.
#[test]
fn the_rtt_moves_at_the_step() {
    let file = |delay: &str| {
        let text = format!("{delay}\nqueue = \"2 BDP\"\n\n[[flow]]\n{QUIET}\n");
        small("\"25 ms\"\nqueue = \"2 BDP\"\n\n[[flow]]\ncontroller = \"cubic\"\n", &text).unwrap()
    };
    let stepped = scenario(&file("[[\"0 s\", \"25 ms\"], [\"20 s\", \"80 ms\"], [\"40 s\", \"10 ms\"]]"), 0);
    assert_eq!(stepped.flows[0].rtt, MS * 50);
    assert_eq!(stepped.link.delay_steps.0[0], (Time::from_millis(20_000), MS * 80));
    let outcome = run(&stepped);
    let rtt = &outcome.series.flows[0].latest_rtt_ms.to_vec();
    // In addition to the path: four packets of about 1.2 ms each, and the receiver's ACK delay.
    for (from, to, path) in [(2.0, 20.0, 50.0), (20.3, 40.0, 160.0), (40.3, 60.0, 20.0)] {
        let all: Vec<f64> = during(&outcome, rtt, from, to).collect();
        let within = |r: &f64| (path..path + 6.0).contains(r);
        assert!(all.len() > 150 && all.iter().all(within), "from {from} s: {path} ms and {all:?}");
    }
    let constant = scenario(&file("\"25 ms\""), 0);
    let (before, unchanged) = (during(&outcome, rtt, 0.0, 20.0), run(&constant));
    let rtt = unchanged.series.flows[0].latest_rtt_ms.to_vec();
    // An acknowledgement takes a nanosecond on the return link, which a constant delay has not.
    assert!(before.zip(during(&unchanged, &rtt, 0.0, 20.0)).all(|(a, b)| (a - b).abs() < 1e-5));
}

/// A `[reverse]` states the other direction, so that the steps are of one direction.
#[test]
fn the_return_path_can_stay() {
    let text = "[[\"0 s\", \"25 ms\"], [\"20 s\", \"80 ms\"]]\nqueue = \"2 BDP\"\n\n\
                [reverse]\nrate = \"1 Gbit/s\"\ndelay = \"25 ms\"\n[[flow]]\n";
    let file = small(
        "\"25 ms\"\nqueue = \"2 BDP\"\n\n[[flow]]\ncontroller = \"cubic\"\n",
        &format!("{text}{QUIET}\n"),
    );
    let stepped = scenario(&file.unwrap(), 0);
    assert!(stepped.reverse[0].delay_steps.is_empty());
    let outcome = run(&stepped);
    let rtt = &outcome.series.flows[0].latest_rtt_ms.to_vec();
    assert!(during(&outcome, rtt, 20.3, 60.0).all(|rtt| (105.0..111.0).contains(&rtt)));
}

/// All steps use the first flow's BDP. Packets that wait when the queue shrinks are sent, not
/// dropped.
#[test]
fn the_queue_moves_at_the_step() {
    let stepped = small("\"2 BDP\"", "[[\"0 s\", \"2 BDP\"], [\"30 s\", \"0.2 BDP\"]]").unwrap();
    let stepped = scenario(&stepped, 0);
    assert_eq!(stepped.link.limit, Limit::Bytes(Bytes(125_000)));
    let later = Steps(vec![(Time::from_millis(30_000), Limit::Bytes(Bytes(12_500)))]);
    assert_eq!(stepped.link.limit_steps, later);
    let outcome = run(&stepped);
    let most = |from, to| during(&outcome, &outcome.series.backlog, from, to).fold(0.0, f64::max);
    assert!((100_000.0..127_000.0).contains(&most(0.0, 30.0)), "{}", most(0.0, 30.0));
    assert!((9_000.0..14_100.0).contains(&most(31.0, 60.0)), "{}", most(31.0, 60.0));
}

/// Steps with equal values mean that value.
#[test]
fn steps_of_one_value() {
    let plain = run(&scenario(&small("\"60 s\"", "\"9 s\"").unwrap(), 0));
    let steps = "[[\"0 s\", \"25 ms\"], [\"3 s\", \"25 ms\"]]\n\
                 queue = [[\"0 s\", \"2 BDP\"], [\"5 s\", \"125 kB\"]]";
    let same = small("\"25 ms\"\nqueue = \"2 BDP\"", steps).unwrap();
    let mut same = scenario(&same, 0);
    same.duration = Duration::from_secs(9);
    // Compared as text, because the series has NaN where nothing was measured.
    let words = |outcome: &Outcome| format!("{:?}", outcome.series);
    assert!(words(&run(&same)) == words(&plain));
}

#[test]
fn mistakes_are_told() {
    let said = |from: &str, to: &str| small(from, to).unwrap_err().to_string();
    for (from, to, says) in [
        ("\"25 ms\"", "[]", "link.delay: the list is empty"),
        ("\"2 BDP\"", "[]", "link.queue: the list is empty"),
        (
            "\"25 ms\"",
            "[[\"0 s\", \"5 ms\"], [\"0 s\", \"6 ms\"]]",
            "link.delay: the times of the steps of `delay` must increase",
        ),
        (
            "\"2 BDP\"",
            "[[\"5 s\", \"1 BDP\"], [\"4 s\", \"2 BDP\"]]",
            "link.queue: the times of the steps of `queue` must increase",
        ),
        (
            "\"25 ms\"",
            "[[\"0 s\", \"5 ms\"], [\"9 s\"]]",
            "link.delay.1: invalid step; write a step as [\"30 s\", \"80 ms\"]",
        ),
        ("\"2 BDP\"", "[[\"0 s\", \"5\"]]", "link.queue.0.1: `5` has no unit"),
        ("\"25 ms\"", "[\"5 ms\"]", "link.delay.0: invalid step; write a step as"),
        (
            "\"2 BDP\"",
            "[[\"0 s\", \"1 BDP\"], [\"9 s\", \"0 BDP\"]]",
            "link.queue: a queue of 0 bytes drops every full packet",
        ),
        (
            "\"2 BDP\"",
            "[[\"0 s\", \"1 BDP\"], [\"9 s\", \"2 BDP\"]]\naqm = { name = \"red\", min = \"10 %\", max = \"30 %\" }",
            "link.aqm: `min` and `max` in % need a constant limit, but `queue` has steps",
        ),
        (
            "\"25 ms\"",
            "[[\"0 s\", \"20 ms\"], [\"9 s\", \"4 ms\"]]\nreorder = { every = 9, by = \"5 ms\" }",
            "link.reorder: `reorder.by` is 5 ms, more than the `delay` of 4 ms",
        ),
        (
            "\"2 BDP\"\n\n[[flow]]\ncontroller = \"cubic\"",
            "[[\"0 s\", \"1 BDP\"], [\"9 s\", \"2 BDP\"]]\n[[flow]]\n\
             controller = { name = \"quic-dc\", threshold = \"20 % of buffer\" }",
            "`% of buffer` is undefined: the queue has steps",
        ),
    ] {
        let said = said(from, to);
        assert!(said.contains(says), "{to}: {said}");
    }
    // A delay of 0 is valid.
    let none = small("\"25 ms\"", "[[\"0 s\", \"25 ms\"], [\"9 s\", \"0 ms\"]]").unwrap();
    assert_eq!(scenario(&none, 0).link.delay_steps.0[0].1, Duration::ZERO);
}
