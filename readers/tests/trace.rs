//! Reads the logs of `ackclock trace` with Cloudflare's crates. The program traces this process:
//! by the kernel's tracepoints if it may, and otherwise by polls.
// Connections take real time.
#![allow(clippy::disallowed_methods)]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde_json::Value;

/// Sends for 1.5 s over the loopback interface.
fn transfer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let reader = thread::spawn(move || {
        let mut chunk = vec![0; 1 << 16];
        while matches!(server.read(&mut chunk), Ok(1..)) {}
    });
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(1500) {
        client.write_all(&[7; 50_000]).unwrap();
        thread::sleep(Duration::from_millis(2));
    }
    drop(client);
    reader.join().unwrap();
}

/// Returns the records of the logs of a trace, or `None` if the program cannot trace.
fn logs(format: &str) -> Option<Vec<Vec<Value>>> {
    let Some(program) = env::var_os("ACKCLOCK") else {
        eprintln!("skipped: ACKCLOCK is not set");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut trace = Command::new(program);
    trace.args([
        "trace",
        "--pid",
        &std::process::id().to_string(),
        "--duration",
        "2500 ms",
        "--format",
        format,
    ]);
    let running = trace.arg("--qlog").arg(folder.path()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    thread::sleep(Duration::from_millis(300));
    transfer();
    let done = running.unwrap().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if said.contains("this build has no") || said.contains("inet_diag:") {
        eprintln!("skipped: {said}");
        return None;
    }
    assert!(done.status.success(), "{said}");
    Some(read(folder.path()))
}

fn read(folder: &Path) -> Vec<Vec<Value>> {
    let files = fs::read_dir(folder).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
    files.map(|log| common::records(&log)).collect()
}

/// Each record is of a type of the crate, and the transfer is among them.
fn check<T: serde::de::DeserializeOwned>(format: &str) {
    let Some(logs) = logs(format) else { return };
    for log in &logs {
        for record in &log[1..] {
            let _: T = serde_json::from_str(&record.to_string()).unwrap_or_else(|e| panic!("{e}: {record}"));
        }
    }
    let longest = logs.iter().map(Vec::len).max();
    assert!(longest > Some(20), "{longest:?} records");
}

#[test]
fn qlog_0_3() {
    check::<qlog_0_3::events::Event>("0.3");
}

#[test]
fn the_current_drafts() {
    check::<qlog::events::Event>("current");
}
