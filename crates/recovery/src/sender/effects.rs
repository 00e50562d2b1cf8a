//! What came of an ACK or a timer, and what is known of an ACK while it is processed.

use congestion::{AckedPacket, Cause, Detection, LostPacket};
use units::{Duration, Time};

use crate::ecn::EcnCounts;
use crate::sender::acked_ranges::Span;
use crate::sender::late::Verdict;
use crate::sender::loss_detection::Found;

/// What came of an ACK or a timer. Reused between calls, of one sender or of many.
#[derive(Clone, Debug)]
pub struct AckEffects<T> {
    /// Payloads declared lost, to be sent again, with packet number and rule; ascending.
    pub lost: Vec<(u64, Detection, T)>,
    /// Packets declared lost before that have arrived after all: their payloads need not be sent again.
    pub late: Vec<(u64, T)>,
    /// The RTT sample, if there was one.
    pub rtt: Option<Duration>,
    /// The congestion event, if there was one.
    pub congestion: Option<Cause>,
    /// A probe must be sent: [`can_send`](crate::Sender::can_send) lets it leave whatever the window says.
    pub probe: bool,
    pub(super) scratch: Scratch<T>,
}

/// What is known of the ACK at hand. It is in the effects, which senders can share, so that its memory is not in each of them.
#[derive(Clone, Debug)]
pub(super) struct Scratch<T> {
    pub(super) acked: Vec<AckedPacket>,
    pub(super) lost: Vec<LostPacket>,
    pub(super) late: Vec<Verdict<T>>,
    pub(super) spans: Vec<Span>,
    pub(super) covered: Vec<u64>,
    pub(super) found: Found,
    pub(super) summary: AckSummary,
}

impl<T> Default for AckEffects<T> {
    fn default() -> Self {
        let scratch = Scratch {
            acked: Vec::new(),
            lost: Vec::new(),
            late: Vec::new(),
            spans: Vec::new(),
            covered: Vec::new(),
            found: Found::default(),
            summary: AckSummary::default(),
        };
        Self { lost: Vec::new(), late: Vec::new(), rtt: None, congestion: None, probe: false, scratch }
    }
}

impl<T> AckEffects<T> {
    pub(super) fn clear(&mut self) {
        self.lost.clear();
        self.late.clear();
        self.rtt = None;
        self.congestion = None;
        self.probe = false;
        self.scratch.acked.clear();
        self.scratch.lost.clear();
        self.scratch.late.clear();
        self.scratch.summary = AckSummary::default();
    }
}

/// What one ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckSummary {
    pub(super) bytes: u64,
    /// The part of `bytes` that may open the window.
    pub(super) growth: u64,
    pub(super) ecn: EcnCounts,
    pub(super) app_limited: bool,
    /// Bytes that had been declared lost.
    pub(super) late: u64,
    /// The window was full while one of these packets was in flight.
    pub(super) window_filled: bool,
    /// The newest packet that is known to have arrived, and when it left.
    pub(super) newest: Option<(u64, Time)>,
    /// When the oldest of them left that was no repeat.
    pub(super) oldest: Option<Time>,
    /// The packet whose loss a tail loss probe repaired.
    pub(super) repaired: Option<u64>,
}

/// What an ACK says besides packet numbers.
pub(super) struct AckContext<'a> {
    pub(super) ack_delay: Duration,
    pub(super) ecn: Option<&'a EcnCounts>,
    /// All stream bytes before this one have arrived (matters to `Exit::NewrenoTcp` alone).
    pub(super) cumulative: u64,
    /// `SND.UNA` advances; in QUIC the oldest packet arrives, or any where there is no retransmission timer.
    pub(super) advanced: bool,
    /// The packet that it answers: the newest, or the one that a TCP acknowledgement echoes.
    pub(super) answers: u64,
    pub(super) is_tcp: bool,
    pub(super) prior_in_flight: u64,
    pub(super) prior_largest: Option<u64>,
}
