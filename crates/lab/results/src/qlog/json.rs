//! Writes JSON as text without a tree or a serialiser. A log has about four records per packet, and
//! they are most of the work of a run with `--qlog`.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use units::Duration;

/// Nanoseconds per millisecond: six decimals.
const MS: u64 = 1_000_000;
/// Smallest number with nine digits.
const EIGHT: u64 = 100_000_000;
/// Eight digits `0`.
const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
/// Bytes reserved for a real number. No number is as long.
const REAL: usize = 32;

/// Text in a buffer whose bytes are all initialised. Bytes after the text are free, so pieces with
/// a length known at compile time are stored without a call.
#[derive(Default)]
pub(super) struct Json {
    bytes: Vec<u8>,
    /// End of the text.
    at: usize,
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json of {} bytes", self.at)
    }
}

/// For writers of slices.
impl Write for Json {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Json {
    pub(super) fn len(&self) -> usize {
        self.at
    }

    /// Returns the text.
    pub(super) fn written(&self) -> &[u8] {
        &self.bytes[..self.at]
    }

    /// Takes the text and leaves the buffer empty.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.truncate(std::mem::take(&mut self.at));
        bytes
    }

    pub(super) fn clear(&mut self) {
        self.at = 0;
    }

    /// Makes the buffer at least this long. It may move.
    pub(super) fn widen(&mut self, length: usize) {
        if self.bytes.len() < length {
            // New zeroed memory is not allocated until it is written.
            let mut bytes = vec![0; length];
            bytes[..self.at].copy_from_slice(self.written());
            self.bytes = bytes;
        }
    }

    /// Moves the text from byte `from` to byte `to`. Earlier bytes are no longer part of the text.
    pub(super) fn shift(&mut self, from: usize, to: usize) {
        let rest = self.at - from;
        self.widen(to + rest);
        self.bytes.copy_within(from..self.at, to);
        self.at = to + rest;
    }

    /// Replaces a byte.
    pub(super) fn patch(&mut self, at: usize, byte: u8) {
        self.bytes[at] = byte;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) {
        self.widen((2 * self.bytes.len()).max(self.at + more).max(1 << 10));
    }

    /// Returns free bytes of known length, as an array. A slice would be copied by a call, which
    /// takes longer than the copy.
    #[inline(always)]
    fn reserve<const N: usize>(&mut self) -> &mut [u8; N] {
        if self.bytes.len().checked_sub(self.at).is_none_or(|left| left < N) {
            return self.grow_and_reserve();
        }
        self.bytes[self.at..].first_chunk_mut().expect("as much is left")
    }

    #[cold]
    #[inline(never)]
    fn grow_and_reserve<const N: usize>(&mut self) -> &mut [u8; N] {
        self.grow(N);
        self.bytes[self.at..].first_chunk_mut().expect("it has grown")
    }

    /// Appends text of known length.
    #[inline(always)]
    pub(super) fn put<const N: usize>(&mut self, text: &[u8; N]) {
        *self.reserve() = *text;
        self.at += N;
    }

    /// Appends text of any length.
    pub(super) fn text(&mut self, text: &[u8]) {
        if self.bytes.len() - self.at < text.len() {
            self.grow(text.len());
        }
        self.bytes[self.at..][..text.len()].copy_from_slice(text);
        self.at += text.len();
    }

    /// Appends text of known length.
    #[inline]
    pub(super) fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Short { text, length } => {
                *self.reserve() = *text;
                self.at += usize::from(*length);
            }
            Piece::Long(text) => self.text(text),
        }
    }

    /// Appends a copy of existing text.
    #[inline]
    pub(super) fn repeat(&mut self, text: Range<usize>) {
        let length = text.len();
        // Mostly it is short. Then it is copied with the bytes after it, which are already written.
        match self.bytes[text.start..].first_chunk::<SHORT>() {
            Some(whole) if length <= SHORT => {
                let whole = *whole;
                *self.reserve() = whole;
                self.at += length;
            }
            _ => {
                let text = self.bytes[text].to_vec();
                self.text(&text);
            }
        }
    }

    /// Appends a whole number.
    #[inline]
    pub(super) fn whole(&mut self, number: u64) {
        if number < EIGHT { self.leading(number) } else { self.long(number) }
    }

    /// Appends a number of nine or more digits.
    #[inline(never)]
    fn long(&mut self, number: u64) {
        if number < EIGHT * EIGHT {
            self.leading(number / EIGHT);
        } else {
            self.leading(number / (EIGHT * EIGHT));
            self.eight(number / EIGHT % EIGHT);
        }
        self.eight(number % EIGHT);
    }

    /// Appends a number below [`EIGHT`] without leading zeros.
    #[inline]
    fn leading(&mut self, number: u64) {
        let digits = digits(number);
        // The last digit stays even if it is zero.
        let zeros = (digits | 1 << 56).trailing_zeros() / 8;
        *self.reserve() = ((digits | ZEROS) >> (8 * zeros)).to_le_bytes();
        self.at += 8 - zeros as usize;
    }

    /// Appends eight digits with leading zeros.
    #[inline]
    fn eight(&mut self, number: u64) {
        *self.reserve() = (digits(number) | ZEROS).to_le_bytes();
        self.at += 8;
    }

    /// Appends milliseconds with nanosecond precision and at least one decimal, so that any
    /// language reads a real number.
    #[inline]
    pub(super) fn ms(&mut self, duration: Duration) {
        // Most ACK delays are zero.
        if duration == Duration::ZERO {
            return self.put(b"0.0");
        }
        self.whole(duration.0 / MS);
        // Two zeros and the decimals.
        let digits = digits(duration.0 % MS);
        // The first decimal stays even if it is zero.
        let zeros = (digits | 1 << 16).leading_zeros() / 8;
        let text = ((digits | ZEROS) >> 8).to_le_bytes();
        *self.reserve() = [b'.', text[1], text[2], text[3], text[4], text[5], text[6]];
        self.at += 7 - zeros as usize;
    }

    /// Appends a finite number with as few digits as identify it.
    pub(super) fn real(&mut self, number: f64) {
        let mut room = &mut self.reserve::<REAL>()[..];
        // The space is enough for any number, so this cannot fail.
        let _ = serde_json::to_writer(&mut room, &number);
        let left = room.len();
        self.at += REAL - left;
    }

    /// Appends a string in quotes.
    pub(super) fn string(&mut self, text: &str) {
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(self, text);
    }
}

/// Returns the digits of a number below [`EIGHT`], one per byte, the first in the lowest byte. It
/// computes all digits at once: two groups of four, four of two, eight digits. Division by 100 and
/// 10 is a multiplication that is exact below 10 000 and 100.
#[inline]
fn digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - tens * 10) << 8)
}

/// Text that is written repeatedly.
#[derive(Debug)]
pub(super) enum Piece {
    /// Short text, copied together with the unused bytes after it.
    Short {
        text: [u8; SHORT],
        length: u8,
    },
    Long(Vec<u8>),
}

impl Piece {
    pub(super) fn new(text: &[u8]) -> Self {
        let mut short = [0; SHORT];
        match short.get_mut(..text.len()) {
            Some(begin) => {
                begin.copy_from_slice(text);
                Self::Short { text: short, length: text.len() as u8 }
            }
            None => Self::Long(text.to_vec()),
        }
    }
}

/// Length above most names of metrics and all times.
const SHORT: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Json)) -> String {
        let mut json = Json::default();
        write(&mut json);
        String::from_utf8(json.take()).unwrap()
    }

    /// Numbers of every length with their neighbours, and pseudorandom ones.
    fn numbers() -> impl Iterator<Item = u64> {
        let powers = (0..20).map(|digits| 10_u64.pow(digits));
        let edges = powers.flat_map(|power| [power - 1, power, power + 1, power.saturating_mul(5)]);
        let mut state = 1_u64;
        let random = (0..20_000).map(move |i: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> (i % 64)
        });
        edges.chain([0, u64::MAX - 1, u64::MAX]).chain(random)
    }

    #[test]
    fn whole_numbers_as_everybody_writes_them() {
        for number in numbers() {
            assert_eq!(written(|json| json.whole(number)), format!("{number}"));
        }
    }

    /// Milliseconds are exact to the nanosecond, and readers parse the nearest float.
    #[test]
    fn milliseconds_are_exact() {
        for number in numbers() {
            let text = written(|json| json.ms(Duration(number)));
            let (whole, decimals) = text.split_once('.').unwrap();
            assert_eq!(format!("{whole}{decimals:0<6}").parse::<u64>().unwrap(), number, "{text}");
            assert!(decimals == "0" || !decimals.ends_with('0'), "{text}");
            if number < 1 << 53 {
                assert_eq!(text.parse::<f64>().unwrap(), number as f64 / 1e6, "{text}");
            }
        }
    }

    /// Pieces follow each other whatever the buffer contains.
    #[test]
    fn pieces_follow_each_other() {
        let mut expected = String::new();
        let text = written(|json| {
            for number in numbers().take(3000) {
                json.whole(number);
                json.put(b", ");
                json.ms(Duration(number));
                json.put(b" ms\n");
                if number % 7 == 0 {
                    json.text(b"a word");
                }
                expected += &format!("{number}, {}.{:0>6}", number / MS, number % MS);
                while expected.ends_with("0") && !expected.ends_with(".0") {
                    expected.pop();
                }
                expected += " ms\n";
                expected += if number % 7 == 0 { "a word" } else { "" };
            }
        });
        assert!(text == expected);
    }

    /// Copies equal the original, short or long.
    #[test]
    fn what_is_written_again_is_the_same() {
        for length in [0, 1, 31, 32, 33, 100, 5000] {
            let text = written(|json| {
                json.text(b"before");
                json.text(&vec![b'x'; length]);
                let whole = json.len() - length..json.len();
                let piece = Piece::new(&json.written()[whole.clone()]);
                json.piece(&piece);
                json.repeat(whole.clone());
                json.repeat(whole);
            });
            assert_eq!(text, "before".to_owned() + &"x".repeat(4 * length));
        }
    }

    #[test]
    fn the_rest_moves() {
        let text = written(|json| {
            json.text(b"0123456789");
            json.shift(7, 5000);
            assert_eq!(&json.written()[5000..], b"789");
            json.shift(5001, 1);
            json.text(b"a");
            json.patch(0, b'b');
        });
        assert_eq!(text, "b89a");
    }

    #[test]
    fn reals_and_words() {
        assert_eq!(written(|json| json.real(0.1 + 0.2)), "0.30000000000000004");
        assert_eq!(written(|json| json.real(-2.0)), "-2.0");
        assert_eq!(written(|json| json.string("a \"b\"\n")), r#""a \"b\"\n""#);
    }
}
