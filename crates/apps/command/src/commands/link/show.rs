//! Formats the status and the summary of a running link.

use experiment::printable::counted;
use link::{Limit, LinkConfig, RateModel};
use units::{Bytes, Duration, Rate};
use wire::emu::validity::Audit;
use wire::emu::{SideReport, Snapshot};

use crate::output::tell;

/// Prints a line to standard error.
pub(crate) fn say(line: &str) {
    tell(line);
}

/// Formats the status, as in
/// `12.3 s  9.87 Mbit/s  queue 45.2 kB  drops 12  marks 0 | back 0.31 Mbit/s  drops 0`. `main` is
/// the direction of the bottleneck.
pub(crate) fn status(before: &Snapshot, now: &Snapshot, main: usize) -> String {
    let span = now.elapsed - before.elapsed;
    let rate = |i: usize| {
        let bytes = |s: &Snapshot| s.sides[i].counters.delivered.bytes;
        Rate::from_delivery(bytes(now).saturating_sub(bytes(before)), span).mbit_s()
    };
    let SideReport { backlog, counters } = now.sides[main];
    format!(
        "{:.1} s  {:.2} Mbit/s  queue {:.1} kB  drops {}  marks {} | back {:.2} Mbit/s  drops {}",
        now.elapsed.as_secs_f64(),
        rate(main),
        backlog.bytes as f64 / 1e3,
        counters.dropped().packets,
        counters.marked.packets,
        rate(1 - main),
        now.sides[1 - main].counters.dropped().packets,
    )
}

/// Formats the summary of one direction.
pub(crate) fn direction(name: &str, side: &SideReport, elapsed: Duration) -> String {
    let c = &side.counters;
    let rate = Rate::from_delivery(c.delivered.bytes, elapsed).mbit_s();
    let (sent, copies, damaged) = (c.pushed.packets, c.duplicated.packets, c.corrupted.packets);
    let (left, dropped) = (c.delivered.packets, c.dropped().packets);
    let mut text = format!(
        "{name}: {}{}, {} delivered ({rate:.3} Mbit/s on average){}{}, {} dropped",
        counted(sent, ["packet sent", "packets sent"]),
        if_any(copies, ["copy", "copies"]),
        left.saturating_sub(damaged),
        if_any(damaged, ["damaged"; 2]),
        if_any((sent + copies).saturating_sub(left + dropped), ["on the way"; 2]),
        dropped,
    );
    let reasons = [
        ("queue full", c.dropped_full),
        ("AQM", c.dropped_aqm),
        ("random", c.dropped_random),
        ("outage", c.dropped_outage),
        ("blackhole", c.dropped_blackhole),
        ("listed", c.dropped_listed),
        ("larger than the MTU", c.dropped_too_large),
    ];
    let reasons: Vec<String> =
        reasons.iter().filter(|r| r.1.packets > 0).map(|r| format!("{} {}", r.0, r.1.packets)).collect();
    if !reasons.is_empty() {
        text += &format!(" ({})", reasons.join(", "));
    }
    let gone = c.admitted.packets.saturating_sub(side.backlog.packets).max(1);
    let mean = Duration((c.sojourn / u128::from(gone)) as u64);
    text + &format!(
        ", {} marked; mean queueing delay {:.3} ms, longest queue {:.1} kB",
        c.marked.packets,
        mean.as_millis_f64(),
        c.max_backlog.bytes as f64 / 1e3
    )
}

/// Formats a count that is usually 0, as a further part of a list.
fn if_any(count: u64, words: [&str; 2]) -> String {
    if count == 0 { String::new() } else { format!(", {}", counted(count, words)) }
}

/// Formats the result of the self-audit in one line.
pub(crate) fn audit(audit: &Audit) -> String {
    format!(
        "audit: {}; late {} us (median), {} us (p99), {} us (max); steal {:.2} %; CPU {:.0} %; {}; {} malformed",
        audit.verdict(),
        micros(audit.late_p50),
        micros(audit.late_p99),
        micros(audit.late_max),
        audit.steal * 100.0,
        audit.cpu * 100.0,
        if audit.real_time { "SCHED_FIFO" } else { "no SCHED_FIFO" },
        audit.anomalies.malformed,
    )
}

/// Rounds to whole microseconds.
pub(crate) fn micros(duration: Duration) -> u64 {
    (duration.0 + 500) / 1000
}

/// Describes a link in a few words.
pub(crate) fn link(config: &LinkConfig) -> String {
    let rate = match &config.rate {
        RateModel::Constant(rate) => rate.to_string(),
        RateModel::Steps(steps) => format!("rate in {} steps", steps.len()),
        RateModel::Slots(slots) => format!("random slots around {}", slots.median),
        RateModel::Aggregates(model) => format!("aggregates of {} at {}", model.aggregate, model.phy),
        RateModel::Trace(trace) => trace.to_string(),
    };
    let limit = match config.limit {
        Limit::Unlimited => "unlimited".to_owned(),
        limit => limit.to_string(),
    };
    let more = |steps: usize| if steps > 0 { format!(" and {steps} more steps") } else { String::new() };
    let (delays, limits) = (more(config.delay_steps.0.len()), more(config.limit_steps.0.len()));
    let largest = |mtu: Bytes| format!(", MTU {} bytes{}", mtu.0, more(config.mtu_steps.0.len()));
    let (delay, aqm, mtu) = (config.delay, config.aqm.name(), config.mtu.map(largest).unwrap_or_default());
    format!("{rate}, {delay}{delays} one way, queue {limit}{limits}, {aqm}{mtu}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::emu::SideReport;

    /// Sent packets and copies are delivered, damaged, dropped, or on the way.
    #[test]
    fn every_packet_is_somewhere() {
        let of = |counts: [u64; 5]| {
            let mut side = SideReport::default();
            let c = &mut side.counters;
            let all =
                [&mut c.pushed, &mut c.duplicated, &mut c.delivered, &mut c.corrupted, &mut c.dropped_random];
            all.into_iter().zip(counts).for_each(|(count, packets)| count.packets = packets);
            direction("there", &side, Duration::from_secs(1))
        };
        let all = of([400, 190, 580, 201, 5]);
        let words = "there: 400 packets sent, 190 copies, 379 delivered (0.000 Mbit/s on average), 201 damaged, 5 on the way, \
                     5 dropped (random 5), ";
        assert!(all.starts_with(words), "{all}");
        let plain = of([1, 0, 1, 0, 0]);
        assert!(
            plain.starts_with("there: 1 packet sent, 1 delivered (0.000 Mbit/s on average), 0 dropped, "),
            "{plain}"
        );
    }
}
