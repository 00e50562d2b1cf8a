//! How much may leave at once, and what lets no more.

use units::Time;

use crate::sender::sending::{SendDecision, Sender};
use crate::sender::sent_packets::Payload;

/// What limits a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The application has nothing more to send.
    Application,
    /// The peer gives no credit for more (RFC 9000 section 4).
    FlowControl,
    /// The congestion window is full.
    Window,
    /// The pacer spreads what the window has room for.
    Pacer,
    /// Three times what came from an address that is not validated has been sent to it (RFC 9000 section 8.1).
    Amplification,
}

/// What may leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// So many packets of the size asked for.
    pub packets: u64,
    /// Why no more: window, pacer or amplification. The application and flow control are the caller's to know.
    pub limit: Limit,
    /// When the pacer lets a packet leave, if it lets none leave now.
    pub at: Option<Time>,
}

impl<T: Payload> Sender<T> {
    /// How many packets of `bytes` may leave now, as often as [`can_send`](Self::can_send) would say [`SendDecision::Now`]: for senders that
    /// hand several to the system at once. A controller that changes its mind as packets leave is asked again only then.
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
        let control = self.control;
        let room = self.window().saturating_sub(self.bytes_in_flight());
        let by_window = if self.config.overshoot { room.div_ceil(bytes) } else { room / bytes };
        let by_pacer = match self.pacing_rate(&control) {
            Some(rate) => self.pacer.burst(now, bytes, rate, control.send_quantum),
            None => u64::MAX,
        };
        let limit = if by_window <= by_pacer { Limit::Window } else { Limit::Pacer };
        let probes = u64::from(self.probes);
        Budget { packets: by_window.min(by_pacer).max(probes), limit, at: None }
    }

    /// The sender sends no more although it might, because of this. Where the window has room, it must not grow for what leaves it unused
    /// (RFC 9002 section 7.8).
    pub fn on_limited(&mut self, by: Limit) {
        if matches!(by, Limit::Application | Limit::FlowControl | Limit::Amplification) {
            self.mark_app_limited();
        }
    }
}
