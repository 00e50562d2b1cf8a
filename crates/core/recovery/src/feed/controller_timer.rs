//! The timer that a controller sets with [`Control::wake`].

use congestion::Control;
use units::Time;

/// State of the controller's timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControllerTimer {
    /// Time of the latest event. The timer cannot be due before it.
    latest: Time,
    /// Time of the last call. Earlier wake times count as served; otherwise a controller that names
    /// a past time would be called forever.
    served: Option<Time>,
}

impl ControllerTimer {
    /// Records the time of an event.
    #[inline]
    pub fn on_event(&mut self, now: Time) {
        self.latest = now;
    }

    /// Records a call of the controller.
    pub fn on_called(&mut self, now: Time) {
        self.served = Some(now);
    }

    /// Returns the time to call the controller, or [`Time::NEVER`].
    #[inline]
    pub fn due(&self, control: &Control) -> Time {
        if control.wake == Time::NEVER || self.served.is_some_and(|served| control.wake <= served) {
            return Time::NEVER;
        }
        control.wake.max(self.latest)
    }
}
