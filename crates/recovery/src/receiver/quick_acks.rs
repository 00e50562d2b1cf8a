//! When a Linux TCP receiver acknowledges every packet: Linux 6.x, `net/ipv4/tcp_input.c`, from its logic.
//!
//! A count `quick` of ACKs that are not to be delayed; as long as it is above 0, each packet is acknowledged at once, and each
//! ACK takes one off it (`tcp_dec_quickack_mode`). Two things add to it.
//!
//! * At the first packet, and at a packet that lies below the contiguous edge as a whole (`tcp_incr_quickack`,
//!   `tcp_enter_quickack_mode`):
//!   `quick = max(quick, min(rcv_ssthresh / (2 * rcv_mss), 16))`, packets; 2 where that is 0.
//! * Each packet in order of at least 128 bytes that lets the offered window grow (`tcp_grow_window`), before it is decided
//!   whether to acknowledge: while `rcv_ssthresh < clamp`,
//!   `rcv_ssthresh = min(rcv_ssthresh + 2 * len, clamp)`, bytes, and `quick |= 1`: an even count, so also 0, rises by 1.
//!
//! `clamp = rcvbuf * ratio`, bytes: what of the receive buffer payload may fill. `ratio` is 1/2 at first, then payload through
//! memory of the largest packet so far of more than 536 bytes (`tcp_measure_rcv_mss`). `rcvbuf` follows the rate
//! (`tcp_rcv_space_adjust`): each RTT with `copied` bytes, more than the most before, `space`,
//!
//! `rcvwin = 2 * copied + 16 * mss`, `rcvwin += 2 * rcvwin * (copied - space) / space`, `rcvbuf = max(rcvbuf, rcvwin / ratio)`
//!
//! up to `tcp_rmem[2]`. While a sender doubles its rate each RTT, so does the buffer, `rcv_ssthresh` is always behind it, and
//! most packets of slow start are acknowledged one by one; in congestion avoidance hardly any.
//!
//! Deviations:
//!
//! * The receiver's estimate of the RTT is the flow's base RTT. Linux has it from timestamps, the queue's delay included, and
//!   so looks at its buffer later in a round. Measured on the wire (10 Mbit/s, 50 ms, mss 1448, 10 packets at first), ACKs of
//!   one packet and of two by round: 10 and 0, 12 and 4, about 33 and 4, in the fourth about 46 of 60 packets alone. Here: 10
//!   and 0, 12 and 4, 38 and 1, and all 60 alone. That the estimate makes the difference is not measured.
//! * The application reads at once: the buffer is never full, reading alone sends no ACK (`tcp_cleanup_rbuf`), and the offered
//!   window never holds the sender back.
//! * A packet takes 2304 bytes of memory (1500 bytes with headers), whatever its payload; `ratio` is a float, at most 1, where
//!   Linux has 1/256ths.
//! * Packets out of order do not make the offered window grow, a CE mark does not count 2 more ACKs (the mark is acknowledged
//!   at once all the same), nor does a pause longer than the retransmission timeout begin anew.

use units::{Duration, Time};

/// Undelayed ACKs at most. `TCP_MAX_QUICKACKS`.
const MOST_QUICK: u64 = 16;
/// Undelayed ACKs where the window has no room for any. `tcp_incr_quickack`.
const LEAST_QUICK: u64 = 2;
/// Receive buffer at first, bytes of memory. `tcp_rmem[1]`.
const FIRST_BUFFER: u64 = 131_072;
/// Receive buffer at most, bytes of memory. `tcp_rmem[2]` as the emulator sets it.
const MOST_BUFFER: u64 = 64 << 20;
/// Window offered at first at most, bytes. `tcp_select_initial_window`.
const FIRST_WINDOW: u64 = 65_535;
/// Payload through memory before the first packet. `TCP_DEFAULT_SCALING_RATIO`.
const FIRST_RATIO: f64 = 0.5;
/// Memory of a packet of 1500 bytes, bytes. `truesize`.
const PACKET_MEMORY: f64 = 2304.0;
/// The packet that the ratio is first measured on is larger than this, bytes. `TCP_MSS_DEFAULT`.
const FIRST_RCV_MSS: u64 = 536;
/// The offered window grows with packets of at least this, bytes. `tcp_event_data_recv`.
const LEAST_GROWING: u64 = 128;
/// What is taken for read in the RTT before the first, packets. `TCP_INIT_CWND` in `tcp_init_buffer_space`.
const FIRST_SPACE: u64 = 10;
/// Room beyond two RTTs of data, packets. `tcp_rcv_space_adjust`.
const CUSHION: u64 = 16;

/// Which packets of a connection are acknowledged at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuickAcks {
    /// Payload of a full segment, bytes.
    mss: u64,
    /// What stands for the receiver's estimate of the RTT.
    rtt: Duration,
    /// ACKs that are not to be delayed.
    quick: u64,
    /// Largest packet so far, bytes.
    rcv_mss: u64,
    /// Payload through memory.
    ratio: f64,
    /// Receive buffer, bytes of memory.
    rcvbuf: u64,
    /// The window that may be offered, bytes.
    rcv_ssthresh: u64,
    /// When counting what is read began; nothing before the first packet.
    since: Option<Time>,
    /// The contiguous edge then, bytes.
    from: u64,
    /// Bytes read in the RTT that made the buffer what it is.
    space: u64,
}

impl QuickAcks {
    /// Of a connection with segments of `mss` bytes that has received nothing.
    pub(crate) fn new(mss: u32, rtt: Duration) -> Self {
        let mss = u64::from(mss.max(1));
        let mut new = Self {
            mss,
            rtt,
            quick: 0,
            rcv_mss: FIRST_RCV_MSS,
            ratio: FIRST_RATIO,
            rcvbuf: FIRST_BUFFER,
            rcv_ssthresh: 0,
            since: None,
            from: 0,
            space: FIRST_SPACE * mss,
        };
        new.rcv_ssthresh = new.clamp().min(FIRST_WINDOW / mss * mss);
        new
    }

    /// The bytes `start..end` arrive and move the contiguous edge from `before` to `after`. Returns whether they are to be
    /// acknowledged at once, whatever else is a reason for it.
    pub(crate) fn on_packet(&mut self, now: Time, start: u64, end: u64, before: u64, after: u64) -> bool {
        if start < end && end <= before {
            self.raise();
        } else if start < end && start <= before {
            self.on_data(now, end - start);
        }
        self.on_read(now, after);
        self.quick > 0
    }

    /// An ACK leaves.
    pub(crate) fn on_ack(&mut self) {
        self.quick = self.quick.saturating_sub(1);
    }

    /// Payload that the buffer holds, bytes.
    fn clamp(&self) -> u64 {
        (self.rcvbuf as f64 * self.ratio) as u64
    }

    fn raise(&mut self) {
        let fitting = match self.rcv_ssthresh / (2 * self.rcv_mss) {
            0 => LEAST_QUICK,
            packets => packets.min(MOST_QUICK),
        };
        self.quick = self.quick.max(fitting);
    }

    /// A packet of `len` bytes in order.
    fn on_data(&mut self, now: Time, len: u64) {
        if len > self.rcv_mss {
            self.rcv_mss = len;
            self.ratio = (len as f64 / PACKET_MEMORY).min(1.0);
        }
        if self.since.is_none() {
            self.since = Some(now);
            self.raise();
        }
        let clamp = self.clamp();
        if len >= LEAST_GROWING && self.rcv_ssthresh < clamp {
            self.rcv_ssthresh = clamp.min(self.rcv_ssthresh + 2 * len);
            // Not `max(quick, 1)`: from 16 the count is 16 again after the ACK of each packet that grows the window.
            self.quick |= 1;
        }
    }

    /// The application has read up to `edge`.
    fn on_read(&mut self, now: Time, edge: u64) {
        if self.since.is_none_or(|since| now - since < self.rtt) {
            return;
        }
        let copied = edge.saturating_sub(self.from);
        if copied > self.space {
            self.rcvbuf = self.rcvbuf.max(self.needed(copied)).min(MOST_BUFFER);
            self.space = copied;
        }
        self.since = Some(now);
        self.from = edge;
    }

    /// The buffer for a sender that came from `space` to `copied` bytes per RTT, bytes of memory.
    fn needed(&self, copied: u64) -> u64 {
        let steady = (2 * copied + CUSHION * self.mss) as f64;
        let rise = (copied - self.space) as f64 / self.space as f64;
        ((steady + 2.0 * steady * rise) / self.ratio) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const RTT: Duration = Duration::from_millis(50);

    fn quick_acks() -> QuickAcks {
        QuickAcks::new(MSS as u32, RTT)
    }

    /// Packet number `n` in order at `ms`.
    fn in_order(q: &mut QuickAcks, ms: u64, n: u64) -> bool {
        q.on_packet(Time::from_millis(ms), n * MSS, (n + 1) * MSS, n * MSS, (n + 1) * MSS)
    }

    /// 65 535 bytes hold 45 whole segments, 65 160 bytes, less than half the buffer, 65 536. They would be 22 pairs: 16 count.
    #[test]
    fn at_first() {
        let mut q = quick_acks();
        assert_eq!((q.rcv_ssthresh, q.clamp(), q.quick), (65_160, 65_536, 0));
        assert!(in_order(&mut q, 0, 0));
        assert_eq!((q.rcv_ssthresh, q.clamp(), q.quick), (65_160 + 2 * MSS, 82_375, MOST_QUICK + 1));
        let jumbo = QuickAcks::new(8948, RTT);
        assert_eq!(jumbo.rcv_ssthresh, 7 * 8948);
    }

    /// Segments so large that the window holds no pair of them: 2 ACKs, and one for the growth. No size makes it fail.
    #[test]
    fn at_least_two() {
        for mss in [32_768, 65_535, 1 << 20] {
            let mut q = QuickAcks::new(mss, RTT);
            assert!(q.on_packet(Time(0), 0, u64::from(mss), 0, u64::from(mss)));
            assert_eq!(q.quick, LEAST_QUICK | 1, "{mss}");
        }
        assert!(QuickAcks::new(0, Duration::ZERO).on_packet(Time(0), 0, 1, 0, 1));
    }

    /// The window grows twice as fast as data come, up to the clamp, and only then does the count stand still.
    #[test]
    fn growth_to_the_clamp() {
        let mut q = quick_acks();
        for n in 0..6 {
            in_order(&mut q, 0, n);
        }
        assert_eq!(q.rcv_ssthresh, 82_375, "65 160 + 6 * 2896 is more");
        q.quick = 0;
        assert!(!in_order(&mut q, 0, 6));
    }

    /// A growing window sets the lowest bit before the decision: an even count rises by one, an odd one stays.
    #[test]
    fn growth_makes_it_odd() {
        for (quick, then) in [(0, 1), (1, 1), (2, 3), (15, 15), (16, 17)] {
            let mut q = quick_acks();
            in_order(&mut q, 0, 0);
            q.quick = quick;
            assert!(in_order(&mut q, 0, 1));
            assert_eq!(q.quick, then);
        }
    }

    /// Neither 127 bytes nor a packet out of order make the window grow; nor does either measure the ratio.
    #[test]
    fn what_does_not_grow() {
        let mut q = quick_acks();
        in_order(&mut q, 0, 0);
        let was = q.rcv_ssthresh;
        q.quick = 0;
        assert!(!q.on_packet(Time(0), MSS, MSS + 127, MSS, MSS + 127));
        assert!(!q.on_packet(Time(0), 9 * MSS, 10 * MSS, MSS + 127, MSS + 127));
        assert_eq!(q.rcv_ssthresh, was);
        assert!(q.on_packet(Time(0), MSS + 127, MSS + 255, MSS + 127, MSS + 255), "128 do");
        assert_eq!((q.rcv_ssthresh, q.clamp()), (was + 256, 82_375));
    }

    /// Old data: 16 again, more stays more. What is not old as a whole, or empty, says nothing.
    #[test]
    fn old_data() {
        let mut q = quick_acks();
        in_order(&mut q, 0, 0);
        q.quick = 0;
        assert!(!q.on_packet(Time(0), MSS, MSS, MSS, MSS), "empty");
        assert!(q.on_packet(Time(0), 0, MSS, MSS, MSS));
        assert_eq!(q.quick, 16);
        q.quick = 17;
        q.on_packet(Time(0), 0, MSS, MSS, MSS);
        assert_eq!(q.quick, 17);
    }

    #[test]
    fn each_ack_takes_one() {
        let mut q = quick_acks();
        q.quick = 2;
        let left = [(); 3].map(|()| {
            q.on_ack();
            q.quick
        });
        assert_eq!(left, [1, 0, 0]);
    }

    /// 20 packets in the second RTT after 10: rcvwin = 56 segments and twice the same, since the rate doubled, 168 segments,
    /// in memory 168 * 2304 bytes. Not before the RTT is over, and a slower RTT takes nothing away.
    #[test]
    fn buffer_follows_the_rate() {
        let mut q = quick_acks();
        in_order(&mut q, 0, 0);
        let mut read = |ms, packets| {
            q.on_read(Time::from_millis(ms), packets * MSS);
            (q.rcvbuf, q.space / MSS)
        };
        assert_eq!(read(49, 9), (FIRST_BUFFER, 10), "not yet");
        assert_eq!(read(50, 10), (FIRST_BUFFER, 10), "no more than 10");
        assert_eq!(read(100, 30), (168 * 2304, 20));
        assert_eq!(read(150, 40), (168 * 2304, 20), "slower");
        assert_eq!(read(200, 100_000), (MOST_BUFFER, 99_960), "all there is");
    }
}
