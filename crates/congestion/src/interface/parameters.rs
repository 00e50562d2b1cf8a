//! What makes a set of parameters an algorithm.

use alloc::boxed::Box;

use crate::{Controller, ParamDoc, PathInfo, Variable};

/// The parameters of an algorithm: what a registry's row is made of. [`params!`](crate::params) declares them,
/// [`algorithm!`](crate::algorithm) gives them name, sentence and constructor.
pub trait Parameters:
    MaybeSerde + Clone + Default + PartialEq + core::fmt::Debug + Send + Sync + 'static
{
    /// What experiment files call the algorithm.
    const NAME: &'static str;
    /// What it is and which document defines it, in a sentence.
    const DOC: &'static str;
    /// Every parameter with its meaning, unit, source and range.
    const PARAMS: &'static [ParamDoc];
    /// Names of the controller's states, by the number that it tells as [`STATE`](crate::STATE); empty if it has none.
    const STATES: &'static [&'static str] = &[];
    /// What the controller tells of itself besides, each with its unit; empty if that is nothing.
    const VARIABLES: &'static [Variable] = &[];

    /// A fresh controller for one path.
    fn build(&self, path: PathInfo) -> Box<dyn Controller>;
}

/// With the feature `serde`: read from and written to files.
#[cfg(feature = "serde")]
pub trait MaybeSerde: serde::Serialize + serde::de::DeserializeOwned {}
#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned> MaybeSerde for T {}
/// With the feature `serde`: read from and written to files.
#[cfg(not(feature = "serde"))]
pub trait MaybeSerde {}
#[cfg(not(feature = "serde"))]
impl<T> MaybeSerde for T {}

/// Makes parameters an algorithm: a sentence, the name, the parameters' type, the constructor; and, if it has some, the names of its
/// states, `states = State::NAMES` ([`states!`](crate::states)), and what else it tells of itself, `variables = VARIABLES`
/// ([`variables!`](crate::variables)).
#[macro_export]
macro_rules! algorithm {
    ($(#[doc = $doc:literal])+ $name:literal, $params:ty, $build:expr $(, states = $states:expr)? $(, variables = $variables:expr)? $(,)?) => {
        impl $crate::Parameters for $params {
            const NAME: &'static str = $name;
            const DOC: &'static str = concat!($($doc),+);
            const PARAMS: &'static [$crate::ParamDoc] = Self::DOCS;
            $(const STATES: &'static [&'static str] = $states;)?
            $(const VARIABLES: &'static [$crate::Variable] = $variables;)?

            fn build(&self, path: $crate::PathInfo) -> $crate::Boxed {
                let build: fn(&$params, $crate::PathInfo) -> $crate::Boxed = $build;
                build(self, path)
            }
        }
    };
}
