//! How transfers end that do not come to their end.

use std::fs;

use ackclock_transfer::{Protocol, ServeConfig, Trouble};
use quic::connection::Ended;
use units::Duration;

use crate::world::*;

/// More than the server has read when some of it has come.
fn large() -> Vec<u8> {
    noise(2_500_000, 7)
}

/// Runs until some of it has come.
fn half_way(world: &mut World, client: usize) {
    assert!(world.run(ms(20_000), |world| world.clients[client].board().bytes() > 1_000_000));
    assert_eq!(world.ends_of(client), ["Running"]);
}

/// A file that is written to, cut or made longer in the middle breaks off; one that is removed or
/// replaced comes as it was.
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

/// Nobody answers: it ends within its patience.
#[test]
fn a_silent_server() {
    let mut world = World::new(&[], ServeConfig::default());
    world.loss = 1.0;
    let client = world.fetch(Protocol::Http3, &["/a"]);
    assert!(world.finish(ms(10_001)));
    assert_eq!(world.clients[client].trouble(), Some(&Trouble::NoAnswer(Duration::from_secs(10))));
    assert_eq!(world.ends_of(client), ["the connection ended before the file did"]);
}

/// A link that goes dark in the middle, for good, and for ten seconds.
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
                assert_eq!(world.clients[client].trouble(), Some(&Trouble::Ended(Ended::Idle)));
                assert!(world.names().is_empty() && world.now < ms(60_000));
            } else {
                assert!(world.finish(end + Duration::from_secs(30)));
                assert!(fs::read(world.out("a")).unwrap() == bytes);
            }
        }
    }
}

/// The server is told to end: what runs is finished, what comes then is refused, and the client
/// hears that it is over.
#[test]
fn a_graceful_end() {
    let bytes = large();
    for protocol in BOTH {
        let mut world = World::new(&[("a", &bytes)], ServeConfig::default());
        let client = world.fetch(protocol, &["/a"]);
        half_way(&mut world, client);
        world.server.ender().end();
        let late = world.fetch(protocol, &["/a"]);
        assert!(world.finish(ms(30_000)));
        assert_eq!(world.ends_of(client), ["done"]);
        assert!(fs::read(world.out("a")).unwrap() == bytes);
        assert_ne!(world.ends_of(late), ["done"]);
        let done = |world: &mut World| quic::endpoint::Program::is_done(&world.server, &world.ends[1]);
        assert!(world.run(ms(31_000), done));
    }
}

/// It does not wait for ever, and at a second word not at all.
#[test]
fn a_bounded_end() {
    let bytes = large();
    for (times, most) in [(1, 11), (2, 1)] {
        let mut world = World::new(&[("a", &bytes)], ServeConfig::default());
        let client = world.fetch(Protocol::Hq, &["/a"]);
        half_way(&mut world, client);
        world.loss = 1.0;
        (0..times).for_each(|_| world.server.ender().end());
        let end = world.now + Duration::from_secs(most);
        let done = |world: &mut World| quic::endpoint::Program::is_done(&world.server, &world.ends[1]);
        assert!(world.run(end, done), "{times}");
        assert!(world.names().is_empty());
    }
}

/// A folder that does not exist, in the middle of others that do.
#[test]
fn nowhere_to_put_it() {
    for protocol in BOTH {
        let mut world = World::new(&[("a", &large()), ("b", b"beta")], ServeConfig::default());
        let wanted = [("/a", "none/a"), ("/b", "b")].iter().enumerate().map(|(number, (path, out))| {
            ackclock_transfer::Wanted {
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
        // The server was asked to stop, and has not sent all of it for nothing.
        assert!(world.clients[client].board().bytes() < 1_000_000);
    }
}
