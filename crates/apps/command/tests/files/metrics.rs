//! Metrics of loss recovery on paths where every number can be computed by hand: a packet takes 1
//! ms to transmit and 40 ms for the round trip, nothing is paced, and each packet is acknowledged
//! separately.

use experiment::metric::Metric;
use results::measure::{Values, measure};
use scenario::Watch;

/// Measures a fixed window on 10 Mbit/s. `top` is inserted before all tables, `link` and `flow`
/// into these tables.
fn values(window: u32, top: &str, link: &str, flow: &str) -> Values {
    let text = format!(
        "title = \"t\"\nsource = \"s\"\n{top}\n[link]\ndelay = \"20 ms\"\n{link}\n[[flow]]\n\
         controller = {{ name = \"fixed-window\", window = {window} }}\n\
         packet = {{ datagram = \"1208 bytes\", header = \"35 bytes\", overhead = \"42 bytes\" }}\n\
         recovery.paced = \"never\"\nack.ack-every = 1\n{flow}\n"
    );
    let scenario = crate::common::scenario(&crate::common::parse(&text).unwrap(), 0);
    measure(&scenario, &sim::run(&scenario, &Watch::default()).unwrap(), &[])
}

fn assert_values(got: &Values, expected: &[(&str, f64)]) {
    for (name, value) in expected {
        assert_eq!(got.get(*name), Some(value), "{name}");
    }
}

/// Ten packets at once, one in transmission and six in the queue: 7, 8 and 9 are dropped. Each of
/// the seven acknowledgements releases one more, 10 to 16. The acknowledgement of 10 is the first
/// beyond the gap: 7 is three below it. 8 and 9 are not, but were sent two round trips ago. The
/// four packets sent then fit.
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
            ("spurious_losses", 0.0),
        ],
    );
}

/// 650 packets, of which every hundredth arrives 10.5 ms early, before the ten ahead of it. All but
/// the newest two of these are three or more below it. With retransmissions there are fewer than
/// 700 packets, so six are early. All packets arrive before the early one's acknowledgement is
/// back, so every retransmission is redundant. No packet is late by an eighth of the RTT, at least
/// 5 ms.
#[test]
fn declared_lost_by_reordering() {
    let top = "duration = \"60 s\"\ntransfer = \"762450 bytes\"";
    let link = "rate = \"10 Mbit/s\"\nqueue = \"unlimited\"\nreorder = { every = 100, by = \"10500 us\" }";
    let with = |threshold: &str| {
        values(50, top, link, &format!("recovery.packet-threshold = {threshold}\nrecovery.undo = false"))
    };
    let early = 6.0;
    for (threshold, each) in [("3", 8.0), ("6", 5.0), ("9", 2.0)] {
        let lost = each * early;
        assert_values(
            &with(threshold),
            &[
                ("declared_lost", lost),
                ("lost_by_packet_threshold", lost),
                ("time_threshold_share", 0.0),
                ("retransmissions", lost),
                ("spurious_retransmissions", lost),
                ("spurious_losses", lost),
                ("reductions", 0.0),
            ],
        );
    }
    // The early one is delivered when the last of the ten has arrived, a millisecond before its own
    // time.
    let held = with("3");
    assert!((held["delivery_delay_mean"] - early * 9.5 / 650.0).abs() < 1e-9);
    assert!(held["delivery_delay_p95"] == 0.0);
    let none = with("\"off\"");
    assert_values(&none, &[("declared_lost", 0.0), ("spurious_losses", 0.0)]);
    assert!(!none.contains_key("time_threshold_share"), "of nothing there is no share");
}

/// Ten packets at once, one in transmission and a queue of eight: the last is dropped. The nine
/// that the acknowledgements release, 10 to 18, arrive above a gap. When 18 left, the sender had
/// received the acknowledgements of all packets before the gap, so the receiver may forget these.
/// Its tenth to seventeenth acknowledgements have two ranges.
#[test]
fn separate_acks_while_there_is_a_gap() {
    let sent = |every: &str| {
        let link = "rate = \"10 Mbit/s\"\nqueue = \"8 packets\"";
        values(10, "duration = \"1 s\"", link, &format!("ack.ping-every = {every}"))
    };
    for (every, acks) in [("\"off\"", 0.0), ("1", 8.0), ("2", 4.0), ("4", 2.0), ("8", 1.0), ("18", 0.0)] {
        assert_values(
            &sent(every),
            &[("sender_acks", acks), ("sender_acks_lost", 0.0), ("declared_lost", 1.0)],
        );
    }
}

/// As before, but the link almost stops before the nine return: later packets stay in transmission
/// and in the queue. The first acknowledgement triggers an ACK, a retransmission and a new packet.
/// Each of the next seven triggers an ACK and a packet, the last one a packet. After four of them
/// the queue is full: four ACKs and five packets are dropped.
#[test]
fn separate_acks_lost_in_a_full_queue() {
    let link = "rate = [[\"0 s\", \"10 Mbit/s\"], [\"60 ms\", \"10 kbit/s\"]]\nqueue = \"8 packets\"";
    let got = values(10, "duration = \"120 ms\"", link, "ack.ping-every = 1");
    // 10 packets at first, one of them dropped, then 9, then 10 and the ACKs.
    let loss = 100.0 * (1.0 + 4.0 + 5.0) / (10.0 + 9.0 + 10.0 + 8.0);
    assert_values(
        &got,
        &[("sender_acks", 8.0), ("sender_acks_lost", 4.0), ("retransmissions", 1.0), ("loss", loss)],
    );
}

/// Returns a metric of an experiment with one CUBIC flow over this link.
fn of_link(duration: &str, link: &str, metric: &str) -> f64 {
    let text = format!(
        "title = \"t\"\nsource = \"s\"\nduration = \"{duration}\"\nseries = \"off\"\n[link]\n{link}\n[[flow]]\n\
         controller = \"cubic\"\n"
    );
    let scenario = crate::common::scenario(&crate::common::parse(&text).unwrap(), 0);
    measure(&scenario, &sim::run(&scenario, &Watch::default()).unwrap(), &[])[metric]
}

/// 1 MB at 128 kbit/s is 62.5 s: with CUBIC the queue is more than half full most of the time.
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

/// One packet per round trip of 41 ms: rttvar is half of it after the first sample, and three
/// quarters of its previous value after each of the others, 24 in a second.
#[test]
fn rtt_variation_is_the_estimators() {
    let got = values(1, "duration = \"1 s\"", "rate = \"10 Mbit/s\"\nqueue = \"9 packets\"", "");
    let exact = 2.0 * 41.0 / 24.0 * (1.0 - (0..24).fold(1.0, |power, _| power * 0.75));
    assert!((got["rtt_variation"] - exact).abs() < 1e-5, "{} for {exact}", got["rtt_variation"]);
    assert!((got["rtt_mean"] - 41.0).abs() < 1e-9);
}

/// 60 packets on a path that holds 40 in addition to the one in transmission: 19 wait, each for a
/// millisecond.
#[test]
fn waiting_is_without_the_own_transmission() {
    let top = "duration = \"3 s\"\n[measure]\nfrom = \"1 s\"";
    let got = values(60, top, "rate = \"10 Mbit/s\"\nqueue = \"unlimited\"", "");
    let near = |word: &str, ms: f64| assert!((got[word] - ms).abs() < 1e-6, "{word}: {}", got[word]);
    [("rtt_mean", 60.0), ("queue_delay", 20.0), ("queue_wait", 19.0)]
        .into_iter()
        .for_each(|(word, ms)| near(word, ms));
}

/// The rate halves after 2 s. Each window shows the link's rate at that time, and two windows that
/// divide the run divide every count without remainder.
#[test]
fn windows_of_one_run() {
    let text = "title = \"t\"\nsource = \"s\"\nduration = \"4 s\"\n\
        [measure]\nfrom = \"1 s\"\nto = \"2 s\"\n\
        [windows]\nbefore = { to = \"2 s\" }\nafter = { from = \"2000000001 ns\" }\nlate = { from = \"3 s\" }\n\
        [link]\nrate = [[\"0 s\", \"10 Mbit/s\"], [\"2 s\", \"5 Mbit/s\"]]\ndelay = \"20 ms\"\nqueue = \"unlimited\"\n\
        loss = \"1 %\"\n\
        [[flow]]\nlabel = \"a\"\ncontroller = { name = \"fixed-window\", window = 60 }\n\
        [[flow]]\nlabel = \"b\"\ncontroller = { name = \"fixed-window\", window = 60 }\n\
        [[udp]]\nrate = \"80 kbit/s\"\nsize = \"1000 bytes\"\n[probe]\n\
        [table]\nmetrics = [\"goodput\", \"goodput @ before\", \"goodput of a @ after\", \"goodput @ late\",\n\
        \"retransmissions @ run\", \"retransmissions @ measure\"]\n";
    let exp = crate::common::parse(text).unwrap();
    let scenario = crate::common::scenario(&exp, 0);
    let got = measure(&scenario, &sim::run(&scenario, &Watch::default()).unwrap(), exp.groups());
    // 10 packets of 1294 bytes per second for UDP and ping are negligible; 1215 of 1294 bytes are
    // payload, 1 % is lost.
    let carried = |mbit_s: f64| (mbit_s - 0.083) * 1215.0 / 1294.0;
    let near = |word: &str, expected: f64| {
        assert!((got[word] / expected - 1.0).abs() < 0.02, "{word}: {} for {expected}", got[word]);
    };
    near("total_goodput", carried(10.0));
    near("total_goodput @ measure", carried(10.0));
    near("total_goodput @ late", carried(5.0));
    near("total_goodput @ run", carried(7.5));
    assert_eq!(got["goodput"], got["goodput @ measure"]);
    assert!((got["goodput"] - got["total_goodput"] / 2.0).abs() < 1e-9);
    let sum = got["total_goodput of a @ late"] + got["total_goodput of b @ late"];
    assert!((sum / got["total_goodput @ late"] - 1.0).abs() < 1e-12);
    for word in ["retransmissions", "declared_lost", "retransmissions of a", "lost_by_packet_threshold"] {
        let inside = |window: &str| got[&Metric::new(word).inside(window)];
        let parts = inside("before") + inside("after");
        assert_eq!((parts, got[word]), (inside("run"), parts), "{word}");
        assert!(parts > inside("measure"), "{word}");
    }
    near("udp_throughput @ late", 0.08);
    assert!(got["ping_mean @ late"] > got["ping_mean @ measure"], "a longer queue");
    assert!(!got.contains_key("slow_start_window @ late") && got.contains_key("slow_start_window"));
}

#[test]
fn windows_are_checked() {
    let text = |windows: &str, metric: &str| {
        format!(
            "title = \"t\"\nsource = \"s\"\nduration = \"4 s\"\n{windows}\n[link]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             [[flow]]\ncontroller = \"cubic\"\n[table]\nmetrics = [\"{metric}\"]\n"
        )
    };
    let wrong =
        |windows: &str, metric: &str| crate::common::parse(&text(windows, metric)).unwrap_err().to_string();
    let before = "[windows]\nbefore = { to = \"2 s\" }";
    crate::common::parse(&text(before, "goodput @ before")).unwrap();
    assert!(wrong(before, "goodput @ befor").contains("did you mean \"before\"?"));
    assert!(wrong(before, "completion @ before").contains("`completion` covers the whole run"));
    assert!(wrong(before, "godput @ before").contains("did you mean \"goodput\"?"));
    assert!(wrong("[windows]\nrun = { to = \"2 s\" }", "goodput").contains("invalid window name `run`"));
    assert!(wrong("[windows]\na = { to = \"5 s\" }", "goodput").contains("the run ends at 4 s"));
    assert!(wrong("[windows]\na = { from = \"3 s\", to = \"2 s\" }", "goodput").contains("windows.a.from"));
}
