//! Window after an idle time: RFC 2861 (June 2000) as implemented in Linux, `tcp_cwnd_restart`.
//!
//! ```text
//! after idle > RTO:  ssthresh = max(ssthresh, 3/4 cwnd)
//!                    cwnd     = cwnd / 2 for each started RTO of idle time after the first,
//!                               but not below min(IW, cwnd)
//! ```
//!
//! RFC 5681 section 4.1 reduces the window to min(IW, cwnd) at once. Here an idle time of many RTOs
//! has the same effect. Slow start then returns the window to three quarters of its old size. The
//! sender asks for a restart only if nothing paces the old window. Linux rounds half a window down
//! to whole packets.

use crate::Idle;

/// Smallest `ssthresh`, as a part of the window. Linux `tcp_current_ssthresh`.
const KEPT: f64 = 0.75;

/// Returns window and `ssthresh` after an idle time. `initial` is IW; all are in the same unit.
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

    /// RTO 200 ms, 160 packets, as in Linux's loop
    /// `while ((delta -= rto) > 0 && cwnd > restart_cwnd) cwnd >>= 1`.
    #[test]
    fn half_per_rto() {
        for (ms, left) in
            [(201, 80.0), (400, 80.0), (401, 40.0), (601, 20.0), (801, 10.0), (1001, 10.0), (1 << 40, 10.0)]
        {
            assert_eq!(after(ms, 160.0, 50.0), (left, 120.0), "{ms} ms");
        }
    }

    /// A window below the initial one stays, and so does a larger `ssthresh`.
    #[test]
    fn floors() {
        assert_eq!(after(9000, 4.0, 50.0), (4.0, 50.0));
        assert_eq!(after(9000, 15.0, f64::INFINITY), (10.0, f64::INFINITY));
        let idle = Idle { now: Time::ZERO, idle: Duration::from_secs(1), rto: Duration::ZERO };
        assert_eq!(restart(&idle, 1e6, 0.0, 10.0).0, 10.0, "an RTO of nothing ends too");
    }
}
