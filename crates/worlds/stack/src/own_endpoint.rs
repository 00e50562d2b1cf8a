//! An endpoint of `ackclock-quic`.

use congestion::Controller;
use quic::connection::{Arrival, Connection, Ended, Event, SentFrames};
use quic::crypto::ClientCrypto;
use quic::crypto::tls::Identity;
use quic::endpoint::{Endpoint as QuicEndpoint, Handle};
use quic::streams::StreamId;
use quic::wire::Direction;
use recovery::{Sender, Stats};
use scenario::Application;
use scenario::guest::Snapshot;
use units::Time;

use crate::buffer_pool::BufferPool;
use crate::endpoint::{Endpoint, Outgoing, addresses};
use crate::endpoint_spec::EndpointSpec;
use crate::event_tap::{EventTap, TapEvent};
use crate::refusal::Refusal;
use crate::settings::{self, SERVER_NAME, Seed};

/// Application error code for closing a connection that is no longer needed (RFC 9000 section
/// 20.2).
const NO_ERROR: u64 = 0;

/// An endpoint with one connection, or one connection after the other for short transfers.
pub(crate) struct OwnEndpoint {
    endpoint: QuicEndpoint,
    /// A client's TLS.
    crypto: Option<ClientCrypto>,
    connection: Option<Handle>,
    /// Whether taps list ACK ranges, and whether they compare stream data.
    taps: (bool, bool),
    /// Length of a stream that is offered all at once.
    whole: Option<u64>,
    sends_messages: bool,
    /// TLS secrets since they were last taken.
    secrets: Vec<String>,
    /// The growing stream.
    stream: Option<StreamId>,
    /// Whether it may have a datagram to send. It may after it received one, was called, or its
    /// timer expired. Otherwise it is not polled.
    ready: bool,
    /// Time of the next timer.
    due: Time,
    /// Reason for which the connection ended.
    ended: Option<String>,
    is_idle_closed: bool,
    /// Number of earlier connections. It changes the seed of the controllers.
    before: u64,
    seeds: (u64, Seed),
    /// Counters of earlier connections.
    closed: Stats,
    /// Last counters of the connection, for use after it has gone.
    last: Stats,
}

impl OwnEndpoint {
    /// Creates the sending endpoint, or the receiving one.
    ///
    /// # Errors
    /// An invalid configuration, or a failure of TLS.
    pub(crate) fn new(spec: &EndpointSpec, is_server: bool, identity: &Identity) -> Result<Self, Refusal> {
        let seed = spec.seed(is_server);
        let controllers = Seed::new(seed);
        let (settings, crypto) = match is_server {
            true => (settings::server(spec, identity)?, None),
            false => settings::client(spec, identity, controllers.clone())?,
        };
        Ok(Self {
            endpoint: QuicEndpoint::new(settings, seed)?,
            crypto,
            connection: None,
            taps: (spec.tracing, spec.compares),
            whole: spec.whole,
            secrets: Vec::new(),
            sends_messages: matches!(spec.flow.application, Application::Media(_)),
            stream: None,
            ready: true,
            due: Time::NEVER,
            ended: None,
            is_idle_closed: false,
            before: 0,
            seeds: (seed, controllers),
            closed: Stats::default(),
            last: Stats::default(),
        })
    }

    fn connection(&self) -> Option<&Connection> {
        self.endpoint.connection(self.connection?)
    }

    fn connection_mut(&mut self) -> Option<&mut Connection> {
        self.endpoint.connection_mut(self.connection?)
    }

    fn attach_tap(&mut self, handle: Handle) {
        self.connection = Some(handle);
        if let Some(connection) = self.endpoint.connection_mut(handle) {
            connection.set_tap(Box::new(EventTap::new(self.taps.0, self.taps.1)));
        }
    }

    /// Starts to send on an established connection.
    fn begin(&mut self, handle: Handle) {
        let Some(connection) = self.endpoint.connection_mut(handle) else { return };
        match self.whole {
            Some(bytes) => {
                connection.streams().open_pattern(Direction::Unidirectional, bytes);
            }
            None if self.sends_messages => {}
            None => self.stream = connection.streams().open_growing_pattern(Direction::Unidirectional),
        }
    }
}

impl Endpoint for OwnEndpoint {
    fn connect(&mut self, now: Time) {
        self.ready = true;
        let Some(crypto) = &self.crypto else { return };
        match self.endpoint.connect(now, crypto, SERVER_NAME, addresses(), b"") {
            Ok(handle) => self.attach_tap(handle),
            // No configuration of a flow leads here. The flow would never send a byte.
            Err(why) => self.ended = Some(why.to_string()),
        }
    }

    fn handle(&mut self, now: Time, arrival: Arrival<'_>) {
        self.ready = true;
        self.endpoint.handle(now, arrival);
    }

    fn next(&mut self) -> Time {
        self.due = self.endpoint.poll_timeout();
        self.due
    }

    fn on_time(&mut self, now: Time) {
        self.ready = true;
        if let Some(connection) = self.connection() {
            self.last = connection.sender().stats().clone();
        }
        self.endpoint.handle_timeout(now);
    }

    fn serve(&mut self) {
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming => {
                    self.endpoint.accept(handle);
                    self.attach_tap(handle);
                }
                Event::Connected if self.crypto.is_some() => self.begin(handle),
                // The tap has already compared the bytes of messages.
                Event::Datagram => {
                    let connection = self.endpoint.connection_mut(handle);
                    connection.into_iter().for_each(|it| while it.receive_datagram().is_some() {});
                }
                Event::Secret(line) => self.secrets.push(line),
                Event::Ended(why) if self.connection == Some(handle) => {
                    self.is_idle_closed |= why == Ended::Idle;
                    self.ended.get_or_insert_with(|| why.to_string());
                }
                _ => {}
            }
        }
    }

    fn transmit(&mut self, now: Time, buffers: &mut BufferPool) -> Option<Outgoing> {
        if !self.ready && self.due > now {
            return None;
        }
        let Some(transmit) = self.endpoint.poll_transmit(now, buffers.buffer()) else {
            // Skip it until it receives a datagram or sets another timer.
            (self.ready, self.due) = (false, Time::NEVER);
            return None;
        };
        Some(Outgoing { bytes: buffers.take(transmit.len), ecn: transmit.ecn, to: transmit.to })
    }

    fn take_secrets(&mut self) -> Vec<String> {
        std::mem::take(&mut self.secrets)
    }

    fn take_events(&mut self, buffer: &mut Vec<TapEvent>) {
        buffer.clear();
        if let Some(tap) = self.connection().and_then(Connection::tap::<EventTap>) {
            tap.take(buffer);
        }
    }

    fn accepts(&self) -> bool {
        if self.sends_messages {
            self.connection().is_some_and(Connection::is_connected)
        } else {
            self.stream.is_some()
        }
    }

    fn offer(&mut self, end: u64) {
        self.ready = true;
        let Some(stream) = self.stream else { return };
        if let Some(connection) = self.connection_mut() {
            // An error means that the peer stopped reading. It gets no more data.
            let _ = connection.streams().offer(stream, end);
        }
    }

    fn send_message(&mut self, message: Vec<u8>) -> bool {
        self.ready = true;
        let Some(connection) = self.connection_mut() else { return false };
        connection.withdraw_datagrams();
        // An error means that the path now carries less than at the start. The data stays in the
        // source.
        !message.is_empty() && connection.send_datagram(&message).is_ok()
    }

    fn replaces_messages(&self) -> bool {
        true
    }

    fn reset_path_state(&mut self, now: Time) {
        self.connection_mut().into_iter().for_each(|connection| connection.reset_path_state(now));
    }

    /// Closes a client's connection. From now on only its bytes on the links are counted.
    fn leave(&mut self, now: Time) -> bool {
        self.closed = self.stats();
        self.last = Stats::default();
        if self.crypto.is_some()
            && let Some(connection) = self.connection_mut()
        {
            connection.close(now, NO_ERROR, b"");
        }
        (self.connection, self.stream) = (None, None);
        self.before += 1;
        self.seeds.1.set(self.seeds.0, self.before);
        true
    }

    fn observe(&self) -> Snapshot {
        let Some(sender) = self.sender() else { return Snapshot::default() };
        let rtt = sender.rtt();
        Snapshot {
            cwnd: Some(sender.control().cwnd),
            bytes_in_flight: Some(sender.bytes_in_flight()),
            pacing_rate: sender.pacing_rate(),
            smoothed_rtt: rtt.is_sampled().then(|| rtt.smoothed()),
            latest_rtt: rtt.is_sampled().then(|| rtt.latest()),
        }
    }

    fn stats(&self) -> Stats {
        let mut stats = self.closed.clone();
        stats += self.sender().map_or(&self.last, Sender::stats);
        stats
    }

    fn sender(&self) -> Option<&Sender<SentFrames>> {
        self.connection().map(Connection::sender)
    }

    fn controller(&self) -> Option<&dyn Controller> {
        self.sender().map(Sender::controller)
    }

    fn ended(&self) -> Option<&str> {
        self.ended.as_deref()
    }

    fn is_idle_closed(&self) -> bool {
        self.is_idle_closed
    }
}
