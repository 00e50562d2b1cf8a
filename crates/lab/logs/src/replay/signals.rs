//! Derives the signals of a controller from the packets of another program's log.

use std::collections::BTreeMap;

use congestion::{Algorithm, Cause, Detection, PathInfo};
use quic::{Side, Space};
use recovery::feed::{ControllerFeed, RttEstimate};
use units::{Duration, Time};

use super::distance::{Moment, Windows};
use crate::event::{Ack, Event, Metrics, Packet, Trigger};

/// Largest number of packets that are followed.
const MOST: usize = 1 << 20;
/// Largest number of calls of a controller's timer between two events.
const MOST_TIMERS: usize = 10_000;
/// Datagram size if no packet tells it (RFC 9000 section 14).
const DATAGRAM: u64 = 1200;
/// Limits of what is taken for a datagram size, and for a time.
const DATAGRAMS: (u64, u64) = (100, 65_527);
const LATEST: Time = Time(1 << 54);
/// Longest RTT that is believed, some 39 hours.
const LONGEST: Duration = Duration(1 << 47);

/// Controller that follows the packets, ACKs and losses of a log.
///
/// The window counts as full when the next packet does not fit into that of the log. The
/// application limits the sender where the log says so.
#[derive(Debug)]
pub(super) struct Signals {
    algorithm: Algorithm,
    /// End that wrote the log.
    side: Side,
    is_tcp: bool,
    feed: Option<ControllerFeed>,
    datagram: u64,
    /// Time of the first packet in the log's clock.
    start: Option<Time>,
    next_serial: u64,
    /// Packets without an ACK.
    waiting: BTreeMap<(Space, u64), Waiting>,
    /// TCP: end of data and number of the packets in `waiting`.
    by_end: BTreeMap<(u64, u64), Space>,
    rtt: RttEstimate,
    logged: Option<u64>,
    has_acks: bool,
    open: Option<Open>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    serial: u64,
    sent: Time,
    end: u64,
    is_lost: bool,
}

/// ACK or timer whose losses the log may still have.
#[derive(Clone, Debug)]
struct Open {
    at: Time,
    is_ack: bool,
    delay: Duration,
    sample: Option<Duration>,
    lost: Vec<(u64, Detection)>,
    persistent: bool,
    marked: bool,
}

impl Signals {
    pub(super) fn new(algorithm: Algorithm, side: Side, is_tcp: bool) -> Self {
        Self {
            algorithm,
            side,
            is_tcp,
            feed: None,
            datagram: 0,
            start: None,
            next_serial: 0,
            waiting: BTreeMap::new(),
            by_end: BTreeMap::new(),
            rtt: RttEstimate { latest: None, min: Duration::MAX, smoothed: Duration::ZERO },
            logged: None,
            has_acks: false,
            open: None,
        }
    }

    /// Returns what the controller needs and the log does not have.
    pub(super) fn lacks(&self) -> Option<&'static str> {
        let needs = self.feed.as_ref()?.controller().needs();
        (needs.receive_times || needs.every_receive_time).then_some("the receive time of packets")
    }

    /// Reports whether the controller needs counts of CE marks, which the log does not have.
    pub(super) fn lacks_marks(&self) -> bool {
        self.feed.as_ref().is_some_and(|feed| feed.controller().needs().mark_counts)
    }

    /// Returns the reason why no window could be compared.
    pub(super) fn nothing(&self) -> &'static str {
        match self.has_acks {
            true => {
                "the log has ACKs but no congestion window; give the qlog of the program that sent the data"
            }
            false => "the log has no ACK of data that it sent",
        }
    }

    pub(super) fn on_event(&mut self, at: Time, event: &Event<'_>, windows: &mut Windows) {
        // The log's clock may count from 1970.
        let now = Time((at - *self.start.get_or_insert(at)).0).min(LATEST);
        let is_part = matches!(event, Event::Lost { .. } | Event::Metrics(_) | Event::State { .. });
        if self.open.as_ref().is_some_and(|open| !is_part || open.at < now) {
            self.close(at, windows);
        }
        self.run_timers(now);
        match event {
            Event::Packet(packet) if packet.from == self.side => self.on_sent(now, packet),
            Event::Packet(packet) => packet.acks.iter().for_each(|ack| self.on_ack(now, packet.space, ack)),
            Event::Lost { space, number: Some(number), trigger } => {
                self.on_lost(now, (*space, *number), *trigger);
            }
            Event::Metrics(metrics) => self.on_metrics(metrics),
            Event::State { trigger: Some(trigger), .. } => self.on_state(now, trigger),
            Event::AppLimited(true) => {
                if let Some(feed) = &mut self.feed {
                    feed.app_limited();
                }
            }
            _ => {}
        }
    }

    /// Completes the last ACK.
    pub(super) fn finish(&mut self, windows: &mut Windows) {
        if let Some(open) = &self.open {
            let at = self.start.unwrap_or(Time::ZERO) + (open.at - Time::ZERO);
            self.close(at, windows);
        }
    }

    fn run_timers(&mut self, now: Time) {
        let Some(feed) = &mut self.feed else { return };
        for _ in 0..MOST_TIMERS {
            match feed.next_timer().filter(|due| *due < now) {
                Some(due) => feed.on_timer(due),
                None => break,
            }
        }
    }

    fn on_sent(&mut self, now: Time, packet: &Packet<'_>) {
        let Some(number) = packet.number.filter(|_| packet.in_flight) else { return };
        let bytes = u64::from(packet.bytes).min(DATAGRAMS.1);
        self.datagram = self.datagram.max(bytes);
        let feed = self.feed.get_or_insert_with(|| {
            let size = if self.is_tcp || bytes >= DATAGRAM { bytes } else { DATAGRAM };
            let max_datagram_size = size.max(DATAGRAMS.0);
            ControllerFeed::new(self.algorithm.build(PathInfo { max_datagram_size, ..PathInfo::default() }))
        });
        let serial = self.next_serial;
        self.next_serial += 1;
        feed.sent(now, serial, bytes);
        let end = packet.pieces.iter().map(|piece| piece.offset.saturating_add(piece.len)).max().unwrap_or(0);
        if self.is_tcp {
            self.by_end.insert((end, number), packet.space);
        }
        self.waiting.insert((packet.space, number), Waiting { serial, sent: now, end, is_lost: false });
        while self.waiting.len() > MOST {
            if let Some((key, _)) = self.waiting.pop_first() {
                self.by_end.retain(|(_, number), _| *number != key.1);
            }
        }
        // The window of the log blocks the next packet.
        if self.logged.is_some_and(|window| feed.bytes_in_flight() + self.datagram > window) {
            feed.window_full();
        }
    }

    fn on_ack(&mut self, now: Time, space: Space, ack: &Ack) {
        let keys = if self.is_tcp { self.covered(ack) } else { self.numbered(space, ack) };
        if keys.is_empty() {
            return;
        }
        let Some(feed) = &mut self.feed else { return };
        let mut newest: Option<Waiting> = None;
        for key in &keys {
            let Some(packet) = self.waiting.remove(key) else { continue };
            self.by_end.remove(&(packet.end, key.1));
            // TCP acknowledges bytes: a lost packet has arrived only in its repeat.
            if self.is_tcp && packet.is_lost {
                feed.discarded(packet.serial);
                continue;
            }
            feed.acked(packet.serial, None);
            if !packet.is_lost && newest.is_none_or(|newest| packet.serial > newest.serial) {
                newest = Some(packet);
            }
        }
        let sample =
            newest.map(|packet| (now - packet.sent).min(LONGEST)).filter(|rtt| *rtt > Duration::ZERO);
        let delay = ack.delay.unwrap_or(Duration::ZERO).min(Duration::from_secs(10));
        let open = self.open.get_or_insert_with(|| Open::new(now));
        (open.is_ack, open.delay) = (true, delay);
        open.sample = sample.or(open.sample);
    }

    fn numbered(&self, space: Space, ack: &Ack) -> Vec<(Space, u64)> {
        let in_range = |&(first, last): &(u64, u64)| {
            let last = last.max(first);
            self.waiting.range((space, first)..=(space, last)).map(|(key, _)| *key)
        };
        ack.ranges.iter().flat_map(in_range).collect()
    }

    fn covered(&self, ack: &Ack) -> Vec<(Space, u64)> {
        let up_to = ack.cumulative.unwrap_or(0);
        let before = self.by_end.range(..(up_to.saturating_add(1), 0));
        let mut keys: Vec<(Space, u64)> = before.map(|((_, number), space)| (*space, *number)).collect();
        for &(first, last) in &ack.selective {
            let inside = self.by_end.range((first, 0)..(last.saturating_add(1).max(first), 0));
            keys.extend(inside.map(|((_, number), space)| (*space, *number)));
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn on_lost(&mut self, now: Time, key: (Space, u64), trigger: Option<Trigger>) {
        let is_tcp = self.is_tcp;
        let Some(packet) = self.waiting.get_mut(&key).filter(|packet| !packet.is_lost) else { return };
        packet.is_lost = true;
        let detection = match trigger {
            Some(Trigger::PacketThreshold) | None => Detection::PacketThreshold,
            Some(Trigger::Timeout) if is_tcp => Detection::Timeout,
            Some(Trigger::TimeThreshold | Trigger::Timeout) => Detection::TimeThreshold,
        };
        let serial = packet.serial;
        self.open.get_or_insert_with(|| Open::new(now)).lost.push((serial, detection));
    }

    fn on_metrics(&mut self, metrics: &Metrics<'_>) {
        self.logged = metrics.cwnd.or(self.logged);
        self.rtt.smoothed = metrics.smoothed_rtt.unwrap_or(self.rtt.smoothed).min(LONGEST);
        if let (Some(open), Some(latest)) = (&mut self.open, metrics.latest_rtt) {
            open.sample = open.sample.map(|_| latest.min(LONGEST));
        }
    }

    fn on_state(&mut self, now: Time, trigger: &str) {
        let trigger = trigger.to_ascii_lowercase();
        let (persistent, marked) = (trigger == "persistent_congestion", trigger == "ecn");
        if persistent || marked {
            let open = self.open.get_or_insert_with(|| Open::new(now));
            open.persistent |= persistent;
            open.marked |= marked;
        }
    }

    /// Reports an ACK or a timer to the controller, and compares the windows after an ACK.
    fn close(&mut self, at: Time, windows: &mut Windows) {
        let (Some(open), Some(feed)) = (self.open.take(), &mut self.feed) else { return };
        if let Some(latest) = open.sample {
            self.rtt.latest = Some(latest);
            self.rtt.min = self.rtt.min.min(latest);
            // RFC 9002 section 5.3, where the log has none.
            if self.rtt.smoothed == Duration::ZERO {
                self.rtt.smoothed = latest;
            } else if self.logged.is_none() {
                self.rtt.smoothed = Duration((7 * self.rtt.smoothed.0 + latest.0) / 8);
            }
        }
        if open.is_ack {
            feed.rtt(open.at, self.rtt);
            self.rtt.latest = None;
        }
        let timeout = open.lost.iter().any(|lost| lost.1 == Detection::Timeout);
        open.lost.iter().for_each(|&(serial, detection)| feed.lost(serial, detection));
        let events = [(open.persistent, Cause::PersistentCongestion), (timeout, Cause::Timeout)];
        for (_, cause) in events.into_iter().filter(|(happens, _)| *happens) {
            feed.event(open.at, cause);
        }
        if !open.is_ack {
            if open.marked {
                feed.event(open.at, Cause::Ecn);
            }
            return feed.end_of_losses(open.at);
        }
        self.has_acks = true;
        feed.end_of_ack(open.at, open.delay, u64::from(open.marked));
        if let Some(logged) = self.logged {
            let replayed = feed.control().cwnd;
            windows.add(Moment { at, logged, replayed });
        }
    }
}

impl Open {
    fn new(at: Time) -> Self {
        let (delay, sample, lost) = (Duration::ZERO, None, Vec::new());
        Self { at, is_ack: false, delay, sample, lost, persistent: false, marked: false }
    }
}
