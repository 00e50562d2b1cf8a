//! `kneepoint algorithms`: every controller with its parameters.

use crate::status::{Error, HOLDS, print};
use experiment::controllers::controllers;

/// All of them, or the one of this name.
pub(crate) fn run(name: Option<&str>) -> Result<u8, Error> {
    let all = controllers();
    let chosen: Vec<_> = all.iter().filter(|entry| name.is_none_or(|name| name == entry.name)).collect();
    if let (Some(name), true) = (name, chosen.is_empty()) {
        let known = experiment::diagnostic::did_you_mean(name, all.iter().map(|entry| entry.name));
        return Err(Error::bad(format!("`{name}` is not an algorithm; {known}")));
    }
    for entry in chosen {
        print(&format!("{}\n   {}\n", entry.name, entry.doc.trim()));
        let defaults = toml::Table::try_from(entry.algorithm()).map_err(Error::bad)?;
        for param in entry.params {
            let key = param.name.replace('_', "-");
            let default = defaults.get(&key).map_or_else(|| "none".to_owned(), ToString::to_string);
            let number = defaults.get(&key).is_some_and(|value| value.is_integer() || value.is_float());
            let range = param.range.or(number.then(|| param.allowed()));
            let range = range.map_or_else(String::new, |range| format!(" Range: {range}."));
            print(&format!("   {:28} {:20} {}{range}\n", key, default, param.doc.trim()));
        }
    }
    Ok(HOLDS)
}
