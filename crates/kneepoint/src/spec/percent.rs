//! A share in files: `"1 %"`.

use std::fmt;
use std::str::FromStr;

use congestion::units::split_number;

/// Hundredths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percent(pub(crate) f64);

congestion::serde_as_string!(Percent);

impl FromStr for Percent {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match split_number(text) {
            Ok((number, "%")) => Ok(Self(number)),
            Ok((_, "")) => Err(format!("`{text}` has no unit; a share is written \"1 %\"")),
            Ok((_, unit)) => Err(format!("`{unit}` is not a unit of a share; a share is written \"1 %\"")),
            Err(e) => Err(format!("{e}; a share is written \"1 %\"")),
        }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}
