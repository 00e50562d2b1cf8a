//! QUIC-DC: Westwood+ that also reduces the window when the one-way queuing delay exceeds a
//! threshold. Mascolo, Balillo, Manfredi, D'Agostino, De Cicco: "QUIC Delay Control", arXiv
//! 2507.00896 (July 2025), sections 3 and 4; where the paper gives no rule, the rule is this
//! project's choice.
//!
//! ```text
//! OWQD   the one-way queuing delay of each packet, from its send and receive time, see `queuing_delay`    ns    (3)-(5)
//! event  OWQD > OWQD_th, or a loss, or a timeout                                                      (6)
//! BWE    = 0.2 BWE + 0.8 sample                                                             bytes/s   (7)
//! cut    cwnd = ssthresh = max(2 * mds, BWE * RTTmin)                                  as Westwood+
//! ```
//!
//! Equation 6 is tested on every acknowledged packet that has a receive time and was sent after the
//! last reduction. So there is one reduction per round trip, and only packets sent after it can
//! cause the next. Timeout and persistent congestion restart OWQD together with RTTmin.
//!
//! With `threshold = "off"`, or without receive times, this is the paper's Westwood+ ("QUIC
//! Westwood+ corresponds to QUIC-DC (100 %)", 5.2.1): `westwood-plus` with `filter = "one-pole"`.
//! Linux's Westwood+, the default of `westwood-plus`, has another filter.
//!
//! OWQD is a one-way delay and does not contain the ACK delay. RTTmin is Westwood+'s.
//!
//! Deviations: the anchor of OWQD is not in the paper; `clamped` is this project's choice. The
//! reduction uses a BWE that includes the ACK that asks for it. All deviations of `westwood` apply
//! here too.

use crate::algorithms::reno::westwood::{self, Filter, WestwoodPlus};
use crate::algorithms::reno::window::Growth;
use crate::components::count::Count;
use crate::components::delegate::delegate;
use crate::components::queuing_delay::{BaseDelay, QueuingDelay};
use crate::components::slow_start::Kind;
use crate::{Ack, Cause, Congestion, Control, Controller, Idle, Needs, PathInfo, Sent};
use crate::{Range, params};
use units::Duration;

params! {
    /// OWQD_th, the delay threshold, or `"off"`: the paper's Westwood+. The paper uses 10, 20, 50
    /// and 80 % of the bottleneck's buffer, written in an experiment file as `"20 % of buffer"`.
    /// The default is 20 % of the 100 ms of its Table 2.
    #[serde(with = "units::or_off")]
    threshold: Option<Duration> = Some(Duration::from_millis(20)),
    /// Base of the queuing delay: `raw`, `clamped` or `windowed`. Not given in the paper.
    anchor: BaseDelay = BaseDelay::Clamped,
    /// Window of the `windowed` base. Windows of 10 s to 10 min follow clock drift. Chosen by this
    /// project.
    anchor_window: Duration = Duration::from_secs(60),
    /// Low-pass filter of the bandwidth samples: `one-pole` (equation 7) or `two-pole` (Linux
    /// Westwood+).
    filter: Filter = Filter::OnePole,
    /// Shortest window of a bandwidth sample. Linux TCP_WESTWOOD_RTT_MIN.
    sample_window: Duration = Duration::from_millis(50),
    /// Factor by which the window is multiplied after an event before the first bandwidth sample,
    /// 0..1. RFC 9002 appendix B.1.
    beta: f64 = 0.5 => Range::SHARE,
    /// Smallest window, packets. RFC 9002 section 7.2.
    min_window: u64 = 2 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// Growth of the window in congestion avoidance: a packet per `window` (RFC 3465 section 2.1),
    /// a fraction of a packet per `ack` (RFC 9002 appendix B.5), or a fraction of 1232 bytes per
    /// `packet`, rounded down (mvfst).
    growth: Growth = Growth::Window,
    /// Quantity that grows the window: `bytes` acknowledged (RFC 9002 section 7.3), `packets`
    /// (Linux),
    #[doc = crate::components::count::others!()]
    count: Count = Count::Bytes,
    /// L, largest growth per ACK in slow start, packets, or `"off"`. RFC 3465 section 2.2 has 2;
    /// RFC 9002 and Linux none.
    #[serde(with = "units::or_off")]
    abc_limit: Option<u64> = None => Range::COUNT,
    #[doc = crate::components::slow_start::values!()]
    slow_start: Kind = Kind::Standard,
}

crate::variables! {
    with westwood::VARIABLES;
    /// One-way queuing delay of the newest packet, OWQD. Section 3, equations 3 to 5.
    owqd: "s",
}

/// The controller: a [`WestwoodPlus`] that also reduces when the queue is long.
#[derive(Clone, Debug)]
pub struct QuicDc {
    westwood: WestwoodPlus,
    delay: QueuingDelay,
    /// Threshold in nanoseconds, or `None` for never.
    threshold: Option<i64>,
}

impl QuicDc {
    /// Creates a controller in slow start.
    pub fn new(params: &Params, path: PathInfo) -> Self {
        let westwood = westwood::Params {
            filter: params.filter,
            sample_window: params.sample_window,
            beta: params.beta,
            min_window: params.min_window,
            initial_window: params.initial_window,
            growth: params.growth,
            count: params.count,
            abc_limit: params.abc_limit,
            slow_start: params.slow_start,
        };
        Self {
            westwood: WestwoodPlus::new(westwood, path),
            delay: QueuingDelay::new(params.anchor, params.anchor_window),
            threshold: params.threshold.map(|delay| i64::try_from(delay.0).unwrap_or(i64::MAX)),
        }
    }

    /// Tests equation 6. Every packet must pass the estimator, also those after the first one above
    /// the threshold.
    fn queue_is_long(&mut self, ack: &Ack) -> bool {
        let mut long = false;
        for packet in ack.packets {
            let owqd = self.delay.on_packet(packet);
            let over = owqd.zip(self.threshold).is_some_and(|(owqd, threshold)| owqd > threshold);
            long |= over && !packet.before_reduction;
        }
        long
    }
}

impl Controller for QuicDc {
    delegate! {
        westwood: on_sent(sent: &Sent), on_spurious(), on_idle(idle: &Idle), on_path_change(path: PathInfo),
    }

    /// Without a threshold the delay is not used.
    fn needs(&self) -> Needs {
        Needs { receive_times: self.threshold.is_some(), ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        if !self.queue_is_long(ack) {
            return self.westwood.on_ack(ack);
        }
        // The recovery period begins with this ACK, so nothing in it may grow the window.
        self.westwood.on_ack(&Ack { growth: 0, packets: &[], ..*ack });
        Some(Cause::Delay)
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if matches!(event.cause, Cause::PersistentCongestion | Cause::Timeout) {
            self.delay.reset();
        }
        self.westwood.on_congestion(event);
    }

    fn control(&self) -> Control {
        self.westwood.control()
    }

    /// Reports `owqd` in seconds, then Westwood+'s variables.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("owqd", self.delay.owqd() as f64 * 1e-9);
        self.westwood.trace(put);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::AckedPacket;
    use crate::testing::fixtures::{acked, congestion, path, stamped};
    use units::Time;

    const MDS: u64 = 1200;
    const MS: i64 = 1_000_000;

    fn with(threshold: Option<Duration>) -> QuicDc {
        QuicDc::new(&Params { threshold, ..Params::default() }, path(MDS))
    }

    fn delay(ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(ms))
    }

    /// Packet `pn`, sent at `pn` ms and queued for `queue`.
    fn queued(pn: u64, queue: i64) -> AckedPacket {
        stamped(pn, Time::from_millis(pn), (25 + pn as i64) * MS + queue)
    }

    fn on_packet(cc: &mut QuicDc, packet: AckedPacket) -> Option<Cause> {
        let now = packet.sent + Duration::from_millis(50);
        cc.on_ack(&Ack { packets: &[packet], now, ..acked(MDS) })
    }

    /// Equation 6: a rise of 1 ms per 10 packets exceeds 20 ms with packet 201.
    #[test]
    fn ramp_crosses_the_threshold() {
        let mut cc = with(delay(20));
        let crossed = (0..400).find(|&pn| on_packet(&mut cc, queued(pn, pn as i64 * MS / 10)).is_some());
        assert_eq!(crossed, Some(201));
    }

    /// One reduction per round trip: packets sent before it cause none.
    #[test]
    fn sent_before_the_reduction() {
        let mut cc = with(delay(20));
        on_packet(&mut cc, queued(0, 0));
        let late = AckedPacket { before_reduction: true, ..queued(1, 50 * MS) };
        assert_eq!(on_packet(&mut cc, late), None);
        assert_eq!(on_packet(&mut cc, queued(2, 50 * MS)), Some(Cause::Delay));
    }

    /// A spike in the middle of an ACK counts, and the rest of the ACK is still processed.
    #[test]
    fn every_packet_of_an_ack_counts() {
        let mut cc = with(delay(20));
        let packets = [queued(0, 0), queued(1, 30 * MS), queued(2, 5 * MS)];
        let before = cc.control().cwnd;
        assert_eq!(cc.on_ack(&Ack { packets: &packets, ..acked(3 * MDS) }), Some(Cause::Delay));
        assert_eq!(cc.control().cwnd, before, "the ACK that asks for the cut does not grow");
        assert_eq!(cc.delay.owqd(), 5 * MS);
    }

    /// A delay event reduces the window like a loss, to BWE * RTTmin.
    #[test]
    fn cut_to_the_pipe() {
        let mut cc = with(delay(20));
        for pn in 0..1000 {
            on_packet(&mut cc, queued(pn, 0));
        }
        assert!(cc.control().cwnd > 1000 * MDS);
        assert_eq!(on_packet(&mut cc, queued(1000, 21 * MS)), Some(Cause::Delay));
        cc.on_congestion(&congestion(Cause::Delay, 0));
        let packets = cc.control().cwnd as f64 / MDS as f64;
        assert!((packets - 100.0).abs() < 1.5, "{packets}: 1 packet per ms, RTT 100 ms");
    }

    /// Timeout and persistent congestion restart the estimate, a loss does not.
    #[test]
    fn resets() {
        for (cause, owqd) in [(Cause::Timeout, 0), (Cause::PersistentCongestion, 0), (Cause::Loss, 9 * MS)] {
            let mut cc = with(None);
            on_packet(&mut cc, queued(0, 0));
            on_packet(&mut cc, queued(1, 9 * MS));
            cc.on_congestion(&congestion(cause, 0));
            assert_eq!(cc.delay.owqd(), owqd);
        }
    }

    /// Plays a script to any controller. Returns the control after each step.
    fn play(cc: &mut dyn Controller, script: &[(u64, u8, i64)], stamps: bool) -> Vec<Control> {
        let mut now = Time::ZERO;
        let step = |(pn, &(ms, kind, queue)): (usize, &(u64, u8, i64))| {
            now += Duration::from_millis(ms);
            let packet = queued(pn as u64, queue);
            let packets = [AckedPacket { received: packet.received.filter(|_| stamps), ..packet }];
            let latest_rtt = Some(Duration::from_millis(50) + Duration(queue as u64));
            let answer = match kind {
                0 => Some(Cause::Loss),
                1 => Some(Cause::PersistentCongestion),
                2 => Some(Cause::Timeout),
                _ => cc.on_ack(&Ack { now, packets: &packets, latest_rtt, ..acked(MDS * u64::from(kind)) }),
            };
            if let Some(cause) = answer {
                cc.on_congestion(&congestion(cause, 0));
            }
            cc.control()
        };
        script.iter().enumerate().map(step).collect()
    }

    proptest! {
        /// Without a threshold, or without receive times, it equals Westwood+ bit for bit.
        #[test]
        fn off_is_westwood(script in prop::collection::vec((0u64..80, 0u8..40, 0i64..200 * MS), 1..300)) {
            for filter in [Filter::OnePole, Filter::TwoPole] {
                let params = westwood::Params { filter, ..westwood::Params::default() };
                let expected = play(&mut WestwoodPlus::new(params, path(MDS)), &script, true);
                let params = Params { filter, threshold: None, ..Params::default() };
                prop_assert_eq!(&play(&mut QuicDc::new(&params, path(MDS)), &script, true), &expected);
                let params = Params { filter, threshold: delay(1), ..Params::default() };
                prop_assert_eq!(&play(&mut QuicDc::new(&params, path(MDS)), &script, false), &expected);
            }
        }
    }
}
