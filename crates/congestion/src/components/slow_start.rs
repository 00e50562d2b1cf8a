//! How slow start grows and when it ends, for every window controller.
//!
//! ```text
//! standard   RFC 9002 section 7.3.1, RFC 5681 section 3.1: cwnd += N, until loss, mark or ssthresh
//!
//! hystart++  RFC 9406 (May 2023), section 4.2. N = bytes acknowledged, RTTs in seconds; L = 8, infinite where paced
//!   slow start   cwnd += min(N, L * SMSS)
//!                RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR, MAX_RTT_THRESH))
//!                to CSS when rttSampleCount >= N_RTT_SAMPLE and currentRoundMinRTT >= lastRoundMinRTT + RttThresh
//!   CSS          cwnd += min(N, L * SMSS) / CSS_GROWTH_DIVISOR
//!                back when rttSampleCount >= N_RTT_SAMPLE and currentRoundMinRTT < cssBaselineMinRtt
//!                ends after CSS_ROUNDS rounds, the one it began in included: ssthresh = cwnd
//!
//! hystart    Linux tcp_cubic.c, state of 2021 and later; Ha and Rhee 2011. From cwnd >= HYSTART_LOW_WINDOW
//!   delay        HYSTART_MIN_SAMPLES samples seen before this one, and
//!                curr_rtt > delay_min + clamp(delay_min / 8, HYSTART_DELAY_MIN, HYSTART_DELAY_MAX)
//!   ACK train    ACKs at most HYSTART_ACK_DELTA apart since the round began, and
//!                now - round_start > delay_min + HYSTART_ACK_DELAY, or half of that where nothing paces
//!   either       ssthresh = cwnd
//!
//! hystart-picoquic   picoquic newreno.c, cc_common.c at commit d199d45b (August 2026), in the initial slow start
//!   samples of the RTT more than 1 ms apart, the last 7 of them; packet_time = srtt * mds / (1.25 cwnd)
//!   filtered_min = smallest maximum of 7 samples so far                                              seconds
//!   excess      += 1 if their minimum > filtered_min + max(filtered_min / 4, packet_time)
//!                = 0 if their minimum <= filtered_min
//!   excess = 7:  ssthresh = cwnd
//!
//! hystart-mvfst   facebook/mvfst at commit b48045620d4a (May 2025), quic/congestion_control/QuicCubic.cpp, QuicConstants.h:510-520
//!   round        from an ACK until one for a packet that left after that ACK, this one included
//!   minimum      of the RTTs of the round's first 8 ACKs
//!   found        from the 8th ACK on: minimum >= previous minimum + clamp(previous minimum / 16, 4 ms, 16 ms)
//!   found and cwnd >= 16 packets:  ssthresh = cwnd
//! ```
//!
//! RTTs are as measured, the delay of the ACK in them: TCP knows no other, and RFC 9406 takes nothing off. A receiver that
//! waits for a second packet raises the smallest RTT of a round only if it does so for every packet of it. picoquic takes the
//! delay off as RFC 9002 section 5.3 does.
//!
//! Deviations, `hystart++`: the rounds are the
//! sender's packet-timed ones. `hystart`: the same rounds; Linux' ACK-delay allowance, min(1 ms, four GSO bursts at
//! the pacing rate), is 1 ms, which it is below 2 Gbit/s; tests see the window after this ACK's growth, Linux' before.
//! `hystart-picoquic`: picoquic takes one-way delays where the peer reports them, here RTTs always. Its NewReno also opens
//! the window to half of peak rate times srtt, and in proportion to an RTT above 100 ms; here this is only the exit.
//! `hystart-mvfst`: only the delay, since mvfst's ACK train is off by default; a round of fewer than 8 ACKs never tests, so
//! with an ACK for every tenth packet no window below 80 packets does. An ACK without an RTT sample is no sample, where
//! mvfst takes the sample before. A slow start that ends at `ssthresh` keeps its last minimum for the next one, where mvfst
//! forgets it; after a loss both keep it. mvfst has it in CUBIC alone.

use crate::components::picoquic::{RttTest, packet_time, rtt_measurement};
use crate::{Ack, PathInfo};
use units::{Duration, Time};

/// MIN_RTT_THRESH, RFC 9406 section 4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// MAX_RTT_THRESH, RFC 9406 section 4.3.
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR, RFC 9406 section 4.3.
const MIN_RTT_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE, RFC 9406 section 4.3.
const N_RTT_SAMPLE: u64 = 8;
/// CSS_GROWTH_DIVISOR, RFC 9406 section 4.3.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// CSS_ROUNDS, RFC 9406 section 4.3.
const CSS_ROUNDS: u64 = 5;
/// L of a sender that does not pace, packets, RFC 9406 section 4.3.
const L_UNPACED: u64 = 8;

/// hystart_low_window, packets, Linux tcp_cubic.c.
const HYSTART_LOW_WINDOW: u64 = 16;
/// HYSTART_MIN_SAMPLES, Linux tcp_cubic.c.
const HYSTART_MIN_SAMPLES: u64 = 8;
/// HYSTART_DELAY_MIN, Linux tcp_cubic.c.
const HYSTART_DELAY_MIN: Duration = Duration::from_millis(4);
/// HYSTART_DELAY_MAX, Linux tcp_cubic.c.
const HYSTART_DELAY_MAX: Duration = Duration::from_millis(16);
/// The 3-bit shift of HYSTART_DELAY_THRESH's argument, Linux tcp_cubic.c.
const HYSTART_DELAY_DIVISOR: u64 = 8;
/// hystart_ack_delta_us, Linux tcp_cubic.c.
const HYSTART_ACK_DELTA: Duration = Duration::from_millis(2);
/// The cap in hystart_ack_delay(), Linux tcp_cubic.c.
const HYSTART_ACK_DELAY: Duration = Duration::from_millis(1);

/// kAckSampling, mvfst QuicConstants.h:512.
const MVFST_SAMPLES: u64 = 8;
/// kLowSsthreshInMss, packets, mvfst QuicConstants.h:514.
const MVFST_LOW_WINDOW: u64 = 16;
/// kDelayIncreaseLowerBound, mvfst QuicConstants.h:520.
const MVFST_DELAY_MIN: Duration = Duration::from_millis(4);
/// kDelayIncreaseUpperBound, mvfst QuicConstants.h:518.
const MVFST_DELAY_MAX: Duration = Duration::from_millis(16);
/// The 4-bit shift of the previous minimum, mvfst QuicCubic.cpp:545.
const MVFST_DELAY_DIVISOR: u64 = 16;

/// How slow start grows and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Kind {
    /// Doubles each round trip until loss, mark or `ssthresh`.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "standard"))]
    Standard,
    /// RFC 9406: a rising RTT slows the growth, and ends it if it stays risen.
    #[cfg_attr(feature = "serde", serde(rename = "hystart++"))]
    HystartPlusPlus,
    /// Linux tcp_cubic: a rising RTT or a long ACK train ends it at once.
    #[cfg_attr(feature = "serde", serde(rename = "hystart"))]
    Hystart,
    /// picoquic: an RTT that stays a quarter above the smallest ends it.
    #[cfg_attr(feature = "serde", serde(rename = "hystart-picoquic"))]
    HystartPicoquic,
    /// mvfst: a smallest RTT above that of the round before ends it.
    #[cfg_attr(feature = "serde", serde(rename = "hystart-mvfst"))]
    HystartMvfst,
}

/// Slow start of one connection. The controller calls it only while its window is below `ssthresh`.
#[derive(Clone, Debug)]
pub struct SlowStart {
    mode: Mode,
    mds: u64,
    paced: bool,
}

#[derive(Clone, Debug)]
enum Mode {
    Standard,
    PlusPlus(PlusPlus),
    Linux(Linux),
    Picoquic(RttTest),
    Mvfst(Mvfst),
}

impl SlowStart {
    /// Before the first ACK.
    pub fn new(kind: Kind, path: PathInfo) -> Self {
        let mode = match kind {
            Kind::Standard => Mode::Standard,
            Kind::HystartPlusPlus => Mode::PlusPlus(PlusPlus::default()),
            Kind::Hystart => Mode::Linux(Linux::default()),
            Kind::HystartPicoquic => Mode::Picoquic(RttTest::default()),
            Kind::HystartMvfst => Mode::Mvfst(Mvfst::default()),
        };
        Self { mode, mds: path.max_datagram_size, paced: path.paced }
    }

    /// Datagrams have another size now.
    pub fn on_path_change(&mut self, path: PathInfo) {
        (self.mds, self.paced) = (path.max_datagram_size, path.paced);
    }

    /// Bytes to add to the window for an ACK of which so many count. To be followed by [`SlowStart::ended`].
    pub fn growth(&mut self, counted: u64) -> u64 {
        match &self.mode {
            Mode::PlusPlus(h) => {
                let limited = if self.paced { counted } else { counted.min(L_UNPACED * self.mds) };
                limited / if h.css.is_some() { CSS_GROWTH_DIVISOR } else { 1 }
            }
            _ => counted,
        }
    }

    /// True when slow start ends with this ACK: the controller sets `ssthresh` to `cwnd`, its window after
    /// [`SlowStart::growth`].
    pub fn ended(&mut self, ack: &Ack, cwnd: u64) -> bool {
        let ended = match &mut self.mode {
            Mode::Standard => false,
            Mode::PlusPlus(h) => h.ended(ack),
            Mode::Linux(h) => h.ended(ack, cwnd >= HYSTART_LOW_WINDOW * self.mds, self.paced),
            Mode::Picoquic(test) => {
                let least = packet_time(ack.smoothed_rtt, cwnd, self.mds);
                rtt_measurement(ack).is_some_and(|rtt| test.add(ack.now, rtt, least))
            }
            Mode::Mvfst(h) => h.ended(ack, cwnd >= MVFST_LOW_WINDOW * self.mds),
        };
        if ended {
            self.leave();
        }
        ended
    }

    /// A congestion event: slow start is over. RFC 9406 section 4.3 allows HyStart++ in the initial slow start only,
    /// picoquic likewise; Linux forgets everything on a timeout and searches again; mvfst searches again after persistent
    /// congestion, and remembers the last minimum unless it ended slow start.
    pub fn leave(&mut self) {
        match &mut self.mode {
            Mode::Mvfst(h) => h.round = None,
            Mode::Linux(h) => *h = Linux::default(),
            mode => *mode = Mode::Standard,
        }
    }
}

/// The minimum of the RTT samples of one round, and their number.
#[derive(Clone, Debug)]
struct Round {
    min_rtt: Duration,
    samples: u64,
}

impl Round {
    const EMPTY: Self = Self { min_rtt: Duration::MAX, samples: 0 };

    fn sample(&mut self, rtt: Duration) {
        self.min_rtt = self.min_rtt.min(rtt);
        self.samples += 1;
    }
}

/// Conservative slow start.
#[derive(Clone, Debug)]
struct Css {
    baseline_min_rtt: Duration,
    rounds: u64,
}

#[derive(Clone, Debug)]
struct PlusPlus {
    last_round_min_rtt: Duration,
    current: Round,
    css: Option<Css>,
}

impl Default for PlusPlus {
    fn default() -> Self {
        Self { last_round_min_rtt: Duration::MAX, current: Round::EMPTY, css: None }
    }
}

impl PlusPlus {
    fn ended(&mut self, ack: &Ack) -> bool {
        if ack.round_start {
            self.last_round_min_rtt = self.current.min_rtt;
            self.current = Round::EMPTY;
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                if css.rounds >= CSS_ROUNDS {
                    return true;
                }
            }
        }
        if let Some(rtt) = ack.latest_rtt {
            self.current.sample(rtt);
        }
        if self.current.samples >= N_RTT_SAMPLE {
            self.judge();
        }
        false
    }

    fn judge(&mut self) {
        let Self { last_round_min_rtt: last, current, css } = self;
        match css {
            // The delay fell again: it was jitter.
            Some(c) if current.min_rtt < c.baseline_min_rtt => *css = None,
            Some(_) => {}
            None if *last != Duration::MAX && current.min_rtt >= *last + rtt_thresh(*last) => {
                *css = Some(Css { baseline_min_rtt: current.min_rtt, rounds: 0 });
            }
            None => {}
        }
    }
}

/// RFC 9406 section 4.2, RttThresh.
fn rtt_thresh(last_round_min_rtt: Duration) -> Duration {
    (last_round_min_rtt / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH)
}

/// A train of ACKs that began with the round.
#[derive(Clone, Debug, Default)]
struct Train {
    round_start: Time,
    last_ack: Time,
}

#[derive(Clone, Debug)]
struct Linux {
    delay_min: Duration,
    current: Round,
    train: Train,
}

impl Default for Linux {
    fn default() -> Self {
        Self { delay_min: Duration::MAX, current: Round::EMPTY, train: Train::default() }
    }
}

impl Linux {
    fn ended(&mut self, ack: &Ack, large_enough: bool, paced: bool) -> bool {
        if ack.round_start {
            self.current = Round::EMPTY;
            self.train = Train { round_start: ack.now, last_ack: ack.now };
        }
        // Linux judges an ACK only by its RTT sample.
        let Some(rtt) = ack.latest_rtt else { return false };
        self.delay_min = self.delay_min.min(rtt);
        // Both tests keep state, so neither may hide the other.
        large_enough && (self.train_is_long(ack.now, paced) | self.delay_rose(rtt))
    }

    /// Pacing spreads a window's packets over up to half of the round trip in slow start.
    fn train_is_long(&mut self, now: Time, paced: bool) -> bool {
        if now - self.train.last_ack > HYSTART_ACK_DELTA {
            return false;
        }
        self.train.last_ack = now;
        let whole = self.delay_min + HYSTART_ACK_DELAY;
        now - self.train.round_start > if paced { whole } else { whole / 2 }
    }

    fn delay_rose(&mut self, rtt: Duration) -> bool {
        let enough = self.current.samples >= HYSTART_MIN_SAMPLES;
        self.current.sample(rtt);
        let thresh = (self.delay_min / HYSTART_DELAY_DIVISOR).clamp(HYSTART_DELAY_MIN, HYSTART_DELAY_MAX);
        enough && self.current.min_rtt > self.delay_min + thresh
    }
}

#[derive(Clone, Debug, Default)]
struct Mvfst {
    previous_min: Option<Duration>,
    current: Option<Round>,
    /// When the round began; none runs without.
    round: Option<Time>,
    /// This round's RTT has risen.
    found: bool,
}

impl Mvfst {
    fn ended(&mut self, ack: &Ack, large_enough: bool) -> bool {
        let start = self.round.unwrap_or_else(|| self.begin(ack.now));
        if let Some(rtt) = ack.latest_rtt {
            self.sample(rtt);
        }
        if self.found && large_enough {
            *self = Self::default();
            return true;
        }
        // What this ACK lets go leaves at the same moment, and later than the ACK.
        if ack.packets.last().is_some_and(|newest| newest.sent >= start) {
            self.round = None;
        }
        false
    }

    fn begin(&mut self, now: Time) -> Time {
        self.previous_min = self.current.take().map(|round| round.min_rtt);
        (self.round, self.found) = (Some(now), false);
        now
    }

    fn sample(&mut self, rtt: Duration) {
        let current = self.current.get_or_insert(Round::EMPTY);
        if current.samples < MVFST_SAMPLES {
            current.sample(rtt);
        }
        let risen = |before: Duration| current.min_rtt >= before + mvfst_thresh(before);
        self.found = current.samples >= MVFST_SAMPLES && self.previous_min.is_some_and(risen);
    }
}

/// How much the smallest RTT of a round may rise.
fn mvfst_thresh(previous_min: Duration) -> Duration {
    (previous_min / MVFST_DELAY_DIVISOR).clamp(MVFST_DELAY_MIN, MVFST_DELAY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AckedPacket;
    use crate::testing::fixtures::{acked, path};

    const MDS: u64 = 1200;

    /// `count` ACKs of one packet, `gap` apart, with this RTT; the first begins a round. True if one ended slow start.
    fn round(s: &mut SlowStart, start: Time, gap: Duration, rtt: Duration, count: u64, cwnd: u64) -> bool {
        (0..count).any(|i| {
            let (now, round_start) = (start + gap * i, i == 0);
            let ack = Ack { now, round_start, latest_rtt: Some(rtt), ..acked(MDS) };
            s.growth(ack.growth);
            s.ended(&ack, cwnd)
        })
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Rounds of ten ACKs at one second intervals, too far apart for a train. The number of the round that ended it.
    fn rounds(kind: Kind, rtts: &[u64]) -> Option<usize> {
        let mut s = SlowStart::new(kind, path(MDS));
        rtts.iter().enumerate().position(|(i, &rtt)| {
            round(&mut s, Time::from_millis(1000 * i as u64), ms(5), ms(rtt), 10, 20 * MDS)
        })
    }

    /// RFC 9406 section 4.2: an eighth of the RTT, clamped at both ends.
    #[test]
    fn thresholds() {
        for (rtt, thresh) in [(5, 4), (10, 4), (32, 4), (40, 5), (80, 10), (128, 16), (300, 16)] {
            assert_eq!(rtt_thresh(ms(rtt)), ms(thresh), "{rtt} ms");
        }
    }

    /// RFC 9406 section 4.2: 80 ms -> 90 ms enters CSS, which lasts five rounds counting the one it began in.
    #[test]
    fn css_ends_after_five_rounds() {
        assert_eq!(rounds(Kind::HystartPlusPlus, &[80, 90, 90, 90, 90, 90, 90, 90]), Some(6));
        assert_eq!(rounds(Kind::HystartPlusPlus, &[80, 89, 89, 89, 89, 89, 89, 89, 89]), None);
    }

    /// RFC 9406 section 4.2: a quarter of the growth in CSS, so at most 1.25^5 = 3.05 times in all.
    #[test]
    fn css_grows_by_a_quarter() {
        let mut s = SlowStart::new(Kind::HystartPlusPlus, path(MDS));
        round(&mut s, Time::ZERO, ms(5), ms(80), 10, 0);
        assert_eq!(s.growth(MDS), MDS);
        round(&mut s, Time::from_millis(1000), ms(5), ms(90), 10, 0);
        assert_eq!(s.growth(MDS), MDS / 4);
    }

    /// RFC 9406 section 4.2: an RTT below the baseline resumes slow start.
    #[test]
    fn jitter_resumes_slow_start() {
        assert_eq!(rounds(Kind::HystartPlusPlus, &[80, 95, 80, 80, 80, 80, 80, 80, 80, 80]), None);
    }

    /// RFC 9406 section 4.2: fewer than eight samples prove nothing.
    #[test]
    fn seven_samples_are_too_few() {
        let mut s = SlowStart::new(Kind::HystartPlusPlus, path(MDS));
        for (i, rtt) in [80, 160, 320, 640].into_iter().enumerate() {
            round(&mut s, Time::from_millis(1000 * i as u64), ms(5), ms(rtt), 7, 0);
            assert_eq!(s.growth(MDS), MDS);
        }
    }

    /// RFC 9406 section 4.3: in the initial slow start only.
    #[test]
    fn only_the_initial_slow_start() {
        let mut s = SlowStart::new(Kind::HystartPlusPlus, path(MDS));
        s.leave();
        for (i, rtt) in [80, 160, 160, 160, 160, 160, 160].into_iter().enumerate() {
            assert!(!round(&mut s, Time::from_millis(1000 * i as u64), ms(5), ms(rtt), 10, 0));
        }
        assert_eq!(s.growth(MDS), MDS);
    }

    /// RFC 9406 section 4.3: L = 8 without a pacer, in conservative slow start too; infinite with one.
    #[test]
    fn limit_of_an_unpaced_sender() {
        for (paced, grown) in [(true, [20, 5]), (false, [8, 2])] {
            let mut s = SlowStart::new(Kind::HystartPlusPlus, PathInfo { paced, ..path(MDS) });
            round(&mut s, Time::ZERO, ms(5), ms(80), 10, 0);
            let slow_start = s.growth(20 * MDS);
            round(&mut s, Time::from_millis(1000), ms(5), ms(90), 10, 0);
            assert_eq!([slow_start, s.growth(20 * MDS)], grown.map(|packets| packets * MDS), "{paced}");
        }
        let mut standard = SlowStart::new(Kind::Standard, PathInfo { paced: false, ..path(MDS) });
        assert_eq!(standard.growth(20 * MDS), 20 * MDS);
    }

    /// picoquic: 7 windows of 7 samples whose smallest is a quarter above 80 ms; a quarter exactly is not above.
    #[test]
    fn picoquic_exit() {
        let ends_at = |rtt| {
            let mut s = SlowStart::new(Kind::HystartPicoquic, path(MDS));
            assert!(!round(&mut s, Time::ZERO, ms(5), ms(80), 20, 20 * MDS));
            (0..20).position(|i| round(&mut s, Time::from_millis(200 + 5 * i), ms(5), ms(rtt), 1, 20 * MDS))
        };
        assert_eq!(ends_at(101), Some(12), "7 samples until the smallest of them is high, 6 more");
        assert_eq!(ends_at(100), None);
        let mut s = SlowStart::new(Kind::HystartPicoquic, path(MDS));
        s.leave();
        assert!(!round(&mut s, Time::ZERO, ms(5), ms(80), 20, 0));
        assert!(!round(&mut s, Time::from_millis(200), ms(5), ms(200), 100, 0), "the initial one only");
    }

    /// Linux: 80 ms + 80/8 ms is the limit; below 16 packets nobody looks.
    #[test]
    fn linux_delay() {
        assert_eq!(rounds(Kind::Hystart, &[80, 90, 90]), None);
        assert_eq!(rounds(Kind::Hystart, &[80, 91, 91]), Some(1));
        let mut s = SlowStart::new(Kind::Hystart, path(MDS));
        assert!(!round(&mut s, Time::ZERO, ms(5), ms(80), 10, 15 * MDS));
        assert!(!round(&mut s, Time::from_millis(1000), ms(5), ms(200), 10, 15 * MDS));
    }

    /// Linux: ACKs 2 ms apart for longer than delay_min + 1 ms, or half of that without pacing; 3 ms apart are no train.
    #[test]
    fn linux_ack_train() {
        let train = |paced, gap, count| {
            let path = PathInfo { paced, ..path(MDS) };
            round(
                &mut SlowStart::new(Kind::Hystart, path),
                Time::from_millis(7),
                ms(gap),
                ms(80),
                count,
                99 * MDS,
            )
        };
        assert!(!train(true, 2, 41), "80 ms of train");
        assert!(train(true, 2, 42), "82 ms of train");
        assert!(!train(false, 2, 21), "40 ms of train, unpaced");
        assert!(train(false, 2, 22), "42 ms of train, unpaced");
        assert!(!train(true, 3, 100) && !train(false, 3, 100));
    }

    /// Rounds of so many ACKs and this RTT in ms, each a second after the one before, the packets sent 100 ms before their
    /// ACKs: the first ACK of each ends the round before. The number of the one that ended slow start.
    fn mvfst_rounds(s: &mut SlowStart, cwnd: u64, rounds: &[(u64, u64)]) -> Option<usize> {
        rounds.iter().enumerate().position(|(i, &(acks, rtt))| {
            (0..acks).any(|j| {
                // The last ACK of a round is for a packet that left in it.
                let start = 1000 * i as u64 + 1;
                let sent = Time::from_millis(if j + 1 == acks { start } else { start - 1 });
                let packet = AckedPacket { pn: 0, bytes: MDS, sent, received: None, before_reduction: false };
                let now = Time::from_millis(start + j);
                s.ended(&Ack { now, packets: &[packet], latest_rtt: Some(ms(rtt)), ..acked(MDS) }, cwnd)
            })
        })
    }

    fn mvfst() -> SlowStart {
        SlowStart::new(Kind::HystartMvfst, path(MDS))
    }

    /// A sixteenth of the minimum before, between 4 and 16 ms.
    #[test]
    fn mvfst_thresholds() {
        for (rtt, thresh) in [(10, 4), (64, 4), (80, 5), (160, 10), (256, 16), (600, 16)] {
            assert_eq!(mvfst_thresh(ms(rtt)), ms(thresh), "{rtt} ms");
            let mut s = mvfst();
            assert_eq!(mvfst_rounds(&mut s, 16 * MDS, &[(8, rtt), (8, rtt + thresh - 1)]), None);
            let mut s = mvfst();
            assert_eq!(
                mvfst_rounds(&mut s, 16 * MDS, &[(8, rtt), (8, rtt + thresh)]),
                Some(1),
                "equal is enough"
            );
        }
    }

    /// Seven ACKs prove nothing, however high; their minimum is compared with all the same. Below 16 packets nobody acts.
    #[test]
    fn mvfst_needs_eight_acks() {
        for (cwnd, rounds, ended) in [
            (16, &[(8, 50), (7, 200), (8, 203), (8, 216)][..], Some(3)),
            (16, &[(1, 50), (8, 54)][..], Some(1)),
            (16, &[(7, 50), (7, 60), (7, 70), (7, 80)][..], None),
            (15, &[(8, 50), (8, 60), (8, 70)][..], None),
            (16, &[(8, 50), (8, 53), (8, 56), (8, 59)][..], None),
        ] {
            assert_eq!(mvfst_rounds(&mut mvfst(), cwnd * MDS, rounds), ended, "{rounds:?}");
        }
    }

    /// The minimum is of the first eight: a later low sample changes nothing, an early one does.
    #[test]
    fn mvfst_takes_the_first_eight() {
        for (low, ended) in [(7, false), (8, true)] {
            let mut s = mvfst();
            assert_eq!(mvfst_rounds(&mut s, 0, &[(8, 50)]), None);
            let mut sample = |i: u64, cwnd| {
                let (now, rtt) = (Time::from_millis(1000 + i), if i == low { 50 } else { 60 });
                s.ended(&Ack { now, latest_rtt: Some(ms(rtt)), ..acked(MDS) }, cwnd)
            };
            assert!(!(0..9).any(|i| sample(i, 15 * MDS)), "too small a window");
            assert_eq!(sample(9, 16 * MDS), ended, "sample {low} is low");
        }
    }

    /// After a loss the minimum is kept for the next slow start; after an end of its own it is not.
    #[test]
    fn mvfst_searches_again() {
        let mut s = mvfst();
        assert_eq!(mvfst_rounds(&mut s, 16 * MDS, &[(8, 50)]), None);
        s.leave();
        assert_eq!(mvfst_rounds(&mut s, 16 * MDS, &[(8, 54)]), Some(0));
        assert_eq!(mvfst_rounds(&mut s, 16 * MDS, &[(8, 90), (8, 95), (8, 101)]), Some(2));
    }
}
