//! What changes with the path: another size of its datagrams, or another path.

use congestion::{Controller, PathInfo};
use units::{Duration, Time};

use crate::sender::ecn_validation::Validation;
use crate::sender::late::LateAcks;
use crate::sender::loss_detection::Reordering;
use crate::sender::pacer::Pacer;
use crate::sender::rto::LinuxVariance;
use crate::sender::rtt::Rtt;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::Payload;
use crate::sender::space::SpaceId;

impl<T: Payload> Sender<T> {
    /// Datagrams of the path are larger or smaller from here on (RFC 9000 section 14), bytes as the window counts them. Controller and
    /// estimates stay.
    pub fn set_max_datagram_size(&mut self, bytes: u64) {
        self.path.max_datagram_size = bytes;
        self.books.controller.on_path_change(self.path);
        self.pacer.set_max_datagram_size(&self.config.pacing, bytes);
        if let Some(prr) = &mut self.prr {
            prr.set_max_datagram_size(bytes);
        }
        self.ask_controller();
    }

    /// The connection has moved to another path (RFC 9000 section 9.4), where all begins anew: the controller, which is built for it, RTT,
    /// pacing, validation of ECN, timeouts. What left on the old path is no longer in flight; its payloads are still acknowledged and
    /// lost, and tell neither RTT nor controller anything. Not for a rebinding of the port alone.
    pub fn on_path_change(&mut self, now: Time, controller: Box<dyn Controller>, path: PathInfo) {
        let (config, rate_samples) = (&self.config, controller.needs().rate_samples);
        self.path = path;
        self.rtt = Rtt::new(config.initial_rtt, config.min_rtt_window);
        self.variance = LinuxVariance::new(config.min_rto);
        self.pacer = Pacer::new(&config.pacing, path.max_datagram_size);
        self.window_rate = ((0, 0, Duration::ZERO), 0.0);
        self.ecn = Validation::new(config.ecn, config.ecn_validation);
        self.reordering = Reordering::default();
        (self.rack_rtt, self.first_rtt_sample, self.progress) = (config.initial_rtt, None, now);
        (self.prr, self.suspicion, self.tail_probed, self.tail_repeat) = (None, None, false, None);
        (self.timeouts, self.probes, self.restarted) = (0, 0, false);
        self.path_since = self.serial;
        self.books.restart(now, controller);
        let parked = self.spaces.iter_mut().flat_map(|spaces| &mut spaces.parked);
        for space in parked.chain([&mut self.space]) {
            space.late = LateAcks::new();
            space.loss_time = None;
            space.sent.numbers.mix();
            space.sent.keep_snapshots(rate_samples);
        }
        self.ask_controller();
    }

    /// How many packets are kept that left on paths before this one and have no verdict yet, those between them too: a peer that moves again and
    /// again and acknowledges nothing makes them more.
    pub fn left_behind(&self) -> usize {
        let sent = &self.view(SpaceId::Application).sent;
        let is_old = |(slot, _): &(u64, _)| sent.numbers.serial(*slot) < self.path_since;
        sent.iter().take_while(is_old).count()
    }
}
