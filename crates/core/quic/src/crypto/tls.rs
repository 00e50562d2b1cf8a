//! TLS 1.3 by rustls, with ring.
//!
//! Resumption and 0-RTT are not supported. Servers send no tickets, so nothing follows the
//! handshake.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::quic::{ClientConnection, Connection, KeyChange, ServerConnection, Version};
use rustls::{KeyLog, RootCertStore};

pub use super::pinned::fingerprint;
use super::pinned::{OtherFingerprint, pinned};
use super::session::{Event, Session};
use crate::error::{Code, Error};
use crate::level::{Level, Side};
use crate::wire::transport_parameters::TransportParameters;

/// AEADs that an end offers or accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ciphers {
    /// All TLS 1.3 cipher suites of ring.
    #[default]
    All,
    /// AES-128-GCM only.
    Aes128Gcm,
    /// ChaCha20-Poly1305 only.
    ChaCha20Poly1305,
}

/// Server certificates that a client trusts.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Certificates issued by one of these roots.
    Roots(Vec<CertificateDer<'static>>),
    /// Exactly this certificate, whatever its name and dates. For self-signed certificates.
    Exactly(CertificateDer<'static>),
    /// The certificate with this SHA-256 fingerprint, whatever its name and dates: see
    /// [`fingerprint`].
    Fingerprint([u8; 32]),
    /// Any certificate. The connection is encrypted, but the server is not authenticated.
    Anyone,
}

/// Certificate chain and private key of a server.
#[derive(Debug)]
pub struct Identity {
    /// Certificates, starting with the server's own.
    pub chain: Vec<CertificateDer<'static>>,
    /// Private key of the first certificate.
    pub key: PrivateKeyDer<'static>,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self { chain: self.chain.clone(), key: self.key.clone_key() }
    }
}

impl Identity {
    /// Creates a self-signed certificate with a new Ed25519 key. All its signatures have the same
    /// length, so handshakes always have the same number of bytes.
    ///
    /// # Errors
    /// INTERNAL_ERROR for names that are not DNS names or IP addresses.
    #[cfg(feature = "self-signed")]
    pub fn self_signed(names: &[&str]) -> Result<Self, Error> {
        let cannot = |_| Error::new(Code::INTERNAL_ERROR, "invalid names for a certificate");
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).map_err(cannot)?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = rcgen::CertificateParams::new(names).map_err(cannot)?;
        // A random serial number sometimes has leading zeros, and is then shorter.
        params.serial_number = Some(rcgen::SerialNumber::from(1_u64));
        let certificate = params.self_signed(&key).map_err(cannot)?;
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
        Ok(Self { chain: vec![certificate.der().clone()], key: key.into() })
    }
}

fn provider(ciphers: Ciphers) -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites = match ciphers {
        Ciphers::All => provider.cipher_suites,
        Ciphers::Aes128Gcm => vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
        Ciphers::ChaCha20Poly1305 => vec![ring::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256],
    };
    // Initial packets always need AES-128-GCM, but they do not take it from here.
    Arc::new(provider)
}

/// Reason phrase for a certificate whose time has not begun.
pub const NOT_VALID_YET: &str = "the certificate is not valid yet";

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: rustls::Error) -> Error {
    let reason = match error {
        rustls::Error::InconsistentKeys(_) => "the key is not that of the first certificate",
        rustls::Error::InvalidCertificate(_) => "a certificate cannot be read",
        // rustls tries each kind of key, and says no more than that none fits.
        rustls::Error::General(_) => {
            "the key is damaged or of an unsupported kind; supported: RSA of 2048 to 8192 bits, P-256, P-384, Ed25519"
        }
        _ => "TLS rejected the configuration",
    };
    Error::new(Code::INTERNAL_ERROR, reason)
}

/// Configuration shared by sessions.
#[derive(Clone)]
pub struct Config<C> {
    tls: Arc<C>,
    log_secrets: bool,
}

/// Configuration shared by client sessions.
pub type ClientConfig = Config<rustls::ClientConfig>;
/// Configuration shared by server sessions.
pub type ServerConfig = Config<rustls::ServerConfig>;

impl<C> Config<C> {
    /// Makes sessions export their secrets: [`Session::take_secrets`].
    #[must_use]
    pub fn logging_secrets(mut self) -> Self {
        self.log_secrets = true;
        self
    }
}

impl<C: Clone> Config<C> {
    /// Returns the configuration of one session, and its log of secrets. Each session has its own,
    /// so that its secrets can be exported with it.
    fn of_session(&self, key_log: impl Fn(&mut C) -> &mut Arc<dyn KeyLog>) -> (Arc<C>, Option<Arc<Lines>>) {
        let lines = self.log_secrets.then(Arc::<Lines>::default);
        let mut tls = self.tls.clone();
        if let Some(lines) = &lines {
            *key_log(Arc::make_mut(&mut tls)) = lines.clone();
        }
        (tls, lines)
    }
}

impl ClientConfig {
    /// Creates the configuration of a client that offers these application protocols.
    ///
    /// # Errors
    /// INTERNAL_ERROR if rustls refuses the configuration, such as a root that is not a
    /// certificate.
    pub fn new(trust: Trust, alpn: &[&[u8]], ciphers: Ciphers) -> Result<Self, Error> {
        let provider = provider(ciphers);
        let algorithms = provider.signature_verification_algorithms;
        let builder = rustls::ClientConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(refused)?;
        let mut tls = match trust {
            Trust::Roots(roots) => {
                let mut store = RootCertStore::empty();
                for root in roots {
                    store.add(root).map_err(refused)?;
                }
                builder.with_root_certificates(store).with_no_client_auth()
            }
            Trust::Exactly(certificate) => pinned(builder, Some(fingerprint(&certificate)), algorithms),
            Trust::Fingerprint(only) => pinned(builder, Some(only), algorithms),
            Trust::Anyone => pinned(builder, None, algorithms),
        };
        tls.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        tls.resumption = rustls::client::Resumption::disabled();
        Ok(Self { tls: Arc::new(tls), log_secrets: false })
    }

    /// Starts the client end of a handshake with the named server (DNS name or IP address).
    ///
    /// # Errors
    /// INTERNAL_ERROR if the server name is invalid, or if rustls refuses the configuration.
    pub fn start(&self, server_name: &str, parameters: &TransportParameters) -> Result<Tls, Error> {
        let name = ServerName::try_from(server_name.to_owned())
            .map_err(|_| Error::new(Code::INTERNAL_ERROR, "invalid server name"))?;
        let (tls, lines) = self.of_session(|tls| &mut tls.key_log);
        let connection = ClientConnection::new(tls, Version::V1, name, parameters.to_vec());
        Ok(Tls::new(Connection::Client(connection.map_err(refused)?), Side::Client, lines))
    }
}

impl ServerConfig {
    /// Creates the configuration of a server that supports these application protocols.
    ///
    /// # Errors
    /// INTERNAL_ERROR if rustls refuses the certificate or its key.
    pub fn new(identity: Identity, alpn: &[&[u8]], ciphers: Ciphers) -> Result<Self, Error> {
        let builder = rustls::ServerConfig::builder_with_provider(provider(ciphers));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(refused)?;
        let builder = builder.with_no_client_auth();
        let mut tls = builder.with_single_cert(identity.chain, identity.key).map_err(refused)?;
        tls.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        tls.send_tls13_tickets = 0;
        Ok(Self { tls: Arc::new(tls), log_secrets: false })
    }

    /// Starts the server end of a handshake.
    ///
    /// # Errors
    /// INTERNAL_ERROR if rustls refuses the configuration.
    pub fn start(&self, parameters: &TransportParameters) -> Result<Tls, Error> {
        let (tls, lines) = self.of_session(|tls| &mut tls.key_log);
        let connection = ServerConnection::new(tls, Version::V1, parameters.to_vec());
        Ok(Tls::new(Connection::Server(connection.map_err(refused)?), Side::Server, lines))
    }
}

/// Secrets of one session, as lines in the NSS key log format.
#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Lines {
    fn all(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyLog for Lines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        self.all().push(format!("{label} {} {}", hex(client_random), hex(secret)));
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lines")
    }
}

/// One end of a TLS handshake, created by [`ClientConfig::start`] or [`ServerConfig::start`].
pub struct Tls {
    connection: Connection,
    side: Side,
    /// Level at which bytes are written.
    level: Level,
    parameters: Option<TransportParameters>,
    failure: Option<rustls::Error>,
    output: VecDeque<Event>,
    lines: Option<Arc<Lines>>,
}

impl Tls {
    fn new(connection: Connection, side: Side, lines: Option<Arc<Lines>>) -> Self {
        let (level, output) = (Level::Initial, VecDeque::new());
        let mut session = Self { connection, side, level, parameters: None, failure: None, output, lines };
        session.collect();
        session
    }

    /// Returns the rustls error that made the handshake fail, for human readers.
    pub fn failure(&self) -> Option<&rustls::Error> {
        self.failure.as_ref()
    }

    /// Returns the level at which the peer's next bytes must arrive.
    fn expected(&self) -> Level {
        match self.level {
            Level::Initial => Level::Initial,
            // A server writes 1-RTT packets before it has the client's Finished.
            _ if self.connection.is_handshaking() => Level::Handshake,
            Level::Handshake => Level::Handshake,
            _ => Level::OneRtt,
        }
    }

    /// Collects pending output from rustls.
    fn collect(&mut self) {
        loop {
            let mut data = Vec::new();
            let change = self.connection.write_hs(&mut data);
            let nothing = data.is_empty() && change.is_none();
            if !data.is_empty() {
                self.output.push_back(Event::Crypto { level: self.level, data });
            }
            match change {
                Some(KeyChange::Handshake { keys }) => {
                    self.level = Level::Handshake;
                    self.output.push_back(Event::Handshake(keys));
                }
                Some(KeyChange::OneRtt { keys, next }) => {
                    self.level = Level::OneRtt;
                    self.output.push_back(Event::OneRtt { keys, next: Box::new(next) });
                }
                None => {}
            }
            if nothing {
                return;
            }
        }
    }

    fn fail(&mut self, error: rustls::Error) -> Error {
        use rustls::CertificateError::{NotValidYet, NotValidYetContext};
        // The alert is the same for a certificate that has expired.
        let early =
            matches!(error, rustls::Error::InvalidCertificate(NotValidYet | NotValidYetContext { .. }));
        self.failure = Some(error);
        match self.connection.alert() {
            Some(alert) => {
                Error::new(Code::crypto(alert.into()), if early { NOT_VALID_YET } else { "TLS failed" })
            }
            None => Error::new(Code::PROTOCOL_VIOLATION, "TLS failed without an alert"),
        }
    }

    fn read_parameters(&mut self) -> Result<(), Error> {
        if self.parameters.is_none() {
            let bytes = self.connection.quic_transport_parameters();
            let read = bytes.map(|bytes| TransportParameters::decode(bytes, self.side.peer()));
            self.parameters = read.transpose()?;
        }
        Ok(())
    }
}

impl Session for Tls {
    fn read(&mut self, level: Level, data: &[u8]) -> Result<(), Error> {
        if level != self.expected() {
            return Err(Error::new(Code::PROTOCOL_VIOLATION, "handshake data at the wrong encryption level"));
        }
        if let Err(error) = self.connection.read_hs(data) {
            return Err(self.fail(error));
        }
        self.read_parameters()?;
        self.collect();
        // RFC 9001 section 8.1: without a common protocol, an endpoint closes with
        // no_application_protocol (120).
        if self.is_complete() && self.alpn().is_none() {
            return Err(Error::new(Code::crypto(120), "no common application protocol"));
        }
        Ok(())
    }

    fn poll(&mut self) -> Option<Event> {
        self.output.pop_front()
    }

    fn is_complete(&self) -> bool {
        self.level == Level::OneRtt && !self.connection.is_handshaking()
    }

    fn peer_parameters(&self) -> Option<&TransportParameters> {
        self.parameters.as_ref()
    }

    fn alpn(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    fn server_name(&self) -> Option<&str> {
        match &self.connection {
            Connection::Server(server) => server.server_name(),
            Connection::Client(_) => None,
        }
    }

    fn other_fingerprint(&self) -> Option<[u8; 32]> {
        let Some(rustls::Error::InvalidCertificate(rustls::CertificateError::Other(why))) = &self.failure
        else {
            return None;
        };
        why.0.downcast_ref::<OtherFingerprint>().map(|other| other.0)
    }

    fn take_secrets(&mut self) -> Vec<String> {
        self.lines.as_ref().map(|lines| std::mem::take(&mut *lines.all())).unwrap_or_default()
    }

    fn export(&self, label: &[u8], context: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let exported = self.connection.export_keying_material(out, label, Some(context));
        exported.map(|_| ()).map_err(|_| {
            Error::new(Code::INTERNAL_ERROR, "secrets cannot be exported before the handshake is complete")
        })
    }
}
