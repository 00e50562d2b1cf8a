//! Reads the logs of both ends of simulated and handmade traces as JSON.

use std::collections::BTreeMap;

use congestion::{Cause, Detection};
use link::{Limit, LinkConfig};
use recovery::AckConfig;
use scenario::trace::{Ack, Event, Metrics};
use scenario::{FlowConfig, Record, Scenario, Watch};
use serde_json::{Value, json};
use units::{Duration, Rate, Time};

use super::*;

mod current_tests;
mod estimate_tests;

fn meta(transport: Transport) -> Meta {
    Meta {
        group: String::new(),
        title: "a \"title\"\n\u{1e} of two lines".to_owned(),
        flow: "näive \\ flow".to_owned(),
        algorithm: "new-reno".to_owned(),
        parameters: String::new(),
        states: &[],
        transport,
        seed: u64::MAX,
        start: Time::from_millis(1000),
    }
}

fn log(meta: &Meta, trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, Format::default(), meta, trace).unwrap();
    out
}

/// Splits a log into records: separator, one line of JSON, newline.
fn records(log: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(log).unwrap();
    assert!(text.starts_with('\u{1e}') && text.ends_with('\n'));
    let parse = |line: &str| serde_json::from_str(line.strip_suffix('\n').unwrap()).unwrap();
    let records: Vec<Value> = text[1..].split('\u{1e}').map(parse).collect();
    assert_eq!(text.lines().count(), records.len());
    records
}

fn named<'a>(records: &'a [Value], name: &str) -> Vec<&'a Value> {
    records.iter().filter(|r| r["name"] == name).map(|r| &r["data"]).collect()
}

fn assert_monotone(events: &[Value]) {
    let times: Vec<f64> = events.iter().map(|e| e["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted() && times.iter().all(|t| t.is_finite() && *t >= 0.0));
}

fn sent(at: u64, pn: u64, offset: u64) -> (Time, Event) {
    (Time(at), Event::Sent { pn, bytes: 1252, offset, len: 1215 })
}

fn acked(at: u64, number: u64, ranges: Vec<(u64, u64)>) -> (Time, Event) {
    (Time(at), Event::Acked(Ack { number, ranges: ranges.into(), delay: Duration::from_micros(1500) }))
}

fn metrics(at: u64, cwnd: u64, inner: Vec<(&'static str, f64)>) -> (Time, Event) {
    let metrics = Metrics {
        cwnd,
        bytes_in_flight: 1252,
        latest_rtt: Some(Duration(50_000_001)),
        smoothed_rtt: Duration::from_millis(51),
        min_rtt: Duration::MAX,
        rttvar: Duration::from_millis(2),
        pacing_rate: None,
        inner,
    };
    (Time(at), Event::Metrics(metrics))
}

#[test]
fn the_header_is_that_of_qvis_and_escaped() {
    let meta = meta(Transport::Quic);
    let header = &records(&log(&meta, &Trace::new()))[0];
    assert_eq!(header["qlog_version"], "0.3");
    assert_eq!(header["qlog_format"], "JSON-SEQ");
    assert_eq!(header["title"], meta.title);
    let trace = &header["trace"];
    assert_eq!(trace["title"], meta.flow);
    assert_eq!(trace["vantage_point"], json!({ "name": meta.flow, "type": "server" }));
    let configuration = json!({ "time_offset": 0.0, "algorithm": "new-reno", "seed": u64::MAX });
    assert_eq!(trace["configuration"], configuration);
    let common = json!({ "protocol_type": ["QUIC"], "time_format": "relative", "reference_time": 1000.0 });
    assert_eq!(trace["common_fields"], common);
}

/// Returns a trace with every kind of event.
fn some_of_all() -> Trace {
    let start = 1_000_000_000;
    vec![
        (Time(start), Event::Opens(scenario::trace::Handshake { number: 0, bytes: 1200 })),
        sent(start + 123_456, 1, 1215),
        acked(start + 50_000_000, 0, vec![(1, 1), (3, 4)]),
        (Time(start + 50_000_000), Event::Lost { pn: 0, detection: Detection::TimeThreshold }),
        (Time(start + 50_000_000), Event::Reduced(Cause::Loss)),
        metrics(start + 50_000_001, 5000, vec![("bwe", 1.5)]),
    ]
}

/// A log of a connection that others observe: losses without numbers, the end of recovery, remarks.
fn observed() -> Trace {
    let at = Time(1_002_000_000);
    let lost = |detection| (at, Event::LostObserved { pn: None, detection, basis: "by rule: RACK" });
    vec![
        (Time(1_000_000_000), Event::Remark("\"observed\"")),
        lost(Detection::TimeThreshold),
        (at, Event::Reduced(Cause::Loss)),
        metrics(1_003_000_000, 5000, vec![("ssthresh", 4000.0)]),
        lost(Detection::Timeout),
        (Time(1_004_000_000), Event::Recovered),
        metrics(1_004_000_000, 5000, vec![("ssthresh", 4000.0)]),
        metrics(1_005_000_000, 5000, vec![("ssthresh", f64::INFINITY)]),
    ]
}

fn observed_log(dialect: Dialect) -> Vec<Value> {
    let mut out = Log::for_observed(Format { dialect, gzip: false }, &meta(Transport::Tcp)).unwrap();
    let mut bytes = out.add(&observed()).unwrap();
    bytes.extend(out.finish().unwrap());
    records(&bytes)
}

#[test]
fn losses_without_numbers_tell_where_their_rule_is_from() {
    let names = [
        (Dialect::V03, "recovery:packet_lost", "generic:message"),
        (Dialect::Current, "quic:packet_lost", "loglevel:info"),
    ];
    for (dialect, lost, remark) in names {
        let all = observed_log(dialect);
        assert_eq!(
            (&all[1]["name"], &all[1]["data"]),
            (&json!(remark), &json!({ "message": "\"observed\"" }))
        );
        let losses: Vec<&Value> = all.iter().filter(|record| record["name"] == lost).collect();
        assert_eq!(losses[0]["basis"], "by rule: RACK");
        assert_eq!((losses[0]["data"]["trigger"].as_str(), losses.len()), (Some("time_threshold"), 2));
        assert_eq!(losses[1]["data"], json!({ "trigger": "pto_expired" }));
        let states: Vec<&Value> =
            all.iter().map(|record| &record["data"]["new"]).filter(|new| !new.is_null()).collect();
        assert_eq!(states, ["recovery", "congestion_avoidance", "slow_start"]);
    }
    let schemas = &observed_log(Dialect::Current)[0]["trace"]["event_schemas"];
    assert_eq!(schemas[1], "urn:ietf:params:qlog:events:loglevel-13");
}

/// A packet with a number keeps it, beside the source of the rule.
#[test]
fn losses_with_numbers_tell_where_their_rule_is_from() {
    let lost =
        Event::LostObserved { pn: Some(1), detection: Detection::Timeout, basis: "observed: a timeout" };
    let trace = vec![sent(0, 1, 0), (Time(1), lost)];
    for (dialect, raw) in [(Dialect::V03, json!({ "length": 1252 })), (Dialect::Current, Value::Null)] {
        let mut out = Vec::new();
        write(&mut out, Format { dialect, gzip: false }, &meta(Transport::Tcp), &trace).unwrap();
        let loss = &records(&out)[2];
        assert_eq!(loss["basis"], "observed: a timeout");
        let data = &loss["data"];
        assert_eq!((&data["header"]["packet_number"], &data["raw"]), (&json!(1), &raw));
        assert_eq!(data["trigger"], "pto_expired");
    }
}

/// Existing readers must keep reading these files.
#[test]
fn qlog_0_3_to_the_byte() {
    let meta = Meta { title: "t".to_owned(), flow: "f".to_owned(), seed: 7, ..meta(Transport::Quic) };
    let text = String::from_utf8(log(&meta, &some_of_all())).unwrap();
    assert_eq!(
        text.replace('\u{1e}', ""),
        r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":"t","description":"new-reno over QUIC, seed 7","trace":{"vantage_point":{"name":"f","type":"server"},"title":"f","description":"new-reno over QUIC, seed 7","configuration":{"time_offset":0.0,"algorithm":"new-reno","seed":7},"common_fields":{"protocol_type":["QUIC"],"time_format":"relative","reference_time":1000.0}}}
{"time":0.0,"name":"transport:packet_sent","data":{"header":{"packet_type":"initial","packet_number":0},"raw":{"length":1200}}}
{"time":0.123456,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":1},"raw":{"length":1252},"frames":[{"frame_type":"stream","stream_id":0,"offset":1215,"length":1215}]}}
{"time":50.0,"name":"transport:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":0},"frames":[{"frame_type":"ack","ack_delay":1.5,"acked_ranges":[[1,1],[4,4]]}]}}
{"time":50.0,"name":"recovery:packet_lost","data":{"header":{"packet_type":"1RTT","packet_number":0},"trigger":"time_threshold"}}
{"time":50.0,"name":"recovery:congestion_state_updated","cause":"loss","data":{"new":"recovery"}}
{"time":50.000001,"name":"recovery:metrics_updated","data":{"congestion_window":5000,"bytes_in_flight":1252,"smoothed_rtt":51.0,"latest_rtt":50.000001,"rtt_variance":2.0,"cc_bwe":1.5}}
"#
    );
}

#[test]
fn every_event_has_its_record() {
    let start = 1_000_000_000;
    let trace = vec![
        sent(start, 0, 0),
        sent(start + 123_456, 1, 1215),
        sent(start + 123_456, 2, 2430),
        acked(start + 50_000_000, 0, vec![(1, 1)]),
        (Time(start + 50_000_000), Event::Lost { pn: 0, detection: Detection::TimeThreshold }),
        (Time(start + 50_000_000), Event::Reduced(Cause::Loss)),
        metrics(start + 50_000_000, 5000, vec![("ssthresh", 5000.7), ("bwe", f64::NAN), ("min_rtt", 0.05)]),
        sent(start + 60_000_000, 3, 0),
        metrics(start + 61_000_000, 5000, vec![("ssthresh", f64::INFINITY), ("bwe", 1.5), ("min_rtt", 0.05)]),
        acked(start + 110_000_000, 2, vec![(1, 3)]),
        metrics(start + 110_000_000, 6000, vec![("ssthresh", 5000.7)]),
    ];
    let records = records(&log(&meta(Transport::Quic), &trace));
    assert_monotone(&records[1..]);
    assert_eq!(
        records[2],
        json!({ "time": 0.123456, "name": "transport:packet_sent", "data": {
            "header": { "packet_type": "1RTT", "packet_number": 1 },
            "raw": { "length": 1252 },
            "frames": [{ "frame_type": "stream", "stream_id": 0, "offset": 1215, "length": 1215 }],
        }})
    );
    assert_eq!(
        named(&records, "transport:packet_received"),
        [
            &json!({ "header": { "packet_type": "1RTT", "packet_number": 0 },
                "frames": [{ "frame_type": "ack", "ack_delay": 1.5, "acked_ranges": [[1, 1]] }] }),
            &json!({ "header": { "packet_type": "1RTT", "packet_number": 2 },
                "frames": [{ "frame_type": "ack", "ack_delay": 1.5, "acked_ranges": [[2, 3]] }] }),
        ]
    );
    assert_eq!(
        named(&records, "recovery:packet_lost"),
        [&json!({ "header": { "packet_type": "1RTT", "packet_number": 0 },
            "raw": { "length": 1252 }, "trigger": "time_threshold" })]
    );
    // Only changes are written, and every RTT sample; no NaN, no infinity, no RTT before the first.
    assert_eq!(
        named(&records, "recovery:metrics_updated"),
        [
            &json!({ "congestion_window": 5000, "bytes_in_flight": 1252, "smoothed_rtt": 51.0,
                "latest_rtt": 50.000001, "rtt_variance": 2.0, "ssthresh": 5000, "cc_min_rtt": 0.05 }),
            &json!({ "latest_rtt": 50.000001, "cc_bwe": 1.5 }),
            &json!({ "congestion_window": 6000, "latest_rtt": 50.000001 }),
        ]
    );
    assert_eq!(
        named(&records, "recovery:congestion_state_updated"),
        [&json!({ "new": "recovery" }), &json!({ "old": "recovery", "new": "congestion_avoidance" }),]
    );
}

#[test]
fn quic_acks_begin_with_what_is_new() {
    let mut trace: Trace = (0..6).map(|pn| sent(0, pn, pn * 1215)).collect();
    trace.extend([
        acked(1, 1, vec![(0, 1), (3, 4)]),
        (Time(1), Event::Lost { pn: 2, detection: Detection::PacketThreshold }),
        acked(2, 2, vec![(0, 1), (3, 5)]),
        // The lost packet arrives after all.
        acked(3, 3, vec![(0, 5)]),
    ]);
    let records = records(&log(&meta(Transport::Quic), &trace));
    let acks = named(&records, "transport:packet_received");
    let ranges: Vec<&Value> = acks.into_iter().map(|ack| &ack["frames"][0]["acked_ranges"]).collect();
    assert_eq!(ranges, [&json!([[0, 1], [3, 4]]), &json!([[1, 1], [5, 5]]), &json!([[2, 5]])]);
}

#[test]
fn slow_start_is_told_by_its_threshold() {
    let inf = vec![("ssthresh", f64::INFINITY)];
    let trace = vec![
        metrics(0, 5000, inf.clone()),
        metrics(1, 6000, inf),
        metrics(2, 6000, vec![("ssthresh", 6000.0)]),
    ];
    assert_eq!(
        named(&records(&log(&meta(Transport::Quic), &trace)), "recovery:congestion_state_updated"),
        [&json!({ "new": "slow_start" }), &json!({ "old": "slow_start", "new": "congestion_avoidance" }),]
    );
}

/// A controller that names its states is in one of them, except in recovery.
#[test]
fn states_have_the_names_of_their_controller() {
    let state = |at, number: f64| metrics(at, 5000, vec![("state", number), ("ssthresh", 6000.0)]);
    let trace = vec![
        state(0, 0.0),
        sent(1, 0, 0),
        state(1, 0.0),
        state(2, 1.0),
        (Time(3), Event::Reduced(Cause::Loss)),
        state(3, 0.0),
        sent(4, 1, 1215),
        acked(5, 0, vec![(1, 1)]),
        state(5, 0.0),
    ];
    let meta = Meta { states: &["Startup", "ProbeBW_UP"], ..meta(Transport::Quic) };
    let expected = json!([
        { "new": "Startup" },
        { "old": "Startup", "new": "ProbeBW_UP" },
        { "old": "ProbeBW_UP", "new": "recovery" },
        { "old": "recovery", "new": "Startup" },
    ]);
    assert_eq!(json!(named(&records(&log(&meta, &trace)), "recovery:congestion_state_updated")), expected);
}

#[test]
fn tcp_acks_name_transmissions() {
    let trace = vec![
        sent(0, 0, 0),
        sent(0, 1, 1215),
        sent(0, 2, 2430),
        acked(1, 1, vec![(0, 0)]),
        (Time(2), Event::Lost { pn: 0, detection: Detection::PacketThreshold }),
        sent(2, 3, 0),
        sent(2, 4, 3645),
        acked(3, 3, vec![(0, 3645)]),
        acked(4, 4, vec![(0, 4000)]),
        acked(5, 5, vec![(0, 4860)]),
    ];
    let records = records(&log(&meta(Transport::Tcp), &trace));
    assert_eq!(records[0]["trace"]["common_fields"]["protocol_type"], json!(["TCP"]));
    let acks = named(&records, "transport:packet_received");
    let acks: Vec<&Value> = acks.into_iter().map(|ack| &ack["frames"][0]).collect();
    assert_eq!(
        acks,
        [
            &json!({ "frame_type": "ack", "acked_ranges": [], "cumulative": 0 }),
            &json!({ "frame_type": "ack", "acked_ranges": [[1, 3]], "cumulative": 3645 }),
            &json!({ "frame_type": "ack", "acked_ranges": [], "cumulative": 4000 }),
            &json!({ "frame_type": "ack", "acked_ranges": [[4, 4]], "cumulative": 4860 }),
        ]
    );
}

/// A link of 10 Mbit/s and 50 ms with a buffer of one bandwidth-delay product.
fn simulate(algorithm: &str, transport: scenario::Transport, transfer: u64) -> (Meta, Record) {
    let (rate, rtt) = (Rate(10_000_000), Duration::from_millis(50));
    let limit = rate.bytes_in(rtt);
    let algorithm = congestion::Registry::default().get(algorithm).unwrap().algorithm();
    let flow = FlowConfig {
        ack: AckConfig::default(),
        transfer: Some(transfer),
        handshake: true,
        ..FlowConfig::new("one", algorithm.clone(), transport, rtt)
    };
    let limit = Limit::Bytes(units::Bytes(limit));
    let link = LinkConfig { limit, delay: rtt / 2, ..LinkConfig::plain(rate) };
    run(link, flow)
}

/// Runs one flow over this link.
fn run(link: LinkConfig, flow: FlowConfig) -> (Meta, Record) {
    let (algorithm, transport) = (flow.algorithm.clone(), flow.transport);
    let scenario = Scenario { trace: true, ..Scenario::new(link, [flow], Duration::from_secs(600)) };
    let outcome = sim::run(&scenario, &Watch::default()).unwrap();
    let record = outcome.flows[0].clone();
    let meta = Meta {
        group: String::new(),
        title: "test".to_owned(),
        flow: "one".to_owned(),
        algorithm: algorithm.name().to_owned(),
        parameters: Meta::parameters(&algorithm),
        states: algorithm.states(),
        transport: Transport::from(&transport),
        seed: 1,
        start: record.started,
    };
    (meta, record)
}

const QUIC: scenario::Transport = scenario::Transport::Quic { datagram: 1252, header: 37, overhead: 42 };
const TCP: scenario::Transport = scenario::Transport::Tcp { mss: 1448, overhead: 52 };

#[test]
fn a_run_is_told_completely() {
    for (algorithm, transport) in [("new-reno", QUIC), ("cubic", QUIC), ("tcp-reno", TCP)] {
        let (meta, record) = simulate(algorithm, transport, 2_000_000);
        let records = records(&log(&meta, record.trace.as_ref().unwrap()));
        assert_monotone(&records[1..]);
        let count = |name: &str| named(&records, name).len() as u64;
        // This includes the Initial or SYN.
        assert_eq!(count("transport:packet_sent"), record.totals.packets, "{algorithm}");
        let lost = named(&records, "recovery:packet_lost");
        assert_eq!(lost.len() as u64, record.stats.lost(), "{algorithm}");
        assert!(!lost.is_empty(), "{algorithm}");
        let by = |word: &str| lost.iter().filter(|l| l["trigger"] == word).count() as u64;
        assert_eq!(by("reordering_threshold"), record.stats.lost_by_packet_threshold, "{algorithm}");
        assert_eq!(by("time_threshold"), record.stats.lost_by_time_threshold, "{algorithm}");

        let states = named(&records, "recovery:congestion_state_updated");
        assert_eq!(states[0]["new"], "slow_start", "{algorithm}");
        assert!(states.windows(2).all(|w| w[0]["new"] == w[1]["old"]), "{algorithm}");
        let reductions = states.iter().filter(|s| s["new"] == "recovery").count() as u64;
        assert_eq!(reductions, record.stats.loss_events + record.stats.collapses, "{algorithm}");
        assert!(states.iter().any(|s| s["old"] == "recovery"), "{algorithm}");
        // The controller's own names, or the standard's.
        let own =
            if meta.states.is_empty() { &["slow_start", "congestion_avoidance"][..] } else { meta.states };
        let known = |s: &&Value| s["new"] == "recovery" || own.iter().any(|name| s["new"] == *name);
        assert!(states.iter().all(known), "{algorithm}: {states:?}");
    }
}

/// The log has exactly the numbers of the trace.
#[test]
fn packets_are_those_of_the_trace() {
    let (meta, record) = simulate("cubic", QUIC, 500_000);
    let trace = record.trace.as_ref().unwrap();
    let records = records(&log(&meta, trace));
    let mut packets =
        records.iter().filter(|r| r["name"] == "transport:packet_sent" && !r["data"]["frames"].is_null());
    for (time, event) in trace {
        let Event::Sent { pn, bytes, offset, len } = event else { continue };
        let packet = packets.next().unwrap();
        assert_eq!(packet["time"].as_f64(), Some((*time - meta.start).0 as f64 / 1e6));
        let data = &packet["data"];
        assert_eq!((&data["header"]["packet_number"], &data["raw"]["length"]), (&json!(pn), &json!(bytes)));
        let frame = json!({ "frame_type": "stream", "stream_id": 0, "offset": offset, "length": len });
        assert_eq!(data["frames"], json!([frame]));
    }
    assert!(packets.next().is_none());
}

/// In both dialects a trigger is written where the drafts have a word for it. The cause is always
/// written, and the rule that detected a loss.
#[test]
fn causes_and_rules_have_their_words() {
    let told = |event: Event| {
        [Dialect::V03, Dialect::Current].map(|dialect| {
            let mut out = Vec::new();
            let trace = vec![(Time::from_millis(1000), event.clone())];
            write(&mut out, Format { dialect, gzip: false }, &meta(Transport::Quic), &trace).unwrap();
            records(&out)[1].clone()
        })
    };
    for (cause, word, triggers) in [
        (Cause::Loss, "loss", [None, None]),
        (Cause::Ecn, "ecn", [None, Some("ecn")]),
        (Cause::Delay, "delay", [None, None]),
        (Cause::Timeout, "timeout", [None, None]),
        (Cause::PersistentCongestion, "persistent_congestion", [Some("persistent_congestion"); 2]),
    ] {
        for (record, trigger) in told(Event::Reduced(cause)).iter().zip(triggers) {
            assert_eq!((&record["cause"], &record["data"]["new"]), (&json!(word), &json!("recovery")));
            assert_eq!(record["data"].get("trigger"), trigger.map(|trigger| json!(trigger)).as_ref());
        }
    }
    for (detection, word) in [
        (Detection::PacketThreshold, "reordering_threshold"),
        (Detection::TimeThreshold, "time_threshold"),
        (Detection::Timeout, "pto_expired"),
    ] {
        assert!(told(Event::Lost { pn: 3, detection }).iter().all(|r| r["data"]["trigger"] == word));
    }
}

/// Packets, ACKs and handshakes leave one end and arrive later at the other under the same number.
/// Lost ones leave and do not arrive.
#[test]
fn both_ends_tell_the_same() {
    for transport in [QUIC, TCP] {
        let (meta, record) = simulate("new-reno", transport, 1_000_000);
        let near = records(&log(&meta, record.trace.as_ref().unwrap()));
        let mut far = Vec::new();
        write_receiver(&mut far, Format::default(), &meta, record.far_trace.as_ref().unwrap()).unwrap();
        let far = records(&far);
        assert_monotone(&far[1..]);
        assert_eq!(far[0]["trace"]["vantage_point"], json!({ "name": "one, receiver", "type": "client" }));
        let key = |entry: &Value| {
            let header = &entry["data"]["header"];
            (header["packet_type"].to_string(), header["packet_number"].as_u64().unwrap())
        };
        let times = |records: &[Value], name: &str| -> BTreeMap<(String, u64), (f64, Value)> {
            let named = records.iter().filter(|r| r["name"] == name);
            named.map(|r| (key(r), (r["time"].as_f64().unwrap(), r["data"]["raw"].clone()))).collect()
        };
        let (sent, received) = ("transport:packet_sent", "transport:packet_received");
        for (from, to, lost) in [(&near, &far, record.totals.dropped), (&far, &near, 0)] {
            let (left, arrived) = (times(from, sent), times(to, received));
            // Packets in flight when the last byte arrives have only left.
            assert!(left.len() as u64 >= arrived.len() as u64 + lost && !arrived.is_empty());
            for (key, (at, raw)) in &arrived {
                let (since, sent_raw) = &left[key];
                assert!(at - since >= 24.999, "{key:?}: {since} {at}");
                assert_eq!(raw, sent_raw, "{key:?}");
            }
        }
        let initials = times(&far, received);
        assert_eq!(initials.keys().filter(|key| key.0 == "\"initial\"").count(), 1);
    }
}

/// The receiver's log has marks, and for TCP the transmissions that an ACK answers.
#[test]
fn the_far_end_in_its_own_words() {
    let received = |at: u64, pn: u64, marked: bool| {
        (Time(at), Event::Received { pn, bytes: 1252, offset: 1215 * pn, len: 1215, marked })
    };
    let acks = |at: u64, number: u64, ranges: Vec<(u64, u64)>| {
        (Time(at), Event::Acks(Ack { number, ranges: ranges.into(), delay: Duration::from_micros(500) }))
    };
    let trace = vec![
        received(1, 0, false),
        received(2, 2, true),
        acks(2, 0, vec![(0, 0), (2, 2)]),
        received(3, 3, false),
        acks(3, 1, vec![(0, 0), (2, 3)]),
    ];
    let told = |transport| {
        let mut out = Vec::new();
        write_receiver(&mut out, Format::default(), &meta(transport), &trace).unwrap();
        records(&out)
    };
    let quic = told(Transport::Quic);
    let arrived = named(&quic, "transport:packet_received");
    assert_eq!(
        arrived[1],
        &json!({ "header": { "packet_type": "1RTT", "packet_number": 2 }, "raw": { "length": 1252 }, "ecn": "CE",
            "frames": [{ "frame_type": "stream", "stream_id": 0, "offset": 2430, "length": 1215 }] })
    );
    assert!(arrived[0].get("ecn").is_none());
    let ranges = |records: &[Value]| -> Vec<Value> {
        named(records, "transport:packet_sent")
            .iter()
            .map(|p| p["frames"][0]["acked_ranges"].clone())
            .collect()
    };
    assert_eq!(ranges(&quic), [json!([[0, 0], [2, 2]]), json!([[0, 0], [2, 3]])], "as in the frame");
    assert_eq!(ranges(&told(Transport::Tcp)), [json!([[0, 0], [2, 2]]), json!([[3, 3]])], "what it answers");
}
