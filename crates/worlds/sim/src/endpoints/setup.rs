//! Parameters of a new connection.

use std::sync::Arc;

use congestion::PathInfo;
use recovery::{AckConfig, Config, Role, Sender, packets_until_skip};
use scenario::{FlowConfig, Transport};
use units::{Duration, Rng};

use crate::endpoints::handshake::{Handshake, counts};
use crate::packet::Chunk;

/// Rules of both ends. Most flows have equal rules and share them, because a packet touches fifty
/// cache lines already.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    recovery: Vec<Arc<Config>>,
    ack: Vec<Arc<AckConfig>>,
}

/// Returns the shared rules that equal `wanted`.
fn share<T: Clone + PartialEq>(known: &mut Vec<Arc<T>>, wanted: &T) -> Arc<T> {
    if let Some(same) = known.iter().find(|rules| rules.as_ref() == wanted) {
        return Arc::clone(same);
    }
    let new = Arc::new(wanted.clone());
    known.push(Arc::clone(&new));
    new
}

/// Parameters of a new connection, stored apart from the fields that every packet uses.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(super) config: FlowConfig,
    pub(super) recovery: Arc<Config>,
    pub(super) ack: Arc<AckConfig>,
    pub(super) path: PathInfo,
    /// Whether the first data carries the end of a handshake that counts in the window.
    pub(super) ends_handshake: bool,
    /// Random numbers that choose the skipped packet numbers.
    skips: Rng,
}

impl Setup {
    pub(super) fn new(config: FlowConfig, path: PathInfo, rules: &mut Rules) -> Self {
        let (recovery, ack) =
            (share(&mut rules.recovery, &config.recovery), share(&mut rules.ack, &config.ack));
        let ends_handshake = config.handshake && counts(config.transport, &config.recovery);
        let skips = Rng::stream(path.seed, "skipped numbers");
        Self { config, recovery, ack, path, ends_handshake, skips }
    }

    /// Returns the number of packets before a number is skipped. `again` says that this connection
    /// has skipped one before.
    pub(super) fn next_skip(&mut self, again: bool) -> u64 {
        let every = self.recovery.skip_numbers;
        every.map_or(u64::MAX, |every| packets_until_skip(every, &mut self.skips, again))
    }

    /// Returns the handshake before the first data, if there is one.
    pub(super) fn handshake(&self) -> Option<Handshake> {
        let FlowConfig { transport, recovery, .. } = &self.config;
        self.config.handshake.then(|| Handshake::new(*transport, recovery))
    }

    /// Creates the sender. Its clock counts in the unit of the timestamps, where TCP has them.
    pub(super) fn sender(&self, path: PathInfo) -> Sender<Chunk> {
        let config = &self.config;
        let stamps = matches!(config.transport, Transport::Tcp { .. }) && config.ack.timestamps > 0;
        let unit = if stamps { config.ack.timestamp_granularity } else { Duration::ZERO };
        let recovery = Arc::clone(&self.recovery);
        let controller = config.algorithm.build(recovery.first_path(path));
        let sender = match self.ends_handshake {
            true => Sender::with_spaces(recovery, controller, path, Role::Client),
            false => Sender::new(recovery, controller, path),
        };
        sender.with_clock_unit(unit.max(config.clock.granularity))
    }
}
