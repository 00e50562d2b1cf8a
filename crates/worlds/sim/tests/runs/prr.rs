//! Proportional Rate Reduction (RFC 9937) where it matters: at a queue that slow start has just
//! overflowed.

use crate::common::{RTT, run, scenario, tcp_flow};
use link::{Limit, LinkConfig, Reorder};
use recovery::Reduction;
use scenario::trace::{Event, Trace};
use scenario::{Outcome, Scenario};
use units::{Bytes, Duration, Rate, Time};

const RATE: Rate = Rate(100_000_000);

/// Returns one flow over half a BDP of queue; every hundredth packet arrives 5 ms early.
fn short_queue(algorithm: &str, reduction: Reduction) -> Scenario {
    let mut flow = tcp_flow(algorithm);
    flow.recovery.reduction = reduction;
    let link = LinkConfig {
        limit: Limit::Bytes(Bytes(RATE.bytes_in(RTT / 2))),
        delay: RTT / 2,
        reorder: Some(Reorder { every: 100, by: Duration::from_millis(5) }),
        ..LinkConfig::plain(RATE)
    };
    Scenario { link, trace: true, ..scenario(0.5, 20, vec![flow]) }
}

/// Returns the time from the first reduction until all packets sent by then are acknowledged.
fn first_recovery(trace: &Trace) -> Option<Duration> {
    let (mut sent, mut begun): (u64, Option<(Time, u64)>) = (0, None);
    for (now, event) in trace {
        match event {
            Event::Sent { offset, len, .. } => sent = sent.max(offset + u64::from(*len)),
            Event::Reduced(_) => _ = begun.get_or_insert((*now, sent)),
            Event::Acked(ack) => {
                let all = ack.ranges.first().map_or(0, |r| r.1);
                if let Some((since, _)) = begun.filter(|b| all >= b.1) {
                    return Some(*now - since);
                }
            }
            _ => {}
        }
    }
    None
}

fn recovery_of(outcome: &Outcome) -> Duration {
    outcome.flows[0].trace.as_ref().and_then(first_recovery).unwrap_or(Duration::MAX)
}

/// A window that falls at once below the bytes in flight but not below the capacity of the path,
/// refills the queue with every burst of retransmissions. They are dropped repeatedly, for seconds.
/// PRR recovers in a few round trips.
#[test]
fn recovery_from_slow_start() {
    let cubic = "name = 'cubic'\nslow-start = 'standard'";
    let at_once = run(&short_queue(cubic, Reduction::AtOnce));
    let spread = run(&short_queue(cubic, Reduction::Prr));
    let (slow, fast) = (recovery_of(&at_once), recovery_of(&spread));
    assert!(slow > Duration::from_secs(5), "{slow:?}");
    // With a full queue a round trip takes 75 ms.
    assert!(fast < Duration::from_millis(4 * 75), "{fast:?}");
    let repeats = |outcome: &Outcome| outcome.flows[0].stats.retransmissions;
    assert!(repeats(&at_once) > 10 * repeats(&spread));
    assert_eq!(spread.flows[0].stats.timeouts, 0);
}

/// Reno gives up half, and the rest is about what the path holds: a few round trips either way.
#[test]
fn half_a_window_is_enough() {
    for reduction in [Reduction::AtOnce, Reduction::Prr] {
        let length = recovery_of(&run(&short_queue("name = 'tcp-reno'", reduction)));
        assert!(length < Duration::from_millis(4 * 75), "{reduction:?}: {length:?}");
    }
}

/// Controllers that shape their window themselves are not affected by the option.
#[test]
fn only_where_recovery_spreads_the_reduction() {
    for name in ["bbr1", "bbr2", "bbr3", "dstar"] {
        let [a, b] = [Reduction::AtOnce, Reduction::Prr].map(|reduction| {
            let outcome = run(&short_queue(&format!("name = '{name}'"), reduction));
            assert!(outcome.flows[0].stats.loss_events > 0, "{name}: no reduction to spread");
            outcome.flows[0].totals.clone()
        });
        assert_eq!(a, b, "{name}");
    }
}
