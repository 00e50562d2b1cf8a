//! Computes metrics from a run's outcome.

use std::collections::BTreeMap;

use experiment::metric::Metric;
use link::{LinkConfig, RateModel};
use recovery::Stats;
use scenario::{
    FlowConfig, FlowInWindow, Histogram, MediaTotals, ObjectTotals, Outcome, ProbeRecord, QueueDelay, Record,
    Scenario, Totals, UdpConfig, UdpRecord, Window, WindowOutcome,
};
use units::{Duration, Time};

/// Metric to value. A metric that does not apply is absent; no value is NaN.
pub type Values = BTreeMap<Metric, f64>;

/// Values of some flows, links or sources in one window, by the word of their quantity.
type Words = BTreeMap<&'static str, f64>;

/// Returns every metric of a run. Metrics of flows are repeated for each group of flows (`goodput
/// of BBR`), and all metrics for each further window (`goodput @ before`).
pub fn measure(scenario: &Scenario, outcome: &Outcome, groups: &[String]) -> Values {
    let mut values = of_span(scenario, outcome, groups, &Span::main(scenario, outcome));
    of_whole_run(&mut values, scenario, outcome, groups);
    for ((name, from, to), inside) in scenario.windows.iter().zip(&outcome.windows) {
        let span = Span::other(outcome, inside, (*from, *to));
        let of_window = of_span(scenario, outcome, groups, &span);
        values.extend(of_window.into_iter().map(|(metric, value)| (metric.inside(name), value)));
    }
    values
}

/// Returns the metrics of a single flow.
pub fn of_flow(scenario: &Scenario, outcome: &Outcome, number: usize) -> Values {
    const SENSELESS: [&str; 3] = ["jain", "rate_ratio", "power"];
    let flow_words = |part: &Part<'_>| {
        let mut words = of_flows(&[part]);
        words.retain(|word, _| !SENSELESS.contains(word));
        words
    };
    let (Some(config), Some(record)) = (scenario.flows.get(number), outcome.flows.get(number)) else {
        return Values::new();
    };
    let mut words = flow_words(&Part::main(record, outcome.end));
    of_records(&mut words, &[(config, record)]);
    let mut values: Values = of_all(words).collect();
    for ((name, ..), inside) in scenario.windows.iter().zip(&outcome.windows) {
        let of_window =
            inside.flows.get(number).map(|flow| flow_words(&Part::other(flow))).unwrap_or_default();
        values.extend(of_all(of_window).map(|(metric, value)| (metric.inside(name), value)));
    }
    values
}

/// Turns words into metrics without a label.
fn of_all(words: Words) -> impl Iterator<Item = (Metric, f64)> {
    words.into_iter().map(|(word, value)| (Metric::new(word), value))
}

/// Turns words into metrics of this label.
fn of_label(words: Words, label: &str) -> impl Iterator<Item = (Metric, f64)> {
    of_all(words).map(move |(metric, value)| (metric.for_label(label), value))
}

/// The data of one flow in one window.
struct Part<'a> {
    totals: &'a Totals,
    media: Option<&'a MediaTotals>,
    objects: Option<&'a ObjectTotals>,
    /// The sender's counters at the beginning and at the end.
    stats: [Stats; 2],
    /// Reductions of the window. In the measuring window they cover the whole run.
    reductions: u64,
    /// Time for which the flow ran in the window.
    measured: Duration,
}

impl<'a> Part<'a> {
    /// Returns the measuring window. The sender's counters cover the whole run.
    fn main(record: &'a Record, end: Time) -> Self {
        Self {
            totals: &record.totals,
            media: record.media.as_ref(),
            objects: record.objects.as_ref(),
            stats: [Stats::default(), record.stats.clone()],
            reductions: record.reductions,
            measured: record.measured(end),
        }
    }

    /// Returns another window with the sender's counters inside it.
    fn other(flow: &'a FlowInWindow) -> Self {
        Self {
            totals: &flow.totals,
            media: flow.media.as_ref(),
            objects: flow.objects.as_ref(),
            stats: [flow.before.clone(), flow.after.clone()],
            reductions: flow.totals.reductions,
            measured: flow.measured,
        }
    }

    /// Returns the number of events at the sender.
    fn events(&self, count: impl Fn(&Stats) -> u64) -> f64 {
        let [before, after] = &self.stats;
        (count(after) - count(before)) as f64
    }

    fn rate_mbit_s(&self, bytes: u64) -> f64 {
        bytes as f64 * 8e-6 / self.measured.as_secs_f64()
    }
}

/// The data of a run in one window.
struct Span<'a> {
    parts: Vec<Part<'a>>,
    /// Bytes that left each link, forward links first, and from when until when.
    carried: (Vec<u64>, [Time; 2]),
    probe: Option<&'a ProbeRecord>,
    udp: &'a [UdpRecord],
    window: Option<(Time, Time)>,
    /// Part of the window that the run covers.
    length: Duration,
}

impl<'a> Span<'a> {
    /// Returns the measuring window.
    fn main(scenario: &Scenario, outcome: &'a Outcome) -> Self {
        let Window { from, to } = scenario.window();
        Self {
            parts: outcome.flows.iter().map(|record| Part::main(record, outcome.end)).collect(),
            carried: (outcome.carried.clone(), [from, to.min(outcome.end)]),
            probe: outcome.probe.as_ref(),
            udp: &outcome.udp,
            window: scenario.measure,
            length: scenario.measured(outcome.end),
        }
    }

    /// Returns another window.
    fn other(outcome: &Outcome, inside: &'a WindowOutcome, (from, to): (Time, Time)) -> Self {
        let to = to.min(outcome.end);
        Self {
            parts: inside.flows.iter().map(Part::other).collect(),
            carried: (inside.carried.clone(), [from, to]),
            probe: inside.probe.as_ref(),
            udp: &inside.udp,
            window: Some((from, to)),
            length: to - from,
        }
    }
}

fn of_span(scenario: &Scenario, outcome: &Outcome, groups: &[String], span: &Span<'_>) -> Values {
    let all: Vec<&Part<'_>> = span.parts.iter().collect();
    let mut words = of_flows(&all);
    put(&mut words, "total_goodput", total_goodput(&all, span.length));
    put(&mut words, "ended", ended_before(scenario, outcome, span.carried.1[0]));
    let seconds = outcome.seconds.within(span.window);
    put(&mut words, "jain_1s", mean(&jain_by_second(&seconds)));
    put(&mut words, "goodput_time_std", spread_over_time(&seconds, |_| true));
    if let Some(probe) = span.probe {
        of_probe(&mut words, probe);
    }
    let udp = |wanted: &dyn Fn(&UdpConfig) -> bool| of_udp(scenario, span, wanted);
    words.extend(udp(&|_| true));
    let mut values: Values = of_all(words).collect();
    values.extend(of_links(scenario, &span.carried));
    for UdpConfig { label, .. } in &scenario.udp {
        values.extend(of_label(udp(&|source| source.label == *label), label));
    }
    for group in groups {
        let is_member = |flow: usize| scenario.flows.get(flow).is_some_and(|flow| flow.group == *group);
        let members = all.iter().enumerate().filter(|(flow, _)| is_member(*flow)).map(|(_, part)| *part);
        let members: Vec<&Part<'_>> = members.collect();
        if members.is_empty() {
            continue;
        }
        let mut of_group = of_flows(&members);
        put(&mut of_group, "total_goodput", total_goodput(&members, span.length));
        put(&mut of_group, "share", 100.0 * delivered(&members) / delivered(&all));
        let spread = spread_over_time(&seconds, is_member);
        put(&mut of_group, "goodput_time_std", spread);
        values.extend(of_label(of_group, group));
    }
    values
}

/// Returns the end of a run, in seconds, if that was before `from` because every transfer was
/// complete.
fn ended_before(scenario: &Scenario, outcome: &Outcome, from: Time) -> f64 {
    let mut flows = scenario.flows.iter().zip(&outcome.flows);
    let complete = flows.all(|(flow, record)| flow.complete(record.finished).is_some());
    if complete && outcome.end < from { outcome.end.as_secs_f64() } else { f64::NAN }
}

/// Adds metrics without windows; see [`experiment::quantity::Quantity::has_windows`].
fn of_whole_run(values: &mut Values, scenario: &Scenario, outcome: &Outcome, groups: &[String]) {
    let flows = || scenario.flows.iter().zip(&outcome.flows);
    let records = |flows: &mut dyn Iterator<Item = (&FlowConfig, &Record)>| {
        let mut words = Words::new();
        of_records(&mut words, &flows.collect::<Vec<_>>());
        words
    };
    values.extend(of_all(records(&mut flows())));
    for group in groups {
        let mut members = flows().filter(|(flow, _)| flow.group == *group);
        values.extend(of_label(records(&mut members), group));
    }
}

fn of_records(words: &mut Words, flows: &[(&FlowConfig, &Record)]) {
    let each = |value: &dyn Fn(&Record) -> f64| {
        let values: Vec<f64> = flows.iter().map(|flow| value(flow.1)).filter(|v| v.is_finite()).collect();
        mean(&values)
    };
    put(words, "slow_start_window", each(&|f| f.slow_start_window as f64 * 1e-3));
    put(words, "least_window", each(&|f| f.least_window.map_or(f64::NAN, |least| least as f64 * 1e-3)));
    put(words, "closed", each(&|f| f.closed.map_or(f64::NAN, |at| (at - f.started).as_secs_f64())));
    let sizes = |f: &Record| f.stats.datagram_size.map_or(f64::NAN, |size| size as f64);
    put(words, "datagram_size", each(&sizes));
    let searches = |f: &Record| f.stats.datagram_size.is_some();
    put(words, "mtu_probes", each(&|f| if searches(f) { f.stats.mtu_probes as f64 } else { f64::NAN }));
    let transfers: Vec<Option<f64>> = flows
        .iter()
        .filter(|(flow, _)| flow.transfer.is_some())
        .map(|(flow, f)| completion(flow, f))
        .collect();
    let finished: Vec<f64> = transfers.iter().copied().flatten().collect();
    put(words, "finished", 100.0 * finished.len() as f64 / transfers.len() as f64);
    if finished.len() == transfers.len() {
        put(words, "completion", mean(&finished));
    }
}

/// Returns the time that a transfer took, in seconds, if it finished.
fn completion(flow: &FlowConfig, record: &Record) -> Option<f64> {
    let end = flow.complete(record.finished)?;
    Some((end - record.started).as_secs_f64())
}

fn put(words: &mut Words, word: &'static str, value: f64) {
    if value.is_finite() {
        words.insert(word, value);
    }
}

fn of_flows(flows: &[&Part<'_>]) -> Words {
    let goodputs = each(flows, |f| f.rate_mbit_s(f.totals.delivered));
    let total = |count: fn(&Totals) -> u64| flows.iter().map(|f| count(f.totals)).sum::<u64>() as f64;
    let mut words = Words::new();
    let mut put = |word, value: f64| put(&mut words, word, value);

    put("goodput", mean(&goodputs));
    put("goodput_flow_std", deviation(&goodputs));
    put("throughput", mean(&each(flows, |f| f.rate_mbit_s(f.totals.sent))));
    put("wire_throughput", mean(&each(flows, |f| f.rate_mbit_s(f.totals.wire))));
    put("jain", jain(&goodputs));
    put("rate_ratio", rate_ratio(&goodputs));
    put("loss", 100.0 * total(|t| t.dropped) / total(|t| t.packets));
    let losses = each(flows, |f| 100.0 * f.totals.dropped as f64 / f.totals.packets as f64);
    put("loss_flow_std", deviation(&losses));
    put("acks_sent", total(|t| t.feedback));
    put("ack_loss", 100.0 * total(|t| t.feedback_dropped) / total(|t| t.feedback));
    put("ce_marks", total(|t| t.ce));
    put("spurious_retransmissions", total(|t| t.redundant));
    put("sender_acks", total(|t| t.acks));
    put("sender_acks_lost", total(|t| t.acks_dropped));
    let rtts = each(flows, |f| f.totals.rtt.mean_ms());
    put("power", mean(&goodputs) / mean(&rtts));
    of_times(&mut words, flows);
    of_senders(&mut words, flows);
    of_media(&mut words, flows);
    of_objects(&mut words, flows);
    words
}

/// Adds round-trip times, one-way delays and queueing delays.
fn of_times(words: &mut Words, flows: &[&Part<'_>]) {
    let mut put = |word, value: f64| put(words, word, value);
    let rtts = each(flows, |f| f.totals.rtt.mean_ms());
    put("rtt_mean", mean(&rtts));
    put("rtt_flow_std", deviation(&rtts));
    put("rtt_std", mean(&each(flows, |f| f.totals.rtt.std_ms())));
    put("rtt_variation", mean(&each(flows, |f| f.totals.rtt_variation.ms())));
    let all = merged(flows.iter().map(|f| &f.totals.rtt));
    put("rtt_p25", all.quantile_ms(0.25));
    put("rtt_p50", all.quantile_ms(0.5));
    put("rtt_p75", all.quantile_ms(0.75));
    put("rtt_p95", all.quantile_ms(0.95));
    put("rtt_p99", all.quantile_ms(0.99));
    if all.count() > 0 {
        put("rtt_max", all.max_ms());
    }
    put("owd_mean", mean(&each(flows, |f| f.totals.owd.mean_ms())));
    put("owd_std", mean(&each(flows, |f| f.totals.owd.std_ms())));
    put("owd_p95", merged(flows.iter().map(|f| &f.totals.owd)).quantile_ms(0.95));
    put("queue_delay", mean(&each(flows, |f| f.totals.queue_delay.mean_ms())));
    put("queue_wait", mean(&each(flows, |f| f.totals.queue_delay.mean_wait_ms())));
    let held: Vec<Histogram> = flows.iter().map(|f| f.totals.delivery.times()).collect();
    put("pto_mean", mean(&each(flows, |f| f.totals.timers.pto.ms())));
    put("rto_mean", mean(&each(flows, |f| f.totals.timers.rto.ms())));
    put("reo_wnd_mean", mean(&each(flows, |f| f.totals.timers.reo_wnd.ms())));
    put_times(words, ["delivery_delay_mean", "delivery_delay_p95"], &held.iter().collect::<Vec<_>>());
}

/// Adds losses and window reductions.
fn of_senders(words: &mut Words, flows: &[&Part<'_>]) {
    let mut put = |word, value: f64| put(words, word, value);
    let total = |count: fn(&Stats) -> u64| flows.iter().map(|f| f.events(count)).sum::<f64>();
    put("retransmissions", total(|s| s.retransmissions));
    put("spurious_losses", total(|s| s.spurious));
    put("declared_lost", total(Stats::lost));
    put("lost_by_packet_threshold", total(|s| s.lost_by_packet_threshold));
    put("lost_by_time_threshold", total(|s| s.lost_by_time_threshold));
    put("time_threshold_share", 100.0 * total(|s| s.lost_by_time_threshold) / total(Stats::lost));
    put("lost_by_timeout", total(|s| s.lost_by_timeout));
    put("ecn_failures", total(|s| s.ecn_failures));
    put("receive_times", 100.0 * total(|s| s.used_stamps) / total(|s| s.acked));
    put("reductions", mean(&each(flows, |f| f.reductions as f64)));
}

/// Adds metrics of media flows.
fn of_media(words: &mut Words, flows: &[&Part<'_>]) {
    let media: Vec<(&&Part<'_>, &MediaTotals)> =
        flows.iter().filter_map(|f| f.media.map(|media| (f, media))).collect();
    // A flow that has not started has no rate.
    let rates = media.iter().map(|(flow, media)| flow.rate_mbit_s(media.made));
    put(words, "media_rate", mean(&rates.filter(|rate| rate.is_finite()).collect::<Vec<_>>()));
    let delays: Vec<&Histogram> = media.iter().map(|(_, media)| &media.delay).collect();
    put_times(words, ["frame_delay_mean", "frame_delay_p95"], &delays);
    let total = |count: fn(&MediaTotals) -> u64| media.iter().map(|(_, m)| count(m)).sum::<u64>() as f64;
    let missing = total(|m| m.skipped + m.lost);
    put(words, "frame_loss", 100.0 * missing / (missing + total(|m| m.complete)));
}

/// Adds metrics of flows that transfer objects.
fn of_objects(words: &mut Words, flows: &[&Part<'_>]) {
    let times: Vec<&Histogram> = flows.iter().filter_map(|f| f.objects.map(|o| &o.time)).collect();
    if !times.is_empty() {
        put(words, "objects", times.iter().map(|time| time.count()).sum::<u64>() as f64);
    }
    put_times(words, ["object_time_mean", "object_time_p95"], &times);
}

/// Adds the mean of the flows' means, and the 95th percentile of all samples.
fn put_times(words: &mut Words, [of_mean, of_p95]: [&'static str; 2], times: &[&Histogram]) {
    let means: Vec<f64> = times.iter().map(|time| time.mean_ms()).filter(|ms| ms.is_finite()).collect();
    put(words, of_mean, mean(&means));
    put(words, of_p95, merged(times.iter().copied()).quantile_ms(0.95));
}

/// Returns the used shares of the capacity: of the bottleneck, and of each named link. A link with
/// rate zero has none.
fn of_links(scenario: &Scenario, (carried, [from, to]): &(Vec<u64>, [Time; 2])) -> Values {
    let share = |(link, config): (usize, &LinkConfig), bytes: &u64| {
        let capacity = match &config.rate {
            RateModel::Constant(rate) => rate.bytes_per_sec() * (*to - *from).as_secs_f64(),
            _ => config.capacity_between([*from, *to], scenario.seed, &scenario.link_streams(link)),
        };
        100.0 * *bytes as f64 / capacity
    };
    let shares = scenario.links().enumerate().zip(carried).map(|(link, bytes)| share(link, bytes));
    let all: Vec<f64> = shares.collect();
    let (forward, reverse) = all.split_at(all.len().min(scenario.first_reverse().into()));
    let utilization = || Metric::new("utilization");
    let named = scenario.link_names.iter().zip(forward).chain(scenario.reverse_names.iter().zip(reverse));
    let named = named.map(|(name, link)| (utilization().for_label(name), *link));
    let first = forward.first().map(|first| (utilization(), *first));
    first.into_iter().chain(named).filter(|(_, share)| share.is_finite()).collect()
}

fn of_probe(words: &mut Words, probe: &ProbeRecord) {
    put(words, "ping_mean", probe.rtt.mean_ms());
    put(words, "ping_p50", probe.rtt.quantile_ms(0.5));
    put(words, "ping_p95", probe.rtt.quantile_ms(0.95));
    put(words, "ping_p99", probe.rtt.quantile_ms(0.99));
    put(words, "ping_loss", 100.0 * probe.dropped as f64 / probe.sent as f64);
}

/// Returns metrics of the selected UDP sources together.
fn of_udp(scenario: &Scenario, span: &Span<'_>, wanted: &dyn Fn(&UdpConfig) -> bool) -> Words {
    let all = scenario.udp.iter().zip(span.udp);
    let sources: Vec<&UdpRecord> =
        all.filter(|(config, _)| wanted(config)).map(|(_, record)| record).collect();
    let mut words = Words::new();
    if sources.is_empty() {
        return words;
    }
    let total = |count: fn(&UdpRecord) -> u64| sources.iter().map(|s| count(s)).sum::<u64>() as f64;
    put(&mut words, "udp_throughput", total(|s| s.delivered) * 8e-6 / span.length.as_secs_f64());
    put(&mut words, "udp_loss", 100.0 * total(|s| s.dropped) / total(|s| s.sent));
    let mut queue_delay = QueueDelay::default();
    sources.iter().for_each(|s| queue_delay.merge(&s.queue_delay));
    put(&mut words, "udp_queue_delay", queue_delay.mean_ms());
    words
}

fn delivered(flows: &[&Part<'_>]) -> f64 {
    flows.iter().map(|f| f.totals.delivered).sum::<u64>() as f64
}

/// Returns the goodput of all these flows together over the whole window, including times without
/// them.
fn total_goodput(flows: &[&Part<'_>], length: Duration) -> f64 {
    delivered(flows) * 8e-6 / length.as_secs_f64()
}

/// Returns the RTT samples of all flows together.
pub fn rtt_of_all<'a>(flows: impl IntoIterator<Item = &'a Record>) -> Histogram {
    merged(flows.into_iter().map(|f| &f.totals.rtt))
}

fn merged<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut all = Histogram::default();
    histograms.for_each(|h| all.merge(h));
    all
}

fn each(flows: &[&Part<'_>], value: impl Fn(&Part<'_>) -> f64) -> Vec<f64> {
    flows.iter().map(|f| value(f)).filter(|v| v.is_finite()).collect()
}

/// Returns the mean; NaN for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns Jain's index of the goodputs in each second. Flows that take turns are fair in the long
/// run and unfair here. Flows that do not run in a second are left out.
fn jain_by_second(seconds: &[Vec<f64>]) -> Vec<f64> {
    let running = |goodputs: &Vec<f64>| goodputs.iter().copied().filter(|g| !g.is_nan()).collect::<Vec<_>>();
    seconds.iter().map(|goodputs| jain(&running(goodputs))).filter(|index| !index.is_nan()).collect()
}

/// Returns the standard deviation of a flow's goodput from second to second, as the mean over the
/// selected flows. Seconds without the flow do not count. Returns NaN without a series.
fn spread_over_time(seconds: &[Vec<f64>], wanted: impl Fn(usize) -> bool) -> f64 {
    let spread = |flow: usize| {
        let goodputs = seconds.iter().filter_map(|goodputs| goodputs.get(flow)).copied();
        deviation(&goodputs.filter(|g| !g.is_nan()).collect::<Vec<_>>())
    };
    let flows = seconds.first().map_or(0, Vec::len);
    let spreads: Vec<f64> =
        (0..flows).filter(|flow| wanted(*flow)).map(spread).filter(|s| s.is_finite()).collect();
    mean(&spreads)
}

/// Returns the sample standard deviation (n - 1), which papers print after "±". Returns NaN for
/// fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    let free = values.len().saturating_sub(1) as f64;
    (squares / free).sqrt()
}

/// Returns Jain's index: `(sum x)^2 / (n * sum x^2)`. Returns NaN if all values are zero.
pub fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    sum * sum / (values.len() as f64 * values.iter().map(|v| v * v).sum::<f64>())
}

/// Returns the smallest value over the largest. Returns NaN for an empty slice or zeros only.
fn rate_ratio(values: &[f64]) -> f64 {
    let fold = |best: fn(f64, f64) -> f64| values.iter().copied().reduce(best).unwrap_or(f64::NAN);
    fold(f64::min) / fold(f64::max)
}

#[cfg(test)]
mod tests {
    use scenario::{FlowSeries, Seconds, Series};
    use units::Duration;

    use super::*;

    /// A starving flow gives 0, not a missing number.
    #[test]
    fn rate_ratio_of_known_rates() {
        assert_eq!(rate_ratio(&[1.0, 4.0, 2.0]), 0.25);
        assert_eq!(rate_ratio(&[3.0]), 1.0);
        assert_eq!(rate_ratio(&[0.0, 2.0]), 0.0);
        assert!(rate_ratio(&[0.0, 0.0]).is_nan() && rate_ratio(&[]).is_nan());
    }

    #[test]
    fn jain_of_known_shares() {
        assert!((jain(&[2.0, 2.0, 2.0]) - 1.0).abs() < 1e-12);
        assert!((jain(&[1.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
        assert!((jain(&[1.0, 3.0]) - 0.8).abs() < 1e-12);
    }

    /// Two flows take turns of two seconds: each second is unfair, the whole run is not.
    #[test]
    fn turns_are_unfair_by_the_second() {
        let turns = |first: usize| {
            let mut flow = FlowSeries::default();
            let goodput = |i: usize| if (i / 4 + first).is_multiple_of(2) { 8.0 } else { 0.0 };
            (0..12).for_each(|i| flow.goodput_mbit_s.push(goodput(i), 1));
            flow
        };
        let times: Vec<f64> = (1..=12).map(|i| f64::from(i) / 2.0).collect();
        let series = Series { times, flows: vec![turns(0), turns(1)], ..Series::default() };
        let jain = |window, interval| jain_by_second(&Seconds::from_series(interval, &series).within(window));
        let interval = Some(Duration::from_millis(500));
        assert_eq!(jain(None, interval), [0.5; 6]);
        let window = Some((Time::from_millis(500), Time::from_millis(3000)));
        assert_eq!(jain(window, interval), [0.5; 2], "whole seconds");
        assert!(jain(window, None).is_empty());
    }

    /// Goodput alternates between 8 and 0 Mbit/s, 4 away from the mean in each of six seconds. A
    /// steady flow has no spread, and half seconds are not visible.
    #[test]
    fn spread_over_time_is_by_the_second() {
        let flow = |goodput: fn(usize) -> f64| {
            let mut flow = FlowSeries::default();
            (0..12).for_each(|i| flow.goodput_mbit_s.push(goodput(i), 1));
            flow
        };
        let turns = flow(|i| if (i / 2).is_multiple_of(2) { 8.0 } else { 0.0 });
        let halves = flow(|i| if i.is_multiple_of(2) { 8.0 } else { 0.0 });
        let late = flow(|i| if i < 4 { f64::NAN } else { 3.0 });
        let times: Vec<f64> = (1..=12).map(|i| f64::from(i) / 2.0).collect();
        let series = Series { times, flows: vec![turns, halves, late], ..Series::default() };
        let seconds = |window, interval| Seconds::from_series(interval, &series).within(window);
        let spread = |seconds: &[Vec<f64>], flow| spread_over_time(seconds, |i| i == flow);
        let interval = Some(Duration::from_millis(500));
        let all = seconds(None, interval);
        let four = 4.0 * (6.0_f64 / 5.0).sqrt();
        assert_eq!([0, 1, 2].map(|flow| spread(&all, flow)), [four, 0.0, 0.0]);
        assert_eq!(spread_over_time(&all, |i| i < 2), four / 2.0, "mean over flows");
        let one = seconds(Some((Time::from_millis(1000), Time::from_millis(2000))), interval);
        assert!(spread(&one, 0).is_nan(), "one second alone");
        assert!(spread(&one, 2).is_nan(), "it did not run");
        assert!(spread(&seconds(None, None), 0).is_nan());
    }

    #[test]
    fn deviation_of_a_sample() {
        assert!((deviation(&[1.0, 3.0]) - 2.0_f64.sqrt()).abs() < 1e-12);
        assert!(
            (deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]) - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12
        );
        assert!(deviation(&[5.0]).is_nan() && deviation(&[]).is_nan());
    }

    /// In QUIC-DC's Tables 5 and 8, goodput and its deviation over four flows give the printed Jain
    /// index in 9 of 11 rows. With the population's deviation it would be 3. The other two are
    /// Cubic (.9999 for .999) and New Reno (.9972 for .998), both in Table 5.
    #[test]
    fn deviations_of_quic_dc_recompute_to_its_jain() {
        let rows = |table: &str| -> Vec<[f64; 3]> {
            let (_, table) = experiment::library::published("shipped:", table).unwrap();
            let mut csv = csv::Reader::from_reader(table.as_bytes());
            let header = csv.headers().unwrap().clone();
            let column = |name: &str| header.iter().position(|h| h == name).unwrap();
            let columns = ["goodput_per_flow_mbps", "goodput_pm_mbps", "jain_index"].map(column);
            assert!(csv.records().map(Result::unwrap).all(|r| &r[column("flows")] == "4"));
            let mut csv = csv::Reader::from_reader(table.as_bytes());
            csv.records().map(|r| columns.map(|c| r.as_ref().unwrap()[c].parse().unwrap())).collect()
        };
        let all = [rows("quic-dc-table5.csv"), rows("quic-dc-table8.csv")];
        // Four goodputs with this mean and deviation: two below and two above.
        let fits = |[mean, pm, printed]: &[f64; 3], step: f64| {
            let goodputs = [-step, -step, step, step].map(|d| mean + d * pm);
            ((jain(&goodputs) * 1000.0).round() / 1000.0 - printed).abs() < 1e-9
        };
        let sample = 0.75_f64.sqrt();
        assert!((deviation(&[-sample, -sample, sample, sample]) - 1.0).abs() < 1e-12);
        let count = |step: f64| all.iter().flatten().filter(|row| fits(row, step)).count();
        assert_eq!((all.iter().flatten().count(), count(sample), count(1.0)), (11, 9, 3));
    }
}
