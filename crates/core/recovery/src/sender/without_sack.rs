//! TCP without SACK: a duplicate acknowledgement stands for a packet that has arrived.
//!
//! ```text
//! duplicate                  arrived += 1: the window admits one packet more   (RFC 5681 section 3.2 steps 1 and 4)
//! arrived >= DupThresh       outside of a recovery period, the oldest packet is lost    (steps 2 and 3)
//! new data, during NewReno's arrived -= packets acknowledged - 1, and the oldest packet is lost  (RFC 6582 section 3.2)
//! new data otherwise         arrived = 0                                       (RFC 5681 section 3.2 step 6)
//! timeout                    arrived = 0, and everything in flight is lost
//! ```
//!
//! The check of Vegas examines the oldest packet at each duplicate and at the first new data of a
//! recovery period. Deviation: the paper also examines it at the second one.
//!
//! Arrived packets stay in flight until they are acknowledged. Instead of their size, the window
//! accounts for their number. The RTT is that of the packet that an acknowledgement echoes.

use congestion::{Cause, Detection};
use units::Time;

use crate::feed::Exit;
use crate::sender::config::TimeThreshold;
use crate::sender::duplicate_acks::DuplicateAcks;
use crate::sender::effects::AckEffects;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::Payload;

impl<T: Payload> Sender<T> {
    /// Counts an acknowledgement up to `cumulative`, which acknowledges `acked` packets in flight.
    /// Returns true if it is a duplicate.
    pub(super) fn count_duplicate(&mut self, cumulative: u64, acked: usize) -> bool {
        let advanced = cumulative > self.unacknowledged;
        let repairs = self.config.exit == Exit::NewrenoTcp && self.in_recovery();
        let duplicates = &mut self.duplicates;
        duplicates.advanced = advanced;
        if advanced {
            let others = (acked as u64).saturating_sub(1);
            duplicates.arrived = if repairs { duplicates.arrived.saturating_sub(others) } else { 0 };
            return false;
        }
        let outstanding = self.stats.in_flight();
        let duplicate = cumulative == self.unacknowledged && outstanding > 0;
        duplicates.arrived = (duplicates.arrived + u64::from(duplicate)).min(outstanding);
        duplicate
    }

    /// Declares the oldest packet lost if the duplicates prove it.
    pub(super) fn detect_by_duplicates(&mut self, now: Time, prior_in_flight: u64, out: &mut AckEffects<T>) {
        self.space.sent.forget_resolved();
        let Some((slot, packet)) = self.space.sent.in_flight().next() else { return };
        if packet.data.range().start > self.unacknowledged {
            return; // its repeat is in flight
        }
        let DuplicateAcks { arrived, advanced } = self.duplicates;
        let repairs = self.in_recovery();
        let counted = !repairs && self.packet_threshold().is_some_and(|k| arrived >= k);
        let partial = repairs
            && advanced
            && self.config.exit == Exit::NewrenoTcp
            && self.unacknowledged < self.accounting.period.until_offset();
        let examined = arrived > 0 || (repairs && advanced);
        let late = self.config.time_threshold == TimeThreshold::Vegas
            && examined
            && packet.sent + self.round_trip.rtt().timeout(self.config.granularity) <= now;
        if counted || partial || late {
            let rule = if counted || partial { Detection::PacketThreshold } else { Detection::TimeThreshold };
            self.declare_lost(now, &[(slot, rule)], Some(Cause::Loss), prior_in_flight, out);
            self.allowance.allow_probes(1); // the retransmission does not wait for the window
        }
    }
}
