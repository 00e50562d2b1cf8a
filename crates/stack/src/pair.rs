//! A client and a server of `ackclock-quic` as a guest: the client sends, the server counts.

use std::net::{Ipv4Addr, SocketAddr};

use congestion::Controller;
use quic::connection::{Arrival as Incoming, Connection, Ended, Event};
use quic::endpoint::{Endpoint, Handle};
use recovery::Stats;
use scenario::{End, FlowConfig, Record, Scenario, Transport};
use sim::guest::{Arrival, Datagram, Snapshot};
use sim::{Guest, allowed_rate};
use units::Time;

use crate::application::Application;
use crate::ear::{Ear, Heard};
use crate::nat::Nat;
use crate::profile::Profile;
use crate::refusal::{Refusal, check};
use crate::settings::{Ends, SERVER_NAME};
use crate::store::Store;
use crate::tally::Tally;

/// Whatever a flow's datagrams are, those of the handshake have so many bytes (RFC 9000 section 14.1).
const LEAST_DATAGRAM: usize = 1200;

/// More than a handshake has, and all that follows it before the first data.
const MOST_FLIGHTS: usize = 32;

/// Where the ends of a connection are.
pub(crate) fn addresses() -> (SocketAddr, SocketAddr) {
    let address = |host, port| SocketAddr::from((Ipv4Addr::new(10, 0, 0, host), port));
    (address(1, 4000), address(2, 443))
}

/// What an application says when it closes a connection that it needs no more (RFC 9000 section 20.2).
const NO_ERROR: u64 = 0;

/// Both ends of one connection; of a flow of short transfers one after the other.
pub struct Pair {
    ends: Ends,
    client: Option<Handle>,
    server: Option<Handle>,
    application: Application,
    transfer: Option<u64>,
    handshake: bool,
    nat: Nat,
    /// IP, UDP and link headers, and the exponent of the receiver's ACK Delay.
    counted: (u32, u8),
    tally: Tally,
    tracing: bool,
    ears: [Ear; 2],
    /// Memory of what was heard.
    heard: Vec<Heard>,
    store: Store,
    /// Which end may have a datagram: it has heard or was called since it last had none, or its time has come. Nobody else is asked.
    ready: [bool; 2],
    /// When each wants to be called.
    due: [Time; 2],
    /// Why the connection is over.
    ended: Option<String>,
    /// Connections before this one, and the seed of the first.
    before: u64,
    seed: u64,
    /// What the clients of those counted.
    closed: Stats,
    /// The client's counters, should its connection be gone.
    last: Stats,
}

impl Pair {
    /// In the place of the scenario's flow of this number.
    ///
    /// # Errors
    /// What of the flow cannot be run; a rule of the configuration that does not hold.
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
            tally: Tally::new(counted),
            tracing: scenario.trace,
            ears: [Ear::default(), Ear::default()],
            heard: Vec::new(),
            store: Store::new(LEAST_DATAGRAM.max(flow.transport.mds() as usize)),
            ready: [true; 2],
            due: [Time::NEVER; 2],
            ended: None,
            last: Stats::default(),
        })
    }

    /// The connection of the end that sends the data, once there is one.
    pub fn sending(&self) -> Option<&Connection> {
        self.ends.client.connection(self.client?)
    }

    /// That of the end that receives it.
    pub fn receiving(&self) -> Option<&Connection> {
        self.ends.server.connection(self.server?)
    }

    /// Does what the application has to do: for a new transfer on another connection.
    fn on_application(&mut self, now: Time, record: &mut Record) {
        let sent = self.tally.sent();
        let sender =
            self.client.and_then(|client| self.ends.client.connection(client)).map(Connection::sender);
        if self.application.on_time(now, sent, || allowed_rate(sender?), record) {
            self.leave(now, record);
        }
    }

    /// The client closes its connection, of which nothing is heard or counted any more but the bytes on the links.
    fn leave(&mut self, now: Time, record: &mut Record) {
        self.closed = self.stats();
        self.last = Stats::default();
        if let Some(connection) = self.client.and_then(|client| self.ends.client.connection_mut(client)) {
            connection.close(now, NO_ERROR, b"");
        }
        (self.client, self.server) = (None, None);
        self.before += 1;
        self.ends.seed.set(self.seed, self.before);
        self.tally = Tally::new(self.counted);
        self.ears = [Ear::default(), Ear::default()];
        record.on_reconnect();
    }

    /// Hands the client's connection what may leave next.
    fn offer(&mut self, now: Time, record: &mut Record) {
        let Some(client) = self.client.filter(|_| self.application.goes_on()) else { return };
        let stands = self.sending().is_some_and(Connection::is_connected);
        let messages = (stands, self.tally.waiting());
        if let Some(offer) = self.application.offers(now, self.tally.sent(), messages, record)
            && let Some(connection) = self.ends.client.connection_mut(client)
        {
            let waiting = self.application.hand_over(offer, connection);
            self.tally.set_waiting(waiting);
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
                let tap = self.ears[End::Sender as usize].tap(self.tracing);
                if let Some(connection) = self.ends.client.connection_mut(handle) {
                    connection.set_tap(tap);
                }
                self.serve();
            }
            // Nothing that a flow can be configured with; there never is a byte.
            Err(why) => self.ended = Some(why.to_string()),
        }
    }

    /// The handshake of a flow that has none: it crosses no links and takes no time, and congestion control never hears of it.
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
        connections.into_iter().flatten().for_each(|connection| connection.begin_anew(now));
        // Nor does a log.
        self.heard = self.listen(End::Receiver);
    }

    /// All that one end has to send reaches the other at once. Whether there was any.
    fn hand_over(&mut self, now: Time, from: End) -> bool {
        let mut any = false;
        while let Some(datagram) = self.poll(now, from) {
            let Datagram { ecn, mut bytes, .. } = datagram;
            let (client, server) = addresses();
            // No rebinding before the flow begins.
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

    /// The applications of both ends.
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

    /// The applications of both ends, and what became of their connection.
    fn serve_and_tell(&mut self, now: Time, record: &mut Record) {
        self.serve();
        if record.broken.is_none() {
            record.broken = self.ended.as_ref().map(|why| (now, why.clone()));
        }
    }

    /// Their bytes were looked at as they came.
    fn read_messages(&mut self, handle: Handle) {
        let connection = self.ends.server.connection_mut(handle);
        connection.into_iter().for_each(|connection| while connection.receive_datagram().is_some() {});
    }

    fn accept(&mut self, handle: Handle) {
        self.ends.server.accept(handle);
        self.server = Some(handle);
        let tap = self.ears[End::Receiver as usize].tap(self.tracing);
        if let Some(connection) = self.ends.server.connection_mut(handle) {
            connection.set_tap(tap);
        }
    }

    /// What an end has said since the last time.
    fn listen(&mut self, end: End) -> Vec<Heard> {
        let memory = std::mem::take(&mut self.heard);
        self.ears[end as usize].take(memory)
    }

    /// News of loss recovery at the sender's end.
    fn tell(&mut self, now: Time, record: &mut Record) {
        let heard = self.listen(End::Sender);
        self.heard = match self.client.and_then(|client| self.ends.client.connection(client)) {
            Some(connection) => {
                self.tally.on_news(now, heard, connection.sender(), &mut self.application, record)
            }
            None => heard,
        };
    }

    /// The next datagram of an end that may have one.
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
            // Until it hears something or says another time.
            (self.ready[end], self.due[end]) = (false, Time::NEVER);
        }
        datagram
    }

    fn poll(&mut self, now: Time, from: End) -> Option<Datagram> {
        let end: &mut Endpoint = match from {
            End::Sender => &mut self.ends.client,
            End::Receiver => &mut self.ends.server,
        };
        let transmit = end.poll_transmit(now, self.store.room())?;
        let mut bytes = self.store.take(transmit.len);
        let size = self.tally.wire(bytes.len());
        match from {
            End::Sender => self.nat.client_sends(now, &mut bytes),
            End::Receiver => self.nat.server_sends(transmit.to, &mut bytes),
        }
        Some(Datagram { from, size, ecn: transmit.ecn, bare: false, bytes })
    }
}

impl Guest for Pair {
    fn deliver(&mut self, now: Time, arrival: Arrival, record: &mut Record) {
        let Arrival { at, sent, arrived, ecn, mut bytes } = arrival;
        let (client, server) = addresses();
        self.ready[at as usize] = true;
        // An application that goes on may have heard of it too.
        self.ready[End::Sender as usize] |= self.application.goes_on();
        match at {
            End::Receiver => {
                let Some(from) = self.nat.server_gets(&mut bytes) else { return };
                let incoming = Incoming { from, to: server, ecn, arrived, bytes: &mut bytes };
                self.ends.server.handle(now, incoming);
                let heard = self.listen(End::Receiver);
                self.tally.on_arrival((now, arrived - sent), &heard, &mut self.application, record);
                self.heard = heard;
            }
            End::Sender => {
                if !self.nat.client_gets(now, &mut bytes) {
                    return;
                }
                let incoming = Incoming { from: server, to: client, ecn, arrived, bytes: &mut bytes };
                self.ends.client.handle(now, incoming);
                self.tell(now, record);
            }
        }
        self.store.keep(bytes);
        self.serve_and_tell(now, record);
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
        self.tell(now, record);
        self.serve_and_tell(now, record);
    }

    fn transmit(&mut self, now: Time, record: &mut Record) -> Option<Datagram> {
        let Some(mut datagram) = self.poll_ready(now, End::Sender, record) else {
            let datagram = self.poll_ready(now, End::Receiver, record);
            let mut heard = self.listen(End::Receiver);
            self.tally.on_answer(now, &mut heard, record);
            self.heard = heard;
            return datagram;
        };
        let mut heard = self.listen(End::Sender);
        let payload = self.nat.payload(&datagram.bytes);
        datagram.bare = self.tally.on_departure(now, payload, &mut heard, record);
        self.heard = heard;
        Some(datagram)
    }

    fn is_done(&self) -> bool {
        self.transfer.is_some_and(|bytes| self.tally.contiguous() >= bytes)
    }

    fn observe(&self) -> Snapshot {
        self.sending().map_or_else(Snapshot::default, snapshot)
    }

    fn stats(&self) -> Stats {
        let mut stats = self.closed.clone();
        stats += self.sending().map_or(&self.last, |connection| connection.sender().stats());
        stats.retransmissions += self.tally.repeats();
        stats
    }

    fn controller(&self) -> Option<&dyn Controller> {
        self.sending().map(|connection| connection.sender().controller())
    }
}

/// How the sending end of this connection stands.
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
