//! Memory of a thousand connections.

use std::collections::VecDeque;
use std::net::SocketAddr;

use ackclock_quic::config::EndpointConfig;
use ackclock_quic::connection::{Arrival, Event, Settings};
use ackclock_quic::crypto::tls::Ciphers;
use ackclock_quic::crypto::{ClientCrypto, ServerCrypto};
use ackclock_quic::endpoint::{Endpoint, EndpointSettings};
use ackclock_quic::streams::{Keep, StreamEvent};
use ackclock_quic::units::{Duration, Time};
use ackclock_quic::wire::Direction;

use crate::world::*;
use crate::{MEMORY, alone};

const CONNECTIONS: usize = 1000;

/// Returns the memory of each connection in bytes, both ends together: after its handshake is
/// confirmed, after it has transferred 10 kB, and the maximum in between.
fn each(crypto: (ClientCrypto, ServerCrypto)) -> [usize; 3] {
    let settings = |accepts, crypto: Option<ServerCrypto>| EndpointSettings {
        config: EndpointConfig { accepts, unaccepted: CONNECTIONS, ..EndpointConfig::default() },
        connection: Settings { keep: Keep::Count, ..Settings::default() },
        crypto,
    };
    let (of_client, of_server) = crypto;
    let mut ends = [
        Endpoint::new(settings(false, None), 1).unwrap(),
        Endpoint::new(settings(true, Some(of_server)), 2).unwrap(),
    ];
    let addresses: [SocketAddr; 2] = [CLIENT.parse().unwrap(), SERVER.parse().unwrap()];
    let (mut now, before) = (Time::ZERO, MEMORY.current_usage());
    MEMORY.reset_peak_usage();
    let (mut link, mut buf) = (VecDeque::new(), [0; 1500]);
    let mut connected = Vec::new();
    let (mut confirmed, mut finished, mut stood) = (0, 0, None);
    for _ in 0..CONNECTIONS {
        ends[0].connect(now, &of_client, "server", (addresses[0], addresses[1]), b"").unwrap();
    }
    while finished < CONNECTIONS {
        for (n, end) in ends.iter_mut().enumerate() {
            while let Some((handle, event)) = end.poll_event() {
                match event {
                    Event::Incoming => end.accept(handle),
                    Event::Confirmed if n == 0 => {
                        confirmed += 1;
                        connected.push(handle);
                    }
                    Event::Stream(StreamEvent::Finished(_)) => finished += 1,
                    Event::Ended(ended) => panic!("{ended:?}"),
                    _ => {}
                }
            }
            while let Some(sent) = end.poll_transmit(now, &mut buf) {
                link.push_back((now + Duration::from_millis(10), n, sent, buf[..sent.len].to_vec()));
            }
        }
        // All connections are idle: measure, then send data.
        if confirmed == CONNECTIONS && stood.is_none() && link.is_empty() {
            stood = Some(MEMORY.current_usage() - before);
            for handle in &connected {
                let connection = ends[0].connection_mut(*handle).unwrap();
                connection.streams().open_pattern(Direction::Unidirectional, 10_000).unwrap();
            }
            continue;
        }
        let due = link.front().map_or(Time::NEVER, |flying| flying.0);
        now = due.min(ends[0].poll_timeout()).min(ends[1].poll_timeout());
        assert!(now < ms(60_000), "{confirmed} {finished}");
        while link.front().is_some_and(|flying| flying.0 <= now) {
            let Some((arrived, n, sent, mut bytes)) = link.pop_front() else { break };
            let (from, to, ecn, bytes) = (sent.from, sent.to, sent.ecn, &mut bytes[..]);
            ends[1 - n].handle(now, Arrival { from, to, ecn, arrived, bytes });
        }
        ends.iter_mut().for_each(|end| end.handle_timeout(now));
    }
    let after = MEMORY.current_usage() - before;
    [stood.unwrap(), after, MEMORY.peak_usage() - before].map(|bytes| bytes / CONNECTIONS)
}

/// With TLS, both ends together. By extrapolation a hundred thousand take some 5.5 GB while they
/// are open.
#[test]
fn a_thousand_connections() {
    let _turn = alone();
    let [stood, after, peak] = each(tls(Ciphers::All));
    println!("{stood} B each when they stand, {after} B after 10 kB, {peak} B at most");
    assert!(stood < 64_000 && after < 84_000 && peak < 96_000, "{stood} {after} {peak}");
}
