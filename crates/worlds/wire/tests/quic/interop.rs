//! Transfers between our endpoint and other stacks, in both directions, over UDP sockets and the
//! emulator.
//!
//! Sizes are 1 kB, 1 MB and 50 MB. The two smaller ones also run with 1 % loss and reordering.
//! Received bytes are compared with the pattern that was sent.

use ackclock_wire::endpoints::{Feasibility, MakeGuests, run};
use link::{Limit, LinkConfig, Reorder};
use scenario::{FlowConfig, Scenario, Watch};
use stack::{Host, Session, Stack};
use units::{Bytes, Duration, Rate};

use ackclock_wire::emu::testing::turn;

use crate::flow;

const RTT: Duration = Duration::from_millis(10);

/// Runs a transfer from the client of one stack to the server of another. Returns its time in
/// seconds.
fn transfer(stacks: (Stack, Stack), bytes: u64, link: LinkConfig) -> f64 {
    let config = FlowConfig { transfer: Some(bytes), rtt: RTT, handshake: true, ..flow("cubic") };
    let scenario = Scenario::new(link, [config], Duration::from_secs(120));
    let feasible = Feasibility::check(&scenario).unwrap();
    let of_thread = scenario.clone();
    let make: MakeGuests = Box::new(move || {
        let host = Host::default();
        let session = Session::new(&of_thread.flows[0], 0, &of_thread, stacks, false, &host);
        Ok(vec![(0, Box::new(session.map_err(|e| e.to_string())?))])
    });
    let measured = run(&scenario, &feasible, Some(make), None, &Watch::default(), &|_| {}).unwrap().unwrap();
    let record = &measured.outcome.flows[0];
    let said = format!("{stacks:?}, {bytes} bytes: {:?}", measured.invalid_reasons);
    assert_eq!(record.delivered, bytes, "{said}");
    record.finished.unwrap_or_else(|| panic!("{said}")).as_secs_f64()
}

fn clean(mbit_s: u64) -> LinkConfig {
    let limit = Limit::Bytes(Bytes(2 * mbit_s * 1250));
    LinkConfig { limit, delay: RTT / 2, ..LinkConfig::plain(Rate(mbit_s * 1_000_000)) }
}

fn rough() -> LinkConfig {
    let reorder = Some(Reorder { every: 100, by: Duration::from_millis(3) });
    LinkConfig { loss: 0.01, reorder, ..clean(100) }
}

/// Returns the pairs of client and server: ours with itself, and with each available stack both
/// ways.
fn pairs() -> Vec<(Stack, Stack)> {
    let mut all = vec![(Stack::Ackclock, Stack::Ackclock)];
    for other in [Stack::Noq, Stack::Quinn, Stack::Aioquic] {
        if other != Stack::Aioquic && cfg!(not(feature = "others")) {
            println!("skipped: {other:?}: this build has no feature `others`");
            continue;
        }
        match other.find() {
            Ok(()) => all.extend([(Stack::Ackclock, other), (other, Stack::Ackclock)]),
            Err(why) => println!("skipped: {why}"),
        }
    }
    all
}

#[test]
fn both_ways() {
    let Some(_turn) = turn("interop::both_ways") else { return };
    for pair in pairs() {
        for bytes in [1000, 1_000_000] {
            let (smooth, bumpy) = (transfer(pair, bytes, clean(100)), transfer(pair, bytes, rough()));
            println!("{pair:?}, {bytes} bytes: {smooth:.3} s, with loss and reordering {bumpy:.3} s");
        }
    }
}

/// Without aioquic, which would take minutes.
#[test]
fn fifty_megabytes() {
    let Some(_turn) = turn("interop::fifty_megabytes") else { return };
    for pair in pairs().into_iter().filter(|(a, b)| ![*a, *b].contains(&Stack::Aioquic)) {
        println!("{pair:?}, 50 MB at 400 Mbit/s: {:.3} s", transfer(pair, 50_000_000, clean(400)));
    }
}
