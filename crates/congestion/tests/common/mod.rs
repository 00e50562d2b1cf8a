//! What the tests of several controllers share.
#![allow(dead_code, unreachable_pub, reason = "shared by test binaries, each of which uses a part of it")]

pub mod path;
pub mod read;
