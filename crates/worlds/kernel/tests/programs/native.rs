//! Native controllers.

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Instant;

use ackclock_kernel::constants::natives;
use ackclock_kernel::event::kind;
use ackclock_kernel::{Grid, Inner, Lifetime, Loaded, Native, loaded, on_clock, unload};
use congestion::Algorithm;
use congestion::algorithms::delay::dstar;
use nix::sys::socket::{setsockopt, sockopt};

use crate::sockets::{available, can_load, connect, own_name, transfer, wait_until};

fn find(name: &str) -> Option<Loaded> {
    loaded().unwrap().into_iter().find(|loaded| loaded.name == name)
}

/// Unloads a controller, also if its test fails.
struct Unloaded<'a>(&'a str);

impl Drop for Unloaded<'_> {
    fn drop(&mut self) {
        let _ = unload(self.0);
    }
}

fn registers(algorithm: &Algorithm, last: &str) {
    let name = own_name(last);
    let native = Native::register_reporting(algorithm, &name).unwrap();
    assert!(available().contains(&name));
    let taken = Native::register(algorithm, &name).err().map(|why| why.to_string());
    assert_eq!(taken, Some(format!("the kernel has a TCP controller `{name}` already; choose another name")));
    let events = native.events().unwrap();
    assert_eq!(transfer(connect(&name), 16 << 20), 16 << 20);
    let events = events.take().unwrap();
    let count = |kind| events.iter().filter(|event| event.kind == kind).count();
    assert_eq!((count(kind::OPEN), events[0].kind), (1, kind::OPEN));
    // ACKs that change the mode have a kind of their own: on a fast loopback nearly all do.
    let acks = count(kind::ACK) + count(kind::MODE);
    assert!(acks > 10 && events.iter().all(|event| event.cwnd > 0), "{acks}");
    assert_eq!(native.lost_events(), 0);
    drop(native);
    assert!(!available().contains(&name));
}

#[test]
fn both_register_and_leave_nothing() {
    if !can_load() {
        return;
    }
    for (algorithm, last) in natives().iter().zip(["d", "r"]) {
        registers(algorithm, last);
    }
}

/// Parameters reach the program: the first window is the smallest one of D*.
#[test]
fn parameters_reach_the_program() {
    if !can_load() {
        return;
    }
    let name = own_name("p");
    let params = dstar::Params { min_cwnd: 23, ..dstar::Params::default() };
    let native = Native::register(&params.into(), &name).unwrap();
    let events = native.events().unwrap();
    assert_eq!(transfer(connect(&name), 1 << 20), 1 << 20);
    let events = events.take().unwrap();
    let first = events.iter().find(|event| event.kind == kind::OPEN).unwrap();
    assert_eq!((first.cwnd, first.bdp, first.gain_cwnd, first.slow_start), (23, 23, 4, 1));
    assert!(events.iter().any(|event| event.kind == kind::MODE));
    assert!(events.iter().all(|event| event.kind != kind::ACK));
}

/// D* has the variables of its controller in Rust, in bytes. Reno has none.
#[test]
fn variables_of_the_program() {
    if !can_load() {
        return;
    }
    for (algorithm, last) in natives().iter().zip(["v", "w"]) {
        let (name, grid) = (own_name(last), Grid::default());
        let native = Native::register(algorithm, &name).unwrap();
        grid.set((on_clock(Instant::now()), units::Duration::from_millis(1))).unwrap();
        assert_eq!(transfer(connect(&name), 1 << 20), 1 << 20);
        let mut inner = Inner::new(&grid);
        let report = native.run_sampled(&AtomicBool::new(true), &[1000], &mut inner).unwrap();
        assert_eq!(report.lost_records, 0);
        let columns = inner.take();
        assert_eq!(columns.len(), usize::from(algorithm.name() == "dstar"));
        for variables in columns.values() {
            assert!(variables["bdp"].values().iter().any(|bdp| *bdp >= 1000.0 && bdp % 1000.0 == 0.0));
            assert!(variables["min_rtt"].values().iter().any(|rtt| *rtt > 0.0 && *rtt < 1.0));
        }
    }
}

/// A loaded controller is listed with its sockets, and ends with the last of them.
#[test]
fn loaded_until_unloaded() {
    if !can_load() {
        return;
    }
    let name = own_name("l");
    let [dstar, _] = natives();
    Native::load(&dstar, &name).unwrap();
    let _unloaded = Unloaded(&name);
    let expected =
        |lifetime, sockets| Some(Loaded { name: name.clone(), program: "dstar".into(), lifetime, sockets });
    assert_eq!(find(&name), expected(Lifetime::Unlimited, 0));
    let taken = Native::load(&dstar, &name).err().map(|why| why.to_string());
    assert_eq!(taken, Some(format!("the kernel has a TCP controller `{name}` already; choose another name")));
    let connections = [connect(&name), connect(&name)];
    assert_eq!(find(&name), expected(Lifetime::Unlimited, 2));
    unload(&name).unwrap();
    assert!(!available().contains(&name));
    assert_eq!(find(&name), expected(Lifetime::Over, 2));
    for connection in connections {
        assert_eq!(transfer(connection, 1 << 20), 1 << 20);
    }
    wait_until(|| find(&name).is_none());
    let why = unload(&name).unwrap_err().to_string();
    assert!(why.starts_with(&format!("no native controller `{name}` is loaded; loaded: ")), "{why}");
}

#[test]
fn one_of_a_process_is_listed_but_not_unloaded() {
    if !can_load() {
        return;
    }
    let name = own_name("o");
    let [_, reno] = natives();
    let native = Native::register(&reno, &name).unwrap();
    let connection = connect(&name);
    let Loaded { program, lifetime, sockets, .. } = find(&name).unwrap();
    assert_eq!((program.as_str(), lifetime, sockets), ("reno", Lifetime::Process, 1));
    let why = unload(&name).unwrap_err().to_string();
    assert_eq!(why, format!("`{name}` belongs to a process that runs; end that process"));
    drop(native);
    assert_eq!(find(&name).map(|loaded| loaded.lifetime), Some(Lifetime::Over));
    drop(connection);
    wait_until(|| find(&name).is_none());
}

/// The controller of a connection changes while packets are in flight, and back.
#[test]
fn controllers_that_change_under_way() {
    if !can_load() {
        return;
    }
    for (algorithm, last) in natives().iter().zip(["x", "y"]) {
        let name = own_name(last);
        let native = Native::register_reporting(algorithm, &name).unwrap();
        let events = native.events().unwrap();
        let (mut client, mut server) = connect("reno");
        let reader = thread::spawn(move || std::io::copy(&mut server, &mut std::io::sink()).unwrap());
        let chunk = vec![7; 1 << 16];
        for controller in ["reno", &name, "reno", &name] {
            setsockopt(&client, sockopt::TcpCongestion, &controller.into()).unwrap();
            (0..64).for_each(|_| client.write_all(&chunk).unwrap());
        }
        drop(client);
        assert_eq!(reader.join().unwrap(), 16 << 20);
        let events = events.take().unwrap();
        let count = |kind| events.iter().filter(|event| event.kind == kind).count();
        let acks = count(kind::ACK) + count(kind::MODE);
        assert!(count(kind::OPEN) == 2 && count(kind::CLOSE) >= 1 && acks > 2, "{events:?}");
    }
}

#[test]
fn what_the_programs_do_not_have() {
    let cubic = congestion::Registry::default().get("cubic").unwrap().algorithm();
    let why = Native::register(&cubic, "any").err().map(|why| why.to_string()).unwrap();
    assert!(why.starts_with("`cubic` has no native program"), "{why}");
}
