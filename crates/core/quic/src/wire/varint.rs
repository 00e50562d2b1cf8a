//! Variable-length integers (RFC 9000 section 16).

/// Largest variable-length integer: 2^62 - 1.
pub const MAX: u64 = (1 << 62) - 1;

/// Returns the length of the shortest encoding: 1, 2, 4 or 8 bytes.
///
/// # Panics
/// On values above [`MAX`], which cannot be encoded. Callers must check values from applications.
pub const fn size(value: u64) -> usize {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => {
            assert!(value <= MAX, "value exceeds the largest variable-length integer");
            8
        }
    }
}

/// Returns the encoding in `size` bytes (1, 2, 4 or 8), at the start of the array.
///
/// # Panics
/// If the value does not fit.
pub const fn encoded(value: u64, size: usize) -> [u8; 8] {
    let prefix = size.trailing_zeros() as u64;
    assert!(
        size <= 8 && size.is_power_of_two() && value < 1 << (8 * size as u32 - 2),
        "value does not fit into the encoded size"
    );
    let bits = 8 * size as u32;
    ((value | prefix << (bits - 2)) << (64 - bits)).to_be_bytes()
}

/// Returns the value at the start of `bytes` and its length. Returns `None` if the input is
/// truncated.
pub fn decode(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    Some(match first >> 6 {
        0 => (u64::from(first), 1),
        1 => (u64::from(u16::from_be_bytes(*bytes.first_chunk()?)) & 0x3fff, 2),
        2 => (u64::from(u32::from_be_bytes(*bytes.first_chunk()?)) & 0x3fff_ffff, 4),
        _ => (u64::from_be_bytes(*bytes.first_chunk()?) & MAX, 8),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 appendix A.1.
    const VECTORS: [(&[u8], u64); 5] = [
        (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
        (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
        (&[0x7b, 0xbd], 15_293),
        (&[0x25], 37),
        (&[0x40, 0x25], 37),
    ];

    #[test]
    fn vectors_of_the_rfc() {
        for (bytes, value) in VECTORS {
            assert_eq!(decode(bytes), Some((value, bytes.len())));
            assert_eq!(&encoded(value, bytes.len())[..bytes.len()], bytes);
            assert!(size(value) <= bytes.len());
            assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn the_shortest_encoding() {
        for (value, bytes) in
            [(63, 1), (64, 2), (16_383, 2), (16_384, 4), ((1 << 30) - 1, 4), (1 << 30, 8), (MAX, 8)]
        {
            assert_eq!(size(value), bytes);
            assert_eq!(decode(&encoded(value, bytes)), Some((value, bytes)));
        }
    }
}
