//! Placeholders in a manifest's commands: `{port}`, `{cert}`.

use std::collections::BTreeMap;

/// Values by placeholder. Names are those of [`NAMES`].
pub(crate) type Placeholders = BTreeMap<&'static str, String>;

/// All placeholders that a command may use. The README explains them.
pub(crate) const NAMES: [&str; 19] = [
    "address",
    "ca",
    "cert",
    "controller",
    "datagram",
    "downloads",
    "folder",
    "here",
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
/// Name of a placeholder without a value.
pub(crate) fn fill(text: &str, placeholders: &Placeholders) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').ok_or_else(|| after.to_owned())?;
        out += before;
        out += placeholders.get(name).ok_or_else(|| name.to_owned())?;
        rest = behind;
    }
    Ok(out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders() {
        let placeholders = Placeholders::from([("port", "7".to_owned()), ("root", "{port}".to_owned())]);
        assert_eq!(
            fill("a{port}b{root}", &placeholders).unwrap(),
            "a7b{port}",
            "values are not expanded again"
        );
        assert_eq!(fill("plain", &placeholders).unwrap(), "plain");
        assert_eq!(fill("{prot}", &placeholders).unwrap_err(), "prot");
        assert_eq!(fill("{port", &placeholders).unwrap_err(), "port");
    }
}
