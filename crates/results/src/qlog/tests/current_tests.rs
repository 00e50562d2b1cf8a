//! The current dialect, read by Cloudflare's crate `qlog`: as whoever reads it will.

use std::io::Cursor;

use ::qlog::QlogSeq;
use ::qlog::events::quic::{AckRange, CongestionStateUpdatedTrigger, PacketLostTrigger, QuicFrame};
use ::qlog::events::{Event as Read, EventData};
use ::qlog::reader::QlogSeqReader;

use super::*;

const CURRENT: Format = Format { dialect: Dialect::Current, gzip: false };

fn told(meta: &Meta, trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, CURRENT, meta, trace).unwrap();
    out
}

/// The header and every record, each as one of the crate's types: its own reader skips what it does not know.
fn parsed(log: &[u8]) -> (QlogSeq, Vec<Read>) {
    let text = std::str::from_utf8(log).unwrap();
    let mut records = text.strip_prefix('\u{1e}').unwrap().split('\u{1e}');
    let header = serde_json::from_str(records.next().unwrap()).unwrap();
    let event = |record: &str| serde_json::from_str(record).unwrap_or_else(|e| panic!("{e}: {record}"));
    (header, records.map(event).collect())
}

fn count(events: &[Read], which: impl Fn(&EventData) -> bool) -> u64 {
    events.iter().filter(|event| which(&event.data)).count() as u64
}

fn is_sent(data: &EventData) -> bool {
    matches!(data, EventData::QuicPacketSent(_))
}

#[test]
fn the_header_is_that_of_the_drafts() {
    for (transport, protocol) in [(Transport::Quic, "QUIC"), (Transport::Tcp, "TCP")] {
        let meta = meta(transport);
        let log = told(&meta, &Trace::new());
        // Readers look for them in the first 256 bytes.
        let beginning = String::from_utf8_lossy(&log[..128]);
        assert!(
            beginning.contains(::qlog::QLOGFILESEQ_URI) && beginning.contains("application/qlog+json-seq")
        );
        let (header, _) = parsed(&log);
        assert_eq!(header.title, Some(meta.title));
        let trace = header.trace;
        assert_eq!(trace.event_schemas, [::qlog::events::QUIC_URI]);
        let vantage_point = trace.vantage_point.unwrap();
        assert_eq!(vantage_point.name, Some(meta.flow));
        assert_eq!(vantage_point.ty, ::qlog::VantagePointType::Server);
        let common = trace.common_fields.unwrap();
        assert_eq!(common.protocol_types, Some(vec![protocol.to_owned()]));
        assert_eq!(common.reference_time, ::qlog::ReferenceTime::new_monotonic(None));
        assert_eq!(common.time_format, Some(::qlog::TimeFormat::RelativeToEpoch));
        let json: Value = records(&log)[0]["trace"]["common_fields"].clone();
        assert_eq!((&json["algorithm"], &json["seed"]), (&json!("new-reno"), &json!(u64::MAX)));
    }
}

#[test]
fn the_words_of_the_drafts() {
    let log = told(&meta(Transport::Quic), &some_of_all());
    let lines: Vec<Value> = records(&log)[1..].to_vec();
    assert_eq!(
        lines,
        [
            json!({ "time": 1000.0, "name": "quic:packet_sent", "data": {
                "header": { "packet_type": "initial", "packet_number": 0 }, "raw": { "length": 1200 } } }),
            json!({ "time": 1000.123456, "name": "quic:packet_sent", "data": {
                "header": { "packet_type": "1RTT", "packet_number": 1 }, "raw": { "length": 1252 },
                "frames": [{ "frame_type": "stream", "stream_id": 0, "offset": 1215, "raw": { "length": 1215 } }] } }),
            json!({ "time": 1050.0, "name": "quic:packet_received", "data": {
                "header": { "packet_type": "1RTT", "packet_number": 0 },
                "frames": [{ "frame_type": "ack", "ack_delay": 1.5, "acked_ranges": [[1], [4]] }] } }),
            json!({ "time": 1050.0, "name": "quic:packet_lost", "data": {
                "header": { "packet_type": "1RTT", "packet_number": 0 }, "trigger": "time_threshold" } }),
            json!({ "time": 1050.0, "name": "quic:congestion_state_updated", "cause": "loss", "data": {
                "new": "recovery" } }),
            json!({ "time": 1050.000001, "name": "quic:recovery_metrics_updated", "data": {
                "congestion_window": 5000, "bytes_in_flight": 1252, "smoothed_rtt": 51.0, "latest_rtt": 50.000001,
                "rtt_variance": 2.0, "cc_bwe": 1.5 } }),
        ]
    );
    let (_, events) = parsed(&log);
    let EventData::QuicPacketReceived(ack) = &events[2].data else { panic!("{:?}", events[2]) };
    let Some([QuicFrame::Ack { acked_ranges: Some(ranges), .. }]) = ack.frames.as_deref() else {
        panic!("{ack:?}")
    };
    assert_eq!(ranges, &[AckRange::new(1, 1), AckRange::new(4, 4)]);
}

/// A trigger where the crate has a type for it, the cause always.
#[test]
fn triggers_are_typed() {
    for (cause, word, typed) in [
        (Cause::Loss, "loss", None),
        (Cause::Ecn, "ecn", Some(CongestionStateUpdatedTrigger::Ecn)),
        (Cause::Delay, "delay", None),
        (
            Cause::PersistentCongestion,
            "persistent_congestion",
            Some(CongestionStateUpdatedTrigger::PersistentCongestion),
        ),
    ] {
        let (_, events) = parsed(&told(&meta(Transport::Quic), &vec![(Time(0), Event::Reduced(cause))]));
        let EventData::QuicCongestionStateUpdated(state) = &events[0].data else { panic!("{:?}", events[0]) };
        assert_eq!((state.new.as_str(), &state.trigger), ("recovery", &typed));
        assert_eq!(events[0].ex_data["cause"], word);
    }
    for (detection, typed) in [
        (Detection::PacketThreshold, PacketLostTrigger::ReorderingThreshold),
        (Detection::TimeThreshold, PacketLostTrigger::TimeThreshold),
        (Detection::Timeout, PacketLostTrigger::PtoExpired),
    ] {
        let (_, events) =
            parsed(&told(&meta(Transport::Quic), &vec![(Time(0), Event::Lost { pn: 3, detection })]));
        let EventData::QuicPacketLost(lost) = &events[0].data else { panic!("{:?}", events[0]) };
        assert_eq!(lost.trigger, Some(typed));
    }
}

/// An ACK that covers nothing new has no ranges: the drafts ask for one at least. A mark stands beside the data.
#[test]
fn what_the_drafts_have_no_field_for() {
    let covers_nothing = vec![acked(0, 0, vec![(0, 0)])];
    let records = records(&told(&meta(Transport::Tcp), &covers_nothing));
    assert_eq!(records[1]["data"]["frames"], json!([{ "frame_type": "ack", "cumulative": 0 }]));
    let marked = Event::Received { pn: 0, bytes: 1252, offset: 0, len: 1215, marked: true };
    let mut far = Vec::new();
    write_far(&mut far, CURRENT, &meta(Transport::Quic), &vec![(Time(0), marked)]).unwrap();
    let (_, events) = parsed(&far);
    assert_eq!(events[0].ex_data["ecn"], "CE");
}

#[test]
fn every_record_of_a_run_has_its_type() {
    for (algorithm, transport) in [("new-reno", QUIC), ("bbr3", QUIC), ("tcp-reno", TCP)] {
        let (meta, record) = simulate(algorithm, transport, 2_000_000);
        let (_, events) = parsed(&told(&meta, record.trace.as_ref().unwrap()));
        assert_eq!(count(&events, is_sent), record.totals.packets, "{algorithm}");
        let lost = count(&events, |data| {
            matches!(data, EventData::QuicPacketLost(lost) if matches!(lost.trigger,
                Some(PacketLostTrigger::ReorderingThreshold | PacketLostTrigger::TimeThreshold | PacketLostTrigger::PtoExpired)))
        });
        assert_eq!(lost, record.stats.lost(), "{algorithm}");
        assert!(count(&events, |data| matches!(data, EventData::QuicMetricsUpdated(_))) > 100, "{algorithm}");
        let mut far = Vec::new();
        write_far(&mut far, CURRENT, &meta, record.far_trace.as_ref().unwrap()).unwrap();
        let (header, events) = parsed(&far);
        assert_eq!(header.trace.vantage_point.unwrap().ty, ::qlog::VantagePointType::Client);
        let arrived = count(&events, |data| matches!(data, EventData::QuicPacketReceived(_)));
        assert!(arrived > 1000 && arrived <= record.totals.packets - record.totals.dropped, "{algorithm}");
    }
}

/// Both dialects tell the same events at the same times.
#[test]
fn dialects_differ_in_words_alone() {
    let (meta, record) = simulate("cubic", QUIC, 500_000);
    let trace = record.trace.as_ref().unwrap();
    let (old, new) = (records(&log(&meta, trace)), records(&told(&meta, trace)));
    assert_eq!(old.len(), new.len());
    for (old, new) in old.iter().zip(&new).skip(1) {
        let (old_name, new_name) = (old["name"].as_str().unwrap(), new["name"].as_str().unwrap());
        let event = old_name.split_once(':').unwrap().1;
        assert!(new_name.ends_with(event), "{old_name} {new_name}");
        let since = new["time"].as_f64().unwrap() - (meta.start - Time::ZERO).0 as f64 / 1e6;
        assert!((old["time"].as_f64().unwrap() - since).abs() < 1e-6);
    }
}

#[test]
fn gzip_holds_the_same() {
    let (meta, record) = simulate("new-reno", QUIC, 500_000);
    let trace = record.trace.as_ref().unwrap();
    for dialect in [Dialect::V03, Dialect::Current] {
        let [plain, packed] = [false, true].map(|gzip| {
            let mut out = Vec::new();
            write(&mut out, Format { dialect, gzip }, &meta, trace).unwrap();
            out
        });
        assert!(packed.len() * 5 < plain.len(), "{} of {}", packed.len(), plain.len());
        let mut unpacked = Vec::new();
        io::copy(&mut flate2::read::GzDecoder::new(&packed[..]), &mut unpacked).unwrap();
        assert!(unpacked == plain);
    }
    let dir = tempfile::tempdir().unwrap();
    let format: Format = "current,gzip".parse().unwrap();
    let path = dir.path().join(format!("flow{}", format.extension()));
    write(std::fs::File::create(&path).unwrap(), format, &meta, trace).unwrap();
    let read = QlogSeqReader::with_file(&path)
        .unwrap()
        .filter(|event| matches!(event, ::qlog::reader::Event::Qlog(event) if is_sent(&event.data)));
    assert_eq!(read.count() as u64, record.totals.packets);
    let plain = told(&meta, trace);
    let read = QlogSeqReader::new(Box::new(Cursor::new(plain.clone()))).unwrap();
    assert_eq!(read.count(), records(&plain).len() - 1);
}

#[test]
fn formats_by_name() {
    let of = |text: &str| text.parse::<Format>();
    assert_eq!(of("0.3"), Ok(Format::default()));
    assert_eq!(of("current"), Ok(CURRENT));
    assert_eq!(of("gzip"), Ok(Format { gzip: true, ..Format::default() }));
    assert_eq!(of("current, gzip"), Ok(Format { gzip: true, ..CURRENT }));
    assert_eq!(of("gzip,current").unwrap().extension(), ".sqlog.gz");
    for text in ["0.3", "0.3,gzip", "current", "current,gzip"] {
        assert_eq!(of(text).unwrap().to_string(), text);
    }
    assert_eq!(of("0.4").unwrap_err(), "`0.4` is none of 0.3, current, gzip");
    assert!(of("").is_err() && of("0.3,current").unwrap_err().contains("one dialect"));
}
