//! Tests with the packet log of a flow of four segments.

use crate::emu::capture::row::{End, Row};
use crate::emu::{SYN, Segment};
use congestion::Detection;
use congestion::algorithms::cubic::rfc9438;
use link::{Backlog, DropReason, Limit, LinkConfig};
use scenario::trace::{Event, Metrics};
use scenario::{FlowConfig, Transport};
use units::{Bytes, Duration, Rate};

use super::*;
use crate::endpoints::samples::Samples;
use crate::endpoints::traced::{PROBE, Traced};
use crate::log::TCP;

const MS: u64 = 1_000_000;
/// Start of the run on the emulator's clock.
const ORIGIN: Time = Time(500 * MS);
/// First sequence number. It makes the numbers wrap during the test.
const FIRST: u32 = u32::MAX - 1500;

fn row(from: usize, at: u64, end: End, segment: Segment) -> Row {
    let [arrival, departure] = [0, 1].map(|later| Time(ORIGIN.0 + (at + later) * MS));
    let departure = matches!(end, End::Delivered { .. }).then_some(departure);
    Row {
        from,
        arrival,
        size: segment.payload + 52,
        flow: 1,
        departure,
        marked: false,
        end,
        segment: Some(segment),
    }
}

fn delivered(at: u64) -> End {
    End::Delivered { at: Time(ORIGIN.0 + at * MS), late: Duration::ZERO }
}

fn data(at: u64, number: u32, end: End) -> Row {
    let sequence = FIRST.wrapping_add(number * 1000);
    row(
        0,
        at,
        end,
        Segment { protocol: TCP, destination: FLOW_PORT, payload: 1000, sequence, ..Segment::default() },
    )
}

fn ack(at: u64, segments: u32, end: u64) -> Row {
    let acknowledgement = FIRST.wrapping_add(segments * 1000);
    let segment = Segment { protocol: TCP, source: FLOW_PORT, acknowledgement, ..Segment::default() };
    row(1, at, delivered(end), segment)
}

fn scenario() -> Scenario {
    let (rate, rtt) = (Rate(10_000_000), Duration::from_millis(50));
    let limit = Limit::Bytes(Bytes(62_500));
    let link = LinkConfig { limit, delay: rtt / 2, ..LinkConfig::plain(rate) };
    let tcp = Transport::Tcp { mss: 1000, overhead: 52 };
    let flow = FlowConfig::new("cubic", rfc9438::Params::default(), tcp, rtt);
    let flow = FlowConfig { transfer: Some(4000), ..flow };
    Scenario {
        series: Some(Duration::from_millis(10)),
        trace: true,
        ..Scenario::new(link, [flow], Duration::from_secs(1))
    }
}

/// Returns the log. Four segments leave at 0, 1, 2 and 3 ms and take 11 ms. The second is dropped,
/// retransmitted at 30 ms, and spuriously once more at 31 ms.
fn rows() -> Vec<Row> {
    let full = End::Dropped { at: Time(ORIGIN.0 + MS), reason: DropReason::QueueFull };
    vec![
        row(
            0,
            0,
            delivered(11),
            Segment { protocol: TCP, destination: FLOW_PORT, flags: SYN, ..Segment::default() },
        ),
        data(1, 1, full),
        data(0, 0, delivered(11)),
        data(2, 2, delivered(13)),
        data(3, 3, delivered(14)),
        ack(11, 1, 21),
        ack(13, 1, 23),
        ack(14, 1, 24),
        data(30, 1, delivered(41)),
        data(31, 1, delivered(42)),
        ack(41, 4, 51),
        ack(42, 4, 52),
    ]
}

fn outcome_of(rows: &[Row], traced: Traced) -> (Scenario, Outcome) {
    let scenario = scenario();
    let end = Time(60 * MS);
    let log = Log::read(rows, Side::Client, ORIGIN, end);
    let (ticks, samples) = (Ticks::new(scenario.series.unwrap(), end), Samples::default());
    let flow = flow::read(
        &scenario,
        &scenario.flows[0],
        (&samples, traced),
        &log.packets.iter().collect::<Vec<_>>(),
        FLOW_PORT,
        end,
    );
    let flows = vec![ticks.flow(&flow, |tick| series::kernel_state(&samples, tick))];
    let series = series::build(&ticks, None, &log, flows, &[]);
    let outcome = log.outcome(&scenario, Default::default(), series, vec![flow.record]);
    (scenario, outcome)
}

#[test]
fn reads_a_flow_off_its_packets() {
    let (_, outcome) = outcome_of(&rows(), Traced::default());
    let record = &outcome.flows[0];
    let totals = &record.totals;
    assert_eq!((totals.packets, totals.sent, totals.wire, totals.dropped), (6, 6000, 6312, 1));
    assert_eq!((record.stats.retransmissions, record.stats.spurious), (2, 1));
    assert_eq!((record.delivered, totals.delivered, record.started), (4000, 4000, Time::ZERO));
    assert_eq!(record.finished, Some(Time(41 * MS)), "when the hole was filled");
    // 21 ms five times: each acknowledgement counts from the segment that triggered it.
    assert_eq!((totals.rtt.count(), totals.rtt.mean_ms(), totals.rtt.max_ms()), (5, 21.0, 21.0));
    assert_eq!((totals.owd.mean_ms(), totals.queue_delay.mean_ms()), (11.0, 1.0));
}

#[test]
fn series_follow_the_packets() {
    let (_, outcome) = outcome_of(&rows(), Traced::default());
    let series = &outcome.series;
    assert!(series.times.iter().zip(1..).all(|(at, k)| (at - 0.01 * f64::from(k)).abs() < 1e-12));
    assert_eq!(series.drops, [1.0; 6]);
    assert_eq!(
        series.backlog,
        [0.0, 0.0, 1052.0, 0.0, 0.0, 0.0],
        "one leaves at 30 and is in the queue for 1 ms"
    );
    let goodput: Vec<f64> = series.flows[0].goodput_mbit_s.to_vec();
    assert_eq!(goodput[..4], [0.0, 2.4, 0.0, 0.0]);
    assert!(goodput[4..].iter().all(|g| g.is_nan()), "it has ended");
    let owd = series.flows[0].owd_ms.to_vec();
    assert!(owd[0].is_nan() && owd[1] == 11.0);
}

#[test]
fn the_trace_has_every_packet_in_order() {
    let (_, outcome) = outcome_of(&rows(), Traced::default());
    let trace = outcome.flows[0].trace.as_ref().unwrap();
    let count = |wanted: fn(&Event) -> bool| trace.iter().filter(|(_, event)| wanted(event)).count();
    assert_eq!(count(|e| matches!(e, Event::Sent { .. })), 6);
    assert_eq!(count(|e| matches!(e, Event::Acked(_))), 5);
    assert!(trace.is_sorted_by_key(|(at, _)| *at));
    let lost: Vec<u64> = trace
        .iter()
        .filter_map(|(_, e)| if let Event::Lost { pn, .. } = e { Some(*pn) } else { None })
        .collect();
    assert_eq!(lost, [1, 4], "the second segment, then its repeat");
    let last = trace
        .iter()
        .rev()
        .find_map(|(_, e)| if let Event::Acked(ack) = e { Some(&ack.ranges) } else { None });
    assert_eq!(last.unwrap()[..], [(0, 4000)]);
}

/// Packets before and after the run do not count.
#[test]
fn handshakes_and_farewells_do_not_count() {
    let mut rows = rows();
    rows.push(data(70, 4, delivered(81)));
    rows.push(Row { arrival: Time(1), ..data(0, 0, delivered(0)) });
    let (_, outcome) = outcome_of(&rows, Traced::default());
    assert_eq!(outcome.flows[0].totals.packets, 6);
    // One handshake packet was sent within the run here, and crossed the link.
    assert_eq!(outcome.link.delivered, Backlog { packets: 6, bytes: 5 * 1052 + 52 });
}

/// Reasons are those of the kernel's tracepoints where a flow is traced. No number changes.
#[test]
fn losses_of_a_traced_flow_have_their_source() {
    let metrics = |cwnd| Event::Metrics(Metrics { cwnd, ..Metrics::default() });
    let rule = (Detection::Timeout, "observed");
    let traced = Traced {
        events: vec![(Time(5 * MS), metrics(7)), (Time(99 * MS), metrics(8))],
        reasons: vec![(Time(31 * MS), rule)],
        samples_from: Time::NEVER,
    };
    let (_, plain) = outcome_of(&rows(), Traced::default());
    let (_, outcome) = outcome_of(&rows(), traced);
    let numbers = |outcome: &Outcome| {
        let flow = &outcome.flows[0];
        (flow.stats.clone(), flow.reductions, flow.slow_start_window)
    };
    assert_eq!(numbers(&plain), numbers(&outcome));
    let trace = outcome.flows[0].trace.as_ref().unwrap();
    let lost: Vec<(Option<u64>, Detection, &str)> = trace
        .iter()
        .filter_map(|(_, event)| match event {
            Event::LostObserved { pn, detection, basis } => Some((*pn, *detection, *basis)),
            _ => None,
        })
        .collect();
    assert_eq!(lost, [(Some(1), PROBE.0, PROBE.1), (Some(4), rule.0, rule.1)]);
    assert!(!trace.iter().any(|(_, event)| matches!(event, Event::Lost { .. })), "each loss once");
    let windows: Vec<&Event> =
        trace.iter().map(|(_, e)| e).filter(|e| matches!(e, Event::Metrics(_))).collect();
    assert_eq!(windows, [&metrics(7)], "none after the run");
    let remark = |outcome: &Outcome| {
        let trace = outcome.flows[0].trace.as_ref().unwrap();
        let Some((_, Event::Remark(text))) = trace.iter().find(|(_, e)| matches!(e, Event::Remark(_))) else {
            panic!()
        };
        *text
    };
    assert!(remark(&plain).contains("TCP_INFO") && remark(&outcome).contains("tracepoints"));
}
