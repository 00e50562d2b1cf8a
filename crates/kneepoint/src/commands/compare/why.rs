//! Why a long flow has the goodput that it has, in a sentence made of measured quantities.

use super::closed_form;
use super::measured::Long;
use super::question::Question;

/// From this share of the link on a flow fills it.
const FULL: f64 = 0.95;

/// What limits it, or what it costs to fill the link.
pub(super) fn sentence(algorithm: &str, long: &Long, question: &Question) -> String {
    let path = &question.path;
    let waits = waiting(long, question);
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
    let random = (path.loss * 100.0 / long.loss).min(1.0);
    if path.loss > 0.0 && random >= 0.5 {
        return format!(
            "{rate}, {:.0} % of the losses at random: {held:.0} % of a BDP on its way, and packets wait {waits}",
            random * 100.0
        );
    }
    match closed_form::after_reduction(algorithm, path) {
        Some(left) if left < 1.0 => format!(
            "{rate} as the queue overflows, each to {left:.2} BDP: the link idles until the window is back"
        ),
        _ => format!("{rate}: {held:.0} % of a BDP on its way, and packets wait {waits}"),
    }
}

/// How long its packets wait, and of what.
fn waiting(long: &Long, question: &Question) -> String {
    let wait = long.queue_wait;
    match question.buffer.map(units::Duration::as_millis_f64).filter(|buffer| *buffer > 0.0) {
        Some(buffer) => format!("{wait:.1} ms of the queue's {buffer:.0}"),
        None => format!("{wait:.1} ms"),
    }
}

fn count(number: f64) -> String {
    if number < 9.95 { format!("{number:.1}") } else { format!("{number:.0}") }
}
