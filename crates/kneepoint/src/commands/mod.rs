//! The arguments of commands that have many.

pub mod new;
pub mod stability_args;
