//! The one list of algorithms: parser, constructor, help text and documentation come from it.

use serde::{Deserialize, Serialize};

use crate::{Controller, ParamDoc, Path, bbr2, cubic, fixed_window, new_reno, quic_dc, tcp_reno, westwood};

macro_rules! algorithms {
    ($($(#[doc = $doc:literal])+ $name:literal $variant:ident($module:ident) = $build:expr;)*) => {
        /// An algorithm with its parameters, as an experiment file names it: `{ name = "cubic", beta = 0.7 }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        // One value per flow of an experiment: its size does not matter, a box around each would.
        #[allow(clippy::large_enum_variant)]
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
    /// Reno and NewReno for TCP: RFC 5681 (September 2009), RFC 6582 (April 2012), RFC 3465 (February 2003).
    "tcp-reno" TcpReno(tcp_reno) = |p, path| Box::new(tcp_reno::TcpReno::new(p.clone(), path));
    /// CUBIC: RFC 9438 (August 2023).
    "cubic" Cubic(cubic) = |p, path| Box::new(cubic::Cubic::new(p.clone(), path));
    /// Westwood+ for QUIC: Grieco and Mascolo, CCR (April 2004), with the filter of Linux tcp_westwood.c.
    "westwood-plus" WestwoodPlus(westwood) = |p, path| Box::new(westwood::WestwoodPlus::new(p.clone(), path));
    /// QUIC-DC, Westwood+ that also cuts on one-way queuing delay: arXiv 2507.00896 (July 2025).
    "quic-dc" QuicDc(quic_dc) = |p, path| Box::new(quic_dc::QuicDc::new(p, path));
    /// A window that never moves, for closed-form checks.
    "fixed-window" FixedWindow(fixed_window) = |p, path| Box::new(fixed_window::FixedWindow::new(p, path));
    /// BBRv2: draft-cardwell-iccrg-bbr-congestion-control-02, March 2022.
    "bbr2" Bbr2(bbr2) = |p, path| Box::new(bbr2::Bbr2::new(p.clone(), path));
}
