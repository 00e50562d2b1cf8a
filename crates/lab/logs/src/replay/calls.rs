//! Makes the calls of a log again.

use congestion::{Algorithm, Cause, Congestion, Controller, Idle, Needs};
use recovery::feed::ControllerTimer;
use scenario::signal::{AckSignal, Call, Path, Signal};
use units::{Duration, Time};

use super::distance::{Moment, Windows};
use super::rate::Rates;
use super::sane::Sanity;

/// Largest number of calls of a controller's timer between two calls of the log.
const MOST_TIMERS: usize = 10_000;

/// Controller that receives the calls of another.
///
/// The controller of the log receives exactly its calls. Another one has timers and reductions of
/// its own: those that the logged controller asked for are left out.
#[derive(Debug)]
pub(super) struct Calls {
    algorithm: Algorithm,
    is_same: bool,
    controller: Option<Box<dyn Controller>>,
    needs: Needs,
    timer: ControllerTimer,
    rates: Rates,
    next_pn: u64,
    /// Packets below this number were sent before the last reduction that the controller asked for.
    reduced_below: u64,
    /// A packet arrived, and one with a receive time.
    has_packets: bool,
    has_receive_times: bool,
    sanity: Sanity,
    /// Windows after the last ACK, with its time.
    pending: Option<(Time, Moment)>,
    damaged: Option<Time>,
}

impl Calls {
    pub(super) fn new(algorithm: Algorithm, is_same: bool) -> Self {
        Self {
            algorithm,
            is_same,
            controller: None,
            needs: Needs::default(),
            timer: ControllerTimer::default(),
            rates: Rates::default(),
            next_pn: 0,
            reduced_below: 0,
            has_packets: false,
            has_receive_times: false,
            sanity: Sanity::default(),
            pending: None,
            damaged: None,
        }
    }

    /// Returns the time of a call that no sender makes. What follows is not replayed.
    pub(super) fn damaged(&self) -> Option<Time> {
        self.damaged
    }

    /// Returns what the controller needs and the log does not have.
    pub(super) fn lacks(&self) -> Option<&'static str> {
        let needs = self.needs.receive_times || self.needs.every_receive_time;
        let lacks = needs && self.has_packets && !self.has_receive_times && !self.is_same;
        lacks.then_some("the receive time of packets")
    }

    /// Makes a call, and compares the windows after an ACK. `at` is the time of the log.
    pub(super) fn on_call(&mut self, at: Time, call: &Call, windows: &mut Windows) {
        if self.damaged.is_some() {
            return;
        }
        if !self.sanity.accepts(call) {
            self.damaged = Some(at);
            return;
        }
        let Call(now, logged, signal) = call;
        let now = Time(*now);
        if let Signal::Begins(path) = signal {
            self.finish(windows);
            return self.begin(now, *path);
        }
        // A reduction that the controller asked for belongs to its ACK.
        let asked = matches!(signal, Signal::Congestion(event) if event.cause == Cause::Delay);
        if !asked || self.pending.is_some_and(|pending| pending.0 != now) {
            self.finish(windows);
        }
        self.run_timers(now);
        self.apply(now, signal);
        let Some(controller) = &self.controller else { return };
        if matches!(signal, Signal::Ack(_)) || asked && self.pending.is_some() {
            let moment = Moment { at, logged: *logged, replayed: controller.control().cwnd };
            self.pending = Some((now, moment));
        }
    }

    /// Compares the windows after the last ACK.
    pub(super) fn finish(&mut self, windows: &mut Windows) {
        if let Some((_, moment)) = self.pending.take() {
            windows.add(moment);
        }
    }

    fn begin(&mut self, now: Time, path: Path) {
        let controller = self.algorithm.build(path.into());
        self.needs = controller.needs();
        self.controller = Some(controller);
        self.timer = ControllerTimer::default();
        self.timer.on_event(now);
        (self.rates, self.next_pn, self.reduced_below) = (Rates::default(), 0, 0);
    }

    /// Calls the controller's own timers up to this time.
    fn run_timers(&mut self, now: Time) {
        let Some(controller) = self.controller.as_mut().filter(|_| !self.is_same) else { return };
        for _ in 0..MOST_TIMERS {
            let due = self.timer.due(&controller.control());
            if due >= now {
                break;
            }
            self.timer.on_called(due);
            controller.on_timer(due);
        }
        self.timer.on_event(now);
    }

    fn apply(&mut self, now: Time, signal: &Signal) {
        let Some(controller) = &mut self.controller else { return };
        match signal {
            Signal::Begins(_) => {}
            Signal::Sent(sent) => {
                let sent = sent.sent(now);
                self.next_pn = sent.pn + 1;
                if self.needs.rate_samples && !self.is_same {
                    self.rates.on_sent(&sent);
                }
                controller.on_sent(&sent);
            }
            Signal::Ack(ack) => self.on_ack(now, ack),
            Signal::Lost(lost) => {
                let mut packets = lost.packets();
                if self.needs.rate_samples && !self.is_same {
                    self.rates.on_lost(&mut packets);
                }
                controller.on_lost(&lost.lost(now, &packets));
            }
            Signal::Congestion(event) => {
                if self.is_same || event.cause != Cause::Delay {
                    controller.on_congestion(&event.event(now));
                }
            }
            Signal::Spurious => controller.on_spurious(),
            Signal::Idle(idle, rto) => {
                controller.on_idle(&Idle { now, idle: Duration(*idle), rto: Duration(*rto) });
            }
            Signal::Timer => {
                if self.is_same {
                    controller.on_timer(now);
                }
            }
            Signal::Path(path) => controller.on_path_change((*path).into()),
        }
    }

    fn on_ack(&mut self, now: Time, signal: &AckSignal) {
        let Some(controller) = &mut self.controller else { return };
        let mut packets = signal.packets();
        self.has_packets |= !packets.is_empty();
        self.has_receive_times |= packets.iter().any(|packet| packet.received.is_some());
        // The log knows only the reductions of its own controller.
        let mut held = 0;
        for packet in packets.iter_mut().filter(|packet| packet.pn < self.reduced_below) {
            held += if packet.before_reduction { 0 } else { packet.bytes };
            packet.before_reduction = true;
        }
        let newest = packets.iter().map(|packet| packet.pn).max();
        let is_covered = packets.iter().any(|packet| Some(packet.pn) == newest && packet.before_reduction);
        let mut ack = signal.ack(now, &packets);
        ack.growth = ack.growth.saturating_sub(held);
        ack.in_recovery |= newest.is_some_and(|newest| newest < self.reduced_below);
        if self.needs.rate_samples && !self.is_same {
            let own = self.rates.on_ack(&ack);
            ack.rate = ack.rate.or(own);
        }
        let asked = controller.on_ack(&ack).filter(|_| !self.is_same && !is_covered);
        if let Some(cause) = asked {
            self.reduced_below = self.next_pn;
            controller.on_congestion(&Congestion {
                now,
                cause,
                prior_in_flight: ack.prior_in_flight,
                min_rtt: ack.min_rtt,
                smoothed_rtt: ack.smoothed_rtt,
            });
        }
    }
}
