//! What an application offers its flow, and when.
//!
//! The stream of a flow is bytes from 0 on. An application says up to where the next packet may go (`limit`): all at once
//! (bulk), frame by frame ([`media`]), object by object ([`short_transfers`]), or nothing more while it pauses. Simulated flows and guests
//! carry the same.

pub(crate) mod media;
mod pauses;
pub(crate) mod short_transfers;

use recovery::Sender;
use scenario::{Application, FlowConfig, Record, Scenario};
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

/// The application of one flow.
#[derive(Debug)]
pub struct Source {
    kind: Kind,
    pauses: Pauses,
    /// The next packet may carry the stream up to here.
    limit: u64,
    /// The receiver waits for all bytes before this one.
    goal: u64,
    /// When it has something to do.
    next: Time,
}

impl Source {
    /// Of flow number `id`, which names its random numbers.
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

    /// When it has something to do; [`Time::NEVER`] while it has nothing.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    fn due(&self) -> Time {
        let own = match &self.kind {
            Kind::Bulk => Time::NEVER,
            // A camera goes on during a pause, only unheard.
            Kind::Media(media) => media.next(),
            Kind::ShortTransfers(_) if self.pauses.is_on() => Time::NEVER,
            Kind::ShortTransfers(objects) => objects.next(),
        };
        own.min(self.pauses.next())
    }

    /// Does what is due; true if that asks for a new connection. `fresh` is the next byte to be sent, `allowed` what the
    /// controller lets it send, bytes per second, if that is known.
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

    /// How many bytes from `fresh` on the next packet may carry.
    #[inline]
    pub fn offered(&mut self, now: Time, fresh: u64, record: &mut Record) -> u64 {
        if let Kind::Media(media) = &mut self.kind {
            return media.offered(now, fresh, record);
        }
        self.limit.saturating_sub(fresh)
    }

    /// Whether nothing that arrives before the byte `fresh` has been sent can change what it offers.
    #[inline]
    pub(crate) fn leads(&self, fresh: u64) -> bool {
        matches!(self.kind, Kind::Bulk) && fresh < self.goal
    }

    /// Lost bytes are sent again.
    #[inline]
    pub fn is_reliable(&self) -> bool {
        !matches!(self.kind, Kind::Media(_))
    }

    /// Bytes from `start` to `end` arrive; true if those were the last that the receiver waits for, of all it will ever get.
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

    /// A packet with the byte at `start` counts as lost.
    pub fn on_lost(&mut self, now: Time, start: u64, record: &mut Record) {
        if let Kind::Media(media) = &mut self.kind {
            media.on_lost(now, start, record);
        }
    }
}

/// What the controller lets a flow send, bytes per second as the window counts them. Before the first RTT sample a window
/// is no rate, and rates that controllers derive from their first window are none that anybody should follow.
pub fn allowed_rate<P: recovery::Payload>(sender: &Sender<P>) -> Option<f64> {
    let (control, rtt) = (sender.control(), sender.rtt());
    let by_window = || control.cwnd as f64 / rtt.smoothed().as_secs_f64().max(1e-9);
    rtt.is_sampled().then(|| control.pacing_rate.map_or_else(by_window, units::Rate::bytes_per_sec))
}
