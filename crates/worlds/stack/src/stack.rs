//! The QUIC stacks that can replace simulated flows.

use adapters::Trait;
use congestion::Algorithm;
use scenario::{FlowConfig, Scenario, Transport};
use units::Ecn;

use crate::aioquic::{Host, names};
use crate::builtin_cc;
use crate::refusal::{self, Refusal};

/// Smallest datagrams of quinn, noq and aioquic, in bytes: those that every QUIC path must carry
/// (RFC 9000 section 14).
const LEAST_OF_OTHERS: u32 = 1200;
/// Largest datagram with which handshakes of quinn 0.11 and noq 1.4 complete, in bytes. With 11 600
/// bytes they do not. The limit was found by trial, and its cause is unknown.
const MOST_OF_OTHERS: u32 = 11_500;

/// A QUIC stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stack {
    /// `ackclock-quic`.
    Ackclock,
    /// noq (`noq-proto`), unmodified, with our controllers behind its congestion control trait.
    Noq,
    /// quinn (`quinn-proto`), unmodified, with our controllers behind its congestion control trait.
    Quinn,
    /// aioquic, unmodified, in a child process, with its own controllers.
    Aioquic,
}

impl Stack {
    /// All stacks.
    pub const ALL: [Self; 4] = [Self::Ackclock, Self::Noq, Self::Quinn, Self::Aioquic];

    /// Returns the stack's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ackclock => "ackclock",
            Self::Noq => Trait::Noq.stack(),
            Self::Quinn => Trait::Quinn.stack(),
            Self::Aioquic => "aioquic",
        }
    }

    /// Returns the congestion control trait by which our controllers run in another stack.
    pub fn controller_trait(self) -> Option<Trait> {
        match self {
            Self::Ackclock | Self::Aioquic => None,
            Self::Noq => Some(Trait::Noq),
            Self::Quinn => Some(Trait::Quinn),
        }
    }

    /// Reports whether this build includes the stack.
    pub fn is_built_in(self) -> bool {
        match self {
            Self::Ackclock | Self::Aioquic => true,
            Self::Noq => cfg!(feature = "noq"),
            Self::Quinn => cfg!(feature = "quinn"),
        }
    }

    /// Checks whether the stack can run a flow. Another stack brings its own loss recovery, pacing
    /// and acknowledgements, so the flow's settings for those do not apply.
    ///
    /// # Errors
    /// The first unsupported property of the flow.
    pub fn check(self, flow: &FlowConfig) -> Result<(), Refusal> {
        self.check_receiver(flow)?;
        let algorithm: &Algorithm = &flow.algorithm;
        if self != Self::Ackclock
            && let Some(key) = flow.recovery.key_of_ours()
        {
            let word = self.word();
            return Err(Refusal::Stack(format!("{word} does not obey `recovery.{key}`; remove it")));
        }
        match (self, self.controller_trait()) {
            (Self::Aioquic, _) if flow.recovery.ecn != Ecn::NotEct => {
                Err(Refusal::Flow("it marks its packets for ECN, but aioquic marks none"))
            }
            (Self::Aioquic, _) => names::aioquic_name(algorithm).map(drop).map_err(Refusal::Stack),
            (_, Some(_)) if flow.own_controller => {
                builtin_cc::find(algorithm, self.word()).map(drop).map_err(Refusal::Stack)
            }
            (_, Some(controller_trait)) => {
                adapters::check(algorithm, controller_trait).map_err(Refusal::Controller)
            }
            (_, None) => Ok(()),
        }
    }

    /// Checks whether the stack can receive what a flow sends.
    ///
    /// # Errors
    /// The first unsupported property of the flow.
    pub(crate) fn check_receiver(self, flow: &FlowConfig) -> Result<(), Refusal> {
        refusal::check(flow)?;
        if !self.is_built_in() {
            return Err(Refusal::NotBuiltIn(self.word()));
        }
        if self != Self::Ackclock && flow.transport.mds() < LEAST_OF_OTHERS {
            let why = format!("{} cannot send datagrams below {LEAST_OF_OTHERS} bytes", self.word());
            return Err(Refusal::Stack(why));
        }
        if self == Self::Aioquic {
            refusal::check_bulk(flow)?;
        }
        if self == Self::Aioquic && !flow.rebind.is_empty() {
            return Err(Refusal::Flow(
                "its client address is rebound, but aioquic runs here with one address per endpoint",
            ));
        }
        if self.controller_trait().is_some() && flow.transport.mds() > MOST_OF_OTHERS {
            return Err(Refusal::Flow(
                "its datagrams are larger than 11500 bytes, and handshakes of quinn and noq do not complete with them",
            ));
        }
        if self.controller_trait().is_some() && flow.recovery.ecn == Ecn::Ect1 {
            return Err(Refusal::Flow("it marks its packets ECT(1), but quinn and noq use ECT(0)"));
        }
        Ok(())
    }

    /// Checks whether the stack is available on this machine.
    ///
    /// # Errors
    /// The missing part, and how to install it.
    pub fn find(self) -> Result<(), Refusal> {
        if self == Self::Aioquic { Host::default().start() } else { Ok(()) }
    }

    /// Checks whether the stack can run all QUIC flows of a scenario. There must be at least one.
    /// TCP flows are simulated on the same links.
    ///
    /// # Errors
    /// The first unsupported property of a flow.
    pub fn check_scenario(self, scenario: &Scenario) -> Result<(), Refusal> {
        let flows = || scenario.flows.iter();
        match flows().next() {
            None => Err(Refusal::NoFlow),
            Some(first) if !flows().any(is_quic) => self.check(first),
            Some(_) => flows().filter(|flow| is_quic(flow)).try_for_each(|flow| self.check(flow)),
        }
    }
}

/// Reports whether a stack can replace a flow. Other flows are simulated.
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
            let mut small = flow("cubic");
            small.transport = Transport::Quic { datagram: 1199, header: 37, overhead: 42 };
            let small = stack.check(&small).err().map(|refusal| refusal.to_string());
            let why = format!("{} cannot send datagrams below 1200 bytes", stack.word());
            assert_eq!(small, (stack != Stack::Ackclock).then_some(why));
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
            assert_eq!(large.is_some(), stack.controller_trait().is_some(), "{large:?}");
            let mut bounded = flow("cubic");
            bounded.recovery.max_pto = Some(units::Duration::from_secs(5));
            let refused = stack.check(&bounded).unwrap_err().to_string();
            assert!(refused.ends_with("does not obey `recovery.max-pto`; remove it"), "{refused}");
            let mut marked = flow("cubic");
            marked.recovery.ecn = Ecn::Ect1;
            assert!(stack.check(&marked).unwrap_err().to_string().starts_with("it marks its packets"));
        }
    }

    /// The built-in controllers run by name. They do not take the simulator's parameters.
    #[test]
    fn who_has_which_of_its_own() {
        for stack in [Stack::Noq, Stack::Quinn].into_iter().filter(|stack| stack.is_built_in()) {
            let own = |name: &str| stack.check(&FlowConfig { own_controller: true, ..flow(name) });
            assert_eq!((own("cubic"), own("new-reno")), (Ok(()), Ok(())));
            let why = own("bbr3").unwrap_err().to_string();
            assert!(
                why.starts_with(&format!(
                    "the random numbers of {}'s own bbr3 cannot be seeded",
                    stack.word()
                )),
                "{why}"
            );
        }
    }

    #[test]
    fn who_is_not_there() {
        for stack in Stack::ALL.into_iter().filter(|stack| !stack.is_built_in()) {
            let (refusal, word) = (stack.check(&flow("cubic")).unwrap_err().to_string(), stack.word());
            assert!(
                refusal.starts_with(&format!("this build has no {word}; build it with `--features others`")),
                "{refusal}"
            );
        }
    }
}
