//! Which bytes of a file are asked for (RFC 9110 section 14).

use std::ops::Range;

/// What is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// All: nothing was asked for, or something that may be ignored (section 14.2): another unit,
    /// several ranges, no range at all.
    Whole,
    /// These bytes: 206.
    Part(Range<u64>),
    /// None of the bytes that there are: 416.
    Unsatisfiable,
}

/// Reads the field `Range` for a file of `len` bytes: `bytes=a-b`, `bytes=a-`, `bytes=-n`.
pub fn read(field: Option<&str>, len: u64) -> Asked {
    field.and_then(|field| one(field, len)).unwrap_or(Asked::Whole)
}

/// Whether a client may ask so: for one range of bytes, which a server that knows ranges does not
/// ignore.
///
/// # Errors
/// A sentence that shows right ones.
pub fn check(field: &str) -> Result<(), String> {
    let plain = field.starts_with("bytes=") && !field.contains(char::is_whitespace);
    match one(field, 0) {
        Some(_) if plain => Ok(()),
        _ => Err(
            "one range is asked for as bytes=0-999 (the first thousand), bytes=1000- (all after them) or \
                  bytes=-1000 (the last thousand)"
                .to_owned(),
        ),
    }
}

/// None for what is to be ignored.
fn one(field: &str, len: u64) -> Option<Asked> {
    let (unit, range) = field.split_once('=')?;
    let (first, last) = range.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let number = |digits: &str| -> Option<u64> {
        let digits_alone = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        // Beyond all files is beyond this one.
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
    Some(if part.start < part.end { Asked::Part(part) } else { Asked::Unsatisfiable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        use Asked::{Part, Unsatisfiable, Whole};
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
            assert_eq!(read(Some(field), 10), asked, "{field}");
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
        assert_eq!(read(None, 10), Whole);
        assert_eq!(read(Some("bytes=0-"), 0), Unsatisfiable);
        assert_eq!(read(Some("bytes=-5"), 0), Unsatisfiable);
    }
}
