//! Many connections between two endpoints.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;

use ackclock_quic::config::EndpointConfig;
use ackclock_quic::connection::{Arrival, Event, Settings};
use ackclock_quic::crypto::ServerCrypto;
use ackclock_quic::endpoint::{Endpoint, EndpointSettings};
use ackclock_quic::streams::{Keep, Read, StreamEvent};
use ackclock_quic::units::{Duration, Time};
use ackclock_quic::wire::Direction;

use crate::world::*;

/// Each connection transfers its data and gets only its own events. In the end no state is left.
#[test]
fn a_hundred_connections() {
    let settings = |accepts, crypto: Option<ServerCrypto>| EndpointSettings {
        config: EndpointConfig { accepts, unaccepted: 200, ..EndpointConfig::default() },
        connection: Settings { keep: Keep::Count, ..Settings::default() },
        crypto,
    };
    let (of_client, of_server) = plain();
    let mut ends = [
        Endpoint::new(settings(false, None), 1).unwrap(),
        Endpoint::new(settings(true, Some(of_server)), 2).unwrap(),
    ];
    let addresses: [SocketAddr; 2] = [CLIENT.parse().unwrap(), SERVER.parse().unwrap()];
    let mut now = Time::ZERO;
    for _ in 0..100 {
        ends[0].connect(now, &of_client, "server", (addresses[0], addresses[1]), b"").unwrap();
    }
    let (mut link, mut buf) = (VecDeque::new(), [0; 1500]);
    let (mut came, mut finished, mut closed) = (BTreeSet::new(), BTreeSet::new(), 0);
    loop {
        for (n, end) in ends.iter_mut().enumerate() {
            while let Some((handle, event)) = end.poll_event() {
                match event {
                    Event::Incoming => end.accept(handle),
                    Event::Connected if n == 0 => {
                        let connection = end.connection_mut(handle).unwrap();
                        let bytes = 10_000 + handle.0;
                        connection.streams().open_pattern(Direction::Unidirectional, bytes).unwrap();
                    }
                    Event::Stream(StreamEvent::Readable(id)) => {
                        let connection = end.connection_mut(handle).unwrap();
                        let (bytes, _) = connection.streams().received(id).unwrap();
                        assert_eq!(connection.read(now, id, &mut []), Ok(Read::End));
                        assert!(came.insert(bytes));
                    }
                    Event::Stream(StreamEvent::Finished(_)) => {
                        finished.insert(handle);
                        end.connection_mut(handle).unwrap().close(now, 0, b"");
                    }
                    Event::Ended(_) => closed += 1,
                    _ => {}
                }
            }
            while let Some(sent) = end.poll_transmit(now, &mut buf) {
                link.push_back((now + Duration::from_millis(10), n, sent, buf[..sent.len].to_vec()));
            }
        }
        let due = link.front().map_or(Time::NEVER, |flying| flying.0);
        now = due.min(ends[0].poll_timeout()).min(ends[1].poll_timeout());
        if now == Time::NEVER {
            break; // nothing is left
        }
        assert!(now < ms(10_000), "{} {}", came.len(), finished.len());
        while link.front().is_some_and(|flying| flying.0 <= now) {
            let Some((arrived, n, sent, mut bytes)) = link.pop_front() else { break };
            let (from, to, ecn, bytes) = (sent.from, sent.to, sent.ecn, &mut bytes[..]);
            ends[1 - n].handle(now, Arrival { from, to, ecn, arrived, bytes });
        }
        ends.iter_mut().for_each(|end| end.handle_timeout(now));
    }
    assert!(ends.iter().all(Endpoint::is_empty));
    assert_eq!((came.len(), finished.len(), closed), (100, 100, 200));
    assert!(came.into_iter().eq(10_000..10_100));
}
