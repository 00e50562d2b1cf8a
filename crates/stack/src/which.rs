//! Whose stack is in the places of flows.

use adapters::Trait;
use congestion::Algorithm;
use scenario::{FlowConfig, Scenario, Transport};
use units::Ecn;

use crate::aioquic::{Host, names};
use crate::own;
use crate::refusal::{self, Refusal};

/// Datagrams with which handshakes of quinn 0.11 and noq 1.4 end, in bytes: with 11 600 they do not. Tried, the reason was not looked for.
const MOST_OF_OTHERS: u32 = 11_500;

/// A QUIC stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stack {
    /// Ours.
    Ackclock,
    /// noq (`noq-proto`), unmodified, with our controllers behind its trait.
    Noq,
    /// quinn (`quinn-proto`), the same.
    Quinn,
    /// aioquic, unmodified, in a child process, with its own controllers.
    Aioquic,
}

impl Stack {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ackclock, Self::Noq, Self::Quinn, Self::Aioquic];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ackclock => "ackclock",
            Self::Noq => Trait::Noq.stack(),
            Self::Quinn => Trait::Quinn.stack(),
            Self::Aioquic => "aioquic",
        }
    }

    /// Its trait of controllers, if ours run in it by one.
    pub fn outside(self) -> Option<Trait> {
        match self {
            Self::Ackclock | Self::Aioquic => None,
            Self::Noq => Some(Trait::Noq),
            Self::Quinn => Some(Trait::Quinn),
        }
    }

    /// Whether this build has it.
    pub fn is_built_in(self) -> bool {
        match self {
            Self::Ackclock | Self::Aioquic => true,
            Self::Noq => cfg!(feature = "noq"),
            Self::Quinn => cfg!(feature = "quinn"),
        }
    }

    /// Whether it can run a flow. Another stack brings its own loss recovery, pacing and acknowledgements: what the flow says of those is
    /// not its.
    ///
    /// # Errors
    /// The first thing that it cannot do.
    pub fn check(self, flow: &FlowConfig) -> Result<(), Refusal> {
        self.check_receiver(flow)?;
        let algorithm: &Algorithm = &flow.algorithm;
        match (self, self.outside()) {
            (Self::Aioquic, _) if flow.recovery.ecn != Ecn::NotEct => {
                Err(Refusal::Flow("it marks its packets, and aioquic marks none"))
            }
            (Self::Aioquic, _) => names::theirs(algorithm).map(drop).map_err(Refusal::Outside),
            (_, Some(_)) if flow.own_controller => {
                own::named(algorithm, self.word()).map(drop).map_err(Refusal::Outside)
            }
            (_, Some(outside)) => adapters::check(algorithm, outside).map_err(Refusal::Controller),
            (_, None) => Ok(()),
        }
    }

    /// Whether it can receive what a flow sends.
    ///
    /// # Errors
    /// The first thing that it cannot do.
    pub(crate) fn check_receiver(self, flow: &FlowConfig) -> Result<(), Refusal> {
        refusal::check(flow)?;
        if !self.is_built_in() {
            return Err(Refusal::NotBuiltIn(self.word()));
        }
        if self == Self::Aioquic {
            refusal::check_bulk(flow)?;
        }
        if self == Self::Aioquic && !flow.rebind.is_empty() {
            return Err(Refusal::Flow(
                "its source is rebound, and what drives aioquic here knows one address of each end",
            ));
        }
        if self.outside().is_some() && flow.transport.mds() > MOST_OF_OTHERS {
            return Err(Refusal::Flow(
                "its datagrams are larger than 11500 bytes, with which no handshake of quinn and noq ends",
            ));
        }
        if self.outside().is_some() && flow.recovery.ecn == Ecn::Ect1 {
            return Err(Refusal::Flow("it marks its packets ECT(1), and quinn and noq mark them ECT(0)"));
        }
        Ok(())
    }

    /// Whether it is on this machine.
    ///
    /// # Errors
    /// What is missing, and how to install it.
    pub fn find(self) -> Result<(), Refusal> {
        if self == Self::Aioquic { Host::default().begin() } else { Ok(()) }
    }

    /// Whether it can run a scenario: its flows of QUIC, of which there must be one. Those of TCP are simulated beside them on the same links.
    ///
    /// # Errors
    /// The first thing that it cannot do.
    pub fn check_all(self, scenario: &Scenario) -> Result<(), Refusal> {
        let flows = || scenario.flows.iter();
        match flows().next() {
            None => Err(Refusal::NoFlow),
            Some(first) if !flows().any(is_quic) => self.check(first),
            Some(_) => flows().filter(|flow| is_quic(flow)).try_for_each(|flow| self.check(flow)),
        }
    }
}

/// Whether a stack can be in the place of a flow; others are simulated.
pub(crate) fn is_quic(flow: &FlowConfig) -> bool {
    matches!(flow.transport, Transport::Quic { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(name: &str) -> FlowConfig {
        let algorithm = Algorithm::all().into_iter().find(|a| a.name() == name).unwrap();
        FlowConfig { algorithm, ..FlowConfig::default() }
    }

    #[test]
    fn who_can_run_what() {
        for stack in Stack::ALL.into_iter().filter(|stack| stack.is_built_in()) {
            assert_eq!(stack.check(&flow("cubic")), Ok(()));
            let runs_bbr3 = stack.check(&flow("bbr3")).is_ok();
            let obeys_rates = matches!(stack, Stack::Ackclock | Stack::Noq);
            assert_eq!(runs_bbr3, obeys_rates, "{stack:?}");
            let refused = stack.check(&flow("quic-dc")).err().map(|refusal| refusal.to_string());
            if stack == Stack::Ackclock {
                assert_eq!(refused, None);
                continue;
            }
            let reason = format!("quic-dc does not run in {}: ", stack.word());
            assert!(refused.is_some_and(|why| why.starts_with(&reason)), "{reason}");
            let mut large = flow("cubic");
            large.transport = Transport::Quic { datagram: 11_501, header: 37, overhead: 42 };
            let large = stack.check(&large).err().map(|refusal| refusal.to_string());
            assert_eq!(large.is_some(), stack.outside().is_some(), "{large:?}");
            let mut marked = flow("cubic");
            marked.recovery.ecn = Ecn::Ect1;
            assert!(stack.check(&marked).unwrap_err().to_string().starts_with("it marks its packets"));
        }
    }

    /// Their own, by name; the simulator's parameters are not theirs.
    #[test]
    fn who_has_which_of_its_own() {
        for stack in [Stack::Noq, Stack::Quinn].into_iter().filter(|stack| stack.is_built_in()) {
            let own = |name: &str| stack.check(&FlowConfig { own_controller: true, ..flow(name) });
            assert_eq!((own("cubic"), own("new-reno")), (Ok(()), Ok(())));
            let why = own("bbr3").unwrap_err().to_string();
            assert!(why.starts_with(&format!("bbr3 of {} does not run here", stack.word())), "{why}");
        }
    }

    #[test]
    fn who_is_not_there() {
        for stack in Stack::ALL.into_iter().filter(|stack| !stack.is_built_in()) {
            let (refusal, word) = (stack.check(&flow("cubic")).unwrap_err().to_string(), stack.word());
            let sentence = "it needs the feature `";
            assert_eq!(
                refusal,
                format!("this build has no {word}: {sentence}{word}` of the package `ackclock`")
            );
        }
    }
}
