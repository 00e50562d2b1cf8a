//! Files arrive unchanged.

use std::fs;
use std::os::unix::fs::symlink;

use ackclock_transfer::{FetchRequest, Protocol, ServeConfig};
use ring::digest::{SHA256, digest};

use crate::world::*;

#[test]
fn three_sizes_by_both_protocols() {
    for protocol in BOTH {
        let files = [("1k", noise(1000, 1)), ("1M", noise(1_000_000, 2)), ("20M", noise(20_000_000, 3))];
        let served: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
        let mut world = World::new(&served, ServeConfig::default());
        let client = world.fetch(protocol, &["/1k", "/1M", "/20M"]);
        assert!(world.finish(ms(20_000)), "{:?}", world.ends_of(client));
        assert_eq!(world.ends_of(client), ["done"; 3]);
        assert_eq!(world.names(), ["1M", "1k", "20M"]);
        for (name, bytes) in &files {
            let came = fs::read(world.out(name)).unwrap();
            assert_eq!(digest(&SHA256, &came).as_ref(), digest(&SHA256, bytes).as_ref(), "{name}");
        }
        let answered: Vec<_> = std::iter::from_fn(|| world.server.log().take()).collect();
        assert_eq!(answered.iter().map(|a| a.bytes).sum::<u64>(), 21_001_000);
        assert!(answered.iter().all(|a| a.status == 200));
        assert!(world.run(ms(30_000), |world| world.ends.iter().all(quic::endpoint::Endpoint::is_empty)));
    }
}

/// More files than streams, one of them empty, over a lossy link.
#[test]
fn many_streams_on_a_bad_link() {
    for protocol in BOTH {
        let names: Vec<String> = (0..300).map(|n| format!("f{n}")).collect();
        let bytes: Vec<Vec<u8>> = (0..300).map(|n| noise(n * 37, n as u64)).collect();
        let served: Vec<(&str, &[u8])> =
            names.iter().zip(&bytes).map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
        let mut world = World::new(&served, ServeConfig::default());
        world.loss = 0.02;
        let paths: Vec<String> = names.iter().map(|name| format!("/{name}")).collect();
        let client = world.fetch(protocol, &paths.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(world.finish(ms(120_000)), "{:?}", world.ends_of(client));
        for (name, bytes) in names.iter().zip(&bytes) {
            assert_eq!(&fs::read(world.out(name)).unwrap(), bytes, "{name}");
        }
        assert_eq!(world.names().len(), 300);
    }
}

fn range(world: &World, number: usize, range: &str, out: &str) -> FetchRequest {
    FetchRequest {
        number,
        authority: "server".to_owned(),
        path: "/a".to_owned(),
        range: Some(range.to_owned()),
        out: world.out(out),
    }
}

#[test]
fn ranges_in_http3() {
    let bytes = noise(200_000, 1);
    let mut world = World::new(&[("a", &bytes)], ServeConfig::default());
    let asked =
        [("bytes=0-0", 0..1), ("bytes=70000-150000", 70_000..150_001), ("bytes=-5", 199_995..200_000)];
    let mut wanted: Vec<FetchRequest> =
        (asked.iter().enumerate()).map(|(n, (field, _))| range(&world, n, field, &format!("r{n}"))).collect();
    wanted.push(range(&world, 3, "bytes=200000-", "beyond"));
    wanted.push(range(&world, 4, "bytes=0-1,3-4", "whole"));
    let client = world.fetch_all(Protocol::Http3, wanted);
    assert!(world.finish(ms(5000)));
    let beyond = "the server answered 416 Range Not Satisfiable";
    assert_eq!(world.ends_of(client), ["done", "done", "done", beyond, "done"]);
    for (n, (_, part)) in asked.into_iter().enumerate() {
        assert_eq!(fs::read(world.out(&format!("r{n}"))).unwrap(), &bytes[part], "{n}");
    }
    assert_eq!(fs::read(world.out("whole")).unwrap(), bytes);
    assert_eq!(world.names(), ["r0", "r1", "r2", "whole"]);
}

/// Refused files do not arrive, and the connection goes on.
#[test]
fn nothing_from_outside_the_root() {
    for protocol in BOTH {
        let mut world = World::new(&[("a", b"alpha")], ServeConfig::default());
        fs::write(world.dir.path().join("secret"), "secret").unwrap();
        symlink("../secret", world.www("out")).unwrap();
        fs::create_dir(world.www("folder")).unwrap();
        let paths = ["/none", "/../secret", "/%2e%2e/secret", "/out", "/folder", "/", "/a"];
        let wanted = paths.iter().enumerate().map(|(number, path)| FetchRequest {
            number,
            authority: "server".to_owned(),
            path: (*path).to_owned(),
            range: None,
            out: world.out(&format!("{number}")),
        });
        let wanted = wanted.collect();
        let client = world.fetch_all(protocol, wanted);
        assert!(world.finish(ms(5000)));
        let says = |status: u16| Some(format!("the server answered {status}"));
        let expected =
            [says(404), says(400), says(400), says(404), says(403), says(400), Some("done".to_owned())];
        for (came, expected) in world.ends_of(client).iter().zip(expected) {
            assert!(came.starts_with(&expected.unwrap()), "{protocol:?}: {:?}", world.ends_of(client));
        }
        assert_eq!(world.names(), ["6"]);
    }
}

/// Only a complete file replaces an existing one.
#[test]
fn replaces_in_one_step() {
    let mut world = World::new(&[("a", b"new")], ServeConfig::default());
    fs::write(world.out("a"), "old").unwrap();
    fs::write(world.out("b"), "old").unwrap();
    world.fetch(Protocol::Http3, &["/a", "/b"]);
    assert!(world.finish(ms(5000)));
    assert_eq!(fs::read(world.out("a")).unwrap(), b"new");
    assert_eq!(fs::read(world.out("b")).unwrap(), b"old");
}

/// Both ends measure the path, and the server reports its measurements of the download.
#[test]
fn what_is_seen_of_the_path() {
    let bytes = noise(1_000_000, 1);
    let mut world = World::new(&[("a", &bytes)], ServeConfig::default());
    let client = world.fetch(Protocol::Http3, &["/a"]);
    assert!(world.finish(ms(20_000)));
    let fetch = &world.clients[client];
    let (own, servers) = (fetch.meter().summary(), fetch.progress().seen_by_server().unwrap());
    for seen in [own, servers] {
        let rtt = seen.rtt.unwrap();
        assert!((20_000_000..30_000_000).contains(&rtt.min.0), "{rtt:?}");
        // This link has no queue. Receive times are whole microseconds.
        assert!(seen.one_way.unwrap().p95.0 < 1000 && seen.lost == 0, "{seen:?}");
    }
    assert!(servers.sent >= 1_000_000 / 1200 && own.received >= servers.sent);
    // The sender skips some packet numbers to detect optimistic ACKs.
    assert!(own.missing < 10, "{own:?}");
    let mut lossy = World::new(&[("a", &bytes)], ServeConfig::default());
    lossy.loss = 0.05;
    let client = lossy.fetch(Protocol::Http3, &["/a"]);
    assert!(lossy.finish(ms(60_000)));
    let fetch = &lossy.clients[client];
    let (own, servers) = (fetch.meter().summary(), fetch.progress().seen_by_server().unwrap());
    assert!((20..100).contains(&servers.lost) && (20..120).contains(&own.missing), "{own:?} {servers:?}");
    assert!(servers.lost.abs_diff(own.missing) < 20, "{own:?} {servers:?}");
}
