//! What a laboratory may listen to: every packet sent and received, acknowledged, lost, and every congestion event.

use recovery::SpaceId;
use recovery::congestion::{Cause, Detection};
use units::{Duration, Ecn, Time};

use crate::connection::contents::Item;
use crate::level::Level;
use crate::wire::frame::Frame;

/// One thing that happened, with what qlog wants to know of it.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// A packet left.
    Sent {
        /// Its encryption level.
        level: Level,
        /// Its number.
        number: u64,
        /// The whole packet, in bytes.
        bytes: u64,
        /// The mark of its datagram.
        ecn: Ecn,
        /// It is in flight until it is acknowledged or lost.
        in_flight: bool,
        /// What it carried besides PADDING.
        items: &'a [Item],
    },
    /// An ACK was written into the packet that is [`Observation::Sent`] next.
    Acknowledges {
        /// What it says, ascending.
        ranges: &'a [(u64, u64)],
        /// Its ACK Delay, as the frame has it.
        delay: u64,
    },
    /// A packet was opened and processed.
    Received {
        /// Its encryption level.
        level: Level,
        /// Its number.
        number: u64,
        /// The whole packet, in bytes.
        bytes: u64,
        /// The mark of its datagram.
        ecn: Ecn,
    },
    /// A frame of a packet that is being processed; [`Observation::Received`] follows its packet's last.
    Frame(&'a Frame<'a>),
    /// A packet was acknowledged.
    Acked {
        /// Its space.
        space: SpaceId,
        /// Its number.
        number: u64,
    },
    /// A packet was declared lost.
    Lost {
        /// Its space.
        space: SpaceId,
        /// Its number.
        number: u64,
        /// By which rule.
        by: Detection,
    },
    /// A packet that was declared lost has been acknowledged.
    Spurious {
        /// Its space.
        space: SpaceId,
        /// Its number.
        number: u64,
    },
    /// The controller was told of congestion.
    Congestion(Cause),
    /// What the sender allows itself, after each ACK and each timer.
    Metrics {
        /// The congestion window, in bytes.
        cwnd: u64,
        /// Bytes in flight.
        bytes_in_flight: u64,
        /// Smoothed round-trip time.
        smoothed_rtt: Duration,
        /// The sample that this ACK brought.
        latest_rtt: Option<Duration>,
        /// What the controller paces at, in bytes a second, where it says so itself.
        pacing_rate: Option<f64>,
    },
    /// The keys of 1-RTT packets were updated so many times.
    Keys(u64),
}

/// Listens to one connection.
pub trait Tap: Send {
    /// Something happened.
    fn on(&mut self, now: Time, what: &Observation<'_>);
}
