//! What a connection is told besides [`Config`]: loss recovery, who controls congestion, what becomes of received bytes.

use std::fmt;
use std::sync::Arc;

use recovery::congestion::algorithms::cubic::rfc9438;
use recovery::congestion::{Controller, Parameters, PathInfo};
use recovery::{AckConfig, Config as Recovery};
use units::Duration;

use crate::config::Config;
use crate::crypto::update::Limits;
use crate::streams::assembler::Keep;
use crate::wire::receive_timestamps::StampFormat;

/// Makes a controller for a new path.
pub type ControllerFactory = Arc<dyn Fn(PathInfo) -> Box<dyn Controller> + Send + Sync>;

/// How many receive times a frame may have when a controller needs them and the configuration does not say.
const STAMPS: u64 = 32;

/// What one connection is told.
#[derive(Clone)]
pub struct Settings {
    /// The protocol.
    pub config: Config,
    /// Loss recovery.
    pub recovery: Arc<Recovery>,
    /// What is acknowledged when; receive times are those of `config`. ACKs are delayed for the shorter of its delay and that of `config`, which is
    /// what the peer is told.
    pub ack: AckConfig,
    /// The round-trip time that `ack.delay_factor` is a share of: a laboratory knows that of its path. [`Duration::MAX`]: nobody does, and the
    /// delay is that of `config`.
    pub base_rtt: Duration,
    /// Who controls congestion.
    pub controller: ControllerFactory,
    /// What becomes of received bytes.
    pub keep: Keep,
    /// How often 1-RTT keys may be used, below what the AEAD allows (RFC 9001 section 6.6): for tests. None: what it allows.
    pub key_limits: Option<Limits>,
}

impl Default for Settings {
    /// CUBIC.
    fn default() -> Self {
        Self {
            config: Config::default(),
            recovery: Arc::new(Recovery::quic()),
            ack: AckConfig { max_ack_delay: Duration::MAX, ..AckConfig::default() },
            base_rtt: Duration::MAX,
            controller: Arc::new(|path| rfc9438::Params::default().build(path)),
            keep: Keep::All,
            key_limits: None,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("config", &self.config)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// With another controller.
    #[must_use]
    pub fn with_controller(
        mut self,
        controller: impl Fn(PathInfo) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        self.controller = Arc::new(controller);
        self
    }

    /// The configuration as it is declared: a controller that needs receive times has them asked for.
    pub(super) fn declared(&self, controller: &dyn Controller) -> Config {
        let mut config = self.config.clone();
        if controller.needs().receive_times && config.timestamps.wanted.is_none() {
            config.timestamps.wanted = Some(StampFormat { max: STAMPS, exponent: 0 });
        }
        config
    }
}
