//! Settings of a connection besides [`Config`]: loss recovery, congestion controller, and treatment
//! of received bytes.

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

/// Creates a controller for a new path.
pub type ControllerFactory = Arc<dyn Fn(PathInfo) -> Box<dyn Controller> + Send + Sync>;

/// Maximum number of receive timestamps per frame, if a controller needs them and the configuration
/// does not say.
const STAMPS: u64 = 32;
/// Maximum number of receive timestamps that wait to be reported, whatever the peer requests.
const MAX_STAMPS: u64 = 256;

/// Settings of one connection.
#[derive(Clone)]
pub struct Settings {
    /// Protocol configuration.
    pub config: Config,
    /// Loss recovery settings.
    pub recovery: Arc<Recovery>,
    /// Acknowledgement policy. Receive timestamps follow `config`.
    ///
    /// The maximum ACK delay is the shorter of the delay here and that in `config`, which is
    /// declared to the peer.
    pub ack: AckConfig,
    /// Base RTT for `ack.delay_factor`, known in an experiment. [`Duration::MAX`] means unknown,
    /// and the delay is that of `config`.
    pub base_rtt: Duration,
    /// Factory of congestion controllers.
    pub controller: ControllerFactory,
    /// Treatment of received bytes.
    pub keep: Keep,
    /// Usage limits of 1-RTT keys below those of the AEAD (RFC 9001 section 6.6), for tests. `None`
    /// uses the limits of the AEAD.
    pub key_limits: Option<Limits>,
}

impl Default for Settings {
    /// Uses CUBIC.
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
    /// Sets another controller.
    #[must_use]
    pub fn with_controller(
        mut self,
        controller: impl Fn(PathInfo) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        self.controller = Arc::new(controller);
        self
    }

    /// Requests receive timestamps from the peer if the controller needs them.
    pub(super) fn request_stamps(&mut self, controller: &dyn Controller) {
        let wanted = &mut self.config.timestamps.wanted;
        if controller.needs().receive_times && wanted.is_none() {
            *wanted = Some(StampFormat { max: STAMPS, exponent: 0 });
        }
    }

    /// Returns the rules by which this end acknowledges 1-RTT packets of a peer that requested
    /// timestamps in this format.
    pub(super) fn ack_rules(&self, format: StampFormat) -> AckConfig {
        let stamps = if self.config.timestamps.offered { format.max.min(MAX_STAMPS) } else { 0 };
        AckConfig {
            max_ack_delay: self.ack.max_ack_delay.min(self.config.max_ack_delay),
            timestamps: stamps as usize,
            timestamp_exponent: format.exponent.into(),
            ping_every: self.ack.ping_every.or(self.config.ping_every),
            ..self.ack.clone()
        }
    }
}
