//! `ackclock schema`: what an experiment file may say, for editors and for people.

use crate::status::{Error, HOLDS, print};

/// JSON, or Markdown.
pub(crate) fn run(markdown: bool) -> Result<u8, Error> {
    let text = match markdown {
        true => experiment::schema::reference(),
        false => serde_json::to_string_pretty(&experiment::schema::schema()).map_err(Error::bad)?,
    };
    print(text.trim_end());
    Ok(HOLDS)
}
