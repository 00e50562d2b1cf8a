//! The link in real time: two namespaces, and a thread that carries packets between them.

pub mod engine;
pub mod outcome;
pub mod packet;
pub mod rig;
pub mod side;
