//! Why a long flow has the goodput that it has, in a sentence made of measured quantities.

use units::Duration;

use super::closed_form;
use super::measured::Long;
use super::network::Network;

/// From this share of the link on a flow fills it. Our choice.
const FULL: f64 = 0.95;

/// What limits it, or what it costs to fill the link. Where the network is not one drop-tail link, what was measured alone.
/// `algorithm` is known where formulas hold for it.
pub(super) fn sentence(algorithm: Option<&str>, long: &Long, network: &Network) -> String {
    let path = &network.path;
    if !network.is_one_link() {
        let rate = count(long.reductions_per_minute);
        return format!(
            "{rate} reductions a minute, and its packets wait {}",
            waiting(long.queue_wait, None)
        );
    }
    let waits = waiting(long.queue_wait, network.buffer);
    if long.of_link >= FULL {
        return format!("fills the link, and its packets wait {waits}");
    }
    // Packets on their way, of what the path holds: goodput x RTT over capacity x base RTT.
    let held = long.of_link * long.rtt_mean * 1e-3 / path.rtt * 100.0;
    let rate = format!("{} reductions a minute", count(long.reductions_per_minute));
    if long.reductions_per_minute < 0.05 {
        let slow = format!(
            "no reduction in that time: {held:.0} % of a BDP on its way, and it does not ask for more"
        );
        return format!("{slow}; its packets wait {waits}");
    }
    // What the link is told to drop, of what was lost.
    let random = (path.loss * 100.0 / long.loss).min(1.0);
    if path.loss > 0.0 && random >= 0.5 {
        return format!(
            "{rate}, {:.0} % of the losses at random: {held:.0} % of a BDP on its way, and packets wait {waits}",
            random * 100.0
        );
    }
    match algorithm.and_then(|name| closed_form::after_reduction(name, path)) {
        // A sender that fills the pipe between its reductions has more than that on its way, one for which the formula does not hold less.
        Some(left) if left < 1.0 && held >= 100.0 * left => format!(
            "{rate} as the queue overflows, each to {left:.2} BDP: the link idles until the window is back"
        ),
        Some(left) if left < 1.0 => {
            format!("{rate} as the queue overflows: {held:.0} % of a BDP on its way, and the link idles")
        }
        _ => format!("{rate}: {held:.0} % of a BDP on its way, and packets wait {waits}"),
    }
}

/// How long its packets wait, and of what.
fn waiting(wait: f64, buffer: Option<Duration>) -> String {
    match buffer.map(Duration::as_millis_f64).filter(|buffer| *buffer > 0.0) {
        Some(buffer) if buffer < 9.95 => format!("{wait:.2} ms of the queue's {buffer:.2}"),
        Some(buffer) => format!("{wait:.1} ms of the queue's {buffer:.0}"),
        None => format!("{wait:.1} ms"),
    }
}

fn count(number: f64) -> String {
    if number < 9.95 { format!("{number:.1}") } else { format!("{number:.0}") }
}

#[cfg(test)]
mod tests {
    use super::closed_form::Path;
    use super::*;

    /// 100 Mbit/s, 80 ms.
    const PATH: Path = Path { capacity: 1e8, rtt: 0.08, payload: 1e4, loss: 0.0, queue: Some(0.3) };
    const BUFFER: Option<Duration> = Some(Duration::from_millis(24));

    fn why(algorithm: &str, long: Long, path: &Path) -> String {
        sentence(Some(algorithm), &long, &network(path, BUFFER))
    }

    fn network(path: &Path, buffer: Option<Duration>) -> Network {
        Network { path: *path, buffer, ..Network::default() }
    }

    #[test]
    fn a_full_link() {
        let long = Long { of_link: 0.95, queue_wait: 12.34, ..Long::default() };
        assert_eq!(
            why("cubic", long, &PATH),
            "fills the link, and its packets wait 12.3 ms of the queue's 24"
        );
        let unlimited = sentence(Some("cubic"), &long, &network(&PATH, None));
        assert_eq!(unlimited, "fills the link, and its packets wait 12.3 ms");
    }

    /// No share of a link, no reduction into a queue: there is no one link.
    #[test]
    fn where_there_is_not_one_link() {
        let long = Long { of_link: 1.0, reductions_per_minute: 3.0, queue_wait: 4.0, ..Long::default() };
        let chain =
            Network { beyond_one_link: vec!["2 links in a row".to_owned()], ..network(&PATH, BUFFER) };
        assert_eq!(
            sentence(Some("cubic"), &long, &chain),
            "3.0 reductions a minute, and its packets wait 4.0 ms"
        );
    }

    /// Half of the rate at 1.5 times the base RTT: three quarters of a BDP.
    #[test]
    fn a_flow_that_asks_for_no_more() {
        let long = Long { of_link: 0.5, rtt_mean: 120.0, ..Long::default() };
        let says = why("vegas", long, &PATH);
        assert!(says.starts_with("no reduction in that time: 75 % of a BDP"), "{says}");
    }

    #[test]
    fn losses_at_random_and_of_the_queue() {
        let long = Long {
            of_link: 0.2,
            rtt_mean: 80.0,
            reductions_per_minute: 30.0,
            loss: 0.0125,
            ..Long::default()
        };
        let random = Path { loss: 1e-4, ..PATH };
        let says = why("cubic", long, &random);
        assert!(
            says.starts_with("30 reductions a minute, 80 % of the losses at random: 20 % of a BDP"),
            "{says}"
        );
        // Four fifths of the losses are the queue's, which is too short for CUBIC: 0.7 * 1.3 = 0.91 BDP.
        let full = Long { loss: 0.05, of_link: 0.92, rtt_mean: 81.0, ..long };
        let says = why("cubic", full, &random);
        assert!(says.contains("as the queue overflows, each to 0.91 BDP"), "{says}");
        // The formula is not what was measured, or is not of these parameters.
        let says = why("cubic", Long { loss: 0.05, ..long }, &random);
        assert!(
            says.ends_with("as the queue overflows: 20 % of a BDP on its way, and the link idles"),
            "{says}"
        );
        let says = sentence(None, &full, &network(&random, BUFFER));
        assert!(!says.contains("0.91"), "{says}");
        // One without a known reduction, and a queue that is long enough.
        assert_eq!(
            why("bbr3", long, &PATH),
            "30 reductions a minute: 20 % of a BDP on its way, and packets wait 0.0 ms of the queue's 24"
        );
        assert!(!why("cubic", long, &Path { queue: Some(1.0), ..PATH }).contains("overflows"));
    }
}
