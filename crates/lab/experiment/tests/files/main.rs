//! Tests of experiment files in one program, so that it is linked once.

// The name by which the shared helpers know it.
extern crate ackclock_experiment as experiment;

#[path = "../common/mod.rs"]
mod common;
mod library;
mod schema;
mod spec;
mod spec_acks;
mod spec_all_errors;
mod spec_errors;
mod spec_honest;
mod spec_links;
mod spec_mutations;
mod spec_networks;
mod spec_ranges;
mod spec_recovery;
mod spec_reverse;
mod spec_stack;
mod spec_steps;
mod spec_traces;
mod spec_verdicts;
