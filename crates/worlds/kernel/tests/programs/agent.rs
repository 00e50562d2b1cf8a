//! Controllers of a process.

use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ackclock_kernel::{Agent, Grid, Inner, Lifetime, loaded, on_clock};
use congestion::{Algorithm, Registry};
use scenario::Variables;

use crate::sockets::{available, can_load, connect, own_name, transfer, wait_until};

const NAME: &str = "ACKCLOCK_TEST_AGENT";

fn algorithm(name: &str) -> Algorithm {
    Registry::default().get(name).unwrap().algorithm()
}

#[test]
fn it_decides_and_leaves_nothing() {
    if !can_load() {
        return;
    }
    let name = own_name("a");
    let agent = Agent::register(algorithm("cubic"), &name).unwrap();
    assert!(available().contains(&name));
    let taken = Agent::register(algorithm("cubic"), &name).err().map(|why| why.to_string());
    assert_eq!(taken, Some(format!("the kernel has a TCP controller `{name}` already; choose another name")));
    let found = loaded().unwrap().into_iter().find(|loaded| loaded.name == name).unwrap();
    assert_eq!((found.program.as_str(), found.lifetime), ("agent", Lifetime::Process));
    let stop = AtomicBool::new(false);
    let report = thread::scope(|scope| {
        let running = scope.spawn(|| agent.run(&stop));
        assert_eq!(transfer(connect(&name), 64 << 20), 64 << 20);
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap()
    });
    let report = report.unwrap();
    assert!(report.records > 100 && report.lost_records == 0 && report.refused_flows == 0, "{report:?}");
    assert_eq!(report.connections, 1);
    drop(agent);
    assert!(!available().contains(&name));
}

/// Each connection has the variables of its own controller, from the first record of the run on. A
/// late machine may answer no record of a connection, so that a try says nothing.
#[test]
fn variables_of_each_connection() {
    if !can_load() {
        return;
    }
    let columns = (0..5).map(|_| sampled()).find(|columns| columns.len() == 2);
    let Some(columns) = columns else { panic!("a connection without variables in five tries") };
    let first = |number| columns[&number]["bw"].iter().position(|bw| bw > 0.0).unwrap();
    assert!(first(0) < first(1), "the second connection sends after the first");
}

/// Samples the variables of two connections, one after the other.
fn sampled() -> BTreeMap<u32, Variables> {
    let (name, grid) = (own_name("s"), Grid::default());
    let agent = Agent::register(algorithm("bbr1"), &name).unwrap();
    let (stop, mut inner) = (AtomicBool::new(false), Inner::new(&grid));
    thread::scope(|scope| {
        let running = scope.spawn(|| agent.run_sampled(&stop, &mut inner));
        let connections = [connect(&name), connect(&name)];
        grid.set((on_clock(Instant::now()), units::Duration::from_millis(1))).unwrap();
        for connection in connections {
            assert_eq!(transfer(connection, 16 << 20), 16 << 20);
        }
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap().unwrap()
    });
    inner.take()
}

/// A connection whose records nobody answers for 200 ms goes on as Reno.
#[test]
fn a_connection_without_answers_continues() {
    if !can_load() {
        return;
    }
    let name = own_name("b");
    let agent = Agent::register(algorithm("bbr3"), &name).unwrap();
    let (mut client, server) = connect(&name);
    client.write_all(&[7; 1000]).unwrap();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(transfer((client, server), 64 << 20), (64 << 20) + 1000);
    let report = agent.run(&AtomicBool::new(true)).unwrap();
    assert_eq!((report.fallbacks, report.records), (1, 0), "{report:?}");
}

/// Kills the process that answers, also if its test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "the process that `a_killed_process_leaves_nothing` kills"]
fn answers_until_it_is_killed() {
    let Ok(name) = env::var(NAME) else { return };
    let agent = Agent::register(algorithm("cubic"), &name).unwrap();
    agent.run(&AtomicBool::new(false)).unwrap();
}

#[test]
fn a_killed_process_leaves_nothing() {
    if !can_load() {
        return;
    }
    let name = own_name("k");
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "agent::answers_until_it_is_killed", "--ignored"]).env(NAME, &name);
    let child = Killed(child.spawn().unwrap());
    wait_until(|| available().contains(&name));
    let connection = connect(&name);
    let sender = thread::spawn(move || transfer(connection, 512 << 20));
    thread::sleep(Duration::from_millis(50));
    drop(child);
    wait_until(|| !available().contains(&name));
    assert_eq!(sender.join().unwrap(), 512 << 20, "the connection goes on as Reno");
    wait_until(|| loaded().unwrap().iter().all(|loaded| loaded.name != name));
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
