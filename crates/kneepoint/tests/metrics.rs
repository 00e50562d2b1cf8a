//! Metrics of loss recovery on paths where every number follows by hand: a packet takes 1 ms on the wire and 40 ms for the
//! round trip, nothing is paced, and each packet is acknowledged by itself.

mod common;

use kneepoint::measure::{Values, measure};
use sim::Watch;

/// A fixed window on 10 Mbit/s; what comes in `top` stands before all tables, in `link` and `flow` in these.
fn values(window: u32, top: &str, link: &str, flow: &str) -> Values {
    let text = format!(
        "title = \"t\"\nsource = \"s\"\n{top}\n[link]\ndelay = \"20 ms\"\n{link}\n[[flow]]\n\
         controller = {{ name = \"fixed-window\", window = {window} }}\n\
         packet = {{ datagram = \"1208 bytes\", header = \"35 bytes\", overhead = \"42 bytes\" }}\n\
         recovery.paced = \"never\"\nack.ack-every = 1\n{flow}\n"
    );
    let scenario = common::scenario(&common::parse(&text).unwrap(), 0);
    measure(&scenario, &sim::run(&scenario, &Watch::default()).unwrap(), &[])
}

fn assert_values(got: &Values, expected: &[(&str, f64)]) {
    for (name, value) in expected {
        assert_eq!(got.get(*name), Some(value), "{name}");
    }
}

/// Ten packets at once, of which one is in transmission and six may wait: 7, 8 and 9 are dropped. Each of the seven acknowledgements lets one more go, 10
/// to 16. That of 10 is the first beyond the gap: 7 is three below it, while 8 and 9 are not, but left two round trips ago. The
/// four packets that now leave find room.
#[test]
fn declared_lost_by_both_thresholds() {
    let got = values(10, "duration = \"1 s\"", "rate = \"10 Mbit/s\"\nqueue = \"6 packets\"", "");
    assert_values(
        &got,
        &[
            ("declared_lost", 3.0),
            ("lost_by_packet_threshold", 1.0),
            ("lost_by_time_threshold", 2.0),
            ("time_threshold_share", 100.0 * 2.0 / 3.0),
            ("lost_by_timeout", 0.0),
            ("retransmissions", 3.0),
            ("spurious_retransmissions", 0.0),
        ],
    );
}

/// 650 packets of which every hundredth arrives 10.5 ms early, before the ten ahead of it: all but the newest two are three or
/// more below it. With the repeats they are less than 700, so that six are early. All arrive after all; nothing is late by an
/// eighth of the RTT, 5 ms at least.
#[test]
fn declared_lost_by_reordering() {
    let top = "duration = \"60 s\"\ntransfer = \"762450 bytes\"";
    let link = "rate = \"10 Mbit/s\"\nqueue = \"unlimited\"\nreorder = { every = 100, by = \"10500 us\" }";
    let with = |threshold: &str| {
        values(50, top, link, &format!("recovery.packet-threshold = {threshold}\nrecovery.undo = false"))
    };
    let events = 6.0;
    for (threshold, each) in [("3", 8.0), ("6", 5.0), ("9", 2.0)] {
        let lost = each * events;
        assert_values(
            &with(threshold),
            &[
                ("declared_lost", lost),
                ("lost_by_packet_threshold", lost),
                ("time_threshold_share", 0.0),
                ("retransmissions", lost),
                ("spurious_retransmissions", lost),
                ("reductions", events),
            ],
        );
    }
    let none = with("\"off\"");
    assert_values(&none, &[("declared_lost", 0.0), ("spurious_retransmissions", 0.0)]);
    assert!(!none.contains_key("time_threshold_share"), "of nothing there is no share");
}

/// Ten packets at once, one in transmission and a queue of eight: the last is dropped. The nine that the acknowledgements let go, 10 to 18, arrive
/// with a gap below. The sender had heard of all before the gap when 18 left, so that the receiver may forget these: its tenth
/// to its seventeenth acknowledgement have two ranges.
#[test]
fn separate_acks_while_there_is_a_gap() {
    let sent = |every: &str| {
        let link = "rate = \"10 Mbit/s\"\nqueue = \"8 packets\"";
        values(10, "duration = \"1 s\"", link, &format!("ack.ping-every = {every}"))
    };
    for (every, acks) in [("\"off\"", 0.0), ("1", 8.0), ("2", 4.0), ("4", 2.0), ("8", 1.0), ("18", 0.0)] {
        assert_values(
            &sent(every),
            &[("separate_acks", acks), ("separate_acks_lost", 0.0), ("declared_lost", 1.0)],
        );
    }
}

/// As before, but before the nine come back the link all but stops: what leaves then stays in transmission and in its queue. The first
/// brings an ACK, a repeat and a new packet, the next seven an ACK and a packet each, the last one a packet. After four of them
/// the queue is full: four ACKs and five packets find no room.
#[test]
fn separate_acks_lost_in_a_full_queue() {
    let link = "rate = [[\"0 s\", \"10 Mbit/s\"], [\"60 ms\", \"10 kbit/s\"]]\nqueue = \"8 packets\"";
    let got = values(10, "duration = \"120 ms\"", link, "ack.ping-every = 1");
    // 10 packets at first, one of them dropped, then 9, then 10 and the ACKs.
    let loss = 100.0 * (1.0 + 4.0 + 5.0) / (10.0 + 9.0 + 10.0 + 8.0);
    assert_values(
        &got,
        &[("separate_acks", 8.0), ("separate_acks_lost", 4.0), ("retransmissions", 1.0), ("loss", loss)],
    );
}

/// A metric of an experiment with one flow of CUBIC over this link.
fn of_link(duration: &str, link: &str, metric: &str) -> f64 {
    let text = format!(
        "title = \"t\"\nsource = \"s\"\nduration = \"{duration}\"\nseries = \"off\"\n[link]\n{link}\n[[flow]]\n\
         controller = \"cubic\"\n"
    );
    let scenario = common::scenario(&common::parse(&text).unwrap(), 0);
    measure(&scenario, &sim::run(&scenario, &Watch::default()).unwrap(), &[])[metric]
}

/// 1 MB at 128 kbit/s are 62.5 s: with CUBIC the queue is more than half full most of the time.
#[test]
fn percentiles_beyond_twenty_seconds() {
    let link = "rate = \"128 kbit/s\"\ndelay = \"25 ms\"\nqueue = \"1 MB\"";
    let of = |metric| of_link("600 s", link, metric);
    let (median, p95, most) = (of("rtt_p50"), of("rtt_p95"), of("rtt_max"));
    assert!(median > 31_250.0 && median < p95 && p95 <= most && most < 63_000.0, "{median} {p95} {most}");
}

/// 20 us of propagation and 1 us of transmission, with a queue of 20 us.
#[test]
fn percentiles_of_microseconds() {
    let link = "rate = \"10 Gbit/s\"\ndelay = \"10 us\"\nqueue = \"1 BDP\"";
    let median = of_link("100 ms", link, "rtt_p50");
    assert!((0.021..0.050).contains(&median), "{median}");
}
