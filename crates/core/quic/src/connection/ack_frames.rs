//! ACK frames, read for loss recovery and written from what a receiver has received (RFC 9000
//! section 13.2, draft-ietf-quic-receive-ts-02).

use recovery::{AckFrame, AckReceipt, DEFAULT_ACK_DELAY_EXPONENT, Receiver};
use units::Time;

use crate::level::Level;
use crate::wire::ack::{Ack, AckToSend};
use crate::wire::codec::Writer;
use crate::wire::receive_timestamps::{Stamp, StampFormat, Stamps, StampsToSend};
use crate::wire::transport_parameters::TransportParameters;
use crate::wire::varint;

/// Additional bytes of an ACK with timestamps besides the timestamps: a type of four bytes instead
/// of one.
const STAMPS_TYPE: usize = 3;

/// Encodings that both ends have declared, and memory that is reused between frames.
pub(super) struct AckFrames {
    /// `ack_delay_exponent` of this end and of the peer, for 1-RTT packets.
    ours: u8,
    theirs: u8,
    /// Timestamps that the peer requested.
    pub(super) format: StampFormat,
    frame: AckFrame,
    stamps: StampsToSend,
}

impl AckFrames {
    /// Starts with this end's `ack_delay_exponent`.
    pub(super) fn new(ours: u8) -> Self {
        Self {
            ours,
            theirs: DEFAULT_ACK_DELAY_EXPONENT,
            format: StampFormat::default(),
            frame: AckFrame::default(),
            stamps: StampsToSend::default(),
        }
    }

    /// Applies the peer's parameters.
    pub(super) fn on_parameters(&mut self, peer: &TransportParameters) {
        (self.theirs, self.format) = (peer.ack_delay_exponent as u8, peer.stamp_format());
    }

    /// Converts a received frame to the type of loss recovery.
    pub(super) fn read(&mut self, level: Level, ack: &Ack<'_>) -> &AckFrame {
        let exponent = if level == Level::OneRtt { self.theirs } else { DEFAULT_ACK_DELAY_EXPONENT };
        let frame = &mut self.frame;
        frame.ranges.clear();
        frame.ranges.extend(ack.ranges().map(|range| (*range.start(), *range.end())));
        frame.ranges.reverse();
        frame.ack_delay = AckFrame::decode_delay(ack.delay, exponent);
        frame.ecn = ack.ecn;
        frame.timestamps.clear();
        let nanos = |micros: u64| i64::try_from(micros.saturating_mul(1000)).unwrap_or(i64::MAX);
        let stamps = ack.stamps.iter().flat_map(Stamps::iter);
        frame.timestamps.extend(stamps.map(|stamp| (stamp.number, nanos(stamp.micros))));
        // The wire has the latest first. The sender wants ascending packet numbers, each once.
        frame.timestamps.sort_unstable();
        frame.timestamps.dedup_by_key(|stamp| stamp.0);
        frame
    }

    /// Writes an ACK of what `receiver` has received, or as much of it as fits. Returns it, its
    /// receipt, and whether the receiver wants a PING with it. `None` if nothing fits.
    pub(super) fn write(
        &mut self,
        now: Time,
        level: Level,
        receiver: &mut Receiver,
        w: &mut Writer<'_>,
    ) -> Option<(AckToSend<'_>, Option<AckReceipt>, bool)> {
        let Self { ours, format, frame, stamps, .. } = self;
        let exponent = if level == Level::OneRtt { *ours } else { DEFAULT_ACK_DELAY_EXPONENT };
        receiver.write_ack(now, frame);
        let delay = AckFrame::encode_delay(frame.ack_delay, exponent).min(varint::MAX);
        let mut ack = AckToSend { ranges: &frame.ranges, delay, ecn: frame.ecn, stamps: None };
        while ack.ranges.len() > 1 && ack.size() > w.remaining() {
            ack.ranges = &ack.ranges[1..];
        }
        let &(_, largest) = ack.ranges.last()?;
        let mut reported = 0;
        if level == Level::OneRtt && !frame.timestamps.is_empty() {
            let budget = w.remaining().saturating_sub(ack.size() + STAMPS_TYPE);
            let micros = |nanos| u64::try_from(nanos).unwrap_or(0) / 1000;
            let all = frame.timestamps.iter().map(|&(number, nanos)| Stamp { micros: micros(nanos), number });
            reported = stamps.fill(all, largest, *format, budget);
            ack.stamps = (reported > 0).then_some(&*stamps);
        }
        ack.encode(w).ok()?;
        Some((ack, receiver.receipt(reported), frame.ping))
    }
}

#[cfg(test)]
mod tests {
    use recovery::{AckConfig, Clock};
    use units::{Duration, Ecn};

    use super::*;
    use crate::wire::codec::Reader;
    use crate::wire::frame::Frame;

    /// One end writes what it has received, the other end reads it.
    #[test]
    fn what_one_end_writes_the_other_reads() {
        let format = StampFormat { max: 2, exponent: 0 };
        let config = AckConfig { timestamps: 2, ..AckConfig::default() };
        let mut receiver = Receiver::new(config, Clock::default(), Duration::MAX).bounded(8);
        let mut buf = [0; 100];
        let (mut ours, mut theirs) = (AckFrames::new(5), AckFrames::new(3));
        assert!(ours.write(Time::ZERO, Level::OneRtt, &mut receiver, &mut Writer::new(&mut buf)).is_none());
        for number in [0, 1, 2, 5, 6, 9] {
            receiver.on_packet(Time::from_millis(number), number, Ecn::Ce, 0);
        }
        ours.format = format;
        theirs.theirs = 5;
        let now = Time::from_millis(9) + Duration::from_micros(320);
        for (room, ranges) in [(100, vec![(0, 2), (5, 6), (9, 9)]), (10, vec![(5, 6), (9, 9)])] {
            let mut w = Writer::new(&mut buf[..room]);
            let (ack, receipt, _) = ours.write(now, Level::OneRtt, &mut receiver, &mut w).unwrap();
            assert_eq!((ack.delay, ack.ranges), (10, &ranges[..]));
            assert!(receipt.is_some());
            let len = w.position();
            let Frame::Ack(ack) = Frame::decode(&mut Reader::new(&buf[..len]), format).unwrap() else {
                panic!("an ACK")
            };
            let read = theirs.read(Level::OneRtt, &ack);
            assert_eq!((&read.ranges, read.ack_delay), (&ranges, Duration::from_micros(320)));
            let stamps = if room == 100 { vec![(6, 6_000_000), (9, 9_000_000)] } else { vec![] };
            assert_eq!(read.timestamps, stamps);
        }
    }
}
