//! In which words a log is written, and how it is packed.

use std::fmt;
use std::str::FromStr;

use units::Bytes;

/// The words of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// qlog 0.3 of 2021, the newest that qvis loads.
    #[default]
    V03,
    /// The current drafts, as the crate `qlog` reads them.
    Current,
}

/// How a log is written. As text: `0.3` or `current`, and `gzip` after a comma or alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// Its words.
    pub dialect: Dialect,
    /// Whether it is compressed (RFC 1952).
    pub gzip: bool,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut dialect, mut gzip) = (None, false);
        for word in text.split(',').map(str::trim) {
            let named = match word {
                "0.3" => Dialect::V03,
                "current" => Dialect::Current,
                "gzip" => {
                    gzip = true;
                    continue;
                }
                _ => return Err(format!("`{word}` is none of 0.3, current, gzip")),
            };
            if dialect.replace(named).is_some_and(|earlier| earlier != named) {
                return Err("one of 0.3 and current: a run writes one dialect".to_owned());
            }
        }
        Ok(Self { dialect: dialect.unwrap_or_default(), gzip })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dialect = match self.dialect {
            Dialect::V03 => "0.3",
            Dialect::Current => "current",
        };
        write!(f, "{dialect}{}", if self.gzip { ",gzip" } else { "" })
    }
}

impl Format {
    /// How names of its files end.
    pub fn extension(self) -> &'static str {
        if self.gzip { ".sqlog.gz" } else { ".sqlog" }
    }

    /// Bytes for each data packet of a flow in the files of both ends, roughly: what bulk flows write whose receiver
    /// acknowledges every second packet. Both dialects take the same.
    pub fn bytes_per_packet(self) -> Bytes {
        Bytes(if self.gzip { 70 } else { 700 })
    }
}
