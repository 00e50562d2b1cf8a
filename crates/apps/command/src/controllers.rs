//! The controllers of this program.

use std::sync::OnceLock;

use congestion::Registry;

static CONTROLLERS: OnceLock<Registry> = OnceLock::new();

/// Returns all controllers that files and arguments may name.
pub(crate) fn controllers() -> &'static Registry {
    CONTROLLERS.get_or_init(Registry::default)
}

/// Registers the controllers. Call it once, before a command runs.
///
/// # Errors
/// Fails if controllers have been registered or used already.
pub(crate) fn set(registry: Registry) -> Result<(), &'static str> {
    CONTROLLERS.set(registry).map_err(|_| "controllers are in use already: register yours first")
}

/// Reports whether the program has controllers of its own.
pub(crate) fn are_extended() -> bool {
    let own = Registry::default();
    controllers().iter().any(|entry| own.get(entry.name).is_none())
}
