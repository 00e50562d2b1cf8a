//! The text of a log: a header, then one JSON record per event, each behind a separator (JSON-SEQ, RFC 7464).

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use units::Time;

use super::events::Record;
use super::meta::VantagePoint;
use super::{Dialect, Format, Meta, current, v03};

/// Text on its way to a file.
#[derive(Debug)]
pub(super) struct Out {
    bytes: Bytes,
    dialect: Dialect,
    start: Time,
}

/// What nobody has taken yet.
#[derive(Debug)]
enum Bytes {
    Plain(Vec<u8>),
    Packed(GzEncoder<Vec<u8>>),
}

impl Out {
    /// With the header.
    pub(super) fn begin(format: Format, meta: &Meta, vantage_point: &VantagePoint<'_>) -> io::Result<Self> {
        let bytes = match format.gzip {
            false => Bytes::Plain(Vec::new()),
            // Its header holds no time of day: same run, same bytes.
            true => Bytes::Packed(GzEncoder::new(Vec::new(), Compression::fast())),
        };
        let mut out = Self { bytes, dialect: format.dialect, start: meta.start };
        let description = format!("{} over {}, seed {}", meta.algorithm, meta.transport.name(), meta.seed);
        match format.dialect {
            Dialect::V03 => out.line(&v03::header(meta, vantage_point, &description)),
            Dialect::Current => out.line(&current::header(meta, vantage_point, &description)),
        }?;
        Ok(out)
    }

    pub(super) fn entry(&mut self, time: Time, record: &Record<'_>) -> io::Result<()> {
        match self.dialect {
            Dialect::V03 => self.line(&v03::event(time - self.start, record)),
            Dialect::Current => self.line(&current::event(time - Time::ZERO, record)),
        }
    }

    fn line(&mut self, record: &impl Serialize) -> io::Result<()> {
        match &mut self.bytes {
            Bytes::Plain(bytes) => write(bytes, record),
            Bytes::Packed(gzip) => {
                let mut line = Vec::with_capacity(256);
                write(&mut line, record)?;
                gzip.write_all(&line)
            }
        }
    }

    /// What has been written since the last time.
    pub(super) fn take(&mut self) -> Vec<u8> {
        match &mut self.bytes {
            Bytes::Plain(bytes) => std::mem::take(bytes),
            Bytes::Packed(gzip) => std::mem::take(gzip.get_mut()),
        }
    }

    /// What is left.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        match self.bytes {
            Bytes::Plain(bytes) => Ok(bytes),
            Bytes::Packed(gzip) => gzip.finish(),
        }
    }
}

/// A record behind its separator.
fn write(bytes: &mut Vec<u8>, record: &impl Serialize) -> io::Result<()> {
    bytes.push(b'\x1e');
    serde_json::to_writer(&mut *bytes, record)?;
    bytes.push(b'\n');
    Ok(())
}
