//! Handshakes of two sessions in memory, through CRYPTO streams cut into packets.

use ackclock_quic::crypto::tls::{Ciphers, ClientConfig, Identity, ServerConfig, Trust, fingerprint};
use ackclock_quic::crypto::{Event, Keys, NextKeys, OneRtt, Plain, Session};
use ackclock_quic::crypto_stream::{CryptoStream, MAX_AHEAD};
use ackclock_quic::units::{Duration, Time};
use ackclock_quic::wire::codec::Writer;
use ackclock_quic::wire::header::{Outgoing, Parsed, parse};
use ackclock_quic::wire::{ConnectionId, TransportParameters};
use ackclock_quic::{Code, Error, Level, Side, Space};

const ALPN: &[&[u8]] = &[b"hq-interop"];

/// One end: its session, and a CRYPTO stream for each space.
struct End {
    session: Box<dyn Session>,
    streams: [CryptoStream; 3],
    handshake: Option<Keys>,
    one_rtt: Option<(Keys, Box<dyn NextKeys>)>,
    /// Number of bytes written at each level.
    written: Vec<(Level, usize)>,
}

impl End {
    fn new(session: impl Session + 'static) -> Self {
        let streams = [(); 3].map(|()| CryptoStream::default());
        let session = Box::new(session);
        let mut end = Self { session, streams, handshake: None, one_rtt: None, written: Vec::new() };
        end.poll();
        end
    }

    fn poll(&mut self) {
        while let Some(event) = self.session.poll() {
            match event {
                Event::Crypto { level, data } => {
                    self.written.push((level, data.len()));
                    self.streams[level.space() as usize].write(&data);
                }
                Event::Handshake(keys) => self.handshake = Some(keys),
                Event::OneRtt { keys, next } => self.one_rtt = Some((keys, next)),
            }
        }
    }

    /// Sends everything in pieces of `size` bytes, every other twice, backwards.
    fn send_to(&mut self, peer: &mut End, size: usize) -> Result<bool, Error> {
        let mut sent = false;
        for (space, level) in [
            (Space::Initial, Level::Initial),
            (Space::Handshake, Level::Handshake),
            (Space::Application, Level::OneRtt),
        ] {
            let stream = &mut self.streams[space as usize];
            let mut chunks: Vec<_> = std::iter::from_fn(|| stream.next(size)).collect();
            chunks.reverse();
            for (at, chunk) in chunks.iter().enumerate() {
                let mut data = vec![0; chunk.len];
                stream.copy(chunk.offset, &mut data);
                for _ in 0..=at % 2 {
                    peer.streams[space as usize].on_crypto(chunk.offset, &data)?;
                }
                stream.on_acked(*chunk);
                sent = true;
            }
            let data = peer.streams[space as usize].read();
            if !data.is_empty() {
                peer.session.read(level, &data)?;
                peer.poll();
            }
        }
        Ok(sent)
    }
}

fn run(client: &mut End, server: &mut End, size: usize) -> Result<(), Error> {
    while client.send_to(server, size)? | server.send_to(client, size)? {}
    Ok(())
}

fn parameters(side: Side) -> TransportParameters {
    let server = (side == Side::Server).then_some(ConnectionId::EMPTY);
    TransportParameters {
        initial_max_data: 1 << 20,
        original_destination_connection_id: server,
        initial_source_connection_id: Some(ConnectionId::EMPTY),
        ..TransportParameters::default()
    }
}

fn tls(identity: &Identity, trust: Trust, alpn: &[&[u8]], ciphers: Ciphers) -> (End, End) {
    let client = ClientConfig::new(trust, alpn, ciphers).unwrap().logging_secrets();
    let server = ServerConfig::new(identity.clone(), ALPN, Ciphers::All).unwrap().logging_secrets();
    let client = client.start("ackclock.test", &parameters(Side::Client)).unwrap();
    (End::new(client), End::new(server.start(&parameters(Side::Server)).unwrap()))
}

fn identity() -> Identity {
    Identity::self_signed(&["ackclock.test"]).unwrap()
}

/// Checks that both ends are complete and agree.
fn check_complete(client: &End, server: &End) {
    for (end, other) in [(client, Side::Server), (server, Side::Client)] {
        assert!(end.session.is_complete() && end.handshake.is_some() && end.one_rtt.is_some());
        assert_eq!(end.session.alpn(), Some(ALPN[0]));
        assert_eq!(end.session.peer_parameters(), Some(&parameters(other)));
        assert!(end.streams.iter().all(|stream| stream.is_acked() && !stream.has_leftovers()));
    }
}

#[test]
fn tls_through_crypto_streams() {
    let identity = identity();
    for size in [1, 100, 1200, 1 << 20] {
        let trust = Trust::Exactly(identity.chain[0].clone());
        let (mut client, mut server) = tls(&identity, trust, ALPN, Ciphers::All);
        run(&mut client, &mut server, size).unwrap();
        check_complete(&client, &server);
        assert_eq!(server.session.server_name(), Some("ackclock.test"));
        let (mut a, mut b) = ([0; 32], [0; 32]);
        client.session.export(b"label", b"context", &mut a).unwrap();
        server.session.export(b"label", b"context", &mut b).unwrap();
        assert_eq!(a, b);
        let lines = client.session.take_secrets();
        assert!(lines.iter().any(|line| line.starts_with("CLIENT_TRAFFIC_SECRET_0 ")));
        let mut of_both = [lines, server.session.take_secrets()];
        of_both.iter_mut().for_each(|lines| lines.sort());
        assert_eq!(of_both[0], of_both[1]);
        assert!(client.session.take_secrets().is_empty());
    }
}

/// With Ed25519, certificate and signature always have the same length. So runs in virtual time see
/// the same packets.
#[test]
fn handshakes_have_one_length() {
    let mut lengths: Vec<Vec<(Level, usize)>> = Vec::new();
    for _ in 0..30 {
        let identity = identity();
        let (mut client, mut server) = tls(&identity, Trust::Anyone, ALPN, Ciphers::All);
        run(&mut client, &mut server, 1200).unwrap();
        lengths.push([client.written, server.written].concat());
    }
    lengths.dedup();
    assert_eq!(lengths.len(), 1, "{lengths:?}");
    let sum: usize = lengths[0].iter().map(|(_, len)| len).sum();
    assert!(sum < 1500, "{sum} bytes");
    assert!(lengths[0].iter().all(|(level, _)| *level != Level::OneRtt), "nothing follows the handshake");
}

#[test]
fn chacha20_when_asked_for() {
    let identity = identity();
    let (mut client, mut server) = tls(&identity, Trust::Anyone, ALPN, Ciphers::ChaCha20Poly1305);
    run(&mut client, &mut server, 1200).unwrap();
    check_complete(&client, &server);
    let (keys, _) = client.one_rtt.as_ref().unwrap();
    // RFC 9001 section 6.6: 2^36 for ChaCha20-Poly1305, 2^52 for AES-GCM.
    assert_eq!(keys.local.packet.integrity_limit(), 1 << 36);
}

#[test]
fn whom_a_client_believes() {
    let (right, wrong) = (identity(), identity());
    let rooted = Trust::Roots(vec![right.chain[0].clone()]);
    let known = Trust::Fingerprint(fingerprint(&right.chain[0]));
    for trust in [rooted.clone(), known.clone()] {
        let (mut client, mut server) = tls(&right, trust, ALPN, Ciphers::All);
        run(&mut client, &mut server, 1200).unwrap();
        check_complete(&client, &server);
    }
    for trust in [Trust::Exactly(right.chain[0].clone()), rooted, known] {
        let pinned = !matches!(trust, Trust::Roots(_));
        let (mut client, mut server) = tls(&wrong, trust, ALPN, Ciphers::All);
        let error = run(&mut client, &mut server, 1200).unwrap_err();
        assert!(error.code.alert().is_some(), "{error}");
        assert!(!client.session.is_complete());
        assert_eq!(client.session.other_fingerprint(), pinned.then(|| fingerprint(&wrong.chain[0])));
    }
}

#[test]
fn without_a_protocol_in_common() {
    let identity = identity();
    let no_application_protocol = Some(120);
    for alpn in [&[&b"h3"[..]][..], &[]] {
        let (mut client, mut server) = tls(&identity, Trust::Anyone, alpn, Ciphers::All);
        let error = run(&mut client, &mut server, 1200).unwrap_err();
        assert_eq!(error.code.alert(), no_application_protocol, "{error}");
    }
    let (mut client, mut server) = (plain(Side::Client, &[b"h3"], 16), plain(Side::Server, ALPN, 16));
    let error = run(&mut client, &mut server, 1200).unwrap_err();
    assert_eq!(error.code.alert(), no_application_protocol);
}

fn plain(side: Side, alpn: &[&[u8]], tag_len: usize) -> End {
    End::new(Plain::new(side, &parameters(side), alpn, tag_len))
}

#[test]
fn plain_through_crypto_streams() {
    for size in [1, 7, 1200] {
        let (mut client, mut server) = (plain(Side::Client, ALPN, 16), plain(Side::Server, ALPN, 16));
        run(&mut client, &mut server, size).unwrap();
        check_complete(&client, &server);
        assert!(client.session.export(b"", b"", &mut [0; 8]).is_err());
    }
}

#[test]
fn bytes_of_another_level() {
    let identity = identity();
    let (client, server) = tls(&identity, Trust::Anyone, ALPN, Ciphers::All);
    for mut end in [client, server, plain(Side::Client, ALPN, 16), plain(Side::Server, ALPN, 16)] {
        for level in [Level::Handshake, Level::OneRtt] {
            let error = end.session.read(level, &[1, 2, 3, 4]).unwrap_err();
            assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
        }
    }
}

#[test]
fn garbage_is_refused() {
    let identity = identity();
    let (client, server) = tls(&identity, Trust::Anyone, ALPN, Ciphers::All);
    for mut end in [client, server, plain(Side::Client, ALPN, 16), plain(Side::Server, ALPN, 16)] {
        let mut result = Ok(());
        for _ in 0..100 {
            result = result.and_then(|()| end.session.read(Level::Initial, &[0xff; 700]));
        }
        assert!(result.is_err());
    }
}

#[test]
fn crypto_is_bounded() {
    let mut stream = CryptoStream::default();
    assert_eq!(stream.on_crypto(MAX_AHEAD - 1, &[1]), Ok(()));
    assert!(stream.has_leftovers());
    assert_eq!(stream.on_crypto(MAX_AHEAD, &[1]).unwrap_err().code, Code::CRYPTO_BUFFER_EXCEEDED);
    stream.on_crypto(0, &[1; 10]).unwrap();
    assert_eq!(stream.on_crypto(MAX_AHEAD, &[1]).unwrap_err().code, Code::CRYPTO_BUFFER_EXCEEDED);
    assert_eq!(stream.read(), [1; 10]);
    assert_eq!(stream.on_crypto(MAX_AHEAD, &[1; 10]), Ok(()));
}

/// Sends a packet from one end to the other. Returns its generation at the receiver.
fn exchange(now: Time, from: &mut OneRtt, to: &mut OneRtt, number: u64) -> u64 {
    let key_phase = from.prepare(now).unwrap();
    let header = Outgoing {
        level: Level::OneRtt,
        destination: ConnectionId::EMPTY,
        source: ConnectionId::EMPTY,
        token: &[],
        number,
        number_len: 2,
        key_phase,
        spin: false,
    };
    let mut packet = vec![0; 3 + 20 + from.tag_len()];
    let placed = header.encode(&mut Writer::new(&mut packet)).unwrap();
    from.seal(&mut packet, &placed).unwrap();
    let Ok(Parsed::Protected(at)) = parse(&packet, 0) else { panic!("a short header") };
    let opened = to.open(now, Duration::from_millis(100), &mut packet, &at, number.checked_sub(1)).unwrap();
    assert_eq!((opened.number, opened.payload), (number, &[0; 20][..]));
    opened.generation
}

/// Either end in turn updates the keys of a TLS handshake and of a plain one.
#[test]
fn key_updates_both_ways() {
    let identity = identity();
    let pairs = [
        tls(&identity, Trust::Anyone, ALPN, Ciphers::All),
        tls(&identity, Trust::Anyone, ALPN, Ciphers::ChaCha20Poly1305),
        (plain(Side::Client, ALPN, 16), plain(Side::Server, ALPN, 16)),
    ];
    for (mut client, mut server) in pairs {
        run(&mut client, &mut server, 1200).unwrap();
        let one_rtt = |end: &mut End| {
            let (keys, next) = end.one_rtt.take().unwrap();
            let mut keys = OneRtt::new(keys, next);
            keys.on_confirmed();
            keys
        };
        let (mut client, mut server) = (one_rtt(&mut client), one_rtt(&mut server));
        let pto = Duration::from_millis(100);
        for number in 0..20_u64 {
            let now = Time::from_millis(1000 * number);
            let generation = exchange(now, &mut client, &mut server, number);
            let back = exchange(now, &mut server, &mut client, number);
            assert_eq!((generation, back), (number, number));
            for end in [&mut client, &mut server] {
                end.on_ack(now, pto, number, number).unwrap();
            }
            if number % 2 == 0 {
                client.request_update();
            } else {
                server.request_update();
            }
            if number % 2 == 1 {
                // The server's update reaches the client first.
                let later = Time::from_millis(1000 * number + 900);
                assert_eq!(server.may_update(later), Ok(()));
                server.prepare(later).unwrap();
                assert_eq!(server.generation(), number + 1);
                client.request_update();
            }
        }
    }
}
