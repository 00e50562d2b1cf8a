//! Tests of experiment files together with the simulator and its metrics, in one program, so that
//! it is linked once.

#[path = "../../../../lab/experiment/tests/common/mod.rs"]
mod common;
mod measured;
mod metrics;
