//! Growth and exit of slow start, for all window-based controllers.
//!
//! ```text
//! standard   RFC 9002 section 7.3.1, RFC 5681 section 3.1: cwnd += N, until a loss, a mark or ssthresh
//!
//! hystart++  RFC 9406 (May 2023), section 4.2. N = bytes acknowledged, RTTs in seconds; L = 8, infinite where paced
//!   slow start   cwnd += min(N, L * SMSS)
//!                RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR, MAX_RTT_THRESH))
//!                to CSS when rttSampleCount >= N_RTT_SAMPLE and currentRoundMinRTT >= lastRoundMinRTT + RttThresh
//!   CSS          cwnd += min(N, L * SMSS) / CSS_GROWTH_DIVISOR
//!                back when rttSampleCount >= N_RTT_SAMPLE and currentRoundMinRTT < cssBaselineMinRtt
//!                ends after CSS_ROUNDS rounds, including the one it began in: ssthresh = cwnd
//!
//! hystart    Linux tcp_cubic.c, state of 2021 and later; Ha and Rhee 2011. From cwnd >= HYSTART_LOW_WINDOW
//!   delay        HYSTART_MIN_SAMPLES samples seen before this one, and
//!                curr_rtt > delay_min + clamp(delay_min / 8, HYSTART_DELAY_MIN, HYSTART_DELAY_MAX)
//!   ACK train    ACKs at most HYSTART_ACK_DELTA apart since the round began, and
//!                now - round_start > delay_min + HYSTART_ACK_DELAY, or half of that where nothing paces
//!   either       ssthresh = cwnd
//!
//! hystart-picoquic   picoquic newreno.c, cc_common.c at commit d199d45b (August 2026), in the initial slow start
//!   the last 7 RTT samples taken more than 1 ms apart; packet_time =  srtt * mds / (1.25 cwnd)
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
//!
//! search   draft-chung-ccwg-search-09 (March 2026), as in neqo at commit 02755daa and in the authors' SEARCH 4.0
//!   bins         0.35 initial RTTs each; bytes acknowledged and sent until the end of each bin
//!   delivered    in the last 10 bins;  sent in the 10 bins that ended one RTT before the newest, interpolated
//!   flat         (sent - delivered) / sent >= 0.26, at the end of a bin, if the RTT is shorter than 15 bins
//!   target       max(delivered in the last 3 bins, initial window)                                   bytes
//!   draining     each ACK:  cwnd = max(bytes in flight + a packet per 3 acknowledged, target), never more than before
//!   cwnd = target:  ssthresh = cwnd
//! ```
//!
//! RTTs are as measured and include the ACK delay: TCP knows no other RTT, and RFC 9406 subtracts
//! nothing. A receiver that waits for a second packet raises the smallest RTT of a round only if it
//! does so for every packet of the round. picoquic subtracts the ACK delay as in RFC 9002 section
//! 5.3.
//!
//! Deviations:
//! * `hystart++`: the rounds are the sender's packet-timed ones.
//! * `hystart`: the rounds are the same. Linux's ACK-delay allowance, min(1 ms, four GSO bursts at
//!   the pacing rate), is fixed at 1 ms, its value below 2 Gbit/s. The tests use the window after
//!   this ACK's growth, Linux the one before.
//! * `hystart-picoquic`: picoquic uses one-way delays if the peer reports them, this code always
//!   uses RTTs. picoquic's NewReno also raises the window to half of peak rate times srtt, and in
//!   proportion to an RTT above 100 ms. Here only the exit is implemented.
//! * `hystart-mvfst`: only the delay test, because mvfst's ACK train is off by default. A round of
//!   fewer than 8 ACKs never tests. With an ACK for every tenth packet, windows below 80 packets
//!   are therefore never tested. An ACK without an RTT sample is ignored, where mvfst repeats the
//!   previous sample. A slow start that ends at `ssthresh` keeps its last minimum for the next one,
//!   where mvfst forgets it. After a loss both keep it. mvfst uses this variant only in CUBIC.
//! * `search`: the text of draft 09 could not be read. neqo implements it without draining, the
//!   authors' code with it. Both interpolate towards the older bin; neqo calls that a correction of
//!   the draft. Drafts up to 07 compare with twice the bytes delivered one RTT before, and subtract
//!   the overshoot at once. As in neqo, more than 10 missed bins restart the search, and 15 bins of
//!   history limit the RTT. The authors' code has 40, and a threshold of 0.35. As in that code, a
//!   loss restarts the search. Bins hold bytes, without the scaling that saves memory.

mod hystart;
mod hystart_mvfst;
mod hystart_plus_plus;
mod search;
#[cfg(test)]
mod tests;

use crate::components::picoquic::{RttTest, packet_time, rtt_measurement};
use crate::{Ack, PathInfo, Sent};
use hystart::{HYSTART_LOW_WINDOW, Linux};
use hystart_mvfst::{MVFST_LOW_WINDOW, Mvfst};
use hystart_plus_plus::{CSS_GROWTH_DIVISOR, L_UNPACED, PlusPlus};
use search::Search;
use units::Duration;

/// Documentation of the parameter that chooses a [`Kind`].
macro_rules! values {
    () => {
        concat!(
            " Growth and exit of slow start: `standard`, `hystart++` (RFC 9406), `hystart` (Linux),",
            " `hystart-picoquic`, `hystart-mvfst` or `search` (draft-chung-ccwg-search-09)."
        )
    };
}
pub(crate) use values;

/// The variant of slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Kind {
    /// Doubles each round trip until a loss, a mark or `ssthresh`.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "standard"))]
    Standard,
    /// RFC 9406: a rising RTT slows the growth, and ends it if the RTT stays high.
    #[cfg_attr(feature = "serde", serde(rename = "hystart++"))]
    HystartPlusPlus,
    /// Linux tcp_cubic: a rising RTT or a long ACK train ends slow start at once.
    #[cfg_attr(feature = "serde", serde(rename = "hystart"))]
    Hystart,
    /// picoquic: an RTT that stays a quarter above the smallest ends slow start.
    #[cfg_attr(feature = "serde", serde(rename = "hystart-picoquic"))]
    HystartPicoquic,
    /// mvfst: a round's smallest RTT above that of the previous round ends slow start.
    #[cfg_attr(feature = "serde", serde(rename = "hystart-mvfst"))]
    HystartMvfst,
    /// Less delivered than was sent a round trip before ends slow start, and the queue is drained.
    #[cfg_attr(feature = "serde", serde(rename = "search"))]
    Search,
}

/// Slow start of one connection. The controller uses it only while its window is below `ssthresh`.
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
    Search(Search),
}

impl SlowStart {
    /// Creates the state before the first ACK.
    pub fn new(kind: Kind, path: PathInfo) -> Self {
        let mode = match kind {
            Kind::Standard => Mode::Standard,
            Kind::HystartPlusPlus => Mode::PlusPlus(PlusPlus::default()),
            Kind::Hystart => Mode::Linux(Linux::default()),
            Kind::HystartPicoquic => Mode::Picoquic(RttTest::default()),
            Kind::HystartMvfst => Mode::Mvfst(Mvfst::default()),
            Kind::Search => Mode::Search(Search::default()),
        };
        Self { mode, mds: path.max_datagram_size, paced: path.paced }
    }

    /// Reports a new datagram size.
    pub fn on_path_change(&mut self, path: PathInfo) {
        (self.mds, self.paced) = (path.max_datagram_size, path.paced);
    }

    /// Reports a sent packet.
    pub fn on_sent(&mut self, sent: &Sent) {
        if let Mode::Search(search) = &mut self.mode {
            search.on_sent(sent);
        }
    }

    /// Returns the bytes to add to the window for an ACK of which `counted` bytes count. Call
    /// [`SlowStart::drain`] and [`SlowStart::ended`] next.
    pub fn growth(&mut self, counted: u64) -> u64 {
        match &self.mode {
            Mode::PlusPlus(h) => {
                let limited = if self.paced { counted } else { counted.min(L_UNPACED * self.mds) };
                limited / if h.css.is_some() { CSS_GROWTH_DIVISOR } else { 1 }
            }
            Mode::Search(search) if search.is_draining() => 0,
            _ => counted,
        }
    }

    /// Returns the window in bytes: `cwnd`, or less while slow start drains the queue it built. `cwnd`
    /// is the window after [`SlowStart::growth`].
    #[must_use]
    pub fn drain(&mut self, ack: &Ack, cwnd: u64) -> u64 {
        match &mut self.mode {
            Mode::Search(search) => search.drain(ack, cwnd, self.mds),
            _ => cwnd,
        }
    }

    /// Reports whether slow start ends with this ACK. `cwnd` is the window after
    /// [`SlowStart::drain`].
    ///
    /// The controller then sets `ssthresh` to `cwnd`.
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
            Mode::Search(search) => search.ended(ack, cwnd, self.mds),
        };
        if ended {
            self.leave();
        }
        ended
    }

    /// Reports a congestion event, which ends slow start.
    ///
    /// RFC 9406 section 4.3 allows HyStart++ only in the initial slow start, and so does picoquic.
    /// Linux and SEARCH forget everything on a timeout and search again. mvfst searches again after
    /// persistent congestion. It keeps the last minimum unless that minimum ended slow start.
    pub fn leave(&mut self) {
        match &mut self.mode {
            Mode::Mvfst(h) => h.round = None,
            Mode::Linux(h) => *h = Linux::default(),
            Mode::Search(search) => *search = Search::default(),
            mode => *mode = Mode::Standard,
        }
    }
}

/// Minimum and number of the RTT samples in a round.
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
