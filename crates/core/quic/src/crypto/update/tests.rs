use super::*;
use crate::crypto::plain;
use crate::level::{Level, Side};
use crate::wire::codec::Writer;
use crate::wire::connection_id::ConnectionId;
use crate::wire::header::{Outgoing, Parsed, parse};

const PTO: Duration = Duration::from_millis(100);

struct Phases(Side, u64);

impl NextKeys for Phases {
    fn next_keys(&mut self) -> PacketKeySet {
        self.1 += 1;
        let Keys { local, remote } = test_keys(self.0, self.1);
        PacketKeySet { local: local.packet, remote: remote.packet }
    }
}

/// Uses real AEADs, since wrong keys must fail. Each phase has the Initial keys of its own
/// connection ID.
fn test_keys(side: Side, phase: u64) -> Keys {
    keys::initial(&phase.to_be_bytes(), side)
}

struct End {
    keys: OneRtt,
    number: u64,
    largest: Option<u64>,
}

impl End {
    fn new(side: Side) -> Self {
        let mut keys = OneRtt::new(test_keys(side, 0), Box::new(Phases(side, 0)));
        keys.on_confirmed();
        Self { keys, number: 0, largest: None }
    }

    fn send(&mut self, now: Time) -> Vec<u8> {
        let key_phase = self.keys.prepare(now).unwrap();
        let header = Outgoing {
            level: Level::OneRtt,
            destination: ConnectionId::EMPTY,
            source: ConnectionId::EMPTY,
            token: &[],
            number: self.number,
            number_len: 2,
            key_phase,
            spin: false,
        };
        self.number += 1;
        let mut packet = vec![0; 3 + 10 + 16];
        let placed = header.encode(&mut Writer::new(&mut packet)).unwrap();
        self.keys.seal(&mut packet, &placed).unwrap();
        packet
    }

    fn receive(&mut self, now: Time, mut packet: Vec<u8>) -> Result<u64, Refused> {
        let Ok(Parsed::Protected(at)) = parse(&packet, 0) else { panic!("a short header") };
        let opened = self.keys.open(now, PTO, &mut packet, &at, self.largest)?;
        assert_eq!(opened.payload, [0; 10]);
        self.largest = self.largest.max(Some(opened.number));
        Ok(opened.generation)
    }
}

fn pair() -> (End, End) {
    (End::new(Side::Client), End::new(Side::Server))
}

/// Sends a packet, and an ACK back.
fn exchange(now: Time, a: &mut End, b: &mut End) {
    let packet = a.send(now);
    b.receive(now, packet).unwrap();
    let packet = b.send(now);
    let generation = a.receive(now, packet).unwrap();
    a.keys.on_ack(now, PTO, a.number - 1, generation).unwrap();
}

#[test]
fn updates_on_request_and_follows_the_peers() {
    let (mut client, mut server) = pair();
    let now = Time::from_millis(1);
    assert_eq!(client.keys.may_update(now), Err(NotYet::Unacknowledged));
    exchange(now, &mut client, &mut server);
    client.keys.request_update();
    exchange(now, &mut client, &mut server);
    assert_eq!((client.keys.generation(), server.keys.generation()), (1, 1));
    assert!(client.keys.key_phase());
    // The next update waits for three PTOs.
    assert_eq!(client.keys.may_update(now), Err(NotYet::TooSoon));
    let later = now + PTO * 3;
    server.keys.on_ack(later, PTO, server.number - 1, 1).unwrap();
    server.keys.request_update();
    exchange(later + PTO * 3, &mut server, &mut client);
    assert_eq!((client.keys.generation(), server.keys.generation()), (2, 2));
}

#[test]
fn no_update_before_the_handshake_is_confirmed() {
    let keys = OneRtt::new(test_keys(Side::Client, 0), Box::new(Phases(Side::Client, 0)));
    assert_eq!(keys.may_update(Time::NEVER), Err(NotYet::Unconfirmed));
}

#[test]
fn old_packets_are_opened_for_three_ptos() {
    let (mut client, mut server) = pair();
    let now = Time::from_millis(1);
    exchange(now, &mut client, &mut server);
    let late: Vec<_> = (0..3).map(|_| client.send(now)).collect();
    client.keys.request_update();
    let new = client.send(now);
    let mut late = late.into_iter();
    assert_eq!(server.receive(now, new), Ok(1));
    assert_eq!(server.receive(now, late.next().unwrap()), Ok(0));
    assert_eq!(server.receive(now + PTO * 2, late.next().unwrap()), Ok(0));
    assert_eq!(server.receive(now + PTO * 3, late.next().unwrap()), Err(Refused::Old));
}

#[test]
fn a_second_update_before_the_first_is_answered_is_an_error() {
    let (mut client, mut server) = pair();
    let now = Time::from_millis(1);
    exchange(now, &mut client, &mut server);
    client.keys.rotate();
    let first = client.send(now);
    client.keys.rotate();
    let second = client.send(now);
    assert_eq!(server.receive(now, first), Ok(1));
    let Err(Refused::Fatal(error)) = server.receive(now, second) else { panic!("taken") };
    assert_eq!(error.code, Code::KEY_UPDATE_ERROR);
}

#[test]
fn an_ack_of_new_keys_in_a_packet_of_old_ones_is_an_error() {
    let (mut client, mut server) = pair();
    let now = Time::from_millis(1);
    exchange(now, &mut client, &mut server);
    client.keys.request_update();
    client.send(now);
    let error = client.keys.on_ack(now, PTO, client.number - 1, 0).unwrap_err();
    assert_eq!(error.code, Code::KEY_UPDATE_ERROR);
    assert_eq!(client.keys.on_ack(now, PTO, 0, 0), Ok(()));
}

#[test]
fn updates_before_the_confidentiality_limit_or_ends_there() {
    let (mut client, mut server) = pair();
    let limits = Limits { confidentiality: 80, integrity: 3 };
    client.keys = client.keys.with_limits(limits);
    let now = Time::from_millis(1);
    exchange(now, &mut client, &mut server);
    for _ in 0..69 {
        client.send(now);
    }
    assert_eq!(client.keys.generation(), 0);
    exchange(now, &mut client, &mut server);
    assert_eq!((client.keys.generation(), server.keys.generation()), (1, 1));
    // No second update may start within three PTOs.
    (0..79).for_each(|_| drop(client.send(now)));
    assert_eq!(client.keys.prepare(now).unwrap_err().code, Code::AEAD_LIMIT_REACHED);
    assert_eq!(client.keys.prepare(now + PTO * 3), Ok(false));
}

#[test]
fn forged_packets_are_counted() {
    let (mut client, mut server) = pair();
    server.keys = server.keys.with_limits(Limits { confidentiality: 1 << 20, integrity: 3 });
    let now = Time::from_millis(1);
    for forged in 1..=4 {
        let mut packet = client.send(now);
        *packet.last_mut().unwrap() ^= 1;
        let refused = server.receive(now, packet).unwrap_err();
        match (forged, refused) {
            (4, Refused::Fatal(error)) => assert_eq!(error.code, Code::AEAD_LIMIT_REACHED),
            (1..=3, Refused::Forged) => {}
            other => panic!("{other:?}"),
        }
    }
    let packet = client.send(now);
    assert_eq!(server.receive(now, packet), Ok(0), "what is genuine is still opened");
}

#[test]
fn without_a_cipher_packets_are_as_long() {
    for tag_len in [0, 16] {
        let keys = plain::keys(Side::Client, Level::OneRtt, tag_len);
        assert_eq!(keys.local.packet.tag_len(), tag_len);
        assert_eq!(keys::min_payload(&keys.local, 1), 1);
    }
    assert_eq!(keys::min_payload(&test_keys(Side::Client, 0).local, 1), 3);
}
