//! What an idle time leaves of a window: RFC 2861 (June 2000) as Linux has it, `tcp_cwnd_restart`.
//!
//! ```text
//! after idle > RTO:  ssthresh = max(ssthresh, 3/4 cwnd)
//!                    cwnd     = cwnd / 2 for each RTO of idle time beyond the first, that begun included,
//!                               but not below min(IW, cwnd)
//! ```
//!
//! RFC 5681 section 4.1 goes to min(IW, cwnd) at once, which an idle time of many RTOs does here too. Slow start then takes
//! the window back to three quarters of what it was. The sender asks for it only where nothing paces the old window.
//! Linux rounds half a window down to whole packets.

use crate::Idle;

/// The least `ssthresh`, as a part of the window. Linux `tcp_current_ssthresh`.
const KEPT: f64 = 0.75;

/// Window and `ssthresh` after it. `initial` is IW; all in one unit.
pub(crate) fn restart(idle: &Idle, cwnd: f64, ssthresh: f64, initial: f64) -> (f64, f64) {
    let least = initial.min(cwnd);
    let (mut left, mut rtos) = (cwnd, idle.rto);
    while rtos < idle.idle && left > least {
        left /= 2.0;
        rtos = rtos + idle.rto;
    }
    (left.max(least), ssthresh.max(KEPT * cwnd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Duration, Time};

    fn after(ms: u64, cwnd: f64, ssthresh: f64) -> (f64, f64) {
        let [idle, rto] = [ms, 200].map(Duration::from_millis);
        restart(&Idle { now: Time::ZERO, idle, rto }, cwnd, ssthresh, 10.0)
    }

    /// RTO 200 ms, 160 packets: Linux' loop `while ((delta -= rto) > 0 && cwnd > restart_cwnd) cwnd >>= 1`.
    #[test]
    fn half_per_rto() {
        for (ms, left) in
            [(201, 80.0), (400, 80.0), (401, 40.0), (601, 20.0), (801, 10.0), (1001, 10.0), (1 << 40, 10.0)]
        {
            assert_eq!(after(ms, 160.0, 50.0), (left, 120.0), "{ms} ms");
        }
    }

    /// A window below the initial one stays, a higher `ssthresh` too.
    #[test]
    fn floors() {
        assert_eq!(after(9000, 4.0, 50.0), (4.0, 50.0));
        assert_eq!(after(9000, 15.0, f64::INFINITY), (10.0, f64::INFINITY));
        let idle = Idle { now: Time::ZERO, idle: Duration::from_secs(1), rto: Duration::ZERO };
        assert_eq!(restart(&idle, 1e6, 0.0, 10.0).0, 10.0, "an RTO of nothing ends too");
    }
}
