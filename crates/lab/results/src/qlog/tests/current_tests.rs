//! The current dialect. `readers/` reads it with Cloudflare's crate `qlog`.

use super::*;

const CURRENT: Format = Format { dialect: Dialect::Current, gzip: false };

fn told(meta: &Meta, trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, CURRENT, meta, trace).unwrap();
    out
}

/// Fields that the reader of `readers/` does not have.
#[test]
fn the_controller_and_the_seed_are_in_the_header() {
    let header = &records(&told(&meta(Transport::Quic), &Trace::new()))[0];
    let common = &header["trace"]["common_fields"];
    assert_eq!((&common["algorithm"], &common["seed"]), (&json!("new-reno"), &json!(u64::MAX)));
    assert_eq!(header["title"], meta(Transport::Quic).title);
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
}

/// An ACK that covers nothing new has no ranges: the drafts ask for at least one. A mark is beside
/// the data.
#[test]
fn what_the_drafts_have_no_field_for() {
    let covers_nothing = vec![acked(0, 0, vec![(0, 0)])];
    let records = records(&told(&meta(Transport::Tcp), &covers_nothing));
    assert_eq!(records[1]["data"]["frames"], json!([{ "frame_type": "ack", "cumulative": 0 }]));
    let marked = Event::Received { pn: 0, bytes: 1252, offset: 0, len: 1215, marked: true };
    let mut far = Vec::new();
    write_receiver(&mut far, CURRENT, &meta(Transport::Quic), &vec![(Time(0), marked)]).unwrap();
    assert_eq!(super::records(&far)[1]["ecn"], "CE");
}

/// Both dialects have the same events at the same times.
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
}

#[test]
fn formats_by_name() {
    let parsed = |text: &str| text.parse::<Format>();
    assert_eq!(parsed("0.3"), Ok(Format::default()));
    assert_eq!(parsed("current"), Ok(CURRENT));
    assert_eq!(parsed("gzip"), Ok(Format { gzip: true, ..Format::default() }));
    assert_eq!(parsed("current, gzip"), Ok(Format { gzip: true, ..CURRENT }));
    assert_eq!(parsed("gzip,current").unwrap().extension(), ".sqlog.gz");
    for text in ["0.3", "0.3,gzip", "current", "current,gzip"] {
        assert_eq!(parsed(text).unwrap().to_string(), text);
    }
    assert_eq!(parsed("0.4").unwrap_err(), "unknown qlog format `0.4`; known: 0.3, current, gzip");
    assert!(parsed("").is_err() && parsed("0.3,current").unwrap_err().contains("one dialect"));
}
