//! `ackclock plan`: prints the runs that an experiment would make, for schedulers that distribute
//! them. `--shard k/n` makes the runs with `number % n == k - 1`.

use experiment::library::Source;

use crate::commands::sources;
use crate::status::{Error, HOLDS, print};

/// Prints the runs as JSON.
pub(crate) fn run(names: &[String]) -> Result<u8, Error> {
    let read = |source: Source| Ok(sources::parsed(&source)?);
    let plan: Vec<_> = sources::read(names, read)?.iter().flat_map(study::planned).collect();
    print(&(serde_json::to_string_pretty(&plan).map_err(Error::bad)? + "\n"));
    Ok(HOLDS)
}
