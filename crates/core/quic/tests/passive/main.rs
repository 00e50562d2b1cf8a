//! Compares the reader with two of our own endpoints in virtual time over a lossy link. Taps report
//! what the endpoints really did.

mod world;

use std::collections::BTreeSet;

use ackclock_quic::crypto::tls::Ciphers;
use ackclock_quic::passive::{Arrivals, Datagram, Flight, KeyLog, Packet, Place, Reader};
use ackclock_quic::{Level, Side};
use units::{Rng, Time};

use world::{Run, Seen, World};

/// Returns the reader and the packets that it read, each with its time, sender and place.
fn read(run: &Run) -> (Reader, Vec<(Time, Side, Place, Packet)>) {
    let mut reader = Reader::new(KeyLog::parse(&run.keys));
    let mut all = Vec::new();
    for Seen { at, from, place, bytes } in &run.seen {
        let datagram = Datagram { at: *at, from: *from, place: *place, payload: bytes };
        all.extend(reader.read(&datagram).into_iter().map(|packet| (*at, *from, *place, packet)));
    }
    (reader, all)
}

/// Compares every packet of both ends by time, level, number and size, and every received packet.
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
        // The server's first datagrams leave before its tap is set.
        let before_tap = sent.len() - truth.sent.len();
        assert!(before_tap <= if side == Side::Client { 2 } else { 6 }, "{before_tap}");
        let other = sent[before_tap..].iter().zip(&truth.sent).find(|(read, reported)| read != reported);
        assert_eq!(other, None, "{side:?}");
        // Duplicates, and packets whose keys were discarded, were not processed. Every processed
        // packet was read.
        let mut arrived =
            packets.iter().filter(|(_, from, place, _)| (*from, *place) == (side.peer(), Place::Arriving));
        let reported = |received: &(Time, Level, u64)| {
            arrived.any(|(at, .., packet)| (*at, packet.level, packet.number) == *received)
        };
        assert!(truth.received.iter().all(reported), "{side:?}");
    }
}

/// Compares the server's losses and RTT samples in the capture with those of the server itself.
/// Returns the numbers of samples and lost packets.
fn compare_flight(run: &Run) -> (usize, usize) {
    let (_, packets) = read(run);
    let (mut flight, mut arrivals) = (Flight::new(Side::Server), Arrivals::default());
    let (mut rtts, mut fresh, mut first, mut spurious) = (Vec::new(), 0, 0, 0);
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
                let result = flight.on_arrival(*at, packet);
                // RFC 9002 section 5.1 requires one newly acknowledged packet that is
                // ACK-eliciting, which need not be the largest. Our endpoint keeps no send times of
                // packets that are not in flight, and takes no sample if the largest is one.
                let of_bare =
                    packet.acks.iter().any(|ack| ack.largest().is_some_and(|pn| bare.contains(&pn)));
                rtts.extend(result.rtt.filter(|_| !of_bare).map(|rtt| (*at, rtt)));
                spurious += result.spurious;
            }
            (Side::Server, Place::Arriving) => fresh += arrivals.on_packet(packet).fresh,
            (Side::Client, Place::Leaving) => {}
        }
    }
    assert_eq!((fresh, first), (run.bytes, run.bytes));
    assert!(arrivals.is_complete(0));
    let truth = run.truth[1].lock().unwrap();
    // The first samples are from the handshake, before the server's tap is set.
    rtts.retain(|(at, _)| *at >= truth.rtts[0].0);
    assert!(truth.rtts[0].0 < Time::from_millis(1000));
    let other = rtts.iter().zip(&truth.rtts).find(|(read, reported)| read != reported);
    assert_eq!((other, rtts.len()), (None, truth.rtts.len()));
    let lost: Vec<u64> = flight.lost().map(|(number, _)| number).collect();
    let declared: Vec<u64> =
        truth.lost.iter().filter(|number| !truth.spurious.contains(number)).copied().collect();
    // The packets read as lost are those declared lost and not acknowledged later.
    assert_eq!(lost, declared, "{spurious} spurious retransmissions");
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

/// Without losses, bytes in flight equal the server's own count after every ACK. With losses, the
/// capture shows later which packets are lost.
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
                let reported = truth.in_flight.iter().find(|(time, _)| time == at && *time > confirmed);
                if let Some((_, bytes)) = reported.filter(|_| !packet.acks.is_empty()) {
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

/// Packets without secrets are counted, and nothing is invented.
#[test]
fn without_the_secrets_only_initials_are_read() {
    let (world, crypto) = World::new(Ciphers::All, false, 0.0);
    let mut run = world.run(&crypto, 50_000, 0);
    run.keys.clear();
    let (reader, packets) = read(&run);
    assert!(reader.unopened() > 50 && reader.suite().is_some());
    assert!(packets.iter().all(|(.., packet)| packet.level == Level::Initial));
}

/// Flipped bits, truncated datagrams and noise cause no panic, and undamaged packets are read.
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
