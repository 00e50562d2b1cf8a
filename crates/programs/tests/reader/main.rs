//! The reader beside the truth: two of our own endpoints in virtual time, a link that loses, and taps that say what really was.
#![cfg(target_os = "linux")]

mod world;

use std::collections::BTreeSet;

use ackclock_programs::reader::{Arrivals, Datagram, Flight, KeyLog, Packet, Place, Reader};
use quic::crypto::tls::Ciphers;
use quic::{Level, Side};
use units::{Rng, Time};

use world::{Run, Seen, World};

/// What was read, each packet with where and when.
fn read(run: &Run) -> (Reader, Vec<(Time, Side, Place, Packet)>) {
    let mut reader = Reader::new(KeyLog::parse(&run.keys));
    let mut all = Vec::new();
    for Seen { at, from, place, bytes } in &run.seen {
        let datagram = Datagram { at: *at, from: *from, place: *place, payload: bytes };
        all.extend(reader.read(&datagram).into_iter().map(|packet| (*at, *from, *place, packet)));
    }
    (reader, all)
}

/// Every packet of both ends by time, level, number and size; every RTT sample of the sender; what arrived.
fn compare(run: &Run) {
    let (reader, packets) = read(run);
    let generations = run.truth.each_ref().map(|truth| truth.lock().unwrap().generation);
    println!("{} datagrams, {} packets, keys {generations:?}", run.seen.len(), reader.opened());
    assert_eq!(reader.unopened(), 0);
    for side in [Side::Client, Side::Server] {
        let truth = run.truth[side as usize].lock().unwrap();
        let sent: Vec<_> = packets
            .iter()
            .filter(|(_, from, place, _)| (*from, *place) == (side, Place::Leaving))
            .map(|(at, .., packet)| (*at, packet.level, packet.number, u64::from(packet.bytes)))
            .collect();
        // The server's first datagrams leave before somebody listens to it.
        let unheard = sent.len() - truth.sent.len();
        assert!(unheard <= if side == Side::Client { 2 } else { 6 }, "{unheard}");
        let other = sent[unheard..].iter().zip(&truth.sent).find(|(read, heard)| read != heard);
        assert_eq!(other, None, "{side:?}");
        // Packets that came twice, and those of keys that were gone, were not processed: each that was is here.
        let mut arrived =
            packets.iter().filter(|(_, from, place, _)| (*from, *place) == (side.peer(), Place::Arriving));
        let heard = |received: &(Time, Level, u64)| {
            arrived.any(|(at, .., packet)| (*at, packet.level, packet.number) == *received)
        };
        assert!(truth.received.iter().all(heard), "{side:?}");
    }
}

/// The server's flight as the wire tells it, and as the server knew it.
fn compare_flight(run: &Run) -> (usize, usize) {
    let (_, packets) = read(run);
    let (mut flight, mut arrivals) = (Flight::new(Side::Server), Arrivals::default());
    let (mut rtts, mut fresh, mut first, mut in_vain) = (Vec::new(), 0, 0, 0);
    let mut bare = BTreeSet::new();
    for (at, from, place, packet) in &packets {
        match (from, place) {
            (Side::Server, Place::Leaving) => {
                first += flight.on_departure(*at, packet).fresh;
                if !packet.in_flight {
                    bare.insert(packet.number);
                }
            }
            (Side::Client, Place::Arriving) => {
                let answered = flight.on_arrival(*at, packet);
                // RFC 9002 section 5.1 asks for one newly acknowledged packet that elicited the ACK, which need not be the largest. Our
                // endpoint keeps no times of packets that are not in flight, and takes no sample where the largest is one.
                let of_bare =
                    packet.acks.iter().any(|ack| ack.largest().is_some_and(|pn| bare.contains(&pn)));
                rtts.extend(answered.rtt.filter(|_| !of_bare).map(|rtt| (*at, rtt)));
                in_vain += answered.in_vain;
            }
            (Side::Server, Place::Arriving) => fresh += arrivals.take(packet).fresh,
            (Side::Client, Place::Leaving) => {}
        }
    }
    assert_eq!((fresh, first), (run.bytes, run.bytes));
    assert!(arrivals.is_complete(0));
    let truth = run.truth[1].lock().unwrap();
    // The first samples are of the handshake, before somebody listens to the server.
    rtts.retain(|(at, _)| *at >= truth.rtts[0].0);
    assert!(truth.rtts[0].0 < Time::from_millis(1000));
    let other = rtts.iter().zip(&truth.rtts).find(|(read, heard)| read != heard);
    assert_eq!((other, rtts.len()), (None, truth.rtts.len()));
    let lost: Vec<u64> = flight.lost().map(|(number, _)| number).collect();
    let declared: Vec<u64> =
        truth.lost.iter().filter(|number| !truth.spurious.contains(number)).copied().collect();
    // Each was declared lost, and all that were declared lost and not acknowledged later had their data sent again.
    assert_eq!(lost, declared, "{in_vain} repeated in vain");
    (rtts.len(), lost.len())
}

#[test]
fn a_transfer_with_losses_at_the_queue() {
    let (world, crypto) = World::new(Ciphers::Aes128Gcm, false, 0.0);
    let run = world.run(&crypto, 3_000_000, 0);
    compare(&run);
    let (rtts, lost) = compare_flight(&run);
    println!("{rtts} RTT samples, {lost} packets lost");
    assert!(rtts > 500 && lost > 10);
}

/// Without losses bytes in flight are the server's own after every ACK. With losses the wire tells later which packets are lost.
#[test]
fn bytes_in_flight() {
    let (world, crypto) = World::new(Ciphers::All, false, 0.0);
    let run = world.run(&crypto, 60_000, 0);
    let (_, packets) = read(&run);
    let truth = run.truth[1].lock().unwrap();
    assert!(truth.lost.is_empty());
    let (mut flight, mut compared) = (Flight::new(Side::Server), 0);
    let confirmed = truth.rtts[1].0;
    for (at, from, place, packet) in &packets {
        match (from, place) {
            (Side::Server, Place::Leaving) => {
                flight.on_departure(*at, packet);
            }
            (Side::Client, Place::Arriving) => {
                flight.on_arrival(*at, packet);
                let heard = truth.in_flight.iter().find(|(time, _)| time == at && *time > confirmed);
                if let Some((_, bytes)) = heard.filter(|_| !packet.acks.is_empty()) {
                    assert_eq!(flight.bytes_in_flight(), *bytes, "{at:?}");
                    compared += 1;
                }
            }
            _ => {}
        }
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn all_ciphers_and_random_losses_both_ways() {
    for ciphers in [Ciphers::All, Ciphers::Aes128Gcm, Ciphers::ChaCha20Poly1305] {
        let (world, crypto) = World::new(ciphers, false, 0.02);
        let run = world.run(&crypto, 400_000, 0);
        compare(&run);
        compare_flight(&run);
    }
}

#[test]
fn key_updates_from_both_ends() {
    let (world, crypto) = World::new(Ciphers::All, false, 0.01);
    let run = world.run(&crypto, 2_000_000, 3);
    compare(&run);
    compare_flight(&run);
    let generations = run.truth.each_ref().map(|truth| truth.lock().unwrap().generation);
    assert!(generations.iter().all(|generation| *generation >= 2), "{generations:?}");
}

#[test]
fn a_retry_changes_the_keys_of_initials() {
    let (world, crypto) = World::new(Ciphers::All, true, 0.0);
    let run = world.run(&crypto, 100_000, 0);
    let (reader, packets) = read(&run);
    assert_eq!(reader.unopened(), 0);
    assert!(packets.iter().any(|(.., packet)| packet.level == Level::OneRtt));
}

/// What the log does not have is counted, and nothing is invented.
#[test]
fn without_the_secrets_only_initials_are_read() {
    let (world, crypto) = World::new(Ciphers::All, false, 0.0);
    let mut run = world.run(&crypto, 50_000, 0);
    run.keys.clear();
    let (reader, packets) = read(&run);
    assert!(reader.unopened() > 50 && reader.suite().is_some());
    assert!(packets.iter().all(|(.., packet)| packet.level == Level::Initial));
}

/// Bits that a link has turned over, datagrams cut short, noise: no panic, and what is whole is read.
#[test]
fn damaged_datagrams() {
    let (world, crypto) = World::new(Ciphers::All, false, 0.0);
    let mut run = world.run(&crypto, 50_000, 0);
    let mut rng = Rng::stream(5, "damage");
    for seen in &mut run.seen {
        if seen.place == Place::Arriving && rng.unit() < 0.5 {
            let (place, cut) = (rng.below(seen.bytes.len() as u64), rng.below(seen.bytes.len() as u64));
            seen.bytes[place as usize] ^= 1 << rng.below(8);
            if rng.unit() < 0.5 {
                seen.bytes.truncate(cut as usize);
            }
        }
    }
    let (reader, packets) = read(&run);
    assert!(reader.unopened() > 10);
    let leaving = packets.iter().filter(|(_, _, place, _)| *place == Place::Leaving).count();
    assert_eq!(leaving as u64, reader.opened() - (packets.len() - leaving) as u64);
}
