//! The text of a log: a header, then one JSON record per event, each after a separator (JSON-SEQ,
//! RFC 7464).

use std::io::{self, Write};
use std::ops::Range;

use flate2::Compression;
use flate2::write::GzEncoder;
use scenario::signal::Call;
use units::Time;

use super::events::Record;
use super::header::header;
use super::json::Json;
use super::meta::VantagePoint;
use super::{Dialect, Format, Meta};

/// Writes the text of a log.
#[derive(Debug)]
pub(super) struct Out {
    /// Text not yet taken, or not yet compressed.
    text: Json,
    gzip: Option<GzEncoder<Json>>,
    dialect: Dialect,
    /// Time zero of the log.
    start: Time,
    /// The newest time, and where in the pending text a record begins with it. Most times have
    /// several records.
    stamp: Option<(Time, Range<usize>)>,
    /// Calls of the controller since the last record.
    calls: Vec<Call>,
}

impl Out {
    /// Creates the text with its header.
    pub(super) fn begin(format: Format, meta: &Meta, vantage_point: &VantagePoint<'_>) -> io::Result<Self> {
        // The gzip header holds no time of day: the same run gives the same bytes.
        let gzip = format.gzip.then(|| GzEncoder::new(Json::default(), Compression::fast()));
        let start = match format.dialect {
            Dialect::V03 => meta.start,
            Dialect::Current => Time::ZERO,
        };
        let mut text = Json::default();
        text.put(b"\x1e");
        text.put(header(format.dialect, meta, vantage_point)?.as_bytes());
        text.put(b"\n");
        Ok(Self { text, gzip, dialect: format.dialect, start, stamp: None, calls: Vec::new() })
    }

    pub(super) fn entry(&mut self, time: Time, record: &Record<'_>) {
        self.begin_record(time);
        self.dialect.event(&mut self.text, record, &self.calls);
        self.calls.clear();
    }

    /// Adds a call of the controller to the next record.
    pub(super) fn call(&mut self, call: &Call) {
        self.calls.push(call.clone());
    }

    /// Writes the separator and the time.
    fn begin_record(&mut self, time: Time) {
        match &self.stamp {
            Some((newest, stamp)) if *newest == time => self.text.repeat(stamp.clone()),
            _ => {
                let begin = self.text.len();
                self.text.put(b"\x1e{\"time\":");
                self.text.ms(time - self.start);
                self.stamp = Some((time, begin..self.text.len()));
            }
        }
    }

    /// Returns the text not yet taken.
    pub(super) fn waiting(&mut self) -> io::Result<&mut Json> {
        self.stamp = None;
        let Some(gzip) = &mut self.gzip else { return Ok(&mut self.text) };
        gzip.write_all(self.text.written())?;
        self.text.clear();
        Ok(gzip.get_mut())
    }

    /// Returns the remaining text.
    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        self.waiting()?;
        match self.gzip {
            None => Ok(self.text.take()),
            Some(gzip) => Ok(gzip.finish()?.take()),
        }
    }
}
