//! Changes of the path: another datagram size, or another path.

use congestion::{Controller, PathInfo};
use units::Time;

use crate::sender::allowance::Allowance;
use crate::sender::ecn_validation::Validation;
use crate::sender::late::LateAcks;
use crate::sender::loss_detection::Reordering;
use crate::sender::offload::Group;
use crate::sender::pacing::PacedRelease;
use crate::sender::round_trip::RoundTrip;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::Payload;
use crate::sender::space::SpaceId;
use crate::sender::tail_probe::TailProbe;
use crate::sender::timeouts::Timeouts;

impl<T: Payload> Sender<T> {
    /// Changes the datagram size of the path, in bytes as counted in the window (RFC 9000 section
    /// 14). Controller and estimates are kept.
    pub fn set_max_datagram_size(&mut self, bytes: u64) {
        self.path.max_datagram_size = bytes;
        self.accounting.controller.on_path_change(self.path);
        self.pacing.set_max_datagram_size(&self.config, bytes);
        self.allowance.set_max_datagram_size(bytes);
        self.refresh_control();
    }

    /// Moves the connection to another path (RFC 9000 section 9.4).
    ///
    /// Everything starts over: the given controller, RTT, pacing, ECN validation and timeouts.
    /// Packets sent on the old path are no longer in flight. Their payloads are still acknowledged
    /// and declared lost, but provide no RTT samples or signals to the controller. Do not use this
    /// if only the port was rebound. A search for the MTU restarts, as in [`new`](Self::new).
    pub fn on_path_change(&mut self, now: Time, controller: Box<dyn Controller>, path: PathInfo) {
        let (config, rate_samples) = (&self.config, controller.needs().rate_samples);
        if let Some(search) = &mut self.search {
            search.restart();
            self.stats.mtu_probes = 0;
        }
        self.path = config.first_path(path);
        self.round_trip = RoundTrip::new(config);
        (self.pacing, self.group) =
            (PacedRelease::new(config, self.path.max_datagram_size), Group::default());
        self.ecn = Validation::new(config.ecn, config.ecn_validation);
        self.reordering = Reordering::default();
        (self.timeouts, self.tail_probe) = (Timeouts::new(now), TailProbe::default());
        (self.allowance, self.restarted) = (Allowance::default(), false);
        self.path_since = self.serial;
        self.accounting.restart(now, controller);
        let parked = self.spaces.iter_mut().flat_map(|spaces| &mut spaces.parked);
        for space in parked.chain([&mut self.space]) {
            space.late = LateAcks::new();
            space.loss_time = None;
            space.sent.numbers.set_sparse();
            space.sent.keep_snapshots(rate_samples);
        }
        self.use_found_size();
        self.refresh_control();
    }

    /// Returns the number of packets kept from earlier paths that are neither acknowledged nor
    /// lost, including the packets between them. A peer that keeps moving without acknowledging
    /// anything increases it.
    pub fn old_path_packets(&self) -> usize {
        let sent = &self.view(SpaceId::Application).sent;
        let is_old = |(slot, _): &(u64, _)| sent.numbers.serial(*slot) < self.path_since;
        sent.iter().take_while(is_old).count()
    }
}
