//! CUBIC: the RFC's, and what implementations made of it.

pub mod ecn_gated;
pub mod mvfst;
pub mod picoquic;
pub mod rfc9438;
