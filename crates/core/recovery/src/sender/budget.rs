//! The number of packets that can be sent at once, and the limit that applies.

use units::Time;

use crate::sender::sending::{SendDecision, Sender};
use crate::sender::sent_packets::Payload;

/// A limit on sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The application has no more data to send.
    Application,
    /// The peer grants no more credit (RFC 9000 section 4).
    FlowControl,
    /// The congestion window is full.
    Window,
    /// The pacer delays packets that fit into the window.
    Pacer,
    /// Three times the bytes received from an unvalidated address have been sent to it (RFC 9000
    /// section 8.1).
    Amplification,
}

/// Packets that can be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Number of packets of the requested size.
    pub packets: u64,
    /// The limit that applies: window, pacer or amplification. Only the caller knows about the
    /// application and flow control.
    pub limit: Limit,
    /// Time at which the pacer allows a packet, if it allows none now.
    pub at: Option<Time>,
}

impl<T: Payload> Sender<T> {
    /// Returns how many packets of `bytes` can be sent now, for senders that pass several to the
    /// system at once.
    ///
    /// The number is how often [`can_send`](Self::can_send) would return [`SendDecision::Now`]. It
    /// does not account for a controller whose output changes as packets are sent.
    pub fn budget(&mut self, now: Time, bytes: u64) -> Budget {
        if self.spaces.as_ref().is_some_and(|spaces| spaces.amplification_limited) {
            return Budget { packets: 0, limit: Limit::Amplification, at: None };
        }
        match self.can_send(now, bytes) {
            SendDecision::WindowFull => Budget { packets: 0, limit: Limit::Window, at: None },
            SendDecision::At(at) => Budget { packets: 0, limit: Limit::Pacer, at: Some(at) },
            SendDecision::Now => self.burst(now, bytes.max(1)),
        }
    }

    fn burst(&mut self, now: Time, bytes: u64) -> Budget {
        let room = self.window().saturating_sub(self.bytes_in_flight());
        let by_window = if self.config.overshoot { room.div_ceil(bytes) } else { room / bytes };
        let by_pacer = self.pacing.burst(now, bytes, &self.config, &self.control, self.round_trip.rtt());
        let limit = if by_window <= by_pacer { Limit::Window } else { Limit::Pacer };
        let probes = u64::from(self.allowance.probes());
        Budget { packets: by_window.min(by_pacer).max(probes), limit, at: None }
    }

    /// Records that this limit stops the sender. For limits other than window and pacer, an unused
    /// window must not grow (RFC 9002 section 7.8).
    pub fn on_limited(&mut self, by: Limit) {
        if matches!(by, Limit::Application | Limit::FlowControl | Limit::Amplification) {
            self.mark_app_limited();
        }
    }
}
