//! Protocol code that lives in the simulator: both ends of a connection as one actor, beside simulated flows on the same links.
//!
//! A guest stands in the place of one of the scenario's flows. It makes real datagrams; a datagram crosses the flow's links as a size and an
//! ECN mark, which may become CE on the way, while its bytes wait until it is delivered or dropped. Time comes in with each call, and the
//! guest must be as deterministic as what is around it.
//!
//! Who counts what in the flow's [`Record`]: the simulator counts what happens on the links (queues, drops, datagrams of the way back),
//! start and end; the guest counts what its ends do (sent, received, acknowledged, lost, reduced).
//!
//! The way of a datagram is that of the flow it stands for: its route and the delay beyond, `back` or a pure delay in the other direction,
//! where datagrams have their own size and not that of the configuration. `ack.jitter` is not for guests.

use congestion::Controller;
use recovery::Stats;
use scenario::{End, FlowSample, Record};
use units::{Duration, Ecn, Time};

/// A datagram that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The end that sends it: [`End::Sender`]'s cross the flow's links, [`End::Receiver`]'s its way back.
    pub from: End,
    /// What it takes on the links, in bytes: payload, UDP, IP and what is below them; at least 1.
    pub size: u32,
    /// The mark of its IP header.
    pub ecn: Ecn,
    /// From the sender's end: it holds nothing but acknowledgements, and is counted like that when it is dropped.
    pub bare: bool,
    /// The UDP payload.
    pub bytes: Vec<u8>,
}

/// A datagram that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The end that it reaches.
    pub at: End,
    /// When it left the other one.
    pub sent: Time,
    /// When it was there: now in the simulator, a little earlier where somebody else, such as a kernel, has noted the time.
    pub arrived: Time,
    /// Its mark now.
    pub ecn: Ecn,
    /// The UDP payload, as it was sent.
    pub bytes: Vec<u8>,
}

/// How the sending end stands, for time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The congestion window, in bytes; none where it is not known.
    pub cwnd: Option<u64>,
    /// Bytes in flight.
    pub bytes_in_flight: Option<u64>,
    /// Smoothed RTT, from the first sample on.
    pub smoothed_rtt: Option<Duration>,
    /// The newest RTT sample.
    pub latest_rtt: Option<Duration>,
}

impl Snapshot {
    /// A sample of its flow, of which so much is in the record; `running`: it has begun and is not done.
    pub fn sample(self, running: bool, record: &mut Record) -> FlowSample {
        FlowSample {
            running,
            cwnd: self.cwnd,
            bytes_in_flight: self.bytes_in_flight,
            smoothed_rtt: self.smoothed_rtt,
            latest_rtt: self.latest_rtt,
            delivered: record.delivered,
            made: record.media.as_ref().map(|_| record.made),
            owd: record.take_owd(),
        }
    }
}

/// Both ends of a connection, as one actor.
///
/// The first call is [`on_time`](Self::on_time) at the flow's start. After each `on_time` and each [`deliver`](Self::deliver) the simulator
/// asks for datagrams until there are none (a guest that always has one never lets go), and then when the next call is wanted.
pub trait Guest {
    /// A datagram arrives at one of its ends.
    fn deliver(&mut self, now: Time, arrival: Arrival, record: &mut Record);

    /// When [`on_time`](Self::on_time) is wanted; [`Time::NEVER`] while nothing is due. Times gone by count as now, and after `on_time` as a
    /// nanosecond later, so that no guest can stop the time.
    fn next(&mut self) -> Time;

    /// The time has come.
    fn on_time(&mut self, now: Time, record: &mut Record);

    /// The next datagram that leaves now, of either end.
    fn transmit(&mut self, now: Time, record: &mut Record) -> Option<Datagram>;

    /// What was to be transferred has arrived: nothing is asked of it any more. One whose connection is over before that is never done; it
    /// says so in the record ([`Record::broken`]).
    fn is_done(&self) -> bool;

    /// How the sending end stands.
    fn observe(&self) -> Snapshot;

    /// The counters of the sending end's loss recovery, since the start.
    fn stats(&self) -> Stats;

    /// The sending end's controller, for its own variables; none where nobody can look at it.
    fn controller(&self) -> Option<&dyn Controller>;
}
