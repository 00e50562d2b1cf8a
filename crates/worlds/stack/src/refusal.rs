//! Checks which flows the stacks can run.

use std::fmt;

use quic::config::{Invalid, MIN_PACKET_SIZE};
use recovery::{Clock, Exit, Timeout};
use scenario::{Application, FlowConfig, Transport};
use units::Duration;

/// Largest UDP payload, in bytes.
const MOST_DATAGRAM: u32 = 65_527;
/// Largest `max_ack_delay` that a transport parameter can hold: below 2^14 ms (RFC 9000 section
/// 18.2).
const MOST_ACK_DELAY: Duration = Duration::from_millis((1 << 14) - 1);

/// Reason for which a flow cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The scenario has no flow.
    NoFlow,
    /// Unsupported property of the flow, as a clause: `it uses TCP`.
    Flow(&'static str),
    /// Invalid configuration of the endpoints.
    Config(Invalid),
    /// Failure to set up TLS.
    Tls(quic::Error),
    /// Controller that needs more than the stack's congestion control trait offers.
    Controller(adapters::Refusal),
    /// Limitation of a stack, missing software, or failure of its process, as a sentence.
    Stack(String),
    /// Stack that is not part of this build.
    NotBuiltIn(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFlow => f.write_str("the scenario has no flow"),
            Self::Flow(clause) => f.write_str(clause),
            Self::Config(invalid) => invalid.fmt(f),
            Self::Tls(error) => error.fmt(f),
            Self::Controller(refusal) => refusal.fmt(f),
            Self::Stack(why) => f.write_str(why),
            Self::NotBuiltIn(stack) => {
                write!(
                    f,
                    "this build has no {stack}; build it with `--features others`, or with `--features full` for everything"
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

/// Checks whether `ackclock-quic` can run a flow.
///
/// # Errors
/// The first unsupported property of the flow.
pub fn check(flow: &FlowConfig) -> Result<(), Refusal> {
    let Transport::Quic { datagram, .. } = flow.transport else {
        return Err(Refusal::Flow("it uses TCP"));
    };
    let ack_delay = flow.recovery.max_ack_delay.max(flow.ack.max_ack_delay);
    let rules = [
        (datagram <= MOST_DATAGRAM, "its datagrams are larger than the 65527 bytes that UDP can carry"),
        (
            ack_delay <= MOST_ACK_DELAY,
            "its max_ack_delay is longer than the 16383 ms that RFC 9000 section 18.2 allows",
        ),
        (
            datagram as usize >= MIN_PACKET_SIZE,
            "its datagrams are smaller than the 97 bytes that a QUIC packet may need",
        ),
        (flow.ack.jitter == Duration::ZERO, "its ACKs have jitter"),
        (flow.clock == Clock::default(), "its clock has an offset, a drift or a granularity"),
        (flow.recovery.timeout == Timeout::Pto, "it uses TCP's timeouts"),
        (flow.recovery.exit != Exit::NewrenoTcp, "its recovery period ends by TCP sequence numbers"),
        (flow.recovery.ecn_on_repeats, "it leaves retransmissions unmarked, but QUIC retransmits no packets"),
    ];
    let broken = rules.iter().find(|(holds, _)| !holds);
    broken.map_or(Ok(()), |(_, clause)| Err(Refusal::Flow(clause)))
}

/// Checks whether an endpoint that supports only a stream offered all at once can run a flow.
pub(crate) fn check_bulk(flow: &FlowConfig) -> Result<(), Refusal> {
    let clause = match flow.application {
        Application::Media(_) => "it carries media, which this stack does not support here",
        Application::OnOff(_) => "it carries short transfers, which this stack does not support here",
        Application::Bulk if flow.pauses.is_empty() => return Ok(()),
        Application::Bulk => "it has pauses, which this stack does not support here",
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
        let small = Transport::Quic { datagram: 96, header: 37, overhead: 42 };
        let large = Transport::Quic { datagram: 65_528, header: 37, overhead: 42 };
        let with = |recovery| FlowConfig { recovery, ..bulk.clone() };
        let quic = Config::quic();
        for (flow, word) in [
            (with(Config { timeout: Timeout::TlpRto, ..quic.clone() }), "timeouts"),
            (with(Config { exit: Exit::NewrenoTcp, ..quic.clone() }), "sequence numbers"),
            (with(Config { ecn_on_repeats: false, ..quic.clone() }), "retransmissions"),
            (FlowConfig { transport: tcp, ..bulk.clone() }, "TCP"),
            (FlowConfig { transport: small, ..bulk.clone() }, "smaller"),
            (FlowConfig { transport: large, ..bulk.clone() }, "larger"),
            (with(Config { max_ack_delay: Duration::from_secs(20), ..quic.clone() }), "max_ack_delay"),
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
