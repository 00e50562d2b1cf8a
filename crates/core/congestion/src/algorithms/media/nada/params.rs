//! Parameters. Their sources are those named in `mod.rs`.

use crate::{Range, params};
use units::{Bytes, Duration, Rate};

params! {
    /// PRIO: weight of priority of the flow. RFC 8698 table 2, like all parameters up to `alpha`.
    prio: f64 = 1.0 => Range::FACTOR,
    /// RMIN: smallest rate of the application, also the initial rate.
    rmin: Rate = Rate(150_000) => Range::from(0.0).up_to("rmax"),
    /// RMAX: largest rate of the application.
    rmax: Rate = Rate(1_500_000),
    /// XREF: reference congestion level, a delay.
    xref: Duration = Duration::from_millis(10),
    /// KAPPA: gain of the gradual update.
    kappa: f64 = 0.5 => Range::from(0.0),
    /// ETA: weight of the change of the congestion signal in the gradual update.
    eta: f64 = 2.0 => Range::from(0.0),
    /// TAU: upper bound of the RTT in the gradual update.
    tau: Duration = Duration::from_millis(500),
    /// DELTA: target interval between reports.
    delta: Duration = Duration::from_millis(100),
    /// LOGWIN: observation window of the receiver.
    logwin: Duration = Duration::from_millis(500),
    /// QEPS: queuing delay from which the queue counts as building up.
    qeps: Duration = Duration::from_millis(10),
    /// DFILT: upper bound on the filtering delay.
    dfilt: Duration = Duration::from_millis(120),
    /// GAMMA_MAX: largest increase in ramp-up, as a share of the receive rate.
    gamma_max: f64 = 0.5 => Range::from(0.0),
    /// QBOUND: upper bound on the self-inflicted queuing delay in ramp-up.
    qbound: Duration = Duration::from_millis(50),
    /// MULTILOSS: number of loss intervals without a loss until the last loss expires.
    multiloss: f64 = 7.0 => Range::from(0.0),
    /// QTH: queuing delay from which delay warping applies.
    qth: Duration = Duration::from_millis(50),
    /// LAMBDA: exponent of the delay warping.
    lambda: f64 = 0.5 => Range::PART,
    /// PLRREF: reference packet loss ratio, 0..1.
    plrref: f64 = 0.01 => Range::above(0.0).to(1.0),
    /// PMRREF: reference packet marking ratio, 0..1.
    pmrref: f64 = 0.01 => Range::above(0.0).to(1.0),
    /// DLOSS: delay penalty at the reference loss ratio.
    dloss: Duration = Duration::from_millis(10),
    /// DMARK: delay penalty at the reference marking ratio.
    dmark: Duration = Duration::from_millis(2),
    /// FPS: frames per second of the video.
    fps: f64 = 30.0 => Range::above(0.0),
    /// BETA_S: weight of the shaping buffer in raising the sending rate.
    beta_s: f64 = 0.1 => Range::PART,
    /// BETA_V: weight of the shaping buffer in lowering the encoder's rate.
    beta_v: f64 = 0.1 => Range::PART,
    /// ALPHA: weight of the newest loss and marking ratio.
    alpha: f64 = 0.1 => Range::above(0.0).to(1.0),
    /// Number of packets in the minimum filter of the queuing delay. RFC 8698 section 5.1.1.
    taps: usize = 15 => Range::COUNT,
    /// Window of the smallest one-way delay. RFC 8698 section 5.1.1: tens of minutes.
    base_window: Duration = Duration::from_secs(600),
    /// Largest `delta` in the gradual update. Not in the RFC.
    max_delta: Duration = Duration::from_millis(500),
    /// Largest x_curr, or `"off"`. Not in the RFC; its authors' ns3-rmcat has 500 ms.
    #[serde(with = "units::or_off")]
    x_max: Option<Duration> = None,
    /// Level of the shaping buffer. Not in the RFC as a constant.
    buffer_len: Bytes = Bytes(0),
    /// Largest effect of the shaping buffer on a rate, as a share of the rate. RFC 8698 section
    /// 5.2.2.
    shaping_max: f64 = 0.05 => Range::PART,
    /// Window, in multiples of the bytes sent in an RTT and a report interval. Large enough not to
    /// limit the rate. Not in the RFC.
    window: f64 = 2.0 => Range::PACKETS,
    /// Smallest window, packets. Not in the RFC.
    min_window: u64 = 10 => Range::PACKETS,
}
