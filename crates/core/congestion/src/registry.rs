//! Registry of algorithms. Each entry has a name, a description and a constructor. The parser, the
//! help text and the documentation are generated from it.
//!
//! The registry is open: [`Entry::for_params`] creates an entry for your own controller from its
//! [`Parameters`], and [`Entry::dynamic`] one from a function, at run time.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

use crate::algorithms::bbr::v2::mvfst as bbr2_mvfst;
use crate::algorithms::bbr::{ecn_gated, v1 as bbr1, v1_picoquic as bbr1_picoquic, v2 as bbr2, v3 as bbr3};
use crate::algorithms::cubic::{
    ecn_gated as cubic_ecn_gated, mvfst as cubic_mvfst, picoquic as cubic_picoquic, rfc9438 as cubic,
};
use crate::algorithms::delay::{
    cdg, compound, copa, dstar, dual, fast, ledbat, ledbat_plus_plus, lola, pert, quic_dc, timely, vegas,
    vegas_plus, veno, yeah,
};
use crate::algorithms::ecn::prague;
use crate::algorithms::fixed_window;
use crate::algorithms::media::{c4, dccc, gcc, gcc_simplified, nada, nada_2013, scream_v2, tfrc};
use crate::algorithms::reno::{
    bic, dctcp, hstcp, htcp, hybla, illinois, new_reno, scalable, tahoe, tcp_reno, westwood,
};
use crate::dynamic::{Parameter, Value, Values};
use crate::{Controller, ParamDoc, Parameters, PathInfo, Variable, algorithm};

/// A registry entry: an algorithm and its default parameters.
#[derive(Clone)]
pub struct Entry {
    /// Name of the algorithm in experiment files.
    pub name: &'static str,
    /// Description of the algorithm, with the document that defines it.
    pub doc: &'static str,
    /// Description, unit, source and range of every parameter.
    pub params: &'static [ParamDoc],
    /// Names of the states, indexed by the number that the controller reports as
    /// [`STATE`](crate::STATE).
    pub states: &'static [&'static str],
    /// Other variables that the controller reports, each with its unit.
    pub variables: &'static [Variable],
    default: Arc<dyn Stored>,
    #[cfg(feature = "serde")]
    read: serialized::Read,
}

impl Entry {
    /// Creates the entry of the algorithm that has the parameters `P`.
    pub fn for_params<P: Parameters>() -> Self {
        Self {
            name: P::NAME,
            doc: P::DOC,
            params: P::PARAMS,
            states: P::STATES,
            variables: P::VARIABLES,
            default: Arc::new(P::default()),
            #[cfg(feature = "serde")]
            read: serialized::read::<P>,
        }
    }

    /// Creates the entry of an algorithm that is known at run time only, such as one of another
    /// language. Its texts are never freed.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ackclock_congestion::algorithms::fixed_window::FixedWindow;
    /// use ackclock_congestion::{Boxed, Entry, Parameter, PathInfo, Registry, Value};
    ///
    /// let window = Parameter {
    ///     name: "window".to_owned(),
    ///     doc: "Window, packets.".to_owned(),
    ///     range: None,
    ///     default: Value::Whole(10),
    /// };
    /// let build = |path: PathInfo, values: &[Value]| -> Boxed {
    ///     let [Value::Whole(packets)] = values else { unreachable!("one whole parameter") };
    ///     Box::new(FixedWindow::packets(*packets as u64, path))
    /// };
    /// let mine = Entry::dynamic("mine", "A window.", &[window], Vec::new(), Arc::new(build));
    /// let registry = Registry::default().with(mine);
    /// let mine = registry.get("mine").expect("just added").algorithm();
    /// assert_eq!(mine.build(PathInfo::default()).control().cwnd, 12_000);
    /// ```
    pub fn dynamic(
        name: &str,
        doc: &str,
        parameters: &[Parameter],
        variables: Vec<Variable>,
        build: Build,
    ) -> Self {
        let name: &'static str = Box::leak(name.into());
        Self {
            name,
            doc: Box::leak(doc.into()),
            params: Vec::leak(parameters.iter().map(Parameter::described).collect()),
            states: &[],
            variables: Vec::leak(variables),
            default: Arc::new(Dynamic { values: Values::new(parameters), build }),
            #[cfg(feature = "serde")]
            read: serialized::read_dynamic,
        }
    }

    /// Returns the algorithm with its default parameters.
    pub fn algorithm(&self) -> Algorithm {
        Algorithm { entry: self.clone(), params: self.default.copy() }
    }
}

/// Algorithms by name.
#[derive(Clone)]
pub struct Registry(Vec<Entry>);

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|entry| entry.name)).finish()
    }
}

impl Registry {
    /// Adds an algorithm. It replaces an algorithm of the same name.
    ///
    /// ```
    /// use ackclock_congestion::{Controller, Entry, Parameters, PathInfo, Registry};
    /// use ackclock_congestion::algorithms::fixed_window::FixedWindow;
    ///
    /// ackclock_congestion::params! {
    ///     /// Window, packets.
    ///     window: u64 = 10,
    /// }
    ///
    /// ackclock_congestion::algorithm! {
    ///     /// A window that never moves.
    ///     "mine", Params, |p, path| Box::new(FixedWindow::packets(p.window, path))
    /// }
    ///
    /// # fn main() {
    /// let registry = Registry::default().with(Entry::for_params::<Params>());
    /// let mine = registry.get("mine").expect("just added").algorithm();
    /// assert_eq!(mine.build(PathInfo::default()).control().cwnd, 12_000);
    /// # }
    /// ```
    #[must_use]
    pub fn with(mut self, entry: Entry) -> Self {
        self.0.retain(|known| known.name != entry.name);
        self.0.push(entry);
        self
    }

    /// Returns the entry with this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.name == name)
    }

    /// Returns all entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter()
    }
}

/// An algorithm with its parameters, written in an experiment file as
/// `{ name = "cubic", beta = 0.7 }`.
#[derive(Clone)]
pub struct Algorithm {
    entry: Entry,
    params: Box<dyn Stored>,
}

impl Algorithm {
    /// Returns every algorithm of this crate with its default parameters.
    pub fn all() -> Vec<Self> {
        Registry::default().iter().map(Entry::algorithm).collect()
    }

    /// Returns its entry in the registry.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Returns its name in experiment files.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Returns its description, with the document that defines it.
    pub fn doc(&self) -> &'static str {
        self.entry.doc
    }

    /// Returns description, unit, source and range of every parameter.
    pub fn docs(&self) -> &'static [ParamDoc] {
        self.entry.params
    }

    /// Returns the names of its states, indexed by state number. Empty if it has none.
    pub fn states(&self) -> &'static [&'static str] {
        self.entry.states
    }

    /// Returns the other variables that its controllers report, each with its unit. Empty if there
    /// are none.
    pub fn variables(&self) -> &'static [Variable] {
        self.entry.variables
    }

    /// Returns its parameters if their type is `P`.
    pub fn params<P: Parameters>(&self) -> Option<&P> {
        self.params.as_any().downcast_ref()
    }

    /// Returns this algorithm with controllers that pass through `wrap`, such as to record their
    /// calls. Name and parameters stay.
    #[must_use]
    pub fn wrapped(&self, wrap: Wrap) -> Self {
        let inner = self.params.clone();
        Self { entry: self.entry.clone(), params: Box::new(Wrapped { inner, wrap }) }
    }

    /// Creates a controller for one path.
    pub fn build(&self, path: PathInfo) -> Box<dyn Controller> {
        self.params.build(path)
    }
}

impl<P: Parameters> From<P> for Algorithm {
    fn from(params: P) -> Self {
        Self { entry: Entry::for_params::<P>(), params: Box::new(params) }
    }
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.params.equals(&*other.params)
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name(), self.params)
    }
}

/// Parameters behind a trait object.
trait Stored: fmt::Debug + Send + Sync {
    fn build(&self, path: PathInfo) -> Box<dyn Controller>;
    fn copy(&self) -> Box<dyn Stored>;
    fn equals(&self, other: &dyn Stored) -> bool;
    fn as_any(&self) -> &dyn Any;
    #[cfg(feature = "serde")]
    fn as_serialize(&self) -> &dyn erased_serde::Serialize;
}

impl<P: Parameters> Stored for P {
    fn build(&self, path: PathInfo) -> Box<dyn Controller> {
        Parameters::build(self, path)
    }
    fn copy(&self) -> Box<dyn Stored> {
        Box::new(self.clone())
    }
    fn equals(&self, other: &dyn Stored) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    #[cfg(feature = "serde")]
    fn as_serialize(&self) -> &dyn erased_serde::Serialize {
        self
    }
}

/// Function that creates a controller for a path with these parameters, in their order.
pub type Build = Arc<dyn Fn(PathInfo, &[Value]) -> Box<dyn Controller> + Send + Sync>;

/// An algorithm of [`Entry::dynamic`].
#[derive(Clone)]
struct Dynamic {
    values: Values,
    build: Build,
}

impl fmt::Debug for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.fmt(f)
    }
}

impl Stored for Dynamic {
    fn build(&self, path: PathInfo) -> Box<dyn Controller> {
        (self.build)(path, &self.values.values)
    }
    fn copy(&self) -> Box<dyn Stored> {
        Box::new(self.clone())
    }
    fn equals(&self, other: &dyn Stored) -> bool {
        let same = |other: &Self| Arc::ptr_eq(&self.build, &other.build) && self.values == other.values;
        other.as_any().downcast_ref().is_some_and(same)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    #[cfg(feature = "serde")]
    fn as_serialize(&self) -> &dyn erased_serde::Serialize {
        &self.values
    }
}

/// Function that wraps a controller of a path.
pub type Wrap = Arc<dyn Fn(Box<dyn Controller>, PathInfo) -> Box<dyn Controller> + Send + Sync>;

/// An algorithm of [`Algorithm::wrapped`]. It equals the algorithm inside.
#[derive(Clone)]
struct Wrapped {
    inner: Box<dyn Stored>,
    wrap: Wrap,
}

impl fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Stored for Wrapped {
    fn build(&self, path: PathInfo) -> Box<dyn Controller> {
        (self.wrap)(self.inner.build(path), path)
    }
    fn copy(&self) -> Box<dyn Stored> {
        Box::new(self.clone())
    }
    fn equals(&self, other: &dyn Stored) -> bool {
        self.inner.equals(other)
    }
    fn as_any(&self) -> &dyn Any {
        self.inner.as_any()
    }
    #[cfg(feature = "serde")]
    fn as_serialize(&self) -> &dyn erased_serde::Serialize {
        self.inner.as_serialize()
    }
}

impl Clone for Box<dyn Stored> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// Reading and writing parameters in any serde format.
#[cfg(feature = "serde")]
mod serialized {
    use alloc::boxed::Box;

    use erased_serde::Error;
    use serde::Deserializer;
    use serde::de::DeserializeSeed;
    use serde::ser::{Serialize, Serializer};

    use super::{Algorithm, Dynamic, Entry, Stored};
    use crate::Parameters;

    pub(super) type Read =
        fn(&Entry, &mut dyn erased_serde::Deserializer<'_>) -> Result<Box<dyn Stored>, Error>;

    pub(super) fn read<P: Parameters>(
        _: &Entry,
        from: &mut dyn erased_serde::Deserializer<'_>,
    ) -> Result<Box<dyn Stored>, Error> {
        Ok(Box::new(P::deserialize(from)?))
    }

    /// Reads the parameters of an algorithm of [`Entry::dynamic`].
    pub(super) fn read_dynamic(
        entry: &Entry,
        from: &mut dyn erased_serde::Deserializer<'_>,
    ) -> Result<Box<dyn Stored>, Error> {
        let Some(default) = entry.default.as_any().downcast_ref::<Dynamic>() else {
            return Err(serde::de::Error::custom("not an algorithm that is known at run time only"));
        };
        let values = default.values.clone().deserialize(from)?;
        Ok(Box::new(Dynamic { values, build: default.build.clone() }))
    }

    impl Entry {
        /// Reads an algorithm from a table of parameters. Missing parameters take their defaults.
        ///
        /// # Errors
        /// Returns the deserializer's error, also for an unknown parameter.
        pub fn read<'de, D: Deserializer<'de>>(&self, from: D) -> Result<Algorithm, D::Error> {
            let mut from = <dyn erased_serde::Deserializer<'_>>::erase(from);
            let params = (self.read)(self, &mut from).map_err(serde::de::Error::custom)?;
            Ok(Algorithm { entry: self.clone(), params })
        }
    }

    /// Writes the parameters without the algorithm's name.
    impl Serialize for Algorithm {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            erased_serde::serialize(self.params.as_serialize(), to)
        }
    }
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $name:literal $params:ty $(, $variables:path $(, $states:path)?)? = $build:expr;)*) => {
        $(algorithm! { $(#[doc = $doc])+ $name, $params, $build $($(, states = $states)?, variables = $variables)? })*

        /// All algorithms of this crate.
        impl Default for Registry {
            fn default() -> Self {
                Self(alloc::vec![$(Entry::for_params::<$params>()),*])
            }
        }
    };
}

registry! {
    /// NewReno for QUIC: RFC 9002 section 7 (May 2021).
    "new-reno" new_reno::Params, new_reno::VARIABLES = |p, path| Box::new(new_reno::NewReno::new(p.clone(), path));
    /// Reno and NewReno for TCP: RFC 5681 (September 2009), RFC 6582 (April 2012), RFC 3465
    /// (February 2003).
    "tcp-reno" tcp_reno::Params, tcp_reno::VARIABLES = |p, path| Box::new(tcp_reno::TcpReno::new(p.clone(), path));
    /// Tahoe, slow start after every loss: Jacobson, SIGCOMM (August 1988).
    "tahoe" tahoe::Params, tahoe::VARIABLES = |p, path| Box::new(tahoe::Tahoe::new(p.clone(), path));
    /// CUBIC: RFC 9438 (August 2023).
    "cubic" cubic::Params, cubic::VARIABLES = |p, path| Box::new(cubic::Cubic::new(p.clone(), path));
    /// Westwood+ for QUIC: Grieco and Mascolo, CCR (April 2004), with the filter of Linux
    /// tcp_westwood.c.
    "westwood-plus" westwood::Params, westwood::VARIABLES = |p, path| Box::new(westwood::WestwoodPlus::new(p.clone(), path));
    /// QUIC-DC, Westwood+ that also reduces its window on one-way queuing delay: arXiv 2507.00896
    /// (July 2025).
    "quic-dc" quic_dc::Params, quic_dc::VARIABLES = |p, path| Box::new(quic_dc::QuicDc::new(p, path));
    /// TCP D*, a window set from the measured BDP: Lynn and Ghosal, arXiv 2012.14996 (December
    /// 2020), as tcp_davis.c of May 2020.
    "dstar" dstar::Params, dstar::VARIABLES, dstar::STATES = |p, path| Box::new(dstar::Dstar::new(p.clone(), path));
    /// Copa, a rate inversely proportional to the queuing delay: Arun and Balakrishnan, NSDI (April
    /// 2018).
    "copa" copa::Params, copa::VARIABLES, copa::STATES = |p, path| Box::new(copa::Copa::new(p.clone(), path));
    /// TCP Vegas: Brakmo and Peterson, IEEE JSAC (October 1995), with the rules of Linux
    /// tcp_vegas.c.
    "vegas" vegas::Params, vegas::VARIABLES = |p, path| Box::new(vegas::Vegas::new(p.clone(), path));
    /// TCP Vegas+, Vegas that turns into Reno beside loss-based flows: Hasegawa, Kurata and Murata,
    /// ICNP (November 2000).
    "vegas-plus" vegas_plus::Params, vegas_plus::VARIABLES, vegas_plus::STATES = |p, path| Box::new(vegas_plus::VegasPlus::new(p.clone(), path));
    /// FAST TCP, which keeps a number of packets queued: Wei, Jin, Low and Hegde, IEEE/ACM ToN
    /// (December 2006).
    "fast" fast::Params, fast::VARIABLES = |p, path| Box::new(fast::FastController::new(p.clone(), path));
    /// TCP Veno, Reno that takes a loss without a queue for a random one: Fu and Liew, IEEE JSAC
    /// (February 2003), with the rules of Linux tcp_veno.c.
    "veno" veno::Params, veno::VARIABLES = |p, path| Box::new(veno::VenoController::new(p.clone(), path));
    /// TCP DUAL, Reno that also reduces its window while the RTT is high: Wang and Crowcroft, ACM
    /// CCR (April 1992).
    "dual" dual::Params, dual::VARIABLES = |p, path| Box::new(dual::DualController::new(p.clone(), path));
    /// PERT, Reno that responds at random while the RTT is high: Bhandarkar et al., SIGCOMM (August
    /// 2007).
    "pert" pert::Params, pert::VARIABLES = |p, path| Box::new(pert::Pert::controller(p.clone(), path));
    /// CDG, which backs off at random while the RTT grows: Hayes and Armitage, IFIP Networking (May
    /// 2011), with the rules of Linux tcp_cdg.c.
    "cdg" cdg::Params, cdg::VARIABLES, cdg::STATES = |p, path| Box::new(cdg::Cdg::controller(p.clone(), path));
    /// TCP LoLa, which keeps the queuing delay near a target: Hock et al., IEEE LCN (October 2017),
    /// with the growth of its Linux module.
    "lola" lola::Params, lola::VARIABLES, lola::STATES = |p, path| Box::new(lola::LolaController::new(p.clone(), path));
    /// YeAH-TCP, Scalable TCP without a queue and Reno with one: Baiocchi et al., PFLDnet (February
    /// 2007), with the rules of Linux tcp_yeah.c.
    "yeah" yeah::Params, yeah::VARIABLES, yeah::STATES = |p, path| Box::new(yeah::YeahController::new(p.clone(), path));
    /// TIMELY, a sending rate from the gradient of the RTT, for data centres: Mittal et al.,
    /// SIGCOMM (August 2015).
    "timely" timely::Params, timely::VARIABLES = |p, path| Box::new(timely::Timely::new(p.clone(), path));
    /// Compound TCP, Reno with a second window that follows the delay:
    /// draft-sridharan-tcpm-ctcp-02 (November 2008).
    "compound" compound::Params, compound::VARIABLES = |p, path| Box::new(compound::CompoundController::new(p.clone(), path));
    /// CUBIC of picoquic, which ignores isolated losses: commit b7bf3ded (June 2023).
    "cubic-picoquic" cubic_picoquic::Params, cubic_picoquic::VARIABLES = |p, path| Box::new(cubic_picoquic::CubicPicoquic::new(p.clone(), path));
    /// CUBIC of facebook/mvfst, with its HyStart and its pacing gains: commit b48045620d4a (May
    /// 2025).
    "cubic-mvfst" cubic_mvfst::Params, cubic_mvfst::VARIABLES, cubic_mvfst::STATES = |p, path| Box::new(cubic_mvfst::CubicMvfst::new(p.clone(), path));
    /// picoquic's CUBIC with a response to CE marks only while the queue is long: Uchida et al.,
    /// IEICE ComEX (April 2024).
    "cubic-ecn-gated" cubic_ecn_gated::Params, cubic_ecn_gated::VARIABLES = |p, path| Box::new(cubic_ecn_gated::CubicEcnGated::new(p, path));
    /// BBRv1 with gains that follow RTT and CE marks: Uchida et al., IEICE ComEX (April 2024).
    "bbr1-ecn-gated" ecn_gated::v1::Params, ecn_gated::v1::VARIABLES, bbr1::STATES = |p, path| Box::new(p.clone().controller(path));
    /// BBRv2 with gains that follow RTT and CE marks, as in `bbr1-ecn-gated`: Uchida et al., IEICE
    /// ComEX (April 2024), future work.
    "bbr2-ecn-gated" ecn_gated::v2::Params, ecn_gated::v2::VARIABLES, bbr2::STATES = |p, path| Box::new(p.clone().controller(path));
    /// BBRv3 with gains that follow RTT and CE marks, as in `bbr1-ecn-gated`: Uchida et al., IEICE
    /// ComEX (April 2024), future work.
    "bbr3-ecn-gated" ecn_gated::v3::Params, ecn_gated::v3::VARIABLES, bbr3::STATES = |p, path| Box::new(p.clone().controller(path));
    /// BBRv1 of picoquic, which halves its window on CE marks: commit b7bf3ded (June 2023).
    "bbr1-picoquic" bbr1_picoquic::Params, bbr1_picoquic::VARIABLES, bbr1_picoquic::STATES = |p, path| Box::new(bbr1_picoquic::Bbr1Picoquic::new(p.clone(), path));
    /// DCCC, a sending rate that reacts to one-way delay and loss: D'Aronco et al., arXiv
    /// 1506.02799v3 (January 2017).
    "dccc" dccc::Params, dccc::VARIABLES = |p, path| Box::new(dccc::Dccc::new(p.clone(), path));
    /// LEDBAT, a window that adds at most a target delay to the queue: RFC 6817 (December 2012).
    "ledbat" ledbat::Params, ledbat::VARIABLES = |p, path| Box::new(ledbat::Ledbat::new(p.clone(), path));
    /// LEDBAT++, LEDBAT with RTTs, a gentler growth and periodic slowdowns:
    /// draft-irtf-iccrg-ledbat-plus-plus-01 (August 2020).
    "ledbat-plus-plus" ledbat_plus_plus::Params, ledbat_plus_plus::VARIABLES, ledbat_plus_plus::STATES = |p, path| Box::new(ledbat_plus_plus::LedbatPlusPlusController::new(p.clone(), path));
    /// HighSpeed TCP, Reno for large windows: RFC 3649 (December 2003).
    "hstcp" hstcp::Params, hstcp::VARIABLES = |p, path| Box::new(hstcp::Hstcp::new(p.clone(), path));
    /// H-TCP, growth that follows the time since the last loss: Leith and Shorten, PFLDnet
    /// (February 2004), draft-leith-tcp-htcp-06 (April 2008), with the rules of Linux tcp_htcp.c.
    "htcp" htcp::Params, htcp::VARIABLES = |p, path| Box::new(htcp::HtcpController::new(p.clone(), path));
    /// TCP Hybla, Reno whose rate does not depend on the RTT: Caini and Firrincieli, Int. J.
    /// Satellite Communications and Networking (September 2004).
    "hybla" hybla::Params, hybla::VARIABLES = |p, path| Box::new(hybla::HyblaController::new(p.clone(), path));
    /// BIC, a binary search for the window at which a packet was lost: Xu, Harfoush and Rhee,
    /// INFOCOM (March 2004), with the rules of Linux tcp_bic.c.
    "bic" bic::Params, bic::VARIABLES = |p, path| Box::new(bic::BicController::new(p.clone(), path));
    /// DCTCP, Reno that reduces its window by the share of marked packets: RFC 8257 (October 2017).
    "dctcp" dctcp::Params, dctcp::VARIABLES = |p, path| Box::new(dctcp::DctcpController::new(p.clone(), path));
    /// TCP Prague, a DCTCP with a pacing rate and a virtual RTT for L4S queues:
    /// draft-briscoe-iccrg-prague-congestion-control-04 (July 2024), with the rules of Linux
    /// tcp_prague.c.
    "prague" prague::Params, prague::VARIABLES = |p, path| Box::new(prague::Prague::new(p.clone(), path));
    /// TCP-Illinois, growth and reduction from the queueing delay: Liu, Basar and Srikant,
    /// Performance Evaluation (June 2008), with the rules of Linux tcp_illinois.c.
    "illinois" illinois::Params, illinois::VARIABLES = |p, path| Box::new(illinois::Illinois::new(p.clone(), path));
    /// Scalable TCP, 1 % per round trip: Kelly, ACM CCR (April 2003), with the rules of Linux
    /// tcp_scalable.c.
    "scalable" scalable::Params, scalable::VARIABLES = |p, path| Box::new(scalable::Scalable::new(p.clone(), path));
    /// C4, a media rate that yields the earlier the higher it is: draft-huitema-ccwg-c4-spec
    /// (November 2025), with the response to marks of picoquic c4.c.
    "c4" c4::Params, c4::VARIABLES, c4::STATES = |p, path| Box::new(c4::C4::new(p.clone(), path));
    /// NADA, a media rate derived from delay, loss and CE marks: RFC 8698 (February 2020).
    "nada" nada::Params, nada::VARIABLES = |p, path| Box::new(nada::Nada::new(p.clone(), path));
    /// NADA in its first version: Zhu and Pan, Packet Video (December 2013), as in D'Aronco et al.,
    /// arXiv 1506.02799v3 (January 2017).
    "nada-2013" nada_2013::Params, nada_2013::VARIABLES = |p, path| Box::new(nada_2013::Nada2013::new(p.clone(), path));
    /// TFRC, the rate of a TCP flow with the same loss events: RFC 5348 (September 2008).
    "tfrc" tfrc::Params, tfrc::VARIABLES = |p, path| Box::new(tfrc::Tfrc::new(p.clone(), path));
    /// GCC, Google's media rate from delay variation and loss: draft-ietf-rmcat-gcc-02 (July 2016).
    "gcc" gcc::Params, gcc::VARIABLES, gcc::STATES = |p, path| Box::new(gcc::Gcc::new(p.clone(), path));
    /// GCC without Kalman filter or loss-based controller: D'Aronco et al., arXiv 1506.02799v3
    /// (January 2017), appendix C-B.
    "gcc-simplified" gcc_simplified::Params, gcc_simplified::VARIABLES, gcc::STATES = |p, path| Box::new(gcc_simplified::GccSimplified::new(p.clone(), path));
    /// SCReAMv2, a media rate from a window that follows losses, L4S marks and the queue delay:
    /// draft-ietf-ccwg-rfc8298bis-screamv2 (August 2026).
    "scream-v2" scream_v2::Params, scream_v2::VARIABLES = |p, path| Box::new(scream_v2::ScreamV2::new(p.clone(), path));
    /// A constant window, for checks against closed-form results.
    "fixed-window" fixed_window::Params = |p, path| Box::new(fixed_window::FixedWindow::packets(p.window, path));
    /// BBRv1: draft-cardwell-iccrg-bbr-congestion-control-00 (July 2017), with the additions of
    /// Linux tcp_bbr.c.
    "bbr1" bbr1::Params, bbr1::VARIABLES, bbr1::STATES = |p, path| Box::new(bbr1::Bbr1::new(p.clone(), path));
    /// BBRv2: draft-cardwell-iccrg-bbr-congestion-control-02, March 2022.
    "bbr2" bbr2::Params, bbr2::VARIABLES, bbr2::STATES = |p, path| Box::new(bbr2::Bbr2::new(p.clone(), path));
    /// BBRv2 of facebook/mvfst: `bbr2` with the values of commit b48045620d4a (May 2025).
    "bbr2-mvfst" bbr2_mvfst::Params, bbr2::VARIABLES, bbr2::STATES = |p, path| Box::new(bbr2::Bbr2::new(p.0.clone(), path));
    /// BBRv3: draft-ietf-ccwg-bbr, working copy of August 2026 (commit 4ce5e87).
    "bbr3" bbr3::Params, bbr3::VARIABLES, bbr3::STATES = |p, path| Box::new(bbr3::Bbr3::new(p.clone(), path));
}
