//! What a connection begins with.

use std::sync::Arc;

use congestion::PathInfo;
use recovery::{AckConfig, Config, Role, Sender, skips_after};
use scenario::{FlowConfig, Transport};
use units::{Duration, Rng};

use crate::endpoints::handshake::{Handshake, counts};
use crate::packet::Chunk;

/// The rules of both ends. Flows mostly have the same, and then share them: a packet touches fifty cache lines as it is.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    recovery: Vec<Arc<Config>>,
    ack: Vec<Arc<AckConfig>>,
}

/// Those that are like `wanted`.
fn share<T: Clone + PartialEq>(known: &mut Vec<Arc<T>>, wanted: &T) -> Arc<T> {
    if let Some(same) = known.iter().find(|rules| rules.as_ref() == wanted) {
        return Arc::clone(same);
    }
    let new = Arc::new(wanted.clone());
    known.push(Arc::clone(&new));
    new
}

/// What a connection begins with. Out of the way of what every packet asks for.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(super) config: FlowConfig,
    pub(super) recovery: Arc<Config>,
    pub(super) ack: Arc<AckConfig>,
    pub(super) path: PathInfo,
    /// The first data comes with the end of a handshake that counts.
    pub(super) ends_handshake: bool,
    /// Which packet numbers are left out.
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

    /// How many packets leave before a number is left out; `again`: as one was before on this connection.
    pub(super) fn next_skip(&mut self, again: bool) -> u64 {
        let every = self.recovery.skip_numbers;
        every.map_or(u64::MAX, |every| skips_after(every, &mut self.skips, again))
    }

    /// The round trip before its first data, if there is to be one.
    pub(super) fn handshake(&self) -> Option<Handshake> {
        let FlowConfig { transport, recovery, .. } = &self.config;
        self.config.handshake.then(|| Handshake::new(*transport, recovery))
    }

    /// Its sender. Its clock counts in what the timestamps do, where TCP has them.
    pub(super) fn sender(&self, path: PathInfo) -> Sender<Chunk> {
        let config = &self.config;
        let stamps = matches!(config.transport, Transport::Tcp { .. }) && config.ack.timestamps > 0;
        let unit = if stamps { config.ack.timestamp_granularity } else { Duration::ZERO };
        let (recovery, controller) = (Arc::clone(&self.recovery), config.algorithm.build(path));
        let sender = match self.ends_handshake {
            true => Sender::with_spaces(recovery, controller, path, Role::Client),
            false => Sender::new(recovery, controller, path),
        };
        sender.with_clock_unit(unit.max(config.clock.granularity))
    }
}
