//! Closed forms for a long flow alone, for the controllers that have one with their own constants.
//!
//! ```text
//! Reno, random loss p    W = sqrt(3 / (2 p)) packets                                     Mathis et al. 1997
//! CUBIC                  W = (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4),      RFC 9438 section 5.1
//!                        or Reno's, if that is more
//! goodput                W payload / RTT, at most the capacity of the link
//! after a reduction      beta (1 + b) BDP of a queue of b BDP that overflows: below 1    Appenzeller et al. 2004, for beta 1/2
//!                        the link idles
//! CUBIC's recovery       K = cbrt(W (1 - beta) / C) seconds                              RFC 9438 section 4.2, equation 2
//! ```

use serde::Serialize;

/// CUBIC's constants, RFC 9438 sections 4.6 and 5.
const C: f64 = 0.4;
const CUBIC_BETA: f64 = 0.7;
const RENO_BETA: f64 = 0.5;

/// The network in the terms of the formulas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Path {
    /// Capacity of the link for payload, in bits per second.
    pub(super) capacity: f64,
    /// Base RTT, seconds.
    pub(super) rtt: f64,
    /// Payload of a packet, bits.
    pub(super) payload: f64,
    /// Probability of random loss, 0 to 1.
    pub(super) loss: f64,
    /// Size of the queue in BDP, if it has a limit.
    pub(super) queue: Option<f64>,
}

/// Returns the goodput in Mbit/s, and the source of the formula.
pub(super) fn goodput(algorithm: &str, path: &Path) -> Option<(f64, &'static str)> {
    if path.loss == 0.0 || path.loss >= 1.0 {
        return None;
    }
    let reno = (1.5 / path.loss).sqrt();
    let (window, source) = match algorithm {
        "new-reno" | "tcp-reno" => (reno, "Mathis et al. 1997"),
        "cubic" => (cubic(path).max(reno), "RFC 9438 section 5.1"),
        _ => return None,
    };
    Some(((window * path.payload / path.rtt).min(path.capacity) * 1e-6, source))
}

fn cubic(path: &Path) -> f64 {
    let factor = libm::pow(C * (3.0 + CUBIC_BETA) / (4.0 * (1.0 - CUBIC_BETA)), 0.25);
    factor * libm::pow(path.rtt / path.loss, 0.75)
}

/// Returns the window after a reduction from a full queue, in BDP. Below 1 the link idles.
pub(super) fn after_reduction(algorithm: &str, path: &Path) -> Option<f64> {
    let beta = match algorithm {
        "new-reno" | "tcp-reno" => RENO_BETA,
        "cubic" => CUBIC_BETA,
        _ => return None,
    };
    path.queue.map(|queue| beta * (1.0 + queue))
}

/// Returns the seconds that CUBIC needs to grow back to a window that fills link and queue: the
/// longest cycle of a long flow.
pub(super) fn cubic_cycle(path: &Path) -> f64 {
    let full = path.capacity * path.rtt / path.payload * (1.0 + path.queue.unwrap_or(1.0).min(4.0));
    libm::cbrt(full * (1.0 - CUBIC_BETA) / C)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path { capacity: 100e6, rtt: 0.08, payload: 9720.0, loss: 1e-4, queue: Some(0.3) };

    /// CUBIC's windows are those of RFC 9438 section 5.1, Table 1 (RTT 0.1 s, C = 0.4). Reno's
    /// windows there are 120, 379 and 1200, because the RFC takes 1.2 for sqrt(1.5), 2 % less.
    #[test]
    fn the_table_of_rfc_9438() {
        for (loss, reno, with_cubic) in [(1e-4, 122.5, 187.0), (1e-5, 387.3, 1054.0), (1e-6, 1224.7, 5926.0)]
        {
            let path = Path { rtt: 0.1, loss, capacity: 1e12, ..PATH };
            let packets = |name| goodput(name, &path).unwrap().0 * 1e6 * path.rtt / path.payload;
            assert!((packets("new-reno") / reno - 1.0).abs() < 0.01, "{loss}: {}", packets("new-reno"));
            assert!((packets("cubic") / with_cubic - 1.0).abs() < 0.01, "{loss}: {}", packets("cubic"));
        }
    }

    #[test]
    fn no_more_than_the_link_and_nothing_without_loss() {
        assert_eq!(goodput("cubic", &Path { loss: 1e-9, ..PATH }), Some((100.0, "RFC 9438 section 5.1")));
        assert_eq!(goodput("cubic", &Path { loss: 0.0, ..PATH }), None);
        assert_eq!(goodput("cubic", &Path { loss: 1.0, ..PATH }), None, "nothing arrives");
        assert_eq!(goodput("bbr3", &PATH), None);
    }

    /// A full pipe of 1000 packets takes cbrt(1000 * 0.3 / 0.4) seconds. A queue without a limit
    /// counts as 1 BDP, a long one as 4.
    #[test]
    fn the_time_back_to_the_last_window() {
        let path = Path { capacity: 1e8, rtt: 0.1, payload: 1e4, loss: 0.0, queue: Some(0.0) };
        assert!((cubic_cycle(&path) - 9.0856).abs() < 1e-4);
        assert!((cubic_cycle(&Path { queue: None, ..path }) - 11.4471).abs() < 1e-4);
        assert_eq!(
            cubic_cycle(&Path { queue: Some(7.0), ..path }),
            cubic_cycle(&Path { queue: Some(4.0), ..path })
        );
    }

    #[test]
    fn a_queue_shorter_than_the_reduction() {
        assert!((after_reduction("cubic", &PATH).unwrap() - 0.91).abs() < 1e-12);
        assert_eq!(after_reduction("new-reno", &Path { queue: Some(1.0), ..PATH }), Some(1.0));
        assert_eq!(after_reduction("cubic", &Path { queue: None, ..PATH }), None);
    }
}
