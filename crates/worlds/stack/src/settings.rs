//! Translates a flow's configuration into those of its two endpoints.

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

/// Name of the server in the TLS handshake.
pub(crate) const SERVER_NAME: &str = "server";
/// Length of authentication tags, the same as with TLS, in bytes.
const TAG_LEN: usize = 16;
/// Separates the servers' seeds from the clients'.
const SERVERS: u64 = 1 << 32;

/// Two endpoints before they connect.
pub(crate) struct Ends {
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
    pub(crate) crypto: ClientCrypto,
    /// Seed of the client's next controller.
    pub(crate) seed: Seed,
}

/// A shared seed for the random numbers of controllers created from now on.
#[derive(Clone, Debug)]
pub(crate) struct Seed(Arc<AtomicU64>);

impl Seed {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the seed for a connection of the flow, counted from 0, in the same way as the
    /// simulator. `first` is the seed of connection 0.
    pub(crate) fn set(&self, first: u64, connection: u64) {
        self.0.store(first ^ (connection << 32), Ordering::Relaxed);
    }
}

impl Ends {
    /// Creates the endpoints of flow `number`.
    ///
    /// # Errors
    /// An invalid configuration, or a failure of TLS.
    pub(crate) fn new(
        flow: &FlowConfig,
        number: u64,
        scenario: &Scenario,
        profile: &Profile,
    ) -> Result<Self, Refusal> {
        let (client_crypto, server_crypto) = crypto(profile.cipher)?;
        let seed = scenario.seed.wrapping_add(number);
        let controller_seed = Seed::new(seed);
        let client = EndpointSettings {
            config: EndpointConfig {
                connection: sending(flow, scenario, profile),
                ..EndpointConfig::default()
            },
            connection: sender(flow, profile, controller_seed.clone()),
            crypto: None,
        };
        let config = EndpointConfig { connection: receiving(flow, profile), ..EndpointConfig::default() };
        let server = EndpointSettings {
            config: EndpointConfig { accepts: true, ..config },
            connection: receiver(flow),
            crypto: Some(server_crypto),
        };
        Ok(Self {
            client: Endpoint::new(client, seed)?,
            server: Endpoint::new(server, seed.wrapping_add(SERVERS))?,
            crypto: client_crypto,
            seed: controller_seed,
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

/// Returns the configuration that both endpoints share.
fn common(flow: &FlowConfig, profile: &Profile) -> Config {
    let usual = &profile.quic;
    let is_media = matches!(flow.application, Application::Media(_));
    // An application may be silent for longer than the idle timeout without losing its connection.
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
    // The advertised delay is the one that the flow's sender assumes, but not less than the real
    // one. It is in whole milliseconds (RFC 9000 section 18.2).
    let advertised = flow.recovery.max_ack_delay.max(flow.ack.max_ack_delay);
    let max_ack_delay = Duration::from_millis(advertised.0.div_ceil(1_000_000));
    let timestamps = TimestampConfig { wanted: None, offered: flow.ack.timestamps > 0 };
    Config { max_ack_delay, timestamps, ..common(flow, profile) }
}

/// Returns the sender's settings. Its controller draws the same random numbers as in the simulator,
/// so that BBR probes at the same times in both.
pub(crate) fn sender(flow: &FlowConfig, profile: &Profile, seed: Seed) -> Settings {
    let algorithm = flow.algorithm.clone();
    // With fixed sizes, the last handshake packets must be acknowledged on their own, and not in
    // the first packet with data.
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
        // Received data is counted but not read.
        keep: Keep::Count,
        ..Settings::default()
    }
}
