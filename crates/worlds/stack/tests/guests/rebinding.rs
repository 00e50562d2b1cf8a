//! A NAT gives the client another port or address during the transfer (the interop runner's
//! `rebind-port` and `rebind-addr`), and forgets the previous one. The server notices with the next
//! packet, validates the path (RFC 9000 section 9), and continues there.
//! `crates/core/quic/tests/connections/transfers.rs` tests the server's own window.

use std::sync::{Arc, Mutex};

use ackclock_stack::{Host, Session, Stack};
use congestion::Controller;
use recovery::Stats;
use scenario::Guest;
use scenario::guest::{Arrival, Datagram, Snapshot};
use scenario::{End, FlowConfig, Outcome, Rebind, Record, Scenario, Watch};
use units::{Duration, Time};

use crate::common::*;

/// A session that remains accessible after the run, and the times at which its server sent a
/// datagram of at least 1200 bytes. In a transfer to the server, its ACKs are small, so such a
/// datagram validates a path.
#[derive(Clone)]
struct Watched(Arc<Mutex<(Session, Vec<Time>)>>);

impl Guest for Watched {
    fn deliver(&mut self, now: Time, arrival: Arrival, record: &mut Record) {
        self.0.lock().unwrap().0.deliver(now, arrival, record);
    }
    fn next(&mut self) -> Time {
        self.0.lock().unwrap().0.next()
    }
    fn on_time(&mut self, now: Time, record: &mut Record) {
        self.0.lock().unwrap().0.on_time(now, record);
    }
    fn transmit(&mut self, now: Time, record: &mut Record) -> Option<Datagram> {
        let mut this = self.0.lock().unwrap();
        let datagram = this.0.transmit(now, record);
        if datagram.as_ref().is_some_and(|it| it.from == End::Receiver && it.size >= 1200) {
            this.1.push(now);
        }
        datagram
    }
    fn is_done(&self) -> bool {
        self.0.lock().unwrap().0.is_done()
    }
    fn observe(&self) -> Snapshot {
        self.0.lock().unwrap().0.observe()
    }
    fn stats(&self) -> Stats {
        self.0.lock().unwrap().0.stats()
    }
    fn controller(&self) -> Option<&dyn Controller> {
        None
    }
}

fn run(scenario: &Scenario, pair: (Stack, Stack)) -> (Outcome, String, Vec<Time>) {
    let session = Session::new(&scenario.flows[0], 0, scenario, pair, false, &Host::default()).unwrap();
    let watched = Watched(Arc::new(Mutex::new((session, Vec::new()))));
    let guests = vec![(0, Box::new(watched.clone()) as Box<dyn Guest>)];
    let outcome = sim::run_with_guests(scenario, guests, &Watch::default(), None).unwrap();
    let watched = watched.0.lock().unwrap();
    (outcome, watched.0.server_destination().to_string(), watched.1.clone())
}

fn rebound(rebind: &[(u64, Rebind)]) -> Scenario {
    let mut scenario = transfer("cubic");
    let rebind = rebind.iter().map(|(ms, what)| (Duration::from_millis(*ms), *what)).collect();
    scenario.flows[0] = FlowConfig { rebind, transfer: Some(3_000_000), ..scenario.flows[0].clone() };
    scenario
}

#[test]
fn every_pair() {
    let port: &[(u64, Rebind)] = &[(1000, Rebind::Port)];
    let address: &[(u64, Rebind)] = &[(1000, Rebind::Address)];
    let both: &[(u64, Rebind)] = &[(600, Rebind::Port), (1300, Rebind::Address), (2000, Rebind::Port)];
    let moves = [(port, "10.0.0.1:4001"), (address, "10.0.1.1:4000"), (both, "10.0.1.2:4002")];
    // aioquic is left out, because it does not support rebinding.
    let stacks = [Stack::Ackclock, Stack::Noq, Stack::Quinn];
    for client in stacks {
        for server in stacks {
            let name = format!("{} to {}", client.word(), server.word());
            let (undisturbed, ..) = run(&rebound(&[]), (client, server));
            for (rebind, last) in moves {
                let (outcome, peer, large) = run(&rebound(rebind), (client, server));
                let later = done(&outcome) - done(&undisturbed);
                println!("{name:22} {} moves: {later:+.3} s, {peer}, {large:?}", rebind.len());
                assert_eq!((outcome.flows[0].delivered, peer.as_str()), (3_000_000, last), "{name}");
                for (ms, _) in rebind {
                    let asked = |at: &&Time| (*ms..ms + 600).contains(&(at.0 / 1_000_000));
                    assert!(large.iter().any(|at| asked(&at)), "{name} validates the path at {ms} ms");
                }
                // The client's window is full until its PTO, because the NAT dropped the ACKs.
                assert!(later < 0.7 * rebind.len() as f64, "{name}: {later}");
            }
        }
    }
}
