//! For tests of controllers, ours and anybody's (feature `testing`): signals, a sender that plays scripts, a closed loop, and a suite
//! of the rules that every controller obeys.

pub mod closed_loop;
pub mod conformance;
pub mod fixtures;
pub mod script;
