//! Address validation, path validation, migration: single rules, comparison with a simple count of
//! bytes, and a hostile peer.

use std::net::SocketAddr;

use ackclock_quic::Side;
use ackclock_quic::connection::path::paths::MAX_PATHS;
use ackclock_quic::connection::path::validation::{INITIAL_PTO, MAX_CHALLENGES};
use ackclock_quic::connection::path::{Addresses, Challenge, Change, Event, Path, PathId, Paths, Seen};
use ackclock_quic::random::Random;
use ackclock_quic::units::{Duration, Time};
use proptest::prelude::*;

const PTO: Duration = Duration::from_millis(100);

fn at(host: u8, port: u16) -> Addresses {
    Addresses {
        local: SocketAddr::from(([10, 0, 0, 1], 443)),
        remote: SocketAddr::from(([10, 0, 1, host], port)),
    }
}

fn random() -> Random {
    Random::stream(1, "paths")
}

fn server() -> Paths {
    let mut paths = Paths::new(Side::Server, at(1, 1000));
    paths.active_mut().validate();
    paths.confirm();
    paths
}

/// Returns a challenge that is due, and its path.
fn next_challenge(paths: &mut Paths, now: Time, random: &mut Random) -> Option<(PathId, Challenge)> {
    let ids: Vec<PathId> = paths.iter().map(|(id, _)| id).collect();
    ids.into_iter().find_map(|id| Some((id, paths.get_mut(id)?.next_challenge(now, PTO, random)?)))
}

#[test]
fn three_times_what_came() {
    let mut path = Path::new(at(1, 1), false);
    assert_eq!(path.budget(), 0);
    path.on_received(1200);
    path.on_sent(3500);
    assert_eq!(path.budget(), 100);
    path.on_sent(200);
    assert_eq!(path.budget(), 0);
    path.on_received(u64::MAX);
    path.validate();
    assert_eq!(path.budget(), u64::MAX);
    assert_eq!(Paths::new(Side::Client, at(1, 1)).active().budget(), u64::MAX);
    assert_eq!(Paths::new(Side::Server, at(1, 1)).active().budget(), 0);
}

proptest! {
    /// Per path, never more than three times the received bytes, in any order.
    #[test]
    fn the_budget_like_an_account(steps in prop::collection::vec((any::<bool>(), 0_u64..3000), 0..100)) {
        let mut path = Path::new(at(1, 1), false);
        let (mut came, mut left) = (0, 0);
        for (receive, bytes) in steps {
            if receive {
                path.on_received(bytes);
                came += bytes;
            } else {
                let bytes = bytes.min(path.budget());
                path.on_sent(bytes);
                left += bytes;
            }
            prop_assert!(left <= 3 * came);
            prop_assert_eq!(path.budget(), 3 * came - left);
        }
    }
}

#[test]
fn challenges_become_rarer_and_end_after_three_pto() {
    let mut path = Path::new(at(1, 1), false);
    path.on_received(1200);
    let mut random = random();
    assert_eq!((path.timer(), path.next_challenge(Time::ZERO, PTO, &mut random)), (Time::NEVER, None));
    path.challenge(Time::ZERO, PTO);
    let deadline = Time::ZERO + INITIAL_PTO * 3;
    let (mut times, mut data) = (Vec::new(), Vec::new());
    loop {
        let now = path.timer();
        if path.on_timer(now) {
            assert_eq!(now, deadline);
            break;
        }
        times.push(now.0 / 1_000_000);
        data.push(path.next_challenge(now, PTO, &mut random).unwrap().data);
        assert_eq!(path.next_challenge(now, PTO, &mut random), None);
    }
    assert_eq!(times, [0, 100, 300, 700, 1500]);
    assert!(data.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(!path.is_validated() && path.timer() == Time::NEVER);
    // A longer PTO applies.
    path.challenge(Time::ZERO, INITIAL_PTO * 2);
    assert!(!path.on_timer(deadline) && path.on_timer(Time::ZERO + INITIAL_PTO * 6));
}

#[test]
fn responses_to_one_of_the_last_four() {
    for (answered, validated) in (0..6).zip([false, false, true, true, true, true]) {
        let mut path = Path::new(at(1, 1), false);
        path.on_received(1200);
        path.challenge(Time::ZERO, INITIAL_PTO * 1000);
        let mut random = random();
        let mut now = Time::ZERO;
        let sent: Vec<_> = (0..6)
            .map(|_| {
                now = path.timer();
                path.next_challenge(now, PTO, &mut random).unwrap()
            })
            .collect();
        assert_eq!(path.on_response(now, PTO, &sent[answered].data), validated);
        assert_eq!(path.is_validated(), validated);
        assert!(!path.on_response(now, PTO, &[0; 8]));
    }
}

/// Section 8.2.1: a challenge that could not be expanded to 1200 bytes validates the address, not
/// the path.
#[test]
fn a_small_challenge_is_followed_by_a_large_one() {
    let mut path = Path::new(at(1, 1), false);
    path.on_received(100);
    path.challenge(Time::ZERO, PTO);
    let mut random = random();
    let small = path.next_challenge(Time::ZERO, PTO, &mut random).unwrap();
    assert!(!small.expand);
    assert!(path.on_response(Time::from_millis(50), PTO, &small.data));
    assert!(path.is_validated() && path.timer() < Time::NEVER);
    let large = path.next_challenge(Time::from_millis(50), PTO, &mut random).unwrap();
    assert!(large.expand && large.data != small.data);
    assert!(path.on_response(Time::from_millis(99), PTO, &large.data) && path.timer() == Time::NEVER);
}

#[test]
fn a_flood_of_challenges_gets_four_answers() {
    let mut paths = server();
    for n in 0..10_000_u64 {
        assert!(paths.on_challenge(PathId(0), n.to_be_bytes()));
    }
    let answers: Vec<_> = std::iter::from_fn(|| paths.active_mut().next_response()).collect();
    assert_eq!(answers.len(), MAX_CHALLENGES);
    assert_eq!(answers[3], 9999_u64.to_be_bytes());
    assert!(!paths.active().has_response());
    assert!(!paths.on_challenge(PathId(77), [0; 8]));
    assert_eq!(paths.active_mut().next_response(), None);
}

#[test]
fn nobody_moves_during_the_handshake_and_no_server_ever() {
    let mut paths = Paths::new(Side::Server, at(1, 1000));
    assert_eq!(paths.on_packet(Time::ZERO, PTO, at(2, 1), (5, false), 1200), Seen::Refused);
    assert_eq!(paths.on_packet(Time::ZERO, PTO, at(1, 1000), (6, false), 1200), Seen::Known(PathId(0)));
    let mut client = Paths::new(Side::Client, at(1, 1000));
    client.confirm();
    assert_eq!(client.on_packet(Time::ZERO, PTO, at(1, 1001), (5, false), 1200), Seen::Refused);
    assert_eq!(client.iter().count(), 1);
}

#[test]
fn a_port_keeps_and_an_address_resets() {
    for (to, change) in [(at(1, 2000), Change::Port), (at(2, 1000), Change::Address)] {
        let mut paths = server();
        let now = Time::from_millis(5);
        assert_eq!(paths.on_packet(now, PTO, at(1, 1000), (1, false), 50), Seen::Known(PathId(0)));
        // Neither probes nor late packets migrate.
        assert_eq!(paths.on_packet(now, PTO, to, (2, true), 1200), Seen::New(PathId(1)));
        assert_eq!(paths.on_packet(now, PTO, to, (0, false), 1200), Seen::Known(PathId(1)));
        assert_eq!(paths.active_id(), PathId(0));
        assert_eq!(paths.on_packet(now, PTO, to, (3, false), 1200), Seen::Moved(PathId(1), change));
        assert_eq!((paths.active().addresses(), paths.active().budget()), (to, 3600));
        // Both paths are challenged.
        let mut random = random();
        let asked: Vec<_> = std::iter::from_fn(|| next_challenge(&mut paths, now, &mut random)).collect();
        assert_eq!(asked.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [0, 1]);
        let answer = asked[1].1.data;
        assert_eq!(paths.on_response(now, PTO, &answer), Some(Event::Validated(PathId(1))));
        assert_eq!(paths.on_response(now, PTO, &answer), None);
        assert_eq!(paths.active().budget(), u64::MAX);
        // The old one does not answer, without consequences.
        let end = now + INITIAL_PTO * 3;
        assert_eq!(paths.on_timer(end), Some(Event::Abandoned(PathId(0))));
        assert_eq!((paths.on_timer(end), paths.timer()), (None, Time::NEVER));
        // Back on a path that was validated before: no challenge.
        assert_eq!(paths.on_packet(end, PTO, at(1, 1000), (4, false), 9), Seen::Moved(PathId(0), change));
        assert_eq!(paths.active().budget(), u64::MAX);
    }
}

#[test]
fn back_when_nobody_answers() {
    let mut paths = server();
    // Spoofed twice: the last validated path is used.
    paths.on_packet(Time::ZERO, PTO, at(2, 1), (1, false), 1200);
    paths.on_packet(Time::from_millis(10), PTO, at(3, 1), (2, false), 1200);
    assert_eq!(paths.active_id(), PathId(2));
    let mut events = Vec::new();
    while paths.timer() != Time::NEVER {
        let now = paths.timer();
        events.extend(std::iter::from_fn(|| paths.on_timer(now)));
        while next_challenge(&mut paths, now, &mut random()).is_some() {}
    }
    assert_eq!(events, [Event::Abandoned(PathId(0)), Event::Reverted(PathId(0), Change::Address)]);
    assert!(paths.active().is_validated() && paths.find(at(3, 1)).is_none());

    // Nothing was ever validated.
    let mut paths = Paths::new(Side::Server, at(1, 1));
    paths.confirm();
    paths.on_packet(Time::ZERO, PTO, at(2, 1), (1, false), 1200);
    assert_eq!(paths.on_timer(Time::ZERO + INITIAL_PTO * 3), Some(Event::NoPath));
}

#[test]
fn datagrams_that_nobody_could_open_leave_no_trace() {
    let mut paths = server();
    (0..1000).for_each(|port| paths.on_datagram(at(9, port), 1200));
    assert_eq!(paths.iter().count(), 1);
    let mut fresh = Paths::new(Side::Server, at(1, 1000));
    fresh.on_datagram(at(1, 1000), 1200);
    fresh.on_datagram(at(1, 1001), 1200);
    assert_eq!(fresh.active().budget(), 3600);
}

proptest! {
    /// A peer with changing addresses, challenges, correct and wrong responses, timers. Memory is
    /// bounded, and every path keeps to its limit. The active path is that of the newest packet
    /// unless it failed.
    #[test]
    fn flapping(steps in prop::collection::vec((0_u8..6, 0_u8..5, 0_u64..50, any::<bool>()), 0..200)) {
        let mut paths = server();
        let mut random = random();
        let mut now = Time::ZERO;
        let mut asked = Vec::new();
        let mut largest = None;
        for (kind, host, n, flag) in steps {
            now += Duration::from_millis(n * 7);
            match kind {
                0..=2 => {
                    let seen = paths.on_packet(now, PTO, at(host, 1), (n, flag), 100);
                    let newest = !flag && largest.is_none_or(|largest| n > largest);
                    if newest {
                        largest = Some(n);
                        prop_assert_eq!(paths.active().addresses(), at(host, 1));
                    } else {
                        prop_assert!(!matches!(seen, Seen::Moved(..)));
                    }
                }
                3 => while let Some((id, challenge)) = next_challenge(&mut paths, now, &mut random) {
                    let path = paths.get_mut(id).unwrap();
                    let size = if challenge.expand { 1200 } else { 40.min(path.budget()) };
                    prop_assert!(size <= path.budget());
                    path.on_sent(size);
                    asked.push(challenge.data);
                },
                4 => drop(asked.pop().map(|data| paths.on_response(now, PTO, &data))),
                _ => while let Some(event) = paths.on_timer(now) {
                    prop_assert!(event != Event::NoPath);
                },
            }
            prop_assert!(paths.iter().count() <= MAX_PATHS);
            prop_assert!(paths.get(paths.active_id()).is_some());
            prop_assert!(paths.active().is_validated() || paths.timer() < Time::NEVER);
        }
    }
}
