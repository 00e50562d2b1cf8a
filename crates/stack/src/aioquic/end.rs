//! An end of aioquic.

use congestion::Controller;
use quic::config::EndpointConfig;
use quic::crypto::tls::Identity;
use quic::streams::pattern;
use recovery::{Reassembly, Stats};
use sim::guest::Snapshot;
use std::collections::VecDeque;
use std::net::SocketAddr;
use units::{Ecn, Time};

use super::host::Host;
use super::messages::{Answer, Make, Turn};
use super::names;
use crate::pair::addresses;
use crate::peer::{Leaving, News, Peer, Piece};
use crate::refusal::Refusal;
use crate::settings::SERVER_NAME;
use crate::wanted::Wanted;

/// What goes with one request at most, bytes: less than a pipe holds.
const CHUNK: u64 = 48 << 10;
/// And at least, unless it is the last.
const LEAST_CHUNK: u64 = 16 << 10;
/// So many windows wait to be acknowledged or sent: enough for the next flight.
const WINDOWS: u64 = 4;
/// And no less and no more than this, bytes.
const LEAST: u64 = 1 << 20;
const MOST: u64 = 64 << 20;
/// The most that UDP takes, bytes.
const LARGEST: u32 = 65_527;

/// An endpoint with one connection, in the run's process.
pub(crate) struct End {
    host: Host,
    number: u32,
    /// Where its datagrams go: nothing rebinds the other end.
    destination: SocketAddr,
    /// A client that has not connected.
    begins: bool,
    /// When it wants its turn.
    due: Time,
    /// Of the stream: how many bytes it has been given, of how many; a server 0.
    written: u64,
    transfer: u64,
    /// And has not acknowledged.
    buffered: u64,
    ended: bool,
    leaving: VecDeque<Leaving>,
    arrived: Option<Vec<Piece>>,
    reading: Reading,
    news: Vec<News>,
    counts: Stats,
    seen: Snapshot,
    broken: bool,
}

impl End {
    /// The end that sends.
    ///
    /// # Errors
    /// What is missing for it.
    pub(crate) fn client(wanted: &Wanted<'_>, identity: &Identity) -> Result<Self, Refusal> {
        let algorithm = names::theirs(&wanted.flow.algorithm).map_err(Refusal::Outside)?;
        let transfer = wanted.whole.unwrap_or(0);
        Ok(Self { begins: true, transfer, ..Self::of(wanted, identity, Some(algorithm))? })
    }

    /// The end that receives.
    ///
    /// # Errors
    /// What is missing for it.
    pub(crate) fn server(wanted: &Wanted<'_>, identity: &Identity) -> Result<Self, Refusal> {
        Self::of(wanted, identity, None)
    }

    fn of(wanted: &Wanted<'_>, identity: &Identity, sends: Option<&str>) -> Result<Self, Refusal> {
        let is_server = sends.is_none();
        let datagram = wanted.flow.transport.mds();
        if datagram > LARGEST {
            return Err(Refusal::Flow("its datagrams are larger than UDP's"));
        }
        let names = EndpointConfig::default().alpn;
        let make = Make {
            is_server,
            retry: wanted.retry,
            seed: wanted.seed(is_server),
            datagram,
            alpn: names.first().map_or(&[], Vec::as_slice),
            algorithm: sends.unwrap_or("reno"),
            name: SERVER_NAME,
            certificate: identity.chain.first().map_or(&[], |certificate| certificate.as_ref()),
            key: identity.key.secret_der(),
        };
        let host = wanted.host.clone();
        let number = host.make(&make.bytes())?;
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
            leaving: VecDeque::new(),
            arrived: None,
            reading: Reading::default(),
            news: Vec::new(),
            counts: Stats::default(),
            seen: Snapshot::default(),
            broken: false,
        })
    }

    /// How many bytes of the stream go with the next request.
    fn wants(&self) -> u64 {
        let window = self.seen.cwnd.unwrap_or(0).saturating_mul(WINDOWS).clamp(LEAST, MOST);
        let left = self.transfer - self.written;
        let most = window.saturating_sub(self.buffered).min(CHUNK);
        if left > most && most < LEAST_CHUNK { 0 } else { left.min(most) }
    }

    fn turn(&mut self, now: Time, datagram: &[u8]) {
        let mut data = vec![0; usize::try_from(self.wants()).unwrap_or(0)];
        pattern::fill(self.written, &mut data);
        self.written += data.len() as u64;
        let last = self.transfer > 0 && self.written == self.transfer && !self.ended;
        self.ended |= last;
        let request = Turn { number: self.number, now: now.0, data: &data, last, datagram };
        let answer = self.host.ask(&request.bytes());
        match answer.as_deref().map(Answer::read) {
            Some(Some(answer)) => self.take(answer),
            Some(None) => {
                self.host.fail("it says what is no answer");
                self.end();
            }
            None => self.end(),
        }
    }

    fn end(&mut self) {
        self.broken = true;
        self.due = Time::NEVER;
    }

    fn take(&mut self, answer: Answer) {
        self.due = Time(answer.due);
        self.buffered = answer.buffered;
        self.counts.lost_by_packet_threshold = answer.lost;
        self.counts.lost_by_timeout = answer.expired;
        self.seen = Snapshot {
            cwnd: answer.cwnd,
            bytes_in_flight: answer.bytes_in_flight,
            smoothed_rtt: answer.smoothed_rtt,
            latest_rtt: answer.latest_rtt,
        };
        self.news.extend(answer.news);
        self.leaving.extend(answer.datagrams);
        if !answer.frames.is_empty() {
            let pieces = self.arrived.get_or_insert_default();
            pieces.extend(self.reading.check(answer.frames, &answer.handed));
        }
    }
}

/// The stream as the application of the receiving end sees it.
#[derive(Default)]
struct Reading {
    frames: Reassembly,
    handed: u64,
    wrong: bool,
}

impl Reading {
    /// Pieces whose frames have arrived. As soon as the application is handed anything but the pattern, or other than all that is there without
    /// a gap, nothing arrives any more.
    fn check(&mut self, frames: Vec<Piece>, handed: &[u8]) -> Vec<Piece> {
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

impl Peer for End {
    fn handle(&mut self, now: Time, _: Ecn, bytes: Vec<u8>) {
        // An empty one is a timer's, and no datagram of QUIC is.
        if !self.broken && !bytes.is_empty() {
            self.turn(now, &bytes);
        }
    }

    /// Flows with a source that moves are refused.
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
            self.turn(now, &[]);
        }
    }

    fn transmit(&mut self, _: Time) -> Option<Leaving> {
        self.leaving.pop_front()
    }

    fn take_arrived(&mut self) -> Option<Vec<Piece>> {
        self.arrived.take()
    }

    fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
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

    fn is_broken(&self) -> bool {
        self.broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames in any order; what is handed out is in order.
    #[test]
    fn pieces_count_as_long_as_the_bytes_are_right() {
        let mut bytes = [0; 300];
        pattern::fill(0, &mut bytes);
        let mut reading = Reading::default();
        assert_eq!(reading.check(vec![(100, 100)], &[]), [(100, 100)]);
        assert_eq!(reading.check(vec![(0, 100)], &bytes[..200]), [(0, 100)]);
        assert_eq!(reading.check(vec![(200, 100)], &bytes[..100]), []);
        assert_eq!(reading.check(vec![(300, 100)], &[]), []);
    }

    /// All bytes there, and the application has not got them.
    #[test]
    fn what_is_held_back_has_not_arrived() {
        assert_eq!(Reading::default().check(vec![(0, 100)], &[]), []);
    }
}
