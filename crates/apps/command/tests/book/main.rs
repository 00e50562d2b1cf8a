//! The documentation: links, generated pages, and commands that run as written.
#![allow(unreachable_pub, reason = "a crate of its own, for cargo")]

mod commands;
mod generated;
mod links;
mod page;
