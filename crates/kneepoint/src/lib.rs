//! A congestion-control laboratory for QUIC and TCP: experiments as data, runs, side-by-side tables, reports.

pub mod bench;
pub mod cli;
pub mod columns;
pub mod controllers;
pub mod judge;
pub mod ledger;
pub mod library;
pub mod measure;
pub mod metric;
pub mod numbers;
pub mod problem;
pub mod prose;
pub mod published;
pub mod qlog;
pub mod report;
pub mod run;
pub mod spec;
pub mod stability;
pub mod store;
pub mod summary;
pub mod terminal;
pub mod verdict;
#[cfg(target_os = "linux")]
pub mod wire;
pub mod world;
