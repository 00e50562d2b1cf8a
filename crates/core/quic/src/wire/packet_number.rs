//! Truncated packet numbers (RFC 9000 section 17.1 and appendix A).

/// Returns the number of bytes, 1 to 4, from which the peer can reconstruct a packet number (RFC
/// 9000 appendix A.2).
///
/// `largest_acked` is the largest number of this space that the peer has acknowledged. Four bytes
/// distinguish 2^31 numbers, more than any sender has in flight.
pub fn length(number: u64, largest_acked: Option<u64>) -> usize {
    let unacked = largest_acked.map_or(number + 1, |acked| number.saturating_sub(acked));
    // The encoding must cover more than twice the distance.
    match unacked {
        0..0x80 => 1,
        0x80..0x8000 => 2,
        0x8000..0x80_0000 => 3,
        _ => 4,
    }
}

/// Returns the lowest four bytes of a number in network byte order. A truncated number of `length`
/// bytes is the tail of this array.
pub fn truncated(number: u64) -> [u8; 4] {
    (number as u32).to_be_bytes()
}

/// Reconstructs a packet number: the one closest to the next expected number with these lowest
/// `length` bytes (RFC 9000 appendix A.3).
///
/// `largest` is the largest number received in this space. The result never exceeds 2^62 - 1.
pub fn decode(truncated: u32, length: usize, largest: Option<u64>) -> u64 {
    let expected = largest.map_or(0, |largest| (largest + 1).min(super::varint::MAX));
    let window = 1_u64 << (8 * length.clamp(1, 4));
    let half = window / 2;
    let candidate = (expected & !(window - 1)) | (u64::from(truncated) & (window - 1));
    if candidate + half <= expected && candidate < (1 << 62) - window {
        return candidate + window;
    }
    if candidate > expected + half && candidate >= window {
        return candidate - window;
    }
    candidate
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn vectors_of_the_rfc() {
        // A.2: 0xabe8b3 is acknowledged. 0xac5c02 takes 16 bits; 0xace8fe takes 18, and so three
        // bytes.
        assert_eq!(length(0xac5c02, Some(0xabe8b3)), 2);
        assert_eq!(length(0xace8fe, Some(0xabe8b3)), 3);
        assert_eq!(truncated(0xac5c02)[2..], [0x5c, 0x02]);
        // A.3.
        assert_eq!(decode(0x9b32, 2, Some(0xa82f_30ea)), 0xa82f_9b32);
    }

    #[test]
    fn the_first_number_and_the_last() {
        assert_eq!(length(0, None), 1);
        assert_eq!(decode(0, 1, None), 0);
        assert_eq!(decode(0xff, 1, None), 0xff);
        assert!(decode(0, 4, Some((1 << 62) - 1)) < 1 << 62);
    }

    proptest! {
        /// Numbers are reconstructed between the largest acknowledged one and the same distance
        /// beyond.
        #[test]
        fn round_trip(number in 0..1_u64 << 40, back in 1..1_u64 << 31, ahead in 0.0..=1.0_f64) {
            let acked = number.checked_sub(back);
            let length = length(number, acked);
            let bytes = truncated(number);
            let value = bytes[4 - length..].iter().fold(0, |all, byte| all << 8 | u32::from(*byte));
            // The receiver has at least what it acknowledged, and at most everything before this
            // packet.
            let first = acked.unwrap_or(0);
            let largest = first + ((number - first) as f64 * ahead) as u64;
            let received = (acked.is_some() || largest > 0).then(|| largest.min(number.saturating_sub(1)).max(first));
            prop_assert_eq!(decode(value, length, received), number);
        }

        #[test]
        fn never_beyond_the_largest(truncated: u32, length in 1_usize..=4, largest in 0..1_u64 << 62) {
            prop_assert!(decode(truncated, length, Some(largest)) < 1 << 62);
        }
    }
}
