//! Pacing of a sender: the pacer, and the rate at which it releases packets.

use congestion::Control;
use units::{Duration, Rate, Time};

use crate::sender::config::{Config, Paced};
use crate::sender::pacer::Pacer;
use crate::sender::rtt::Rtt;

/// Pacing on one path.
#[derive(Clone, Debug)]
pub(super) struct PacedRelease {
    pacer: Pacer,
    /// Pacing rate of a window and the values from which it was computed, cached because it is read
    /// several times between two changes.
    window_rate: ((u64, u64, Duration), f64),
}

impl PacedRelease {
    /// Creates the state of a path that allows one burst at once.
    pub(super) fn new(config: &Config, mds: u64) -> Self {
        Self { pacer: Pacer::new(&config.pacing, mds), window_rate: ((0, 0, Duration::ZERO), 0.0) }
    }

    /// Returns the pacing rate in bytes per second, or `None` if this sender does not pace (yet).
    #[inline(always)] // once per packet: a call would cost 1 %
    fn rate(&mut self, config: &Config, control: &Control, rtt: &Rtt) -> Option<f64> {
        if let Some(rate) = own_rate(config, control) {
            return Some(rate.bytes_per_sec());
        }
        if !has_window_rate(config, rtt) {
            return None;
        }
        let from = (control.cwnd, control.ssthresh, rtt.smoothed());
        if self.window_rate.0 != from {
            self.window_rate = (from, rate_of_window(config, control, rtt.smoothed()));
        }
        Some(self.window_rate.1)
    }

    /// Returns the time at which a packet of `bytes` can be sent: `now` or later.
    #[inline]
    pub(super) fn release(
        &mut self,
        now: Time,
        bytes: u64,
        config: &Config,
        control: &Control,
        rtt: &Rtt,
    ) -> Time {
        let Some(rate) = self.rate(config, control, rtt) else { return now };
        self.pacer.release(now, bytes, rate, control.send_quantum)
    }

    /// Returns how many packets of `bytes` can be sent back to back now.
    pub(super) fn burst(
        &mut self,
        now: Time,
        bytes: u64,
        config: &Config,
        control: &Control,
        rtt: &Rtt,
    ) -> u64 {
        let Some(rate) = self.rate(config, control, rtt) else { return u64::MAX };
        self.pacer.burst(now, bytes, rate, control.send_quantum)
    }

    /// Records a sent packet.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, bytes: u64) {
        self.pacer.on_sent(now, bytes);
    }

    /// Records that the window blocks the next packet.
    #[inline]
    pub(super) fn on_window_full(&mut self) {
        self.pacer.on_window_full();
    }

    /// Changes the size of a full packet. Saved credit is kept.
    pub(super) fn set_max_datagram_size(&mut self, config: &Config, bytes: u64) {
        self.pacer.set_max_datagram_size(&config.pacing, bytes);
    }
}

/// Returns the pacing rate, or `None` if this sender does not pace (yet).
pub(super) fn rate(config: &Config, control: &Control, rtt: &Rtt) -> Option<Rate> {
    let of_window = || Rate::from_bytes_per_sec(rate_of_window(config, control, rtt.smoothed()));
    own_rate(config, control).or_else(|| has_window_rate(config, rtt).then(of_window))
}

/// Returns the rate of a sender in bytes per second, paced or not.
pub(super) fn rate_of_sender(config: &Config, control: &Control, rtt: &Rtt) -> f64 {
    let of_window = || rate_of_window(config, control, rtt.smoothed());
    own_rate(config, control).map_or_else(of_window, Rate::bytes_per_sec)
}

/// Returns the controller's own rate, if it is used.
#[inline]
fn own_rate(config: &Config, control: &Control) -> Option<Rate> {
    control.pacing_rate.filter(|_| config.paced != Paced::Never)
}

/// Reports whether packets are paced at the rate of the window. Before the first RTT sample, the
/// initial window can be sent at once (RFC 9002 section 7.7).
#[inline]
fn has_window_rate(config: &Config, rtt: &Rtt) -> bool {
    config.paced == Paced::Always && rtt.is_sampled()
}

/// Returns a multiple of `cwnd / smoothed_rtt`.
fn rate_of_window(config: &Config, control: &Control, smoothed: Duration) -> f64 {
    let pacing = &config.pacing;
    let early = (control.cwnd as f64) < control.ssthresh as f64 * pacing.slow_start_until;
    let factor = if early { pacing.slow_start_factor } else { pacing.factor };
    factor * control.cwnd as f64 / smoothed.as_secs_f64().max(1e-9)
}
