//! A guest made of two endpoints of any stacks. The client sends, and the server counts.

use std::net::SocketAddr;

use congestion::Controller;
use quic::connection::Arrival as Incoming;
use recovery::Stats;
use scenario::Guest;
use scenario::guest::{Arrival, Datagram, Snapshot};
use scenario::signal::Journal;
use scenario::{End, FlowConfig, Record, Scenario, Transport};
use units::Time;

use crate::accounting::Accounting;
use crate::aioquic::Host;
use crate::application::Application;
use crate::buffer_pool::BufferPool;
use crate::endpoint::{Endpoint, Outgoing, addresses};
use crate::endpoint_spec::EndpointSpec;
use crate::event_tap::TapEvent;
use crate::nat::Nat;
use crate::pair::{AnyEndpoint, new_pair};
use crate::refusal::{Refusal, check_bulk};
use crate::stack::Stack;

/// Metrics that a run of another stack does not have. Such a stack does not report which stream
/// bytes its packets carry, which rule detected a loss, or what its ACKs contain.
pub const UNKNOWN: [&str; 9] = [
    "receive_times",
    "throughput",
    "retransmissions",
    "spurious_losses",
    "spurious_retransmissions",
    "lost_by_packet_threshold",
    "lost_by_time_threshold",
    "lost_by_timeout",
    "time_threshold_share",
];

/// Smallest size of handshake datagrams, whatever the size of the flow's (RFC 9000 section 14.1).
const LEAST_DATAGRAM: usize = 1200;

/// More flights than a handshake takes, including the packets after it and before the first data.
const MOST_FLIGHTS: usize = 32;

/// Both endpoints of one connection, each of any stack. Short transfers may have one connection
/// after the other.
///
/// With another stack, the record leaves out what it does not report: lengths and offsets of the
/// data in packets, the rule that detected a loss, and retransmissions. Packet numbers in a trace
/// then count datagrams.
pub struct Session {
    client: AnyEndpoint,
    server: AnyEndpoint,
    application: Application,
    /// Calls of the client's controller, if recorded.
    journal: Option<Journal>,
    /// The application has had data to send, and the client connects.
    begun: bool,
    /// The handshake crosses the links.
    handshake: bool,
    transfer: Option<u64>,
    /// Parameters of the newest connection.
    spec: Box<EndpointSpec>,
    /// Reason for which the next connection could not be created.
    ended: Option<String>,
    nat: Nat,
    accounting: Accounting,
    /// Event buffer to reuse.
    events: Vec<TapEvent>,
    buffers: BufferPool,
    /// Destination of the server's last datagram.
    destination: SocketAddr,
}

impl Session {
    /// Creates a session that replaces flow `number` of the scenario, with the stacks of client and
    /// server. With `retry`, the server validates the client's address first (RFC 9000 section
    /// 8.1.2). `host` is the same as for [`guests_on`](crate::guests_on).
    ///
    /// # Errors
    /// The first unsupported property of the flow.
    pub fn new(
        flow: &FlowConfig,
        number: usize,
        scenario: &Scenario,
        stacks: (Stack, Stack),
        retry: bool,
        host: &Host,
    ) -> Result<Self, Refusal> {
        if stacks.0 != stacks.1 && (stacks.0 == Stack::Ackclock || stacks.1 == Stack::Ackclock) {
            check_bulk(flow)?;
        }
        let spec = EndpointSpec::new((number, flow), scenario, stacks, host);
        Self::from_spec(EndpointSpec { retry, ..spec }, number, scenario)
    }

    /// Creates the session of flow `number` of the scenario, with these endpoints.
    ///
    /// # Errors
    /// The first unsupported property of the flow, or an invalid configuration.
    pub(crate) fn from_spec(
        mut spec: EndpointSpec,
        number: usize,
        scenario: &Scenario,
    ) -> Result<Self, Refusal> {
        spec.stacks.0.check(&spec.flow)?;
        spec.stacks.1.check_receiver(&spec.flow)?;
        let application = Application::new(&spec.flow, number, scenario);
        let journal = spec.tracing.then(Journal::default);
        if let Some(journal) = &journal {
            spec.flow.algorithm = journal.watch(&spec.flow.algorithm);
        }
        spec.whole = application.whole();
        let EndpointSpec { flow, stacks, .. } = &spec;
        let overhead = match flow.transport {
            Transport::Quic { overhead, .. } | Transport::Tcp { overhead, .. } => overhead,
        };
        let (client, server) = new_pair(&spec)?;
        Ok(Self {
            client,
            server,
            application,
            journal,
            begun: false,
            handshake: flow.handshake || *stacks != (Stack::Ackclock, Stack::Ackclock),
            transfer: flow.transfer,
            ended: None,
            nat: Nat::new(flow, addresses().0),
            accounting: Accounting::new(overhead, spec.profile.quic.ack_delay_exponent),
            events: Vec::new(),
            buffers: BufferPool::new(LEAST_DATAGRAM.max(flow.transport.mds() as usize)),
            destination: addresses().0,
            spec: Box::new(spec),
        })
    }

    /// Returns the offset up to which the stream has arrived unchanged and without a gap.
    pub fn contiguous(&self) -> u64 {
        self.accounting.contiguous()
    }

    /// Returns the destination of the server's last datagram.
    pub fn server_destination(&self) -> SocketAddr {
        self.destination
    }

    /// Returns the offset up to which the stream has been sent, or accepted by the stack.
    fn sent(&self) -> u64 {
        self.client.taken().unwrap_or_else(|| self.accounting.sent())
    }

    /// Runs the application's timers, and connects once there is data. A new transfer may need
    /// another connection.
    fn on_application(&mut self, now: Time, record: &mut Record) {
        let (sent, client) = (self.sent(), self.client.as_ref());
        if self.application.on_time(now, sent, || allowed_rate(client), record) {
            self.leave(now);
            record.on_reconnect();
        }
        if !self.begun && self.application.wants(now, record) {
            self.begun = true;
            record.journal.clone_from(&self.journal);
            self.client.connect(now);
            if !self.handshake {
                self.establish(now);
            }
            self.serve();
        }
    }

    /// Leaves the connection, and prepares the endpoints for the next.
    fn leave(&mut self, now: Time) {
        self.spec.before += 1;
        if !(self.client.leave(now) && self.server.leave(now)) {
            // The next endpoints share no state with these.
            match new_pair(&self.spec) {
                Ok((client, server)) => (self.client, self.server) = (client, server),
                Err(why) => self.ended = Some(why.to_string()),
            }
        }
        self.accounting.on_reconnect();
        self.begun = false;
    }

    /// Performs the handshake of a flow without `handshake`. It crosses no links, takes no time,
    /// and is unknown to congestion control, even if its flights exceed the window of small
    /// packets.
    fn establish(&mut self, now: Time) {
        let large = self.spec.flow.transport.mds() as usize >= LEAST_DATAGRAM;
        let mut was_reset = false;
        for _ in 0..MOST_FLIGHTS {
            let sent = [End::Sender, End::Receiver].map(|from| self.hand_over(now, from));
            self.server.serve();
            let silent = sent == [false; 2];
            if silent && (large || was_reset) {
                break;
            }
            if silent {
                self.reset_path_state(now);
                self.client.on_time(now);
                self.server.on_time(now);
            }
            was_reset = silent;
        }
        self.reset_path_state(now);
        for endpoint in [&mut self.client, &mut self.server] {
            // The handshake is also left out of the log.
            endpoint.take_events(&mut self.events);
        }
    }

    fn reset_path_state(&mut self, now: Time) {
        self.client.reset_path_state(now);
        self.server.reset_path_state(now);
    }

    /// Delivers all datagrams of one endpoint to the other at once. Reports whether there were any.
    fn hand_over(&mut self, now: Time, from: End) -> bool {
        let (client, server) = addresses();
        let (sender, receiver, from, to) = match from {
            End::Sender => (&mut self.client, &mut self.server, client, server),
            End::Receiver => (&mut self.server, &mut self.client, server, client),
        };
        let mut any = false;
        while let Some(Outgoing { mut bytes, ecn, .. }) = sender.transmit(now, &mut self.buffers) {
            receiver.handle(now, Incoming { from, to, ecn, arrived: now, bytes: &mut bytes });
            any = true;
        }
        any
    }

    /// Runs the application at both endpoints.
    fn serve(&mut self) {
        self.client.serve();
        self.server.serve();
    }

    /// Runs the application at both endpoints, and records the end of the connection.
    fn serve_and_record(&mut self, now: Time, record: &mut Record) {
        self.serve();
        if self.client.is_idle_closed() || self.server.is_idle_closed() {
            // A server that has closed answers a client that has not with a stateless reset.
            if self.client.ended().is_some() && record.closed.is_none() {
                record.on_closed(now);
            }
        } else if record.broken.is_none() {
            let why = self.ended.as_deref().or(self.client.ended()).or(self.server.ended());
            record.broken = why.map(|why| (now, why.to_owned()));
        }
    }

    /// Offers the client the data that it may send next.
    fn offer(&mut self, now: Time, record: &mut Record) {
        if !self.begun || !self.application.may_offer_more() {
            return;
        }
        let (sent, waiting) = (self.sent(), self.accounting.waiting());
        if waiting.is_some() && !self.client.replaces_messages() {
            return;
        }
        let accepts = self.client.accepts();
        if let Some(offer) = self.application.next_offer(now, sent, (accepts, waiting), record) {
            let waiting = self.application.hand_over(offer, self.client.as_mut());
            self.accounting.set_waiting(waiting);
        }
    }

    /// Records the events of the sender's loss recovery and of its controller.
    fn record_sender_events(&mut self, now: Time, record: &mut Record) {
        self.client.take_events(&mut self.events);
        record.secrets.0.append(&mut self.client.take_secrets());
        let client = self.client.as_ref();
        self.accounting.on_sender_events(now, &mut self.events, client, &mut self.application, record);
    }

    fn poll_client(&mut self, now: Time, record: &mut Record) -> Option<Datagram> {
        let Outgoing { mut bytes, ecn, .. } = self.client.transmit(now, &mut self.buffers)?;
        let (payload, size) = (bytes.len(), self.accounting.wire(bytes.len()));
        self.client.take_events(&mut self.events);
        let bare = self.accounting.on_departure(now, payload, &mut self.events, record);
        self.nat.client_sends(now, &mut bytes);
        Some(Datagram { from: End::Sender, size, ecn, bare, bytes })
    }

    fn poll_server(&mut self, now: Time, record: &mut Record) -> Option<Datagram> {
        let Outgoing { mut bytes, ecn, to } = self.server.transmit(now, &mut self.buffers)?;
        self.destination = to;
        let size = self.accounting.wire(bytes.len());
        self.server.take_events(&mut self.events);
        self.accounting.on_receiver_departure(now, &mut self.events, record);
        self.nat.server_sends(to, &mut bytes);
        Some(Datagram { from: End::Receiver, size, ecn, bare: false, bytes })
    }
}

impl Guest for Session {
    fn deliver(&mut self, now: Time, arrival: Arrival, record: &mut Record) {
        let Arrival { at, sent, arrived, ecn, mut bytes } = arrival;
        let (client, server) = addresses();
        match at {
            End::Receiver => {
                let Some(from) = self.nat.server_gets(&mut bytes) else { return };
                self.server.handle(now, Incoming { from, to: server, ecn, arrived, bytes: &mut bytes });
                self.server.take_events(&mut self.events);
                let way = (now, arrived - sent, ecn);
                self.accounting.on_arrival(way, &self.events, &mut self.application, record);
            }
            End::Sender => {
                if !self.nat.client_gets(now, &mut bytes) {
                    return;
                }
                let incoming = Incoming { from: server, to: client, ecn, arrived, bytes: &mut bytes };
                self.client.handle(now, incoming);
                self.record_sender_events(now, record);
            }
        }
        self.buffers.recycle(bytes);
        self.serve_and_record(now, record);
    }

    fn next(&mut self) -> Time {
        self.client.next().min(self.server.next()).min(self.application.next())
    }

    fn on_time(&mut self, now: Time, record: &mut Record) {
        self.on_application(now, record);
        self.client.on_time(now);
        self.server.on_time(now);
        self.record_sender_events(now, record);
        self.serve_and_record(now, record);
    }

    fn transmit(&mut self, now: Time, record: &mut Record) -> Option<Datagram> {
        self.offer(now, record);
        self.poll_client(now, record).or_else(|| self.poll_server(now, record))
    }

    /// Reports whether the transfer is complete or an endpoint has failed.
    fn is_done(&self) -> bool {
        self.failure().is_some() || self.transfer.is_some_and(|bytes| self.contiguous() >= bytes)
    }

    fn failure(&self) -> Option<String> {
        self.client.failure().or_else(|| self.server.failure())
    }

    fn observe(&self) -> Snapshot {
        self.client.observe()
    }

    fn stats(&self) -> Stats {
        let mut stats = self.client.stats();
        stats += self.accounting.stats();
        stats
    }

    fn controller(&self) -> Option<&dyn Controller> {
        self.client.controller()
    }
}

/// Returns the rate that the controller allows, in bytes per second, as far as the stack reports
/// it.
fn allowed_rate(client: &dyn Endpoint) -> Option<f64> {
    if let Some(sender) = client.sender() {
        return scenario::allowed_rate(sender);
    }
    let Snapshot { cwnd, smoothed_rtt, .. } = client.observe();
    let rate = client.controller().and_then(|controller| controller.control().pacing_rate);
    let by_window = cwnd? as f64 / smoothed_rtt?.as_secs_f64().max(1e-9);
    Some(rate.map_or(by_window, units::Rate::bytes_per_sec))
}
