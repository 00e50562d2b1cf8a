//! Effects of an ACK or a timer, and the state kept while an ACK is processed.

use congestion::{Cause, Detection};
use units::{Duration, Time};

use crate::ecn::EcnCounts;
use crate::feed::Batch;
use crate::sender::acked_ranges::Span;
use crate::sender::late::DeclaredLost;
use crate::sender::loss_detection::Found;
use crate::sender::space::SpaceId;

/// Effects of an ACK or a timer. Reused between calls, of one sender or several.
#[derive(Clone, Debug)]
pub struct AckEffects<T> {
    /// Payloads declared lost, which must be sent again, with packet number and rule, ascending.
    pub lost: Vec<(u64, Detection, T)>,
    /// Packets declared lost earlier that have arrived. Their payloads need not be sent again.
    pub late: Vec<(u64, T)>,
    /// Acknowledged payloads with packet number, ascending. Collected only by
    /// [`with_acked`](Self::with_acked).
    pub acked: Vec<(u64, T)>,
    /// The packet number space of these packets.
    pub space: SpaceId,
    /// The RTT sample, if there was one.
    pub rtt: Option<Duration>,
    /// The congestion event, if there was one.
    pub congestion: Option<Cause>,
    /// A probe must be sent in [`space`](Self::space). [`can_send`](crate::Sender::can_send) allows
    /// it whatever the window.
    pub probe: bool,
    pub(super) keeps_acked: bool,
    pub(super) scratch: Scratch<T>,
}

/// State of the current ACK. It is part of the effects, which senders can share, so that each
/// sender does not need the memory.
#[derive(Clone, Debug)]
pub(super) struct Scratch<T> {
    /// Packets to report to the controller.
    pub(super) batch: Batch,
    pub(super) late: Vec<DeclaredLost<T>>,
    pub(super) spans: Vec<Span>,
    pub(super) covered: Vec<u64>,
    pub(super) found: Found,
    /// Newly acknowledged packets, by the mark they were sent with.
    pub(super) ecn: EcnCounts,
    /// Send time of the oldest newly acknowledged packet that was not a repeat.
    pub(super) oldest: Option<Time>,
    /// The packet whose loss a tail loss probe repaired.
    pub(super) repaired: Option<u64>,
    /// The ACK newly acknowledged packets that are not reported to the controller.
    pub(super) unreported: bool,
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
            unreported: false,
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
    /// Creates effects that also collect acknowledged payloads, for stream buffers.
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
        self.scratch.unreported = false;
    }
}

/// Contents of an ACK other than packet numbers.
pub(super) struct AckContext<'a> {
    pub(super) ack_delay: Duration,
    pub(super) ecn: Option<&'a EcnCounts>,
    /// All stream bytes before this one have arrived. Only `Exit::NewrenoTcp` uses it.
    pub(super) cumulative: u64,
    /// `SND.UNA` advances. In QUIC: the oldest packet arrives, or any packet if there is no
    /// retransmission timer.
    pub(super) advanced: bool,
    /// Serial of the packet that triggered the ACK: the newest, or the one that a TCP
    /// acknowledgement echoes.
    pub(super) answers: u64,
    pub(super) is_tcp: bool,
    /// The ACK yields an RTT sample if it raises the largest acknowledged packet.
    pub(super) samples: bool,
    pub(super) prior_in_flight: u64,
    pub(super) prior_largest: Option<u64>,
}
