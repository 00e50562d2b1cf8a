//! Placeholders in a manifest's commands: `{port}`, `{cert}`.

use std::collections::BTreeMap;

/// What stands for what. Names are those of [`NAMES`].
pub(crate) type Words = BTreeMap<&'static str, String>;

/// All that a command may name, with their meanings in the README.
pub(crate) const NAMES: [&str; 18] = [
    "address",
    "ca",
    "cert",
    "controller",
    "datagram",
    "downloads",
    "folder",
    "key",
    "keylog",
    "name",
    "out",
    "path",
    "port",
    "python",
    "qlog",
    "root",
    "url",
    "version",
];

/// Replaces every placeholder of a text.
///
/// # Errors
/// The name of one that stands for nothing here.
pub(crate) fn fill(text: &str, words: &Words) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').ok_or_else(|| after.to_owned())?;
        out += before;
        out += words.get(name).ok_or_else(|| name.to_owned())?;
        rest = behind;
    }
    Ok(out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders() {
        let words = Words::from([("port", "7".to_owned()), ("root", "{port}".to_owned())]);
        assert_eq!(
            fill("a{port}b{root}", &words).unwrap(),
            "a7b{port}",
            "what stands for something is not read again"
        );
        assert_eq!(fill("plain", &words).unwrap(), "plain");
        assert_eq!(fill("{prot}", &words).unwrap_err(), "prot");
        assert_eq!(fill("{port", &words).unwrap_err(), "port");
    }
}
