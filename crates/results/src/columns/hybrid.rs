//! Small numbers as Parquet has them in definition levels and in places of a dictionary: runs of one number, and groups of eight of as
//! many bits as the greatest needs.

/// Numbers of a group that is written bit by bit.
const GROUP: usize = 8;

/// Numbers on their way.
pub(super) struct Hybrid {
    out: Vec<u8>,
    /// Bits of each number.
    width: u32,
    /// What is not a run; whole groups but for the last.
    loose: Vec<u32>,
}

/// Bits that these many different numbers from 0 need.
pub(super) fn width(different: usize) -> u32 {
    usize::BITS - different.saturating_sub(1).leading_zeros()
}

impl Hybrid {
    /// Behind what is there already, of so many bits each.
    pub(super) fn begin(out: Vec<u8>, width: u32) -> Self {
        Self { out, width, loose: Vec::new() }
    }

    /// Adds a number so often.
    pub(super) fn add(&mut self, number: u32, times: u32) {
        // A run begins where a group ends.
        let room = (GROUP - self.loose.len() % GROUP) % GROUP;
        let here = if times as usize >= room + GROUP { room } else { times as usize };
        self.loose.extend(std::iter::repeat_n(number, here));
        let rest = times - here as u32;
        if rest > 0 {
            self.pack();
            self.varint(rest << 1);
            let bytes = number.to_le_bytes();
            self.out.extend_from_slice(&bytes[..self.width.div_ceil(8) as usize]);
        }
    }

    /// All that was added.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.pack();
        self.out
    }

    /// Writes what waits, the last group filled up.
    fn pack(&mut self) {
        if self.loose.is_empty() {
            return;
        }
        self.loose.resize(self.loose.len().next_multiple_of(GROUP), 0);
        self.varint((self.loose.len() / GROUP) as u32 * 2 + 1);
        let (mut bits, mut count) = (0_u64, 0);
        for number in self.loose.drain(..) {
            bits |= u64::from(number) << count;
            count += self.width;
            while count >= 8 {
                self.out.push(bits as u8);
                bits >>= 8;
                count -= 8;
            }
        }
    }

    fn varint(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.out.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.out.push(number as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(width: u32, numbers: &[(u32, u32)]) -> Vec<u8> {
        let mut hybrid = Hybrid::begin(Vec::new(), width);
        numbers.iter().for_each(|(number, times)| hybrid.add(*number, *times));
        hybrid.finish()
    }

    /// The examples of Parquet's Encodings.md: the numbers 0 to 7 in three bits, and a run.
    #[test]
    fn as_the_format_says() {
        let each: Vec<(u32, u32)> = (0..8).map(|number| (number, 1)).collect();
        assert_eq!(encoded(3, &each), [3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        assert_eq!(encoded(3, &[(4, 100)]), [200, 1, 4]);
        assert_eq!(encoded(10, &[(4, 100)]), [200, 1, 4, 0]);
        // Two that fill a group with what follows, of which a run is left.
        assert_eq!(encoded(1, &[(0, 2), (1, 20)]), [3, 0b1111_1100, 28, 1]);
        assert_eq!(encoded(1, &[(1, 3)]), [3, 0b111]);
        assert_eq!([0, 1, 2, 3, 256, 257].map(width), [0, 0, 1, 2, 8, 9]);
    }
}
