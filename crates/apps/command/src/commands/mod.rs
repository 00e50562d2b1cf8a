//! The commands, each with its arguments in a module of its own.

pub(crate) mod algorithms;
pub(crate) mod analyse;
mod arguments;
pub(crate) mod ask;
pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod conform;
#[cfg(any(kernel, transfer))]
mod controller;
pub(crate) mod diff;
pub(crate) mod digest;
#[cfg(wire)]
pub(crate) mod doctor;
pub(crate) mod export;
#[cfg(transfer)]
pub(crate) mod fetch;
#[cfg(transfer)]
mod files;
mod folders;
pub(crate) mod index;
#[cfg(transfer)]
pub(crate) mod interop;
#[cfg(kernel)]
pub(crate) mod kernel;
pub(crate) mod ledger;
#[cfg(wire)]
pub(crate) mod link;
pub(crate) mod list;
#[cfg(not(all(kernel, wire, transfer)))]
mod missing;
pub(crate) mod networks;
pub(crate) mod new;
mod pair;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
#[cfg(transfer)]
pub(crate) mod serve;
pub(crate) mod shell;
mod sources;
pub(crate) mod stability;
#[cfg(kernel)]
pub(crate) mod trace;
pub(crate) mod worlds;

#[cfg(not(kernel))]
pub(crate) use self::missing::{kernel, kernel as trace};
#[cfg(not(transfer))]
pub(crate) use self::missing::{transfer as fetch, transfer as interop, transfer as serve};
#[cfg(not(wire))]
pub(crate) use self::missing::{wire as doctor, wire as link};
