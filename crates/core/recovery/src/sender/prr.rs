//! Proportional Rate Reduction, RFC 9937 (December 2025), in whole segments as Linux counts
//! (`tcp_cwnd_reduction`).
//!
//! A window that falls at once silences the sender for a part of the round trip. Where losses have
//! emptied the pipe below the new window, the difference then follows as one burst, into the queue
//! that has just overflowed. With PRR every ACK of the recovery period releases its share, so that
//! `ssthresh` is in flight at the end of the period.
//!
//! ```text
//! begin  RecoverFS = bytes in flight before the event; prr_delivered = prr_out = 0          (6.1)
//! ACK    prr_delivered += DeliveredData                                                     (6.2)
//!        SndCnt = ceil(prr_delivered * ssthresh / RecoverFS) - prr_out      if inflight > ssthresh
//!               = max(prr_delivered - prr_out, DeliveredData)               otherwise (PRR-CRB)
//!                 + SMSS if the ACK is safe                                 (PRR-SSRB)
//!                 but at most ssthresh - inflight
//!        SndCnt >= SMSS while prr_out = 0: the fast retransmit
//!        window = inflight + SndCnt
//! sent   prr_out += bytes                                                                   (6.3)
//! end    window = ssthresh
//! ```
//!
//! DeliveredData counts packets in flight and packets declared lost. Deviation, as in Linux: losses
//! found by a timer during the period do not change the window and can be sent again at once. The
//! next ACK compensates for it.

/// State of one reduction, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Prr {
    mds: u64,
    /// Window at the end of the period.
    ssthresh: u64,
    /// `RecoverFS`.
    recover_fs: u64,
    /// `prr_delivered`.
    delivered: u64,
    /// `prr_out`.
    out: u64,
    window: u64,
}

impl Prr {
    /// Starts a reduction with `flight` bytes in flight, of which `in_flight` are not lost.
    pub(crate) fn new(mds: u64, ssthresh: u64, flight: u64, in_flight: u64) -> Self {
        // A sender that did not use its window may have had less than `ssthresh` in flight. Still
        // send at most one byte per delivered byte. Linux uses the window instead of the flight.
        let (mds, recover_fs) = (mds.max(1), flight.max(ssthresh).max(1));
        Self { mds, ssthresh, recover_fs, delivered: 0, out: 0, window: in_flight + mds }
    }

    /// Changes the segment size.
    pub(crate) fn set_max_datagram_size(&mut self, bytes: u64) {
        self.mds = bytes.max(1);
    }

    /// Records a sent packet.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// Records an ACK that delivered `delivered` bytes and left `in_flight`. It is `safe` if it
    /// filled a hole and revealed no further loss.
    pub(crate) fn on_ack(&mut self, delivered: u64, in_flight: u64, safe: bool) {
        self.delivered += delivered;
        let mut count = if in_flight > self.ssthresh {
            self.proportional()
        } else {
            self.conserving(delivered, safe).min(self.ssthresh - in_flight)
        };
        if self.out == 0 {
            count = count.max(self.mds);
        }
        // Never less than a segment: with nothing in flight, no ACK would arrive to open the
        // window.
        self.window = in_flight.saturating_add(count).max(self.mds);
    }

    /// Returns the proportional share, rounded up to whole segments as in Linux, because less than
    /// a segment cannot be sent.
    fn proportional(&self) -> u64 {
        let segment = u128::from(self.mds);
        let share = u128::from(self.delivered) * u128::from(self.ssthresh);
        let out = share.div_ceil(u128::from(self.recover_fs) * segment) * segment;
        u64::try_from(out).unwrap_or(u64::MAX).saturating_sub(self.out)
    }

    fn conserving(&self, delivered: u64, safe: bool) -> u64 {
        let slow_start = if safe { self.mds } else { 0 };
        self.delivered.saturating_sub(self.out).max(delivered) + slow_start
    }

    /// Returns the limit on the bytes in flight.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }
}
