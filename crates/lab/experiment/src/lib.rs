#![doc = include_str!("../README.md")]

pub mod aggregate;
pub mod chart;
pub mod controllers;
pub mod diagnostic;
pub mod diagnostics;
pub mod file;
pub mod input;
pub mod library;
pub mod metric;
pub mod place;
pub mod print;
pub mod printable;
pub mod prose;
pub mod published;
pub mod quantity;
pub mod row;
pub mod schema;
mod snippet;
mod text;
