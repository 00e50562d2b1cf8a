//! The programs inside this kernel. They need CAP_BPF and CAP_PERFMON; without, the tests say so.
#![cfg(all(target_os = "linux", feature = "load"))]
// Connections take real time.
#![allow(clippy::disallowed_methods)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ackclock_kernel::Agent;
use congestion::{Algorithm, Registry};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, setsockopt, socket, sockopt};
use std::os::fd::AsRawFd;

fn algorithm(name: &str) -> Algorithm {
    Registry::default().get(name).unwrap().algorithm()
}

/// Registers a controller, or says why this machine cannot.
fn register(name: &str, under: &str) -> Option<Agent> {
    match Agent::register(algorithm(name), under) {
        Ok(agent) => Some(agent),
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

/// Connects over the loopback interface with this controller.
fn connect(controller: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    setsockopt(&client, sockopt::TcpCongestion, &controller.into()).unwrap();
    let port = listener.local_addr().unwrap().port();
    nix::sys::socket::connect(client.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, port)).unwrap();
    (TcpStream::from(client), listener.accept().unwrap().0)
}

/// Sends this many bytes, and returns the number that arrived.
fn transfer(controller: &str, bytes: usize) -> usize {
    let (mut client, mut server) = connect(controller);
    let sender = thread::spawn(move || {
        let chunk = vec![7; 1 << 16];
        (0..bytes / chunk.len()).for_each(|_| client.write_all(&chunk).unwrap());
    });
    let (mut chunk, mut arrived) = (vec![0; 1 << 16], 0);
    while let Ok(count @ 1..) = server.read(&mut chunk) {
        arrived += count;
    }
    sender.join().unwrap();
    arrived
}

fn available() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap()
}

#[test]
fn an_agent_decides_and_leaves_nothing() {
    let name = format!("ack{}_a", std::process::id());
    let Some(agent) = register("cubic", &name) else { return };
    assert!(available().contains(&name));
    let taken = Agent::register(algorithm("cubic"), &name).err().map(|why| why.to_string());
    assert_eq!(taken, Some(format!("the kernel has a TCP controller `{name}` already; choose another name")));
    let stop = AtomicBool::new(false);
    let report = thread::scope(|scope| {
        let running = scope.spawn(|| agent.run(&stop));
        assert_eq!(transfer(&name, 64 << 20), 64 << 20);
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap()
    });
    let report = report.unwrap();
    eprintln!("{report:?}");
    assert!(report.records > 100 && report.lost_records == 0 && report.refused_flows == 0, "{report:?}");
    drop(agent);
    assert!(!available().contains(&name));
}

/// Nobody answers: the connection goes on as Reno.
#[test]
fn a_connection_without_answers_continues() {
    let name = format!("ack{}_b", std::process::id());
    let Some(_agent) = register("bbr3", &name) else { return };
    assert_eq!(transfer(&name, 64 << 20), 64 << 20);
}

#[test]
fn names_that_the_kernel_refuses() {
    for name in ["", "westwood-plus", "sixteen_letters_", "ä"] {
        let why = Agent::register(algorithm("cubic"), name).err().map(|why| why.to_string()).unwrap();
        assert!(
            why.starts_with(&format!("`{name}` cannot be the name of a TCP controller; write up to 15")),
            "{why}"
        );
    }
}
