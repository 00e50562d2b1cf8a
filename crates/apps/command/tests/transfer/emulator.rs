//! Compares the measurements of `fetch` with the packet log of the emulator: losses and one-way
//! delays. Needs root and /dev/net/tun.

use std::fs;

use quic::crypto::tls::{Identity, fingerprint};
use wire::emu::testing::{timing_of_unaudited, turn};

use crate::common::*;

/// Returns minimum, mean and 95th percentile of a line of fetch's table, in milliseconds.
fn spread(table: &str, name: &str) -> [f64; 3] {
    let line = table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{table}"));
    let numbers = line.split([' ', ',']).filter_map(|word| word.parse().ok());
    numbers.collect::<Vec<f64>>().try_into().unwrap()
}

/// Returns the number of dropped packets of the server. Also returns mean and 95th percentile of
/// the delays of its large packets, above the minimum, in milliseconds.
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

/// Fetches a file of 2 MB over this link from a server at `listen`, reached as `host`. Returns the
/// table, the packet log, and why the run is not valid.
fn fetched(link: &str, listen: &str, host: &str) -> (String, String, Vec<String>) {
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
    let said = says(&output);
    let invalid = said.lines().filter_map(|line| line.split_once("audit: invalid: "));
    let invalid = invalid.map(|(_, reasons)| reasons.to_owned()).collect();
    (table, fs::read_to_string(path("log.csv")).unwrap(), invalid)
}

/// Returns the first number after a bracket in a line of the table.
fn counted(table: &str, name: &str) -> usize {
    let line = table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{table}"));
    line.split(['(', ' ']).filter_map(|word| word.parse().ok()).next().unwrap()
}

/// Every mark of the link's AQM is counted: over IPv4, over IPv6, and over IPv4 at a dual-stack
/// socket, from a server that sends in bursts.
#[test]
fn every_mark_is_counted() {
    let link = "rate=10 Mbit/s delay=5 ms queue=100 packets aqm={ name = \"codel\", target = \"1 ms\", interval = \"5 ms\" }";
    let Some(_turn) = turn("every_mark_is_counted") else { return };
    let mut ways = vec![("0.0.0.0:4433", "10.64.0.2")];
    if has_ipv6() {
        ways.extend([("[::]:4433", "[fd00:64::2]"), ("[::]:4433", "10.64.0.2")]);
    }
    for (listen, host) in ways {
        timing_of_unaudited(&format!("every_mark_is_counted ({host} at {listen})"), || {
            let (table, log, invalid) = fetched(link, listen, host);
            let rows = log.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
            let marked =
                rows.filter(|row| row[0] == "server" && row[6] == "delivered" && row[9] == "1").count();
            let seen = counted(&table, "marked CE");
            println!("{host} at {listen}: {seen} of {marked} marks");
            assert!(marked > 0 && seen > 0 && seen <= marked, "{host} at {listen}: {marked}, {table}");
            // A packet that was repeated for nothing may arrive when the client is done.
            (invalid, (seen == marked).then_some(()).ok_or_else(|| format!("{marked}, {table}")))
        });
    }
}

#[test]
fn what_the_link_has_done() {
    let link = "rate=10 Mbit/s delay=15 ms queue=100 packets";
    let Some(_turn) = turn("what_the_link_has_done") else { return };
    timing_of_unaudited("what_the_link_has_done", || {
        let (table, log, invalid) = fetched(link, "0.0.0.0:4433", "10.64.0.2");
        let (dropped, mean, p95) = logged(&log);
        let lost = counted(&table, "loss, download");
        let [_, seen_mean, seen_p95] = spread(&table, "one-way delay, download");
        let [least, ..] = spread(&table, "RTT");
        assert!(least >= 30.0, "{table}");
        // Some packets are still unknown when the server reports, and one belongs to the handshake.
        // The minimum of the delays may belong to a packet that takes less than a millisecond on
        // the link.
        let holds = lost.abs_diff(dropped) <= 5
            && (seen_mean - mean).abs() < 2.0
            && (seen_p95 - p95).abs() < 3.0
            && least < 33.0;
        (invalid, holds.then_some(()).ok_or_else(|| format!("{table} {dropped} {mean} {p95}")))
    });
}
