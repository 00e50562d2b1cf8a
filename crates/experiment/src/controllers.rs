//! The controllers that experiment files may name: those of this workspace, and what a program adds before it reads a file.

use std::sync::OnceLock;

use congestion::Registry;

static CONTROLLERS: OnceLock<Registry> = OnceLock::new();

/// All of them.
pub fn controllers() -> &'static Registry {
    CONTROLLERS.get_or_init(Registry::default)
}

/// Sets them, once, before anything is read.
///
/// # Errors
/// They have been set or used already.
pub fn set_controllers(registry: Registry) -> Result<(), &'static str> {
    CONTROLLERS.set(registry).map_err(|_| "the controllers are in use already: add yours first")
}
