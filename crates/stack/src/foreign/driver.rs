//! What drives an endpoint of quinn or of noq, which is its fork: the same words in both.

/// `Foreign`, an endpoint with one connection, of the stack that the calling file imports as `proto`; `endpoint`, `receive`, `send`, `stats`
/// and `packets` are where the two differ.
macro_rules! foreign {
    () => {
        use std::collections::VecDeque;
        use std::time::Duration as Elapsed;

        use congestion::{Cause, Control, Controller};
        use proto::congestion::{self as theirs, ControllerFactory};
        use proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
        use proto::{Dir, EcnCodepoint, Event, FrameStats, StreamEvent, StreamId, VarInt};
        use quic::crypto::tls::Identity;
        use quic::streams::pattern;
        use recovery::Stats;
        use sim::guest::Snapshot;
        use units::{Duration, Ecn, Time};

        use super::notes::Notes;
        use super::tls;
        use super::watch::Watch;
        use crate::message;
        use crate::own::{self, Own};
        use crate::pair::addresses;
        use crate::peer::{Kind, Leaving, News, Peer, Piece};
        use crate::refusal::Refusal;
        use crate::settings::SERVER_NAME;
        use crate::spy::Spy;
        use crate::wanted::Wanted;

        /// Credit of flow control, and the most that waits to be acknowledged, in bytes: the network limits, and not these.
        const CREDIT: u32 = 64 << 20;
        /// Of what waits to be acknowledged, so many windows: enough for the next flight, and no more memory than that.
        const WINDOWS: u64 = 4;
        /// And no less than this.
        const LEAST: u64 = 1 << 20;
        /// The same of a stream that may pause: what the stack has taken leaves all the same.
        const WINDOWS_OF_PAUSING: u64 = 2;
        /// What is written at once.
        const CHUNK: usize = 1 << 16;
        /// The UDP payload that an endpoint takes unless it is told otherwise.
        const USUAL: u32 = 1472;

        /// A wall clock that stands, for tokens.
        struct Standing;

        impl proto::TimeSource for Standing {
            fn now(&self) -> std::time::SystemTime {
                std::time::SystemTime::UNIX_EPOCH
            }
        }

        /// An endpoint with one connection.
        pub(crate) struct Foreign {
            endpoint: Endpoint,
            /// Where the other end is.
            there: SocketAddr,
            /// Where the last datagram went.
            destination: SocketAddr,
            /// Virtual time 0.
            base: Instant,
            /// Until it has connected.
            begin: Option<proto::ClientConfig>,
            connection: Option<(proto::ConnectionHandle, Connection)>,
            is_client: bool,
            retry: bool,
            marks: bool,
            /// Up to where the stream is offered, and whether it ends there.
            offered: u64,
            is_whole: bool,
            written: u64,
            stream: Option<StreamId>,
            /// `None`: no packet of data arrived.
            arrived: Option<Vec<Piece>>,
            /// Why the connection is lost.
            lost: Option<String>,
            /// Datagrams of the endpoint itself.
            answers: VecDeque<Vec<u8>>,
            watch: Watch,
            memory: Vec<u8>,
        }

        impl Foreign {
            /// The end that sends.
            ///
            /// # Errors
            /// TLS.
            pub(crate) fn client(wanted: &Wanted<'_>, identity: &Identity) -> Result<Self, Refusal> {
                let crypto = QuicClientConfig::try_from(tls::client(identity)?).map_err(|_| no_cipher())?;
                let mut config = proto::ClientConfig::new(Arc::new(crypto));
                let (flow, seed) = (wanted.flow, wanted.seed(false));
                let mut transport = transport(wanted)?;
                let watch = if flow.own_controller {
                    let own = own::named(&flow.algorithm, STACK).map_err(Refusal::Outside)?;
                    let notes = Notes::default();
                    transport.congestion_controller_factory(Arc::new(Theirs(own, notes.clone())));
                    Watch::Own(notes)
                } else {
                    let spy = Spy::new(flow.algorithm.build(Default::default()));
                    let (algorithm, watcher) = (flow.algorithm.clone(), spy.handle());
                    let build =
                        move |path| -> Box<dyn Controller> { Box::new(watcher.begin(algorithm.build(path))) };
                    transport.congestion_controller_factory(Arc::new(Factory::of(build, seed)));
                    Watch::Ours(spy)
                };
                config.transport_config(Arc::new(transport));
                let endpoint = endpoint(endpoint_config(wanted, seed)?, None);
                Ok(Self {
                    begin: Some(config),
                    is_client: true,
                    ..Self::of(wanted, endpoint, addresses().1, watch)
                })
            }

            /// The end that receives.
            ///
            /// # Errors
            /// TLS.
            pub(crate) fn server(wanted: &Wanted<'_>, identity: &Identity) -> Result<Self, Refusal> {
                let crypto = QuicServerConfig::try_from(tls::server(identity)?).map_err(|_| no_cipher())?;
                let mut config = proto::ServerConfig::with_crypto(Arc::new(crypto));
                config.time_source(Arc::new(Standing));
                config.transport_config(Arc::new(transport(wanted)?));
                let endpoint = endpoint(endpoint_config(wanted, wanted.seed(true))?, Some(Arc::new(config)));
                // It sends nothing but ACKs.
                Ok(Self::of(wanted, endpoint, addresses().0, Watch::Own(Notes::default())))
            }

            #[allow(
                clippy::disallowed_methods,
                reason = "any moment will do: only differences to it are used"
            )]
            fn of(wanted: &Wanted<'_>, endpoint: Endpoint, there: SocketAddr, watch: Watch) -> Self {
                Self {
                    endpoint,
                    there,
                    destination: there,
                    base: Instant::now(),
                    begin: None,
                    connection: None,
                    is_client: false,
                    retry: wanted.retry,
                    marks: wanted.flow.recovery.ecn == Ecn::Ect0,
                    offered: wanted.whole.unwrap_or(0),
                    is_whole: wanted.whole.is_some(),
                    written: 0,
                    stream: None,
                    arrived: None,
                    lost: None,
                    answers: VecDeque::new(),
                    watch,
                    memory: Vec::new(),
                }
            }

            fn at(&self, now: Time) -> Instant {
                self.base + Elapsed::from_nanos(now.0)
            }

            /// A first Initial.
            fn accept(&mut self, now: Instant, incoming: proto::Incoming) {
                let mut answer = Vec::new();
                if self.retry && !incoming.remote_address_validated() && incoming.may_retry() {
                    if let Ok(transmit) = self.endpoint.retry(incoming, &mut answer) {
                        answer.truncate(transmit.size);
                        self.answers.push_back(answer);
                    }
                    return;
                }
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => {
                        if let Some(transmit) = &error.response {
                            answer.truncate(transmit.size);
                            self.answers.push_back(answer);
                        }
                    }
                }
            }

            /// What endpoint and connection have to tell each other, and the application at this end.
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
                let cwnd = self.watch.observe().cwnd.unwrap_or(0);
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
                    // An error: the other end does not want more.
                    let _ = connection.send_stream(id).finish();
                }
            }

            /// What is not the pattern has not arrived.
            fn read(&mut self) {
                let (Some((_, connection)), Some(id)) = (&mut self.connection, self.stream) else { return };
                let mut stream = connection.recv_stream(id);
                let Ok(mut chunks) = stream.read(false) else { return };
                while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                    self.memory.resize(chunk.bytes.len(), 0);
                    pattern::fill(chunk.offset, &mut self.memory);
                    if self.memory == chunk.bytes {
                        let piece = (chunk.offset, chunk.bytes.len() as u64);
                        self.arrived.get_or_insert_default().push(piece);
                    }
                }
                // Whatever it asks to be sent is asked for after each call.
                let _ = chunks.finalize();
            }
        }

        impl Peer for Foreign {
            fn handle(&mut self, now: Time, ecn: Ecn, bytes: Vec<u8>) {
                let at = self.at(now);
                let ecn = match ecn {
                    Ecn::NotEct => None,
                    Ecn::Ect0 => Some(EcnCodepoint::Ect0),
                    Ecn::Ect1 => Some(EcnCodepoint::Ect1),
                    Ecn::Ce => Some(EcnCodepoint::Ce),
                };
                let mut answer = Vec::new();
                let bytes = BytesMut::from(bytes.as_slice());
                match receive(&mut self.endpoint, at, self.there, ecn, bytes, &mut answer) {
                    Some(DatagramEvent::NewConnection(incoming)) => self.accept(at, incoming),
                    Some(DatagramEvent::ConnectionEvent(_, event)) => {
                        if let Some((_, connection)) = &mut self.connection {
                            let before = stats(connection).frame_rx.stream;
                            connection.handle_event(event);
                            if stats(connection).frame_rx.stream > before {
                                self.arrived.get_or_insert_default();
                            }
                        }
                    }
                    Some(DatagramEvent::Response(transmit)) => {
                        answer.truncate(transmit.size);
                        self.answers.push_back(answer);
                    }
                    None => {}
                }
                self.serve();
            }

            fn set_source(&mut self, source: SocketAddr) {
                self.there = source;
            }

            fn destination(&self) -> SocketAddr {
                self.destination
            }

            fn next(&mut self) -> Time {
                let Some((_, connection)) = &mut self.connection else { return Time::NEVER };
                let due =
                    connection.poll_timeout().map(|due| due.saturating_duration_since(self.base).as_nanos());
                due.map_or(Time::NEVER, |due| Time(u64::try_from(due).unwrap_or(u64::MAX)))
            }

            fn on_time(&mut self, now: Time) {
                let at = self.at(now);
                if let Some(config) = self.begin.take() {
                    self.connection = self.endpoint.connect(at, config, self.there, SERVER_NAME).ok();
                }
                if let Some((_, connection)) = &mut self.connection
                    && connection.poll_timeout().is_some_and(|due| due <= at)
                {
                    connection.handle_timeout(at);
                }
                self.serve();
            }

            fn transmit(&mut self, now: Time) -> Option<Leaving> {
                if let Some(bytes) = self.answers.pop_front() {
                    self.destination = self.there;
                    return Some(Leaving { bytes, ecn: Ecn::NotEct, kind: Kind::Handshake });
                }
                let at = self.at(now);
                let (_, connection) = self.connection.as_mut()?;
                let before = stats(connection).frame_tx;
                let mut bytes = Vec::new();
                let transmit = send(connection, at, &mut bytes)?;
                bytes.truncate(transmit.size);
                self.destination = transmit.destination;
                let kind = kind(&before, &stats(connection).frame_tx);
                let ecn = match transmit.ecn {
                    Some(EcnCodepoint::Ect0) if self.marks => Ecn::Ect0,
                    Some(EcnCodepoint::Ect1) if self.marks => Ecn::Ect1,
                    _ => Ecn::NotEct,
                };
                Some(Leaving { bytes, ecn, kind })
            }

            fn offer(&mut self, end: u64) {
                self.offered = end;
                self.write();
            }

            fn taken(&self) -> u64 {
                self.written
            }

            fn send_message(&mut self, message: Vec<u8>) -> bool {
                let Some((_, connection)) = &mut self.connection else { return false };
                connection.datagrams().send(message.into(), true).is_ok()
            }

            fn take_arrived(&mut self) -> Option<Vec<Piece>> {
                self.arrived.take()
            }

            fn take_news(&mut self) -> Vec<News> {
                self.watch.take()
            }

            fn counts(&mut self) -> Stats {
                let Some((_, connection)) = &mut self.connection else { return Stats::default() };
                let (sent, lost) = packets(connection);
                Stats { sent, lost_by_packet_threshold: lost, ..Stats::default() }
            }

            fn observe(&self) -> Snapshot {
                self.watch.observe()
            }

            fn ended(&self) -> Option<&str> {
                self.lost.as_deref()
            }

            fn controller(&self) -> Option<&dyn Controller> {
                self.watch.controller()
            }
        }

        /// Makes the stack's own controllers, with someone who takes notes of them.
        struct Theirs(Own, Notes);

        impl ControllerFactory for Theirs {
            fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn theirs::Controller> {
                let inner: Box<dyn theirs::Controller> = match self.0 {
                    Own::NewReno => Arc::new(theirs::NewRenoConfig::default()).build(now, mtu),
                    Own::Cubic => Arc::new(theirs::CubicConfig::default()).build(now, mtu),
                };
                self.1.begin(inner.window());
                Box::new(Noted { inner, notes: self.1.clone(), batch: Batch::default() })
            }
        }

        /// A controller of the stack's own, unmodified: everything goes through to it, and what it made of it is noted.
        struct Noted {
            inner: Box<dyn theirs::Controller>,
            notes: Notes,
            batch: Batch,
        }

        /// Packets that one ACK acknowledges.
        #[derive(Clone, Copy, Default)]
        struct Batch {
            /// When the newest of them left, how long ago that is, and the estimate of the RTT before this ACK.
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

        impl std::fmt::Debug for Noted {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct("Noted").field("window", &self.inner.window()).finish()
            }
        }

        impl Noted {
            fn control(&self) -> Control {
                let metrics = self.inner.metrics();
                let ssthresh = metrics.ssthresh.unwrap_or(u64::MAX);
                Control { ssthresh, ..Control::window(self.inner.window()) }
            }

            fn end_of_acks(&mut self, in_flight: u64) {
                if let Some((_, latest, smoothed)) = self.batch.newest.take() {
                    self.notes.sample(nanos(latest), nanos(smoothed));
                }
                self.notes.settled(self.control(), in_flight);
            }

            fn end_of_losses(&mut self, before: u64, is_persistent: bool, is_ecn: bool) {
                let cause = match (is_persistent, is_ecn) {
                    (true, _) => Cause::PersistentCongestion,
                    (_, true) => Cause::Ecn,
                    _ => Cause::Loss,
                };
                self.notes.congestion(cause, before, self.inner.window());
            }

            /// For another path: nobody looks at it.
            fn copy(&self) -> Self {
                Self { inner: self.inner.clone_box(), notes: Notes::default(), batch: Batch::default() }
            }
        }

        fn no_cipher() -> Refusal {
            Refusal::Flow("TLS has no cipher for Initial packets")
        }

        fn too_large<E>(_: E) -> Refusal {
            Refusal::Flow("its datagrams are larger than UDP's")
        }

        fn endpoint_config(wanted: &Wanted<'_>, seed: u64) -> Result<proto::EndpointConfig, Refusal> {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            let mut config = proto::EndpointConfig::default();
            config.rng_seed(Some(bytes));
            let most = u16::try_from(wanted.flow.transport.mds().max(USUAL)).map_err(too_large)?;
            config.max_udp_payload_size(most).map_err(too_large)?;
            Ok(config)
        }

        /// As the stack comes, but for the size of datagrams, which is the flow's, and for flow control, which never limits.
        fn transport(wanted: &Wanted<'_>) -> Result<proto::TransportConfig, Refusal> {
            let datagram = u16::try_from(wanted.flow.transport.mds()).map_err(too_large)?;
            let mut config = proto::TransportConfig::default();
            config
                .initial_mtu(datagram)
                .mtu_discovery_config(None)
                .stream_receive_window(VarInt::from_u32(CREDIT))
                .receive_window(VarInt::from_u32(CREDIT));
            if wanted.whole.is_none() {
                // An application that is silent for a minute has not gone: it keeps its connection.
                config.max_idle_timeout(None);
            }
            Ok(config)
        }

        /// What the frames of a datagram make it.
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

        /// Frames that want an ACK, but for those of streams and of the handshake.
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
pub(super) use foreign;
