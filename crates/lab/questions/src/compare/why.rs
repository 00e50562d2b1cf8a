//! Explains the goodput of a long flow, in a sentence made of measured quantities.

use units::Duration;

use super::closed_form;
use super::measured::Long;
use super::network::Network;
use crate::text::significant;

/// Share of the link from which on a flow counts as filling it. Our choice.
const FULL: f64 = 0.95;

/// Goodput of the second half over that of all from which on a flow counts as growing. Our choice.
const GROWS: f64 = 1.005;

/// Says what limits a flow, or at which delay it fills the link.
///
/// For a network that is not a single drop-tail link, gives measured quantities only. `algorithm`
/// is given if its formulas apply.
pub(super) fn sentence(algorithm: Option<&str>, long: &Long, network: &Network) -> String {
    let path = &network.path;
    if let Some(why) = long.why_nothing() {
        return format!("{why}, so there is no RTT");
    }
    if !network.is_one_link() {
        let rate = count(long.reductions_per_minute);
        return format!("{rate} window reductions per minute, {}", delay(long.queue_wait, None));
    }
    let delay = delay(long.queue_wait, network.buffer);
    let of_link = long.of_link.unwrap_or(0.0);
    if of_link >= FULL {
        return format!("fills the link, {delay}");
    }
    // Data in flight as a share of the BDP: goodput x RTT over capacity x base RTT.
    let held = of_link * long.rtt_mean.unwrap_or(0.0) * 1e-3 / path.rtt * 100.0;
    let rate = format!("{} window reductions per minute", count(long.reductions_per_minute));
    if long.reductions_per_minute < 0.05 {
        return format!("{}; {delay}", without_reduction(long, held));
    }
    // Share of the losses that the link drops at random. A stack may count none of them.
    let random = long.loss.filter(|loss| *loss > 0.0).map_or(0.0, |loss| path.loss * 100.0 / loss).min(1.0);
    if random >= 0.5 {
        return format!(
            "{rate}, {:.0} % of the losses are random: {held:.0} % of a BDP in flight, {delay}",
            random * 100.0
        );
    }
    if network.polices {
        return format!(
            "{rate}: the bucket has no queue and drops what is above its rate; {held:.0} % of a BDP in flight"
        );
    }
    match algorithm.and_then(|name| closed_form::after_reduction(name, path)) {
        // A sender that fills the pipe between its reductions has more in flight than that. With
        // less, the formula does not apply.
        Some(left) if left < 1.0 && held >= 100.0 * left => format!(
            "{rate} when the queue overflows, each to {left:.2} BDP: the link idles until the window has recovered"
        ),
        Some(left) if left < 1.0 => {
            format!("{rate} when the queue overflows: {held:.0} % of a BDP in flight, so the link idles")
        }
        _ => format!("{rate}: {held:.0} % of a BDP in flight, {delay}"),
    }
}

/// Says what a flow does that does not fill the link, although its window was not reduced.
fn without_reduction(long: &Long, held: f64) -> String {
    let keeps = format!("keeps {held:.0} % of a BDP in flight");
    if long.goodput_late > GROWS * long.goodput {
        let late = significant(long.goodput_late);
        return format!("no window reduction: still grows, to {late} Mbit/s in the second half; {keeps}");
    }
    match long.reduced_before {
        true => format!("no window reduction since start-up, which had some: {keeps}"),
        false => format!("no window reduction: {keeps} and is limited by its own rate"),
    }
}

/// Formats the mean queueing delay, and that of a full queue.
fn delay(wait: Option<f64>, buffer: Option<Duration>) -> String {
    let Some(wait) = wait else { return "no queueing delay measured".to_owned() };
    match buffer.map(Duration::as_millis_f64).filter(|buffer| *buffer > 0.0) {
        Some(buffer) if buffer < 9.95 => format!("queueing delay {wait:.2} of {buffer:.2} ms"),
        Some(buffer) => format!("queueing delay {wait:.1} of {buffer:.0} ms"),
        None => format!("queueing delay {wait:.1} ms"),
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
    /// A flow some of whose data arrived.
    const ARRIVED: Long = Long {
        goodput: 1.0,
        spread: None,
        of_link: None,
        rtt_mean: None,
        rtt_p95: None,
        queue_wait: None,
        loss: None,
        reductions_per_minute: 0.0,
        reduced_before: false,
        goodput_late: 1.0,
    };

    fn why(algorithm: &str, long: Long, path: &Path) -> String {
        sentence(Some(algorithm), &long, &network(path, BUFFER))
    }

    fn network(path: &Path, buffer: Option<Duration>) -> Network {
        Network { path: *path, buffer, ..Network::default() }
    }

    #[test]
    fn a_full_link() {
        let long = Long { of_link: Some(0.95), queue_wait: Some(12.34), ..ARRIVED };
        assert_eq!(why("cubic", long, &PATH), "fills the link, queueing delay 12.3 of 24 ms");
        let unlimited = sentence(Some("cubic"), &long, &network(&PATH, None));
        assert_eq!(unlimited, "fills the link, queueing delay 12.3 ms");
    }

    #[test]
    fn nothing_that_arrives() {
        let long = Long { goodput: 0.0, loss: Some(100.0), ..ARRIVED };
        assert_eq!(why("cubic", long, &PATH), "sent packets, but none arrived, so there is no RTT");
        let long = Long { loss: None, ..long };
        assert_eq!(why("cubic", long, &PATH), "sent no packet, so there is no RTT");
    }

    #[test]
    fn a_bucket_without_a_queue() {
        let path = Path { queue: Some(0.0), ..PATH };
        let policer = Network { polices: true, ..network(&path, Some(Duration::ZERO)) };
        let long = Long {
            of_link: Some(0.92),
            rtt_mean: Some(80.0),
            loss: Some(0.4),
            reductions_per_minute: 60.0,
            ..ARRIVED
        };
        assert_eq!(
            sentence(Some("cubic"), &long, &policer),
            "60 window reductions per minute: the bucket has no queue and drops what is above its rate; \
             92 % of a BDP in flight"
        );
    }

    /// With several links there is no share of the link, and no reduction into one queue.
    #[test]
    fn where_there_is_not_one_link() {
        let long = Long { of_link: None, reductions_per_minute: 3.0, queue_wait: Some(4.0), ..ARRIVED };
        let chain =
            Network { beyond_one_link: vec!["2 links in series".to_owned()], ..network(&PATH, BUFFER) };
        assert_eq!(
            sentence(Some("cubic"), &long, &chain),
            "3.0 window reductions per minute, queueing delay 4.0 ms"
        );
    }

    /// Half of the rate at 1.5 times the base RTT is three quarters of a BDP.
    #[test]
    fn a_flow_that_asks_for_no_more() {
        let long = Long { of_link: Some(0.5), rtt_mean: Some(120.0), ..ARRIVED };
        let says = why("vegas", long, &PATH);
        assert!(says.starts_with("no window reduction: keeps 75 % of a BDP in flight"), "{says}");
    }

    /// A window that still climbs, or that was reduced before, is not limited by the sender's rate.
    #[test]
    fn a_flow_that_still_climbs() {
        let climbs = Long { of_link: Some(0.3), rtt_mean: Some(80.0), goodput_late: 1.5, ..ARRIVED };
        let says = why("new-reno", climbs, &PATH);
        assert_eq!(
            says,
            "no window reduction: still grows, to 1.50 Mbit/s in the second half; keeps 30 % of a BDP in flight; \
             no queueing delay measured"
        );
        let says = why("cubic", Long { goodput_late: 1.0, reduced_before: true, ..climbs }, &PATH);
        assert!(says.starts_with("no window reduction since start-up, which had some: keeps 30 %"), "{says}");
    }

    /// A stack may count no loss where packets are damaged. There is no share of zero.
    #[test]
    fn no_share_of_no_losses() {
        let long = Long { of_link: Some(0.3), rtt_mean: Some(80.0), reductions_per_minute: 9.0, ..ARRIVED };
        for loss in [None, Some(0.0)] {
            let says = why("bbr3", Long { loss, ..long }, &Path { loss: 0.01, ..PATH });
            assert!(!says.contains("random"), "{says}");
        }
    }

    #[test]
    fn losses_at_random_and_of_the_queue() {
        let long = Long {
            of_link: Some(0.2),
            rtt_mean: Some(80.0),
            reductions_per_minute: 30.0,
            loss: Some(0.0125),
            queue_wait: Some(0.0),
            ..ARRIVED
        };
        let random = Path { loss: 1e-4, ..PATH };
        let says = why("cubic", long, &random);
        assert!(
            says.starts_with("30 window reductions per minute, 80 % of the losses are random: 20 % of a BDP"),
            "{says}"
        );
        // Four fifths of the losses come from the queue, which is too short for CUBIC: 0.7 * 1.3 =
        // 0.91 BDP.
        let full = Long { loss: Some(0.05), of_link: Some(0.92), rtt_mean: Some(81.0), ..long };
        let says = why("cubic", full, &random);
        assert!(says.contains("when the queue overflows, each to 0.91 BDP"), "{says}");
        // The formula contradicts the measurement, or is for other parameters.
        let says = why("cubic", Long { loss: Some(0.05), ..long }, &random);
        assert!(
            says.ends_with("when the queue overflows: 20 % of a BDP in flight, so the link idles"),
            "{says}"
        );
        let says = sentence(None, &full, &network(&random, BUFFER));
        assert!(!says.contains("0.91"), "{says}");
        // A controller without a known reduction, and a queue that is long enough.
        assert_eq!(
            why("bbr3", long, &PATH),
            "30 window reductions per minute: 20 % of a BDP in flight, queueing delay 0.0 of 24 ms"
        );
        assert!(!why("cubic", long, &Path { queue: Some(1.0), ..PATH }).contains("overflows"));
    }
}
