//! One file per command: its arguments where it has many, and what it does.

pub(crate) mod algorithms;
pub(crate) mod bench;
#[cfg(target_os = "linux")]
pub(crate) mod doctor;
mod folders;
pub(crate) mod ledger;
#[cfg(target_os = "linux")]
pub(crate) mod link;
pub(crate) mod list;
pub mod new;
pub(crate) mod prose;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod stability;
