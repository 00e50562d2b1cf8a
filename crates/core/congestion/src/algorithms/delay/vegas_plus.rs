//! TCP Vegas+: Hasegawa, Kurata and Murata, ICNP (November 2000). Vegas that turns into Reno when
//! it suspects a loss-based competitor.
//!
//! ```text
//! RTT     smallest RTT of a round trip                            seconds
//! C       counter, at first 0
//!
//! moderate mode: Vegas. After each round trip whose window is not larger than that of the one before:
//!   RTT rose by more than `margin`:  C += 1
//!   otherwise                        C -= 1, at least 0
//!   C > count_max = 8:               aggressive mode
//! aggressive mode: Reno
//!   loss, mark                       C = floor(C / 2)
//!   timeout, persistent congestion   C = 0
//!   C = 0:                           moderate mode
//! ```
//!
//! Vegas and Reno are those of [`vegas`], which shares its window between both. Its baseRTT lives
//! on in the aggressive mode. Where the RTT jitters, the counter is a random walk; `margin` keeps
//! it down.
//!
//! The paper could not be read. The rule of the moderate mode is as a bachelor's thesis describes
//! it (reference 002 of this project), which follows the survey of Afanasyev et al., IEEE
//! Communications Surveys 12(3), 2010. The rules of the aggressive mode are from memory of the
//! paper and could not be verified. The RTT that is compared is not given; it is Vegas's here. A
//! window that has shrunk counts like one that stayed.
//!
//! Deviations: those of [`vegas`].

use crate::algorithms::delay::vegas::{self, Vegas};
use crate::components::delegate::delegate;
use crate::{Ack, Cause, Congestion, Control, Controller, Idle, PathInfo, Range, STATE, Sent, params};
use units::Duration;

params! {
    /// Largest counter of the moderate mode. Hasegawa et al. 2000.
    count_max: u64 = 8 => Range::from(0.0),
    /// Growth of the RTT up to which it counts as unchanged. Not in the paper.
    margin: Duration = Duration::ZERO,
    /// Parameters of the underlying `vegas`.
    base: vegas::Params = vegas::Params::default(); vegas::Params::DOCS,
}

crate::states! {
    /// Rules that move the window.
    enum Mode {
        Moderate = "moderate",
        Aggressive = "aggressive",
    }
}

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = Mode::NAMES;

crate::variables! {
    with vegas::VARIABLES;
    /// Counter of round trips whose RTT rose without a larger window, C. Hasegawa et al. 2000.
    count: "",
}

/// The controller.
#[derive(Clone, Debug)]
pub struct VegasPlus {
    count_max: u64,
    margin: Duration,
    base: Vegas,
    mode: Mode,
    count: u64,
    /// Smallest RTT of this round trip.
    rtt: Option<Duration>,
    /// RTT and window of the last round trip.
    last: Option<(Duration, u64)>,
}

impl VegasPlus {
    /// Creates a controller in slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        Self {
            count_max: params.count_max,
            margin: params.margin,
            base: Vegas::new(params.base, path),
            mode: Mode::Moderate,
            count: 0,
            rtt: None,
            last: None,
        }
    }

    /// Compares a round trip that has ended with the one before.
    fn compare(&mut self) {
        let Some(rtt) = self.rtt.take() else { return };
        let cwnd = self.base.control().cwnd;
        let last = self.last.replace((rtt, cwnd));
        let Some((before, _)) = last.filter(|&(_, before)| cwnd <= before) else { return };
        if rtt > before + self.margin {
            self.count += 1;
        } else {
            self.count = self.count.saturating_sub(1);
        }
        if self.count > self.count_max {
            (self.mode, self.last) = (Mode::Aggressive, None);
        }
    }
}

impl Controller for VegasPlus {
    delegate! { base: on_sent(sent: &Sent), on_spurious(), on_idle(idle: &Idle), on_path_change(path: PathInfo) }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        if self.mode == Mode::Aggressive {
            self.base.on_ack_as_reno(ack);
            return None;
        }
        if ack.round_start {
            self.compare();
        }
        let least = |rtt: Duration| self.rtt.map_or(rtt, |least| least.min(rtt));
        self.rtt = ack.latest_rtt.map(least).or(self.rtt);
        self.base.on_ack(ack)
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if self.mode == Mode::Aggressive {
            self.count = match event.cause {
                Cause::Timeout | Cause::PersistentCongestion => 0,
                _ => self.count / 2,
            };
            if self.count == 0 {
                (self.mode, self.rtt) = (Mode::Moderate, None);
            }
        }
        self.base.on_congestion(event);
    }

    fn control(&self) -> Control {
        self.base.control()
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.base.trace(put);
        put("count", self.count as f64);
        put(STATE, self.mode.number());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AckedPacket;
    use crate::testing::closed_loop::{Flow, Loop};
    use crate::testing::fixtures::{MDS, acked, congestion, path};
    use units::{Rate, Time};

    const MS: Duration = Duration::from_millis(1);

    fn new(params: Params) -> VegasPlus {
        VegasPlus::new(params, path(MDS))
    }

    /// Ends a round trip with this RTT, in ms. Nothing else happens.
    fn end(cc: &mut VegasPlus, ms: u64) {
        cc.rtt = Some(MS * ms);
        cc.compare();
    }

    /// A rising RTT counts up, any other counts down, down to 0. A window that grew does not count.
    #[test]
    fn counter() {
        for (margin, expected) in
            [(Duration::ZERO, [0, 1, 0, 1, 2, 1, 0, 0, 1]), (MS * 3, [0, 0, 0, 1, 0, 0, 0, 0, 1])]
        {
            let mut cc = new(Params { margin, ..Params::default() });
            for (ms, count) in [100, 103, 103, 107, 109, 109, 99, 90, 94].into_iter().zip(expected) {
                end(&mut cc, ms);
                assert_eq!(cc.count, count, "{ms}");
            }
            cc.on_ack(&Ack { latest_rtt: None, ..acked(MDS) });
            end(&mut cc, 200);
            assert_eq!(cc.count, 1, "the window grew in slow start");
            end(&mut cc, 300);
            assert_eq!(cc.count, 2);
        }
    }

    /// Aggressive from the ninth rise on. Four losses or a timeout return to the moderate mode.
    #[test]
    fn modes() {
        let aggressive = || {
            let mut cc = new(Params::default());
            (0..9).for_each(|i| end(&mut cc, 100 + i));
            assert_eq!((cc.mode, cc.count), (Mode::Moderate, 8));
            end(&mut cc, 110);
            assert_eq!((cc.mode, cc.count), (Mode::Aggressive, 9));
            cc
        };
        let mut cc = aggressive();
        for (count, mode) in
            [(4, Mode::Aggressive), (2, Mode::Aggressive), (1, Mode::Aggressive), (0, Mode::Moderate)]
        {
            cc.on_congestion(&congestion(Cause::Loss, 0));
            assert_eq!((cc.count, cc.mode), (count, mode));
        }
        for cause in [Cause::Timeout, Cause::PersistentCongestion] {
            let mut cc = aggressive();
            cc.on_congestion(&congestion(cause, 0));
            assert_eq!((cc.count, cc.mode), (0, Mode::Moderate), "{cause:?}");
        }
        let mut cc = new(Params::default());
        (0..5).for_each(|i| end(&mut cc, 100 + i));
        cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!(cc.count, 4, "a loss matters only to the aggressive mode");
    }

    /// RTT of each flight in ms, and whether a packet is lost.
    fn flights() -> Vec<(u64, bool)> {
        let mut flights = vec![(100, false), (103, false), (103, false)];
        flights.extend((0..14).map(|i| (110 + 5 * i, false)));
        flights.extend([(180, false), (180, true), (120, false), (120, true), (130, false)]);
        flights.extend([(130, true), (130, false), (130, true)]);
        flights.extend([(130, false), (128, false), (104, false), (103, false), (103, false)]);
        flights
    }

    /// Sends a window and acknowledges it packet by packet. With a loss, the flight is in recovery
    /// until its last ACK.
    fn flight(cc: &mut VegasPlus, first: u64, rtt: Duration, lost: bool) -> u64 {
        let packets = cc.control().cwnd / MDS;
        for pn in first..first + packets {
            let (now, bytes_in_flight) = (Time::ZERO, 2 * MDS);
            cc.on_sent(&Sent { now, pn, bytes: MDS, bytes_in_flight, app_limited: false });
        }
        if lost {
            cc.on_congestion(&congestion(Cause::Loss, 0));
        }
        for i in 0..packets {
            let packet = AckedPacket {
                pn: first + i,
                bytes: MDS,
                sent: Time::ZERO,
                received: None,
                before_reduction: lost,
            };
            cc.on_ack(&Ack {
                packets: &[packet],
                latest_rtt: Some(rtt),
                growth: if lost { 0 } else { MDS },
                in_recovery: lost && i + 1 < packets,
                round_start: i == 0,
                ..acked(MDS)
            });
        }
        first + packets
    }

    /// Linux's Vegas and Reno under the rules of the counter: window, counter and mode after each
    /// flight. `vectors/vegas_plus.py`.
    #[test]
    fn script() {
        let mut cc = new(Params::default());
        cc.base.avoid(30 * MDS);
        let mut pn = 0;
        for (i, ((ms, lost), (cwnd, count, aggressive))) in flights().into_iter().zip(SCRIPT).enumerate() {
            pn = flight(&mut cc, pn, MS * ms, lost);
            assert_eq!((cc.control().cwnd / MDS, cc.count), (cwnd, count), "flight {i}");
            assert_eq!(cc.mode == Mode::Aggressive, aggressive, "flight {i}");
        }
    }

    /// Alone on a link, and with another flow of its kind, it stays Vegas.
    #[test]
    fn stays_moderate() {
        for flows in [1u64, 2] {
            let flow = |i| Flow::new(Box::new(new(Params::default())), MS * 99, Time::from_millis(50 * i));
            let mut link = Loop::new((0..flows).map(flow).collect(), MDS, Rate(8_000_000));
            for second in 1..=60 {
                link.run_to(Time::from_millis(1000 * second));
                assert!(link.flows.iter().all(|flow| flow.cc.mode == Mode::Moderate), "{second} s");
            }
        }
    }

    /// Output of `vectors/vegas_plus.py`.
    const SCRIPT: [(u64, u64, bool); 30] = [
        (30, 0, false),
        (31, 0, false),
        (32, 0, false),
        (33, 0, false),
        (33, 0, false),
        (33, 1, false),
        (32, 2, false),
        (31, 3, false),
        (30, 4, false),
        (29, 5, false),
        (28, 6, false),
        (27, 7, false),
        (26, 8, false),
        (26, 9, true),
        (27, 9, true),
        (28, 9, true),
        (29, 9, true),
        (30, 9, true),
        (15, 4, true),
        (16, 4, true),
        (8, 2, true),
        (9, 2, true),
        (4, 1, true),
        (5, 1, true),
        (2, 0, false),
        (2, 0, false),
        (3, 0, false),
        (3, 0, false),
        (4, 0, false),
        (5, 0, false),
    ];
}
