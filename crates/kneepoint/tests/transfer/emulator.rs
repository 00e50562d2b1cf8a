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

#[test]
fn what_the_link_has_done() {
    if let Some(why) = emu::privilege::missing() {
        // Past the test harness, which shows nothing of tests that pass.
        std::io::stderr().write_all(format!("what_the_link_has_done: skipped: {why}\n").as_bytes()).unwrap();
        return;
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
    let this = env!("CARGO_BIN_EXE_kneepoint");
    let (www, cert, key) = (path("www"), path("cert.pem"), path("priv.key"));
    let server = format!("{this} serve --quiet --root {www} --cert {cert} --key {key} --controller new-reno");
    let output = kneepoint()
        .args(["link", "rate=10 Mbit/s delay=15 ms queue=100 packets", "--down", "--quiet"])
        .args(["--log", &path("log.csv"), "--server", &server, "--", this, "fetch"])
        .args(["https://10.64.0.2:4433/a", "--out", &path("dl"), "--insecure-accept", &known])
        .output()
        .unwrap();
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", says(&output));
    assert!(fs::read(path("dl/a")).unwrap() == fs::read(path("www/a")).unwrap());

    let (dropped, mean, p95) = logged(&fs::read_to_string(path("log.csv")).unwrap());
    let line = table.lines().find(|line| line.starts_with("loss, download")).unwrap();
    let lost: usize = line.split(['(', ' ']).filter_map(|word| word.parse().ok()).next().unwrap();
    // What is still unknown when the server is asked, and a handshake's packet.
    assert!(lost.abs_diff(dropped) <= 5, "{line} {dropped}");
    // The smallest may be of a packet that takes the link no millisecond.
    let [_, seen_mean, seen_p95] = spread(&table, "one-way delay, download");
    assert!((seen_mean - mean).abs() < 2.0 && (seen_p95 - p95).abs() < 3.0, "{table} {mean} {p95}");
    let [least, ..] = spread(&table, "RTT");
    assert!((30.0..36.0).contains(&least), "{table}");
}
