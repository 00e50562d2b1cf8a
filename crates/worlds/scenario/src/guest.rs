//! Interface for protocol code in the simulator: both ends of a connection as one actor, beside
//! simulated flows on the same links.
//!
//! A guest takes the place of one of the scenario's flows. It creates real datagrams. A datagram
//! crosses the flow's links as a size and an ECN field, which may become CE on the way. Its bytes
//! wait until it is delivered or dropped. Time arrives with each call, and a guest must be as
//! deterministic as the simulator.
//!
//! Both count in the flow's [`Record`]. The simulator counts what happens on the links (queues,
//! drops, datagrams of the return path), and start and end. The guest counts what its ends do
//! (packets sent, received, acknowledged, lost; window reductions).
//!
//! Datagrams take the path of the replaced flow: its route and the delay beyond it, and `back` or a
//! pure delay in the other direction. There datagrams have their own size and not the configured
//! one. `ack.jitter` does not apply to guests.

use crate::{End, FlowSample, Record};
use congestion::Controller;
use recovery::Stats;
use units::{Duration, Ecn, Rate, Time};

/// Datagram that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Sending end. Datagrams of [`End::Sender`] cross the flow's links, those of [`End::Receiver`]
    /// its return path.
    pub from: End,
    /// Size on the links, in bytes: payload, UDP, IP and the layers below; at least 1.
    pub size: u32,
    /// ECN field of its IP header.
    pub ecn: Ecn,
    /// Whether a datagram of the sender's end holds only acknowledgements. Drops of such datagrams
    /// are counted separately.
    pub bare: bool,
    /// UDP payload.
    pub bytes: Vec<u8>,
}

/// Datagram that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// End that it reaches.
    pub at: End,
    /// Departure from the other end.
    pub sent: Time,
    /// Arrival: now in the simulator, or slightly earlier if another component, such as a kernel,
    /// recorded the time.
    pub arrived: Time,
    /// ECN field on arrival.
    pub ecn: Ecn,
    /// UDP payload, as sent.
    pub bytes: Vec<u8>,
}

/// State of the sending end, for time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Congestion window, in bytes; `None` where unknown.
    pub cwnd: Option<u64>,
    pub bytes_in_flight: Option<u64>,
    /// Rate of the pacer; `None` while nothing is paced.
    pub pacing_rate: Option<Rate>,
    /// Smoothed RTT, from the first sample on.
    pub smoothed_rtt: Option<Duration>,
    /// Newest RTT sample.
    pub latest_rtt: Option<Duration>,
}

impl Snapshot {
    /// Converts it to a sample of its flow, with data from the record. `running` says that the flow
    /// has begun and is not done.
    /// `stats` are the sender's counters since the start.
    pub fn sample(self, running: bool, record: &mut Record, stats: &Stats) -> FlowSample {
        let (lost, ce) = (Some(stats.lost()), Some(record.ecn.ce));
        let repeated = Some(stats.retransmissions);
        FlowSample { owd: record.take_owd(), lost, repeated, ce, ..self.at_pause(running, record) }
    }

    /// Does the same without the one-way delay, and leaves the record as it is.
    pub fn at_pause(self, running: bool, record: &Record) -> FlowSample {
        FlowSample {
            running,
            cwnd: self.cwnd,
            bytes_in_flight: self.bytes_in_flight,
            pacing_rate: self.pacing_rate,
            smoothed_rtt: self.smoothed_rtt,
            latest_rtt: self.latest_rtt,
            delivered: record.delivered,
            made: record.media.as_ref().map(|_| record.made),
            owd: None,
            lost: None,
            repeated: None,
            ce: None,
        }
    }
}

/// Guests of a run, each with the number of the flow that it replaces.
pub type Guests = Vec<(usize, Box<dyn Guest>)>;

/// Both ends of a connection, as one actor.
///
/// The first call is [`on_time`](Self::on_time) at the flow's start. After each `on_time` and each
/// [`deliver`](Self::deliver) the simulator first calls [`transmit`](Self::transmit) until it
/// returns `None`; a guest that always returns a datagram never yields. Then it calls
/// [`next`](Self::next).
pub trait Guest: Send {
    /// Delivers a datagram to one of its ends.
    fn deliver(&mut self, now: Time, arrival: Arrival, record: &mut Record);

    /// Returns the time at which to call [`on_time`](Self::on_time), or [`Time::NEVER`] if nothing
    /// is due. A past time counts as now, and after `on_time` as a nanosecond later, so that no
    /// guest can stop time.
    fn next(&mut self) -> Time;

    /// Processes what is due at `now`.
    fn on_time(&mut self, now: Time, record: &mut Record);

    /// Returns the next datagram that leaves now, from either end.
    fn transmit(&mut self, now: Time, record: &mut Record) -> Option<Datagram>;

    /// Reports whether the transfer is complete. A completed guest is not called any more. A guest
    /// whose connection ends early is never done; it sets [`Record::broken`].
    fn is_done(&self) -> bool;

    /// Returns the reason why it cannot go on, if that is not the network: its process or its
    /// controller, in another language, has failed. The simulator asks after each call, and ends
    /// the run. [`Record::broken`] then keeps the time and the reason.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Returns the state of the sending end.
    fn observe(&self) -> Snapshot;

    /// Returns the counters of the sending end's loss recovery, since the start.
    fn stats(&self) -> Stats;

    /// Returns the sending end's controller, for its own variables; `None` where it cannot be
    /// observed.
    fn controller(&self) -> Option<&dyn Controller>;
}
