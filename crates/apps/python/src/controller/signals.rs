//! Signals of the contract as objects of Python. Times and durations are seconds.

use pyo3::prelude::*;
use units::{Duration, Time};

/// Returns seconds.
pub(crate) fn secs(span: Duration) -> f64 {
    span.as_secs_f64()
}

fn at(time: Time) -> f64 {
    time.as_secs_f64()
}

/// Returns the seconds of a minimum, if there is one.
pub(crate) fn smallest(span: Duration) -> Option<f64> {
    (span < Duration::MAX).then(|| secs(span))
}

/// Properties of a path that are known before the first packet.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub(crate) struct PathInfo {
    pub(crate) max_datagram_size: u64,
    paced: bool,
    seed: u64,
}

#[pymethods]
impl PathInfo {
    #[new]
    #[pyo3(signature = (max_datagram_size = 1200, paced = true, seed = 0))]
    fn new(max_datagram_size: u64, paced: bool, seed: u64) -> Self {
        Self { max_datagram_size, paced, seed }
    }

    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }
}

/// Lets a copy of a controller keep the signals that it has, which never change.
macro_rules! copied {
    ($($signal:ty),*) => {$(
        #[pymethods]
        impl $signal {
            fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
                this
            }
        }
    )*};
}

copied!(AckedPacket, RateSample, Ack, Sent, LostPacket, Lost, Congestion, Idle);
pub(crate) use copied;

impl From<congestion::PathInfo> for PathInfo {
    fn from(path: congestion::PathInfo) -> Self {
        let congestion::PathInfo { max_datagram_size, paced, seed } = path;
        Self { max_datagram_size, paced, seed }
    }
}

/// A newly acknowledged packet.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub(crate) struct AckedPacket {
    pn: u64,
    bytes: u64,
    sent: f64,
    received: Option<f64>,
    before_reduction: bool,
}

/// A delivery-rate sample.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub(crate) struct RateSample {
    prior_delivered: u64,
    delivered: u64,
    interval: f64,
    delivery_rate: Option<f64>,
    app_limited: bool,
    tx_in_flight: u64,
    lost: u64,
}

/// An ACK, after the sender has processed it.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub(crate) struct Ack {
    now: f64,
    acked: u64,
    late: u64,
    growth: u64,
    lost: u64,
    prior_in_flight: u64,
    bytes_in_flight: u64,
    latest_rtt: Option<f64>,
    min_rtt: Option<f64>,
    smoothed_rtt: f64,
    ack_delay: f64,
    ce: u64,
    delivered: u64,
    delivery_rate: Option<f64>,
    rate: Option<Py<RateSample>>,
    round: u64,
    round_start: bool,
    in_recovery: bool,
    app_limited: bool,
    cwnd_limited: bool,
    packets: Option<Vec<Py<AckedPacket>>>,
}

impl Ack {
    /// Converts an ACK, with a list of its packets if `packets`, and the whole rate sample if `rate`.
    pub(crate) fn new(
        py: Python<'_>,
        ack: &congestion::Ack<'_>,
        packets: bool,
        rate: bool,
    ) -> PyResult<Self> {
        let sample = match ack.rate.filter(|_| rate) {
            Some(sample) => Some(Py::new(py, RateSample::from(sample))?),
            None => None,
        };
        let of_packet = |packet: &congestion::AckedPacket| {
            let received = packet.received.map(|ns| ns as f64 * 1e-9);
            let congestion::AckedPacket { pn, bytes, sent, before_reduction, .. } = *packet;
            Py::new(py, AckedPacket { pn, bytes, sent: at(sent), received, before_reduction })
        };
        let packets = match packets {
            true => Some(ack.packets.iter().map(of_packet).collect::<PyResult<_>>()?),
            false => None,
        };
        Ok(Self {
            now: at(ack.now),
            acked: ack.acked,
            late: ack.late,
            growth: ack.growth,
            lost: ack.lost,
            prior_in_flight: ack.prior_in_flight,
            bytes_in_flight: ack.bytes_in_flight,
            latest_rtt: ack.latest_rtt.map(secs),
            min_rtt: smallest(ack.min_rtt),
            smoothed_rtt: secs(ack.smoothed_rtt),
            ack_delay: secs(ack.ack_delay),
            ce: ack.ce,
            delivered: ack.delivered,
            delivery_rate: ack.rate.and_then(|rate| rate.delivery_rate).map(|rate| rate.0 as f64),
            rate: sample,
            round: ack.round,
            round_start: ack.round_start,
            in_recovery: ack.in_recovery,
            app_limited: ack.app_limited,
            cwnd_limited: ack.cwnd_limited,
            packets,
        })
    }
}

impl From<congestion::RateSample> for RateSample {
    fn from(sample: congestion::RateSample) -> Self {
        Self {
            prior_delivered: sample.prior_delivered,
            delivered: sample.delivered,
            interval: secs(sample.interval),
            delivery_rate: sample.delivery_rate.map(|rate| rate.0 as f64),
            app_limited: sample.app_limited,
            tx_in_flight: sample.tx_in_flight,
            lost: sample.lost,
        }
    }
}

/// A packet that was sent.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub(crate) struct Sent {
    now: f64,
    pn: u64,
    bytes: u64,
    bytes_in_flight: u64,
    app_limited: bool,
}

impl From<&congestion::Sent> for Sent {
    fn from(sent: &congestion::Sent) -> Self {
        let congestion::Sent { now, pn, bytes, bytes_in_flight, app_limited } = *sent;
        Self { now: at(now), pn, bytes, bytes_in_flight, app_limited }
    }
}

/// A packet declared lost.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub(crate) struct LostPacket {
    pn: u64,
    bytes: u64,
    sent: f64,
    app_limited: bool,
}

/// A batch of lost packets.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub(crate) struct Lost {
    now: f64,
    bytes: u64,
    packets: Vec<Py<LostPacket>>,
    total_lost: u64,
    delivered: u64,
    bytes_in_flight: u64,
}

impl Lost {
    pub(crate) fn new(py: Python<'_>, lost: &congestion::Lost<'_>) -> PyResult<Self> {
        let of_packet = |packet: &congestion::LostPacket| {
            let congestion::LostPacket { pn, bytes, sent, app_limited, .. } = *packet;
            Py::new(py, LostPacket { pn, bytes, sent: at(sent), app_limited })
        };
        Ok(Self {
            now: at(lost.now),
            bytes: lost.packets.iter().map(|packet| packet.bytes).sum(),
            packets: lost.packets.iter().map(of_packet).collect::<PyResult<_>>()?,
            total_lost: lost.total_lost,
            delivered: lost.delivered,
            bytes_in_flight: lost.bytes_in_flight,
        })
    }
}

/// A congestion event.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub(crate) struct Congestion {
    now: f64,
    cause: &'static str,
    prior_in_flight: u64,
    min_rtt: Option<f64>,
    smoothed_rtt: f64,
}

impl From<&congestion::Congestion> for Congestion {
    fn from(event: &congestion::Congestion) -> Self {
        Self {
            now: at(event.now),
            cause: word(event.cause),
            prior_in_flight: event.prior_in_flight,
            min_rtt: smallest(event.min_rtt),
            smoothed_rtt: secs(event.smoothed_rtt),
        }
    }
}

/// Names of the causes, as serde has them.
fn word(cause: congestion::Cause) -> &'static str {
    match cause {
        congestion::Cause::Loss => "loss",
        congestion::Cause::Ecn => "ecn",
        congestion::Cause::Delay => "delay",
        congestion::Cause::PersistentCongestion => "persistent_congestion",
        congestion::Cause::Timeout => "timeout",
        _ => "other",
    }
}

/// The end of an idle time.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub(crate) struct Idle {
    now: f64,
    idle: f64,
    rto: f64,
}

impl From<&congestion::Idle> for Idle {
    fn from(idle: &congestion::Idle) -> Self {
        Self { now: at(idle.now), idle: secs(idle.idle), rto: secs(idle.rto) }
    }
}
