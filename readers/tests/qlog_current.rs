//! Reads the current dialect with Cloudflare's crate `qlog`, as other readers do.

mod common;

use std::io::Cursor;

use qlog::QlogSeq;
use qlog::events::quic::{PacketLostTrigger, QuicFrame};
use qlog::events::{Event, EventData};
use qlog::reader::QlogSeqReader;

/// Parses the header and every record as one of the crate's types. The crate's own reader skips
/// unknown records.
fn parsed(log: &[u8]) -> (QlogSeq, Vec<Event>) {
    let all = common::records(log);
    let event = |record: &serde_json::Value| {
        serde_json::from_str(&record.to_string()).unwrap_or_else(|e| panic!("{e}: {record}"))
    };
    (serde_json::from_str(&all[0].to_string()).unwrap(), all[1..].iter().map(event).collect())
}

fn count(events: &[Event], which: impl Fn(&EventData) -> bool) -> f64 {
    events.iter().filter(|event| which(&event.data)).count() as f64
}

fn is_sent(data: &EventData) -> bool {
    matches!(data, EventData::QuicPacketSent(_))
}

#[test]
fn the_header_is_that_of_the_drafts() {
    let Some((_folder, logs)) = common::rough("current") else { return };
    for log in logs {
        // Readers look for both in the first 256 bytes.
        let beginning = String::from_utf8_lossy(&log.bytes[..128]);
        assert!(beginning.contains(qlog::QLOGFILESEQ_URI) && beginning.contains("application/qlog+json-seq"));
        let (header, _) = parsed(&log.bytes);
        assert_eq!(header.title.as_deref(), Some("readers/rough"));
        let trace = header.trace;
        assert_eq!(trace.event_schemas, [qlog::events::QUIC_URI]);
        let vantage_point = trace.vantage_point.unwrap();
        assert_eq!(vantage_point.name, Some(log.end()));
        let (near, far) = (qlog::VantagePointType::Server, qlog::VantagePointType::Client);
        assert_eq!(vantage_point.ty, if log.is_far { far } else { near });
        let common = trace.common_fields.unwrap();
        let protocol = if log.row == "tcp-reno" { "TCP" } else { "QUIC" };
        assert_eq!(common.protocol_types, Some(vec![protocol.to_owned()]));
        assert_eq!(common.reference_time, qlog::ReferenceTime::new_monotonic(None));
        assert_eq!(common.time_format, Some(qlog::TimeFormat::RelativeToEpoch));
    }
}

#[test]
fn every_record_of_a_run_has_its_type() {
    let Some((_folder, logs)) = common::rough("current") else { return };
    for log in logs {
        let (row, (_, events)) = (&log.row, parsed(&log.bytes));
        if log.is_far {
            assert!(
                count(&events, |data| matches!(data, EventData::QuicPacketReceived(_))) > 1000.0,
                "{row}"
            );
            assert!(
                events.iter().any(|event| event.ex_data.get("ecn").is_some_and(|ecn| ecn == "CE")),
                "{row}"
            );
            continue;
        }
        for (trigger, metric) in [
            (PacketLostTrigger::ReorderingThreshold, "lost_by_packet_threshold"),
            (PacketLostTrigger::TimeThreshold, "lost_by_time_threshold"),
            (PacketLostTrigger::PtoExpired, "lost_by_timeout"),
        ] {
            let lost = count(
                &events,
                |data| matches!(data, EventData::QuicPacketLost(lost) if lost.trigger.as_ref() == Some(&trigger)),
            );
            assert_eq!(lost, log.metrics.number(metric), "{row}: {metric}");
        }
        assert!(count(&events, is_sent) > 3400.0, "{row}: 5 MB");
        assert!(count(&events, |data| matches!(data, EventData::QuicMetricsUpdated(_))) > 100.0, "{row}");
        assert!(
            count(&events, |data| matches!(data, EventData::QuicCongestionStateUpdated(_))) > 2.0,
            "{row}"
        );
        let acks = events.iter().filter_map(|event| match &event.data {
            EventData::QuicPacketReceived(packet) => packet.frames.as_deref(),
            _ => None,
        });
        let ranges = acks.flatten().filter(
            |frame| matches!(frame, QuicFrame::Ack { acked_ranges: Some(ranges), .. } if !ranges.is_empty()),
        );
        assert!(row == "tcp-reno" || ranges.count() > 1000, "{row}: acknowledgements");
    }
}

#[test]
fn its_own_reader_reads_gzip_too() {
    let Some((_folder, plain)) = common::rough("current") else { return };
    let Some((_folder, packed)) = common::rough("current,gzip") else { return };
    for (plain, packed) in plain.iter().zip(&packed) {
        assert!(
            packed.bytes.len() * 5 < plain.bytes.len(),
            "{} of {}",
            packed.bytes.len(),
            plain.bytes.len()
        );
        let (_, events) = parsed(&plain.bytes);
        let read = QlogSeqReader::with_file(&packed.path)
            .unwrap()
            .filter(|event| matches!(event, qlog::reader::Event::Qlog(event) if is_sent(&event.data)));
        assert_eq!(read.count() as f64, count(&events, is_sent));
        let read = QlogSeqReader::new(Box::new(Cursor::new(plain.bytes.clone()))).unwrap();
        assert_eq!(read.count(), events.len());
    }
}
