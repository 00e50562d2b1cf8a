//! Receive timestamps in ACK frames (draft-ietf-quic-receive-ts-02).
//!
//! After the fields of ACK (and ECN counts), such a frame has Timestamp Range Count and that many
//! ranges. A range is {Delta Largest Acknowledged, Timestamp Delta Count, Timestamp Deltas}: a run
//! of descending packet numbers whose receive times do not rise.
//!
//! The first delta counts from a basis that is constant for the connection. Each later delta counts
//! from the previous time, also across ranges. Ranges are in descending order of time, so a late
//! packet starts its own range. Deltas are in units of 2^exponent microseconds.
//!
//! The receiver of packets chooses the basis, and never reveals it. Only differences are meaningful
//! to the peer.
//!
//! Times are quantised before they are subtracted, so the error of every time is below one unit.
//! Quantising each difference instead would accumulate one error per packet (mvfst as of August
//! 2026).

use super::codec::{Reader, Writer};
use super::frame_type::FrameType;
use super::varint;
use crate::error::{Code, Error};

/// Largest exponent (transport parameter `receive_timestamps_exponent`).
pub const MAX_EXPONENT: u8 = 20;

/// Timestamp format that one end requested in its transport parameters. Frames sent to it follow
/// this format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampFormat {
    /// `max_receive_timestamps_per_ack`: maximum number per frame; 0 if none are requested.
    pub max: u64,
    /// `receive_timestamps_exponent`, 0 to 20.
    pub exponent: u8,
}

/// Receive time of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Microseconds since the basis of the connection.
    pub micros: u64,
    /// Packet number.
    pub number: u64,
}

/// Receive timestamps of a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps<'a> {
    largest: u64,
    exponent: u8,
    ranges: u64,
    bytes: &'a [u8],
}

impl<'a> Stamps<'a> {
    /// Reads and validates the fields that follow those of ACK.
    ///
    /// # Errors
    /// FRAME_ENCODING_ERROR for truncated input, packet numbers above Largest Acknowledged or below
    /// zero, times before the basis or beyond 2^64 microseconds, and more timestamps than
    /// requested.
    pub(crate) fn read(
        r: &mut Reader<'a>,
        kind: FrameType,
        largest: u64,
        format: StampFormat,
    ) -> Result<Self, Error> {
        let bad = |reason| Error::new(Code::FRAME_ENCODING_ERROR, reason).in_frame(kind.0);
        let ranges = r.varint().map_err(|_| bad("receive times are truncated"))?;
        let begin = r.position();
        let mut walk = Walk::new(r.clone(), largest, format.exponent, ranges);
        let mut count = 0;
        while walk.step().map_err(bad)?.is_some() {
            count += 1;
            if count > format.max {
                return Err(bad("more receive times than requested"));
            }
        }
        *r = walk.r;
        Ok(Self { largest, exponent: format.exponent, ranges, bytes: r.since(begin) })
    }

    /// Returns the timestamps, latest first.
    pub fn iter(&self) -> impl Iterator<Item = Stamp> + use<'a> {
        let mut walk = Walk::new(Reader::new(self.bytes), self.largest, self.exponent, self.ranges);
        // Everything was validated when the frame was read.
        std::iter::from_fn(move || walk.step().ok().flatten())
    }

    pub(crate) fn size(&self) -> usize {
        varint::size(self.ranges) + self.bytes.len()
    }

    pub(crate) fn encode(&self, w: &mut Writer<'_>) {
        w.varint(self.ranges);
        w.bytes(self.bytes);
    }
}

/// Decoder of one timestamp after the other.
struct Walk<'a> {
    r: Reader<'a>,
    largest: u64,
    exponent: u8,
    ranges: u64,
    /// Timestamps left in this range.
    left: u64,
    /// Next packet number; `None` below zero.
    number: Option<u64>,
    /// Previous time, in units.
    time: Option<u64>,
}

impl<'a> Walk<'a> {
    fn new(r: Reader<'a>, largest: u64, exponent: u8, ranges: u64) -> Self {
        Self { r, largest, exponent, ranges, left: 0, number: None, time: None }
    }

    fn step(&mut self) -> Result<Option<Stamp>, &'static str> {
        const SHORT: &str = "receive times are truncated";
        while self.left == 0 {
            let Some(ranges) = self.ranges.checked_sub(1) else { return Ok(None) };
            self.ranges = ranges;
            let delta = self.r.varint().map_err(|_| SHORT)?;
            self.left = self.r.varint().map_err(|_| SHORT)?;
            self.number = self.largest.checked_sub(delta);
        }
        self.left -= 1;
        let delta = self.r.varint().map_err(|_| SHORT)?;
        let number = self.number.ok_or("receive times of negative packet numbers")?;
        let time = match self.time {
            None => delta,
            Some(time) => time.checked_sub(delta).ok_or("receive times before their basis")?,
        };
        (self.number, self.time) = (number.checked_sub(1), Some(time));
        let micros = time.checked_mul(1 << self.exponent).ok_or("receive times beyond 2^64 us")?;
        Ok(Some(Stamp { micros, number }))
    }
}

/// Receive timestamps to be sent. Kept between frames to reuse its memory.
#[derive(Clone, Debug, Default)]
pub struct StampsToSend {
    /// Quantised times, latest first. Equal times are sorted by descending packet number.
    stamps: Vec<Stamp>,
    largest: u64,
    /// End of each range in `stamps`.
    ends: Vec<usize>,
    size: usize,
}

impl StampsToSend {
    /// Takes the latest of `stamps`, given in any order, whose packet numbers do not exceed
    /// `largest`. Returns the number taken.
    ///
    /// It takes at most as many as the peer requested (`format`), and as fit into `budget` bytes.
    pub fn fill(
        &mut self,
        stamps: impl IntoIterator<Item = Stamp>,
        largest: u64,
        format: StampFormat,
        budget: usize,
    ) -> usize {
        let exponent = format.exponent.min(MAX_EXPONENT);
        let covered = stamps.into_iter().filter(|stamp| stamp.number <= largest);
        self.stamps.clear();
        // Quantize first, then subtract: see the module documentation.
        self.stamps.extend(covered.map(|stamp| Stamp { micros: stamp.micros >> exponent, ..stamp }));
        self.stamps.sort_unstable_by(|a, b| b.cmp(a));
        self.stamps.truncate(usize::try_from(format.max).unwrap_or(usize::MAX));
        self.largest = largest;
        self.lay_out(budget);
        self.stamps.len()
    }

    /// Divides the timestamps into ranges, and drops those beyond the budget.
    fn lay_out(&mut self, budget: usize) {
        self.ends.clear();
        let (mut inner, mut in_range, mut before) = (0_usize, 0_u64, None::<Stamp>);
        let mut taken = 0;
        for (at, stamp) in self.stamps.iter().enumerate() {
            let continues = before.is_some_and(|before| before.number == stamp.number + 1);
            let delta = before.map_or(stamp.micros, |before| before.micros - stamp.micros);
            let grown = match continues {
                true => varint::size(in_range + 1) - varint::size(in_range),
                false => varint::size(self.largest - stamp.number) + varint::size(1),
            };
            let ranges = self.ends.len() + usize::from(!continues);
            let size = inner + grown + varint::size(delta);
            if size + varint::size(ranges as u64) > budget {
                break;
            }
            if continues {
                in_range += 1;
                *self.ends.last_mut().expect("a range was started") = at + 1;
            } else {
                in_range = 1;
                self.ends.push(at + 1);
            }
            (inner, before, taken) = (size, Some(*stamp), at + 1);
        }
        self.stamps.truncate(taken);
        self.size = inner + varint::size(self.ends.len() as u64);
    }

    /// Reports whether there are no timestamps.
    pub fn is_empty(&self) -> bool {
        self.stamps.is_empty()
    }

    /// Returns their size in the frame, in bytes.
    pub fn size(&self) -> usize {
        self.size.max(1)
    }

    pub(crate) fn encode(&self, w: &mut Writer<'_>) {
        w.varint(self.ends.len() as u64);
        let (mut begin, mut before) = (0, None);
        for &end in &self.ends {
            let range = &self.stamps[begin..end];
            w.varint(self.largest - range[0].number);
            w.varint(range.len() as u64);
            for stamp in range {
                w.varint(before.map_or(stamp.micros, |before| before - stamp.micros));
                before = Some(stamp.micros);
            }
            begin = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Tables 1 and 2 of section 8 of the draft. The bytes are those printed in google/quiche's
    /// `quic_ack_timestamp_list_test.cc`.
    const IN_ORDER: [(u64, u64); 10] = [
        (87, 300),
        (88, 305),
        (89, 310),
        (90, 320),
        (91, 330),
        (96, 350),
        (97, 355),
        (98, 360),
        (99, 370),
        (100, 380),
    ];
    const LATE: [(u64, u64); 4] = [(92, 390), (93, 392), (94, 394), (95, 395)];

    fn stamps(of: &[(u64, u64)]) -> Vec<Stamp> {
        of.iter().map(|&(number, micros)| Stamp { micros, number }).collect()
    }

    fn encoded(of: &[Stamp], largest: u64, format: StampFormat) -> Vec<u8> {
        let mut list = StampsToSend::default();
        list.fill(of.iter().copied(), largest, format, 4096);
        let mut buf = [0; 4096];
        let mut w = Writer::new(&mut buf);
        list.encode(&mut w);
        assert_eq!(w.position(), list.size());
        w.written().to_vec()
    }

    fn decoded(bytes: &[u8], largest: u64, format: StampFormat) -> Result<Vec<Stamp>, Error> {
        let mut r = Reader::new(bytes);
        let stamps = Stamps::read(&mut r, FrameType::ACK_RECEIVE_TIMESTAMPS, largest, format)?;
        assert!(r.is_empty());
        Ok(stamps.iter().collect())
    }

    const PLAIN: StampFormat = StampFormat { max: 100, exponent: 0 };

    #[test]
    fn table_1_of_the_draft() {
        let bytes = [2, 0, 5, 0x41, 0x7c, 10, 10, 5, 5, 9, 5, 20, 10, 10, 5, 5];
        assert_eq!(encoded(&stamps(&IN_ORDER), 100, PLAIN), bytes);
        let mut latest_first = stamps(&IN_ORDER);
        latest_first.reverse();
        assert_eq!(decoded(&bytes, 100, PLAIN), Ok(latest_first));
    }

    #[test]
    fn table_2_of_the_draft_out_of_order() {
        let bytes = [3, 5, 4, 0x41, 0x8b, 1, 2, 2, 0, 5, 10, 10, 10, 5, 5, 9, 5, 20, 10, 10, 5, 5];
        let all = [stamps(&IN_ORDER), stamps(&LATE)].concat();
        assert_eq!(encoded(&all, 100, PLAIN), bytes);
        assert_eq!(decoded(&bytes, 100, PLAIN).unwrap().len(), 14);
    }

    #[test]
    fn the_largest_acknowledged_without_a_time() {
        let some = [(978, 100), (979, 110), (989, 200), (996, 300), (997, 350), (998, 400)];
        let bytes = [3, 2, 3, 0x41, 0x90, 50, 50, 11, 1, 0x40, 100, 21, 2, 0x40, 90, 10];
        assert_eq!(encoded(&stamps(&some), 1000, PLAIN), bytes);
        // The latest one if the peer requests fewer.
        assert_eq!(encoded(&stamps(&some), 1000, StampFormat { max: 1, exponent: 0 }), [1, 2, 1, 0x41, 0x90]);
        assert_eq!(encoded(&[], 1000, PLAIN), [0]);
    }

    #[test]
    fn what_a_hostile_peer_may_write() {
        let two = StampFormat { max: 2, exponent: 20 };
        let refused = |bytes: &[u8]| decoded(bytes, 5, two).unwrap_err().reason;
        assert_eq!(refused(&[1, 0, 3, 9, 1, 1]), "more receive times than requested");
        assert_eq!(refused(&[1, 6, 1, 9]), "receive times of negative packet numbers");
        assert_eq!(refused(&[1, 5, 2, 9, 1]), "receive times of negative packet numbers");
        assert_eq!(refused(&[1, 0, 2, 9, 10]), "receive times before their basis");
        assert_eq!(refused(&[2, 0, 1, 9]), "receive times are truncated");
        assert_eq!(refused(&[0xc0, 0, 0, 0, 0, 0, 0, 1]), "receive times are truncated");
        let far = [1, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(refused(&far), "receive times beyond 2^64 us");
        // Ranges without timestamps carry no information, but are valid.
        assert_eq!(decoded(&[2, 0, 0, 7, 0], 5, two), Ok(vec![]));
        assert!(decoded(&[1, 0, 1, 9], 5, StampFormat::default()).is_err());
    }

    proptest! {
        /// The error of every time is below one unit, however many there are. Packet numbers are
        /// exact.
        #[test]
        fn round_trip(
            gaps in proptest::collection::vec((0_u64..5_000, 1_u64..4), 1..80),
            late in proptest::collection::vec(0_usize..80, 0..20),
            exponent in 0_u8..=20, max in 1_u64..100, budget in 3_usize..400,
        ) {
            let (mut micros, mut number, mut all) = (0, 0, Vec::new());
            for (gap, step) in gaps {
                (micros, number) = (micros + gap, number + step);
                all.push(Stamp { micros, number });
            }
            // Some arrive late.
            for at in late {
                let at = at % all.len();
                micros += 7;
                all[at].micros = micros;
            }
            let format = StampFormat { max, exponent };
            let mut list = StampsToSend::default();
            let taken = list.fill(all.iter().copied(), number, format, budget);
            prop_assert!(list.size() <= budget && taken as u64 <= max);
            let mut buf = [0; 512];
            let mut w = Writer::new(&mut buf);
            list.encode(&mut w);
            prop_assert_eq!(w.position(), list.size());
            let back = decoded(w.written(), number, format).unwrap();
            prop_assert_eq!(back.len(), taken);
            prop_assert!(back.windows(2).all(|pair| pair[0].micros >= pair[1].micros));
            for stamp in back {
                let sent = all.iter().find(|sent| sent.number == stamp.number).unwrap();
                prop_assert!(sent.micros - stamp.micros < 1 << exponent);
            }
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), largest in 0..1_u64 << 62) {
            let format = StampFormat { max: 9, exponent: 20 };
            let read = Stamps::read(&mut Reader::new(&bytes), FrameType::ACK_RECEIVE_TIMESTAMPS, largest, format);
            prop_assert!(read.map_or(0, |stamps| stamps.iter().count()) <= 9);
        }
    }
}
