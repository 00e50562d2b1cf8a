//! A connection of the kernel, as its controller sees it.
//!
//! The kernel detects losses, measures RTT and delivery rate, and counts packets in flight. A
//! [`Flow`] turns its records into the signals of [`congestion::Controller`]. What the kernel does
//! not report is reconstructed:
//!
//! * Departures: `data_segs_out` is the number of packets sent. They get the time of the record
//!   before, whose ACK released them.
//! * Packets of an ACK: the oldest ones in flight. SACK blocks are not in the records, so packets
//!   that arrive out of order count as if in order.
//! * Growth: all that an ACK outside of recovery acknowledges, if the window limits the sender
//!   (`is_cwnd_limited`).
//!
//! A number in a record is not trusted: one that cannot be true is limited before it is used.

use std::collections::VecDeque;

use congestion::{
    Ack, AckedPacket, Algorithm, Cause, Congestion, Controller, Detection, Idle, Lost, LostPacket, PathInfo,
    RateSample, Sent,
};
use units::{Duration, Rate, Time};

use crate::record::{Answer, Record, kind, state};

/// Largest window of an answer, in packets.
const MAX_CWND: u64 = 1 << 20;
/// Largest payload of a segment, bytes.
const MAX_SEGMENT: u32 = 65_535;
/// Largest time, in us: 35 years after the host has started.
const MAX_TIME: u64 = 1 << 50;
/// Longest receive time of a packet, in ns, before or after that of the first: 36 years.
const MAX_RECEIVED: i64 = 1 << 60;
/// `TCP_INFINITE_SSTHRESH`.
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;
/// Most packets between two records. More cannot leave before an ACK or timeout gives a record.
const MAX_SENT: u32 = 1 << 16;

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
struct Packet {
    pn: u64,
    sent: Time,
    tx_in_flight: u64,
    lost_at_send: u64,
    app_limited: bool,
}

/// A connection of the kernel with its controller.
#[derive(Debug)]
pub struct Flow {
    controller: Box<dyn Controller>,
    rate_samples: bool,
    /// Bytes of a packet.
    mss: u64,
    /// Packets in flight, oldest first.
    packets: VecDeque<Packet>,
    next_pn: u64,
    last: Record,
    /// Smallest RTT. The kernel forgets its own after five minutes.
    min_rtt: Duration,
    round: u64,
    /// Number of delivered packets at which the round trip ends.
    round_end: u32,
    /// Time of the last reduction.
    reduced: Option<Time>,
    /// Time of the last call of the controller's timer.
    served: Option<Time>,
    /// State of the kernel's loss recovery.
    state: u8,
    /// State of recovery whose reduction the next ACK reports.
    pending: Option<u8>,
    /// Counts of losses and marks that the controller knows of.
    known_lost: u32,
    known_marks: u32,
    /// The peer's clock, in the unit of its timestamps, which wrap.
    peer_clock: i64,
    acked: Vec<AckedPacket>,
    lost: Vec<LostPacket>,
}

impl Flow {
    /// Creates a controller for a connection whose first record this is.
    pub fn new(algorithm: &Algorithm, first: &Record, paced: bool) -> Self {
        let mss = u64::from(first.mss.clamp(1, MAX_SEGMENT));
        let path = PathInfo { max_datagram_size: mss, paced, seed: first.number().into() };
        let controller = algorithm.build(path);
        Self {
            rate_samples: controller.needs().rate_samples,
            controller,
            mss,
            packets: VecDeque::new(),
            next_pn: 0,
            last: *first,
            min_rtt: Duration::MAX,
            round: 0,
            round_end: 0,
            reduced: None,
            served: None,
            state: state::OPEN,
            pending: None,
            known_lost: first.lost,
            known_marks: first.delivered_ce,
            peer_clock: first.tsval.into(),
            acked: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// Returns the controller.
    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    /// Returns the number of the connection.
    pub fn number(&self) -> u32 {
        self.last.number()
    }

    /// Processes a record.
    pub fn on_record(&mut self, record: &Record) {
        let now = time(record);
        self.on_sent(record);
        match record.kind {
            kind::ACK => self.on_ack(record),
            kind::STATE => self.on_state(record),
            kind::UNDO => self.controller.on_spurious(),
            kind::IDLE if record.idle_us > record.rto_us => {
                let idle = Duration::from_micros(record.idle_us.into());
                let rto = Duration::from_micros(record.rto_us.into());
                self.controller.on_idle(&Idle { now, idle, rto });
            }
            _ => {}
        }
        self.last = *record;
        self.on_time(now);
    }

    /// Calls the controller if its timer is due. Returns whether it was.
    pub fn on_time(&mut self, now: Time) -> bool {
        let wake = self.controller.control().wake;
        // A time that was served stays served. Otherwise a controller that names a past time would
        // be called forever.
        let is_due = wake <= now && self.served.is_none_or(|served| wake > served);
        if is_due {
            self.served = Some(now);
            self.controller.on_timer(now);
        }
        is_due
    }

    /// Returns the answer to the newest record.
    pub fn answer(&self) -> Answer {
        let control = self.controller.control();
        let cwnd = (control.cwnd / self.mss).clamp(1, MAX_CWND) as u32;
        let ssthresh = (control.ssthresh / self.mss).clamp(2, INFINITE_SSTHRESH) as u32;
        let rate = control.pacing_rate.map_or(u64::MAX, |rate| (rate.0 / 8).max(1));
        Answer::new(cwnd, ssthresh, rate, self.controller.shapes_recovery(), self.last.seq)
    }

    /// Records the packets that have left since the last record.
    fn on_sent(&mut self, record: &Record) {
        let room = (MAX_CWND as usize).saturating_sub(self.packets.len());
        let count = record.data_segs_out.wrapping_sub(self.last.data_segs_out).min(MAX_SENT);
        let count = count.min(room as u32);
        let now = time(&self.last);
        for left in (0..count).rev() {
            let bytes_in_flight = (self.packets.len() as u64 + 1) * self.mss;
            let app_limited = left == 0 && record.app_limited != 0;
            let (pn, bytes) = (self.next_pn, self.mss);
            self.controller.on_sent(&Sent { now, pn, bytes, bytes_in_flight, app_limited });
            self.packets.push_back(Packet {
                pn,
                sent: now,
                tx_in_flight: bytes_in_flight,
                lost_at_send: self.bytes(self.last.lost),
                app_limited,
            });
            self.next_pn += 1;
        }
    }

    fn on_state(&mut self, record: &Record) {
        match record.state {
            state::LOSS => {
                self.on_lost(record, Detection::Timeout);
                self.on_congestion(record, Cause::Timeout);
                self.pending = None;
            }
            state::CWR | state::RECOVERY if self.state < state::CWR => self.pending = Some(record.state),
            _ => {}
        }
        self.state = record.state;
    }

    fn on_ack(&mut self, record: &Record) {
        let in_recovery = self.state >= state::CWR;
        // Linux marks losses by RACK, which is the time threshold of RFC 9002.
        self.on_lost(record, Detection::TimeThreshold);
        let ce = u64::from(record.delivered_ce.wrapping_sub(self.known_marks));
        self.known_marks = record.delivered_ce;
        match self.pending.take() {
            Some(state::CWR) if ce > 0 => self.on_congestion(record, Cause::Ecn),
            Some(_) => self.on_congestion(record, Cause::Loss),
            None => {}
        }
        let round_start = self.on_round(record);
        if let Ok(rtt @ 1..) = u64::try_from(record.rtt_us) {
            self.min_rtt = self.min_rtt.min(Duration::from_micros(rtt));
        }
        let newest = self.on_acked(record);
        let acked = self.bytes(record.acked);
        let grows = !in_recovery && record.cwnd_limited != 0;
        let ack = Ack {
            now: time(record),
            packets: &self.acked,
            acked,
            late: 0,
            growth: if grows { acked } else { 0 },
            lost: self.bytes(record.losses),
            prior_in_flight: self.bytes(record.prior_in_flight),
            bytes_in_flight: self.bytes(record.in_flight),
            latest_rtt: u64::try_from(record.rtt_us).ok().filter(|rtt| *rtt > 0).map(Duration::from_micros),
            min_rtt: self.min_rtt,
            smoothed_rtt: Duration::from_micros(record.srtt_us.into()),
            ack_delay: Duration::ZERO,
            ce,
            delivered: self.bytes(record.delivered),
            rate: newest.filter(|_| self.rate_samples).and_then(|newest| self.rate(record, &newest)),
            round: self.round,
            round_start,
            in_recovery,
            app_limited: record.app_limited != 0,
            cwnd_limited: record.cwnd_limited != 0,
        };
        let asked = self.controller.on_ack(&ack);
        if let Some(cause) = asked.filter(|_| !in_recovery) {
            self.on_congestion(record, cause);
        }
    }

    /// Removes the packets that an ACK acknowledges. Returns the newest.
    fn on_acked(&mut self, record: &Record) -> Option<Packet> {
        let count = self.packets.len().min(record.acked as usize);
        let received = self.received(record);
        self.acked.clear();
        let mut newest = None;
        for packet in self.packets.drain(..count) {
            let Packet { pn, sent, .. } = packet;
            let before_reduction = self.reduced.is_some_and(|reduced| sent <= reduced);
            self.acked.push(AckedPacket { pn, bytes: self.mss, sent, received, before_reduction });
            newest = Some(packet);
        }
        newest
    }

    /// Returns the receive time of the packets that an ACK acknowledges, in ns on the peer's clock.
    fn received(&mut self, record: &Record) -> Option<i64> {
        if record.tsval == 0 {
            return None;
        }
        let passed = record.tsval.wrapping_sub(self.peer_clock as u32) as i32;
        self.peer_clock = self.peer_clock.saturating_add(passed.into());
        let unit = if record.usec_timestamps != 0 { 1_000 } else { 1_000_000 };
        Some(self.peer_clock.saturating_mul(unit).clamp(-MAX_RECEIVED, MAX_RECEIVED))
    }

    /// Removes the packets that have been declared lost since the last call: the oldest.
    fn on_lost(&mut self, record: &Record, detection: Detection) {
        let count = self.packets.len().min(record.lost.wrapping_sub(self.known_lost) as usize);
        self.known_lost = record.lost;
        if count == 0 {
            return;
        }
        let bytes = self.mss;
        self.lost.clear();
        self.lost.extend(self.packets.drain(..count).map(|packet| {
            let Packet { pn, sent, tx_in_flight, lost_at_send, app_limited } = packet;
            LostPacket { pn, bytes, sent, detection, tx_in_flight, lost_at_send, app_limited }
        }));
        self.controller.on_lost(&Lost {
            now: time(record),
            packets: &self.lost,
            total_lost: self.bytes(record.lost),
            delivered: self.bytes(record.delivered),
            bytes_in_flight: self.bytes(record.in_flight),
        });
    }

    fn on_congestion(&mut self, record: &Record, cause: Cause) {
        let now = time(record);
        self.reduced = Some(now);
        self.controller.on_congestion(&Congestion {
            now,
            cause,
            prior_in_flight: self.bytes(record.prior_in_flight.max(record.in_flight)),
            min_rtt: self.min_rtt,
            smoothed_rtt: Duration::from_micros(record.srtt_us.into()),
        });
    }

    /// Reports whether a round trip ends: a packet has arrived that was sent after the last end.
    fn on_round(&mut self, record: &Record) -> bool {
        // Counts wrap.
        let ends = record.acked > 0 && record.prior_delivered.wrapping_sub(self.round_end) < 1 << 31;
        if ends {
            self.round += 1;
            self.round_end = record.delivered;
        }
        ends
    }

    fn rate(&self, record: &Record, newest: &Packet) -> Option<RateSample> {
        let interval = Duration::from_micros(u64::try_from(record.interval_us).ok().filter(|us| *us > 0)?);
        let delivered = self.bytes(record.sample_delivered);
        let is_long = self.min_rtt == Duration::MAX || interval >= self.min_rtt;
        Some(RateSample {
            prior_delivered: self.bytes(record.prior_delivered),
            delivered,
            interval,
            delivery_rate: is_long.then(|| Rate::from_delivery(delivered, interval)),
            app_limited: record.app_limited != 0,
            tx_in_flight: newest.tx_in_flight,
            lost: self.bytes(record.lost).saturating_sub(newest.lost_at_send),
        })
    }

    fn bytes(&self, packets: u32) -> u64 {
        u64::from(packets) * self.mss
    }
}

fn time(record: &Record) -> Time {
    Time(record.time_us.min(MAX_TIME) * 1000)
}
