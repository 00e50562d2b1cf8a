//! Records the time series of one run to disk, part by part, in postcard's encoding. A length
//! precedes each part.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use experiment::input::open_regular;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::columns::are_whole;
use crate::store::part::Part;
use crate::store::sums::{self, LogHash};
use crate::store::tables::Samples;

/// Checksum and columns of a recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Checksum as for logs. Only this program reads the file.
    digest: String,
    /// Columns of the samples.
    pub(super) columns: Samples,
}

/// A run during recording. If it is dropped before it is finished, it leaves nothing behind.
#[derive(Debug)]
pub struct Recording {
    file: BufWriter<NamedTempFile>,
    sum: LogHash,
    columns: Samples,
    /// Memory of the last part, for reuse.
    bytes: Vec<u8>,
}

impl Recording {
    /// Begins a recording in a folder.
    pub(super) fn begin(dir: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 16, NamedTempFile::new_in(dir)?);
        Ok(Self { file, sum: LogHash::default(), columns: Samples::new(), bytes: Vec::new() })
    }

    /// Adds the following samples.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn add(&mut self, part: &Part) -> io::Result<()> {
        for (name, values) in part.columns() {
            match self.columns.get_mut(name) {
                Some(whole) => *whole = *whole && are_whole(values.values()),
                None => drop(self.columns.insert(name.clone(), are_whole(values.values()))),
            }
        }
        self.bytes.clear();
        self.bytes = postcard::to_extend(part, std::mem::take(&mut self.bytes)).map_err(io::Error::other)?;
        let length = (self.bytes.len() as u64).to_le_bytes();
        for bytes in [&length[..], &self.bytes] {
            self.sum.add(bytes);
            self.file.write_all(bytes)?;
        }
        Ok(())
    }

    /// Moves the file to its place. Returns `None` if nothing was recorded.
    pub(super) fn finish(self, path: &Path) -> io::Result<Option<Recorded>> {
        if self.columns.is_empty() {
            return Ok(None);
        }
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(Some(Recorded { digest: self.sum.hex(), columns: self.columns }))
    }
}

impl Recorded {
    /// Reports whether a file is what was recorded.
    pub(super) fn is(&self, path: &Path) -> bool {
        sums::log_hash(path).is_ok_and(|digest| digest == self.digest)
    }
}

/// Reads the parts of a file.
pub(super) fn parts(path: &Path) -> io::Result<impl Iterator<Item = io::Result<Part>> + use<>> {
    let mut file = BufReader::with_capacity(1 << 16, open_regular(path)?);
    let mut part = Vec::new();
    let mut next = move || -> io::Result<Option<Part>> {
        let mut length = [0; 8];
        match file.read_exact(&mut length) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        part.clear();
        (&mut file).take(u64::from_le_bytes(length)).read_to_end(&mut part)?;
        postcard::from_bytes(&part).map(Some).map_err(io::Error::other)
    };
    Ok(std::iter::from_fn(move || next().transpose()))
}
