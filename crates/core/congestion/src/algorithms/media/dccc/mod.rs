//! DCCC, delay-constrained congestion control: a sending rate that reacts to one-way delay above a
//! threshold, and to packets delayed or dropped by the network. D'Aronco, Toni, Mena, Zhu,
//! Frossard: "Improved Utility-based Congestion Control for Delay-Constrained Communication", arXiv
//! 1506.02799v3 (January 2017), section III and appendix C.
//!
//! ```text
//! once per feedback period T_s, over the packets acknowledged in it:
//!   e       = mean of received - sent                                     s        one-way delay
//!   x_recv  = bits / (last arrival - last arrival of the previous period)  bit/s    (21), all interarrival times
//!   x_sent  = mean rate x at which these packets were sent = x(t - RTT)   bit/s
//!   RTT     = mean RTT sample minus its ACK delay                         s        appendix C: forward plus backward delay
//!   x_recv  = alpha x_recv_before + (1 - alpha) x_recv                             (61), off by default
//!   x      += T_s kr x (h/x - beta ((e - T_r) / RTT)+ - (x_sent - x_recv) / x_recv)       (26), (17)
//! equilibrium  e = T_r + RTT h / (beta x),  RTT = e + e_b;  x > h / beta           (18)-(20)
//!       or  loss / (1 - loss) = h / x                                              (24)
//! pacing_rate = x;  cwnd = max(2 max(x, x_sent) RTT, 10 mds), not meant to limit the rate
//! ```
//!
//! Equation 26 is printed without ( )+ around the delay; equation 17 has it. The ( )+ of equation
//! 16 is a projection that keeps x positive, here `min-rate`. The mean over n interarrival times is
//! appendix C's. The first of them reaches back to the previous period, so the mean is also defined
//! for a single packet.
//!
//! **Bytes**: x counts what the window counts, [`AckedPacket::bytes`]; the paper's 20 kbit/s count
//! 1094-byte packets with all headers. Every price is a ratio. So h in window bytes is h on the
//! wire times window / wire bytes.
//!
//! **Clocks**: `absolute` uses receive time minus send time as it is. A receiver clock ahead by d
//! then acts like a threshold of T_r - d. `anchored` and `windowed` (see `queuing_delay`) subtract
//! the smallest delay, so that the threshold limits the queuing delay. The paper's rule for
//! unknown clocks, T_r = the smallest delay seen, is `anchored` with a threshold of zero.
//! `windowed` follows drifting clocks, but also the flow's own standing queue. A single flow then
//! fills any buffer, by one threshold per window.
//!
//! Deviations: the receiver's part runs at the sender, with the receive times in ACKs (appendix C
//! allows it). A period ends with the first ACK after its time. RTT is the sender's sample of the
//! newest packet minus the reported ACK delay. Its forward delay is that packet's, not the mean e.
//! Feedback has only the backward delay, and a receiver that waits for a second packet would add
//! its timer whenever packets are less frequent. T_s kr is `gain`, or less if the period is shorter
//! than the RTT, so that kr = gain / max(T_s, RTT). The initial, smallest and largest rate, the
//! halving without feedback and the window are this project's choice, because the paper has none.
//! Losses, marks and timeouts have no direct effect. Without receive times the rate stays constant.

mod feedback;
mod params;
#[cfg(test)]
mod tests;

pub use params::{Owd, Params, SendingRate, equilibrium_delay};

use self::feedback::{Averages, Feedback};
use crate::components::queuing_delay::{BaseDelay, QueuingDelay};
use crate::{Ack, AckedPacket, Cause, Congestion, Control, Controller, Needs, PathInfo, Sent};
use alloc::collections::VecDeque;
use units::{Duration, Rate, Time};

/// RTT before the first sample. RFC 9002 section 6.2.2.
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// Number of past rates kept, one per feedback period. No packet stays in flight for so many
/// periods.
const RATES: usize = 64;

crate::variables! {
    /// Sending rate, x. Equation 26.
    x: "bit/s",
    /// Rate at the receiver, x_recv, known from the first report on. Equation 21.
    x_recv: "bit/s"; later,
    /// Mean one-way delay of the last period, e, known from the first report on. Appendix C.
    e: "s"; later,
}

/// The controller. Rates are in bits per second.
#[derive(Clone, Debug)]
pub struct Dccc {
    params: Params,
    mds: u64,
    x: f64,
    /// Rates, each with the first packet number sent at it.
    rates: VecDeque<(u64, f64)>,
    next_pn: u64,
    delay: Option<QueuingDelay>,
    averages: Averages,
    /// Time at which the feedback period ends.
    due: Option<Time>,
    /// RTT of the last period, followed by the last sample.
    rtt: Duration,
    latest_rtt: Duration,
    feedback: Option<Feedback>,
    /// Time at which missing feedback halves the rate.
    feedback_deadline: Option<Time>,
}

impl Dccc {
    /// Creates a controller at the initial rate.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let anchor = match params.owd {
            Owd::Absolute => None,
            Owd::Anchored => Some(BaseDelay::Clamped),
            Owd::Windowed => Some(BaseDelay::Windowed),
        };
        let mut cc = Self {
            mds: path.max_datagram_size.max(1),
            x: 0.0,
            rates: VecDeque::new(),
            next_pn: 0,
            delay: anchor.map(|anchor| QueuingDelay::new(anchor, params.owd_window)),
            averages: Averages::default(),
            due: None,
            rtt: INITIAL_RTT,
            latest_rtt: Duration::ZERO,
            feedback: None,
            feedback_deadline: None,
            params,
        };
        cc.set_rate(cc.params.initial_rate.0 as f64);
        cc
    }

    fn min_rate(&self) -> f64 {
        self.params.min_rate.0.max(1) as f64
    }

    fn set_rate(&mut self, x: f64) {
        let max = self.params.max_rate.map_or(f64::INFINITY, |rate| rate.0 as f64);
        self.x = x.min(max).max(self.min_rate());
        if self.rates.len() == RATES {
            self.rates.pop_front();
        }
        self.rates.push_back((self.next_pn, self.x));
    }

    /// Returns the rate in the header of a packet.
    fn header(&self, pn: u64) -> f64 {
        let later = self.rates.partition_point(|&(since, _)| since <= pn);
        self.rates.get(later.saturating_sub(1)).map_or(self.x, |&(_, x)| x)
    }

    fn on_packet(&mut self, packet: &AckedPacket) {
        let owd = match &mut self.delay {
            None => {
                packet.received.map(|r| r.saturating_sub(i64::try_from(packet.sent.0).unwrap_or(i64::MAX)))
            }
            Some(delay) => delay.on_packet(packet),
        };
        let header = self.header(packet.pn);
        self.averages.on_packet(packet, header, owd);
    }

    fn update(&mut self, now: Time) {
        let Params { smoothing, sending_rate, .. } = self.params;
        let measured = sending_rate == SendingRate::Measured;
        // If packets or their receive times are missing, the next ACK may bring them.
        let Some(mut feedback) = self.averages.finish(self.rtt, measured) else { return };
        if let Some(before) = self.feedback {
            feedback.received = smoothing * before.received + (1.0 - smoothing) * feedback.received;
        }
        self.rtt = Duration::from_secs_f64(feedback.rtt);
        self.feedback = Some(feedback);
        self.set_rate(self.params.next_rate(self.x, &feedback));
        // The period ends at the next tick of a timer, not at the next packet, but missed ticks are
        // not repeated.
        let period = self.params.fixed_period.unwrap_or(self.rtt);
        self.due = self.due.map(|due| due + period).filter(|&due| due > now).or(Some(now + period));
    }

    /// Feedback timeout: halves the rate for each round trip without an ACK.
    fn check_feedback_timeout(&mut self, now: Time) {
        while let Some(deadline) = self.feedback_deadline.filter(|&d| d <= now && self.x > self.min_rate()) {
            self.set_rate(self.x / 2.0);
            self.feedback_deadline = Some(deadline + self.rtt);
        }
    }

    fn expect_feedback(&self, now: Time) -> Option<Time> {
        self.params.silence.map(|rtts| now + self.rtt.mul_f64(rtts).max(self.params.min_silence))
    }
}

impl Controller for Dccc {
    fn needs(&self) -> Needs {
        Needs { receive_times: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.check_feedback_timeout(sent.now);
        self.next_pn = sent.pn + 1;
        self.feedback_deadline = self.feedback_deadline.or_else(|| self.expect_feedback(sent.now));
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.check_feedback_timeout(ack.now);
        self.feedback_deadline = self.expect_feedback(ack.now).filter(|_| ack.bytes_in_flight > 0);
        if let Some(rtt) = ack.latest_rtt {
            self.latest_rtt = rtt;
            self.averages.on_rtt(rtt - ack.ack_delay);
        }
        for packet in ack.packets {
            self.on_packet(packet);
        }
        let first = ack.now + self.params.fixed_period.unwrap_or(self.latest_rtt);
        if ack.now >= *self.due.get_or_insert(first) {
            self.update(ack.now);
        }
        None
    }

    /// Losses act through the receive rate.
    fn on_congestion(&mut self, _: &Congestion) {}

    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.mds = path.max_datagram_size.max(1);
    }

    fn control(&self) -> Control {
        let fastest = self.feedback.map_or(self.x, |f| f.sent.max(self.x));
        let flight = self.params.window * fastest / 8.0 * self.rtt.max(self.latest_rtt).as_secs_f64();
        let cwnd = (flight as u64).max(self.params.min_window.max(1) * self.mds);
        Control { pacing_rate: Some(Rate(self.x as u64)), ..Control::window(cwnd) }
    }

    /// Reports the variables. Rates are in bits per second, `e` in seconds.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("x", self.x);
        if let Some(f) = &self.feedback {
            put("x_recv", f.received);
            put("e", f.owd);
        }
    }
}
