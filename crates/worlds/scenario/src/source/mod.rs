//! Data that an application offers its flow over time.
//!
//! The stream of a flow consists of bytes from 0 on. An application sets the offset up to which the
//! next packet may send (`limit`): all at once (bulk), frame by frame ([`media`]), object by object
//! ([`short_transfers`]), or no further while it pauses. Simulated flows and guests carry the same
//! applications.

mod media;
mod pauses;
mod short_transfers;

use crate::{Application, FlowConfig, Record, Scenario};
use recovery::Sender;
use units::Time;

use media::Media;
use pauses::Pauses;
use short_transfers::ShortTransfers;

#[derive(Debug)]
enum Kind {
    Bulk,
    Media(Box<Media>),
    ShortTransfers(Box<ShortTransfers>),
}

/// Application of one flow.
#[derive(Debug)]
pub struct Source {
    kind: Kind,
    pauses: Pauses,
    /// Offset up to which the next packet may send.
    limit: u64,
    /// Offset up to which the receiver waits for all bytes.
    goal: u64,
    /// Time of the next event.
    next: Time,
}

impl Source {
    /// Creates the application of flow number `id`, which also names its random streams.
    pub fn new(id: u32, config: &FlowConfig, scenario: &Scenario) -> Self {
        let kind = match &config.application {
            Application::Bulk => Kind::Bulk,
            Application::Media(media) => Kind::Media(Box::new(Media::new(id, media, config, scenario.seed))),
            Application::OnOff(objects) => {
                Kind::ShortTransfers(Box::new(ShortTransfers::new(id, objects, config.start, scenario.seed)))
            }
        };
        let goal = match kind {
            Kind::Bulk => config.transfer.unwrap_or(u64::MAX),
            _ => u64::MAX,
        };
        let limit = if matches!(kind, Kind::Bulk) { goal } else { 0 };
        let mut source = Self { kind, pauses: Pauses::new(&config.pauses), limit, goal, next: Time::NEVER };
        source.next = source.due();
        source
    }

    /// Returns the time of the next event; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    fn due(&self) -> Time {
        let own = match &self.kind {
            Kind::Bulk => Time::NEVER,
            // A camera continues during a pause, but its frames are dropped.
            Kind::Media(media) => media.next(),
            Kind::ShortTransfers(_) if self.pauses.is_on() => Time::NEVER,
            Kind::ShortTransfers(objects) => objects.next(),
        };
        own.min(self.pauses.next())
    }

    /// Processes what is due. Reports whether that needs a new connection. `fresh` is the next byte
    /// to send. `allowed` is the rate that the controller allows, in bytes per second, if known.
    pub fn on_time(
        &mut self,
        now: Time,
        fresh: u64,
        allowed: impl FnOnce() -> Option<f64>,
        record: &mut Record,
    ) -> bool {
        self.pauses.on_time(now);
        let paused = self.pauses.is_on();
        let mut reconnects = false;
        match &mut self.kind {
            Kind::Media(media) if media.next() <= now => media.on_time(now, paused, allowed(), record),
            Kind::ShortTransfers(objects) if objects.next() <= now && !paused => {
                reconnects = objects.begin(now);
                let from = if reconnects { 0 } else { fresh };
                self.goal = from + objects.size();
            }
            _ => {}
        }
        if !matches!(self.kind, Kind::Media(_)) {
            let offered =
                if matches!(&self.kind, Kind::ShortTransfers(o) if !o.is_on()) { fresh } else { self.goal };
            self.limit = if paused { 0 } else { offered };
        }
        self.next = self.due();
        reconnects
    }

    /// Returns the number of bytes from `fresh` on that the next packet may carry.
    #[inline]
    pub fn offered(&mut self, now: Time, fresh: u64, record: &mut Record) -> u64 {
        if let Kind::Media(media) = &mut self.kind {
            return media.offered(now, fresh, record);
        }
        self.limit.saturating_sub(fresh)
    }

    /// Reports whether no arrival before byte `fresh` is sent can change what it offers.
    #[inline]
    pub fn can_run_ahead(&self, fresh: u64) -> bool {
        matches!(self.kind, Kind::Bulk) && fresh < self.goal
    }

    /// Reports whether lost bytes are sent again.
    #[inline]
    pub fn is_reliable(&self) -> bool {
        !matches!(self.kind, Kind::Media(_))
    }

    /// Takes the bytes from `start` to `end`. Reports whether the receiver has now received all
    /// that it will ever wait for.
    #[inline]
    pub fn on_received(
        &mut self,
        now: Time,
        (start, end): (u64, u64),
        contiguous: u64,
        record: &mut Record,
    ) -> bool {
        match &mut self.kind {
            Kind::Bulk => contiguous >= self.goal,
            Kind::Media(media) => {
                media.on_received(now, start, end, record);
                false
            }
            Kind::ShortTransfers(objects) => {
                if contiguous >= self.goal {
                    self.goal = u64::MAX;
                    objects.complete(now, record);
                    self.next = self.due();
                }
                false
            }
        }
    }

    /// Notes that a packet with the byte at `start` was declared lost.
    pub fn on_lost(&mut self, now: Time, start: u64, record: &mut Record) {
        if let Kind::Media(media) = &mut self.kind {
            media.on_lost(now, start, record);
        }
    }
}

/// Returns the rate that the controller allows, in bytes per second as the window counts them.
/// Before the first RTT sample a window is not a rate, and pacing rates derived from the initial
/// window should not be followed.
pub fn allowed_rate<P: recovery::Payload>(sender: &Sender<P>) -> Option<f64> {
    let (control, rtt) = (sender.control(), sender.rtt());
    let by_window = || control.cwnd as f64 / rtt.smoothed().as_secs_f64().max(1e-9);
    rtt.is_sampled().then(|| control.pacing_rate.map_or_else(by_window, units::Rate::bytes_per_sec))
}
