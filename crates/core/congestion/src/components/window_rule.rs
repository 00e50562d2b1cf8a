//! Window controllers: a rule decides how the window grows and what an event leaves of it. Slow
//! start, timeouts, persistent congestion, undo, idle restart and path changes are common.
//!
//! ```text
//! ACK                     slow start, see `slow_start`, or the rule's `grow`
//! loss, mark, delay       ssthresh = cwnd = the rule's `reduce`
//! timeout                 ssthresh likewise, kept if the timeout is repeated; cwnd = 1 packet   (RFC 5681 section 3.1)
//! persistent congestion   cwnd = smallest window; ssthresh stays                                (RFC 9002 section 7.6.2)
//! spurious loss, timeout  the state before the event, see `undo`
//! ```
//!
//! A rule that differs in one of these overrides its method.

use core::fmt::Debug;

use crate::components::careful_resume::{CarefulResume, Change, Saved, Sizes};
use crate::components::count::{Count, Counting};
use crate::components::rate_limited::{MaxFlight, unused};
use crate::components::slow_start::Kind;
use crate::components::undo::Undo;
use crate::components::window::{Memory, Unit, Window};
use crate::{
    Ack, Cause, Congestion, Control, Controller, Idle, Needs, PathInfo, Sent, initial_window_or_default,
};

/// Parameters that most rules have. Defaults are those of RFC 9002.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Initial window in packets. `None` is RFC 9002's.
    pub initial_window: Option<u64>,
    /// Upper limit of the initial window in bytes, but at least the smallest window.
    pub initial_limit: u64,
    /// Smallest window, packets.
    pub min_window: u64,
    /// Window after a timeout, packets.
    pub loss_window: u64,
    /// Quantity that grows the window.
    pub count: Count,
    /// Largest growth per ACK in slow start, packets.
    pub abc_limit: Option<u64>,
    /// Growth and exit of slow start.
    pub slow_start: Kind,
    /// An earlier connection to resume, see `careful_resume`.
    pub resume: Option<Saved>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            initial_window: None,
            initial_limit: u64::MAX,
            min_window: 2,
            loss_window: 1,
            count: Count::Bytes,
            abc_limit: None,
            slow_start: Kind::Standard,
            resume: None,
        }
    }
}

impl Options {
    /// Returns the initial window in bytes.
    fn initial(&self, mds: u64) -> u64 {
        let least = self.min_window.saturating_mul(mds);
        initial_window_or_default(self.initial_window, mds).min(self.initial_limit.max(least))
    }
}

/// Builds [`Options`] from parameters with the usual names.
macro_rules! options {
    ($p:expr) => {
        $crate::components::window_rule::Options {
            initial_window: $p.initial_window,
            min_window: $p.min_window,
            count: $p.count,
            abc_limit: $p.abc_limit,
            slow_start: $p.slow_start,
            ..Default::default()
        }
    };
}
pub(crate) use options;

/// Declares [`params!`](crate::params) with those of [`options!`] at the end.
macro_rules! window_params {
    (initial_window = $initial:expr, count = $count:ident; $($own:tt)*) => {
        $crate::params! {
            $($own)*
            /// Smallest window, packets. RFC 5681 equation 4, Linux.
            min_window: u64 = 2 => $crate::Range::PACKETS,
            /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
            #[serde(with = "units::or_auto")]
            initial_window: Option<u64> = $initial => $crate::Range::PACKETS,
            /// Quantity that grows the window: `bytes` acknowledged (RFC 9002), `packets` (Linux),
            #[doc = $crate::components::count::others!()]
            count: $crate::components::count::Count = $crate::components::count::Count::$count,
            /// L, largest growth per ACK in slow start, packets, or `"off"`. RFC 3465 section 2.2 has
            /// 2; RFC 9002 and Linux none.
            #[serde(with = "units::or_off")]
            abc_limit: Option<u64> = None => $crate::Range::COUNT,
            #[doc = $crate::components::slow_start::values!()]
            slow_start: $crate::components::slow_start::Kind = $crate::components::slow_start::Kind::Standard,
        }
    };
}
pub(crate) use window_params;

/// A window with everything that does not depend on the rule.
#[derive(Clone, Debug)]
pub struct Frame<U, M = ()> {
    options: Options,
    pub(crate) counting: Counting,
    max_flight: MaxFlight,
    /// Careful Resume until it is over. It needs a pacer.
    pub(super) resume: Option<CarefulResume>,
    /// The window.
    pub window: Window<U, M>,
    undo: Undo<Window<U, M>>,
}

impl<U: Unit, M: Memory> Frame<U, M> {
    /// Creates a window in slow start.
    pub fn new(options: Options, memory: M, path: PathInfo) -> Self {
        let mds = path.max_datagram_size.max(1);
        let initial = U::from_bytes(options.initial(mds), mds);
        Self {
            max_flight: MaxFlight::new(options.initial(mds)),
            resume: options.resume.filter(|_| path.paced).map(CarefulResume::new),
            counting: Counting { count: options.count, limit: options.abc_limit, mds },
            window: Window::new(initial, options.slow_start, memory, path),
            undo: Undo::new(),
            options,
        }
    }

    /// Returns the size of a packet in bytes.
    pub fn mds(&self) -> u64 {
        self.counting.mds
    }

    /// Converts bytes to the unit of the window.
    fn units(&self, bytes: u64) -> U {
        U::from_bytes(bytes, self.mds())
    }

    /// Returns the initial window.
    pub fn initial(&self) -> U {
        self.units(self.options.initial(self.mds()))
    }

    /// Returns the smallest window.
    pub fn min_window(&self) -> U {
        self.units(self.options.min_window.saturating_mul(self.mds()))
    }

    /// Returns the window after a timeout.
    pub fn loss_window(&self) -> U {
        self.units(self.options.loss_window.saturating_mul(self.mds()))
    }

    /// Returns what an ACK counts for in congestion avoidance.
    pub fn counted(&self, ack: &Ack) -> U {
        self.units(self.counting.in_avoidance(ack))
    }

    /// Grows the window in slow start by `share` of what the ACK counts for.
    pub fn slow_start(&mut self, ack: &Ack, share: impl FnOnce(U) -> U) {
        let grown = self.window.slow_start.growth(self.counting.in_slow_start(ack));
        self.window.cwnd = self.window.cwnd + share(self.units(grown));
        let bytes = self.window.cwnd.to_bytes(self.mds());
        let drained = self.window.slow_start.drain(ack, bytes);
        if drained < bytes {
            self.window.cwnd = self.units(drained);
        }
        if self.window.slow_start.ended(ack, drained) {
            self.window.ssthresh = self.window.cwnd;
        }
    }

    /// Returns what grows a window that was not used, in bytes, and the limit of the window. `None`
    /// if it was used, or must not grow otherwise.
    fn unused(&self, ack: &Ack, stands_still: bool) -> Option<(u64, U)> {
        let slow_start = self.window.in_slow_start();
        let may_grow = self.options.count == Count::RateLimited && (slow_start || !stands_still);
        let growth = unused(ack).filter(|_| may_grow)?;
        Some((growth, self.units(self.max_flight.limit(slow_start, self.mds()))))
    }

    /// Ends an event that found the window `before` and may not have grown it beyond `limit`.
    fn settle(&mut self, before: U, limit: Option<U>) {
        if let Some(limit) = limit {
            let most = if limit > before { limit } else { before };
            self.window.cwnd = if self.window.cwnd > most { most } else { self.window.cwnd };
        }
        if self.window.cwnd < before {
            self.max_flight.on_reduction();
        }
    }

    /// Applies what Careful Resume demands at an event.
    fn resume(&mut self, demand: impl FnOnce(&mut CarefulResume, Sizes) -> Option<Change>) {
        let (cwnd, mds) = (self.window.cwnd.to_bytes(self.mds()), self.mds());
        let Some(resume) = &mut self.resume else { return };
        let change = demand(resume, Sizes { cwnd, initial: self.options.initial(mds), mds });
        self.resume.take_if(|resume| resume.is_over());
        match change {
            Some(Change::Cwnd(bytes)) => self.window.cwnd = self.units(bytes),
            Some(Change::Retreat(bytes)) => {
                let least = self.options.min_window.saturating_mul(mds);
                self.window.cwnd = self.units(bytes.max(least).min(cwnd));
            }
            Some(Change::Ssthresh(bytes)) => self.window.ssthresh = self.units(bytes),
            None => {}
        }
    }

    /// Changes the window and the state that an undo would restore.
    pub fn each_window(&mut self, change: impl FnMut(&mut Window<U, M>)) {
        self.undo.each(&mut self.window, change);
    }
}

/// Rule by which a controller grows and reduces its window. Often the parameters are the rule.
///
/// ```
/// use ackclock_congestion::components::window_rule::{Frame, Options, WindowController, WindowRule};
/// use ackclock_congestion::{Ack, Congestion, Controller, PathInfo};
///
/// /// One packet more per round trip, 80 % after a loss.
/// #[derive(Clone, Debug)]
/// struct Gentle;
///
/// impl WindowRule for Gentle {
///     type Unit = f64;
///     type Memory = ();
///     fn begin(&self) -> (Options, ()) {
///         (Options::default(), ())
///     }
///     fn grow(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
///         frame.window.cwnd += frame.counted(ack) / frame.window.cwnd;
///     }
///     fn reduce(&mut self, frame: &mut Frame<f64>, _: &Congestion) -> f64 {
///         (0.8 * frame.window.cwnd).max(frame.min_window())
///     }
/// }
///
/// let mut gentle = WindowController::<Gentle>::new(Gentle, PathInfo::default());
/// gentle.on_ack(&Ack { acked: 12_000, growth: 12_000, ..Ack::default() });
/// assert_eq!(gentle.control().cwnd, 24_000);
/// ```
pub trait WindowRule: Clone + Debug + Send + Sync + 'static {
    /// Unit of the window.
    type Unit: Unit;
    /// Memory that an undo restores with the window, or `()`.
    type Memory: Memory;

    /// Returns the options of the window and the first memory.
    fn begin(&self) -> (Options, Self::Memory);
    /// Grows the window by an ACK outside of slow start.
    fn grow(&mut self, frame: &mut Framed<Self>, ack: &Ack);
    /// Returns the window after a loss, a mark or a delay event, and `ssthresh` after a timeout.
    fn reduce(&mut self, frame: &mut Framed<Self>, event: &Congestion) -> Self::Unit;

    /// Grows the window by an ACK in slow start.
    fn slow_start(&mut self, frame: &mut Framed<Self>, ack: &Ack) {
        frame.slow_start(ack, |grown| grown);
    }
    /// Responds to an event. `repeated` is a timeout that follows another one without an ACK in
    /// between.
    fn on_congestion(&mut self, frame: &mut Framed<Self>, event: &Congestion, repeated: bool) {
        let reduced = self.reduce(frame, event);
        let ssthresh = frame.window.ssthresh;
        let (cwnd, ssthresh) = match event.cause {
            Cause::Loss | Cause::Ecn | Cause::Delay => (reduced, reduced),
            Cause::PersistentCongestion => (self.collapsed(frame), ssthresh),
            Cause::Timeout => (frame.loss_window(), if repeated { ssthresh } else { reduced }),
        };
        frame.window.shrink(cwnd, ssthresh);
    }
    /// Returns the window after persistent congestion.
    fn collapsed(&self, frame: &Framed<Self>) -> Self::Unit {
        frame.min_window()
    }
    /// Reports a sent packet.
    fn on_sent(&mut self, _: &mut Framed<Self>, _: &Sent) {}
    /// Reports an ACK before it grows the window.
    fn on_ack(&mut self, _: &mut Framed<Self>, _: &Ack) {}
    /// Returns the cause of a congestion event to ask for, once the ACK has grown the window.
    fn request(&mut self) -> Option<Cause> {
        None
    }
    /// Reports whether a window that is not used stands still in congestion avoidance, also where
    /// `rate_limited` lets it grow.
    fn stands_still(&self) -> bool {
        false
    }
    /// Returns the signals that the rule depends on.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// Reports that the window was restarted after an idle time.
    fn on_restart(&mut self, _: &mut Framed<Self>) {}
    /// Reports that the packet size changed, with the old size over the new one.
    fn on_resize(&mut self, _: &mut Framed<Self>, _ratio: f64) {}
    /// Reports the variables besides `ssthresh`.
    fn trace(&self, _: &Framed<Self>, _put: &mut dyn FnMut(&'static str, f64)) {}
}

/// The window of a rule.
pub type Framed<R> = Frame<<R as WindowRule>::Unit, <R as WindowRule>::Memory>;

/// A window with its rule.
#[derive(Clone, Debug)]
pub struct WindowController<R: WindowRule> {
    pub(crate) rule: R,
    pub(crate) frame: Framed<R>,
}

impl<R: WindowRule> WindowController<R> {
    /// Creates a controller in slow start.
    pub fn new(rule: impl Into<R>, path: PathInfo) -> Self {
        let rule = rule.into();
        let (options, memory) = rule.begin();
        Self { rule, frame: Frame::new(options, memory, path) }
    }
}

impl<R: WindowRule> Controller for WindowController<R> {
    fn on_sent(&mut self, sent: &Sent) {
        self.frame.window.slow_start.on_sent(sent);
        self.frame.max_flight.on_sent(sent.bytes_in_flight);
        self.rule.on_sent(&mut self.frame, sent);
        self.frame.resume(|resume, sizes| resume.on_sent(sent, sizes));
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let Self { rule, frame } = self;
        let (before, unused) = (frame.window.cwnd, frame.unused(ack, rule.stands_still()));
        let ack = &Ack { growth: unused.map_or(ack.growth, |(growth, _)| growth), ..*ack };
        frame.undo.on_ack(ack);
        rule.on_ack(frame, ack);
        let held = frame.resume.as_ref().is_some_and(CarefulResume::holds);
        if !held && frame.window.in_slow_start() {
            rule.slow_start(frame, ack);
        } else if !held {
            rule.grow(frame, ack);
        }
        frame.settle(before, unused.map(|(_, limit)| limit));
        frame.resume(|resume, sizes| resume.on_ack(ack, sizes));
        rule.request()
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let before = self.frame.window.cwnd;
        let repeated = self.frame.undo.on_congestion(event.cause, &self.frame.window);
        self.rule.on_congestion(&mut self.frame, event, repeated);
        self.frame.resume(|resume, _| resume.on_congestion(event.cause));
        self.frame.settle(before, None);
    }

    fn on_spurious(&mut self) {
        self.frame.resume = None;
        self.frame.undo.restore(&mut self.frame.window, |window| window.cwnd);
    }

    fn on_idle(&mut self, idle: &Idle) {
        self.frame.resume = None;
        let (before, initial) = (self.frame.window.cwnd, self.frame.initial());
        self.frame.window.restart(idle, initial);
        self.rule.on_restart(&mut self.frame);
        self.frame.settle(before, None);
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let (after, min) = (path.max_datagram_size.max(1), self.frame.options.min_window);
        let before = core::mem::replace(&mut self.frame.counting.mds, after);
        self.frame.each_window(|window| window.on_path_change(before, path, min));
        self.rule.on_resize(&mut self.frame, before as f64 / after as f64);
    }

    fn needs(&self) -> Needs {
        self.rule.needs()
    }

    fn control(&self) -> Control {
        self.frame.window.control(self.frame.mds())
    }

    /// Reports `ssthresh` in bytes, like [`Control::cwnd`], then the variables of the rule.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("ssthresh", self.frame.window.ssthresh_bytes(self.frame.mds()));
        self.rule.trace(&self.frame, put);
    }
}
