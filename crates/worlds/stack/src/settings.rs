//! Translates a flow's configuration into those of its two endpoints.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use congestion::PathInfo;
use quic::config::{Config, DatagramConfig, EndpointConfig, RetryPolicy, TimestampConfig};
use quic::connection::Settings;
use quic::crypto::tls::{Ciphers, ClientConfig, Identity, ServerConfig, Trust};
use quic::crypto::{ClientCrypto, ServerCrypto};
use quic::endpoint::EndpointSettings;
use quic::streams::Keep;
use quic::wire::StampFormat;
use recovery::{AckConfig, Config as Recovery};
use scenario::{Application, FlowConfig};
use units::{Bytes, Duration};

use crate::endpoint_spec::EndpointSpec;
use crate::profile::{Cipher, Profile};
use crate::refusal::Refusal;

/// Name of the server in the TLS handshake.
pub(crate) const SERVER_NAME: &str = "server";
/// Length of authentication tags, the same as with TLS, in bytes.
const TAG_LEN: usize = 16;
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

/// Returns the settings of a client, and its TLS.
pub(crate) fn client(
    spec: &EndpointSpec,
    identity: &Identity,
    seed: Seed,
) -> Result<(EndpointSettings, Option<ClientCrypto>), Refusal> {
    let EndpointSpec { flow, profile, .. } = spec;
    let crypto = match profile.cipher {
        Cipher::Plain => ClientCrypto::Plain { tag_len: TAG_LEN },
        Cipher::Tls => {
            let trust = identity.chain.first().cloned().map_or(Trust::Anyone, Trust::Exactly);
            let config = ClientConfig::new(trust, &slices(&alpn()), Ciphers::All);
            ClientCrypto::Tls(config.map_err(Refusal::Tls)?)
        }
    };
    // The secrets of a client decrypt both directions.
    let config =
        EndpointConfig { connection: sending(flow, profile), key_log: true, ..EndpointConfig::default() };
    let settings = EndpointSettings { config, connection: sender(flow, profile, seed), crypto: None };
    Ok((settings, Some(crypto)))
}

/// Returns the settings of a server.
pub(crate) fn server(spec: &EndpointSpec, identity: &Identity) -> Result<EndpointSettings, Refusal> {
    let crypto = match spec.profile.cipher {
        Cipher::Plain => ServerCrypto::Plain { tag_len: TAG_LEN },
        Cipher::Tls => {
            let identity = Identity { chain: identity.chain.clone(), key: identity.key.clone_key() };
            let config = ServerConfig::new(identity, &slices(&alpn()), Ciphers::All);
            ServerCrypto::Tls(config.map_err(Refusal::Tls)?)
        }
    };
    let retry = if spec.retry { RetryPolicy::Always } else { RetryPolicy::Never };
    let connection = receiving(&spec.flow, &spec.profile);
    let config = EndpointConfig { connection, accepts: true, retry, ..EndpointConfig::default() };
    Ok(EndpointSettings { config, connection: receiver(&spec.flow), crypto: Some(crypto) })
}

fn alpn() -> Vec<Vec<u8>> {
    EndpointConfig::default().alpn
}

fn slices(names: &[Vec<u8>]) -> Vec<&[u8]> {
    names.iter().map(Vec::as_slice).collect()
}

/// Returns the configuration that both endpoints share.
fn common(flow: &FlowConfig, profile: &Profile) -> Config {
    let usual = &profile.quic;
    let is_media = matches!(flow.application, Application::Media(_));
    Config {
        initial_datagram_size: Bytes(flow.transport.mds().into()),
        datagrams: if is_media { Some(DatagramConfig::default()) } else { usual.datagrams },
        idle_timeout: flow.recovery.idle_timeout,
        ..usual.clone()
    }
}

fn sending(flow: &FlowConfig, profile: &Profile) -> Config {
    let path = PathInfo {
        max_datagram_size: flow.transport.mds().into(),
        paced: flow.recovery.paced == recovery::Paced::Always,
        ..PathInfo::default()
    };
    let wants = flow.algorithm.build(path).needs().receive_times && flow.ack.timestamps > 0;
    let exponent = u8::try_from(flow.ack.timestamp_exponent).unwrap_or(u8::MAX);
    let format = StampFormat { max: flow.ack.timestamps as u64, exponent };
    let timestamps = TimestampConfig { wanted: wants.then_some(format), offered: false };
    Config { timestamps, ..common(flow, profile) }
}

fn receiving(flow: &FlowConfig, profile: &Profile) -> Config {
    // The advertised delay is the one that the flow's sender assumes, but not less than the real
    // one. It is in whole milliseconds (RFC 9000 section 18.2).
    let advertised = flow.recovery.max_ack_delay.max(flow.ack.max_ack_delay);
    let max_ack_delay = Duration::from_millis(advertised.0.div_ceil(1_000_000));
    let timestamps = TimestampConfig { wanted: None, offered: flow.ack.timestamps > 0 };
    Config { max_ack_delay, timestamps, ..common(flow, profile) }
}

/// Returns the sender's settings. Its controller draws the same random numbers as in the simulator,
/// so that BBR probes at the same times in both.
fn sender(flow: &FlowConfig, profile: &Profile, seed: Seed) -> Settings {
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

fn receiver(flow: &FlowConfig) -> Settings {
    Settings {
        recovery: Arc::new(Recovery::quic()),
        ack: flow.ack.clone(),
        base_rtt: flow.rtt,
        // Received data is counted but not read.
        keep: Keep::Count,
        ..Settings::default()
    }
}
