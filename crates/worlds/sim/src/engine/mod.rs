//! Virtual time, the event loop and the links.

mod event_loop;
pub mod event_queue;
mod guests;
pub(crate) mod links;
mod run;
mod simulation;
mod windows;

pub use run::{run, run_recorded, run_with_guests};
pub use simulation::Simulation;
