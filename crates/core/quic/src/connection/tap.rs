//! Observation of a connection: packets sent, received, acknowledged and lost, and congestion
//! events.

use std::any::Any;

use recovery::SpaceId;
use recovery::congestion::{Cause, Detection};
use units::{Duration, Ecn, Time};

use crate::connection::sent_frames::SentFrame;
use crate::level::Level;
use crate::wire::frame::Frame;

/// An event of a connection, with the details that qlog needs.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// A packet was sent.
    Sent {
        /// Encryption level.
        level: Level,
        /// Packet number.
        number: u64,
        /// Size of the whole packet, in bytes.
        bytes: u64,
        /// ECN field of its datagram.
        ecn: Ecn,
        /// Whether it is in flight until it is acknowledged or lost.
        in_flight: bool,
        /// Frames besides PADDING.
        items: &'a [SentFrame],
    },
    /// An ACK was written into the packet of the next [`Observation::Sent`].
    Acknowledges {
        /// Acknowledged ranges, ascending.
        ranges: &'a [(u64, u64)],
        /// ACK Delay as encoded in the frame.
        delay: u64,
    },
    /// A packet was opened and processed.
    Received {
        /// Encryption level.
        level: Level,
        /// Packet number.
        number: u64,
        /// Size of the whole packet, in bytes.
        bytes: u64,
        /// ECN field of its datagram.
        ecn: Ecn,
    },
    /// A frame of a packet that is being processed. [`Observation::Received`] follows the packet's
    /// last frame.
    Frame(&'a Frame<'a>),
    /// A packet was acknowledged.
    Acked {
        /// Packet number space.
        space: SpaceId,
        /// Packet number.
        number: u64,
    },
    /// A packet was declared lost.
    Lost {
        /// Packet number space.
        space: SpaceId,
        /// Packet number.
        number: u64,
        /// Rule that detected the loss.
        by: Detection,
    },
    /// A packet declared lost was acknowledged (spurious loss).
    Spurious {
        /// Packet number space.
        space: SpaceId,
        /// Packet number.
        number: u64,
    },
    /// The controller was notified of a congestion event.
    Congestion(Cause),
    /// State of the sender, after each ACK and each timer.
    Metrics {
        /// Congestion window, in bytes.
        cwnd: u64,
        /// Bytes in flight.
        bytes_in_flight: u64,
        /// Smoothed round-trip time.
        smoothed_rtt: Duration,
        /// RTT sample of this ACK, if any.
        latest_rtt: Option<Duration>,
        /// Pacing rate in bytes per second, if the controller sets one.
        pacing_rate: Option<f64>,
    },
    /// The keys of 1-RTT packets were updated. The value is the number of updates so far.
    Keys(u64),
}

/// Observer of one connection.
pub trait Tap: Any + Send {
    /// Called for each event.
    fn on(&mut self, now: Time, what: &Observation<'_>);
}
