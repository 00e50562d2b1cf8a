//! One file per command: its arguments where it has many, and what it does.

pub(crate) mod algorithms;
pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod conform;
pub(crate) mod diff;
#[cfg(wire)]
pub(crate) mod doctor;
#[cfg(wire)]
pub(crate) mod fetch;
#[cfg(wire)]
mod files;
mod folders;
pub(crate) mod index;
#[cfg(wire)]
pub(crate) mod interop;
pub(crate) mod ledger;
#[cfg(wire)]
pub(crate) mod link;
pub(crate) mod list;
pub(crate) mod new;
#[cfg(not(wire))]
pub(crate) mod no_wire;
pub(crate) mod plan;
pub(crate) mod prose;
mod ratio;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
#[cfg(wire)]
pub(crate) mod serve;
pub(crate) mod shell;
mod sources;
pub(crate) mod stability;
mod worlds;

#[cfg(not(wire))]
pub(crate) use self::{
    no_wire as doctor, no_wire as fetch, no_wire as interop, no_wire as link, no_wire as serve,
};
