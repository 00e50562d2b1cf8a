//! Controllers that a stack's trait cannot carry.

use std::fmt;

use recovery::congestion::{Algorithm, Needs, PathInfo};

/// A stack's congestion-controller trait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trait {
    /// noq-proto 1.4, `congestion::Controller`.
    Noq,
    /// quinn-proto 0.11, `congestion::Controller`.
    Quinn,
}

impl Trait {
    /// Returns the name of the stack.
    pub fn stack(self) -> &'static str {
        match self {
            Self::Noq => "noq",
            Self::Quinn => "quinn",
        }
    }

    /// Returns the first of these needs that the trait does not carry.
    fn missing(self, needs: Needs) -> Option<MissingSignal> {
        if needs.receive_times || needs.every_receive_time {
            return Some(MissingSignal::ReceiveTimes);
        }
        if needs.mark_counts {
            return Some(MissingSignal::MarkCounts);
        }
        (needs.rate_samples && self == Self::Quinn).then_some(MissingSignal::RateSamples)
    }
}

/// A signal that a controller needs and a trait does not carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingSignal {
    /// Times at which packets arrived, on the peer's clock (draft-ietf-quic-receive-ts).
    ReceiveTimes,
    /// Number of packets marked CE.
    MarkCounts,
    /// Numbers of acknowledged and lost packets, from which delivery-rate samples are computed, and
    /// a pacer that follows a rate.
    RateSamples,
}

impl fmt::Display for MissingSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReceiveTimes => "needs receive times, and the stack's trait does not carry them",
            Self::MarkCounts => {
                "needs the number of CE marks, and the stack's trait only reports that there are some"
            }
            Self::RateSamples => {
                "needs delivery-rate samples and a pacing rate, and the stack's trait carries neither"
            }
        })
    }
}

/// Error for a controller that a stack cannot run: `bbr3 does not run in quinn: it needs ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// The stack's trait.
    pub stack: Trait,
    /// The missing signal.
    pub missing: MissingSignal,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not run in {}: it {}", self.algorithm, self.stack.stack(), self.missing)
    }
}

impl std::error::Error for Refusal {}

/// Checks that a stack's trait carries every signal that an algorithm needs.
///
/// # Errors
/// Returns the first missing signal.
pub fn check(algorithm: &Algorithm, stack: Trait) -> Result<(), Refusal> {
    let needs = algorithm.build(PathInfo::default()).needs();
    match stack.missing(needs) {
        Some(missing) => Err(Refusal { algorithm: algorithm.name(), stack, missing }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(stack: Trait) -> Vec<(&'static str, MissingSignal)> {
        let all = Algorithm::all();
        let why = |a: &Algorithm| check(a, stack).err().map(|refusal| (a.name(), refusal.missing));
        all.iter().filter_map(why).collect()
    }

    /// A complete list by name, so that a new controller that a stack cannot carry shows up here.
    #[test]
    fn whom_each_refuses() {
        use MissingSignal::{MarkCounts, RateSamples, ReceiveTimes};
        let mut noq = vec![
            ("quic-dc", ReceiveTimes),
            ("bbr1-ecn-gated", MarkCounts),
            ("dccc", ReceiveTimes),
            ("ledbat", ReceiveTimes),
            ("dctcp", MarkCounts),
            ("prague", MarkCounts),
            ("bbr2-ecn-gated", MarkCounts),
            ("bbr3-ecn-gated", MarkCounts),
            ("c4", MarkCounts),
            ("scream-v2", ReceiveTimes),
            ("nada", ReceiveTimes),
            ("nada-2013", ReceiveTimes),
            ("gcc", ReceiveTimes),
            ("gcc-simplified", ReceiveTimes),
        ];
        let sorted = |mut all: Vec<(&'static str, MissingSignal)>| {
            all.sort_by_key(|refused| refused.0);
            all
        };
        assert_eq!(sorted(refused(Trait::Noq)), sorted(noq.clone()));
        let sampled = [
            "cubic-picoquic",
            "cubic-ecn-gated",
            "bbr1-picoquic",
            "bbr1",
            "bbr2",
            "bbr2-mvfst",
            "bbr3",
            "tfrc",
        ];
        noq.extend(sampled.map(|name| (name, RateSamples)));
        assert_eq!(sorted(refused(Trait::Quinn)), sorted(noq));
    }

    #[test]
    fn a_sentence_with_both_names() {
        let bbr = Algorithm::all().into_iter().find(|a| a.name() == "bbr3").unwrap();
        let text = check(&bbr, Trait::Quinn).unwrap_err().to_string();
        assert!(text.starts_with("bbr3 does not run in quinn: it needs delivery-rate samples"), "{text}");
    }
}
