//! Traces of connections: recordings everywhere, and live ones where the kernel allows it.
#![cfg(target_os = "linux")]

use std::io::Read;

use ackclock_kernel::trace::{Flow, LABELS, TAIL_LOSS_PROBE, TraceRecord, kind};
use congestion::{Cause, Detection};
use flate2::read::GzDecoder;
use scenario::trace::{Event, Trace};
use units::Time;

/// A connection of Linux' Reno through a link that loses packets: `record` below made it.
const RECORDING: &[u8] = include_bytes!("trace.gz");

fn recording() -> Vec<TraceRecord> {
    let mut bytes = Vec::new();
    GzDecoder::new(RECORDING).read_to_end(&mut bytes).unwrap();
    bytes.chunks(size_of::<TraceRecord>()).map(|bytes| TraceRecord::read(bytes).unwrap()).collect()
}

fn events(records: &[TraceRecord]) -> (Flow, Trace) {
    let mut trace = Trace::new();
    let mut flow = Flow::new(&records[0], &mut trace);
    records.iter().for_each(|record| flow.on_record(record, &mut trace));
    (flow, trace)
}

fn count(trace: &Trace, is_counted: impl Fn(&Event) -> bool) -> usize {
    trace.iter().filter(|(_, event)| is_counted(event)).count()
}

/// Each count is the kernel's, and each loss has its rule.
#[test]
fn the_counts_of_a_recording_are_the_kernels() {
    let records = recording();
    let (flow, trace) = events(&records);
    let (last, summary) = (records.last().unwrap(), flow.summary());
    assert!(trace.is_sorted_by_key(|(at, _)| *at));
    assert_eq!(summary.retransmissions, u64::from(last.total_retrans));
    assert_eq!(summary.bytes, last.bytes_acked);
    let lost = |wanted: Detection| {
        count(&trace, |event| matches!(event, Event::LostObserved { detection, .. } if *detection == wanted))
            as u64
    };
    let [rack, duplicates, timeout, probes, polled @ ..] = summary.losses;
    assert_eq!(rack + timeout, u64::from(last.lost), "what tail loss probes repair is not in `lost`");
    assert_eq!([lost(Detection::TimeThreshold), lost(Detection::Timeout)], [rack, timeout + probes]);
    assert_eq!((duplicates, polled), (0, [0, 0]));
    assert!(rack > 10 && timeout > 3 && probes > 0, "{:?}", summary.losses);
    let reduced = |wanted| count(&trace, |event| *event == Event::Reduced(wanted));
    let states =
        |state| records.iter().filter(|record| (record.kind, record.state) == (kind::STATE, state)).count();
    assert_eq!(reduced(Cause::Timeout), states(4));
    assert_eq!(reduced(Cause::Loss), states(3) + states(2));
    assert!(LABELS[TAIL_LOSS_PROBE].basis.starts_with("observed"));
}

/// The values of a tcp_probe have the time of the record before, all others their own.
#[test]
fn values_have_the_time_at_which_they_were_true() {
    let records = recording();
    let (_, trace) = events(&records);
    let metrics: Vec<(Time, u64)> = trace
        .iter()
        .filter_map(|(at, event)| match event {
            Event::Metrics(metrics) => Some((*at, metrics.cwnd)),
            _ => None,
        })
        .collect();
    let live: Vec<&TraceRecord> = records.iter().filter(|record| record.kind != kind::CLOSED).collect();
    assert_eq!(metrics.len(), live.len());
    for (i, record) in live.iter().enumerate() {
        let source = if record.kind == kind::PROBE && i > 0 { live[i - 1] } else { record };
        assert_eq!(metrics[i], (source.time(), u64::from(record.cwnd) * u64::from(record.mss)), "{i}");
    }
}

/// Nothing in a record is trusted.
#[test]
fn damaged_records_do_no_harm() {
    let mut state = 1_u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let mut random = || -> TraceRecord {
        let bytes: Vec<u8> = (0..size_of::<TraceRecord>()).map(|_| byte()).collect();
        let mut record = TraceRecord::read(&bytes).unwrap();
        (record.kind, record.lost) = (bytes[0] % 8, bytes[1].into());
        record
    };
    let records: Vec<TraceRecord> = (0..5000).map(|_| random()).collect();
    let (_, trace) = events(&records);
    assert!(trace.is_sorted_by_key(|(at, _)| *at));
    assert_eq!(TraceRecord::read(&[0; 151]), None);
}

/// Makes the recording: start this test with `--ignored record`, then within 5 s, in another shell,
/// a sender with Reno and short bursts to port 5201, behind `ackclock link` with `loss=15 %`.
#[cfg(feature = "load")]
#[test]
#[ignore = "makes the recording"]
#[allow(clippy::disallowed_methods)]
fn record() {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;
    let probe = ackclock_kernel::trace::Probe::attach(5201, false).unwrap();
    let mut records = Vec::new();
    std::thread::sleep(std::time::Duration::from_secs(30));
    probe.read(&mut records).unwrap();
    let most = records.iter().max_by_key(|record| record.bytes_acked).unwrap();
    let (cookie, start) = (most.cookie, records[0].time_ns);
    records.retain(|record| record.cookie == cookie && record.packets_out + record.total_retrans > 0);
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    for record in &mut records {
        record.time_ns -= start;
        out.write_all(bytemuck::bytes_of(record)).unwrap();
    }
    std::fs::write("tests/trace.gz", out.finish().unwrap()).unwrap();
}

/// A program may choose another controller at any time.
#[test]
fn another_controller_is_told() {
    let mut records = recording();
    assert_eq!(records[0].algorithm(), "reno");
    let remarks = |records: &[TraceRecord]| {
        let told = |event: &Event| matches!(event, Event::Remark(text) if text.contains("its controller"));
        count(&events(records).1, told)
    };
    assert_eq!(remarks(&records), 0);
    for record in records.iter_mut().skip(5) {
        let mut bytes = bytemuck::bytes_of(record).to_vec();
        let at = bytes.windows(5).position(|bytes| bytes == b"reno\0").unwrap();
        bytes[at..at + 5].copy_from_slice(b"cubic");
        *record = TraceRecord::read(&bytes).unwrap();
    }
    assert_eq!(remarks(&records), 1);
    assert_eq!(events(&records).0.last().algorithm(), "cubic");
}
