//! Shares in percent.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::split_number;

/// A share in percent. In files: `"1 %"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f64);

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
