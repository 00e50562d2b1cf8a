//! Refuses calls that no sender makes: a log may be damaged, or made up.

use std::collections::BTreeMap;

use scenario::signal::{AckSignal, Call, LostSignal, Path, RateSignal, SentSignal, Signal};

/// Largest datagram, sum of bytes, number of a packet, rate in bit/s, and time in nanoseconds.
const DATAGRAM: u64 = 65_535;
const BYTES: u64 = 1 << 44;
const NUMBER: u64 = 1 << 62;
const RATE: u64 = 1 << 44;
const TIME: u64 = 1 << 54;
/// Largest time of the peer, whose clock may count from 1970.
const PEER_TIME: u64 = 1 << 61;
/// Longest RTT, idle period and timeout, in nanoseconds: some 39 hours.
const LONGEST: u64 = 1 << 47;
/// Largest number of packets in flight.
const PACKETS: usize = 1 << 20;

/// Checks calls against those before them.
#[derive(Debug, Default)]
pub(super) struct Sanity {
    latest: u64,
    /// Bytes and send times of packets without an outcome.
    in_flight: BTreeMap<u64, (u64, u64)>,
    next_pn: u64,
    delivered: u64,
    lost: u64,
    round: u64,
}

impl Sanity {
    /// Reports whether a sender can make this call.
    pub(super) fn accepts(&mut self, Call(now, cwnd, signal): &Call) -> bool {
        let now = *now;
        if now < self.latest || now >= TIME || *cwnd >= BYTES {
            return false;
        }
        self.latest = now;
        match signal {
            Signal::Begins(path) => {
                *self = Self { latest: now, ..Self::default() };
                is_path(path)
            }
            Signal::Path(path) => is_path(path),
            Signal::Sent(sent) => self.accepts_sent(now, sent),
            Signal::Ack(ack) => self.accepts_ack(now, ack),
            Signal::Lost(lost) => self.accepts_lost(lost),
            Signal::Congestion(event) => {
                event.prior_in_flight < BYTES
                    && event.min_rtt.is_none_or(is_rtt)
                    && event.smoothed_rtt < LONGEST
            }
            Signal::Idle(idle, rto) => *idle < LONGEST && *rto < LONGEST,
            Signal::Spurious | Signal::Timer => true,
        }
    }

    fn accepts_sent(&mut self, now: u64, sent: &SentSignal) -> bool {
        let &SentSignal { pn, bytes, bytes_in_flight, .. } = sent;
        let is_new = pn >= self.next_pn && pn < NUMBER && self.in_flight.len() < PACKETS;
        let fits = (1..=DATAGRAM).contains(&bytes) && (bytes..BYTES).contains(&bytes_in_flight);
        if is_new && fits {
            self.next_pn = pn + 1;
            self.in_flight.insert(pn, (bytes, now));
        }
        is_new && fits
    }

    fn accepts_ack(&mut self, now: u64, ack: &AckSignal) -> bool {
        let mut acked = 0;
        for packet in &ack.packets {
            // TCP rounds send times to the unit of its clock.
            let known = self.in_flight.remove(&packet.0);
            if known.is_none_or(|(bytes, sent)| bytes != packet.1 || packet.2 > sent.min(now)) {
                return false;
            }
            if packet.3.is_some_and(|at| at.unsigned_abs() >= PEER_TIME) {
                return false;
            }
            acked += packet.1;
        }
        let delivered = self.delivered..=self.delivered + acked + ack.late.min(BYTES);
        let sums = [ack.prior_in_flight, ack.bytes_in_flight, ack.late, ack.lost, ack.ce];
        let rtts = [ack.latest_rtt, ack.min_rtt];
        let is_sane = delivered.contains(&ack.delivered)
            && ack.delivered < BYTES
            && (self.round..=self.round + 1).contains(&ack.round)
            && ack.growth <= acked
            && sums.iter().all(|sum| *sum < BYTES)
            && rtts.into_iter().flatten().all(is_rtt)
            && ack.smoothed_rtt < LONGEST
            && ack.ack_delay < LONGEST
            && ack.rate.is_none_or(|rate| self.is_rate(&rate, ack.delivered));
        (self.delivered, self.round) = (ack.delivered, ack.round);
        is_sane
    }

    fn is_rate(&self, rate: &RateSignal, delivered: u64) -> bool {
        rate.prior_delivered <= delivered
            && rate.delivered == delivered - rate.prior_delivered
            && rate.interval < LONGEST
            && rate.lost <= self.lost
            && rate.tx_in_flight < BYTES
            && rate.delivery_rate.is_none_or(|bits| (1..RATE).contains(&bits) && rate.interval > 0)
    }

    fn accepts_lost(&mut self, lost: &LostSignal) -> bool {
        for packet in &lost.packets {
            let known = self.in_flight.remove(&packet.pn);
            if known.is_none_or(|(bytes, sent)| bytes != packet.bytes || packet.sent > sent) {
                return false;
            }
            self.lost += packet.bytes;
            if packet.lost_at_send > self.lost || packet.tx_in_flight >= BYTES {
                return false;
            }
        }
        let sums = [lost.total_lost, lost.delivered, lost.bytes_in_flight];
        !lost.packets.is_empty() && lost.total_lost == self.lost && sums.iter().all(|sum| *sum < BYTES)
    }
}

fn is_rtt(rtt: u64) -> bool {
    // A handshake in no time has an RTT of zero.
    rtt < LONGEST
}

fn is_path(path: &Path) -> bool {
    (100..=DATAGRAM).contains(&path.max_datagram_size)
}
