//! The real-time emulator as commands: `kneepoint link` and `kneepoint doctor`.

pub mod doctor;
pub mod link;
mod show;
pub mod text;
