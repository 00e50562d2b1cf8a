//! Handshakes: plain and with TLS, over links that lose and damage.

use kneepoint_quic::connection::Event;
use kneepoint_quic::crypto::tls::Ciphers;

use crate::world::*;

#[test]
fn handshake_without_cryptography() {
    let mut world = World::new(Plan::default());
    world.connect(&[1000]);
    assert!(world.finish(ms(1000)), "{:?} {:?}", world.client_events, world.server_events);
    assert!(world.client_events.contains(&Event::Confirmed));
}

#[test]
fn handshake_with_tls() {
    for ciphers in [Ciphers::All, Ciphers::ChaCha20Poly1305] {
        let mut world = World::new(Plan { crypto: tls(ciphers), ..Plan::default() });
        world.connect(&[1000]);
        assert!(world.finish(ms(1000)), "{:?} {:?}", world.client_events, world.server_events);
    }
}
