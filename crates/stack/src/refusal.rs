//! Which flows this stack can run.

use std::fmt;

use quic::config::Invalid;
use recovery::{Clock, Exit, Timeout};
use scenario::{Application, FlowConfig, Transport};
use units::Duration;

/// The smallest UDP payload that a path of QUIC must carry (RFC 9000 section 14), in bytes.
const LEAST_DATAGRAM: u32 = 1200;
/// The largest that UDP carries, in bytes.
const MOST_DATAGRAM: u32 = 65_527;
/// The longest ACK delay that a transport parameter may say: below 2^14 ms (RFC 9000 section 18.2).
const MOST_ACK_DELAY: Duration = Duration::from_millis((1 << 14) - 1);

/// Why a flow cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is none.
    NoFlow,
    /// What the flow is, in a clause: `it is of TCP`.
    Flow(&'static str),
    /// A configuration of the endpoints that breaks a rule.
    Config(Invalid),
    /// TLS cannot begin.
    Tls(quic::Error),
    /// The flow's controller needs what the trait of this stack does not carry.
    Controller(adapters::Refusal),
    /// What a stack cannot do that is not in this program, what is missing for it, or what became of it; in a sentence.
    Outside(String),
    /// This build does not have this stack.
    NotBuiltIn(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFlow => f.write_str("it has no flow"),
            Self::Flow(clause) => f.write_str(clause),
            Self::Config(invalid) => invalid.fmt(f),
            Self::Tls(error) => error.fmt(f),
            Self::Controller(refusal) => refusal.fmt(f),
            Self::Outside(why) => f.write_str(why),
            Self::NotBuiltIn(stack) => {
                write!(
                    f,
                    "this build has no {stack}: it needs the feature `{stack}` of the package `ackclock`"
                )
            }
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::Config(invalid)
    }
}

/// Whether this stack can run a flow.
///
/// # Errors
/// The first thing that it cannot do.
pub fn check(flow: &FlowConfig) -> Result<(), Refusal> {
    let Transport::Quic { datagram, .. } = flow.transport else {
        return Err(Refusal::Flow("it is of TCP"));
    };
    let ack_delay = flow.recovery.max_ack_delay.max(flow.ack.max_ack_delay);
    let rules = [
        (datagram <= MOST_DATAGRAM, "its datagrams are larger than the 65527 bytes that UDP carries"),
        (
            ack_delay <= MOST_ACK_DELAY,
            "its acknowledgements may wait for longer than the 16383 ms of RFC 9000 section 18.2",
        ),
        (datagram >= LEAST_DATAGRAM, "its datagrams are smaller than the 1200 bytes of RFC 9000 section 14"),
        (flow.ack.jitter == Duration::ZERO, "its acknowledgements have jitter"),
        (flow.clock == Clock::default(), "its ends have clocks of their own"),
        (flow.recovery.timeout == Timeout::Pto, "its timeouts are TCP's"),
        (flow.recovery.exit != Exit::NewrenoTcp, "its recovery ends with bytes of the stream, as TCP's"),
        (flow.recovery.ecn_on_repeats, "it marks no repeats, and QUIC repeats no packet"),
    ];
    let broken = rules.iter().find(|(holds, _)| !holds);
    broken.map_or(Ok(()), |(_, clause)| Err(Refusal::Flow(clause)))
}

/// Whether an end that is offered nothing but the whole of a stream can carry what the flow carries.
pub(crate) fn check_bulk(flow: &FlowConfig) -> Result<(), Refusal> {
    let clause = match flow.application {
        Application::Media(_) => "it is media, which this stack does not carry here",
        Application::OnOff(_) => "it is short transfers, which this stack does not carry here",
        Application::Bulk if flow.pauses.is_empty() => return Ok(()),
        Application::Bulk => "it has pauses, which this stack does not make here",
    };
    Err(Refusal::Flow(clause))
}

#[cfg(test)]
mod tests {
    use recovery::Config;
    use units::Time;

    use super::*;

    #[test]
    fn what_cannot_be_run() {
        let bulk = FlowConfig::default();
        assert_eq!(check(&bulk), Ok(()));
        let tcp = Transport::Tcp { mss: 1448, overhead: 52 };
        let small = Transport::Quic { datagram: 1199, header: 37, overhead: 42 };
        let large = Transport::Quic { datagram: 65_528, header: 37, overhead: 42 };
        let with = |recovery| FlowConfig { recovery, ..bulk.clone() };
        let quic = Config::quic();
        for (flow, word) in [
            (with(Config { timeout: Timeout::TlpRto, ..quic.clone() }), "timeouts"),
            (with(Config { exit: Exit::NewrenoTcp, ..quic.clone() }), "bytes of the stream"),
            (with(Config { ecn_on_repeats: false, ..quic.clone() }), "repeats"),
            (FlowConfig { transport: tcp, ..bulk.clone() }, "TCP"),
            (FlowConfig { transport: small, ..bulk.clone() }, "smaller"),
            (FlowConfig { transport: large, ..bulk.clone() }, "larger"),
            (with(Config { max_ack_delay: Duration::from_secs(20), ..quic.clone() }), "wait for longer"),
        ] {
            let refusal = check(&flow).unwrap_err();
            assert!(refusal.to_string().contains(word), "{refusal}");
        }
    }

    #[test]
    fn what_needs_more_than_a_whole_stream() {
        let bulk = FlowConfig::default();
        assert_eq!(check_bulk(&bulk), Ok(()));
        let paused = FlowConfig { pauses: vec![(Time::ZERO, Time::from_millis(1))], ..bulk };
        let refusal = check_bulk(&paused).unwrap_err();
        assert!(refusal.to_string().contains("pauses"), "{refusal}");
    }
}
