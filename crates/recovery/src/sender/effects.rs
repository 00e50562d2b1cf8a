//! What came of an ACK or a timer, and what is known of an ACK while it is processed.

use congestion::{Cause, Detection};
use units::{Duration, Time};

use crate::ecn::EcnCounts;
use crate::feed::Batch;
use crate::sender::acked_ranges::Span;
use crate::sender::late::Verdict;
use crate::sender::loss_detection::Found;
use crate::sender::space::SpaceId;

/// What came of an ACK or a timer. Reused between calls, of one sender or of many.
#[derive(Clone, Debug)]
pub struct AckEffects<T> {
    /// Payloads declared lost, to be sent again, with packet number and rule; ascending.
    pub lost: Vec<(u64, Detection, T)>,
    /// Packets declared lost before that have arrived after all: their payloads need not be sent again.
    pub late: Vec<(u64, T)>,
    /// Payloads acknowledged, with packet number, ascending, for who [asks](Self::with_acked) for them.
    pub acked: Vec<(u64, T)>,
    /// The packet number space that all of this is of.
    pub space: SpaceId,
    /// The RTT sample, if there was one.
    pub rtt: Option<Duration>,
    /// The congestion event, if there was one.
    pub congestion: Option<Cause>,
    /// A probe must be sent, in [`space`](Self::space): [`can_send`](crate::Sender::can_send) lets it leave whatever the window says.
    pub probe: bool,
    pub(super) keeps_acked: bool,
    pub(super) scratch: Scratch<T>,
}

/// What is known of the ACK at hand. It is in the effects, which senders can share, so that its memory is not in each of them.
#[derive(Clone, Debug)]
pub(super) struct Scratch<T> {
    /// What is reported to the controller.
    pub(super) batch: Batch,
    pub(super) late: Vec<Verdict<T>>,
    pub(super) spans: Vec<Span>,
    pub(super) covered: Vec<u64>,
    pub(super) found: Found,
    /// Of the newly acknowledged packets, as they were sent.
    pub(super) ecn: EcnCounts,
    /// When the oldest newly acknowledged packet left that was no repeat.
    pub(super) oldest: Option<Time>,
    /// The packet whose loss a tail loss probe repaired.
    pub(super) repaired: Option<u64>,
    /// Something was newly acknowledged that the controller hears nothing of.
    pub(super) aside: bool,
}

impl<T> Default for AckEffects<T> {
    fn default() -> Self {
        let scratch = Scratch {
            batch: Batch::default(),
            late: Vec::new(),
            spans: Vec::new(),
            covered: Vec::new(),
            found: Found::default(),
            ecn: EcnCounts::default(),
            oldest: None,
            repaired: None,
            aside: false,
        };
        Self {
            lost: Vec::new(),
            late: Vec::new(),
            acked: Vec::new(),
            space: SpaceId::Application,
            rtt: None,
            congestion: None,
            probe: false,
            keeps_acked: false,
            scratch,
        }
    }
}

impl<T> AckEffects<T> {
    /// That also collect what is acknowledged: stream buffers want to know.
    pub fn with_acked() -> Self {
        Self { keeps_acked: true, ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        self.lost.clear();
        self.late.clear();
        if self.keeps_acked {
            self.acked.clear();
        }
        self.rtt = None;
        self.congestion = None;
        self.probe = false;
        self.scratch.batch.clear();
        self.scratch.late.clear();
        self.scratch.ecn = EcnCounts::default();
        self.scratch.oldest = None;
        self.scratch.repaired = None;
        self.scratch.aside = false;
    }
}

/// What an ACK says besides packet numbers.
pub(super) struct AckContext<'a> {
    pub(super) ack_delay: Duration,
    pub(super) ecn: Option<&'a EcnCounts>,
    /// All stream bytes before this one have arrived (matters to `Exit::NewrenoTcp` alone).
    pub(super) cumulative: u64,
    /// `SND.UNA` advances; in QUIC the oldest packet arrives, or any where there is no retransmission timer.
    pub(super) advanced: bool,
    /// Serial of the packet that it answers: the newest, or the one that a TCP acknowledgement echoes.
    pub(super) answers: u64,
    pub(super) is_tcp: bool,
    /// It tells an RTT if it raises the largest acknowledged packet.
    pub(super) samples: bool,
    pub(super) prior_in_flight: u64,
    pub(super) prior_largest: Option<u64>,
}
