//! The real-time emulator as commands: `kneepoint link` and `kneepoint doctor`.
// This world runs by the real clock.
#![allow(clippy::disallowed_methods)]

pub mod doctor;
pub mod link;
mod show;
pub mod text;
