//! The one list of algorithms: parser, constructor, help text and documentation come from it.

use serde::{Deserialize, Serialize};

use crate::{Controller, ParamDoc, Path, fixed_window, new_reno};

macro_rules! algorithms {
    ($($(#[doc = $doc:literal])+ $name:literal $variant:ident($module:ident) = $build:expr;)*) => {
        /// An algorithm with its parameters, as an experiment file names it: `{ name = "cubic", beta = 0.7 }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        pub enum Algorithm {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant($module::Params),)*
        }

        impl Algorithm {
            /// Every algorithm with its defaults.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant($module::Params::default())),*]
            }

            /// Its name in experiment files.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// What it is and which document defines it.
            pub fn doc(&self) -> &'static str {
                match self { $(Self::$variant(_) => concat!($($doc),+),)* }
            }

            /// Every parameter with its meaning, unit and source.
            pub fn params(&self) -> &'static [ParamDoc] {
                match self { $(Self::$variant(_) => $module::Params::DOCS,)* }
            }

            /// A fresh controller for one path.
            pub fn build(&self, path: Path) -> Box<dyn Controller> {
                match self { $(Self::$variant(p) => { let f: fn(&$module::Params, Path) -> Box<dyn Controller> = $build; f(p, path) })* }
            }
        }
    };
}

algorithms! {
    /// NewReno for QUIC: RFC 9002 section 7.
    "new-reno" NewReno(new_reno) = |p, path| Box::new(new_reno::NewReno::new(p.clone(), path));
    /// A window that never moves, for closed-form checks.
    "fixed-window" FixedWindow(fixed_window) = |p, path| Box::new(fixed_window::FixedWindow::new(p, path));
}
