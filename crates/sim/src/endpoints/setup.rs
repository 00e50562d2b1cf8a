//! What a connection begins with.

use std::sync::Arc;

use congestion::PathInfo;
use recovery::{AckConfig, Config};
use scenario::FlowConfig;

use crate::endpoints::handshake::counts;

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
}

impl Setup {
    pub(super) fn new(config: FlowConfig, path: PathInfo, rules: &mut Rules) -> Self {
        let (recovery, ack) =
            (share(&mut rules.recovery, &config.recovery), share(&mut rules.ack, &config.ack));
        let ends_handshake = config.handshake && counts(config.transport, &config.recovery);
        Self { config, recovery, ack, path, ends_handshake }
    }
}
