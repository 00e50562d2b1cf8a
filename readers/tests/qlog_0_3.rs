//! Reads qlog 0.3 with Cloudflare's crate `qlog` 0.16, the last that supports it. Each event has
//! its name, its time and every field.

mod common;

use std::collections::BTreeSet;

use qlog_0_3::QlogSeq;
use qlog_0_3::events::quic::PacketLostTrigger;
use qlog_0_3::events::{Event, EventData};
use serde_json::Value;

/// Fields that the crate lacks, apart from the controller's own variables. qvis shows the size of
/// lost packets.
const UNTYPED: [&str; 4] = [
    "transport:packet_received.data.ecn",
    "transport:packet_received.data.frames.cumulative",
    "transport:packet_sent.data.frames.cumulative",
    "recovery:packet_lost.data.raw",
];
/// Tolerance of times and RTTs, which the crate stores as `f32`.
const SINGLE: f64 = 1e-6;

/// Parses the header and every record as one of the crate's types, and returns each record with the
/// written one. The crate's own reader skips unknown records.
fn parsed(log: &[u8]) -> (QlogSeq, Vec<(Event, Value)>) {
    let all = common::records(log);
    let read = |record: &Value| -> Event {
        serde_json::from_str(&record.to_string()).unwrap_or_else(|e| panic!("{e}: {record}"))
    };
    let header = serde_json::from_str(&all[0].to_string()).unwrap();
    (header, all[1..].iter().map(|record| (read(record), record.clone())).collect())
}

/// Asserts that each written field was read, with its value.
fn assert_same(read: &Value, written: &Value, path: &str) {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => {
            for (name, value) in written.iter().filter(|(name, _)| !is_untyped(&format!("{path}.{name}"))) {
                let found = read.get(name).unwrap_or_else(|| panic!("{path}.{name} was not read"));
                assert_same(found, value, &format!("{path}.{name}"));
            }
        }
        (Value::Array(read), Value::Array(written)) => {
            assert_eq!(read.len(), written.len(), "{path}");
            read.iter().zip(written).for_each(|(read, written)| assert_same(read, written, path));
        }
        (Value::Number(read), Value::Number(written)) if written.is_f64() => {
            let [read, written] = [read, written].map(|number| number.as_f64().unwrap());
            assert!((read - written).abs() <= SINGLE * written.abs(), "{path}: {read} {written}");
        }
        _ => assert_eq!(read, written, "{path}"),
    }
}

fn is_untyped(path: &str) -> bool {
    UNTYPED.contains(&path) || path.starts_with("recovery:metrics_updated.data.cc_")
}

/// Reads a log and compares every field with the written one.
fn checked(log: &[u8]) -> Vec<Event> {
    let (_, events) = parsed(log);
    for (read, written) in &events {
        assert_same(&serde_json::to_value(read).unwrap(), written, written["name"].as_str().unwrap());
    }
    events.into_iter().map(|(read, _)| read).collect()
}

#[test]
fn its_header_is_read() {
    let Some((_folder, logs)) = common::rough("0.3") else { return };
    for log in logs {
        let (header, _) = parsed(&log.bytes);
        assert_eq!(header.qlog_version, qlog_0_3::QLOG_VERSION);
        assert_eq!(
            (header.qlog_format.as_str(), header.title.as_deref()),
            ("JSON-SEQ", Some("readers/rough"))
        );
        let trace = header.trace;
        assert_eq!(trace.vantage_point.name, Some(log.end()));
        let (near, far) = (qlog_0_3::VantagePointType::Server, qlog_0_3::VantagePointType::Client);
        assert_eq!(trace.vantage_point.ty, if log.is_far { far } else { near });
        assert_eq!(trace.configuration.unwrap().time_offset, Some(0.0));
        let protocol = if log.row == "tcp-reno" { "TCP" } else { "QUIC" };
        let common = trace.common_fields.unwrap();
        assert_eq!(common.protocol_type, Some(vec![protocol.to_owned()]));
        assert_eq!((common.reference_time, common.time_format.as_deref()), (Some(0.0), Some("relative")));
    }
}

/// A rough path causes every event, at both ends. Their counts equal those of the run.
#[test]
fn every_event_of_a_run_is_read() {
    let Some((_folder, logs)) = common::rough("0.3") else { return };
    for log in logs {
        let (row, events) = (&log.row, checked(&log.bytes));
        let count = |which: &dyn Fn(&EventData) -> bool| {
            events.iter().filter(|event| which(&event.data)).count() as f64
        };
        if log.is_far {
            let marks = common::records(&log.bytes).iter().filter(|r| r["data"]["ecn"] == "CE").count();
            assert!(marks > 0, "{row}: no mark");
            assert!(count(&|data| matches!(data, EventData::PacketSent(_))) > 0.0, "{row}: acknowledgements");
            assert!(count(&|data| matches!(data, EventData::PacketReceived(_))) > 1000.0, "{row}");
            continue;
        }
        let lost_by = |rule: PacketLostTrigger| {
            count(&|data| matches!(data, EventData::PacketLost(lost) if lost.trigger.as_ref() == Some(&rule)))
        };
        for (rule, metric) in [
            (PacketLostTrigger::ReorderingThreshold, "lost_by_packet_threshold"),
            (PacketLostTrigger::TimeThreshold, "lost_by_time_threshold"),
            (PacketLostTrigger::PtoExpired, "lost_by_timeout"),
        ] {
            assert_eq!(lost_by(rule), log.metrics.number(metric), "{row}: {metric}");
        }
        let lost = count(&|data| matches!(data, EventData::PacketLost(_)));
        assert_eq!(lost, log.metrics.number("declared_lost"), "{row}");
        assert!(lost > 5.0, "{row}: a rough path");
        assert!(count(&|data| matches!(data, EventData::PacketSent(_))) > 3400.0, "{row}: 5 MB");
        assert!(count(&|data| matches!(data, EventData::MetricsUpdated(_))) > 100.0, "{row}");
        let states: BTreeSet<&str> = events
            .iter()
            .filter_map(|event| match &event.data {
                EventData::CongestionStateUpdated(state) => Some(state.new.as_str()),
                _ => None,
            })
            .collect();
        assert!(states.contains("recovery") && states.len() > 2, "{row}: {states:?}");
        // The cause is always there. A trigger is there if the drafts and the crate agree on its
        // name.
        let is_told = |event: &&Event| matches!(&event.data, EventData::CongestionStateUpdated(state) if state.new == "recovery");
        for event in events.iter().filter(is_told) {
            let cause = event.ex_data["cause"].as_str().unwrap();
            assert!(["loss", "ecn", "timeout", "persistent_congestion"].contains(&cause), "{row}: {cause}");
        }
    }
}
