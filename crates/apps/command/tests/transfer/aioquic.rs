//! Client and server against aioquic. Without it, the tests print that they are skipped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use stack::Stack;

use crate::common::*;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transfer/other_end.py");
const FILES: [(&str, usize); 3] = [("empty", 0), ("small", 1000), ("large", 500_000)];

fn python() -> Option<Command> {
    if let Err(why) = Stack::Aioquic.find() {
        println!("skipped: {why}");
        return None;
    }
    let name = std::env::var("ACKCLOCK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(name);
    command.arg(SCRIPT);
    Some(command)
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("www")).unwrap();
    fs::create_dir(dir.path().join("dl")).unwrap();
    for (name, len) in FILES {
        fs::write(dir.path().join("www").join(name), noise(len)).unwrap();
    }
    dir
}

#[test]
fn its_client() {
    let dir = folder();
    for (protocol, missing) in [("h3", "404"), ("hq-interop", "reset-404")] {
        let Some(mut client) = python() else { return };
        let mut server = ackclock()
            .args(["serve", "--listen", "127.0.0.1:0", "--quiet", "--root"])
            .arg(dir.path().join("www"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let first = BufReader::new(server.stdout.take().unwrap()).lines().next().unwrap().unwrap();
        let port = first.rsplit(':').next().unwrap().to_owned();
        let output = client.args(["client", &port, protocol, "/empty", "/small", "/large", "/none"]).output();
        server.kill().unwrap();
        server.wait().unwrap();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<Vec<&str>> = said.lines().map(|line| line.split(' ').collect()).collect();
        assert_eq!(lines.len(), 4, "{said} {}", says(&output));
        for ((name, _), line) in FILES.iter().zip(&lines) {
            assert_eq!(line[2], sha256(&dir.path().join("www").join(name)), "{protocol} {said}");
        }
        assert_eq!(lines[3][1], missing, "{said}");
    }
}

/// Fetches from aioquic's server, and compares every byte.
#[test]
fn its_server() {
    let dir = folder();
    let Some(mut server) = python() else { return };
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    // Python cannot read the keys that ring writes.
    if !certificate_by_openssl(dir.path()) {
        println!("skipped: no openssl, to make a certificate");
        return;
    }
    let mut server = server
        .args(["server", &path("www"), &path("cert.pem"), &path("priv.key")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let port = BufReader::new(server.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let fetch = |names: &[&str], more: &[&str]| {
        let urls: Vec<String> = names.iter().map(|name| format!("https://localhost:{port}/{name}")).collect();
        let mut command = ackclock();
        command.arg("fetch").args(urls).args(["--ca", &path("cert.pem"), "--out", &path("dl")]).args(more);
        command.output().unwrap()
    };
    let outcomes: Vec<_> = [&[][..], &["--hq"]]
        .into_iter()
        .map(|more| {
            let output = fetch(&["empty", "small", "large"], more);
            let same = |(name, _): &(&str, usize)| {
                let (came, there) = (path(&format!("dl/{name}")), path(&format!("www/{name}")));
                sha256(Path::new(&came)) == sha256(Path::new(&there))
            };
            let whole = output.status.success() && FILES.iter().all(same);
            (more, whole, output, fetch(&["none"], more))
        })
        .collect();
    let ranged = fetch(&["small"], &["--range", "bytes=0-9"]);
    drop(server.stdin.take());
    server.kill().unwrap();
    server.wait().unwrap();
    // aioquic's server does not support ranges.
    assert!(says(&ranged).contains("the server sent the whole file"), "{}", says(&ranged));
    for (more, whole, output, missing) in outcomes {
        assert!(whole, "{more:?}: {}", says(&output));
        assert!(says(&missing).contains("the server answered 404"), "{more:?}: {}", says(&missing));
    }
}
