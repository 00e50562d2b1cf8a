//! The text of a log: a header, then one JSON record per event, each behind a separator (JSON-SEQ, RFC 7464).

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use units::Time;

use super::events::Record;
use super::json::Json;
use super::meta::VantagePoint;
use super::{Dialect, Format, Meta, current, v03};

/// Text on its way to a file.
#[derive(Debug)]
pub(super) struct Out {
    /// What nobody has taken yet, or what is not compressed yet.
    text: Json,
    gzip: Option<GzEncoder<Vec<u8>>>,
    dialect: Dialect,
    start: Time,
}

impl Out {
    /// With the header.
    pub(super) fn begin(format: Format, meta: &Meta, vantage_point: &VantagePoint<'_>) -> io::Result<Self> {
        // Its header holds no time of day: same run, same bytes.
        let gzip = format.gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
        let mut out = Self { text: Json::default(), gzip, dialect: format.dialect, start: meta.start };
        let description = format!("{} over {}, seed {}", meta.algorithm, meta.transport.name(), meta.seed);
        match format.dialect {
            Dialect::V03 => out.header(&v03::header(meta, vantage_point, &description)),
            Dialect::Current => out.header(&current::header(meta, vantage_point, &description)),
        }?;
        Ok(out)
    }

    fn header(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.text.put(b"\x1e");
        serde_json::to_writer(self.text.bytes(), record)?;
        self.text.put(b"\n");
        Ok(())
    }

    pub(super) fn entry(&mut self, time: Time, record: &Record<'_>) {
        match self.dialect {
            Dialect::V03 => v03::event(&mut self.text, time - self.start, record),
            Dialect::Current => current::event(&mut self.text, time - Time::ZERO, record),
        }
    }

    /// What has been written and not taken away.
    pub(super) fn waiting(&mut self) -> io::Result<&mut Vec<u8>> {
        let Some(gzip) = &mut self.gzip else { return Ok(self.text.bytes()) };
        gzip.write_all(self.text.bytes())?;
        self.text.bytes().clear();
        Ok(gzip.get_mut())
    }

    /// What is left.
    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        self.waiting()?;
        match self.gzip {
            None => Ok(std::mem::take(self.text.bytes())),
            Some(gzip) => gzip.finish(),
        }
    }
}
