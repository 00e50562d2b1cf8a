//! The controllers that experiment files may name: those of this workspace, and what a program adds before it reads a file.

use std::sync::OnceLock;

use congestion::{Entry, Registry};

use crate::diagnostic::did_you_mean;

static CONTROLLERS: OnceLock<Registry> = OnceLock::new();

/// All of them.
pub fn controllers() -> &'static Registry {
    CONTROLLERS.get_or_init(Registry::default)
}

/// Whether a program has added some of its own.
pub fn are_extended() -> bool {
    let own = Registry::default();
    controllers().iter().any(|entry| own.get(entry.name).is_none())
}

/// A name that means the newest of a family.
const NEWEST: [(&str, &str); 1] = [("bbr", "bbr3")];

/// The controller of this name; `bbr` is the newest BBR.
pub fn find(name: &str) -> Option<&'static Entry> {
    let newest = NEWEST.iter().find(|(family, _)| *family == name).map(|(_, newest)| *newest);
    controllers().get(name).or_else(|| controllers().get(newest?))
}

/// That no controller is called so, with the one that was most likely meant.
pub fn unknown(name: &str) -> String {
    let known = controllers().iter().map(|entry| entry.name);
    format!("unknown algorithm `{name}`; {}", did_you_mean(name, known))
}

/// Sets them, once, before anything is read.
///
/// # Errors
/// They have been set or used already.
pub fn set_controllers(registry: Registry) -> Result<(), &'static str> {
    CONTROLLERS.set(registry).map_err(|_| "the controllers are in use already: add yours first")
}
