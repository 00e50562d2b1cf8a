//! Cargo features that this build may lack.
#![allow(dead_code, reason = "a build with all features lacks none")]

/// Says that this build lacks something, and how to get it.
pub(crate) fn missing(what: &str, feature: &str) -> String {
    format!(
        "this build has no {what}; build it with `--features {feature}`, or with `--features full` for everything"
    )
}

/// Says that something needs Linux or a feature.
pub(crate) fn missing_on_linux(what: &str, feature: &str) -> String {
    match cfg!(target_os = "linux") {
        true => missing(what, feature),
        false => format!("{what} needs Linux"),
    }
}
