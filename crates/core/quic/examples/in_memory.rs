//! A stream through TLS, in memory: a handshake, then packets with STREAM frames. One in a hundred
//! packets is lost and retransmitted.
//!
//! `cargo run --release --example in_memory -- [tls | plain] [MB]`

use ackclock_quic::crypto::tls::{Ciphers, ClientConfig, Identity, ServerConfig, Trust};
use ackclock_quic::crypto::{Event, OneRtt, Plain, Session};
use ackclock_quic::streams::{Keep, ReceiveStream, SendStream, WindowConfig};
use ackclock_quic::units::{Duration, Time};
use ackclock_quic::wire::header::{Outgoing, Parsed, parse};
use ackclock_quic::wire::{
    ConnectionId, Extensions, Frame, Frames, StreamFrame, TransportParameters, Writer,
};
use ackclock_quic::{Error, Level, Side};

const ALPN: &[&[u8]] = &[b"hq-interop"];
const PACKET: usize = 1200;
/// Maximum header of a STREAM frame that extends to the end of its packet, in bytes: type, stream,
/// offset.
const FRAME_HEADER: usize = 1 + 8 + 8;

fn sessions(tls: bool) -> Result<[Box<dyn Session>; 2], Error> {
    let parameters = TransportParameters::default();
    if !tls {
        let end = |side| Box::new(Plain::new(side, &parameters, ALPN, 16));
        return Ok([end(Side::Client), end(Side::Server)]);
    }
    let identity = Identity::self_signed(&["ackclock.test"])?;
    let trust = Trust::Exactly(identity.chain[0].clone());
    let client = ClientConfig::new(trust, ALPN, Ciphers::Aes128Gcm)?.start("ackclock.test", &parameters)?;
    let server = ServerConfig::new(identity, ALPN, Ciphers::All)?.start(&parameters)?;
    Ok([Box::new(client), Box::new(server)])
}

/// Exchanges handshake bytes between two sessions until both are complete. Returns their 1-RTT
/// keys.
fn handshake(mut ends: [Box<dyn Session>; 2]) -> Result<[Option<OneRtt>; 2], Error> {
    let mut keys = [None, None];
    while !ends.iter().all(|end| end.is_complete()) {
        for (from, to) in [(0, 1), (1, 0)] {
            while let Some(event) = ends[from].poll() {
                match event {
                    Event::Crypto { level, data } => ends[to].read(level, &data)?,
                    Event::Handshake(_) => {}
                    Event::OneRtt { keys: first, next } => keys[from] = Some(OneRtt::new(first, next)),
                }
            }
        }
    }
    Ok(keys)
}

/// Writes a packet with as much of the stream as fits.
fn packet(
    stream: &mut SendStream,
    keys: &mut OneRtt,
    number: u64,
    buf: &mut [u8],
) -> Option<Result<usize, Error>> {
    let header = Outgoing {
        level: Level::OneRtt,
        destination: ConnectionId::EMPTY,
        source: ConnectionId::EMPTY,
        token: &[],
        number,
        number_len: 4,
        key_phase: keys.key_phase(),
        spin: false,
    };
    let room = PACKET - header.size() - FRAME_HEADER - keys.tag_len();
    let (chunk, _) = stream.next(room, u64::MAX)?;
    let mut w = Writer::new(buf);
    let placed = header.encode(&mut w).ok()?;
    let frame = StreamFrame { id: 0, offset: chunk.offset, data: &[], fin: chunk.fin, length: false };
    stream.copy(chunk.offset, frame.reserve(&mut w, chunk.len, false).ok()?);
    w.claim(keys.tag_len());
    let len = w.position();
    // The network.
    if number % 100 == 7 {
        stream.on_lost(chunk);
        return Some(Ok(0));
    }
    stream.on_acked(chunk);
    Some(keys.seal(&mut buf[..len], &placed).map(|()| len))
}

fn receive(
    stream: &mut ReceiveStream,
    keys: &mut OneRtt,
    largest: Option<u64>,
    packet: &mut [u8],
) -> Result<u64, Error> {
    let Ok(Parsed::Protected(at)) = parse(packet, 0) else { panic!("a short header") };
    let opened = keys.open(Time::ZERO, Duration::from_millis(100), packet, &at, largest).expect("genuine");
    for frame in Frames::new(opened.payload, Level::OneRtt, Extensions::default())? {
        if let Frame::Stream(frame) = frame? {
            stream.on_stream(Time::ZERO, frame.offset, frame.data, frame.fin)?;
        }
    }
    Ok(opened.number)
}

fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let tls = args.next().is_none_or(|which| which == "tls");
    let bytes = args.next().and_then(|mb| mb.parse::<u64>().ok()).unwrap_or(10) * 1_000_000;
    let [Some(mut client), Some(mut server)] = handshake(sessions(tls)?)? else { panic!("complete") };
    let mut sending = SendStream::finished_pattern(bytes, bytes);
    let mut receiving = ReceiveStream::new(WindowConfig { initial: bytes, max: bytes }, Keep::Count);
    let (mut number, mut largest, mut buf) = (0, None, [0; PACKET]);
    while let Some(len) = packet(&mut sending, &mut client, number, &mut buf) {
        let len = len?;
        if len > 0 {
            largest = Some(receive(&mut receiving, &mut server, largest, &mut buf[..len])?);
        }
        number += 1;
    }
    println!("{} bytes of {bytes} in {number} packets", receiving.ready_to());
    println!("sender: {:?}, receiver: {:?}", sending.state(), receiving.state());
    Ok(())
}
