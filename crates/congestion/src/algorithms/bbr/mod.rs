//! BBR: its versions, and what implementations made of the first.

pub(crate) mod common;
pub mod v1;
pub mod v1_ecn_gated;
pub mod v1_picoquic;
pub mod v2;
pub mod v3;
