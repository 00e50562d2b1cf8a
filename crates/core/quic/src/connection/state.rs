//! The connection's state, and its creation.

use std::collections::VecDeque;
use std::net::SocketAddr;

use units::{Ecn, Time};

use crate::config::Config;
use crate::connection::ack_frames::AckFrames;
use crate::connection::ack_frequency::AckFrequency;
use crate::connection::close::{IdleTimer, Lifecycle};
use crate::connection::connection_ids::ConnectionIds;
use crate::connection::early::EarlyPackets;
use crate::connection::event::Event;
use crate::connection::ids::HandshakeIds;
use crate::connection::loss::LossRecovery;
use crate::connection::messages::Messages;
use crate::connection::packet_keys::PacketKeys;
use crate::connection::path::{Addresses, Paths};
use crate::connection::sent_frames::SentFrame;
use crate::connection::server_frames::ServerFrames;
use crate::connection::settings::Settings;
use crate::connection::spaces::SpaceState;
use crate::connection::tap::Tap;
use crate::crypto::keys;
use crate::crypto::session::Session;
use crate::error::Error;
use crate::level::{Side, Space};
use crate::random::Random;
use crate::streams::table::{StreamTable, TableConfig};
use crate::wire::frames::Extensions;
use crate::wire::transport_parameters::TransportParameters;

/// A received datagram.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// Remote address.
    pub from: SocketAddr,
    /// Local address.
    pub to: SocketAddr,
    /// ECN field of its IP header.
    pub ecn: Ecn,
    /// Arrival time, at most the current time. Measurements are based on it.
    pub arrived: Time,
    /// UDP payload. Protection is removed in place.
    pub bytes: &'a mut [u8],
}

/// A datagram to send, or a burst of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Local address.
    pub from: SocketAddr,
    /// Remote address.
    pub to: SocketAddr,
    /// ECN field for its IP header.
    pub ecn: Ecn,
    /// Number of bytes of the buffer to send.
    pub len: usize,
    /// Size of each datagram of a burst, in bytes. The last one may be shorter. `None` for a single
    /// datagram.
    pub segment_size: Option<usize>,
}

/// Counters of a connection, besides those of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Bytes in sent datagrams.
    pub bytes_sent: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Bytes in received datagrams.
    pub bytes_received: u64,
    /// Packets that were opened and processed.
    pub packets_received: u64,
    /// Packets that could not be opened, or were not for this connection.
    pub packets_dropped: u64,
    /// Packets that were received before.
    pub duplicates: u64,
    /// Packets received with CE.
    pub ce_received: u64,
    /// DATAGRAM frames declared lost.
    pub datagrams_lost: u64,
}

/// Initial state of a connection.
pub struct ConnectionInit {
    /// This end's side.
    pub side: Side,
    /// Local and remote address.
    pub addresses: (SocketAddr, SocketAddr),
    /// Connection IDs of the handshake.
    pub ids: HandshakeIds,
    /// Stateless reset token of this end's first ID.
    pub reset_token: [u8; 16],
    /// Token for a client's Initials; empty if there is none.
    pub token: Vec<u8>,
    /// Whether the remote address is already validated.
    pub validated: bool,
    /// Source of unpredictable bytes, also for the controller's seed.
    pub random: Random,
}

/// Progress of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Started,
    /// Both ends are authenticated (RFC 9001 section 4.1.1).
    Complete,
    /// The peer is known to be complete too (section 4.1.2).
    Confirmed,
}

/// A QUIC connection.
pub struct Connection {
    pub(super) side: Side,
    /// Settings, with the configuration as declared to the peer.
    pub(super) settings: Settings,
    pub(super) ids: ConnectionIds,
    pub(super) session: Box<dyn Session>,
    pub(super) stage: Stage,
    pub(super) keys: PacketKeys,
    pub(super) spaces: [SpaceState; 3],
    pub(super) loss: LossRecovery,
    pub(super) acks: AckFrames,
    pub(super) ack_frequency: AckFrequency,
    pub(super) paths: Paths,
    pub(super) lifecycle: Lifecycle,
    pub(super) idle: IdleTimer,
    pub(super) streams: StreamTable,
    pub(super) messages: Messages,
    pub(super) server_frames: ServerFrames,
    pub(super) early: EarlyPackets,
    /// A datagram that did not fit into a burst.
    pub(super) waiting: Option<(Transmit, Vec<u8>)>,
    /// Frames of the last datagram. Kept to reuse their memory.
    pub(super) items: Vec<SentFrame>,
    pub(super) random: Random,
    pub(super) events: VecDeque<Event>,
    pub(super) counts: Counts,
    pub(super) tap: Option<Box<dyn Tap>>,
}

impl Connection {
    /// Creates a connection that has neither sent nor received anything. `start` creates the
    /// session from this end's transport parameters.
    ///
    /// # Errors
    /// Errors of `start`.
    pub fn new(
        now: Time,
        settings: &Settings,
        mut init: ConnectionInit,
        start: impl FnOnce(&TransportParameters) -> Result<Box<dyn Session>, Error>,
    ) -> Result<Self, Error> {
        let ConnectionInit { side, addresses: (local, remote), ids, .. } = init;
        let mut settings = settings.clone();
        let loss = LossRecovery::new(&settings, side, u64::from_be_bytes(init.random.bytes()));
        settings.request_stamps(loss.sender.controller());
        let config = &settings.config;
        let mut parameters = config.parameters(ids.local());
        ids.declare(&mut parameters);
        if side == Side::Server {
            parameters.stateless_reset_token = Some(init.reset_token);
        }
        if config.grease {
            parameters.grease =
                Some(TransportParameters::grease_from(u64::from_be_bytes(init.random.bytes())));
        }
        let session = start(&parameters)?;
        let mut paths = Paths::new(side, Addresses { local, remote });
        if init.validated {
            paths.active_mut().validate();
        }
        let mut connection = Self {
            side,
            ids: ConnectionIds::new(ids, init.reset_token, init.token),
            session,
            stage: Stage::Started,
            keys: PacketKeys::default(),
            spaces: [(); 3].map(|()| SpaceState::new()),
            loss,
            acks: AckFrames::new(config.ack_delay_exponent),
            ack_frequency: AckFrequency::new(config.ack_frequency),
            paths,
            lifecycle: Lifecycle::default(),
            idle: IdleTimer::new(now, config.idle_timeout),
            streams: StreamTable::new(side, table_config(&settings)),
            messages: Messages::new(config.datagrams.unwrap_or_default()),
            server_frames: ServerFrames::new(side),
            early: EarlyPackets::default(),
            waiting: None,
            items: Vec::new(),
            random: init.random,
            events: VecDeque::new(),
            counts: Counts::default(),
            tap: None,
            settings,
        };
        connection.install_initial_keys();
        connection.drive_session(now)?;
        Ok(connection)
    }

    /// Discards the data of all streams, if the connection is over.
    pub fn discard_streams(&mut self) {
        if !self.lifecycle.is_open() {
            self.streams = StreamTable::new(self.side, table_config(&self.settings));
        }
    }

    /// Installs the keys of Initial packets, which follow from a connection ID that a Retry changes
    /// (RFC 9001 section 5.2).
    pub(super) fn install_initial_keys(&mut self) {
        let keys = keys::initial(&self.ids.handshake.initial_keys(), self.side);
        self.keys.install(Space::Initial, keys);
    }
}

/// Returns the extensions that an end with this configuration announces.
pub(super) fn extensions(config: &Config) -> Extensions {
    Extensions {
        max_datagram_frame_size: config.datagrams.map_or(0, |datagrams| datagrams.max_frame_size.0),
        ack_frequency: config.ack_frequency.min_ack_delay.is_some(),
        receive_timestamps: config.timestamps.wanted.unwrap_or_default(),
    }
}

fn table_config(settings: &Settings) -> TableConfig {
    let config = &settings.config;
    TableConfig {
        data_window: config.data_window,
        stream_window: config.stream_window,
        send_buffer: usize::try_from(config.send_buffer.0).unwrap_or(usize::MAX),
        keep: settings.keep,
        bidirectional: config.bidirectional_streams,
        unidirectional: config.unidirectional_streams,
    }
}
