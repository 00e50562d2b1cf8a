//! Tests of experiment files in one program, so that it is linked once.

#[path = "../common/mod.rs"]
mod common;
mod library;
mod metrics;
mod prose;
mod schema;
mod spec;
mod spec_acks;
mod spec_all_errors;
mod spec_errors;
mod spec_mutations;
mod spec_reverse;
mod spec_stack;
mod spec_steps;
mod spec_verdicts;
