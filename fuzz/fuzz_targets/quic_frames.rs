//! Decodes bytes as the payload of a packet, and parses them as a datagram's header. Both give a
//! value or an error, never a panic. A decoded frame is encoded and decoded to the same value.
#![no_main]

use ackclock_quic::Level;
use ackclock_quic::wire::frames::{Extensions, Frames};
use ackclock_quic::wire::{Frame, Reader, StampFormat, Writer, header};
use libfuzzer_sys::fuzz_target;

fn again(frame: &Frame<'_>, format: StampFormat) {
    // ACKs are encoded from the receiver's state, not from a decoded frame.
    if let Frame::Ack(ack) = frame {
        let mut last = None;
        for range in ack.ranges() {
            assert!(range.start() <= range.end() && last.is_none_or(|last| *range.end() < last));
            last = Some(*range.start());
        }
        let stamps = ack.stamps.iter().flat_map(|stamps| stamps.iter());
        assert!(stamps.map(|stamp| stamp.number).all(|number| number <= ack.largest));
        return;
    }
    let mut bytes = vec![0; frame.size()];
    let mut w = Writer::new(&mut bytes);
    frame.encode(&mut w).expect("as many bytes as it has");
    assert_eq!(w.remaining(), 0);
    assert_eq!(Frame::decode(&mut Reader::new(&bytes), format).as_ref(), Ok(frame));
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, payload)) = bytes.split_first() else { return };
    let receive_timestamps = StampFormat { max: u64::from(first >> 4), exponent: first & 15 };
    let all = Extensions { max_datagram_frame_size: 1 << 16, ack_frequency: true, receive_timestamps };
    for (level, extensions) in [
        (Level::OneRtt, all),
        (Level::Initial, all),
        (Level::Handshake, all),
        (Level::OneRtt, Extensions::default()),
    ] {
        let Ok(frames) = Frames::new(payload, level, extensions) else { continue };
        for frame in frames.flatten() {
            again(&frame, extensions.receive_timestamps);
        }
    }
    for len in [0, 8, 20] {
        let _ = header::parse(payload, len);
    }
});
