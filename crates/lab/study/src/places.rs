//! The places that can run a row.

use std::fmt;
use std::sync::Arc;

use experiment::place::Place;
use scenario::World;

/// Worlds by the names that rows and files have for them.
#[derive(Clone, Default)]
pub struct Places(Vec<(Place, Arc<dyn World>)>);

impl Places {
    /// Adds a world. It replaces one of the same name.
    #[must_use]
    pub fn with(mut self, name: Place, world: impl World + 'static) -> Self {
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, Arc::new(world)));
        self
    }

    /// Puts another world around each.
    #[must_use]
    pub fn wrapped(self, wrap: impl Fn(Arc<dyn World>) -> Arc<dyn World>) -> Self {
        Self(self.0.into_iter().map(|(name, world)| (name, wrap(world))).collect())
    }

    /// Returns the world of this name; `None` if this program has none.
    pub fn get(&self, name: Place) -> Option<&dyn World> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, world)| &**world)
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
