//! Whose stack is in the places of flows.

use adapters::Trait;
use congestion::Algorithm;
use scenario::FlowConfig;
use units::Ecn;

use crate::refusal::{self, Refusal};

/// A QUIC stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stack {
    /// Ours.
    Kneepoint,
    /// noq (`noq-proto`), unmodified, with our controllers behind its trait.
    Noq,
    /// quinn (`quinn-proto`), the same.
    Quinn,
}

impl Stack {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Kneepoint, Self::Noq, Self::Quinn];

    /// Its name.
    pub fn word(self) -> &'static str {
        self.outside().map_or("kneepoint", Trait::stack)
    }

    /// Its trait of controllers, if it is not ours.
    pub fn outside(self) -> Option<Trait> {
        match self {
            Self::Kneepoint => None,
            Self::Noq => Some(Trait::Noq),
            Self::Quinn => Some(Trait::Quinn),
        }
    }

    /// Whether this build has it.
    pub fn is_built_in(self) -> bool {
        match self {
            Self::Kneepoint => true,
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
        refusal::check(flow)?;
        let Some(outside) = self.outside() else { return Ok(()) };
        if !self.is_built_in() {
            return Err(Refusal::NotBuiltIn(self.word()));
        }
        if flow.recovery.ecn == Ecn::Ect1 {
            return Err(Refusal::Flow("it marks its packets ECT(1), and quinn and noq mark them ECT(0)"));
        }
        let algorithm: &Algorithm = &flow.algorithm;
        adapters::check(algorithm, outside).map_err(Refusal::Controller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(name: &str) -> FlowConfig {
        let algorithm = Algorithm::all().into_iter().find(|a| a.name() == name).unwrap();
        FlowConfig { algorithm, ..FlowConfig::default() }
    }

    #[cfg(all(feature = "noq", feature = "quinn"))]
    #[test]
    fn who_can_run_what() {
        for stack in Stack::ALL {
            assert_eq!(stack.check(&flow("cubic")), Ok(()));
        }
        assert_eq!(Stack::Noq.check(&flow("bbr3")), Ok(()));
        let refusal = Stack::Quinn.check(&flow("bbr3")).unwrap_err().to_string();
        assert!(refusal.starts_with("bbr3 does not run in quinn: it works on"), "{refusal}");
        let refusal = Stack::Noq.check(&flow("quic-dc")).unwrap_err().to_string();
        assert!(refusal.starts_with("quic-dc does not run in noq: it works on receive times"), "{refusal}");
        assert_eq!(Stack::Kneepoint.check(&flow("quic-dc")), Ok(()));
        let mut marked = flow("cubic");
        marked.recovery.ecn = Ecn::Ect1;
        assert!(Stack::Noq.check(&marked).unwrap_err().to_string().contains("ECT(1)"));
    }

    #[cfg(not(any(feature = "noq", feature = "quinn")))]
    #[test]
    fn who_is_not_there() {
        let refusal = Stack::Noq.check(&flow("cubic")).unwrap_err().to_string();
        assert_eq!(refusal, "this build has no noq: it needs the feature `noq` of the package `kneepoint`");
    }
}
