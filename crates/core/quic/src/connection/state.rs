//! The connection's state, and its creation.

use std::collections::VecDeque;
use std::net::SocketAddr;

use recovery::congestion::PathInfo;
use recovery::{AckEffects, AckFrame, Paced, Role, Sender};
use units::{Duration, Ecn, Time};

use crate::config::Config;
use crate::connection::announcements::Announcements;
use crate::connection::close::{IdleTimer, Lifecycle};
use crate::connection::event::Event;
use crate::connection::ids::{HandshakeIds, LocalIds, RemoteIds};
use crate::connection::path::{Addresses, Paths};
use crate::connection::sent_frames::{SentFrame, SentFrames};
use crate::connection::settings::Settings;
use crate::connection::spaces::SpaceState;
use crate::connection::tap::Tap;
use crate::crypto::keys;
use crate::crypto::session::Session;
use crate::crypto::update::OneRtt;
use crate::error::Error;
use crate::level::{Level, Side, Space};
use crate::random::Random;
use crate::streams::datagram::{DatagramQueue, WhenFull};
use crate::streams::table::{StreamTable, TableConfig};
use crate::wire::connection_id::ConnectionId;
use crate::wire::frames::Extensions;
use crate::wire::receive_timestamps::StampsToSend;
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

/// A packet that arrived before its keys.
pub(super) struct BufferedPacket {
    pub(super) level: Level,
    pub(super) from: Addresses,
    pub(super) ecn: Ecn,
    pub(super) arrived: Time,
    pub(super) bytes: Vec<u8>,
}

/// A QUIC connection.
pub struct Connection {
    pub(super) side: Side,
    pub(super) settings: Settings,
    /// Configuration as declared to the peer.
    pub(super) config: Config,
    pub(super) extensions: Extensions,
    pub(super) ids: HandshakeIds,
    pub(super) local_ids: LocalIds,
    pub(super) remote_ids: Option<RemoteIds>,
    pub(super) retired: Vec<ConnectionId>,
    pub(super) token: Vec<u8>,
    pub(super) session: Box<dyn Session>,
    pub(super) spaces: [SpaceState; 3],
    pub(super) one_rtt: Option<OneRtt>,
    pub(super) peer: Option<TransportParameters>,
    pub(super) complete: bool,
    pub(super) confirmed: bool,
    pub(super) sender: Sender<SentFrames>,
    /// Kept to reuse its memory, and boxed because of its size. `None` while in use.
    pub(super) effects: Option<Box<AckEffects<SentFrames>>>,
    /// Cached PTO: see `compute_pto`.
    pub(super) probe_timeout: Duration,
    pub(super) path_info: PathInfo,
    pub(super) paths: Paths,
    pub(super) lifecycle: Lifecycle,
    pub(super) idle: IdleTimer,
    pub(super) streams: StreamTable,
    pub(super) datagrams_in: DatagramQueue,
    pub(super) datagrams_out: DatagramQueue,
    pub(super) announcements: Announcements,
    pub(super) tokens_taken: usize,
    /// Newest sequence number of ACK_FREQUENCY received.
    pub(super) frequency: Option<u64>,
    /// Kept to reuse their memory.
    pub(super) ack_frame: AckFrame,
    pub(super) stamps: StampsToSend,
    pub(super) buffered: Vec<BufferedPacket>,
    pub(super) pacing: Option<Time>,
    /// A datagram that did not fit into a burst.
    pub(super) waiting: Option<(Transmit, Vec<u8>)>,
    /// Packet number that is skipped next, so that a peer cannot acknowledge packets it has not
    /// received.
    pub(super) skip_at: u64,
    pub(super) random: Random,
    pub(super) events: VecDeque<Event>,
    pub(super) told_datagram: bool,
    pub(super) reset_tokens_changed: bool,
    pub(super) counts: Counts,
    pub(super) items: Vec<SentFrame>,
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
        let path_info = PathInfo {
            max_datagram_size: settings.config.initial_datagram_size.0,
            paced: settings.recovery.paced == Paced::Always,
            seed: u64::from_be_bytes(init.random.bytes()),
        };
        let controller = (settings.controller)(path_info);
        let config = settings.declared(&*controller);
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
        let role = if side == Side::Client { Role::Client } else { Role::Server };
        let sender = Sender::with_spaces(settings.recovery.clone(), controller, path_info, role);
        let mut paths = Paths::new(side, Addresses { local, remote });
        if init.validated {
            paths.active_mut().validate();
        }
        let queue = |max: u64, full| DatagramQueue::new(usize::try_from(max).unwrap_or(usize::MAX), full);
        let datagrams = config.datagrams.unwrap_or_default();
        let mut connection = Self {
            side,
            settings: settings.clone(),
            extensions: extensions(&config),
            local_ids: LocalIds::new(ids.local(), init.reset_token),
            ids,
            remote_ids: None,
            retired: Vec::new(),
            token: init.token,
            session,
            spaces: [(); 3].map(|()| SpaceState::new()),
            one_rtt: None,
            peer: None,
            complete: false,
            confirmed: false,
            probe_timeout: sender.timers().pto,
            sender,
            effects: None,
            path_info,
            paths,
            lifecycle: Lifecycle::default(),
            idle: IdleTimer::new(now, config.idle_timeout),
            streams: StreamTable::new(side, table_config(&config, settings)),
            datagrams_in: queue(datagrams.receive_queue.0, WhenFull::DropOldest),
            datagrams_out: queue(datagrams.send_queue.0, WhenFull::Refuse),
            announcements: Announcements::default(),
            tokens_taken: 0,
            frequency: None,
            ack_frame: AckFrame::default(),
            stamps: StampsToSend::default(),
            buffered: Vec::new(),
            pacing: None,
            waiting: None,
            skip_at: u64::MAX,
            random: init.random,
            events: VecDeque::new(),
            told_datagram: false,
            reset_tokens_changed: false,
            counts: Counts::default(),
            items: Vec::new(),
            tap: None,
            config,
        };
        connection.install_initial_keys();
        connection.drive_session(now)?;
        Ok(connection)
    }

    /// Installs the keys of Initial packets, which follow from a connection ID that a Retry changes
    /// (RFC 9001 section 5.2).
    pub(super) fn install_initial_keys(&mut self) {
        let keys = keys::initial(&self.ids.initial_keys(), self.side);
        self.spaces[Space::Initial as usize].keys = Some(keys);
    }
}

fn extensions(config: &Config) -> Extensions {
    Extensions {
        max_datagram_frame_size: config.datagrams.map_or(0, |datagrams| datagrams.max_frame_size.0),
        ack_frequency: config.ack_frequency.min_ack_delay.is_some(),
        receive_timestamps: config.timestamps.wanted.unwrap_or_default(),
    }
}

fn table_config(config: &Config, settings: &Settings) -> TableConfig {
    TableConfig {
        data_window: config.data_window,
        stream_window: config.stream_window,
        send_buffer: usize::try_from(config.send_buffer.0).unwrap_or(usize::MAX),
        keep: settings.keep,
        bidirectional: config.bidirectional_streams,
        unidirectional: config.unidirectional_streams,
    }
}
