//! Frames: encoding and decoding are inverse, and decoding never panics or exceeds its input.

use std::ops::RangeInclusive;

use ackclock_quic::wire::ack::MAX_RANGES;
use ackclock_quic::wire::codec::{Full, Reader, Writer};
use ackclock_quic::wire::frame::FIXED_STREAM_HEADER;
use ackclock_quic::wire::varint;
use ackclock_quic::wire::{
    Ack, AckToSend, ConnectionId, Direction, EcnCounts, Extensions, Frame, FrameType, Frames, Stamp,
    StampFormat, StampsToSend, StreamFrame,
};
use ackclock_quic::{Code, Error, Level};
use proptest::prelude::*;

const STAMPS: StampFormat = StampFormat { max: 50, exponent: 2 };
const ALL: Extensions =
    Extensions { max_datagram_frame_size: 65_535, ack_frequency: true, receive_timestamps: STAMPS };

fn encoded(frame: &Frame<'_>) -> Vec<u8> {
    let mut buf = vec![0xaa; frame.size()];
    let mut w = Writer::new(&mut buf);
    frame.encode(&mut w).unwrap();
    assert_eq!(w.remaining(), 0, "size() is what encode() writes");
    for short in 0..buf.len().min(64) {
        let mut small = vec![0; short];
        let mut w = Writer::new(&mut small);
        assert_eq!((frame.encode(&mut w), w.position()), (Err(Full), 0));
    }
    buf
}

fn decoded(bytes: &[u8]) -> Result<Frame<'_>, Error> {
    Frame::decode(&mut Reader::new(bytes), STAMPS)
}

fn code(bytes: &[u8]) -> Code {
    decoded(bytes).unwrap_err().code
}

/// Integers, with every encoded size equally often.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..64_u64, 64..16_384_u64, 16_384..1_u64 << 30, 1 << 30..=varint::MAX]
}

fn direction() -> impl Strategy<Value = Direction> {
    any::<bool>().prop_map(|bidi| if bidi { Direction::Bidirectional } else { Direction::Unidirectional })
}

/// Builds a frame with borrowed data from these values.
fn any_frame<'a>(
    which: usize,
    n: [u64; 4],
    data: &'a [u8],
    flags: (bool, bool),
    direction: Direction,
) -> Frame<'a> {
    let [a, b, c, d] = n;
    let offset = a.min(varint::MAX - data.len() as u64);
    let streams = a.min(1 << 60);
    let id = ConnectionId::new(&[&[9], data].concat()[..(1 + data.len()).min(20)]).unwrap();
    let eight = b.to_be_bytes();
    match which {
        0 => Frame::Padding(1 + data.len()),
        1 => Frame::Ping,
        2 => Frame::ResetStream { id: a, error: b, final_size: c },
        3 => Frame::StopSending { id: a, error: b },
        4 => Frame::Crypto { offset, data },
        5 if data.is_empty() => Frame::HandshakeDone,
        5 => Frame::NewToken(data),
        6 | 7 => Frame::Stream(StreamFrame { id: b, offset, data, fin: flags.0, length: flags.1 }),
        8 => Frame::MaxData(a),
        9 => Frame::MaxStreamData { id: a, max: b },
        10 => Frame::MaxStreams(direction, streams),
        11 => Frame::DataBlocked(a),
        12 => Frame::StreamDataBlocked { id: a, limit: b },
        13 => Frame::StreamsBlocked(direction, streams),
        14 => Frame::NewConnectionId {
            sequence: a.max(b),
            retire_prior_to: a.min(b),
            id,
            reset_token: [c as u8; 16],
        },
        15 => Frame::RetireConnectionId(a),
        16 => Frame::PathChallenge(eight),
        17 => Frame::PathResponse(eight),
        18 => Frame::ConnectionClose { code: Code(a), frame_type: b, reason: data },
        19 => Frame::ApplicationClose { error: a, reason: data },
        20 => Frame::HandshakeDone,
        21 => Frame::Datagram { data, length: flags.0 },
        22 => Frame::AckFrequency { sequence: a, threshold: b, max_ack_delay: c, reordering_threshold: d },
        _ => Frame::ImmediateAck,
    }
}

/// Creates ascending ranges up to the largest number, from gaps and lengths.
fn ranges(largest: u64, steps: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let (mut all, mut next) = (Vec::new(), Some(largest));
    for &(gap, length) in steps {
        let Some(end) = next else { break };
        let start = end.saturating_sub(length);
        all.push((start, end));
        next = start.checked_sub(gap + 2);
    }
    all.reverse();
    all
}

/// Returns the ranges in decoding order, largest first.
fn downwards(ranges: &[(u64, u64)]) -> impl Iterator<Item = RangeInclusive<u64>> + '_ {
    ranges.iter().rev().map(|(first, last)| *first..=*last)
}

proptest! {
    #[test]
    fn every_frame_comes_back(
        which in 0_usize..24, n in prop::array::uniform4(number()), data in prop::collection::vec(any::<u8>(), 0..300),
        flags: (bool, bool), direction in direction(),
    ) {
        let frame = any_frame(which, n, &data, flags, direction);
        let bytes = encoded(&frame);
        prop_assert_eq!(decoded(&bytes), Ok(frame));
        // Every prefix is refused, or is another frame.
        for cut in 0..bytes.len() {
            let _ = decoded(&bytes[..cut]).map(|frame| prop_assert_ok(frame.size() <= cut + 7));
        }
    }

    #[test]
    fn every_ack_comes_back(
        largest in number(), steps in prop::collection::vec((0_u64..100, 0_u64..100), 1..40), delay in number(),
        ecn in prop::option::of((number(), number(), number())),
        times in prop::option::of(prop::collection::vec(0_u64..10_000, 0..60)),
    ) {
        let ranges = ranges(largest, &steps);
        let ecn = ecn.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
        let stamps = times.map(|times| {
            let numbers = downwards(&ranges).flatten();
            let all = times.iter().zip(numbers).map(|(micros, number)| Stamp { micros: *micros, number });
            let mut stamps = StampsToSend::default();
            stamps.fill(all.collect::<Vec<_>>(), largest, STAMPS, 200);
            stamps
        });
        let ack = AckToSend { ranges: &ranges, delay, ecn, stamps: stamps.as_ref() };
        let mut bytes = vec![0; ack.size()];
        let mut w = Writer::new(&mut bytes);
        ack.encode(&mut w).unwrap();
        prop_assert_eq!(w.remaining(), 0);
        let Frame::Ack(back) = decoded(&bytes).unwrap() else { panic!("an ACK") };
        prop_assert_eq!((back.largest, back.delay, back.ecn), (largest, delay, ecn));
        prop_assert_eq!(back.frame_type(), ack.frame_type());
        prop_assert!(back.ranges().eq(downwards(&ranges)));
        prop_assert_eq!(back.stamps.is_some(), stamps.is_some());
        prop_assert_eq!(encoded(&Frame::Ack(back)), bytes.clone());
        for cut in 0..bytes.len() {
            prop_assert!(decoded(&bytes[..cut]).is_err());
        }
    }

    /// Data decoded from random bytes lies within them, is finite, and can be encoded again in at
    /// most as many bytes.
    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 1..200), level in 0_usize..4) {
        check_all(&bytes, level)?;
    }

    /// The same with corrupted frames, which get further.
    #[test]
    fn damaged_frames(
        frames in prop::collection::vec((0_usize..24, prop::array::uniform4(number())), 1..8),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ack in prop::collection::vec(any::<u8>(), 0..30), kind in 0_usize..4, level in 0_usize..4,
    ) {
        let kinds = [FrameType::ACK, FrameType::ACK_ECN, FrameType::ACK_RECEIVE_TIMESTAMPS, FrameType::ACK_RECEIVE_TIMESTAMPS_ECN];
        let mut bytes: Vec<u8> = frames
            .iter()
            .flat_map(|(which, n)| encoded(&any_frame(*which, *n, b"data", (true, true), Direction::Bidirectional)))
            .collect();
        let kind = kinds[kind].0;
        bytes.extend(&varint::encoded(kind, varint::size(kind))[..varint::size(kind)]);
        bytes.extend([40, 3]);
        bytes.extend(ack);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        check_all(&bytes, level)?;
    }
}

/// For results of which only the check matters.
fn prop_assert_ok(holds: bool) {
    assert!(holds);
}

fn check_all(bytes: &[u8], level: usize) -> Result<(), TestCaseError> {
    let level = [Level::Initial, Level::ZeroRtt, Level::Handshake, Level::OneRtt][level];
    let (mut count, mut failed) = (0, false);
    for frame in Frames::new(bytes, level, ALL).unwrap() {
        prop_assert!(!failed, "nothing comes after an error");
        count += 1;
        match frame {
            Ok(frame) => {
                prop_assert!(frame.frame_type().is_allowed_in(level));
                prop_assert!(frame.size() <= bytes.len());
                if let Frame::Ack(ack) = frame {
                    check_ack(ack)?;
                }
            }
            Err(_) => failed = true,
        }
    }
    prop_assert!(count <= bytes.len());
    Ok(())
}

fn check_ack(ack: Ack<'_>) -> Result<(), TestCaseError> {
    let ranges: Vec<_> = ack.ranges().collect();
    prop_assert!(ranges.len() <= MAX_RANGES);
    prop_assert!(ranges.windows(2).all(|pair| pair[1].end() + 1 < *pair[0].start()));
    let stamps: Vec<_> = ack.stamps.into_iter().flat_map(|stamps| stamps.iter()).collect();
    prop_assert!(stamps.len() as u64 <= STAMPS.max);
    prop_assert!(stamps.iter().all(|stamp| stamp.number <= ack.largest));
    prop_assert!(stamps.windows(2).all(|pair| pair[1].micros <= pair[0].micros));
    Ok(())
}

#[test]
fn what_section_19_forbids() {
    let encoding = Code::FRAME_ENCODING_ERROR;
    // ACK: a first range below zero, a gap below zero, a length below zero.
    assert_eq!(code(&[2, 5, 0, 0, 6]), encoding);
    assert_eq!(code(&[2, 5, 0, 1, 0, 4, 0]), encoding);
    assert_eq!(code(&[2, 5, 0, 1, 0, 0, 4]), encoding);
    // A million ranges in a truncated packet.
    assert_eq!(code(&[2, 0xbf, 0xff, 0xff, 0xff, 0, 0xbf, 0xff, 0xff, 0xff, 0]), encoding);
    // NEW_TOKEN without a token.
    assert_eq!(code(&[7, 0]), encoding);
    // A stream beyond 2^62 - 1: with an offset, and one byte.
    assert_eq!(code(&[0x0e, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 7]), encoding);
    assert_eq!(code(&[0x06, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 7]), encoding);
    // More than 2^60 streams.
    for kind in [0x12, 0x13, 0x16, 0x17] {
        assert_eq!(code(&[kind, 0xd0, 0, 0, 0, 0, 0, 0, 1]), encoding);
        assert!(decoded(&[kind, 0xd0, 0, 0, 0, 0, 0, 0, 0]).is_ok());
    }
    // NEW_CONNECTION_ID: no ID, an ID of 21 bytes, Retire Prior To above the sequence number.
    let id = |sequence, retire, len: u8| {
        let mut bytes = vec![0x18, sequence, retire, len];
        bytes.extend(vec![1; usize::from(len) + 16]);
        bytes
    };
    assert!(decoded(&id(1, 1, 20)).is_ok());
    for wrong in [id(1, 0, 0), id(1, 0, 21), id(1, 2, 8)] {
        assert_eq!(code(&wrong), encoding);
    }
    // A type that is not in its shortest encoding, and an unknown type.
    assert_eq!(code(&[0x40, 0x01]), Code::PROTOCOL_VIOLATION);
    assert_eq!(code(&[0x21]), encoding);
}

#[test]
fn rules_of_packets() {
    let first = |payload: &[u8], level, extensions| {
        Frames::new(payload, level, extensions).and_then(|mut all| all.next().unwrap().map(|_| ()))
    };
    let code =
        |payload: &[u8], level, extensions| first(payload, level, extensions).map_err(|error| error.code);
    let none = Extensions::default();
    assert_eq!(code(&[], Level::OneRtt, none), Err(Code::PROTOCOL_VIOLATION));
    assert_eq!(code(&[8, 0], Level::Handshake, none), Err(Code::PROTOCOL_VIOLATION));
    assert_eq!(first(&[0x1e], Level::Initial, none).unwrap_err().frame, 0x1e);
    // DATAGRAM that was not negotiated, and one too long: the two bytes of header count.
    assert_eq!(code(&[0x30, 1], Level::OneRtt, none), Err(Code::PROTOCOL_VIOLATION));
    let five = Extensions { max_datagram_frame_size: 5, ..none };
    assert_eq!(code(&[0x31, 3, 1, 1, 1], Level::OneRtt, five), Ok(()));
    assert_eq!(code(&[0x31, 4, 1, 1, 1, 1], Level::OneRtt, five), Err(Code::PROTOCOL_VIOLATION));
    // Frames of extensions that were not negotiated are unknown.
    for payload in [&[0x1f][..], &[0x40, 0xaf, 0, 1, 2, 3], &[0x83, 0x17, 0x83, 0x07, 1, 0, 0, 0, 0]] {
        assert_eq!(code(payload, Level::OneRtt, none), Err(Code::FRAME_ENCODING_ERROR));
        assert_eq!(code(payload, Level::OneRtt, ALL), Ok(()));
        assert_eq!(code(payload, Level::Initial, ALL), Err(Code::PROTOCOL_VIOLATION));
    }
}

#[test]
fn ranges_beyond_the_bound_are_checked_and_left_out() {
    let many: Vec<_> = (0..1000_u64).map(|n| (n * 2, n * 2)).collect();
    let ack = AckToSend { ranges: &many, delay: 0, ecn: None, stamps: None };
    let mut bytes = vec![0; ack.size()];
    ack.encode(&mut Writer::new(&mut bytes)).unwrap();
    let Ok(Frame::Ack(ack)) = decoded(&bytes) else { panic!("an ACK") };
    assert!(ack.ranges().eq(downwards(&many).take(MAX_RANGES)));
}

#[test]
fn stream_headers_of_a_fixed_size() {
    for (id, offset) in [(0, 0), (4, 1 << 40)] {
        let mut buf = [0; 64];
        let mut w = Writer::new(&mut buf);
        let frame = StreamFrame { id, offset, data: &[], fin: true, length: false };
        frame.reserve(&mut w, 3, true).unwrap().copy_from_slice(b"abc");
        assert_eq!(w.position(), FIXED_STREAM_HEADER + 3);
        let expected = StreamFrame { data: b"abc", length: true, ..frame };
        assert_eq!(decoded(w.written()), Ok(Frame::Stream(expected)));
        // The same with the shortest header.
        let mut w = Writer::new(&mut buf);
        frame.reserve(&mut w, 3, false).unwrap().copy_from_slice(b"abc");
        assert_eq!(w.position(), StreamFrame::header_size(id, offset, None) + 3);
        assert_eq!(decoded(w.written()), Ok(Frame::Stream(StreamFrame { data: b"abc", ..frame })));
    }
}

/// ECN counts precede the timestamps. The bytes are those of google/quiche's
/// `AckFrameReceiveTimestampsAndEcn`.
#[test]
fn receive_times_with_ecn_as_quiche_reads_them() {
    let bytes = [
        0x83, 0x17, 0x83, 0x08, 0x52, 0x34, 0, 0, 0, 10, 20, 30, 1, 2, 3, 0xa9, 0xff, 0xff, 0xff, 0x51, 0x11,
        1,
    ];
    let format = StampFormat { max: 1000, exponent: 0 };
    let Ok(Frame::Ack(ack)) = Frame::decode(&mut Reader::new(&bytes), format) else { panic!("an ACK") };
    assert_eq!(ack.ecn, Some(EcnCounts { ect0: 10, ect1: 20, ce: 30 }));
    let times = [(0x29ff_ffff, 4658), (0x29ff_eeee, 4657), (0x29ff_eeed, 4656)];
    let times = times.map(|(micros, number)| Stamp { micros, number });
    assert!(ack.stamps.unwrap().iter().eq(times));
    // The same when encoding.
    let mut stamps = StampsToSend::default();
    stamps.fill(times, 4660, format, 100);
    let ack = AckToSend { ranges: &[(4660, 4660)], delay: 0, ecn: ack.ecn, stamps: Some(&stamps) };
    let mut written = [0; 22];
    ack.encode(&mut Writer::new(&mut written)).unwrap();
    assert_eq!(written, bytes);
}
