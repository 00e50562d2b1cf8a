//! Keys of a link that take more than one form.

use experiment::file::{Words, bare};
use link::{Bursts, JitterOrder, Limit, LinkConfig, RateModel, Spells};
use units::{Bytes, Duration, Rate, Time};

use crate::common::{scenario, small};

/// Returns the link of a small file with these keys, or the message.
fn link(keys: &str) -> Result<LinkConfig, String> {
    let file = small("queue = \"2 BDP\"", keys).map_err(|problems| problems.to_string())?;
    Ok(scenario(&file, 0).link)
}

fn refused(keys: &str, says: &str) {
    let said = link(keys).expect_err(keys);
    assert!(said.contains(says), "{keys}: {said}");
}

/// The defaults are those of `tc netem loss gemodel`: r = 1 - p, 1-h = 100 %, 1-k = 0 %.
#[test]
fn losses_in_bursts() {
    let bursts = |keys: &str| {
        let link = link(&format!("loss = {{ {keys} }}")).unwrap();
        assert_eq!(link.loss, 0.0);
        link.bursts.unwrap()
    };
    let packets = |p, r| Bursts { spells: Spells::Packets { p, r }, bad_loss: 1.0, good_loss: 0.0 };
    assert_eq!(bursts("p = \"25 %\""), packets(0.25, 0.75));
    assert_eq!(bursts("p = \"1 %\", r = \"10 %\""), packets(0.01, 0.1));
    let ms = Duration::from_millis;
    let times = Spells::Times { bad: ms(17), good: ms(600) };
    assert_eq!(
        bursts("bad-time = \"17 ms\", good-time = \"600 ms\", bad-loss = \"80 %\", good-loss = \"1 %\""),
        Bursts { spells: times, bad_loss: 0.8, good_loss: 0.01 }
    );
    for keys in
        ["r = \"10 %\"", "bad-time = \"1 s\"", "p = \"1 %\", bad-time = \"1 s\", good-time = \"1 s\"", ""]
    {
        refused(&format!("loss = {{ {keys} }}"), "link.loss: ");
        refused(&format!("loss = {{ {keys} }}"), "write loss = { p = ");
    }
    refused("loss = { p = \"1 %\", h = \"10 %\" }", "link.loss.h: unknown key");
    refused("loss = { p = \"101 %\" }", "link.loss.p: above 100 %");
    refused("loss = { bad-time = \"1 ns\", good-time = \"1 s\" }", "must be at least 1 us");
    refused(
        "loss = \"gemodel 1% 10%\"",
        "expected a probability or a table; losses in bursts are a table: write",
    );
    refused("corrupt = { p = \"1 %\" }", "link.corrupt: ");
}

/// An MTU, with steps. It must pass the first packets of every flow, which have 1252 bytes and 42
/// bytes of headers, or 1200 with a search for the MTU.
#[test]
fn largest_packets() {
    let read = link("mtu = \"1400 B\"").unwrap();
    assert_eq!((read.mtu, read.mtu_steps.is_empty()), (Some(Bytes(1400)), true));
    let read = link("mtu = [[\"0 s\", \"1400 B\"], [\"3 s\", \"1000 B\"]]").unwrap();
    assert_eq!(read.mtu, Some(Bytes(1400)));
    assert_eq!(read.mtu_steps.0, [(Time::from_millis(3000), Bytes(1000))]);
    assert_eq!(link("").unwrap().mtu, None);
    assert!(link("mtu = \"1294 B\"").is_ok());
    refused("mtu = \"1293 B\"", "link.mtu: an MTU of 1293 bytes drops every full packet");
    refused("mtu = \"1293 B\"", "at least one packet of 1294 bytes must pass");
    refused("mtu = \"0 B\"", "an MTU of 0 passes no packet");
    let searching = |mtu: &str| {
        let link = format!("queue = \"2 BDP\"\nmtu = \"{mtu}\"\n\n[[flow]]\nrecovery.mtu-search = true\n");
        small("queue = \"2 BDP\"\n\n[[flow]]\n", &link).map_err(|problems| problems.to_string())
    };
    assert!(searching("1242 B").is_ok());
    let said = searching("1241 B").unwrap_err();
    assert!(said.contains("at least one packet of 1242 bytes must pass"), "{said}");
}

/// An axis may compare single losses with bursts, and reach into the table.
#[test]
fn losses_that_vary() {
    let vary = "[vary]\n\"link.loss\" = [\"1 %\", { p = \"0.1 %\", r = \"10 %\" }]\n[[flow]]";
    assert_eq!(small("[[flow]]", vary).unwrap().cases().len(), 2);
    let text = "queue = \"2 BDP\"\nloss = { p = \"1 %\", r = \"10 %\" }\n[vary]\n\"link.loss.r\" = [\"5 %\", \"50 %\"]\n";
    let file = small("queue = \"2 BDP\"\n", text).unwrap();
    let spells = |case| scenario(&file, case).link.bursts.unwrap().spells;
    assert_eq!([0, 1].map(spells), [0.05, 0.5].map(|r| Spells::Packets { p: 0.01, r }));
}

/// A policer is a bucket with a queue of nothing, which is what the manifest says.
#[test]
fn policers() {
    let bucket = link("policer = \"32 kB\"").unwrap();
    assert_eq!(link("burst = \"32 kB\"\nqueue = \"0 packets\""), Ok(bucket.clone()));
    assert_eq!((bucket.burst, bucket.limit), (Bytes(32_000), Limit::Packets(0)));
    for key in ["burst = \"1 kB\"", "queue = \"0 packets\"", "aqm = \"codel\"", "limit-counts = \"queue\""] {
        refused(&format!("policer = \"32 kB\"\n{key}"), "cannot be combined; remove one of them");
    }
    let small =
        "link.policer: a bucket of 1 kB drops every full packet; it must hold at least one packet of ";
    refused("policer = \"1 kB\"", small);
    refused("policer = \"0 B\"", "a bucket of 0 bytes drops every full packet");
    refused("policer = \"11 GB\"", "link.policer: 11 GB is too large");
    refused("queue = \"0 packets\"", "or write a policer, like policer = \"32 kB\"");
    let words = Words::split("rate=10 Mbit/s rtt=40 ms policer=32 kB loss={ p = \"1 %\" }").unwrap();
    let config = link_from_words(&words);
    assert_eq!((config.burst, config.limit), (Bytes(32_000), Limit::Packets(0)));
    assert!(config.bursts.is_some());
}

fn link_from_words(words: &Words<'_>) -> LinkConfig {
    bare::link(&words.name(), &words.toml(), |delay| delay * 2, 1500).unwrap()
}

#[test]
fn jitter_of_more_than_a_bound() {
    let jitter = |keys: &str| {
        let link = link(&format!("jitter = {keys}")).unwrap();
        (link.jitter, link.jitter_correlation, link.jitter_order)
    };
    let ms = Duration::from_millis(5);
    assert_eq!(jitter("\"5 ms\""), (ms, 0.0, JitterOrder::Link));
    assert_eq!(jitter("{ up-to = \"5 ms\" }"), (ms, 0.0, JitterOrder::Link));
    let all = "{ up-to = \"5 ms\", correlation = \"75 %\", order = \"flow\" }";
    assert_eq!(jitter(all), (ms, 0.75, JitterOrder::Flow));
    for (keys, says) in [
        ("{ order = \"flow\" }", "link.jitter.up-to: missing; write the longest extra delay"),
        ("{ up-to = \"5 ms\", correlation = \"100 %\" }", "must be below \"100 %\""),
        ("{ up-to = \"5 ms\", order = \"none\" }", "known: link, flow"),
        ("3", "link.jitter: `3` has no unit"),
    ] {
        refused(&format!("jitter = {keys}"), says);
    }
}

/// A saturated channel of 32 packets in an aggregate has 32 x 12 000 bit / (1 + 0.25 + 1.28 ms),
/// which a BDP refers to.
#[test]
fn aggregates() {
    let keys = "phy = \"300 Mbit/s\", gap = \"1 ms\", backoff = \"0.5 ms\"";
    let rate = |keys: &str| format!("rate = {{ {keys} }}");
    let all = format!("{keys}, aggregate = \"32 packets\"");
    let file = small("rate = \"10 Mbit/s\"", &rate(&all)).unwrap();
    let link = scenario(&file, 0).link;
    let RateModel::Aggregates(model) = &link.rate else { panic!("{:?}", link.rate) };
    assert_eq!((model.phy, model.aggregate), (Rate(300_000_000), Limit::Packets(32)));
    let closed = 32.0 * 12_000.0 / 2.53e-3;
    assert!((link.rate.nominal().0 as f64 / closed - 1.0).abs() < 1e-6);
    let bdp = closed / 8.0 * 0.05 * 2.0;
    assert!(matches!(link.limit, Limit::Bytes(Bytes(bytes)) if (bytes as f64 - bdp).abs() < 2.0));
    let window = [1, 11].map(|s| Time::from_millis(1000 * s));
    assert!((link.capacity_between(window, 1, "l") / (closed / 8.0 * 10.0) - 1.0).abs() < 1e-6);
    assert!(small("rate = \"10 Mbit/s\"", &rate("phy = \"300 Mbit/s\"")).is_ok(), "the rest has defaults");
    for (keys, says) in [
        (format!("{keys}, aggregate = \"48 kB\""), "`aggregate` is 48 kB, but must be 1 to 1024 packets"),
        (format!("{keys}, aggregate = \"2000 packets\""), "1 to 1024 packets"),
        (format!("{keys}, agregate = \"2 packets\""), "did you mean \"aggregate\"?"),
        ("phy = \"0 bit/s\"".to_owned(), "`phy` must be at least 1 bit/s"),
        ("gap = \"1 ms\"".to_owned(), "link.rate"),
    ] {
        let said = small("rate = \"10 Mbit/s\"", &rate(&keys)).unwrap_err().to_string();
        assert!(said.contains(says), "{said}");
    }
    let policed = format!("{}\npolicer = \"9 kB\"", rate(keys));
    let said = small("rate = \"10 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"2 BDP\"", &policed)
        .unwrap_err()
        .to_string();
    assert!(said.contains("a token bucket has no meaning for chances to deliver or aggregates"), "{said}");
}
