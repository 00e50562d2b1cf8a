//! The arguments of commands that have many.

pub mod stability_args;
