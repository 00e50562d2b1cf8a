//! Transfers that end early, and shutdown.

use std::fs;

use ackclock_transfer::{FetchError, Protocol, ServeConfig};
use quic::connection::Ended;
use units::Duration;

use crate::world::*;

/// Returns a file that the server has not read completely when its first part has arrived.
fn large() -> Vec<u8> {
    noise(2_500_000, 7)
}

/// Runs until a part of the file has arrived.
fn half_way(world: &mut World, client: usize) {
    assert!(world.run(ms(20_000), |world| world.clients[client].progress().bytes() > 1_000_000));
    assert_eq!(world.ends_of(client), ["Running"]);
}

/// The transfer of a file that is modified, truncated or extended fails. A file that is removed or
/// replaced arrives in its original form.
#[test]
fn files_that_change() {
    let bytes = large();
    for protocol in BOTH {
        for what in ["shorter", "longer", "other", "removed", "replaced"] {
            let mut world = World::new(&[("a", &bytes)], ServeConfig::default());
            let client = world.fetch(protocol, &["/a"]);
            half_way(&mut world, client);
            let path = world.www("a");
            let before = fs::metadata(&path).unwrap().modified().unwrap();
            match what {
                "shorter" => fs::write(&path, &bytes[..2_000_000]).unwrap(),
                "longer" => fs::write(&path, [&bytes[..], b"more"].concat()).unwrap(),
                "other" => fs::write(&path, noise(bytes.len(), 8)).unwrap(),
                "removed" => fs::remove_file(&path).unwrap(),
                _ => {
                    fs::write(world.www("b"), "another").unwrap();
                    fs::rename(world.www("b"), &path).unwrap();
                }
            }
            if ["shorter", "longer", "other"].contains(&what) {
                // File systems round times of modification, some to two seconds.
                let later = before + std::time::Duration::from_secs(4);
                fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
            }
            assert!(world.finish(ms(60_000)));
            if ["removed", "replaced"].contains(&what) {
                assert_eq!(world.ends_of(client), ["done"], "{what}");
                assert!(fs::read(world.out("a")).unwrap() == bytes, "{what}");
            } else {
                assert_ne!(world.ends_of(client), ["done"], "{protocol:?} {what}");
                assert!(world.names().is_empty());
            }
        }
    }
}

/// Without an answer, the client gives up after its `patience`.
#[test]
fn a_silent_server() {
    let mut world = World::new(&[], ServeConfig::default());
    world.loss = 1.0;
    let client = world.fetch(Protocol::Http3, &["/a"]);
    assert!(world.finish(ms(10_001)));
    assert_eq!(world.clients[client].error(), Some(&FetchError::NoAnswer(Duration::from_secs(10))));
    assert_eq!(world.ends_of(client), ["the connection ended before the file was complete"]);
}

/// The link goes down during the transfer, for ten seconds or for good.
#[test]
fn a_dark_link() {
    let bytes = large();
    for protocol in BOTH {
        for seconds in [10, 1000] {
            let mut world = World::new(&[("a", &bytes)], ServeConfig::default());
            let client = world.fetch(protocol, &["/a"]);
            half_way(&mut world, client);
            world.loss = 1.0;
            let end = world.now + Duration::from_secs(seconds);
            let ended = world.finish(end);
            assert_eq!(ended, seconds == 1000);
            world.loss = 0.0;
            if ended {
                assert_eq!(world.clients[client].error(), Some(&FetchError::Ended(Ended::Idle)));
                assert!(world.names().is_empty() && world.now < ms(60_000));
            } else {
                assert!(world.finish(end + Duration::from_secs(30)));
                assert!(fs::read(world.out("a")).unwrap() == bytes);
            }
        }
    }
}

/// On shutdown, running transfers finish, new ones are refused, and clients are told.
#[test]
fn a_graceful_end() {
    let bytes = large();
    for protocol in BOTH {
        let mut world = World::new(&[("a", &bytes)], ServeConfig::default());
        let client = world.fetch(protocol, &["/a"]);
        half_way(&mut world, client);
        world.server.shutdown_handle().shut_down();
        let late = world.fetch(protocol, &["/a"]);
        assert!(world.finish(ms(30_000)));
        assert_eq!(world.ends_of(client), ["done"]);
        assert!(fs::read(world.out("a")).unwrap() == bytes);
        assert_ne!(world.ends_of(late), ["done"]);
        let done = |world: &mut World| quic::endpoint::Program::is_done(&world.server, &world.ends[1]);
        assert!(world.run(ms(31_000), done));
    }
}

/// Shutdown has a time limit. A second request ends the server at once.
#[test]
fn a_bounded_end() {
    let bytes = large();
    for (times, most) in [(1, 11), (2, 1)] {
        let mut world = World::new(&[("a", &bytes)], ServeConfig::default());
        let client = world.fetch(Protocol::Hq, &["/a"]);
        half_way(&mut world, client);
        world.loss = 1.0;
        (0..times).for_each(|_| world.server.shutdown_handle().shut_down());
        let end = world.now + Duration::from_secs(most);
        let done = |world: &mut World| quic::endpoint::Program::is_done(&world.server, &world.ends[1]);
        assert!(world.run(end, done), "{times}");
        assert!(world.names().is_empty());
    }
}

/// A target folder that does not exist does not affect other transfers.
#[test]
fn nowhere_to_put_it() {
    for protocol in BOTH {
        let mut world = World::new(&[("a", &large()), ("b", b"beta")], ServeConfig::default());
        let wanted = [("/a", "none/a"), ("/b", "b")].iter().enumerate().map(|(number, (path, out))| {
            ackclock_transfer::FetchRequest {
                number,
                authority: "server".to_owned(),
                path: (*path).to_owned(),
                range: None,
                out: world.out(out),
            }
        });
        let wanted = wanted.collect();
        let client = world.fetch_all(protocol, wanted);
        assert!(world.finish(ms(20_000)));
        let ends = world.ends_of(client);
        assert!(ends[0].contains("cannot write") && ends[1] == "done", "{ends:?}");
        assert_eq!(world.names(), ["b"]);
        // STOP_SENDING kept the server from sending the whole file.
        assert!(world.clients[client].progress().bytes() < 1_000_000);
    }
}

/// The server's measurements are optional. If they do not come, the client ends without them.
#[test]
fn measurements_that_never_come() {
    let mut world = World::new(&[("a", &noise(100_000, 1))], ServeConfig::default());
    let client = world.fetch(Protocol::Http3, &["/a"]);
    assert!(world.run(ms(10_000), |world| world.ends_of(client) == ["done"]));
    world.loss = 1.0;
    let end = world.now + Duration::from_secs(7);
    assert!(world.run(end, |world| world.is_done()), "not even after the patience of 5 s");
}
