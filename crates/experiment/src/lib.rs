#![doc = include_str!("../README.md")]

pub mod backend;
pub mod chart;
pub mod controllers;
pub mod diagnostic;
pub mod file;
pub mod library;
pub mod metric;
pub mod over_runs;
pub mod prose;
pub mod published;
pub mod quantity;
pub mod row;
pub mod schema;
pub mod verdict;
