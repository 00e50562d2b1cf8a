//! Which controllers a stack's trait cannot carry.

use std::fmt;

use recovery::congestion::{Algorithm, Needs, PathInfo};

/// A stack's trait of congestion controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trait {
    /// noq-proto 1.4, `congestion::Controller`.
    Noq,
    /// quinn-proto 0.11, `congestion::Controller`.
    Quinn,
}

impl Trait {
    /// The stack's name.
    pub fn stack(self) -> &'static str {
        match self {
            Self::Noq => "noq",
            Self::Quinn => "quinn",
        }
    }

    /// What of these needs the trait does not carry; the first one.
    fn lacks(self, needs: Needs) -> Option<Lack> {
        if needs.receive_times || needs.every_receive_time {
            return Some(Lack::ReceiveTimes);
        }
        if needs.mark_counts {
            return Some(Lack::MarkCounts);
        }
        (needs.rate_samples && self == Self::Quinn).then_some(Lack::RateSamples)
    }
}

/// What a trait does not carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// When packets arrived, on the peer's clock (draft-ietf-quic-receive-ts).
    ReceiveTimes,
    /// How many packets were marked CE.
    MarkCounts,
    /// Which packets were acknowledged and lost, which delivery-rate samples are made of; and the pacer obeys no rate.
    RateSamples,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReceiveTimes => "works on receive times, and the stack's trait has none",
            Self::MarkCounts => {
                "compares numbers of CE marks, and the stack's trait says no more than that there are some"
            }
            Self::RateSamples => {
                "works on delivery-rate samples and a pacing rate, and the stack's trait names no packets and its pacer obeys no rate"
            }
        })
    }
}

/// A controller that a stack cannot run, and why: `bbr3 does not run in quinn: it works on ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// Where.
    pub stack: Trait,
    /// What it needs.
    pub lack: Lack,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not run in {}: it {}", self.algorithm, self.stack.stack(), self.lack)
    }
}

impl std::error::Error for Refusal {}

/// Whether a stack's trait carries all that an algorithm needs.
///
/// # Errors
/// What it does not carry.
pub fn check(algorithm: &Algorithm, stack: Trait) -> Result<(), Refusal> {
    let needs = algorithm.build(PathInfo::default()).needs();
    match stack.lacks(needs) {
        Some(lack) => Err(Refusal { algorithm: algorithm.name(), stack, lack }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(stack: Trait) -> Vec<(&'static str, Lack)> {
        let all = Algorithm::all();
        let why = |a: &Algorithm| check(a, stack).err().map(|refusal| (a.name(), refusal.lack));
        all.iter().filter_map(why).collect()
    }

    /// By name: a new controller that one of them cannot carry is seen here.
    #[test]
    fn whom_each_refuses() {
        use Lack::{MarkCounts, RateSamples, ReceiveTimes};
        let mut noq = vec![
            ("quic-dc", ReceiveTimes),
            ("bbr1-ecn-gated", MarkCounts),
            ("dccc", ReceiveTimes),
            ("ledbat", ReceiveTimes),
            ("nada", ReceiveTimes),
            ("nada-2013", ReceiveTimes),
            ("gcc", ReceiveTimes),
            ("gcc-simplified", ReceiveTimes),
        ];
        assert_eq!(refused(Trait::Noq), noq);
        let sampled =
            ["cubic-picoquic", "cubic-ecn-gated", "bbr1-picoquic", "bbr1", "bbr2", "bbr2-mvfst", "bbr3"];
        noq.extend(sampled.map(|name| (name, RateSamples)));
        let mut quinn = refused(Trait::Quinn);
        noq.sort_by_key(|r| r.0);
        quinn.sort_by_key(|r| r.0);
        assert_eq!(quinn, noq);
    }

    #[test]
    fn a_sentence_with_both_names() {
        let bbr = Algorithm::all().into_iter().find(|a| a.name() == "bbr3").unwrap();
        let text = check(&bbr, Trait::Quinn).unwrap_err().to_string();
        assert!(text.starts_with("bbr3 does not run in quinn: it works on delivery-rate samples"), "{text}");
    }
}
