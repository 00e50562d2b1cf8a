//! Peers that want too much.

use kneepoint_transfer::{Protocol, ServeConfig};
use quic::config::RetryPolicy;
use units::Bytes;

use crate::world::*;

/// As many connections as there may be; the next client is told.
#[test]
fn a_full_server() {
    let config = ServeConfig { connections: 2, ..ServeConfig::default() };
    let mut world = World::new(&[("a", &noise(3_000_000, 1))], config);
    let clients = [(); 3].map(|()| world.fetch(Protocol::Http3, &["/a"]));
    assert!(world.finish(ms(20_000)));
    let done = clients.iter().filter(|client| world.ends_of(**client) == ["done"]).count();
    assert_eq!(done, 2);
    let trouble = clients.iter().find_map(|client| world.clients[*client].trouble()).unwrap();
    assert!(trouble.to_string().contains("CONNECTION_REFUSED"), "{trouble}");
}

/// Every client, and every one beyond some that have not come far.
#[test]
fn retry() {
    for policy in [RetryPolicy::Always, RetryPolicy::From(1)] {
        let config = ServeConfig { retry: policy, ..ServeConfig::default() };
        let mut world = World::new(&[("a", b"alpha")], config);
        let clients = [(); 3].map(|()| world.fetch(Protocol::Hq, &["/a"]));
        assert!(world.finish(ms(20_000)));
        assert!(clients.iter().all(|client| world.ends_of(*client) == ["done"]));
        let answered = world.ends[1].dropped().answered;
        assert_eq!(answered, if policy == RetryPolicy::Always { 3 } else { 2 });
    }
}

/// A client that asks for much and is never heard of again costs what its share is, and no more.
#[test]
fn memory_of_who_does_not_read() {
    let bytes = noise(600_000, 1);
    let config = ServeConfig { memory: Bytes(1 << 20), ..ServeConfig::default() };
    let mut world = World::new(&[("a", &bytes)], config);
    let paths = ["/a"; 50];
    let client = world.fetch(Protocol::Http3, &paths);
    assert!(world.run(ms(10_000), |world| world.clients[client].board().bytes() > 100_000));
    world.loss = 1.0;
    world.run(ms(12_000), |_| false);
    let handle = world.ends[1].handles().next().unwrap();
    let held = world.ends[1].connection_mut(handle).unwrap().streams().unacknowledged();
    assert!(held <= 1 << 20, "{held}");
    world.loss = 0.0;
    assert!(world.finish(ms(120_000)), "{:?}", world.ends_of(client));
    assert!(world.ends_of(client).iter().all(|end| end == "done"));
}
