//! Quick ACKs of a Linux TCP receiver, which then acknowledges every packet (Linux 6.x, the logic
//! of `net/ipv4/tcp_input.c`).
//!
//! The receiver keeps a number `quick` of ACKs that must not be delayed. While it is above 0, each
//! packet is acknowledged at once, and each ACK decrements it (`tcp_dec_quickack_mode`). Two events
//! raise it:
//!
//! * The first packet, and a packet entirely below the contiguous edge (`tcp_incr_quickack`,
//!   `tcp_enter_quickack_mode`): `quick = max(quick, min(rcv_ssthresh / (2 * rcv_mss), 16))`,
//!   packets; 2 where that is 0.
//! * An in-order packet of at least 128 bytes that grows the offered window (`tcp_grow_window`),
//!   before the receiver decides whether to acknowledge: while `rcv_ssthresh < clamp`,
//!   `rcv_ssthresh = min(rcv_ssthresh + 2 * len, clamp)`, bytes, and `quick |= 1`: an even number,
//!   including 0, rises by 1.
//!
//! `clamp = rcvbuf * ratio`, bytes, is the payload that fits into the receive buffer. `ratio` is
//! 1/2 at first. Later it is payload divided by memory of the largest packet so far above 536 bytes
//! (`tcp_measure_rcv_mss`). `rcvbuf` follows the rate (`tcp_rcv_space_adjust`). Each RTT in which
//! `copied` bytes are read, more than the previous maximum `space`,
//!
//! `rcvwin = 2 * copied + 16 * mss`, `rcvwin += 2 * rcvwin * (copied - space) / space`,
//! `rcvbuf = max(rcvbuf, rcvwin / ratio)`
//!
//! up to `tcp_rmem[2]`. While a sender doubles its rate each RTT, the buffer doubles too and
//! `rcv_ssthresh` lags behind it. Most packets of slow start are acknowledged one by one. In
//! congestion avoidance hardly any are.
//!
//! Deviations:
//!
//! * The RTT estimate is the flow's base RTT. Linux takes it from timestamps, including the
//!   queueing delay, and so adjusts its buffer later in a round. ACKs of one packet and of two by
//!   round, measured on the wire (10 Mbit/s, 50 ms, mss 1448, initial window 10): 10 and 0, 12 and
//!   4, about 33 and 4, and in the fourth about 46 of 60 packets alone. Here: 10 and 0, 12 and 4,
//!   38 and 1, and all 60 alone. We have not measured whether the estimate causes the difference.
//! * The application reads at once. The buffer is never full, reading alone sends no ACK
//!   (`tcp_cleanup_rbuf`), and the offered window never limits the sender.
//! * A packet takes 2304 bytes of memory (1500 bytes with headers), whatever its payload. `ratio`
//!   is a float of at most 1, where Linux counts in 1/256.
//! * Packets out of order do not grow the offered window. A CE mark does not add 2 quick ACKs,
//!   although the mark is acknowledged at once. A pause longer than the retransmission timeout does
//!   not restart the count.

use units::{Duration, Time};

/// Largest number of quick ACKs. `TCP_MAX_QUICKACKS`.
const MAX_QUICK_ACKS: u64 = 16;
/// Smallest number of quick ACKs, if the window has no room for more. `tcp_incr_quickack`.
const MIN_QUICK_ACKS: u64 = 2;
/// Initial receive buffer, in bytes of memory. `tcp_rmem[1]`.
const INITIAL_BUFFER: u64 = 131_072;
/// Largest receive buffer, in bytes of memory. `tcp_rmem[2]` as set by the emulator.
const MAX_BUFFER: u64 = 64 << 20;
/// Largest window offered at first, in bytes. `tcp_select_initial_window`.
const INITIAL_WINDOW: u64 = 65_535;
/// Payload divided by memory before the first packet. `TCP_DEFAULT_SCALING_RATIO`.
const INITIAL_RATIO: f64 = 0.5;
/// Memory taken by a packet of 1500 bytes, in bytes. `truesize`.
const PACKET_MEMORY: f64 = 2304.0;
/// Packets above this size, in bytes, set the ratio. `TCP_MSS_DEFAULT`.
const INITIAL_RCV_MSS: u64 = 536;
/// Smallest packet that grows the offered window, in bytes. `tcp_event_data_recv`.
const MIN_GROWING_LEN: u64 = 128;
/// Packets assumed to be read in the RTT before the first. `TCP_INIT_CWND` in
/// `tcp_init_buffer_space`.
const INITIAL_SPACE: u64 = 10;
/// Space beyond two RTTs of data, in packets. `tcp_rcv_space_adjust`.
const CUSHION: u64 = 16;

/// The quick-ACK state of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuickAcks {
    /// Payload of a full segment, in bytes.
    mss: u64,
    /// RTT estimate of the receiver.
    rtt: Duration,
    /// Number of ACKs that must not be delayed.
    quick: u64,
    /// Largest packet so far, in bytes.
    rcv_mss: u64,
    /// Payload divided by memory.
    ratio: f64,
    /// Receive buffer, in bytes of memory.
    rcvbuf: u64,
    /// Upper limit of the offered window, in bytes.
    rcv_ssthresh: u64,
    /// Start of the current measurement of bytes read; `None` before the first packet.
    since: Option<Time>,
    /// Contiguous edge at that time, in bytes.
    from: u64,
    /// Bytes read in the RTT that set the current buffer size.
    space: u64,
}

impl QuickAcks {
    /// Creates the state of a connection with segments of `mss` bytes.
    pub(crate) fn new(mss: u32, rtt: Duration) -> Self {
        let mss = u64::from(mss.max(1));
        let mut new = Self {
            mss,
            rtt,
            quick: 0,
            rcv_mss: INITIAL_RCV_MSS,
            ratio: INITIAL_RATIO,
            rcvbuf: INITIAL_BUFFER,
            rcv_ssthresh: 0,
            since: None,
            from: 0,
            space: INITIAL_SPACE * mss,
        };
        new.rcv_ssthresh = new.clamp().min(INITIAL_WINDOW / mss * mss);
        new
    }

    /// Records the bytes `start..end`, which move the contiguous edge from `before` to `after`.
    /// Returns true if they must be acknowledged at once by this rule.
    pub(crate) fn on_packet(&mut self, now: Time, start: u64, end: u64, before: u64, after: u64) -> bool {
        if start < end && end <= before {
            self.raise();
        } else if start < end && start <= before {
            self.on_data(now, end - start);
        }
        self.on_read(now, after);
        self.quick > 0
    }

    /// Records an ACK.
    pub(crate) fn on_ack(&mut self) {
        self.quick = self.quick.saturating_sub(1);
    }

    /// Returns the payload that fits into the buffer, in bytes.
    fn clamp(&self) -> u64 {
        (self.rcvbuf as f64 * self.ratio) as u64
    }

    fn raise(&mut self) {
        let fitting = match self.rcv_ssthresh / (2 * self.rcv_mss) {
            0 => MIN_QUICK_ACKS,
            packets => packets.min(MAX_QUICK_ACKS),
        };
        self.quick = self.quick.max(fitting);
    }

    /// Records an in-order packet of `len` bytes.
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
        if len >= MIN_GROWING_LEN && self.rcv_ssthresh < clamp {
            self.rcv_ssthresh = clamp.min(self.rcv_ssthresh + 2 * len);
            // Not `max(quick, 1)`: from 16 the count is 16 again after the ACK of each packet that
            // grows the window.
            self.quick |= 1;
        }
    }

    /// Records that the application has read up to `edge`.
    fn on_read(&mut self, now: Time, edge: u64) {
        if self.since.is_none_or(|since| now - since < self.rtt) {
            return;
        }
        let copied = edge.saturating_sub(self.from);
        if copied > self.space {
            self.rcvbuf = self.rcvbuf.max(self.needed(copied)).min(MAX_BUFFER);
            self.space = copied;
        }
        self.since = Some(now);
        self.from = edge;
    }

    /// Returns the buffer, in bytes of memory, for a sender that went from `space` to `copied`
    /// bytes per RTT.
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

    /// Receives packet number `n` in order at time `ms`.
    fn in_order(q: &mut QuickAcks, ms: u64, n: u64) -> bool {
        q.on_packet(Time::from_millis(ms), n * MSS, (n + 1) * MSS, n * MSS, (n + 1) * MSS)
    }

    /// 65 535 bytes hold 45 whole segments, 65 160 bytes, less than half the buffer, 65 536. These
    /// would be 22 pairs; the limit is 16.
    #[test]
    fn at_first() {
        let mut q = quick_acks();
        assert_eq!((q.rcv_ssthresh, q.clamp(), q.quick), (65_160, 65_536, 0));
        assert!(in_order(&mut q, 0, 0));
        assert_eq!((q.rcv_ssthresh, q.clamp(), q.quick), (65_160 + 2 * MSS, 82_375, MAX_QUICK_ACKS + 1));
        let jumbo = QuickAcks::new(8948, RTT);
        assert_eq!(jumbo.rcv_ssthresh, 7 * 8948);
    }

    /// The window does not hold two of these large segments: 2 ACKs, and one for the growth. No
    /// size fails.
    #[test]
    fn at_least_two() {
        for mss in [32_768, 65_535, 1 << 20] {
            let mut q = QuickAcks::new(mss, RTT);
            assert!(q.on_packet(Time(0), 0, u64::from(mss), 0, u64::from(mss)));
            assert_eq!(q.quick, MIN_QUICK_ACKS | 1, "{mss}");
        }
        assert!(QuickAcks::new(0, Duration::ZERO).on_packet(Time(0), 0, 1, 0, 1));
    }

    /// The window grows by twice the data, up to the clamp. Only then does the count stop rising.
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

    /// A growing window sets the lowest bit before the decision: an even count rises by one, an odd
    /// one stays.
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

    /// A packet of 127 bytes, or one out of order, neither grows the window nor sets the ratio.
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

    /// Old data raise the count to 16 and never lower it. Data that are only partly old, or empty,
    /// change nothing.
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

    /// 20 packets in the second RTT after 10 in the first: rcvwin = 56 segments plus twice that,
    /// since the rate doubled: 168 segments, or 168 * 2304 bytes of memory. Nothing changes before
    /// the RTT is over, and a slower RTT does not shrink the buffer.
    #[test]
    fn buffer_follows_the_rate() {
        let mut q = quick_acks();
        in_order(&mut q, 0, 0);
        let mut read = |ms, packets| {
            q.on_read(Time::from_millis(ms), packets * MSS);
            (q.rcvbuf, q.space / MSS)
        };
        assert_eq!(read(49, 9), (INITIAL_BUFFER, 10), "not yet");
        assert_eq!(read(50, 10), (INITIAL_BUFFER, 10), "no more than 10");
        assert_eq!(read(100, 30), (168 * 2304, 20));
        assert_eq!(read(150, 40), (168 * 2304, 20), "slower");
        assert_eq!(read(200, 100_000), (MAX_BUFFER, 99_960), "all there is");
    }
}
