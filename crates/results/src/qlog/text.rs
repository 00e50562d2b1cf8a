//! The text of a log: a header, then one JSON record per event, each behind a separator (JSON-SEQ, RFC 7464).

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use units::Time;

use super::events::Record;
use super::meta::VantagePoint;
use super::{Dialect, Meta, current, v03};

/// A file that begins with its header.
pub(super) struct Out<W: Write> {
    out: BufWriter<W>,
    dialect: Dialect,
    start: Time,
}

impl<W: Write> Out<W> {
    pub(super) fn new(out: W, dialect: Dialect, meta: &Meta) -> Self {
        Self { out: BufWriter::new(out), dialect, start: meta.start }
    }

    pub(super) fn header(&mut self, meta: &Meta, vantage_point: &VantagePoint<'_>) -> io::Result<()> {
        let description = format!("{} over {}, seed {}", meta.algorithm, meta.transport.name(), meta.seed);
        match self.dialect {
            Dialect::V03 => self.line(&v03::header(meta, vantage_point, &description)),
            Dialect::Current => self.line(&current::header(meta, vantage_point, &description)),
        }
    }

    pub(super) fn entry(&mut self, time: Time, record: &Record) -> io::Result<()> {
        match self.dialect {
            Dialect::V03 => self.line(&v03::event(time - self.start, record)),
            Dialect::Current => self.line(&current::event(time - Time::ZERO, record)),
        }
    }

    fn line(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.out.write_all(b"\x1e")?;
        serde_json::to_writer(&mut self.out, record)?;
        self.out.write_all(b"\n")
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
