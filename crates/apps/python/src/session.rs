//! The surroundings of a question or a study that Python asks for.

use std::sync::Arc;

use ackclock::Session;
use congestion::Registry;
use pyo3::prelude::*;
use scenario::World;
use study::Places;

use crate::call::Call;
use crate::controller::entry::Class;
use crate::controller::world::Hosting;

/// Controllers in Python, and their identity.
#[derive(Clone, Default)]
pub(crate) struct Classes {
    pub(crate) registry: Registry,
    /// Digest of their sources.
    identity: Option<String>,
    are_any: bool,
    /// Python is called for each packet.
    are_called_often: bool,
}

impl Classes {
    pub(crate) fn new(classes: &[Py<Class>], identity: Option<String>) -> Self {
        let registry =
            classes.iter().fold(Registry::default(), |all, class| all.with(class.get().entry.clone()));
        let are_called_often = classes.iter().any(|class| class.get().shape.is_called_often());
        Self { registry, identity, are_any: !classes.is_empty(), are_called_often }
    }

    /// Returns the number of threads for runs with them. Classes that are called for each packet
    /// would only wait for one another.
    pub(crate) fn jobs(&self, asked: Option<usize>) -> Option<usize> {
        asked.or(self.are_called_often.then_some(1))
    }

    /// Works with a session of this call.
    pub(crate) fn during<R>(&self, call: &Call, work: impl FnOnce(&Session<'_>) -> R) -> R {
        let hosting = |world: Arc<dyn World>| -> Arc<dyn World> { Arc::new(Hosting::new(world)) };
        let places = |places: Places| if self.are_any { places.wrapped(hosting) } else { places };
        work(&Session {
            registry: self.registry.clone(),
            places: &places,
            program: ackclock::program(self.identity.as_deref()),
            pool: Some(Arc::clone(&call.pool)),
            progress: &call.shown,
            watch: &call.watch,
        })
    }
}
