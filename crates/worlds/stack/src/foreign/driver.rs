//! The driver for endpoints of quinn and of its fork noq, whose APIs have the same names.

/// Defines `Foreign`, an endpoint with one connection, for the stack that the calling file imports
/// as `proto`. The calling file also defines `endpoint`, `receive`, `send` and `lost_packets`,
/// where the two stacks differ.
macro_rules! foreign {
    () => {
        use std::any::Any;
        use std::collections::VecDeque;
        use std::net::SocketAddr;
        use std::sync::Arc;
        use std::time::{Duration as Elapsed, Instant};

        use bytes::BytesMut;
        use congestion::{Cause, Control, Controller};
        use proto::congestion::{self as stack_cc, ControllerFactory};
        use proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
        use proto::{Connection, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event, FrameStats};
        use proto::{StreamEvent, StreamId, Transmit, VarInt};
        use quic::connection::Arrival;
        use quic::crypto::tls::Identity;
        use quic::streams::pattern;
        use scenario::guest::Snapshot;
        use units::{Duration, Ecn, Time};

        use super::controller_log::ControllerLog;
        use super::tls;
        use crate::buffer_pool::BufferPool;
        use crate::builtin_cc::{self, BuiltinCc};
        use crate::endpoint::{Outgoing, addresses};
        use crate::endpoint_spec::EndpointSpec;
        use crate::event_tap::{Kind, TapEvent};
        use crate::message;
        use crate::refusal::Refusal;
        use crate::settings::SERVER_NAME;
        use crate::stream_chunks::{Chunk, is_pattern};

        /// Flow control credit, and largest amount of unacknowledged data, in bytes. The network
        /// must be the limit, and not these.
        const CREDIT: u32 = 64 << 20;
        /// Send buffer in congestion windows: enough for the next flight, without wasting memory.
        const WINDOWS: u64 = 4;
        /// Smallest send buffer, in bytes.
        const LEAST: u64 = 1 << 20;
        /// Send buffer of a stream that may pause, in congestion windows. The stack sends what it
        /// has accepted even during a pause.
        const WINDOWS_OF_PAUSING: u64 = 2;
        /// Size of one write, in bytes.
        const CHUNK: usize = 1 << 16;
        /// Largest UDP payload that an endpoint accepts by default, in bytes.
        const USUAL: u32 = 1472;

        /// A stopped wall clock, for tokens.
        struct StoppedClock;

        impl proto::TimeSource for StoppedClock {
            fn now(&self) -> std::time::SystemTime {
                std::time::SystemTime::UNIX_EPOCH
            }
        }

        /// An endpoint with one connection.
        pub(crate) struct Foreign {
            endpoint: Endpoint,
            /// Address of the other endpoint.
            remote: SocketAddr,
            /// Moment that stands for virtual time 0.
            base: Instant,
            /// Present until the client connects.
            client_config: Option<proto::ClientConfig>,
            connection: Option<(proto::ConnectionHandle, Connection)>,
            is_client: bool,
            retry: bool,
            marks: bool,
            /// Offset up to which the stream is offered, and whether it ends there.
            offered: u64,
            is_whole: bool,
            written: u64,
            stream: Option<StreamId>,
            /// Received chunks. `None`: no packet with stream data arrived.
            arrived: Option<Vec<Chunk>>,
            /// Reason for which the connection was lost.
            lost: Option<String>,
            /// Datagrams from the endpoint itself, outside of connections.
            responses: VecDeque<Vec<u8>>,
            log: ControllerLog,
            events: Vec<TapEvent>,
            memory: Vec<u8>,
        }

        impl Foreign {
            /// Creates the sending endpoint, or the receiving one.
            ///
            /// # Errors
            /// A failure of TLS, or datagrams larger than UDP can carry.
            #[allow(
                clippy::disallowed_methods,
                reason = "any moment will do, because only differences to it are used"
            )]
            pub(crate) fn new(
                spec: &EndpointSpec,
                is_server: bool,
                identity: &Identity,
            ) -> Result<Self, Refusal> {
                let seed = spec.seed(is_server);
                let mut transport = transport(spec)?;
                let (client_config, server_config, log) = if is_server {
                    // A server sends nothing but ACKs, so that its controller does not matter.
                    (None, Some(server_config(identity, transport)?), ControllerLog::default())
                } else {
                    let log = controller(spec, seed, &mut transport)?;
                    (Some(client_config(identity, transport)?), None, log)
                };
                let (client, server) = addresses();
                let remote = if is_server { client } else { server };
                Ok(Self {
                    endpoint: endpoint(endpoint_config(spec, seed)?, server_config),
                    remote,
                    base: Instant::now(),
                    client_config,
                    connection: None,
                    is_client: !is_server,
                    retry: spec.retry,
                    marks: spec.flow.recovery.ecn == Ecn::Ect0,
                    offered: spec.whole.unwrap_or(0),
                    is_whole: spec.whole.is_some(),
                    written: 0,
                    stream: None,
                    arrived: None,
                    lost: None,
                    responses: VecDeque::new(),
                    log,
                    events: Vec::new(),
                    memory: Vec::new(),
                })
            }

            fn at(&self, now: Time) -> Instant {
                self.base + Elapsed::from_nanos(now.0)
            }

            /// Answers a client's first Initial packet.
            fn accept(&mut self, now: Instant, incoming: proto::Incoming) {
                let mut response = Vec::new();
                if self.retry && !incoming.remote_address_validated() && incoming.may_retry() {
                    if let Ok(transmit) = self.endpoint.retry(incoming, &mut response) {
                        response.truncate(transmit.size);
                        self.responses.push_back(response);
                    }
                    return;
                }
                match self.endpoint.accept(incoming, now, &mut response, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => {
                        if let Some(transmit) = &error.response {
                            response.truncate(transmit.size);
                            self.responses.push_back(response);
                        }
                    }
                }
            }

            /// Exchanges events between endpoint and connection, and runs the application.
            fn serve(&mut self) {
                let Some((handle, connection)) = &mut self.connection else { return };
                while let Some(event) = connection.poll_endpoint_events() {
                    if let Some(event) = self.endpoint.handle_event(*handle, event) {
                        connection.handle_event(event);
                    }
                }
                while let Some(event) = connection.poll() {
                    match event {
                        Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                            self.stream = self.stream.or(connection.streams().accept(Dir::Uni));
                        }
                        Event::DatagramReceived => {
                            while let Some(bytes) = connection.datagrams().recv() {
                                self.arrived.get_or_insert_default().extend(message::decode(&bytes));
                            }
                        }
                        Event::ConnectionLost { reason } => self.lost = Some(reason.to_string()),
                        _ => {}
                    }
                }
                if self.is_client {
                    self.write();
                } else {
                    self.read();
                }
            }

            fn write(&mut self) {
                let Some((_, connection)) = &mut self.connection else { return };
                if self.written >= self.offered {
                    return;
                }
                if self.stream.is_none() && !connection.is_handshaking() {
                    self.stream = connection.streams().open(Dir::Uni);
                }
                let Some(id) = self.stream else { return };
                let cwnd = self.log.observe().cwnd.unwrap_or(0);
                let window = if self.is_whole {
                    cwnd.saturating_mul(WINDOWS).max(LEAST)
                } else {
                    cwnd.saturating_mul(WINDOWS_OF_PAUSING).max(1)
                };
                connection.set_send_window(window.min(CREDIT.into()));
                while self.written < self.offered {
                    let left = usize::try_from(self.offered - self.written).unwrap_or(usize::MAX);
                    self.memory.resize(left.min(CHUNK), 0);
                    pattern::fill(self.written, &mut self.memory);
                    match connection.send_stream(id).write(&self.memory) {
                        Ok(taken) if taken > 0 => self.written += taken as u64,
                        _ => return,
                    }
                }
                if self.is_whole {
                    // An error means that the other endpoint stopped reading.
                    let _ = connection.send_stream(id).finish();
                }
            }

            /// Reads received data. Bytes that differ from the pattern do not count as received.
            fn read(&mut self) {
                let (Some((_, connection)), Some(id)) = (&mut self.connection, self.stream) else { return };
                let mut stream = connection.recv_stream(id);
                let Ok(mut chunks) = stream.read(false) else { return };
                while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                    if is_pattern(chunk.offset, &chunk.bytes) {
                        let chunk = (chunk.offset, chunk.bytes.len() as u64);
                        self.arrived.get_or_insert_default().push(chunk);
                    }
                }
                // Every call is followed by a poll for datagrams, so the result is not needed.
                let _ = chunks.finalize();
            }
        }

        impl Foreign {
            /// Reports the client's losses and its controller's events.
            fn report(&mut self) {
                if !self.is_client {
                    return;
                }
                // Must come first: reading the window makes an adapter complete its last ACK.
                if let Some((_, connection)) = &mut self.connection {
                    self.events.push(TapEvent::LostSoFar(lost_packets(connection)));
                }
                self.log.take(&mut self.events);
            }
        }

        impl crate::endpoint::Endpoint for Foreign {
            fn connect(&mut self, now: Time) {
                let at = self.at(now);
                if let Some(config) = self.client_config.take() {
                    self.connection = self.endpoint.connect(at, config, self.remote, SERVER_NAME).ok();
                }
            }

            fn handle(&mut self, now: Time, arrival: Arrival<'_>) {
                let at = self.at(now);
                self.remote = arrival.from;
                let ecn = match arrival.ecn {
                    Ecn::NotEct => None,
                    Ecn::Ect0 => Some(EcnCodepoint::Ect0),
                    Ecn::Ect1 => Some(EcnCodepoint::Ect1),
                    Ecn::Ce => Some(EcnCodepoint::Ce),
                };
                let mut response = Vec::new();
                let bytes = BytesMut::from(&*arrival.bytes);
                match receive(&mut self.endpoint, at, self.remote, ecn, bytes, &mut response) {
                    Some(DatagramEvent::NewConnection(incoming)) => self.accept(at, incoming),
                    Some(DatagramEvent::ConnectionEvent(_, event)) => {
                        if let Some((_, connection)) = &mut self.connection {
                            let before = connection.stats().frame_rx.stream;
                            connection.handle_event(event);
                            if connection.stats().frame_rx.stream > before {
                                self.arrived.get_or_insert_default();
                            }
                        }
                    }
                    Some(DatagramEvent::Response(transmit)) => {
                        response.truncate(transmit.size);
                        self.responses.push_back(response);
                    }
                    None => {}
                }
                self.serve();
                self.report();
                self.events.extend(self.arrived.take().map(TapEvent::Arrived));
            }

            fn next(&mut self) -> Time {
                let Some((_, connection)) = &mut self.connection else { return Time::NEVER };
                let due =
                    connection.poll_timeout().map(|due| due.saturating_duration_since(self.base).as_nanos());
                due.map_or(Time::NEVER, |due| Time(u64::try_from(due).unwrap_or(u64::MAX)))
            }

            fn on_time(&mut self, now: Time) {
                let at = self.at(now);
                if let Some((_, connection)) = &mut self.connection
                    && connection.poll_timeout().is_some_and(|due| due <= at)
                {
                    connection.handle_timeout(at);
                }
                self.serve();
                self.report();
            }

            fn transmit(&mut self, now: Time, _: &mut BufferPool) -> Option<Outgoing> {
                if let Some(bytes) = self.responses.pop_front() {
                    self.events.push(TapEvent::Datagram(Kind::Handshake));
                    return Some(Outgoing { bytes, ecn: Ecn::NotEct, to: self.remote });
                }
                let at = self.at(now);
                let (_, connection) = self.connection.as_mut()?;
                let before = connection.stats().frame_tx;
                let mut bytes = Vec::new();
                let transmit = send(connection, at, &mut bytes)?;
                bytes.truncate(transmit.size);
                let kind = kind(&before, &connection.stats().frame_tx);
                self.events.push(TapEvent::Datagram(kind));
                let ecn = match transmit.ecn {
                    Some(EcnCodepoint::Ect0) if self.marks => Ecn::Ect0,
                    Some(EcnCodepoint::Ect1) if self.marks => Ecn::Ect1,
                    _ => Ecn::NotEct,
                };
                Some(Outgoing { bytes, ecn, to: transmit.destination })
            }

            fn offer(&mut self, end: u64) {
                self.offered = end;
                self.write();
            }

            fn taken(&self) -> Option<u64> {
                Some(self.written)
            }

            fn send_message(&mut self, message: Vec<u8>) -> bool {
                let Some((_, connection)) = &mut self.connection else { return false };
                connection.datagrams().send(message.into(), true).is_ok()
            }

            fn take_events(&mut self, buffer: &mut Vec<TapEvent>) {
                buffer.clear();
                std::mem::swap(&mut self.events, buffer);
            }

            fn observe(&self) -> Snapshot {
                self.log.observe()
            }

            fn ended(&self) -> Option<&str> {
                self.lost.as_deref()
            }

            fn controller(&self) -> Option<&dyn Controller> {
                self.log.controller()
            }
        }

        /// Creates the stack's built-in controllers, and logs their events.
        struct BuiltinFactory(BuiltinCc, ControllerLog);

        impl ControllerFactory for BuiltinFactory {
            fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn stack_cc::Controller> {
                let inner: Box<dyn stack_cc::Controller> = match self.0 {
                    BuiltinCc::NewReno => Arc::new(stack_cc::NewRenoConfig::default()).build(now, mtu),
                    BuiltinCc::Cubic => Arc::new(stack_cc::CubicConfig::default()).build(now, mtu),
                };
                self.1.begin(inner.window());
                Box::new(LoggedController { inner, log: self.1.handle(), batch: Batch::default() })
            }
        }

        /// A built-in controller of the stack, unmodified. All calls are passed on to it, and its
        /// reactions are logged.
        struct LoggedController {
            inner: Box<dyn stack_cc::Controller>,
            log: ControllerLog,
            batch: Batch,
        }

        /// The packets acknowledged by one ACK.
        #[derive(Clone, Copy, Default)]
        struct Batch {
            /// Sending time of the newest packet, its RTT, and the RTT estimate before this ACK.
            newest: Option<(Instant, Elapsed, Elapsed)>,
        }

        impl Batch {
            fn add(&mut self, now: Instant, sent: Instant, smoothed: Elapsed) {
                if self.newest.is_none_or(|(left, ..)| sent > left) {
                    self.newest = Some((sent, now.saturating_duration_since(sent), smoothed));
                }
            }
        }

        fn nanos(span: Elapsed) -> Duration {
            Duration(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
        }

        impl std::fmt::Debug for LoggedController {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct("LoggedController").field("window", &self.inner.window()).finish()
            }
        }

        impl LoggedController {
            fn control(&self) -> Control {
                let metrics = self.inner.metrics();
                let ssthresh = metrics.ssthresh.unwrap_or(u64::MAX);
                Control { ssthresh, ..Control::window(self.inner.window()) }
            }

            fn end_of_acks(&mut self, in_flight: u64) {
                if let Some((_, latest, smoothed)) = self.batch.newest.take() {
                    self.log.sample(nanos(latest), nanos(smoothed));
                }
                self.log.settled(self.control(), in_flight);
            }

            fn end_of_losses(&mut self, before: u64, is_persistent: bool, is_ecn: bool) {
                let cause = match (is_persistent, is_ecn) {
                    (true, _) => Cause::PersistentCongestion,
                    (_, true) => Cause::Ecn,
                    _ => Cause::Loss,
                };
                self.log.congestion(cause, before, self.inner.window());
            }

            /// Clones the controller for another path. The clone's events are not read.
            fn copy(&self) -> Self {
                Self { inner: self.inner.clone_box(), log: ControllerLog::default(), batch: Batch::default() }
            }
        }

        /// Sets the controller of a client. Returns its log.
        fn controller(
            spec: &EndpointSpec,
            seed: u64,
            transport: &mut proto::TransportConfig,
        ) -> Result<ControllerLog, Refusal> {
            let (algorithm, log) = (spec.flow.algorithm.clone(), ControllerLog::default());
            if spec.flow.own_controller {
                let builtin = builtin_cc::find(&algorithm, STACK).map_err(Refusal::Stack)?;
                transport.congestion_controller_factory(Arc::new(BuiltinFactory(builtin, log.handle())));
            } else {
                // Shows its variables until the stack builds the controller of the path.
                let handle = log.start(algorithm.build(Default::default()));
                let build =
                    move |path| -> Box<dyn Controller> { Box::new(handle.start(algorithm.build(path))) };
                transport.congestion_controller_factory(Arc::new(Factory::from_fn(build, seed)));
            }
            Ok(log)
        }

        fn client_config(
            identity: &Identity,
            transport: proto::TransportConfig,
        ) -> Result<proto::ClientConfig, Refusal> {
            let crypto = QuicClientConfig::try_from(tls::client(identity)?).map_err(|_| no_cipher())?;
            let mut config = proto::ClientConfig::new(Arc::new(crypto));
            config.transport_config(Arc::new(transport));
            Ok(config)
        }

        fn server_config(
            identity: &Identity,
            transport: proto::TransportConfig,
        ) -> Result<Arc<proto::ServerConfig>, Refusal> {
            let crypto = QuicServerConfig::try_from(tls::server(identity)?).map_err(|_| no_cipher())?;
            let mut config = proto::ServerConfig::with_crypto(Arc::new(crypto));
            config.time_source(Arc::new(StoppedClock));
            config.transport_config(Arc::new(transport));
            Ok(Arc::new(config))
        }

        fn no_cipher() -> Refusal {
            Refusal::Flow("TLS has no cipher for Initial packets")
        }

        fn too_large<E>(_: E) -> Refusal {
            Refusal::Flow("its datagrams are larger than UDP can carry")
        }

        fn endpoint_config(spec: &EndpointSpec, seed: u64) -> Result<proto::EndpointConfig, Refusal> {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            let mut config = proto::EndpointConfig::default();
            config.rng_seed(Some(bytes));
            let most = u16::try_from(spec.flow.transport.mds().max(USUAL)).map_err(too_large)?;
            config.max_udp_payload_size(most).map_err(too_large)?;
            Ok(config)
        }

        /// Returns the stack's default configuration, except for the flow's datagram size and for
        /// flow control, which never limits.
        fn transport(spec: &EndpointSpec) -> Result<proto::TransportConfig, Refusal> {
            let datagram = u16::try_from(spec.flow.transport.mds()).map_err(too_large)?;
            let mut config = proto::TransportConfig::default();
            config
                .initial_mtu(datagram)
                .mtu_discovery_config(None)
                .stream_receive_window(VarInt::from_u32(CREDIT))
                .receive_window(VarInt::from_u32(CREDIT));
            if spec.whole.is_none() {
                // An application may be silent for longer than the idle timeout without losing its
                // connection.
                config.max_idle_timeout(None);
            }
            Ok(config)
        }

        /// Classifies a datagram by its frames.
        fn kind(before: &FrameStats, after: &FrameStats) -> Kind {
            if after.datagram > before.datagram {
                Kind::Message
            } else if after.stream > before.stream {
                Kind::Data
            } else if after.crypto > before.crypto {
                Kind::Handshake
            } else if eliciting(after) > eliciting(before) {
                Kind::Data
            } else {
                Kind::Bare
            }
        }

        /// Counts the ACK-eliciting frames other than STREAM and CRYPTO frames.
        fn eliciting(frames: &FrameStats) -> u64 {
            let done = u64::from(frames.handshake_done);
            let credit =
                frames.max_data + frames.max_stream_data + frames.max_streams_bidi + frames.max_streams_uni;
            let blocked = frames.data_blocked + frames.stream_data_blocked;
            let ids = frames.new_connection_id + frames.retire_connection_id + frames.new_token;
            frames.ping
                + frames.path_challenge
                + frames.path_response
                + frames.reset_stream
                + done
                + credit
                + blocked
                + ids
        }
    };
}

/// Defines the methods of the stack's trait that a `LoggedController` passes on alike in both.
macro_rules! passed_on {
    () => {
        fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
            self.inner.on_sent(now, bytes, largest_pn);
        }

        fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
            self.inner.on_end_acks(now, in_flight, app_limited, largest);
            self.end_of_acks(in_flight);
        }

        fn on_mtu_update(&mut self, new_mtu: u16) {
            self.inner.on_mtu_update(new_mtu);
        }

        fn window(&self) -> u64 {
            self.inner.window()
        }

        fn metrics(&self) -> stack_cc::ControllerMetrics {
            self.inner.metrics()
        }

        fn clone_box(&self) -> Box<dyn stack_cc::Controller> {
            Box::new(self.copy())
        }

        fn initial_window(&self) -> u64 {
            self.inner.initial_window()
        }

        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self.inner.into_any()
        }
    };
}
pub(super) use {foreign, passed_on};
