//! CUBIC: the RFC's, and what implementations made of it.

mod curve;
pub mod ecn_gated;
pub mod mvfst;
pub mod picoquic;
pub mod rfc9438;
