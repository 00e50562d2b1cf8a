//! A guest made of two endpoints of any stacks. The client sends, and the server counts.

use std::net::SocketAddr;

use congestion::{Cause, Control, Controller};
use recovery::{Reassembly, Stats};
use scenario::Guest;
use scenario::guest::{Arrival, Datagram, Snapshot};
use scenario::trace::Handshake;
use scenario::{End, FlowConfig, Record, Scenario, SentPacket, Transport};
use units::{Duration, Ecn, Time};

use crate::aioquic::Host;
use crate::application::Application;
use crate::endpoint::{ControllerEvent, Kind, Outgoing, SessionEndpoint};
use crate::endpoint_spec::EndpointSpec;
use crate::endpoints;
use crate::message_tracker::MessageTracker;
use crate::nat::Nat;
use crate::own_session::addresses;
use crate::reconnect::Reconnect;
use crate::refusal::{Refusal, check_bulk};
use crate::stack::Stack;

/// Metrics that a run of another stack does not have. Such a stack does not report which stream
/// bytes its packets carry, which rule detected a loss, or what its ACKs contain.
pub const UNKNOWN: [&str; 9] = [
    "receive_times",
    "throughput",
    "retransmissions",
    "spurious_retransmissions",
    "redundant_retransmissions",
    "lost_by_packet_threshold",
    "lost_by_time_threshold",
    "lost_by_timeout",
    "time_threshold_share",
];

/// Both endpoints of one connection, each of any stack.
///
/// The record leaves out what a stack does not report: lengths and offsets of the data in packets,
/// the rule that detected a loss, and retransmissions. Packet numbers in a trace count datagrams.
pub struct Session {
    client: Box<dyn SessionEndpoint>,
    server: Box<dyn SessionEndpoint>,
    application: Application,
    /// The application has had data to send.
    begun: bool,
    messages: MessageTracker,
    transfer: Option<u64>,
    /// Creates the next connection of a flow with short transfers.
    reconnect: Option<Box<Reconnect>>,
    /// Reason for which the next connection could not be created.
    ended: Option<String>,
    /// IP, UDP and link headers, in bytes.
    overhead: u32,
    nat: Nat,
    arrived: Reassembly,
    /// Counters of the client, from its stack and its controller.
    stats: Stats,
    /// Packets lost on earlier connections.
    lost_before: u64,
    /// Number of datagrams sent by the client.
    sent_datagrams: u64,
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
        (client, server): (Stack, Stack),
        retry: bool,
        host: &Host,
    ) -> Result<Self, Refusal> {
        client.check(flow)?;
        server.check_receiver(flow)?;
        if [client, server].contains(&Stack::Ackclock) {
            check_bulk(flow)?;
        }
        let overhead = match flow.transport {
            Transport::Quic { overhead, .. } | Transport::Tcp { overhead, .. } => overhead,
        };
        let application = Application::new(flow, number, scenario);
        let whole = application.whole();
        let spec = EndpointSpec { flow, number: number as u64, whole, before: 0, scenario, retry, host };
        let stacks = (client, server);
        let (client, server) = endpoints::new_pair(&spec, client, server)?;
        Ok(Self {
            client,
            server,
            application,
            begun: false,
            messages: MessageTracker::default(),
            transfer: flow.transfer,
            reconnect: Reconnect::for_flow(&spec, stacks),
            ended: None,
            overhead,
            nat: Nat::new(flow, addresses().0),
            arrived: Reassembly::default(),
            stats: Stats::default(),
            lost_before: 0,
            sent_datagrams: 0,
        })
    }

    /// Returns the offset up to which the stream has arrived unchanged and without a gap.
    pub fn contiguous(&self) -> u64 {
        self.arrived.contiguous()
    }

    /// Returns the destination of the server's last datagram.
    pub fn server_destination(&self) -> SocketAddr {
        self.server.destination()
    }

    fn record_controller_events(&mut self, now: Time, record: &mut Record) {
        // Must come first: reading the window makes an adapter complete its last ACK.
        self.stats.lost_by_packet_threshold = self.lost_before + self.client.counts().lost();
        for event in self.client.take_controller_events() {
            match event {
                ControllerEvent::Rtt(sample) => record.on_rtt_sample(now, sample),
                ControllerEvent::AckProcessed(control) if record.awaits_end_of_slow_start() => {
                    record.on_slow_start(&control, false);
                }
                ControllerEvent::AckProcessed(_) => {}
                ControllerEvent::Undone => self.stats.undone += 1,
                ControllerEvent::Reduced(cause, cwnd) => {
                    self.count_reduction(cause);
                    record.on_reduced(now, cause, cwnd);
                    if record.awaits_end_of_slow_start() {
                        let controller = self.client.controller();
                        let control = controller.map_or(Control::window(cwnd), Controller::control);
                        record.on_slow_start(&control, true);
                    }
                }
            }
        }
    }

    fn count_reduction(&mut self, cause: Cause) {
        let stats = &mut self.stats;
        *match cause {
            Cause::Ecn => &mut stats.ecn_events,
            Cause::Delay => &mut stats.delay_events,
            Cause::PersistentCongestion | Cause::Timeout => &mut stats.collapses,
            _ => &mut stats.loss_events,
        } += 1;
    }

    fn count_arrival(&mut self, now: Time, (delay, ecn): (Duration, Ecn), record: &mut Record) {
        // As in the simulator, only packets with stream data count.
        let Some(chunks) = self.server.take_arrived() else { return };
        let (mut fresh, mut end) = (0, 0);
        for &(offset, len) in &chunks {
            let last = offset.saturating_add(len);
            fresh += self.arrived.insert(offset, last);
            end = end.max(last);
        }
        let contiguous = self.arrived.contiguous();
        let stream = self.application.is_reliable().then_some((end, contiguous));
        record.on_received(now, delay, fresh, ecn, stream);
        for (offset, len) in chunks {
            let chunk = (offset, offset.saturating_add(len));
            self.application.on_received(now, chunk, contiguous, record);
            for lost in self.messages.on_arrival(offset) {
                self.application.on_lost(now, lost, record);
            }
        }
    }

    /// Runs the application's timers. A new transfer may start another connection.
    fn on_application(&mut self, now: Time, record: &mut Record) {
        let client = self.client.as_ref();
        let reconnects = self.application.on_time(now, client.taken(), || allowed_rate(client), record);
        if reconnects && let Some(reconnect) = &mut self.reconnect {
            match reconnect.connect() {
                Ok((client, server)) => (self.client, self.server) = (client, server),
                Err(why) => self.ended = Some(why.to_string()),
            }
            self.lost_before = self.stats.lost_by_packet_threshold;
            (self.begun, self.arrived) = (false, Reassembly::default());
            record.on_reconnect();
        }
        if !self.begun && self.application.wants(now, record) {
            self.begun = true;
            self.application.begin_foreign();
        }
    }

    /// Records the end of the connection.
    fn record_end(&self, now: Time, record: &mut Record) {
        if record.broken.is_none() {
            let why = self.ended.as_deref().or(self.client.ended()).or(self.server.ended());
            record.broken = why.map(|why| (now, why.to_owned()));
        }
    }

    /// Offers the client the data that it may send next.
    fn offer(&mut self, now: Time, record: &mut Record) {
        if !self.begun || !self.application.may_offer_more() || self.messages.is_waiting() {
            return;
        }
        let sent = self.client.taken();
        if let Some(offer) = self.application.next_offer(now, sent, (true, None), record) {
            let waiting = self.application.hand_over_to(offer, self.client.as_mut());
            self.messages.set_waiting(waiting);
        }
    }

    /// Returns the client's next datagram.
    fn poll_client(&mut self, now: Time, record: &mut Record) -> Option<Datagram> {
        let Outgoing { mut bytes, ecn, kind } = self.client.transmit(now)?;
        let payload = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let size = payload.saturating_add(self.overhead);
        let pn = self.sent_datagrams;
        self.sent_datagrams += 1;
        if kind == Kind::Message {
            self.messages.on_departure();
        }
        match kind {
            Kind::Data | Kind::Message => {
                self.stats.sent += 1;
                self.stats.sent_bytes += u64::from(payload);
                record.on_sent(now, SentPacket { pn, bytes: payload, wire: size, offset: 0, len: 0 });
            }
            Kind::Handshake => {
                self.stats.sent += 1;
                self.stats.sent_bytes += u64::from(payload);
                record.on_handshake_sent(now, Handshake { number: pn, bytes: payload }, size);
            }
            Kind::Bare => {
                self.stats.bare += 1;
                record.on_ack_sent(now, size);
            }
        }
        self.nat.client_sends(now, &mut bytes);
        Some(Datagram { from: End::Sender, size, ecn, bare: kind == Kind::Bare, bytes })
    }

    fn poll_server(&mut self, now: Time) -> Option<Datagram> {
        let Outgoing { mut bytes, ecn, .. } = self.server.transmit(now)?;
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX).saturating_add(self.overhead);
        self.nat.server_sends(self.server.destination(), &mut bytes);
        Some(Datagram { from: End::Receiver, size, ecn, bare: false, bytes })
    }
}

impl Guest for Session {
    fn deliver(&mut self, now: Time, arrival: Arrival, record: &mut Record) {
        let Arrival { at, sent, arrived, ecn, mut bytes } = arrival;
        match at {
            End::Receiver => {
                let Some(source) = self.nat.server_gets(&mut bytes) else { return };
                self.server.set_source(source);
                self.server.handle(now, ecn, bytes);
                self.count_arrival(now, (arrived - sent, ecn), record);
                self.record_end(now, record);
            }
            End::Sender if self.nat.client_gets(now, &mut bytes) => {
                self.client.handle(now, ecn, bytes);
                self.record_controller_events(now, record);
                self.record_end(now, record);
            }
            End::Sender => {}
        }
    }

    fn next(&mut self) -> Time {
        self.client.next().min(self.server.next()).min(self.application.next())
    }

    fn on_time(&mut self, now: Time, record: &mut Record) {
        self.on_application(now, record);
        if self.begun {
            self.client.on_time(now);
        }
        self.server.on_time(now);
        self.record_controller_events(now, record);
        self.record_end(now, record);
    }

    fn transmit(&mut self, now: Time, record: &mut Record) -> Option<Datagram> {
        self.offer(now, record);
        self.poll_client(now, record).or_else(|| self.poll_server(now))
    }

    /// Reports whether the transfer is complete or an endpoint has failed.
    fn is_done(&self) -> bool {
        self.failure().is_some() || self.transfer.is_some_and(|bytes| self.arrived.contiguous() >= bytes)
    }

    fn failure(&self) -> Option<String> {
        self.client.failure().or_else(|| self.server.failure())
    }

    fn observe(&self) -> Snapshot {
        self.client.observe()
    }

    fn stats(&self) -> Stats {
        self.stats.clone()
    }

    fn controller(&self) -> Option<&dyn Controller> {
        self.client.controller()
    }
}

/// Returns the rate that the controller allows, in bytes per second, as far as the stack reports
/// it.
fn allowed_rate(peer: &dyn SessionEndpoint) -> Option<f64> {
    let Snapshot { cwnd, smoothed_rtt, .. } = peer.observe();
    let rate = peer.controller().and_then(|controller| controller.control().pacing_rate);
    let by_window = cwnd? as f64 / smoothed_rtt?.as_secs_f64().max(1e-9);
    Some(rate.map_or(by_window, units::Rate::bytes_per_sec))
}
