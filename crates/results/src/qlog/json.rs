//! JSON as text, without a tree or a serialiser between: a log is some four records for each packet, and they are most of what a run
//! with `--qlog` does.

use std::fmt;

use units::Duration;

/// The numbers from 00 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut i = 0;
    while i < 100 {
        pairs[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    pairs
};
/// Digits of the greatest `u64`.
const LONGEST: usize = 20;
/// Nanoseconds of a millisecond: six decimals.
const MS: u64 = 1_000_000;

/// Bytes of a record, mostly less.
const LINE: usize = 512;

/// Text that grows, by way of a short one of a fixed length: pieces whose length the compiler knows are copied there without a call.
pub(super) struct Json {
    bytes: Vec<u8>,
    line: [u8; LINE],
    /// How much of it is written.
    at: usize,
}

impl Default for Json {
    fn default() -> Self {
        Self { bytes: Vec::new(), line: [0; LINE], at: 0 }
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json of {} bytes", self.bytes.len() + self.at)
    }
}

impl Json {
    /// All there is.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        self.spill();
        &mut self.bytes
    }

    fn spill(&mut self) {
        self.bytes.extend_from_slice(&self.line[..self.at]);
        self.at = 0;
    }

    /// Room of a length that is known, and as an array: a slice would be copied by a call, which takes longer than the bytes.
    #[inline(always)]
    fn room<const N: usize>(&mut self) -> &mut [u8; N] {
        const { assert!(N <= LINE) };
        if self.at > LINE - N {
            self.spill();
        }
        self.line[self.at..].first_chunk_mut().expect("a line has room for a piece once it is empty")
    }

    /// As it is.
    #[inline(always)]
    pub(super) fn put<const N: usize>(&mut self, text: &[u8; N]) {
        *self.room() = *text;
        self.at += N;
    }

    /// As it is, of a length that is not known.
    pub(super) fn text(&mut self, text: &str) {
        match self.line.get_mut(self.at..self.at + text.len()) {
            Some(room) => {
                room.copy_from_slice(text.as_bytes());
                self.at += text.len();
            }
            None => self.bytes().extend_from_slice(text.as_bytes()),
        }
    }

    /// A whole number.
    #[inline]
    pub(super) fn whole(&mut self, mut number: u64) {
        let length = number.max(1).ilog10() as usize + 1;
        let room = self.room::<LONGEST>();
        let mut at = length;
        while number >= 10 {
            at -= 2;
            [room[at], room[at + 1]] = PAIRS[(number % 100) as usize];
            number /= 100;
        }
        if at > 0 {
            room[0] = b'0' + number as u8;
        }
        self.at += length;
    }

    /// Milliseconds to the nanosecond, with one decimal at least: a number that is a real one in any language.
    #[inline]
    pub(super) fn ms(&mut self, duration: Duration) {
        self.whole(duration.0 / MS);
        let mut fraction = (duration.0 % MS) as usize;
        let room = self.room::<7>();
        room[0] = b'.';
        for place in [5, 3, 1] {
            [room[place], room[place + 1]] = PAIRS[fraction % 100];
            fraction /= 100;
        }
        let mut length = room.len();
        while length > 2 && room[length - 1] == b'0' {
            length -= 1;
        }
        self.at += length;
    }

    /// A number that is finite, in as few digits as say which it is.
    pub(super) fn real(&mut self, number: f64) {
        // A vector refuses nothing.
        let _ = serde_json::to_writer(self.bytes(), &number);
    }

    /// A name or a word, in quotes.
    pub(super) fn string(&mut self, text: &str) {
        let _ = serde_json::to_writer(self.bytes(), text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Json)) -> String {
        let mut json = Json::default();
        write(&mut json);
        String::from_utf8(std::mem::take(json.bytes())).unwrap()
    }

    /// Numbers of every length, with their neighbours, and some without a pattern.
    fn numbers() -> impl Iterator<Item = u64> {
        let powers = (0..LONGEST as u32).map(|digits| 10_u64.pow(digits));
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

    /// To the nanosecond; and the float that a reader makes of it is the one nearest to it.
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

    /// Whatever stands before, and whatever is left of the line.
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
                    json.text("a word");
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

    #[test]
    fn reals_and_words() {
        assert_eq!(written(|json| json.real(0.1 + 0.2)), "0.30000000000000004");
        assert_eq!(written(|json| json.real(-2.0)), "-2.0");
        assert_eq!(written(|json| json.string("a \"b\"\n")), r#""a \"b\"\n""#);
    }
}
