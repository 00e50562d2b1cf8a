//! `serve` and `fetch` against other stacks, all as processes over the emulator: 1 kB, 1 MB and 50
//! MB, with and without 1 % loss and reordering. The run checks that the received file has the hash
//! of the served one. Needs root and /dev/net/tun.

use std::fs;
use std::io::Write;

use congestion::Algorithm;
use link::{Limit, LinkConfig, Reorder};
use scenario::{FlowConfig, Scenario, Transport, Watch};
use units::{Bytes, Duration, Rate};
use wire::processes::{Fate, Options, Stack, Timeouts, run_with, shipped};

/// Timeout that is long enough for Python.
const LONG: Duration = Duration::from_secs(120);
const RTT: Duration = Duration::from_millis(10);
const CONTROLLER: &str = "cubic";

/// Writes past the test harness, which hides the output of passing tests.
fn say(line: &str) {
    std::io::stderr().write_all(format!("processes: {line}\n").as_bytes()).unwrap();
}

/// This program as a stack, with HTTP/3, or with `hq-interop` if the other stack uses that.
fn ours(protocol: &str) -> Stack {
    let this = env!("CARGO_BIN_EXE_ackclock");
    let text = format!(
        r#"
name = "ackclock"
version = "this"
install = "cargo build"
controllers = {{ cubic = "cubic", new-reno = "new-reno" }}
find = {{ file = "{this}" }}
[server]
command = ["{this}", "serve", "--listen", "{{address}}:{{port}}", "--root", "{{root}}", "--cert", "{{cert}}", "--key", "{{key}}", "--controller", "{{controller}}"]
environment = {{ SSLKEYLOGFILE = "{{keylog}}" }}
[client]
command = ["{this}", "fetch", "https://{{address}}:{{port}}{{path}}", "--out", "{{out}}", "--ca", "{{ca}}"{protocol}]
environment = {{ SSLKEYLOGFILE = "{{keylog}}" }}
"#
    );
    let dir = tempfile::tempdir().unwrap();
    let manifest = dir.path().join("ackclock.toml");
    fs::write(&manifest, text).unwrap();
    Stack::read(&manifest).unwrap()
}

/// Returns the seconds that a transfer takes.
fn transfer(server: &Stack, client: &Stack, bytes: u64, link: LinkConfig) -> f64 {
    let algorithm = Algorithm::all().into_iter().find(|algorithm| algorithm.name() == CONTROLLER).unwrap();
    let transport = Transport::Quic { datagram: 1252, header: 37, overhead: 42 };
    let flow = FlowConfig { transfer: Some(bytes), ..FlowConfig::new(CONTROLLER, algorithm, transport, RTT) };
    let scenario = Scenario::new(link, [flow], LONG);
    // A stack without CUBIC runs its own controller.
    let has = server.controllers().any(|name| name == CONTROLLER);
    let controller = if has { Some(CONTROLLER) } else { server.controllers().next() };
    let timeout = std::time::Duration::from_secs(60);
    let timeouts = Timeouts { silence: timeout, ready: timeout };
    let options = Options { client: Some(client.clone()), timeouts, ..Options::default() };
    let measured = run_with(&scenario, server, controller, &options, &Watch::default()).unwrap();
    let (transfer, reading) = (&measured.transfers[0], &measured.readings[0]);
    let said = format!("{} to {}, {bytes} bytes: {transfer:?}", server.name(), client.name());
    assert_eq!((&transfer.fate, transfer.arrived), (&Fate::Done, bytes), "{said}");
    reading.completion.unwrap_or_else(|| panic!("{said}")).as_secs_f64()
}

fn clean(mbit_s: u64) -> LinkConfig {
    let limit = Limit::Bytes(Bytes(2 * mbit_s * 1250));
    LinkConfig { limit, delay: RTT / 2, ..LinkConfig::plain(Rate(mbit_s * 1_000_000)) }
}

fn rough() -> LinkConfig {
    let reorder = Some(Reorder { every: 100, by: Duration::from_millis(3) });
    LinkConfig { loss: 0.01, reorder, ..clean(50) }
}

#[test]
fn with_every_stack_both_ways() {
    let Some(_turn) = wire::emu::testing::turn("with_every_stack_both_ways") else { return };
    for other in shipped() {
        if let Err(why) = other.locate() {
            say(&format!("skipped: {}: {why}", other.name()));
            continue;
        }
        let ours = ours(if other.name() == "ngtcp2" { "" } else { ", \"--hq\"" });
        for (server, client) in [(&ours, &other), (&other, &ours)] {
            let mut times = vec![];
            for bytes in [1000, 1_000_000] {
                times.push(transfer(server, client, bytes, clean(50)));
                times.push(transfer(server, client, bytes, rough()));
            }
            // Python would need minutes.
            if other.name() != "aioquic" {
                times.push(transfer(server, client, 50_000_000, clean(400)));
            }
            say(&format!("{} to {}: {times:.3?} s", server.name(), client.name()));
        }
    }
}
