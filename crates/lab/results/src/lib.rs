#![doc = include_str!("../README.md")]

pub mod columns;
pub mod digest;
pub mod exchange;
pub mod judge;
pub mod ledger;
pub mod measure;
pub mod network;
pub mod qlog;
mod run_row;
mod states;
pub mod store;
pub mod summary;
pub mod variables;
pub mod verdict;
