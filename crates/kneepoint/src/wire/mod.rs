//! The real-time emulator as commands, `kneepoint link` and `kneepoint doctor`.
// This world runs by the real clock.
#![allow(clippy::disallowed_methods)]

pub mod doctor;
pub mod link;
mod show;
pub mod text;

/// The time of day, for the manifest of a measurement.
pub(crate) fn clock() -> String {
    humantime::format_rfc3339_nanos(std::time::SystemTime::now()).to_string()
}
