//! Captures in a build without the feature `pcap`: refused before the file is made.

use std::io::{self, Write};
use std::marker::PhantomData;
use std::time::Duration;

use crate::capture::row::Frame;

/// Cannot be constructed.
pub(crate) struct Pcap<W: Write> {
    never: std::convert::Infallible,
    out: PhantomData<W>,
}

impl<W: Write> Pcap<W> {
    pub(crate) fn new(_: W, _: Duration) -> io::Result<Self> {
        let why = "this build writes no captures; it needs the feature `pcap`";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    pub(crate) fn write(&mut self, _: Frame) -> io::Result<()> {
        match self.never {}
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self.never {}
    }
}
