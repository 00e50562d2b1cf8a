//! `ackclock schema`: the keys of experiment files, as a JSON Schema for editors or as Markdown.

use crate::controllers::controllers;
use crate::status::{Error, HOLDS, print};

/// Prints the schema as JSON, or as Markdown.
pub(crate) fn run(markdown: bool) -> Result<u8, Error> {
    let text = match markdown {
        true => experiment::schema::reference(),
        false => {
            serde_json::to_string_pretty(&experiment::schema::schema(controllers())).map_err(Error::bad)?
        }
    };
    print(text.trim_end());
    Ok(HOLDS)
}
