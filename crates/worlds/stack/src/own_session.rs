//! A guest made of a client and a server of `ackclock-quic`. The client sends, and the server
//! counts.

use std::net::{Ipv4Addr, SocketAddr};

use congestion::Controller;
use quic::connection::{Arrival as Incoming, Connection, Ended, Event};
use quic::endpoint::{Endpoint, Handle};
use recovery::Stats;
use scenario::guest::{Arrival, Datagram, Snapshot};
use scenario::{End, FlowConfig, Record, Scenario, Transport};
use scenario::{Guest, allowed_rate};
use units::Time;

use crate::accounting::Accounting;
use crate::application::Application;
use crate::buffer_pool::BufferPool;
use crate::event_tap::{EventTap, TapEvent};
use crate::nat::Nat;
use crate::profile::Profile;
use crate::refusal::{Refusal, check};
use crate::settings::{Ends, SERVER_NAME};

/// Smallest size of handshake datagrams, whatever the size of the flow's (RFC 9000 section 14.1).
const LEAST_DATAGRAM: usize = 1200;

/// More flights than a handshake takes, including the packets after it and before the first data.
const MOST_FLIGHTS: usize = 32;

/// Returns the addresses of client and server.
pub(crate) fn addresses() -> (SocketAddr, SocketAddr) {
    let address = |host, port| SocketAddr::from((Ipv4Addr::new(10, 0, 0, host), port));
    (address(1, 4000), address(2, 443))
}

/// Application error code for closing a connection that is no longer needed (RFC 9000 section
/// 20.2).
const NO_ERROR: u64 = 0;

/// Both endpoints of one connection, or of one connection after the other for short transfers.
pub struct OwnSession {
    ends: Ends,
    client: Option<Handle>,
    server: Option<Handle>,
    application: Application,
    transfer: Option<u64>,
    handshake: bool,
    nat: Nat,
    /// Bytes of IP, UDP and link headers, and the receiver's `ack_delay_exponent`.
    counted: (u32, u8),
    accounting: Accounting,
    tracing: bool,
    taps: [EventTap; 2],
    /// Event buffer to reuse.
    events: Vec<TapEvent>,
    buffers: BufferPool,
    /// Whether each endpoint may have a datagram to send. It may after it received one, was called,
    /// or its timer expired. Other endpoints are not polled.
    ready: [bool; 2],
    /// Time of each endpoint's next timer.
    due: [Time; 2],
    /// Reason for which the connection ended.
    ended: Option<String>,
    /// Number of earlier connections, and the seed of the first.
    before: u64,
    seed: u64,
    /// Counters of the clients of earlier connections.
    closed: Stats,
    /// Last counters of the client, for use after its connection has gone.
    last: Stats,
}

impl OwnSession {
    /// Creates a session that replaces flow `number` of the scenario.
    ///
    /// # Errors
    /// The first unsupported property of the flow, or an invalid configuration.
    pub fn new(
        flow: &FlowConfig,
        number: usize,
        scenario: &Scenario,
        profile: &Profile,
    ) -> Result<Self, Refusal> {
        check(flow)?;
        let overhead = match flow.transport {
            Transport::Quic { overhead, .. } | Transport::Tcp { overhead, .. } => overhead,
        };
        let counted = (overhead, profile.quic.ack_delay_exponent);
        Ok(Self {
            ends: Ends::new(flow, number as u64, scenario, profile)?,
            application: Application::new(flow, number, scenario),
            before: 0,
            seed: scenario.seed.wrapping_add(number as u64),
            closed: Stats::default(),
            counted,
            client: None,
            server: None,
            transfer: flow.transfer,
            handshake: flow.handshake,
            nat: Nat::new(flow, addresses().0),
            accounting: Accounting::new(counted),
            tracing: scenario.trace,
            taps: [EventTap::default(), EventTap::default()],
            events: Vec::new(),
            buffers: BufferPool::new(LEAST_DATAGRAM.max(flow.transport.mds() as usize)),
            ready: [true; 2],
            due: [Time::NEVER; 2],
            ended: None,
            last: Stats::default(),
        })
    }

    /// Returns the sender's connection, once it exists.
    pub fn sending(&self) -> Option<&Connection> {
        self.ends.client.connection(self.client?)
    }

    /// Returns the receiver's connection, once it exists.
    pub fn receiving(&self) -> Option<&Connection> {
        self.ends.server.connection(self.server?)
    }

    /// Runs the application's timers. A new transfer may start another connection.
    fn on_application(&mut self, now: Time, record: &mut Record) {
        let sent = self.accounting.sent();
        let sender =
            self.client.and_then(|client| self.ends.client.connection(client)).map(Connection::sender);
        if self.application.on_time(now, sent, || allowed_rate(sender?), record) {
            self.leave(now, record);
        }
    }

    /// Closes the client's connection. From now on only its bytes on the links are counted.
    fn leave(&mut self, now: Time, record: &mut Record) {
        self.closed = self.stats();
        self.last = Stats::default();
        if let Some(connection) = self.client.and_then(|client| self.ends.client.connection_mut(client)) {
            connection.close(now, NO_ERROR, b"");
        }
        (self.client, self.server) = (None, None);
        self.before += 1;
        self.ends.seed.set(self.seed, self.before);
        self.accounting = Accounting::new(self.counted);
        self.taps = [EventTap::default(), EventTap::default()];
        record.on_reconnect();
    }

    /// Offers the client's connection the data that it may send next.
    fn offer(&mut self, now: Time, record: &mut Record) {
        let Some(client) = self.client.filter(|_| self.application.may_offer_more()) else { return };
        let accepts_messages = self.sending().is_some_and(Connection::is_connected);
        let messages = (accepts_messages, self.accounting.waiting());
        if let Some(offer) = self.application.next_offer(now, self.accounting.sent(), messages, record)
            && let Some(connection) = self.ends.client.connection_mut(client)
        {
            let waiting = self.application.hand_over(offer, connection);
            self.accounting.set_waiting(waiting);
        }
    }

    fn connect(&mut self, now: Time) {
        let Ends { client, crypto, .. } = &mut self.ends;
        match client.connect(now, crypto, SERVER_NAME, addresses(), b"") {
            Ok(handle) => {
                self.client = Some(handle);
                if !self.handshake {
                    self.establish(now, handle);
                }
                let tap = self.taps[End::Sender as usize].listener(self.tracing);
                if let Some(connection) = self.ends.client.connection_mut(handle) {
                    connection.set_tap(tap);
                }
                self.serve();
            }
            // No configuration of a flow leads here. The flow would never send a byte.
            Err(why) => self.ended = Some(why.to_string()),
        }
    }

    /// Performs the handshake of a flow without `handshake`. It crosses no links, takes no time,
    /// and is unknown to congestion control.
    fn establish(&mut self, now: Time, handle: Handle) {
        for _ in 0..MOST_FLIGHTS {
            let sent = [End::Sender, End::Receiver].map(|from| self.hand_over(now, from));
            self.serve_server();
            if sent == [false; 2] {
                break;
            }
        }
        let server = self.server.and_then(|server| self.ends.server.connection_mut(server));
        let connections = [self.ends.client.connection_mut(handle), server];
        connections.into_iter().flatten().for_each(|connection| connection.reset_path_state(now));
        // The handshake is also left out of the log.
        self.events = self.take_events(End::Receiver);
    }

    /// Delivers all datagrams of one endpoint to the other at once. Reports whether there were any.
    fn hand_over(&mut self, now: Time, from: End) -> bool {
        let mut any = false;
        while let Some(datagram) = self.poll(now, from) {
            let Datagram { ecn, mut bytes, .. } = datagram;
            let (client, server) = addresses();
            // The source is not rebound before the flow starts.
            self.nat.server_gets(&mut bytes);
            let bytes = bytes.as_mut_slice();
            match from {
                End::Sender => {
                    self.ends
                        .server
                        .handle(now, Incoming { from: client, to: server, ecn, arrived: now, bytes });
                }
                End::Receiver => {
                    self.ends
                        .client
                        .handle(now, Incoming { from: server, to: client, ecn, arrived: now, bytes });
                }
            }
            any = true;
        }
        any
    }

    /// Handles the events of both endpoints.
    fn serve(&mut self) {
        self.serve_client();
        self.serve_server();
    }

    fn serve_client(&mut self) {
        while let Some((handle, event)) = self.ends.client.poll_event() {
            match event {
                Event::Connected => {
                    if let Some(connection) = self.ends.client.connection_mut(handle) {
                        self.application.begin(connection);
                    }
                }
                Event::Ended(why) if self.client == Some(handle) => self.end(&why),
                _ => {}
            }
        }
    }

    fn serve_server(&mut self) {
        while let Some((handle, event)) = self.ends.server.poll_event() {
            match event {
                Event::Incoming => self.accept(handle),
                Event::Datagram => self.read_messages(handle),
                Event::Ended(why) if self.server == Some(handle) => self.end(&why),
                _ => {}
            }
        }
    }

    fn end(&mut self, why: &Ended) {
        self.ended.get_or_insert_with(|| why.to_string());
    }

    /// Handles the events of both endpoints, and records the end of the connection.
    fn serve_and_record(&mut self, now: Time, record: &mut Record) {
        self.serve();
        if record.broken.is_none() {
            record.broken = self.ended.as_ref().map(|why| (now, why.clone()));
        }
    }

    /// Drops received messages. The tap has already compared their bytes.
    fn read_messages(&mut self, handle: Handle) {
        let connection = self.ends.server.connection_mut(handle);
        connection.into_iter().for_each(|connection| while connection.receive_datagram().is_some() {});
    }

    fn accept(&mut self, handle: Handle) {
        self.ends.server.accept(handle);
        self.server = Some(handle);
        let tap = self.taps[End::Receiver as usize].listener(self.tracing);
        if let Some(connection) = self.ends.server.connection_mut(handle) {
            connection.set_tap(tap);
        }
    }

    /// Takes the events of an endpoint since the last call.
    fn take_events(&mut self, end: End) -> Vec<TapEvent> {
        let memory = std::mem::take(&mut self.events);
        self.taps[end as usize].take(memory)
    }

    /// Records the events of the sender's loss recovery.
    fn record_sender_events(&mut self, now: Time, record: &mut Record) {
        let events = self.take_events(End::Sender);
        self.events = match self.client.and_then(|client| self.ends.client.connection(client)) {
            Some(connection) => self.accounting.on_sender_events(
                now,
                events,
                connection.sender(),
                &mut self.application,
                record,
            ),
            None => events,
        };
    }

    /// Polls an endpoint for a datagram, if it may have one.
    fn poll_ready(&mut self, now: Time, from: End, record: &mut Record) -> Option<Datagram> {
        let end = from as usize;
        if !self.ready[end] && self.due[end] > now {
            return None;
        }
        if from == End::Sender {
            self.offer(now, record);
        }
        let datagram = self.poll(now, from);
        if datagram.is_none() {
            // Skip this endpoint until it receives a datagram or sets another timer.
            (self.ready[end], self.due[end]) = (false, Time::NEVER);
        }
        datagram
    }

    fn poll(&mut self, now: Time, from: End) -> Option<Datagram> {
        let end: &mut Endpoint = match from {
            End::Sender => &mut self.ends.client,
            End::Receiver => &mut self.ends.server,
        };
        let transmit = end.poll_transmit(now, self.buffers.buffer())?;
        let mut bytes = self.buffers.take(transmit.len);
        let size = self.accounting.wire(bytes.len());
        match from {
            End::Sender => self.nat.client_sends(now, &mut bytes),
            End::Receiver => self.nat.server_sends(transmit.to, &mut bytes),
        }
        Some(Datagram { from, size, ecn: transmit.ecn, bare: false, bytes })
    }
}

impl Guest for OwnSession {
    fn deliver(&mut self, now: Time, arrival: Arrival, record: &mut Record) {
        let Arrival { at, sent, arrived, ecn, mut bytes } = arrival;
        let (client, server) = addresses();
        self.ready[at as usize] = true;
        // The datagram may allow the application to offer more data.
        self.ready[End::Sender as usize] |= self.application.may_offer_more();
        match at {
            End::Receiver => {
                let Some(from) = self.nat.server_gets(&mut bytes) else { return };
                let incoming = Incoming { from, to: server, ecn, arrived, bytes: &mut bytes };
                self.ends.server.handle(now, incoming);
                let events = self.take_events(End::Receiver);
                self.accounting.on_arrival((now, arrived - sent), &events, &mut self.application, record);
                self.events = events;
            }
            End::Sender => {
                if !self.nat.client_gets(now, &mut bytes) {
                    return;
                }
                let incoming = Incoming { from: server, to: client, ecn, arrived, bytes: &mut bytes };
                self.ends.client.handle(now, incoming);
                self.record_sender_events(now, record);
            }
        }
        self.buffers.recycle(bytes);
        self.serve_and_record(now, record);
    }

    fn next(&mut self) -> Time {
        self.due = [self.ends.client.poll_timeout(), self.ends.server.poll_timeout()];
        self.due[0].min(self.due[1]).min(self.application.next())
    }

    fn on_time(&mut self, now: Time, record: &mut Record) {
        self.ready = [true; 2];
        self.on_application(now, record);
        if self.client.is_none() && self.application.wants(now, record) {
            self.connect(now);
        }
        self.last = self.sending().map_or_else(|| self.last.clone(), |c| c.sender().stats().clone());
        self.ends.client.handle_timeout(now);
        self.ends.server.handle_timeout(now);
        self.record_sender_events(now, record);
        self.serve_and_record(now, record);
    }

    fn transmit(&mut self, now: Time, record: &mut Record) -> Option<Datagram> {
        let Some(mut datagram) = self.poll_ready(now, End::Sender, record) else {
            let datagram = self.poll_ready(now, End::Receiver, record);
            let mut events = self.take_events(End::Receiver);
            self.accounting.on_receiver_departure(now, &mut events, record);
            self.events = events;
            return datagram;
        };
        let mut events = self.take_events(End::Sender);
        let payload = self.nat.payload(&datagram.bytes);
        datagram.bare = self.accounting.on_departure(now, payload, &mut events, record);
        self.events = events;
        Some(datagram)
    }

    fn is_done(&self) -> bool {
        self.transfer.is_some_and(|bytes| self.accounting.contiguous() >= bytes)
    }

    fn observe(&self) -> Snapshot {
        self.sending().map_or_else(Snapshot::default, snapshot)
    }

    fn stats(&self) -> Stats {
        let mut stats = self.closed.clone();
        stats += self.sending().map_or(&self.last, |connection| connection.sender().stats());
        stats.retransmissions += self.accounting.repeats();
        stats
    }

    fn controller(&self) -> Option<&dyn Controller> {
        self.sending().map(|connection| connection.sender().controller())
    }
}

/// Returns the state of a connection's sender.
pub(crate) fn snapshot(connection: &Connection) -> Snapshot {
    let sender = connection.sender();
    let rtt = sender.rtt();
    Snapshot {
        cwnd: Some(sender.control().cwnd),
        bytes_in_flight: Some(sender.bytes_in_flight()),
        smoothed_rtt: rtt.is_sampled().then(|| rtt.smoothed()),
        latest_rtt: rtt.is_sampled().then(|| rtt.latest()),
    }
}
