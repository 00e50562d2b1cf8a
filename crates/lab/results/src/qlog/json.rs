//! Writes JSON as text without a tree or a serialiser. A log has about four records per packet, and
//! they are most of the work of a run with `--qlog`.

use std::io::{self, Write};
use std::ops::Range;

use serde::Serialize;
use units::Duration;

/// Nanoseconds per millisecond: six decimals.
const MS: u64 = 1_000_000;

/// Text in a buffer.
#[derive(Debug, Default)]
pub(super) struct Json {
    bytes: Vec<u8>,
}

/// For writers of slices.
impl Write for Json {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Json {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the text.
    pub(super) fn written(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes the text and leaves the buffer empty.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Makes room for a text of this length. The text may move.
    pub(super) fn widen(&mut self, length: usize) {
        self.bytes.reserve(length.saturating_sub(self.len()));
    }

    /// Moves the text from byte `from` to byte `to`. Earlier bytes are no longer part of the text.
    pub(super) fn shift(&mut self, from: usize, to: usize) {
        let (length, end) = (self.len(), to + self.len() - from);
        self.bytes.resize(length.max(end), 0);
        self.bytes.copy_within(from..length, to);
        self.bytes.truncate(end);
    }

    /// Replaces a byte.
    pub(super) fn patch(&mut self, at: usize, byte: u8) {
        self.bytes[at] = byte;
    }

    /// Appends text. A literal is stored without a call.
    #[inline(always)]
    pub(super) fn put(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
    }

    /// Appends a copy of existing text.
    pub(super) fn repeat(&mut self, text: Range<usize>) {
        self.bytes.extend_from_within(text);
    }

    /// Appends a whole number.
    #[inline]
    pub(super) fn whole(&mut self, number: u64) {
        self.put(itoa::Buffer::new().format(number).as_bytes());
    }

    /// Appends milliseconds with nanosecond precision and at least one decimal, so that any
    /// language reads a real number.
    pub(super) fn ms(&mut self, duration: Duration) {
        // Most ACK delays are zero.
        if duration == Duration::ZERO {
            return self.put(b"0.0");
        }
        self.whole(duration.0 / MS);
        self.put(b".");
        let mut digits = itoa::Buffer::new();
        // The leading one keeps the zeros after it.
        let decimals = &digits.format(MS + duration.0 % MS).as_bytes()[1..];
        let zeros = decimals[1..].iter().rev().take_while(|digit| **digit == b'0').count();
        self.put(&decimals[..decimals.len() - zeros]);
    }

    /// Appends a finite number with as few digits as identify it.
    pub(super) fn real(&mut self, number: f64) {
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut self.bytes, &number);
    }

    /// Appends a string in quotes.
    pub(super) fn string(&mut self, text: &str) {
        self.value(text);
    }

    /// Appends any value without floating-point numbers that are not finite.
    pub(super) fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut self.bytes, value);
    }
}

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
                    json.put(b"a word");
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
                json.put(b"before");
                json.put(&vec![b'x'; length]);
                let whole = json.len() - length..json.len();
                json.repeat(whole.clone());
                json.repeat(whole);
            });
            assert_eq!(text, "before".to_owned() + &"x".repeat(3 * length));
        }
    }

    #[test]
    fn the_rest_moves() {
        let text = written(|json| {
            json.put(b"0123456789");
            json.shift(7, 5000);
            assert_eq!(&json.written()[5000..], b"789");
            json.shift(5001, 1);
            json.put(b"a");
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
