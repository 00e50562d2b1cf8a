//! Arguments that several commands have: their parsers, and messages that name them.

use std::fmt::Display;
use std::str::FromStr;

/// Largest number of repetitions, as in experiment files.
const MAX_REPETITIONS: u32 = 10_000;

/// Parses `--repeat`.
pub(super) fn repetitions(text: &str) -> Result<u32, String> {
    integer(1, MAX_REPETITIONS)(text)
}

/// Makes a parser of integers between these two.
pub(super) fn integer<T>(least: T, most: T) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("must be an integer between {least} and {most}"))
    }
}

/// Parses `--seed`.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "write an integer of at least 0".to_owned())
}

/// Parses the `--tries` of a benchmark.
pub(super) fn tries(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "write a number of at least 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(
            (repetitions("1"), repetitions("10000"), seed("0"), tries("1")),
            (Ok(1), Ok(10_000), Ok(0), Ok(1))
        );
        for wrong in ["0", "-1", "10001", "x", ""] {
            assert_eq!(
                repetitions(wrong),
                Err("must be an integer between 1 and 10000".to_owned()),
                "{wrong}"
            );
        }
        assert!(seed("-1").is_err() && seed("1.5").is_err());
        assert!(tries("0").is_err() && tries("x").is_err());
    }
}
