//! Connection IDs of both ends: single rules, two honest ends over a bad network, hostile frames.

use std::collections::BTreeMap;

use ackclock_quic::connection::ids::{HandshakeIds, LocalIds, RemoteIds, remote};
use ackclock_quic::wire::header::{Parsed, parse};
use ackclock_quic::wire::transport_parameters::PreferredAddress;
use ackclock_quic::wire::{ConnectionId, Frame, TransportParameters, Writer, header, retry};
use ackclock_quic::{Code, Error, Side};
use proptest::prelude::*;

fn id(n: u64) -> ConnectionId {
    ConnectionId::new(&n.to_be_bytes()).unwrap()
}

fn token(n: u64) -> [u8; 16] {
    [n.to_be_bytes(), (!n).to_be_bytes()].concat().try_into().unwrap()
}

fn new(ids: &mut RemoteIds, sequence: u64, retire_prior_to: u64) -> Result<(), Code> {
    ids.on_new(sequence, retire_prior_to, id(sequence), token(sequence)).map_err(|error| error.code)
}

fn retired(ids: &mut RemoteIds) -> Vec<u64> {
    std::iter::from_fn(|| ids.next_retire()).collect()
}

#[test]
fn the_peers_ids_up_to_the_limit() {
    let mut ids = RemoteIds::new(id(0), 4);
    for sequence in [3, 1, 2, 1, 3] {
        assert_eq!(new(&mut ids, sequence, 0), Ok(()));
    }
    assert_eq!((ids.len(), ids.current()), (4, id(0)));
    assert_eq!(new(&mut ids, 4, 0), Err(Code::CONNECTION_ID_LIMIT_ERROR));

    // More IDs, if as many are retired (section 5.1.2).
    let mut ids = RemoteIds::new(id(0), 4);
    (1..4).for_each(|sequence| new(&mut ids, sequence, 0).unwrap());
    assert_eq!(new(&mut ids, 4, 2), Ok(()));
    assert_eq!((ids.current(), retired(&mut ids)), (id(2), vec![0, 1]));
    assert!(retired(&mut ids).is_empty());
    // Lost, they are sent again, unless a copy has arrived.
    ids.on_retire_acked(0);
    (0..3).for_each(|sequence| ids.on_retire_lost(sequence));
    assert!(ids.has_retirement());
    assert_eq!((retired(&mut ids), ids.has_retirement()), (vec![1], false));
    // An ID that was to be retired before it arrived is retired immediately, and once.
    let mut late = RemoteIds::new(id(0), 4);
    new(&mut late, 2, 2).unwrap();
    new(&mut late, 1, 0).unwrap();
    new(&mut late, 1, 1).unwrap();
    assert_eq!((late.current(), retired(&mut late)), (id(2), vec![0, 1]));
    late.on_retire_acked(1);
    new(&mut late, 1, 0).unwrap();
    assert!(retired(&mut late).is_empty());
}

#[test]
fn switching_and_other_paths() {
    let mut ids = RemoteIds::new(id(0), 4);
    assert!(!ids.switch());
    (1..4).for_each(|sequence| new(&mut ids, sequence, 0).unwrap());
    assert!(ids.switch());
    assert_eq!((ids.current(), retired(&mut ids)), (id(1), vec![0]));
    let probing = ids.reserve().unwrap();
    assert_eq!((ids.id(probing), ids.current()), (Some(id(2)), id(1)));
    // The path did not answer.
    ids.release(probing);
    ids.release(1);
    assert_eq!((ids.id(probing), ids.current(), retired(&mut ids)), (None, id(1), vec![2]));
    let other = ids.reserve().unwrap();
    ids.adopt(other);
    ids.adopt(probing);
    assert_eq!((ids.current(), retired(&mut ids), ids.len()), (id(3), vec![1], 1));

    // All others are reserved, and the peer wants the active one retired.
    let mut ids = RemoteIds::new(id(0), 4);
    new(&mut ids, 1, 0).unwrap();
    assert_eq!(ids.reserve(), Some(1));
    new(&mut ids, 1, 1).unwrap();
    assert_eq!((ids.current(), retired(&mut ids)), (id(1), vec![0]));
}

/// A peer retransmits a frame with a later Retire Prior To, while the next ID is still in transit.
#[test]
fn never_without_an_id() {
    let mut ids = RemoteIds::new(id(0), 4);
    new(&mut ids, 1, 0).unwrap();
    let reserved = ids.reserve().unwrap();
    ids.release(reserved);
    assert_eq!(retired(&mut ids), [1]);
    new(&mut ids, 1, 1).unwrap();
    assert_eq!((ids.current(), retired(&mut ids)), (id(0), vec![]));
    new(&mut ids, 2, 1).unwrap();
    assert_eq!((ids.current(), retired(&mut ids)), (id(2), vec![0]));
}

#[test]
fn contradictions() {
    let ids = || {
        let mut ids = RemoteIds::new(id(0), 4);
        new(&mut ids, 1, 0).unwrap();
        ids
    };
    let violation = Err(Code::PROTOCOL_VIOLATION);
    let code = |result: Result<(), Error>| result.map_err(|error| error.code);
    assert_eq!(code(ids().on_new(1, 0, id(9), token(1))), violation);
    assert_eq!(code(ids().on_new(1, 0, id(1), token(9))), violation);
    assert_eq!(code(ids().on_new(2, 0, id(1), token(2))), violation);
    assert_eq!(code(ids().on_new(2, 0, id(2), token(1))), violation);
    assert_eq!(code(ids().on_new(2, 0, id(0), token(2))), violation);
    assert_eq!(code(RemoteIds::new(ConnectionId::EMPTY, 4).on_new(1, 0, id(1), token(1))), violation);
    let preferred = PreferredAddress { v4: None, v6: None, id: id(1), reset_token: token(1) };
    let mut from_parameters = RemoteIds::new(id(0), 4);
    from_parameters.on_preferred_address(&preferred);
    assert_eq!(new(&mut from_parameters, 1, 0), Ok(()));
    assert_eq!(code(from_parameters.on_new(1, 0, id(3), token(1))), violation);
}

#[test]
fn tokens_count_while_their_id_is_in_use() {
    let mut ids = RemoteIds::new(id(0), 4);
    assert!(!ids.is_reset(&[0; 16]) && !ids.is_reset(&token(0)));
    ids.set_reset_token(token(0));
    new(&mut ids, 1, 0).unwrap();
    assert!(ids.is_reset(&token(0)) && !ids.is_reset(&token(1)));
    ids.switch();
    assert!(!ids.is_reset(&token(0)) && ids.is_reset(&token(1)));
    let mut close = token(1);
    close[15] ^= 1;
    assert!(!ids.is_reset(&close));
    assert_eq!(ids.reset_tokens().collect::<Vec<_>>(), [token(1)]);
}

#[test]
fn floods_end_the_connection() {
    type Step = fn(&mut RemoteIds, u64) -> Result<(), Code>;
    let until_error = |step: Step| {
        let mut ids = RemoteIds::new(id(0), 8);
        for n in 1..100_000 {
            if let Err(code) = step(&mut ids, n) {
                return (n, code);
            }
            assert!(ids.len() <= 8 && ids.memory() <= 64);
        }
        (0, Code::NO_ERROR)
    };
    // Each frame retires the previous ID, and nothing is acknowledged: 16 wait.
    let taken_back = until_error(|ids, n| new(ids, n, n));
    assert_eq!(taken_back, (remote::MAX_RETIRING as u64 + 1, Code::CONNECTION_ID_LIMIT_ERROR));
    // Acknowledged, but every other number is left out.
    let gaps = until_error(|ids, n| {
        let result = new(ids, 2 * n, 2 * n);
        retired(ids).into_iter().for_each(|sequence| ids.on_retire_acked(sequence));
        result
    });
    assert_eq!(gaps.1, Code::CONNECTION_ID_LIMIT_ERROR);
    assert!(gaps.0 < 40);
    // An honest peer can continue forever.
    let honest = until_error(|ids, n| {
        let result = new(ids, n, n);
        retired(ids).into_iter().for_each(|sequence| ids.on_retire_acked(sequence));
        result
    });
    assert_eq!(honest, (0, Code::NO_ERROR));
}

#[test]
fn given_out_and_given_up() {
    let mut ids = LocalIds::new(id(100), token(100));
    assert_eq!(ids.wanted(), 1);
    ids.set_limit(1000);
    assert_eq!(ids.wanted(), 7);
    for n in 1..8 {
        assert_eq!(ids.issue(id(100 + n), token(100 + n)), n);
    }
    assert_eq!(ids.wanted(), 0);
    let expected =
        Frame::NewConnectionId { sequence: 3, retire_prior_to: 0, id: id(103), reset_token: token(103) };
    assert_eq!((ids.frame(3), ids.iter().nth(3)), (Some(expected), Some(&id(103))));
    let code = |result: Result<Option<ConnectionId>, Error>| result.map_err(|error| error.code);
    assert_eq!(code(ids.on_retire(8, &id(100))), Err(Code::PROTOCOL_VIOLATION));
    assert_eq!(code(ids.on_retire(3, &id(103))), Err(Code::PROTOCOL_VIOLATION));
    assert_eq!(code(ids.on_retire(3, &id(100))), Ok(Some(id(103))));
    assert_eq!(code(ids.on_retire(3, &id(100))), Ok(None));
    assert_eq!((ids.frame(3), ids.wanted(), ids.iter().nth(3)), (None, 1, Some(&id(104))));

    assert!(ids.rotate() && !ids.rotate());
    assert_eq!(ids.wanted(), 8);
    let sequence = ids.issue(id(108), token(108));
    assert!(matches!(ids.frame(sequence), Some(Frame::NewConnectionId { retire_prior_to: 8, .. })));
    assert!(matches!(ids.frame(2), Some(Frame::NewConnectionId { retire_prior_to: 2, .. })));
    (0..8).for_each(|n| assert!(ids.on_retire(n, &id(108)).unwrap().is_some() || n == 3));
    assert!(ids.iter().eq([&id(108)]) && ids.rotate());

    let mut none = LocalIds::new(ConnectionId::EMPTY, token(0));
    none.set_limit(8);
    assert!(none.wanted() == 0 && !none.rotate());
    assert_eq!(code(none.on_retire(0, &id(5))), Err(Code::PROTOCOL_VIOLATION));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Issue,
    Rotate,
    /// The frame at this index arrives. It stays, so it may arrive again.
    Arrives(usize),
    Switch,
    Reserve,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Issue),
        1 => Just(Step::Rotate),
        6 => any::<usize>().prop_map(Step::Arrives),
        2 => Just(Step::Switch),
        1 => Just(Step::Reserve),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    /// Frames of an honest peer arrive in any order, and repeatedly. It is never accused, and each
    /// end knows only IDs that the other has issued.
    #[test]
    fn two_honest_ends(steps in steps(), limit in 2_u64..=8) {
        let mut local = LocalIds::new(id(0), token(0));
        local.set_limit(limit);
        let mut remote = RemoteIds::new(id(0), limit);
        let mut wire: Vec<Frame<'static>> = Vec::new();
        let (mut reserved, mut given) = (None, 0);
        for step in steps {
            match step {
                Step::Issue => while local.wanted() > 0 {
                    given += 1;
                    prop_assert_eq!(local.issue(id(given), token(given)), given);
                    wire.extend(local.frame(given));
                },
                Step::Rotate => drop(local.rotate()),
                Step::Arrives(at) if !wire.is_empty() => {
                    let Frame::NewConnectionId { sequence, retire_prior_to, id, reset_token } = wire[at % wire.len()] else { unreachable!() };
                    prop_assert_eq!(remote.on_new(sequence, retire_prior_to, id, reset_token), Ok(()));
                }
                Step::Switch => drop(remote.switch()),
                Step::Reserve => match reserved.take() {
                    Some(sequence) => remote.release(sequence),
                    None => reserved = remote.reserve(),
                },
                Step::Arrives(_) => {}
            }
            // RETIRE_CONNECTION_ID arrives immediately, so that the ends agree.
            while let Some(sequence) = remote.next_retire() {
                prop_assert!(local.on_retire(sequence, &remote.current()).unwrap().is_some());
                remote.on_retire_acked(sequence);
            }
            prop_assert!(local.iter().any(|known| *known == remote.current()));
            prop_assert!(remote.len() as u64 <= limit && local.iter().count() <= 16);
        }
    }

    /// Any frames of a peer cause an error or use bounded memory.
    #[test]
    fn hostile_frames(frames in prop::collection::vec((0_u64..64, 0_u64..64, 0_u64..64, 0_u64..64, any::<bool>()), 0..300)) {
        let mut remote = RemoteIds::new(id(0), 8);
        for (sequence, prior, id_of, token_of, ack) in frames {
            let result = remote.on_new(sequence, prior.min(sequence), id(id_of), token(token_of));
            if result.is_err() { break; }
            prop_assert!(remote.len() <= 8 && remote.memory() <= 64);
            if ack {
                retired(&mut remote).into_iter().for_each(|sequence| remote.on_retire_acked(sequence));
            }
        }
        prop_assert!(!remote.current().is_empty());
    }

    /// RETIRE_CONNECTION_ID compared with a map.
    #[test]
    fn retirement_like_a_map(numbers in prop::collection::vec((0_u64..12, 0_u64..8), 0..40)) {
        let mut ids = LocalIds::new(id(0), token(0));
        ids.set_limit(8);
        let mut model: BTreeMap<u64, ConnectionId> = (0..8).map(|n| (n, id(n))).collect();
        (1..8).for_each(|n| assert_eq!(ids.issue(id(n), token(n)), n));
        for (sequence, destination) in numbers {
            let own = model.get(&sequence) == Some(&id(destination));
            let result = ids.on_retire(sequence, &id(destination));
            if sequence >= 8 || own {
                prop_assert_eq!(result.unwrap_err().code, Code::PROTOCOL_VIOLATION);
            } else {
                prop_assert_eq!(result, Ok(model.remove(&sequence)));
            }
            prop_assert!(ids.iter().eq(model.values()));
        }
    }
}

/// Creates a Retry, as a server or an attacker writes it.
fn retry_packet(to: &ConnectionId, from: &ConnectionId, token: &[u8], original: &ConnectionId) -> Vec<u8> {
    let mut buf = [0; 200];
    let mut w = Writer::new(&mut buf);
    retry::encode(&mut w, 0, to, from, token, original).unwrap();
    w.written().to_vec()
}

fn takes(ids: &mut HandshakeIds, packet: &[u8]) -> Option<Vec<u8>> {
    let Ok(Parsed::Retry(retry)) = parse(packet, 8) else { panic!("a Retry") };
    ids.on_retry(&retry).map(<[u8]>::to_vec)
}

#[test]
fn one_genuine_retry() {
    let (mine, original, theirs) = (id(1), id(2), id(3));
    let client = || HandshakeIds::client(mine, original);
    let genuine = retry_packet(&mine, &theirs, b"token", &original);
    for spoofed in [
        retry_packet(&mine, &theirs, b"token", &id(9)),
        retry_packet(&id(9), &theirs, b"token", &original),
        retry_packet(&mine, &original, b"token", &original),
        retry_packet(&mine, &theirs, b"", &original),
    ] {
        let mut ids = client();
        assert_eq!(takes(&mut ids, &spoofed), None);
        assert_eq!((ids.remote(), ids.initial_keys()), (original, original));
        assert_eq!(takes(&mut ids, &genuine), Some(b"token".to_vec()));
    }
    let mut ids = client();
    assert_eq!(takes(&mut ids, &genuine), Some(b"token".to_vec()));
    assert_eq!((ids.remote(), ids.initial_keys(), ids.original()), (theirs, theirs, original));
    assert_eq!(takes(&mut ids, &retry_packet(&mine, &id(4), b"again", &original)), None);
    // After any other packet.
    let mut ids = client();
    ids.on_opened(theirs);
    assert_eq!(takes(&mut ids, &genuine), None);
    assert_eq!(takes(&mut HandshakeIds::server(mine, theirs, original, None), &genuine), None);
}

#[test]
fn version_negotiation_is_believed_once_and_in_time() {
    let (mine, original) = (id(1), id(2));
    let answer = |to: ConnectionId, from: ConnectionId, versions: &[u32]| {
        let mut buf = [0; 200];
        let mut w = Writer::new(&mut buf);
        header::VersionNegotiation::encode(&mut w, 0, &to, &from, versions).unwrap();
        w.written().to_vec()
    };
    let refused = |ids: &HandshakeIds, packet: &[u8]| match parse(packet, 8) {
        Ok(Parsed::VersionNegotiation(answer)) => ids.is_version_refused(&answer),
        other => panic!("{other:?}"),
    };
    let mut ids = HandshakeIds::client(mine, original);
    let genuine = answer(mine, original, &[2, 0x0a0a_0a0a]);
    assert!(refused(&ids, &genuine));
    assert!(!refused(&ids, &answer(mine, original, &[2, 1])));
    assert!(!refused(&ids, &answer(id(9), original, &[2])));
    assert!(!refused(&ids, &answer(mine, id(9), &[2])));
    assert!(!refused(&HandshakeIds::server(mine, original, original, None), &genuine));
    ids.on_opened(original);
    assert!(!refused(&ids, &genuine));
}

#[test]
fn the_first_packet_fixes_the_source() {
    let mut ids = HandshakeIds::client(id(1), id(2));
    assert!(ids.is_source_right(&id(7)));
    ids.on_opened(id(3));
    ids.on_opened(id(4));
    assert!(ids.is_source_right(&id(3)) && !ids.is_source_right(&id(4)));
    assert_eq!((ids.remote(), ids.local()), (id(3), id(1)));
}

/// Section 7.3, figures 7 and 8, and every deviation.
#[test]
fn parameters_name_the_ids_of_the_packets() {
    let (c, s1, s2, retry_source) = (id(1), id(2), id(3), id(4));
    for after_retry in [false, true] {
        let mut client = HandshakeIds::client(c, s1);
        let retry = after_retry.then_some(retry_source);
        if after_retry {
            assert!(takes(&mut client, &retry_packet(&c, &retry_source, b"t", &s1)).is_some());
        }
        client.on_opened(s2);
        let server = HandshakeIds::server(s2, c, s1, retry);
        assert_eq!(server.initial_keys(), client.initial_keys());
        let (mut from_client, mut from_server) =
            (TransportParameters::default(), TransportParameters::default());
        client.declare(&mut from_client);
        server.declare(&mut from_server);
        assert_eq!((server.check(&from_client), client.check(&from_server)), (Ok(()), Ok(())));
        assert!(TransportParameters::decode(&from_client.to_vec(), Side::Client).is_ok());

        type Change = fn(&mut TransportParameters);
        let missing: [Change; 2] =
            [|p| p.initial_source_connection_id = None, |p| p.initial_source_connection_id = Some(id(9))];
        let wrong: [Change; 5] = [
            |p| p.original_destination_connection_id = None,
            |p| p.original_destination_connection_id = Some(id(9)),
            |p| p.retry_source_connection_id = Some(id(9)),
            |p| {
                // Present without a Retry, or missing after one.
                p.retry_source_connection_id = match p.retry_source_connection_id {
                    Some(_) => None,
                    None => Some(id(4)),
                }
            },
            |p| p.initial_source_connection_id = Some(ConnectionId::EMPTY),
        ];
        for change in missing {
            let mut changed = from_client.clone();
            change(&mut changed);
            assert_eq!(server.check(&changed).unwrap_err().code, Code::TRANSPORT_PARAMETER_ERROR);
        }
        for change in missing.into_iter().chain(wrong) {
            let mut changed = from_server.clone();
            change(&mut changed);
            assert_eq!(client.check(&changed).unwrap_err().code, Code::TRANSPORT_PARAMETER_ERROR);
        }
    }
    let mut client = HandshakeIds::client(c, s1);
    client.on_opened(ConnectionId::EMPTY);
    let mut declared = TransportParameters {
        initial_source_connection_id: Some(ConnectionId::EMPTY),
        original_destination_connection_id: Some(s1),
        ..TransportParameters::default()
    };
    assert_eq!(client.check(&declared), Ok(()));
    declared.preferred_address =
        Some(PreferredAddress { v4: None, v6: None, id: id(5), reset_token: [0; 16] });
    assert_eq!(client.check(&declared).unwrap_err().code, Code::TRANSPORT_PARAMETER_ERROR);
}
