//! `ackclock schema`: the keys of experiment files, as a JSON Schema for editors.

use crate::controllers::controllers;
use crate::status::{Error, HOLDS, print};

/// Prints the schema as JSON.
pub(crate) fn run() -> Result<u8, Error> {
    let schema = experiment::schema::schema(controllers());
    print(&serde_json::to_string_pretty(&schema).map_err(Error::bad)?);
    Ok(HOLDS)
}
