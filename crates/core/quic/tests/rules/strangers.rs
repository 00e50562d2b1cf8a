//! Answers of an endpoint to unknown senders: tokens, Retry, refusals, version negotiation,
//! stateless resets (RFC 9000 sections 5.2, 6, 8.1, 10.3).

use std::net::SocketAddr;

use ackclock_quic::config::{EndpointConfig, RetryPolicy};
use ackclock_quic::crypto::keys;
use ackclock_quic::endpoint::routing::DropReason;
use ackclock_quic::endpoint::token::MAX_TOKEN;
use ackclock_quic::endpoint::{
    Admission, First, ResetKey, Routed, Routing, Tokens, Verdict, admission, reset,
};
use ackclock_quic::random::Random;
use ackclock_quic::units::{Duration, Time};
use ackclock_quic::wire::header::{Outgoing, Parsed, parse};
use ackclock_quic::wire::{ConnectionId, Frame, Frames, Writer, retry};
use ackclock_quic::{Code, Level, Side};
use proptest::prelude::*;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn id(byte: u8) -> ConnectionId {
    ConnectionId::new(&[byte; 8]).unwrap()
}

fn random() -> Random {
    Random::stream(1, "test")
}

fn config() -> EndpointConfig {
    EndpointConfig { accepts: true, ..EndpointConfig::default() }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn what_a_token_of_a_retry_is_worth() {
    let client = address("192.0.2.1:1000");
    let made = Time::from_millis(5000);
    let take = |now, from, destination, change: Option<usize>| {
        let mut tokens = Tokens::new(&[1; 32], &config());
        let mut token = tokens.for_retry(made, client, id(1), id(2), &mut random());
        assert!(token.len() <= MAX_TOKEN);
        if let Some(at) = change {
            token[at] ^= 1;
        }
        tokens.take(now, from, &destination, &token)
    };
    let good = Verdict::Retried { original: id(1) };
    assert_eq!(take(made, client, id(2), None), good);
    assert_eq!(take(made + SECOND * 15, client, id(2), None), good);
    assert_eq!(take(made + SECOND * 15 + Duration(1), client, id(2), None), Verdict::Invalid);
    assert_eq!(take(made, address("192.0.2.1:1001"), id(2), None), Verdict::Invalid);
    assert_eq!(take(made, address("192.0.2.2:1000"), id(2), None), Verdict::Invalid);
    assert_eq!(take(made, client, id(3), None), Verdict::Invalid);
    // The same address, as a dual-stack socket reports it.
    assert_eq!(take(made, address("[::ffff:192.0.2.1]:1000"), id(2), None), good);
    for at in 0..40 {
        assert_eq!(take(made, client, id(2), Some(at)), Verdict::Nothing, "changed at {at}");
    }
}

#[test]
fn each_token_once_and_so_many_are_remembered() {
    let mut tokens = Tokens::new(&[1; 32], &EndpointConfig { used_tokens: 10, ..config() });
    let (client, mut random) = (address("192.0.2.1:1000"), random());
    let at = |n: u64| Time::from_millis(1000 * n);
    let made: Vec<Vec<u8>> = (0..50).map(|n| tokens.for_later(at(n), client, &mut random)).collect();
    let elsewhere = address("192.0.2.1:5");
    for (n, token) in made.iter().enumerate() {
        let now = at(100);
        assert_eq!(tokens.take(now, elsewhere, &id(1), token), Verdict::Validated, "{n}");
        assert_eq!(tokens.take(now, elsewhere, &id(1), token), Verdict::Nothing, "{n}, used");
        assert!(tokens.remembered() <= 10);
    }
    assert!(made.iter().all(|token| tokens.take(at(100), elsewhere, &id(1), token) == Verdict::Nothing));
    let late = at(200);
    let token = tokens.for_later(late, client, &mut random);
    let day = SECOND * 24 * 3600;
    assert_eq!(tokens.take(late + day + Duration(1), client, &id(1), &token), Verdict::Nothing);
    assert_eq!(Tokens::new(&[2; 32], &config()).take(late, client, &id(1), &token), Verdict::Nothing);
}

#[test]
fn who_gets_in() {
    let mut tokens = Tokens::new(&[1; 32], &config());
    let first = First { from: address("192.0.2.1:1000"), destination: id(1), source: id(2), token: &[] };
    let now = Time::from_millis(1);
    let mut decide = |policy, waiting| admission::decide(policy, waiting, 10, &mut tokens, now, &first);
    let accepted = Admission::Accept { original: id(1), retry: None, validated: false };
    assert_eq!(decide(RetryPolicy::Never, (9, 9)), accepted);
    assert_eq!(decide(RetryPolicy::Never, (10, 0)), Admission::Refuse(Code::CONNECTION_REFUSED));
    // Enough of all clients, or of the client's host.
    let from = RetryPolicy::From { all: 5, of_host: 2 };
    for (waiting, expected) in [((4, 1), accepted), ((5, 0), Admission::Retry), ((2, 2), Admission::Retry)] {
        assert_eq!(decide(from, waiting), expected, "{waiting:?}");
    }
    assert_eq!(decide(RetryPolicy::Always, (0, 0)), Admission::Retry);

    // The Retry is genuine, and its token admits the next Initial.
    let answer = admission::write_retry(&tokens, now, &first, id(3), &mut random());
    let Ok(Parsed::Retry(packet)) = parse(&answer, 8) else { panic!("a Retry") };
    assert!(retry::is_genuine(&packet, &id(1)) && packet.destination == id(2) && packet.source == id(3));
    let second = First { destination: id(3), token: packet.token, ..first };
    let expected = Admission::Accept { original: id(1), retry: Some(id(3)), validated: true };
    let mut decide = || admission::decide(RetryPolicy::Always, (0, 0), 10, &mut tokens, now, &second);
    assert_eq!((decide(), decide()), (expected, Admission::Refuse(Code::INVALID_TOKEN)));
}

#[test]
fn a_refusal_can_be_read() {
    let first = First { from: address("192.0.2.1:1000"), destination: id(1), source: id(2), token: &[] };
    let mut bytes = admission::write_refusal(&first, id(3), Code::CONNECTION_REFUSED);
    let Ok(Parsed::Protected(packet)) = parse(&bytes, 8) else { panic!("an Initial") };
    assert_eq!((packet.level, packet.destination, packet.source), (Level::Initial, id(2), id(3)));
    let keys = keys::initial(&id(1), Side::Client);
    let opened = keys::open(&keys.remote, &mut bytes, &packet, None).unwrap();
    let mut frames = Frames::new(opened.payload, Level::Initial, Default::default()).unwrap();
    let expected = Frame::ConnectionClose { code: Code::CONNECTION_REFUSED, frame_type: 0, reason: &[] };
    assert_eq!(frames.next(), Some(Ok(expected)));
}

/// Creates a long header of this version with IDs of 8 bytes, in a datagram of `len` bytes.
fn initial(version: u32, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    bytes[0] = 0xc3;
    bytes[1..5].copy_from_slice(&version.to_be_bytes());
    bytes[5] = 8;
    bytes[6..14].fill(1);
    bytes[14] = 8;
    bytes[15..23].fill(2);
    let length = (len - 26) as u16;
    bytes[24..26].copy_from_slice(&(0x4000 | length).to_be_bytes());
    bytes
}

#[test]
fn what_strangers_get() {
    let from = address("192.0.2.1:1000");
    let mut routing = Routing::new(&config(), ResetKey::new(&[1; 32]));
    let mut random = random();
    let mut route = |bytes: &[u8]| match routing.route(Time::ZERO, from, bytes, &mut random) {
        Routed::Answer(answer) => {
            assert!(answer.len() < bytes.len());
            Ok(answer)
        }
        Routed::First(_) => Ok(vec![]),
        Routed::Dropped(why) => Err(why),
        other => panic!("{other:?}"),
    };
    assert_eq!(route(&initial(1, 1200)), Ok(vec![]));
    assert_eq!(route(&initial(1, 1199)), Err(DropReason::Small));
    assert_eq!(route(&initial(0x0a0a_0a0b, 1199)), Err(DropReason::Small));
    assert_eq!(route(&[]), Err(DropReason::Unreadable));
    assert_eq!(route(&[0; 50]), Err(DropReason::Unreadable));
    let answer = route(&initial(0x6b33_43cf, 1200)).unwrap();
    let Ok(Parsed::VersionNegotiation(answer)) = parse(&answer, 8) else { panic!("a Version Negotiation") };
    assert_eq!((answer.destination, answer.source), (&id(2)[..], &id(1)[..]));
    assert!(answer.versions().any(|version| version == 1));
    // Version Negotiation and Retry are never answered.
    assert_eq!(route(&initial(0, 1203)), Err(DropReason::Unknown));

    // A packet of an unknown connection: a reset with the token of its destination, until the rate
    // limit is reached.
    let key = ResetKey::new(&[1; 32]);
    for len in [22, 43, 44, 100, 1200] {
        let answer = route(&[0x41; 1500][..len]).unwrap();
        assert_eq!(reset::suspected(&answer), Some(key.token(&id(0x41))));
        assert!(answer[0] & 0xc0 == 0x40 && answer.len() < len);
    }
    assert_eq!(route(&[0x41; 21]), Err(DropReason::Unknown));
    let answered = (0..1000).filter(|_| route(&[0x41; 100]).is_ok()).count();
    assert!(answered < 100, "{answered}");
}

/// Two ends that have both lost the connection do not answer each other forever (section 10.3.3).
#[test]
fn resets_shrink() {
    let mut random = random();
    let mut len = 1500;
    let mut turns = 0;
    while let Some(answer) = reset::datagram(&[7; 16], len, &mut random) {
        assert!(answer.len() < len);
        (len, turns) = (answer.len(), turns + 1);
    }
    assert!(len == reset::MIN_RESET && turns < 200, "{turns}");
}

#[test]
fn where_datagrams_go() {
    let mut routing = Routing::new(&config(), ResetKey::new(&[1; 32]));
    let mut random = random();
    let (one, two) = (address("192.0.2.1:1000"), address("192.0.2.2:1000"));
    // Two clients have chosen the same destination.
    let bytes = initial(1, 1200);
    let mut handles = Vec::new();
    for from in [one, two] {
        let Routed::First(first) = routing.route(Time::ZERO, from, &bytes, &mut random) else { panic!() };
        let handle = routing.admit(&first, bytes.len());
        assert!(routing.add_id(handle, id(10 + handles.len() as u8)) && !routing.add_id(handle, id(10)));
        handles.push(handle);
    }
    for (from, handle) in [(one, handles[0]), (two, handles[1])] {
        assert_eq!(routing.route(Time::ZERO, from, &bytes, &mut random), Routed::To(handle));
    }
    let short = |byte: u8| [&[0x40][..], &[byte; 40][..]].concat();
    // IDs of this end are routed to the connection from every address.
    assert_eq!(routing.route(Time::ZERO, two, &short(10), &mut random), Routed::To(handles[0]));
    routing.set_resets(handles[0], one, [[9; 16]].into_iter());
    let reset = [&short(77)[..25], &[9; 16]].concat();
    assert_eq!(routing.route(Time::ZERO, one, &reset, &mut random), Routed::Reset(handles[0]));
    assert!(matches!(routing.route(Time::ZERO, two, &reset, &mut random), Routed::Answer(_)));
    // A stranger holds 100 KiB at most.
    let held =
        (0..1000).filter(|_| routing.route(Time::ZERO, one, &bytes, &mut random) == Routed::To(handles[0]));
    assert_eq!(held.count(), 102_400 / 1200 - 2);
    routing.accept(handles[0]);
    assert_eq!(routing.route(Time::ZERO, one, &bytes, &mut random), Routed::To(handles[0]));
    routing.drop_first(handles[0]);
    assert!(matches!(routing.route(Time::ZERO, one, &bytes, &mut random), Routed::First(_)));
    handles.into_iter().for_each(|handle| routing.forget(handle));
    assert!(routing.is_empty() && routing.unaccepted() == 0);
    assert!(matches!(routing.route(Time::ZERO, one, &short(10), &mut random), Routed::Answer(_)));
}

proptest! {
    /// An answer is always shorter than the datagram, and no foreign token is accepted.
    #[test]
    fn any_datagram(bytes in prop::collection::vec(any::<u8>(), 0..1400), version in 0_u8..3) {
        let mut bytes = bytes;
        if bytes.len() > 5 {
            bytes[1..5].copy_from_slice(&[0, 0, 0, version]);
        }
        let mut routing = Routing::new(&config(), ResetKey::new(&[1; 32]));
        let from = address("192.0.2.1:1000");
        match routing.route(Time::ZERO, from, &bytes, &mut random()) {
            Routed::Answer(answer) => prop_assert!(answer.len() < bytes.len()),
            Routed::First(first) => {
                let mut tokens = Tokens::new(&[1; 32], &config());
                prop_assert_eq!(tokens.take(Time::ZERO, from, &first.destination, first.token), Verdict::Nothing);
            }
            Routed::Dropped(_) => {}
            other => prop_assert!(false, "{:?}", other),
        }
    }
}

/// An Initial built by hand gives the same keys on both sides. Nothing here depends on how a
/// connection writes one.
#[test]
fn the_first_packet_of_a_client() {
    let keys = keys::initial(&id(1), Side::Client);
    let header = Outgoing {
        level: Level::Initial,
        destination: id(1),
        source: id(2),
        token: b"token",
        number: 0,
        number_len: 2,
        key_phase: false,
        spin: false,
    };
    let mut bytes = vec![0; 1200];
    let placed = header.encode(&mut Writer::new(&mut bytes)).unwrap();
    keys::seal(&*keys.local.header, &*keys.local.packet, &mut bytes, &placed).unwrap();
    let mut routing = Routing::new(&config(), ResetKey::new(&[1; 32]));
    let from = address("192.0.2.1:1000");
    let Routed::First(first) = routing.route(Time::ZERO, from, &bytes, &mut random()) else { panic!() };
    assert_eq!(first, First { from, destination: id(1), source: id(2), token: b"token" });
}
