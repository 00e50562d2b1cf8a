//! Two ends of any stacks as a guest: the client sends, the server counts.

use std::net::SocketAddr;

use congestion::{Cause, Control, Controller};
use recovery::{Reassembly, Stats};
use scenario::trace::Handshake;
use scenario::{End, FlowConfig, Record, Scenario, SentPacket, Transport};
use sim::Guest;
use sim::guest::{Arrival, Datagram, Snapshot};
use units::{Duration, Ecn, Time};

use crate::again::Again;
use crate::aioquic::Host;
use crate::application::Application;
use crate::nat::Nat;
use crate::pair::addresses;
use crate::peer::{Kind, Leaving, News, Peer};
use crate::peers;
use crate::refusal::{Refusal, check_bulk};
use crate::unnumbered::Unnumbered;
use crate::wanted::Wanted;
use crate::which::Stack;

/// Metrics that a stack other than ours does not tell: how many bytes its packets carry and which they are, which rule found a loss, and what
/// its ACKs hold.
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

/// Both ends of one connection, each of a stack of its own.
///
/// What a stack does not show stays out of the record: lengths and offsets of what its packets carry, which rule found a loss, repeats. The
/// numbers of packets that a trace has are those of datagrams.
pub struct Couple {
    client: Box<dyn Peer>,
    server: Box<dyn Peer>,
    application: Application,
    /// The application has had something to send.
    begun: bool,
    messages: Unnumbered,
    transfer: Option<u64>,
    /// Of short transfers: what the next connection is made from.
    again: Option<Box<Again>>,
    /// Another connection could not be made.
    /// Why there is no connection.
    ended: Option<String>,
    /// IP, UDP and link headers, in bytes.
    overhead: u32,
    nat: Nat,
    arrived: Reassembly,
    /// Of the client's: what its stack and its controller have told.
    stats: Stats,
    /// Losses of the connections before.
    lost_before: u64,
    /// Datagrams of the client.
    left: u64,
}

impl Couple {
    /// In the place of the scenario's flow of this number, with the stacks of client and server. `retry`: the server validates the client's
    /// address first (RFC 9000 section 8.1.2). `host` as in [`guests_of`](crate::guests_of).
    ///
    /// # Errors
    /// What of the flow cannot be run.
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
        let wanted = Wanted { flow, number: number as u64, whole, before: 0, scenario, retry, host };
        let stacks = (client, server);
        let (client, server) = peers::of(&wanted, client, server)?;
        Ok(Self {
            client,
            server,
            application,
            begun: false,
            messages: Unnumbered::default(),
            transfer: flow.transfer,
            again: Again::of(&wanted, stacks),
            ended: None,
            overhead,
            nat: Nat::new(flow, addresses().0),
            arrived: Reassembly::default(),
            stats: Stats::default(),
            lost_before: 0,
            left: 0,
        })
    }

    /// Before which byte of the stream everything has arrived as it was sent.
    pub fn contiguous(&self) -> u64 {
        self.arrived.contiguous()
    }

    /// Where the server's last datagram went.
    pub fn peer_of_server(&self) -> SocketAddr {
        self.server.destination()
    }

    fn tell(&mut self, now: Time, record: &mut Record) {
        // First: asked for its window, an adapter completes its last ACK.
        self.stats.lost_by_packet_threshold = self.lost_before + self.client.counts().lost();
        for news in self.client.take_news() {
            match news {
                News::Rtt(sample) => record.on_rtt_sample(now, sample),
                News::Settled(control) if record.awaits_end_of_slow_start() => {
                    record.on_slow_start(&control, false);
                }
                News::Settled(_) => {}
                News::Undone => self.stats.undone += 1,
                News::Reduced(cause, cwnd) => {
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
        // As in the simulator, only packets of data count.
        let Some(pieces) = self.server.take_arrived() else { return };
        let (mut fresh, mut end) = (0, 0);
        for &(offset, len) in &pieces {
            let last = offset.saturating_add(len);
            fresh += self.arrived.insert(offset, last);
            end = end.max(last);
        }
        let contiguous = self.arrived.contiguous();
        let stream = self.application.is_reliable().then_some((end, contiguous));
        record.on_received(now, delay, fresh, ecn, stream);
        for (offset, len) in pieces {
            let piece = (offset, offset.saturating_add(len));
            self.application.on_received(now, piece, contiguous, record);
            for lost in self.messages.on_arrival(offset) {
                self.application.on_lost(now, lost, record);
            }
        }
    }

    /// Does what the application has to do: for a new transfer on another connection.
    fn on_application(&mut self, now: Time, record: &mut Record) {
        let client = self.client.as_ref();
        let reconnects = self.application.on_time(now, client.taken(), || allowed_rate(client), record);
        if reconnects && let Some(again) = &mut self.again {
            match again.connect() {
                Ok((client, server)) => (self.client, self.server) = (client, server),
                Err(why) => self.ended = Some(why.to_string()),
            }
            self.lost_before = self.stats.lost_by_packet_threshold;
            (self.begun, self.arrived) = (false, Reassembly::default());
            record.on_reconnect();
        }
        if !self.begun && self.application.wants(now, record) {
            self.begun = true;
            self.application.begin_elsewhere();
        }
    }

    /// What became of the connection.
    fn tell_end(&self, now: Time, record: &mut Record) {
        if record.broken.is_none() {
            let why = self.ended.as_deref().or(self.client.ended()).or(self.server.ended());
            record.broken = why.map(|why| (now, why.to_owned()));
        }
    }

    /// Hands the client what may leave next.
    fn offer(&mut self, now: Time, record: &mut Record) {
        if !self.begun || !self.application.goes_on() || self.messages.is_waiting() {
            return;
        }
        let sent = self.client.taken();
        if let Some(offer) = self.application.offers(now, sent, (true, None), record) {
            let waiting = self.application.hand_over_to(offer, self.client.as_mut());
            self.messages.set_waiting(waiting);
        }
    }

    /// The client's next datagram.
    fn of_client(&mut self, now: Time, record: &mut Record) -> Option<Datagram> {
        let Leaving { mut bytes, ecn, kind } = self.client.transmit(now)?;
        let payload = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let size = payload.saturating_add(self.overhead);
        let pn = self.left;
        self.left += 1;
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

    fn of_server(&mut self, now: Time) -> Option<Datagram> {
        let Leaving { mut bytes, ecn, .. } = self.server.transmit(now)?;
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX).saturating_add(self.overhead);
        self.nat.server_sends(self.server.destination(), &mut bytes);
        Some(Datagram { from: End::Receiver, size, ecn, bare: false, bytes })
    }
}

impl Guest for Couple {
    fn deliver(&mut self, now: Time, arrival: Arrival, record: &mut Record) {
        let Arrival { at, sent, arrived, ecn, mut bytes } = arrival;
        match at {
            End::Receiver => {
                let Some(source) = self.nat.server_gets(&mut bytes) else { return };
                self.server.set_source(source);
                self.server.handle(now, ecn, bytes);
                self.count_arrival(now, (arrived - sent, ecn), record);
                self.tell_end(now, record);
            }
            End::Sender if self.nat.client_gets(now, &mut bytes) => {
                self.client.handle(now, ecn, bytes);
                self.tell(now, record);
                self.tell_end(now, record);
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
        self.tell(now, record);
        self.tell_end(now, record);
    }

    fn transmit(&mut self, now: Time, record: &mut Record) -> Option<Datagram> {
        self.offer(now, record);
        self.of_client(now, record).or_else(|| self.of_server(now))
    }

    /// One whose end is no more is over.
    fn is_done(&self) -> bool {
        let is_over = self.client.is_broken() || self.server.is_broken();
        is_over || self.transfer.is_some_and(|bytes| self.arrived.contiguous() >= bytes)
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

/// What the controller of an end lets it send, bytes per second, as far as its stack tells.
fn allowed_rate(peer: &dyn Peer) -> Option<f64> {
    let Snapshot { cwnd, smoothed_rtt, .. } = peer.observe();
    let rate = peer.controller().and_then(|controller| controller.control().pacing_rate);
    let by_window = cwnd? as f64 / smoothed_rtt?.as_secs_f64().max(1e-9);
    Some(rate.map_or(by_window, units::Rate::bytes_per_sec))
}
