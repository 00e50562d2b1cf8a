//! Dialect and compression of a log.

use std::fmt;
use std::str::FromStr;

use units::Bytes;

/// Dialect of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// qlog 0.3 of 2021, the newest version that qvis loads.
    #[default]
    V03,
    /// The current drafts, as the crate `qlog` reads them.
    Current,
}

/// Format of a log. As text: `0.3` or `current`, with `gzip` after a comma or alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format {
    pub dialect: Dialect,
    /// Whether the log is compressed (RFC 1952).
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
                _ => return Err(format!("unknown qlog format `{word}`; known: 0.3, current, gzip")),
            };
            if dialect.replace(named).is_some_and(|earlier| earlier != named) {
                return Err("give either 0.3 or current: a run writes one dialect".to_owned());
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
    /// Returns the extension of its files.
    pub fn extension(self) -> &'static str {
        if self.gzip { ".sqlog.gz" } else { ".sqlog" }
    }

    /// Returns the approximate bytes per data packet of a flow, in the files of both ends. Bulk
    /// flows whose receiver acknowledges every second packet write this much. Both dialects take
    /// the same.
    pub fn bytes_per_packet(self) -> Bytes {
        Bytes(if self.gzip { 100 } else { 960 })
    }
}
