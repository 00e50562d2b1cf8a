//! An endpoint of aioquic.

use congestion::Controller;
use quic::config::EndpointConfig;
use quic::crypto::tls::Identity;
use quic::streams::pattern;
use recovery::{Reassembly, Stats};
use scenario::guest::Snapshot;
use std::collections::VecDeque;
use std::net::SocketAddr;
use units::{Ecn, Time};

use super::host::Host;
use super::messages::{CreateRequest, StepReply, StepRequest};
use super::names;
use crate::endpoint::{ControllerEvent, Outgoing, SessionEndpoint};
use crate::endpoint_spec::EndpointSpec;
use crate::own_session::addresses;
use crate::refusal::Refusal;
use crate::settings::SERVER_NAME;
use crate::stream_chunks::Chunk;

/// Largest stream data in one request, in bytes. It is less than a pipe holds.
const CHUNK: u64 = 48 << 10;
/// Smallest stream data in one request, in bytes, except for the last.
const LEAST_CHUNK: u64 = 16 << 10;
/// Send buffer in congestion windows: enough for the next flight.
const WINDOWS: u64 = 4;
/// Smallest and largest send buffer, in bytes.
const LEAST: u64 = 1 << 20;
const MOST: u64 = 64 << 20;
/// Largest UDP payload, in bytes.
const LARGEST: u32 = 65_527;

/// An endpoint with one connection, in the run's Python process.
pub(crate) struct AioquicEndpoint {
    host: Host,
    number: u32,
    /// Destination of all datagrams. The other endpoint is never rebound.
    destination: SocketAddr,
    /// The client has not connected yet.
    begins: bool,
    /// Time of the next timer.
    due: Time,
    /// Stream bytes passed to aioquic so far, and in total. 0 for a server.
    written: u64,
    transfer: u64,
    /// Stream bytes that aioquic holds, including those in flight.
    buffered: u64,
    ended: bool,
    outgoing: VecDeque<Outgoing>,
    arrived: Option<Vec<Chunk>>,
    received: ReceivedStream,
    controller_events: Vec<ControllerEvent>,
    counts: Stats,
    seen: Snapshot,
    broken: bool,
}

impl AioquicEndpoint {
    /// Creates the sending endpoint.
    ///
    /// # Errors
    /// An unsupported property of the flow, or missing software.
    pub(crate) fn client(spec: &EndpointSpec<'_>, identity: &Identity) -> Result<Self, Refusal> {
        let algorithm = names::aioquic_name(&spec.flow.algorithm).map_err(Refusal::Stack)?;
        let transfer = spec.whole.unwrap_or(0);
        Ok(Self { begins: true, transfer, ..Self::new(spec, identity, Some(algorithm))? })
    }

    /// Creates the receiving endpoint.
    ///
    /// # Errors
    /// An unsupported property of the flow, or missing software.
    pub(crate) fn server(spec: &EndpointSpec<'_>, identity: &Identity) -> Result<Self, Refusal> {
        Self::new(spec, identity, None)
    }

    fn new(spec: &EndpointSpec<'_>, identity: &Identity, sends: Option<&str>) -> Result<Self, Refusal> {
        let is_server = sends.is_none();
        let datagram = spec.flow.transport.mds();
        if datagram > LARGEST {
            return Err(Refusal::Flow("its datagrams are larger than UDP can carry"));
        }
        let names = EndpointConfig::default().alpn;
        let request = CreateRequest {
            is_server,
            retry: spec.retry,
            seed: spec.seed(is_server),
            datagram,
            alpn: names.first().map_or(&[], Vec::as_slice),
            algorithm: sends.unwrap_or("reno"),
            name: SERVER_NAME,
            certificate: identity.chain.first().map_or(&[], |certificate| certificate.as_ref()),
            key: identity.key.secret_der(),
        };
        let host = spec.host.clone();
        let number = host.create(&request.bytes())?;
        let (client, server) = addresses();
        Ok(Self {
            host,
            number,
            destination: if is_server { client } else { server },
            begins: false,
            due: Time::NEVER,
            written: 0,
            transfer: 0,
            buffered: 0,
            ended: false,
            outgoing: VecDeque::new(),
            arrived: None,
            received: ReceivedStream::default(),
            controller_events: Vec::new(),
            counts: Stats::default(),
            seen: Snapshot::default(),
            broken: false,
        })
    }

    /// Returns the number of stream bytes to send with the next request.
    fn next_chunk_len(&self) -> u64 {
        let window = self.seen.cwnd.unwrap_or(0).saturating_mul(WINDOWS).clamp(LEAST, MOST);
        let left = self.transfer - self.written;
        let most = window.saturating_sub(self.buffered).min(CHUNK);
        if left > most && most < LEAST_CHUNK { 0 } else { left.min(most) }
    }

    fn step(&mut self, now: Time, datagram: &[u8]) {
        let mut data = vec![0; usize::try_from(self.next_chunk_len()).unwrap_or(0)];
        pattern::fill(self.written, &mut data);
        self.written += data.len() as u64;
        let last = self.transfer > 0 && self.written == self.transfer && !self.ended;
        self.ended |= last;
        let request = StepRequest { number: self.number, now: now.0, data: &data, last, datagram };
        let reply = self.host.request(&request.bytes());
        match reply.as_deref().map(StepReply::parse) {
            Some(Some(reply)) => self.take(reply),
            Some(None) => {
                self.host.fail("it sent an invalid reply");
                self.end();
            }
            None => self.end(),
        }
    }

    fn end(&mut self) {
        self.broken = true;
        self.due = Time::NEVER;
    }

    fn take(&mut self, reply: StepReply) {
        self.due = Time(reply.due);
        self.buffered = reply.buffered;
        self.counts.lost_by_packet_threshold = reply.lost;
        self.counts.lost_by_timeout = reply.expired;
        self.seen = Snapshot {
            cwnd: reply.cwnd,
            bytes_in_flight: reply.bytes_in_flight,
            smoothed_rtt: reply.smoothed_rtt,
            latest_rtt: reply.latest_rtt,
        };
        self.controller_events.extend(reply.events);
        self.outgoing.extend(reply.datagrams);
        if !reply.frames.is_empty() {
            let chunks = self.arrived.get_or_insert_default();
            chunks.extend(self.received.check(reply.frames, &reply.handed));
        }
    }
}

/// The stream as the receiving application sees it.
#[derive(Default)]
struct ReceivedStream {
    frames: Reassembly,
    handed: u64,
    wrong: bool,
}

impl ReceivedStream {
    /// Checks received frames and the bytes delivered to the application. Returns the frames. From
    /// the first wrong, missing or unexpected byte on, returns nothing.
    fn check(&mut self, frames: Vec<Chunk>, handed: &[u8]) -> Vec<Chunk> {
        for (offset, len) in &frames {
            self.frames.insert(*offset, offset.saturating_add(*len));
        }
        let mut expected = vec![0; handed.len()];
        pattern::fill(self.handed, &mut expected);
        self.handed += handed.len() as u64;
        self.wrong |= handed != expected || self.handed != self.frames.contiguous();
        if self.wrong { Vec::new() } else { frames }
    }
}

impl SessionEndpoint for AioquicEndpoint {
    fn handle(&mut self, now: Time, _: Ecn, bytes: Vec<u8>) {
        // An empty datagram would be taken for a timer. QUIC never sends one.
        if !self.broken && !bytes.is_empty() {
            self.step(now, &bytes);
        }
    }

    /// Does nothing, because flows whose source is rebound are refused.
    fn set_source(&mut self, _source: SocketAddr) {}

    fn destination(&self) -> SocketAddr {
        self.destination
    }

    fn next(&mut self) -> Time {
        self.due
    }

    fn on_time(&mut self, now: Time) {
        if !self.broken && (self.begins || self.due <= now) {
            self.begins = false;
            self.step(now, &[]);
        }
    }

    fn transmit(&mut self, _: Time) -> Option<Outgoing> {
        self.outgoing.pop_front()
    }

    fn take_arrived(&mut self) -> Option<Vec<Chunk>> {
        self.arrived.take()
    }

    fn take_controller_events(&mut self) -> Vec<ControllerEvent> {
        std::mem::take(&mut self.controller_events)
    }

    fn counts(&mut self) -> Stats {
        self.counts.clone()
    }

    fn observe(&self) -> Snapshot {
        self.seen
    }

    fn controller(&self) -> Option<&dyn Controller> {
        None
    }

    fn failure(&self) -> Option<String> {
        self.broken.then(|| self.host.failure().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames may arrive in any order. The application receives the bytes in order.
    #[test]
    fn pieces_count_as_long_as_the_bytes_are_right() {
        let mut bytes = [0; 300];
        pattern::fill(0, &mut bytes);
        let mut received = ReceivedStream::default();
        assert_eq!(received.check(vec![(100, 100)], &[]), [(100, 100)]);
        assert_eq!(received.check(vec![(0, 100)], &bytes[..200]), [(0, 100)]);
        assert_eq!(received.check(vec![(200, 100)], &bytes[..100]), []);
        assert_eq!(received.check(vec![(300, 100)], &[]), []);
    }

    /// All bytes have arrived, but the application has not received them.
    #[test]
    fn what_is_held_back_has_not_arrived() {
        assert_eq!(ReceivedStream::default().check(vec![(0, 100)], &[]), []);
    }
}
