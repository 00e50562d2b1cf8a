//! What is noted of a controller that is none of ours: its window, and what became of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use congestion::{Cause, Control};
use sim::guest::Snapshot;
use units::Duration;

use crate::peer::News;

/// All handles are of the same notes.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    news: Vec<News>,
    seen: Snapshot,
}

impl Notes {
    /// An RTT: of the newest packet that an ACK acknowledges, as RFC 9002 section 5.1 takes it; and the estimate before it.
    pub(super) fn sample(&self, latest: Duration, smoothed: Duration) {
        let mut noted = self.lock();
        noted.seen.latest_rtt = Some(latest);
        noted.seen.smoothed_rtt = Some(smoothed);
        noted.news.push(News::Rtt(latest));
    }

    /// An ACK is processed, with so many bytes in flight afterwards.
    pub(super) fn settled(&self, control: Control, in_flight: u64) {
        let mut noted = self.lock();
        noted.seen.bytes_in_flight = Some(in_flight);
        noted.seen.cwnd = Some(control.cwnd);
        noted.news.push(News::Settled(control));
    }

    /// The window after a congestion event; `before` it. One that left it as it was is none: it was of the recovery period that was on.
    pub(super) fn congestion(&self, cause: Cause, before: u64, after: u64) {
        let mut noted = self.lock();
        noted.seen.cwnd = Some(after);
        if after < before {
            noted.news.push(News::Reduced(cause, after));
        }
    }

    /// The last reduction was undone, which left this window.
    #[cfg_attr(not(feature = "noq"), allow(dead_code, reason = "quinn does not look for it"))]
    pub(super) fn undone(&self, before: u64, after: u64) {
        let mut noted = self.lock();
        noted.seen.cwnd = Some(after);
        if after > before {
            noted.news.push(News::Undone);
        }
    }

    /// The window that it begins with.
    pub(super) fn begin(&self, cwnd: u64) {
        self.lock().seen.cwnd = Some(cwnd);
    }

    /// News since the last time.
    pub(super) fn take(&self) -> Vec<News> {
        std::mem::take(&mut self.lock().news)
    }

    /// How the sender stands, as far as its controller is told.
    pub(super) fn observe(&self) -> Snapshot {
        self.lock().seen
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        // Nobody panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_news() {
        let notes = Notes::default();
        notes.begin(12_000);
        notes.sample(Duration::from_millis(50), Duration::from_millis(60));
        notes.settled(Control::window(13_200), 5_000);
        notes.congestion(Cause::Loss, 13_200, 6_600);
        notes.congestion(Cause::Loss, 6_600, 6_600);
        notes.undone(6_600, 13_200);
        let seen = notes.clone().observe();
        assert_eq!((seen.cwnd, seen.bytes_in_flight), (Some(13_200), Some(5_000)));
        assert_eq!(seen.smoothed_rtt, Some(Duration::from_millis(60)));
        let news = notes.take();
        assert!(
            matches!(
                news[..],
                [News::Rtt(_), News::Settled(_), News::Reduced(Cause::Loss, 6_600), News::Undone]
            ),
            "{news:?}"
        );
        assert!(notes.take().is_empty());
    }
}
