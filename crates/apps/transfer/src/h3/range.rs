//! Parses the `Range` field (RFC 9110 section 14).

use std::ops::Range;

/// Part of a file to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// The whole file. There is no range, or one that may be ignored (section 14.2): an invalid
    /// range, another unit, or several ranges.
    Whole,
    /// These bytes, with status 206.
    Part(Range<u64>),
    /// No byte of the file, with status 416.
    Unsatisfiable,
}

/// Parses the `Range` field for a file of `len` bytes: `bytes=a-b`, `bytes=a-` or `bytes=-n`.
pub fn parse(field: Option<&str>, len: u64) -> ByteRange {
    field.and_then(|field| parse_range(field, len)).unwrap_or(ByteRange::Whole)
}

/// Checks that a field is a single byte range. A server that supports ranges does not ignore it.
///
/// # Errors
/// A message with valid examples.
pub fn check(field: &str) -> Result<(), String> {
    let plain = field.starts_with("bytes=") && !field.contains(char::is_whitespace);
    match parse_range(field, 0) {
        Some(_) if plain => Ok(()),
        _ => Err(
            "the range must be like bytes=0-999 (the first 1000 bytes), bytes=1000- (all bytes after them) or \
                  bytes=-1000 (the last 1000 bytes)"
                .to_owned(),
        ),
    }
}

/// Parses a single range. Returns `None` for a field to ignore.
fn parse_range(field: &str, len: u64) -> Option<ByteRange> {
    let (unit, range) = field.split_once('=')?;
    let (first, last) = range.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let number = |digits: &str| -> Option<u64> {
        let digits_alone = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        // A number that is too large lies beyond every file.
        digits_alone.then(|| digits.parse().unwrap_or(u64::MAX))
    };
    let part = match (first, last) {
        ("", last) => len.saturating_sub(number(last)?)..len,
        (first, "") => number(first)?..len,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(len)
        }
    };
    Some(if part.start < part.end { ByteRange::Part(part) } else { ByteRange::Unsatisfiable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        use ByteRange::{Part, Unsatisfiable, Whole};
        for (field, asked) in [
            ("bytes=0-0", Part(0..1)),
            ("bytes=2-4", Part(2..5)),
            ("bytes=2-400", Part(2..10)),
            ("bytes=9-", Part(9..10)),
            ("bytes=-3", Part(7..10)),
            ("bytes=-30", Part(0..10)),
            ("Bytes=0-18446744073709551616", Part(0..10)),
            ("bytes=10-", Unsatisfiable),
            ("bytes=10-20", Unsatisfiable),
            ("bytes=-0", Unsatisfiable),
            ("bytes=4-2", Whole),
            ("bytes=0-1,3-4", Whole),
            ("bytes=", Whole),
            ("bytes=-", Whole),
            ("bytes=+1-2", Whole),
            ("lines=1-2", Whole),
            ("", Whole),
        ] {
            assert_eq!(parse(Some(field), 10), asked, "{field}");
        }
        for right in ["bytes=0-0", "bytes=2-4", "bytes=9-", "bytes=-3", "bytes=0-18446744073709551616"] {
            assert_eq!(check(right), Ok(()), "{right}");
        }
        for wrong in [
            "0-5",
            "bytes=5-2",
            "bytes=0-1,5-6",
            "items=0-1",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "bytes= 0-1",
            "bytes=0-1\n",
            "",
        ] {
            assert!(check(wrong).unwrap_err().contains("bytes=0-999"), "{wrong}");
        }
        assert_eq!(parse(None, 10), Whole);
        assert_eq!(parse(Some("bytes=0-"), 0), Unsatisfiable);
        assert_eq!(parse(Some("bytes=-5"), 0), Unsatisfiable);
    }
}
