//! When a controller is to be called that asked for it by [`Control::wake`].

use congestion::Control;
use units::Time;

/// What is known of the controller's timer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ControllerTimer {
    /// The latest event: nothing can be done before it.
    latest: Time,
    /// When the controller was called last. What it asks for up to then has been served, or a controller that names a time in the
    /// past would be called for ever.
    served: Option<Time>,
}

impl ControllerTimer {
    /// Something happens.
    #[inline]
    pub(crate) fn on_event(&mut self, now: Time) {
        self.latest = now;
    }

    /// The controller is called.
    pub(crate) fn on_called(&mut self, now: Time) {
        self.served = Some(now);
    }

    /// When to call it, or [`Time::NEVER`].
    #[inline]
    pub(crate) fn due(&self, control: &Control) -> Time {
        if control.wake == Time::NEVER || self.served.is_some_and(|served| control.wake <= served) {
            return Time::NEVER;
        }
        control.wake.max(self.latest)
    }
}
