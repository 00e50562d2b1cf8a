//! From a flow's configuration to those of its two endpoints.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use congestion::PathInfo;
use quic::config::{Config, DatagramConfig, EndpointConfig, TimestampConfig};
use quic::connection::Settings;
use quic::crypto::tls::{Ciphers, ClientConfig, Identity, ServerConfig, Trust};
use quic::crypto::{ClientCrypto, ServerCrypto};
use quic::endpoint::{Endpoint, EndpointSettings};
use quic::streams::Keep;
use quic::wire::StampFormat;
use recovery::{AckConfig, Config as Recovery};
use scenario::{Application, FlowConfig, Scenario};
use units::{Bytes, Duration};

use crate::profile::{Cipher, Profile};
use crate::refusal::Refusal;

/// What the server is called.
pub(crate) const SERVER_NAME: &str = "server";
/// Of tags, as those of TLS have, in bytes.
const TAG_LEN: usize = 16;
/// Apart from the flows' numbers in seeds.
const SERVERS: u64 = 1 << 32;

/// Two endpoints that do not know each other yet.
pub(crate) struct Ends {
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
    pub(crate) crypto: ClientCrypto,
    /// Of the client's next controller.
    pub(crate) seed: Seed,
}

/// Of the random numbers of the controllers that are made from now on.
#[derive(Clone, Debug)]
pub(crate) struct Seed(Arc<AtomicU64>);

impl Seed {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Those of the connection of this number, from 0, of the flow: as in the simulator, where `first` is that of its first.
    pub(crate) fn set(&self, first: u64, connection: u64) {
        self.0.store(first ^ (connection << 32), Ordering::Relaxed);
    }
}

impl Ends {
    /// Of the flow of this number.
    ///
    /// # Errors
    /// A rule of the configuration that does not hold; TLS.
    pub(crate) fn new(
        flow: &FlowConfig,
        number: u64,
        scenario: &Scenario,
        profile: &Profile,
    ) -> Result<Self, Refusal> {
        let (of_client, of_server) = crypto(profile.cipher)?;
        let seed = scenario.seed.wrapping_add(number);
        let of_controllers = Seed::new(seed);
        let client = EndpointSettings {
            config: EndpointConfig {
                connection: sending(flow, scenario, profile),
                ..EndpointConfig::default()
            },
            connection: sender(flow, profile, of_controllers.clone()),
            crypto: None,
        };
        let config = EndpointConfig { connection: receiving(flow, profile), ..EndpointConfig::default() };
        let server = EndpointSettings {
            config: EndpointConfig { accepts: true, ..config },
            connection: receiver(flow),
            crypto: Some(of_server),
        };
        Ok(Self {
            client: Endpoint::new(client, seed)?,
            server: Endpoint::new(server, seed.wrapping_add(SERVERS))?,
            crypto: of_client,
            seed: of_controllers,
        })
    }
}

fn crypto(cipher: Cipher) -> Result<(ClientCrypto, ServerCrypto), Refusal> {
    match cipher {
        Cipher::Plain => {
            Ok((ClientCrypto::Plain { tag_len: TAG_LEN }, ServerCrypto::Plain { tag_len: TAG_LEN }))
        }
        Cipher::Tls => tls().map_err(Refusal::Tls),
    }
}

fn tls() -> Result<(ClientCrypto, ServerCrypto), quic::Error> {
    let identity = Identity::self_signed(&[SERVER_NAME])?;
    let names = EndpointConfig::default().alpn;
    let alpn: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let trust = identity.chain.first().cloned().map_or(Trust::Anyone, Trust::Exactly);
    let client = ClientConfig::new(trust, &alpn, Ciphers::All)?;
    let server = ServerConfig::new(identity, &alpn, Ciphers::All)?;
    Ok((ClientCrypto::Tls(client), ServerCrypto::Tls(server)))
}

/// What both ends are told.
fn common(flow: &FlowConfig, profile: &Profile) -> Config {
    let usual = &profile.quic;
    let is_media = matches!(flow.application, Application::Media(_));
    // An application that is silent for a minute has not gone: it keeps its connection.
    let pauses = flow.application != Application::Bulk || !flow.pauses.is_empty();
    Config {
        initial_datagram_size: Bytes(flow.transport.mds().into()),
        datagrams: if is_media { Some(DatagramConfig::default()) } else { usual.datagrams },
        idle_timeout: usual.idle_timeout.filter(|_| !pauses),
        ..usual.clone()
    }
}

pub(crate) fn sending(flow: &FlowConfig, scenario: &Scenario, profile: &Profile) -> Config {
    let path = PathInfo {
        max_datagram_size: flow.transport.mds().into(),
        paced: flow.recovery.paced == recovery::Paced::Always,
        seed: scenario.seed,
    };
    let wants = flow.algorithm.build(path).needs().receive_times && flow.ack.timestamps > 0;
    let exponent = u8::try_from(flow.ack.timestamp_exponent).unwrap_or(u8::MAX);
    let format = StampFormat { max: flow.ack.timestamps as u64, exponent };
    let timestamps = TimestampConfig { wanted: wants.then_some(format), offered: false };
    Config { timestamps, ..common(flow, profile) }
}

pub(crate) fn receiving(flow: &FlowConfig, profile: &Profile) -> Config {
    // What the sender is told is what the flow's sender believes, and at least what is true; in whole milliseconds (RFC 9000 section 18.2).
    let told = flow.recovery.max_ack_delay.max(flow.ack.max_ack_delay);
    let max_ack_delay = Duration::from_millis(told.0.div_ceil(1_000_000));
    let timestamps = TimestampConfig { wanted: None, offered: flow.ack.timestamps > 0 };
    Config { max_ack_delay, timestamps, ..common(flow, profile) }
}

/// The controller's random numbers are those that it has in the simulator: when BBR probes is no difference between the two worlds.
pub(crate) fn sender(flow: &FlowConfig, profile: &Profile, seed: Seed) -> Settings {
    let algorithm = flow.algorithm.clone();
    // With fixed sizes what the handshake leaves behind is acknowledged on its own, and not in the first packet of data.
    let ack_every = if profile.quic.fixed_sizes { 1 } else { 2 };
    let settings = Settings {
        recovery: Arc::new(flow.recovery.clone()),
        ack: AckConfig { ack_every: ack_every.into(), ..AckConfig::default() },
        ..Settings::default()
    };
    settings.with_controller(move |path| algorithm.build(PathInfo { seed: seed.get(), ..path }))
}

pub(crate) fn receiver(flow: &FlowConfig) -> Settings {
    Settings {
        recovery: Arc::new(Recovery::quic()),
        ack: flow.ack.clone(),
        base_rtt: flow.rtt,
        // What arrives is counted, and nobody reads it.
        keep: Keep::Count,
        ..Settings::default()
    }
}
