//! The trait that turns a set of parameters into an algorithm.

use alloc::boxed::Box;

use crate::{Controller, ParamDoc, PathInfo, Variable};

/// The parameters of an algorithm, from which a registry entry is made.
///
/// [`params!`](crate::params) declares them. [`algorithm!`](crate::algorithm) adds name,
/// description and constructor.
pub trait Parameters:
    MaybeSerde + Clone + Default + PartialEq + core::fmt::Debug + Send + Sync + 'static
{
    /// Name of the algorithm in experiment files.
    const NAME: &'static str;
    /// Description of the algorithm in one sentence, with the document that defines it.
    const DOC: &'static str;
    /// Description, unit, source and range of every parameter.
    const PARAMS: &'static [ParamDoc];
    /// Names of the controller's states, indexed by the number reported as [`STATE`](crate::STATE).
    /// Empty if it has none.
    const STATES: &'static [&'static str] = &[];
    /// Other variables that the controller reports, each with its unit. Empty if there are none.
    const VARIABLES: &'static [Variable] = &[];

    /// Creates a controller for one path.
    fn build(&self, path: PathInfo) -> Box<dyn Controller>;
}

/// Bound that parameters can be read and written; empty without the feature `serde`.
#[cfg(feature = "serde")]
pub trait MaybeSerde: serde::Serialize + serde::de::DeserializeOwned {}
#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned> MaybeSerde for T {}
/// Bound that parameters can be read and written; empty without the feature `serde`.
#[cfg(not(feature = "serde"))]
pub trait MaybeSerde {}
#[cfg(not(feature = "serde"))]
impl<T> MaybeSerde for T {}

/// Makes parameters an algorithm: a doc comment, the name, the type of the parameters, and the
/// constructor.
///
/// Optional are the names of its states, `states = State::NAMES` ([`states!`](crate::states)), and
/// its variables, `variables = VARIABLES` ([`variables!`](crate::variables)).
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
