//! Both roles of the QUIC interop runner, in its environment.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use quic::crypto::tls::Identity;

use crate::common::*;

/// Names of the runner's cases, as its containers get them.
const CASES: [&str; 8] =
    ["handshake", "transfer", "chacha20", "keyupdate", "retry", "http3", "multiconnect", "ecn"];

fn command(dir: &Path, role: &str, case: &str) -> Command {
    let mut command = ackclock();
    command.arg("interop").env("ROLE", role).env("TESTCASE", case);
    for (name, folder) in [("WWW", "www"), ("DOWNLOADS", "downloads"), ("CERTS", "certs")] {
        command.env(name, dir.join(folder));
    }
    let logs = dir.join(format!("logs-{role}"));
    command.env("QLOGDIR", logs.join("qlog")).env("SSLKEYLOGFILE", logs.join("keys.log"));
    command
}

fn world(files: &[(&str, usize)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["www", "downloads", "certs", "logs-client", "logs-server"] {
        fs::create_dir(dir.path().join(folder)).unwrap();
    }
    for (name, len) in files {
        fs::write(dir.path().join("www").join(name), noise(*len)).unwrap();
    }
    let certs = dir.path().join("certs");
    if !certificate_by_openssl(&certs) {
        let identity = Identity::self_signed(&["localhost"]).unwrap();
        fs::write(certs.join("cert.pem"), pem("CERTIFICATE", &identity.chain[0])).unwrap();
        fs::write(certs.join("priv.key"), pem("PRIVATE KEY", identity.key.secret_der())).unwrap();
    }
    dir
}

/// Runs both ends of a case. The client uses this host name, and the server is ended like a
/// container.
fn run(dir: &Path, case: &str, host: &str, files: &[(&str, usize)]) -> Output {
    // Another process may take the port before the server does: then the server ends at once.
    for _ in 0..5 {
        if let Some(output) = try_run(dir, case, host, files) {
            return output;
        }
    }
    panic!("no server has started");
}

/// Returns `None` if the server could not start.
fn try_run(dir: &Path, case: &str, host: &str, files: &[(&str, usize)]) -> Option<Output> {
    let port = UdpSocket::bind("[::]:0").unwrap().local_addr().unwrap().port();
    // The runner gives servers the name of the case that they have to support.
    let of_server = if case == "keyupdate" { "transfer" } else { case };
    let mut server = command(dir, "server", of_server)
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let urls: Vec<String> = files.iter().map(|(name, _)| format!("https://{host}:{port}/{name}")).collect();
    let until = Instant::now() + LONG;
    let output = loop {
        let output = command(dir, "client", case).env("REQUESTS", urls.join(" ")).output().unwrap();
        let refused = says(&output).contains("no server is listening");
        if !refused || Instant::now() > until {
            break output;
        }
        if server.try_wait().unwrap().is_some() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let ended = Command::new("sh").args(["-c", &format!("kill {}", server.id())]).status().unwrap();
    assert!(ended.success());
    assert_eq!(patient(&mut server, LONG), Some(0), "{case}");
    Some(output)
}

fn check(dir: &Path, case: &str, files: &[(&str, usize)]) {
    for (name, _) in files {
        let came = dir.join("downloads").join(name);
        assert_eq!(sha256(&came), sha256(&dir.join("www").join(name)), "{case} {name}");
    }
}

#[test]
fn every_case() {
    if !has_ipv6() {
        return;
    }
    let files = [("small", 1000), ("large", 3_000_000), ("middle", 500_000)];
    for case in CASES {
        let dir = world(&files);
        let output = run(dir.path(), case, "127.0.0.1", &files);
        assert_eq!(output.status.code(), Some(0), "{case}: {}", says(&output));
        check(dir.path(), case, &files);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.contains("key updates"), case == "keyupdate", "{said}");
        // Packets had ECN on the whole path, and none was marked.
        assert!(said.contains("marked CE                0.00 % (0 of "), "{said}");
        for role in ["client", "server"] {
            let secrets = fs::read_to_string(dir.path().join(format!("logs-{role}/keys.log"))).unwrap();
            let sessions = secrets.lines().filter(|l| l.starts_with("SERVER_TRAFFIC_SECRET_0")).count();
            assert_eq!(sessions, if case == "multiconnect" { 3 } else { 1 }, "{case} {role}");
            assert!(fs::read_dir(dir.path().join(format!("logs-{role}/qlog"))).unwrap().count() > 0);
        }
    }
}

#[test]
fn ipv6() {
    if !has_ipv6() {
        return;
    }
    let files = [("large", 3_000_000)];
    let dir = world(&files);
    let output = run(dir.path(), "transfer", "[::1]", &files);
    assert_eq!(output.status.code(), Some(0), "{}", says(&output));
    check(dir.path(), "ipv6", &files);
}

/// The case `multiplexing`, with as many files as the runner requests.
#[test]
fn two_thousand_files() {
    if !has_ipv6() {
        return;
    }
    let names: Vec<String> = (0..1999).map(|n| format!("f{n}")).collect();
    let files: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), 32)).collect();
    let dir = world(&files);
    let output = run(dir.path(), "transfer", "127.0.0.1", &files);
    assert_eq!(output.status.code(), Some(0), "{}", says(&output));
    for (name, _) in &files {
        let read = |folder: &str| fs::read(dir.path().join(folder).join(name)).unwrap();
        assert!(read("downloads") == read("www"), "{name}");
    }
}

#[test]
fn what_is_not_supported() {
    let dir = world(&[]);
    for case in ["resumption", "zerortt", "connectionmigration", "v2", "versionnegotiation", "random", ""] {
        for role in ["client", "server"] {
            let output = command(dir.path(), role, case).output().unwrap();
            assert_eq!(output.status.code(), Some(127), "{case} {role}");
            let said = says(&output);
            assert!(said.contains("TESTCASE") && CASES.iter().all(|case| said.contains(case)), "{said}");
        }
    }
    let output = command(dir.path(), "neither", "transfer").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
