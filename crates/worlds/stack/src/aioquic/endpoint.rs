//! An endpoint of aioquic.

use congestion::Controller;
use quic::config::EndpointConfig;
use quic::connection::Arrival;
use quic::crypto::tls::Identity;
use quic::streams::pattern;
use recovery::Reassembly;
use scenario::guest::Snapshot;
use std::collections::VecDeque;
use std::net::SocketAddr;
use units::{Ecn, Time};

use super::host::Host;
use super::messages::{CreateRequest, StepReply, StepRequest};
use super::names;
use crate::buffer_pool::BufferPool;
use crate::endpoint::{Endpoint, Outgoing, addresses};
use crate::endpoint_spec::EndpointSpec;
use crate::event_tap::{Kind, TapEvent};
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
    outgoing: VecDeque<(Kind, Vec<u8>)>,
    arrived: Option<Vec<Chunk>>,
    received: ReceivedStream,
    events: Vec<TapEvent>,
    seen: Snapshot,
    broken: bool,
}

impl AioquicEndpoint {
    /// Creates the sending endpoint, or the receiving one.
    ///
    /// # Errors
    /// An unsupported property of the flow, or missing software.
    pub(crate) fn new(spec: &EndpointSpec, is_server: bool, identity: &Identity) -> Result<Self, Refusal> {
        let algorithm = match is_server {
            true => "reno",
            false => names::aioquic_name(&spec.flow.algorithm).map_err(Refusal::Stack)?,
        };
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
            algorithm,
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
            transfer: if is_server { 0 } else { spec.whole.unwrap_or(0) },
            buffered: 0,
            ended: false,
            outgoing: VecDeque::new(),
            arrived: None,
            received: ReceivedStream::default(),
            events: Vec::new(),
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
        self.events.push(TapEvent::LostSoFar(reply.lost + reply.expired));
        self.seen = Snapshot {
            cwnd: reply.cwnd,
            bytes_in_flight: reply.bytes_in_flight,
            smoothed_rtt: reply.smoothed_rtt,
            latest_rtt: reply.latest_rtt,
            ..Snapshot::default()
        };
        self.events.extend(reply.events.into_iter().map(TapEvent::Controller));
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

impl Endpoint for AioquicEndpoint {
    fn connect(&mut self, _: Time) {
        self.begins = true;
    }

    fn handle(&mut self, now: Time, arrival: Arrival<'_>) {
        // An empty datagram would be taken for a timer. QUIC never sends one.
        if !self.broken && !arrival.bytes.is_empty() {
            self.step(now, arrival.bytes);
        }
        self.events.extend(self.arrived.take().map(TapEvent::Arrived));
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

    fn transmit(&mut self, _: Time, _: &mut BufferPool) -> Option<Outgoing> {
        let (kind, bytes) = self.outgoing.pop_front()?;
        self.events.push(TapEvent::Datagram(kind));
        Some(Outgoing { bytes, ecn: Ecn::NotEct, to: self.destination })
    }

    fn take_events(&mut self, buffer: &mut Vec<TapEvent>) {
        buffer.clear();
        std::mem::swap(&mut self.events, buffer);
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
