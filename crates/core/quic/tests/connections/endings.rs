//! Ends of connections: by the application, by an idle timeout, by a peer without state.

use ackclock_quic::config::EndpointConfig;
use ackclock_quic::connection::{Close, Ended, State};
use ackclock_quic::crypto::tls::Ciphers;
use ackclock_quic::endpoint::{Endpoint, EndpointSettings};
use ackclock_quic::units::Duration;

use crate::world::*;

#[test]
fn the_application_closes() {
    for crypto in [plain(), tls(Ciphers::All)] {
        for server in [false, true] {
            let mut world = World::new(Plan { crypto: crypto.clone(), ..Plan::default() });
            world.connect(&[1000]);
            assert!(world.finish(ms(1000)));
            let now = world.now;
            let end = if server { world.server_connection() } else { world.client_connection() };
            end.close(now, 7, b"enough");
            assert_eq!(end.state(), State::Closing);
            assert!(world.run(now + Duration::from_secs(5), |w| w.client.is_empty() && w.server.is_empty()));
            let close = Close::Application { error: 7, reason: b"enough".to_vec() };
            let (mine, theirs) = (Ended::Local(close.clone()), Ended::Peer(close));
            let expected = if server { [Some(&theirs), Some(&mine)] } else { [Some(&mine), Some(&theirs)] };
            assert_eq!(world.ended(), expected);
        }
    }
}

/// Closing during the handshake: the peer learns of it, but not the reason (RFC 9000 section
/// 10.2.3).
#[test]
fn closed_before_it_began() {
    for at in [1, 16, 31, 46] {
        let mut world = World::new(Plan { crypto: tls(Ciphers::All), ..Plan::default() });
        world.connect(&[]);
        world.run(ms(at), |_| false);
        let now = world.now;
        world.client_connection().close(now, 7, b"enough");
        assert!(world.run(ms(20_000), |world| world.client.is_empty() && world.server.is_empty()), "{at}");
        assert!(matches!(world.ended()[1], Some(Ended::Peer(_)) | None), "{at}: {:?}", world.ended());
    }
}

#[test]
fn silence() {
    let mut plan = Plan::default();
    plan.client.connection.idle_timeout = Some(Duration::from_secs(5));
    let mut world = World::new(plan);
    world.connect(&[1000]);
    assert!(world.finish(ms(1000)));
    assert!(world.run(ms(10_000), |world| world.client.is_empty() && world.server.is_empty()));
    assert_eq!(world.ended(), [Some(&Ended::Idle); 2]);
    assert!((5_000..5_300).contains(&(world.now.0 / 1_000_000)), "{:?}", world.now);
}

fn server_forgets(mut world: World) {
    world.connect(&[5_000_000]);
    assert!(!world.run(ms(1000), |_| false));
    let settings = EndpointSettings {
        config: EndpointConfig { accepts: true, ..EndpointConfig::default() },
        connection: ackclock_quic::connection::Settings::default(),
        crypto: Some(plain().1),
    };
    world.server = Endpoint::new(settings, 1001).unwrap();
    assert!(world.run(ms(5000), |world| world.client.is_empty()), "{:?}", world.client_events);
    assert_eq!(world.ended()[0], Some(&Ended::Reset));
}

/// The server restarts with its old key. It answers the client's packets with a stateless reset,
/// which ends the client's connection.
#[test]
fn a_server_that_forgot() {
    server_forgets(World::new(Plan::default()));
}

/// The same with zero-length IDs of this end: only the token identifies the connection.
#[test]
fn a_server_that_forgot_and_no_ids() {
    let mut plan = Plan::default();
    plan.client.connection.connection_id_len = 0;
    server_forgets(World::new(plan));
}

/// The link is down for 10 s. Both ends send again within two PTOs of its return, whatever the
/// backed-off PTO is (RFC 9002 section 6.2.1). All remaining data arrives.
#[test]
fn dark_for_ten_seconds() {
    let mut world = World::new(Plan::default());
    world.connect(&[1_500_000]);
    assert!(!world.run(ms(1000), |_| false));
    world.link.loss = 1.0;
    let mut probes = vec![(world.sent[1], world.now)];
    let count = |world: &mut World| {
        if world.sent[1] > probes.last().unwrap().0 {
            probes.push((world.sent[1], world.now));
        }
        false
    };
    assert!(!world.run(ms(11_000), count));
    world.link.loss = 0.0;
    let [.., (_, before), (_, last)] = probes[..] else { panic!("{probes:?}") };
    let (pto, arrived) = ((last - before) * 2, world.crossed);
    let end = world.now + pto * 2;
    assert!(pto < Duration::from_secs(11), "{pto}");
    let speaks = |world: &mut World| (0..2).all(|n| world.crossed[n] > arrived[n] + 1000 * n as u64);
    assert!(world.run(end, speaks), "a PTO is {pto}, {probes:?}");
    assert!(world.finish(ms(30_000)), "{:?}", world.client_events);
    assert!(world.server_connection().sender().stats().collapses >= 1);
}

/// A PING keeps an idle connection alive.
#[test]
fn kept_alive() {
    let mut plan = Plan::default();
    plan.client.connection.idle_timeout = Some(Duration::from_secs(5));
    let mut world = World::new(plan);
    world.connect(&[1000]);
    assert!(world.finish(ms(1000)));
    for second in 1..20 {
        world.client_connection().ping();
        world.run(ms(second * 3000), |_| false);
    }
    assert_eq!(world.ended(), [None, None]);
}
