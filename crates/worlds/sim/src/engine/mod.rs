//! Virtual time, the event loop and the links.

mod event_loop;
pub mod event_queue;
mod guests;
pub(crate) mod links;
mod windows;

pub use event_loop::run::{run, run_with_guests};
pub use event_loop::simulation::Simulation;
