//! The one list of algorithms: parser, constructor, help text and documentation come from it.

use serde::{Deserialize, Serialize};

use crate::algorithms::bbr::v2::mvfst as bbr2_mvfst;
use crate::algorithms::bbr::{
    v1 as bbr1, v1_ecn_gated as bbr1_ecn_gated, v1_picoquic as bbr1_picoquic, v2 as bbr2, v3 as bbr3,
};
use crate::algorithms::cubic::{
    ecn_gated as cubic_ecn_gated, mvfst as cubic_mvfst, picoquic as cubic_picoquic, rfc9438 as cubic,
};
use crate::algorithms::delay::{dstar, ledbat, quic_dc, vegas};
use crate::algorithms::fixed_window;
use crate::algorithms::media::{dccc, gcc, gcc_simplified, nada, nada_2013};
use crate::algorithms::reno::{hstcp, new_reno, tcp_reno, westwood};
use crate::{Controller, ParamDoc, Path};

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
    /// TCP D*, a window first from the measured BDP: Lynn and Ghosal, arXiv 2012.14996 (December 2020), as tcp_davis.c of May 2020.
    "dstar" Dstar(dstar) = |p, path| Box::new(dstar::Dstar::new(p.clone(), path));
    /// TCP Vegas: Brakmo and Peterson, IEEE JSAC (October 1995), with the rules of Linux tcp_vegas.c.
    "vegas" Vegas(vegas) = |p, path| Box::new(vegas::Vegas::new(p.clone(), path));
    /// CUBIC of picoquic, blind to single losses: commit b7bf3ded (June 2023).
    "cubic-picoquic" CubicPicoquic(cubic_picoquic) = |p, path| Box::new(cubic_picoquic::CubicPicoquic::new(p.clone(), path));
    /// CUBIC of facebook/mvfst, with its HyStart and its pacing: commit b48045620d4a (May 2025).
    "cubic-mvfst" CubicMvfst(cubic_mvfst) = |p, path| Box::new(cubic_mvfst::CubicMvfst::new(p.clone(), path));
    /// picoquic's CUBIC that answers marks only while the queue is long: Uchida et al., IEICE ComEX (April 2024).
    "cubic-ecn-gated" CubicEcnGated(cubic_ecn_gated) = |p, path| Box::new(cubic_ecn_gated::CubicEcnGated::new(p, path));
    /// BBRv1 whose gain follows RTT and marks: Uchida et al., IEICE ComEX (April 2024).
    "bbr1-ecn-gated" Bbr1EcnGated(bbr1_ecn_gated) = |p, path| Box::new(bbr1_ecn_gated::Bbr1EcnGated::new(p.clone(), path));
    /// BBRv1 of picoquic, which halves its window on marks: commit b7bf3ded (June 2023).
    "bbr1-picoquic" Bbr1Picoquic(bbr1_picoquic) = |p, path| Box::new(bbr1_picoquic::Bbr1Picoquic::new(p.clone(), path));
    /// DCCC, a rate that prices one-way delay and loss: D'Aronco et al., arXiv 1506.02799v3 (January 2017).
    "dccc" Dccc(dccc) = |p, path| Box::new(dccc::Dccc::new(p.clone(), path));
    /// LEDBAT, a window that adds no more than a target to the delay: RFC 6817 (December 2012).
    "ledbat" Ledbat(ledbat) = |p, path| Box::new(ledbat::Ledbat::new(p.clone(), path));
    /// HighSpeed TCP, Reno for large windows: RFC 3649 (December 2003).
    "hstcp" Hstcp(hstcp) = |p, path| Box::new(hstcp::Hstcp::new(p.clone(), path));
    /// NADA, a media rate from delay, loss and marks: RFC 8698 (February 2020).
    "nada" Nada(nada) = |p, path| Box::new(nada::Nada::new(p.clone(), path));
    /// NADA's first form: Zhu and Pan, Packet Video (December 2013), as in D'Aronco et al., arXiv 1506.02799v3 (January 2017).
    "nada-2013" Nada2013(nada_2013) = |p, path| Box::new(nada_2013::Nada2013::new(p.clone(), path));
    /// GCC, Google's media rate from changes of delay and from loss: draft-ietf-rmcat-gcc-02 (July 2016).
    "gcc" Gcc(gcc) = |p, path| Box::new(gcc::Gcc::new(p.clone(), path));
    /// GCC without filter and loss control: D'Aronco et al., arXiv 1506.02799v3 (January 2017), appendix C-B.
    "gcc-simplified" GccSimplified(gcc_simplified) = |p, path| Box::new(gcc_simplified::GccSimplified::new(p.clone(), path));
    /// A window that never moves, for closed-form checks.
    "fixed-window" FixedWindow(fixed_window) = |p, path| Box::new(fixed_window::FixedWindow::new(p, path));
    /// BBRv1: draft-cardwell-iccrg-bbr-congestion-control-00 (July 2017), with the additions of Linux tcp_bbr.c.
    "bbr1" Bbr1(bbr1) = |p, path| Box::new(bbr1::Bbr1::new(p.clone(), path));
    /// BBRv2: draft-cardwell-iccrg-bbr-congestion-control-02, March 2022.
    "bbr2" Bbr2(bbr2) = |p, path| Box::new(bbr2::Bbr2::new(p.clone(), path));
    /// BBRv2 as facebook/mvfst has it: `bbr2` with the values of commit b48045620d4a (May 2025).
    "bbr2-mvfst" Bbr2Mvfst(bbr2_mvfst) = |p, path| Box::new(bbr2::Bbr2::new(p.0.clone(), path));
    /// BBRv3: draft-ietf-ccwg-bbr, working copy of August 2026 (commit 4ce5e87).
    "bbr3" Bbr3(bbr3) = |p, path| Box::new(bbr3::Bbr3::new(p.clone(), path));
}

impl Algorithm {
    /// Whether it works on the times at which its packets arrived, which only some receivers report.
    pub fn needs_receive_times(&self) -> bool {
        match self {
            Self::QuicDc(params) => params.threshold != quic_dc::Threshold::Off,
            Self::Dccc(_)
            | Self::Ledbat(_)
            | Self::Nada(_)
            | Self::Nada2013(_)
            | Self::Gcc(_)
            | Self::GccSimplified(_) => true,
            _ => false,
        }
    }
}
