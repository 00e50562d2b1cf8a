//! `fetch` through the emulator, beside its packet log: losses and one-way delays are those of the link. Needs root and /dev/net/tun.

use std::fs;
use std::io::Write;

use quic::crypto::tls::{Identity, fingerprint};

use crate::common::*;

/// Milliseconds of a line of fetch's table: smallest, mean, 95th percentile.
fn spread(table: &str, name: &str) -> [f64; 3] {
    let line = table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{table}"));
    let numbers = line.split([' ', ',']).filter_map(|word| word.parse().ok());
    numbers.collect::<Vec<f64>>().try_into().unwrap()
}

/// Of large packets of the server's: how many were dropped, and mean and 95th percentile of delays above the smallest, in ms.
fn logged(csv: &str) -> (usize, f64, f64) {
    let rows = csv.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let of_server: Vec<_> = rows.filter(|row| row[0] == "server").collect();
    let dropped = of_server.iter().filter(|row| row[6] != "delivered").count();
    let large = of_server.iter().filter(|row| row[6] == "delivered" && row[2].len() == 4);
    let mut delays: Vec<f64> =
        large.map(|row| (row[7].parse::<f64>().unwrap() - row[1].parse::<f64>().unwrap()) / 1e6).collect();
    delays.sort_by(f64::total_cmp);
    let above: Vec<f64> = delays.iter().map(|delay| delay - delays[0]).collect();
    (dropped, above.iter().sum::<f64>() / above.len() as f64, above[above.len() * 95 / 100])
}

/// What fetch says of a file of 2 MB over this link, and the packet log, from a server that listens there and is asked there.
fn fetched(test: &str, link: &str, listen: &str, host: &str) -> Option<(String, String)> {
    if let Some(why) = emu::privilege::missing() {
        // Past the test harness, which shows nothing of tests that pass.
        std::io::stderr().write_all(format!("{test}: skipped: {why}\n").as_bytes()).unwrap();
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir(path("www")).unwrap();
    fs::create_dir(path("dl")).unwrap();
    fs::write(path("www/a"), noise(2_000_000)).unwrap();
    let identity = Identity::self_signed(&["server"]).unwrap();
    fs::write(path("cert.pem"), pem("CERTIFICATE", &identity.chain[0])).unwrap();
    fs::write(path("priv.key"), pem("PRIVATE KEY", identity.key.secret_der())).unwrap();
    let known: String = fingerprint(&identity.chain[0]).iter().map(|byte| format!("{byte:02x}")).collect();
    let this = env!("CARGO_BIN_EXE_ackclock");
    let (www, cert, key) = (path("www"), path("cert.pem"), path("priv.key"));
    let server = format!(
        "{this} serve --quiet --listen {listen} --root {www} --cert {cert} --key {key} --controller new-reno"
    );
    let output = ackclock()
        .args(["link", link, "--down", "--quiet", "--log", &path("log.csv"), "--server", &server])
        .args(["--", this, "fetch", &format!("https://{host}:4433/a")])
        .args(["--out", &path("dl"), "--insecure-accept", &known])
        .output()
        .unwrap();
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", says(&output));
    assert!(fs::read(path("dl/a")).unwrap() == fs::read(path("www/a")).unwrap());
    Some((table, fs::read_to_string(path("log.csv")).unwrap()))
}

/// The first number behind a bracket in a line of the table.
fn counted(table: &str, name: &str) -> usize {
    let line = table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{table}"));
    line.split(['(', ' ']).filter_map(|word| word.parse().ok()).next().unwrap()
}

/// Each mark of the link's AQM, over IPv4, IPv6, and IPv4 at a socket of both, from a server whose datagrams leave in bursts.
#[test]
fn every_mark_is_counted() {
    let link = "rate=10 Mbit/s delay=5 ms queue=100 packets aqm={ name = \"codel\", target = \"1 ms\", interval = \"5 ms\" }";
    for (listen, host) in
        [("0.0.0.0:4433", "10.64.0.2"), ("[::]:4433", "[fd00:64::2]"), ("[::]:4433", "10.64.0.2")]
    {
        let Some((table, log)) = fetched("every_mark_is_counted", link, listen, host) else { return };
        let rows = log.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
        let marked = rows.filter(|row| row[0] == "server" && row[6] == "delivered" && row[9] == "1").count();
        let seen = counted(&table, "marked CE");
        println!("{host} at {listen}: {seen} of {marked} marks");
        assert!(marked > 0 && seen == marked, "{host} at {listen}: {marked}, {table}");
    }
}

#[test]
fn what_the_link_has_done() {
    let link = "rate=10 Mbit/s delay=15 ms queue=100 packets";
    let Some((table, log)) = fetched("what_the_link_has_done", link, "0.0.0.0:4433", "10.64.0.2") else {
        return;
    };
    let (dropped, mean, p95) = logged(&log);
    let lost = counted(&table, "loss, download");
    // What is still unknown when the server is asked, and a handshake's packet.
    assert!(lost.abs_diff(dropped) <= 5, "{table} {dropped}");
    // The smallest may be of a packet that takes the link no millisecond.
    let [_, seen_mean, seen_p95] = spread(&table, "one-way delay, download");
    assert!((seen_mean - mean).abs() < 2.0 && (seen_p95 - p95).abs() < 3.0, "{table} {mean} {p95}");
    let [least, ..] = spread(&table, "RTT");
    assert!((30.0..36.0).contains(&least), "{table}");
}
