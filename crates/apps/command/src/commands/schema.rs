//! `ackclock schema`: the keys of experiment files, as a JSON Schema for editors.

use crate::status::{Error, HOLDS, print};

/// Prints the schema as JSON.
pub(crate) fn run() -> Result<u8, Error> {
    print(&serde_json::to_string_pretty(&experiment::schema::schema()).map_err(Error::bad)?);
    Ok(HOLDS)
}
