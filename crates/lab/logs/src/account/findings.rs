//! The problem list: ten checks of a sender's log, each with a number and the times at which it
//! shows.

use std::collections::VecDeque;

use units::{Duration, Time};

/// Largest number of times that a finding keeps.
const MOST_TIMES: usize = 5;
/// ACK delay that an endpoint promises by default (RFC 9000 section 18.2).
const DEFAULT_ACK_DELAY: Duration = Duration::from_millis(25);
/// Largest number of send times that are kept.
const MOST_ACKED: usize = 4096;
/// Smallest delay of a standing queue.
const LEAST_QUEUE: Duration = Duration::from_millis(5);
/// Slack of timers beyond the promised ACK delay.
const TIMER_SLACK: Duration = Duration::from_millis(1);

/// A check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// Losses that were none.
    SpuriousLosses,
    /// A timeout was wrong: a packet that it declared lost, or repeated, was acknowledged later.
    SpuriousTimeout,
    /// Losses span persistent congestion (RFC 9002 section 7.6), and the window does not collapse.
    MissedPersistentCongestion,
    /// The window collapses without persistent congestion.
    WrongPersistentCongestion,
    /// The sender is limited by its application for most of the time.
    ApplicationLimited,
    /// The sender is limited by the receive window.
    ReceiveWindow,
    /// ACK delay above what was promised.
    AckDelay,
    /// Most packets of a round trip are retransmissions.
    RetransmissionStorm,
    /// Standing queue: the RTT is several times the smallest.
    StandingQueue,
    /// Bursts of packets.
    Bursts,
}

/// Result of a check that found something.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Check.
    pub check: Check,
    /// Sentence with its numbers.
    pub text: String,
    /// First times at which it shows, since the start of the log.
    pub times: Vec<Time>,
}

/// Occurrences of a problem.
#[derive(Clone, Debug, Default)]
struct Seen {
    count: u64,
    worst: f64,
    times: Vec<Time>,
}

impl Seen {
    fn add(&mut self, at: Time, size: f64) {
        self.count += 1;
        self.worst = self.worst.max(size);
        if self.times.len() < MOST_TIMES {
            self.times.push(at);
        }
    }

    /// Returns the count with a noun, as in `3 bursts`.
    fn counted(&self, noun: &str) -> String {
        if self.count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", self.count) }
    }

    fn times(&self) -> String {
        if self.count == 1 { "once".to_owned() } else { format!("{} times", self.count) }
    }

    fn finding(&self, check: Check, text: String) -> Finding {
        Finding { check, text, times: self.times.clone() }
    }
}

/// Time-weighted share of a condition.
#[derive(Clone, Debug, Default)]
struct Share {
    since: Option<Time>,
    total: Duration,
    first: Option<Time>,
}

impl Share {
    fn set(&mut self, now: Time, holds: bool) {
        match (self.since, holds) {
            (None, true) => {
                self.since = Some(now);
                self.first.get_or_insert(now);
            }
            (Some(since), false) => {
                self.total = self.total + (now - since);
                self.since = None;
            }
            _ => {}
        }
    }

    fn share(&self, now: Time, span: Duration) -> f64 {
        let open = self.since.map_or(Duration::ZERO, |since| now - since);
        (self.total + open).as_secs_f64() / span.as_secs_f64()
    }
}

/// State of a sender that checks look at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    pub(super) cwnd: Option<u64>,
    pub(super) bytes_in_flight: u64,
    pub(super) full: u64,
    pub(super) smoothed_rtt: Option<Duration>,
    pub(super) min_rtt: Option<Duration>,
    pub(super) rttvar: Option<Duration>,
}

/// Checks of one sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Checks {
    timeouts: Seen,
    missed: Seen,
    wrong: Seen,
    limited: Share,
    window: Share,
    bursts: Seen,
    delays: Seen,
    storms: Seen,
    /// Packets of the current burst, its start and the time of its newest packet.
    burst: Option<(u64, Time, Time)>,
    /// Send times of the last packets, and whether each was a retransmission.
    round: VecDeque<(Time, bool)>,
    repeats_in_round: u64,
    in_storm: bool,
    /// Send time of the oldest packet of a row of losses without an acknowledgement between them.
    row: Option<(Time, Time)>,
    /// Time at which persistent congestion began, and the window then.
    persistent: Option<(Time, Option<u64>)>,
    /// Send times of acknowledged packets, ascending.
    acked: VecDeque<Time>,
    promised: Option<Duration>,
    is_told: bool,
    /// TCP has no persistent congestion: its window collapses at each retransmission timeout.
    is_tcp: bool,
}

impl Checks {
    pub(super) fn new(is_tcp: bool) -> Self {
        Self { is_tcp, ..Self::default() }
    }

    /// Sets the ACK delay that the receiver promises.
    pub(super) fn set_promised(&mut self, delay: Duration) {
        self.promised = Some(delay);
    }

    /// Notes what the log says about the application.
    pub(super) fn on_app_limited(&mut self, now: Time, is_limited: bool) {
        self.is_told = true;
        self.limited.set(now, is_limited);
    }

    /// Notes a packet that leaves. `next` is the stream offset after it, and `limit` the
    /// receiver's.
    pub(super) fn on_sent(&mut self, now: Time, is_repeat: bool, state: &State, room: Option<u64>) {
        self.note_burst(now, state);
        self.note_storm(now, is_repeat, state);
        self.look(now, state, room);
    }

    /// Looks at the state after an event: what limits the sender.
    pub(super) fn look(&mut self, now: Time, state: &State, room: Option<u64>) {
        let full = state.full.max(1);
        let fits = state.cwnd.is_some_and(|cwnd| state.bytes_in_flight + full <= cwnd);
        let is_blocked = room.is_some_and(|room| room < full);
        self.window.set(now, is_blocked && (fits || state.cwnd.is_none()));
        if !self.is_told && state.cwnd.is_some() {
            // Less than three quarters of the window used, and nobody else to blame.
            let idle = state.cwnd.is_some_and(|cwnd| 4 * (state.bytes_in_flight + full) <= 3 * cwnd);
            self.limited.set(now, idle && !is_blocked);
        }
    }

    /// A burst: packets without a gap of a hundredth of the RTT, at least 10 us.
    fn note_burst(&mut self, now: Time, state: &State) {
        let Some(rtt) = state.smoothed_rtt.or(state.min_rtt) else { return };
        let gap = Duration((rtt.0 / 100).clamp(10_000, 1_000_000));
        match &mut self.burst {
            Some((packets, _, newest)) if now - *newest <= gap => (*packets, *newest) = (*packets + 1, now),
            burst => {
                let ended = burst.replace((1, now, now));
                self.end_burst(ended, state);
            }
        }
    }

    /// More than 20 packets at once, twice RFC 9002's initial window, in under an eighth of the
    /// RTT.
    fn end_burst(&mut self, burst: Option<(u64, Time, Time)>, state: &State) {
        let Some((packets, begin, end)) = burst else { return };
        let rtt = state.smoothed_rtt.unwrap_or(Duration::MAX);
        if packets > 20 && (end - begin).0 < rtt.0 / 8 {
            self.bursts.add(begin, packets as f64);
        }
    }

    fn note_storm(&mut self, now: Time, is_repeat: bool, state: &State) {
        let rtt = state.smoothed_rtt.or(state.min_rtt).unwrap_or(Duration::from_millis(100));
        while self.round.front().is_some_and(|(at, _)| *at + rtt < now) || self.round.len() > 4096 {
            let gone = self.round.pop_front();
            self.repeats_in_round -= u64::from(gone.is_some_and(|(_, repeat)| repeat));
        }
        self.round.push_back((now, is_repeat));
        self.repeats_in_round += u64::from(is_repeat);
        let packets = self.round.len() as u64;
        // It ends when less than a quarter is repeated.
        let share = if self.in_storm { 4 } else { 2 };
        let is_storm = packets >= 20 && share * self.repeats_in_round >= packets;
        if is_storm && !self.in_storm {
            self.storms.add(now, 100.0 * self.repeats_in_round as f64 / packets as f64);
        }
        self.in_storm = is_storm;
    }

    /// Notes a loss of a packet sent at `sent`.
    pub(super) fn on_lost(&mut self, now: Time, sent: Time, state: &State) {
        // An acknowledged packet that was sent between them ends the row.
        let is_between = |first: Time| {
            let at = self.acked.partition_point(|acked| *acked <= first);
            self.acked.get(at).is_some_and(|acked| *acked < sent)
        };
        let row = match self.row {
            Some((first, _)) if first <= sent && !is_between(first) => (first, sent),
            _ => (sent, sent),
        };
        self.row = Some(row);
        let (Some(smoothed), variation) = (state.smoothed_rtt, state.rttvar.unwrap_or(Duration::ZERO)) else {
            return;
        };
        let delay = self.promised.unwrap_or(DEFAULT_ACK_DELAY);
        let span = (smoothed + (variation * 4).max(Duration::from_millis(1)) + delay) * 3;
        if !self.is_tcp && self.persistent.is_none() && row.1 >= row.0 && row.1 - row.0 > span {
            self.persistent = Some((now, state.cwnd));
        }
    }

    /// Notes the send times of packets that are acknowledged.
    pub(super) fn on_acked(&mut self, sent_at: &[Time]) {
        for sent in sent_at {
            let at = self.acked.partition_point(|acked| acked <= sent);
            self.acked.insert(at, *sent);
        }
        while self.acked.len() > MOST_ACKED {
            self.acked.pop_front();
        }
    }

    /// Notes the delay of an acknowledgement.
    pub(super) fn on_delay(&mut self, now: Time, delay: Option<Duration>) {
        let promised = self.promised.unwrap_or(DEFAULT_ACK_DELAY);
        if let Some(delay) = delay.filter(|delay| *delay > promised + TIMER_SLACK) {
            self.delays.add(now, delay.as_millis_f64());
        }
    }

    /// Notes that packets declared lost by a timeout were acknowledged.
    pub(super) fn on_spurious_timeout(&mut self, now: Time) {
        self.timeouts.add(now, 0.0);
    }

    /// Notes a new window. A collapse is a fall to at most two packets (RFC 9002 section 7.6.2)
    /// from at least eight.
    pub(super) fn on_window(&mut self, now: Time, before: u64, state: &State) {
        let full = state.full.max(1);
        let collapses = before >= 8 * full && state.cwnd.is_some_and(|cwnd| cwnd <= 2 * full + full / 2);
        match self.persistent {
            _ if self.is_tcp => {}
            _ if collapses && self.persistent.is_none() => self.wrong.add(now, before as f64),
            Some(_) if collapses => self.persistent = None,
            _ => {}
        }
    }

    /// Settles persistent congestion that the window did not answer, a round trip later.
    pub(super) fn settle(&mut self, now: Time, state: &State) {
        let Some((since, _)) = self.persistent else { return };
        let rtt = state.smoothed_rtt.unwrap_or(Duration::ZERO);
        if now - since > rtt {
            if state.cwnd.is_some_and(|cwnd| cwnd > 4 * state.full.max(1)) {
                self.missed.add(since, state.cwnd.unwrap_or(0) as f64);
            }
            self.persistent = None;
        }
    }

    /// Returns what was found over a connection of this length.
    pub(super) fn findings(
        mut self,
        end: Time,
        span: Duration,
        totals: &Totals,
        state: &State,
    ) -> Vec<Finding> {
        let burst = self.burst.take();
        self.end_burst(burst, state);
        let seen = self.occurrences().into_iter().filter(|(seen, ..)| seen.count > 0);
        let mut all: Vec<Finding> = seen.map(|(seen, check, text)| seen.finding(check, text)).collect();
        all.extend(self.shares(end, span));
        all.extend(totals.findings());
        all.sort_by_key(|finding| finding.check);
        all
    }

    /// Returns the checks that count occurrences, with their sentences.
    fn occurrences(&self) -> [(&Seen, Check, String); 6] {
        let promised = self.promised.unwrap_or(DEFAULT_ACK_DELAY).as_millis_f64();
        let Self { timeouts, missed, wrong, bursts, delays, storms, .. } = self;
        [
            (
                timeouts,
                Check::SpuriousTimeout,
                format!(
                    "{}: what was sent again had arrived, and its acknowledgement came later",
                    timeouts.counted("spurious timeout")
                ),
            ),
            (
                missed,
                Check::MissedPersistentCongestion,
                format!(
                    "persistent congestion was missed {}: the window stayed at {:.0} kB (RFC 9002 section 7.6)",
                    missed.times(),
                    missed.worst * 1e-3
                ),
            ),
            (
                wrong,
                Check::WrongPersistentCongestion,
                format!(
                    "the window collapsed {} without persistent congestion, from {:.0} kB (RFC 9002 section 7.6)",
                    wrong.times(),
                    wrong.worst * 1e-3
                ),
            ),
            (
                bursts,
                Check::Bursts,
                format!(
                    "{} of more than 20 packets within an eighth of the RTT, of up to {:.0} packets",
                    bursts.counted("burst"),
                    bursts.worst
                ),
            ),
            (
                delays,
                Check::AckDelay,
                format!(
                    "{} with more delay than the promised {promised:.0} ms, up to {:.1} ms",
                    delays.counted("ACK"),
                    delays.worst
                ),
            ),
            (
                storms,
                Check::RetransmissionStorm,
                format!(
                    "{}: up to {:.0} % of a round trip's packets were retransmissions",
                    storms.counted("retransmission storm"),
                    storms.worst
                ),
            ),
        ]
    }

    fn shares(&self, end: Time, span: Duration) -> Vec<Finding> {
        let mut all = Vec::new();
        let limited = self.limited.share(end, span);
        if limited > 0.5 {
            let how = if self.is_told { "says the log" } else { "less than 3/4 of the window was used" };
            let text =
                format!("the application limits the sender for {:.0} % of the time ({how})", 100.0 * limited);
            let times = self.limited.first.into_iter().collect();
            all.push(Finding { check: Check::ApplicationLimited, text, times });
        }
        let blocked = self.window.share(end, span);
        if blocked > 0.05 {
            let text =
                format!("the receive window limits the sender for {:.0} % of the time", 100.0 * blocked);
            let times = self.window.first.into_iter().collect();
            all.push(Finding { check: Check::ReceiveWindow, text, times });
        }
        all
    }
}

/// Totals that two checks compare.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) lost: u64,
    pub(super) spurious: u64,
    pub(super) first_spurious: Option<Time>,
    pub(super) median_rtt: Option<Duration>,
    pub(super) min_rtt: Option<Duration>,
}

impl Totals {
    fn findings(&self) -> Vec<Finding> {
        let mut all = Vec::new();
        if self.spurious >= 3 && 10 * self.spurious >= self.lost {
            let share = 100.0 * self.spurious as f64 / self.lost.max(1) as f64;
            let text = format!("{} of {} losses were none ({share:.0} %)", self.spurious, self.lost);
            let times = self.first_spurious.into_iter().collect();
            all.push(Finding { check: Check::SpuriousLosses, text, times });
        }
        if let (Some(median), Some(min)) = (self.median_rtt, self.min_rtt)
            && median.0 > 3 * min.0.max(1)
            && median > min + LEAST_QUEUE
        {
            let text = format!(
                "a standing queue: the median RTT is {:.1} ms, {:.1} times the smallest",
                median.as_millis_f64(),
                median.0 as f64 / min.0 as f64
            );
            all.push(Finding { check: Check::StandingQueue, text, times: Vec::new() });
        }
        all
    }
}
