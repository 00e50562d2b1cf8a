//! A controller in another stack, whom we can look at: what it is told, and what it has made of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use congestion::{Ack, Cause, Congestion, Control, Controller, Idle, Lost, Needs, PathInfo, Sent};
use sim::guest::Snapshot;
use units::Time;

use crate::peer::News;

/// A controller, and news of it for someone who has the other handle.
#[derive(Debug)]
pub(crate) struct Spy(Arc<Mutex<Watched>>);

#[derive(Clone, Debug)]
struct Watched {
    controller: Box<dyn Controller>,
    news: Vec<News>,
    seen: Snapshot,
}

impl Spy {
    /// Nothing told yet.
    pub(crate) fn new(controller: Box<dyn Controller>) -> Self {
        let watched = Watched { controller, news: Vec::new(), seen: Snapshot::default() };
        Self(Arc::new(Mutex::new(watched)))
    }

    /// Another handle of the same controller, which is exchanged for this one.
    pub(crate) fn begin(&self, controller: Box<dyn Controller>) -> Self {
        let watched = Watched { controller, news: Vec::new(), seen: Snapshot::default() };
        *self.lock() = watched;
        Self(Arc::clone(&self.0))
    }

    /// A third.
    pub(crate) fn handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// News since the last time.
    pub(crate) fn take(&self) -> Vec<News> {
        std::mem::take(&mut self.lock().news)
    }

    /// How the sender stands, as far as its controller is told.
    pub(crate) fn observe(&self) -> Snapshot {
        let watched = self.lock();
        Snapshot { cwnd: Some(watched.controller.control().cwnd), ..watched.seen }
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        // Nobody panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For another path: a controller of its own, at which nobody looks.
impl Clone for Spy {
    fn clone(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }
}

impl Controller for Spy {
    fn on_sent(&mut self, sent: &Sent) {
        let mut watched = self.lock();
        watched.seen.bytes_in_flight = Some(sent.bytes_in_flight);
        watched.controller.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let mut watched = self.lock();
        watched.seen.bytes_in_flight = Some(ack.bytes_in_flight);
        if let Some(sample) = ack.latest_rtt {
            watched.seen.latest_rtt = Some(sample);
            watched.seen.smoothed_rtt = Some(ack.smoothed_rtt);
            watched.news.push(News::Rtt(sample));
        }
        let asked = watched.controller.on_ack(ack);
        let control = watched.controller.control();
        watched.news.push(News::Settled(control));
        asked
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let mut watched = self.lock();
        watched.controller.on_congestion(event);
        let cwnd = watched.controller.control().cwnd;
        watched.news.push(News::Reduced(event.cause, cwnd));
    }

    fn on_lost(&mut self, lost: &Lost) {
        let mut watched = self.lock();
        watched.seen.bytes_in_flight = Some(lost.bytes_in_flight);
        watched.controller.on_lost(lost);
    }

    fn on_spurious(&mut self) {
        let mut watched = self.lock();
        watched.controller.on_spurious();
        watched.news.push(News::Undone);
    }

    fn on_idle(&mut self, idle: &Idle) {
        self.lock().controller.on_idle(idle);
    }

    fn on_timer(&mut self, now: Time) {
        self.lock().controller.on_timer(now);
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.lock().controller.on_path_change(path);
    }

    fn needs(&self) -> Needs {
        self.lock().controller.needs()
    }

    fn shapes_recovery(&self) -> bool {
        self.lock().controller.shapes_recovery()
    }

    fn control(&self) -> Control {
        self.lock().controller.control()
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.lock().controller.trace(put);
    }
}
