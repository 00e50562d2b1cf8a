//! The text of a log: a header, then one JSON record per event, each behind a separator (JSON-SEQ, RFC 7464).

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use units::{Duration, Time};

use super::{Meta, Transport};

#[derive(Serialize)]
struct Header<'a> {
    qlog_version: &'static str,
    qlog_format: &'static str,
    title: &'a str,
    description: &'a str,
    trace: TraceHeader<'a>,
}

#[derive(Serialize)]
struct TraceHeader<'a> {
    vantage_point: &'a VantagePoint<'a>,
    title: &'a str,
    description: &'a str,
    configuration: Configuration<'a>,
    common_fields: CommonFields,
}

#[derive(Serialize)]
pub(super) struct VantagePoint<'a> {
    pub(super) name: &'a str,
    pub(super) r#type: &'static str,
}

#[derive(Serialize)]
struct Configuration<'a> {
    time_offset: f64,
    algorithm: &'a str,
    seed: u64,
}

#[derive(Serialize)]
struct CommonFields {
    protocol_type: [&'static str; 1],
    time_format: &'static str,
    reference_time: f64,
}

#[derive(Serialize)]
struct Entry<D> {
    time: f64,
    name: &'static str,
    data: D,
}

/// Milliseconds, the float nearest to the exact decimal, so that it prints with six decimals at most.
pub(super) fn ms(duration: Duration) -> f64 {
    duration.0 as f64 / 1e6
}

/// A file that begins with its header.
pub(super) struct Out<W: Write> {
    out: BufWriter<W>,
    start: Time,
}

impl<W: Write> Out<W> {
    pub(super) fn new(out: W, meta: &Meta) -> Self {
        Self { out: BufWriter::new(out), start: meta.start }
    }

    fn record(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.out.write_all(b"\x1e")?;
        serde_json::to_writer(&mut self.out, record)?;
        self.out.write_all(b"\n")
    }

    pub(super) fn entry(&mut self, time: Time, name: &'static str, data: impl Serialize) -> io::Result<()> {
        let time = ms(time - self.start);
        self.record(&Entry { time, name, data })
    }

    pub(super) fn header(&mut self, meta: &Meta, vantage_point: &VantagePoint<'_>) -> io::Result<()> {
        let protocol = match meta.transport {
            Transport::Quic => "QUIC",
            Transport::Tcp => "TCP",
        };
        let description = format!("{} over {protocol}, seed {}", meta.algorithm, meta.seed);
        self.record(&Header {
            qlog_version: "0.3",
            qlog_format: "JSON-SEQ",
            title: &meta.title,
            description: &description,
            trace: TraceHeader {
                vantage_point,
                title: vantage_point.name,
                description: &description,
                configuration: Configuration {
                    time_offset: 0.0,
                    algorithm: &meta.algorithm,
                    seed: meta.seed,
                },
                common_fields: CommonFields {
                    protocol_type: [protocol],
                    time_format: "relative",
                    reference_time: ms(meta.start - Time::ZERO),
                },
            },
        })
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
