//! Every dialect, with the same connection in it.

use quic::Side;
use units::{Ecn, Time};

use super::*;
use crate::event::{About, Ack, Control, Metrics, Piece, Protocol, Timer, Trigger};

/// Keeps the events as text, without those of packets that are kept apart.
#[derive(Default)]
struct Kept {
    abouts: Vec<About>,
    lines: Vec<String>,
    times: Vec<u64>,
}

impl Sink for Kept {
    fn open(&mut self, about: About) -> usize {
        self.abouts.push(about);
        self.abouts.len() - 1
    }

    fn event(&mut self, connection: usize, at: Time, event: &Event<'_>) {
        self.times.push(at.0);
        self.lines.push(format!("{connection} {}", brief(event)));
    }
}

/// Writes an event in few words.
fn brief(event: &Event<'_>) -> String {
    match event {
        Event::Packet(p) => {
            let space = ["i", "h", "a"][p.space as usize];
            let mut text = format!("{:?} {space}{:?} {}", p.from, p.number.map_or(-1, |n| n as i64), p.bytes);
            for Piece { stream, offset, len, fin } in p.pieces {
                text += &format!(" [{stream}: {offset}+{len}{}]", if *fin { " fin" } else { "" });
            }
            for Ack { ranges, cumulative, delay, .. } in p.acks {
                text += &format!(" ack {ranges:?}");
                text += &cumulative.map(|byte| format!(" to {byte}")).unwrap_or_default();
                text += &delay.map(|delay| format!(" after {}", delay.0)).unwrap_or_default();
            }
            text += if p.ack_eliciting { " eliciting" } else { "" };
            text += if p.in_flight && !p.ack_eliciting { " in flight" } else { "" };
            text += &p.limit.map(|limit| format!(" limit {limit}")).unwrap_or_default();
            text += &p.ecn.map(|ecn| format!(" {ecn:?}")).unwrap_or_default();
            text += &match p.control {
                Control::None => String::new(),
                control => format!(" {control:?}"),
            };
            text
        }
        Event::Metrics(m) => {
            let Metrics { cwnd, ssthresh, latest_rtt, rttvar, variables, .. } = m;
            format!("metrics {cwnd:?} {ssthresh:?} {latest_rtt:?} {rttvar:?} {variables:?}")
        }
        other => format!("{other:?}"),
    }
}

fn kept(text: &str) -> Kept {
    let mut kept = Kept::default();
    read(text.as_bytes(), "x.qlog", &mut kept).unwrap_or_else(|error| panic!("{error}\n{text}"));
    kept
}

fn lines(text: &str) -> Vec<String> {
    kept(text).lines
}

fn failure(text: &str) -> String {
    read(text.as_bytes(), "x.qlog", &mut Kept::default()).unwrap_err().to_string()
}

/// The events of a small transfer, as a server sees it.
fn transfer() -> Vec<&'static str> {
    vec![
        "0 Client i0 1200 eliciting Opens",
        "0 Server a7 1252 [0: 1000+1215] eliciting",
        "0 Client a3 40 ack [(1, 4), (6, 7)] after 500000",
        "0 Lost { space: Application, number: Some(5), trigger: Some(PacketThreshold) }",
        "0 metrics Some(12000) None Some(50.25 ms) Some(25 ms) []",
        "0 State { new: \"recovery\", trigger: None }",
        "0 Timer { kind: Set, pto: true, delay: Some(100 ms) }",
        "0 Parameters { from: Client, parameters: Parameters { max_ack_delay: Some(25 ms), initial_max_data: Some(65536), max_udp_payload_size: Some(1500), idle_timeout: Some(30 s) } }",
        "0 Client a4 40 ack [(0, 9)] limit 131072",
        "0 Server a8 30 Ends",
    ]
}

const MS: u64 = 1_000_000;

/// Times of the events above, in milliseconds from the first.
const TIMES: [u64; 10] = [0, 1, 3, 3, 3, 3, 3, 4, 5, 6];

#[test]
fn draft_00_as_picoquic_and_the_draft_write_it() {
    let text = r#"{"qlog_version": "draft-00", "title": "t", "traces": [
{ "vantage_point": { "name": "backend-67", "type": "server" },
"event_fields": ["relative_time", "CATEGORY", "EVENT_TYPE", "TRIGGER", "DATA"],
"configuration": {"time_units": "us"}, "common_fields": {"protocol_type": "QUIC_HTTP3", "reference_time": "11000"},
"events": [
[0, "TRANSPORT", "DATAGRAM_RECEIVED", "DEFAULT", {"byte_length": 1200}],
[0, "TRANSPORT", "PACKET_RECEIVED", "DEFAULT", {"packet_type": "INITIAL", "header": {"packet_number": "0", "packet_size": 1200}, "frames": [{"frame_type": "CRYPTO"}, {"frame_type": "PADDING"}]}],
[1000, "TRANSPORT", "PACKET_SENT", "DEFAULT", {"packet_type": "1RTT", "header": {"packet_number": "7", "packet_size": 1252}, "frames": [{"frame_type": "STREAM", "id": "0", "offset": "1000", "length": "1215"}]}],
[3000, "TRANSPORT", "PACKET_RECEIVED", "DEFAULT", {"packet_type": "1RTT", "header": {"packet_number": "3", "packet_size": 40}, "frames": [{"frame_type": "ACK", "ack_delay": "500", "acked_ranges": [["6", "7"], ["1", "4"]]}]}],
[3000, "RECOVERY", "PACKET_LOST", "REORDERING_THRESHOLD", {"packet_number": "5"}],
[3000, "RECOVERY", "METRIC_UPDATE", "DEFAULT", {"cwnd": 12000, "latest_rtt": 50250, "rtt_variance": 25000}],
[3000, "RECOVERY", "CC_STATE_UPDATE", "", {"old": "slow_start", "new": "recovery"}],
[3000, "RECOVERY", "LOSS_ALARM_SET", "DEFAULT", {"type": "pto", "timeout": 100000}],
[4000, "TRANSPORT", "TRANSPORT_PARAMETERS_UPDATE", "DEFAULT", {"owner": "remote", "max_ack_delay": 25, "initial_max_data": "65536", "max_packet_size": 1500, "idle_timeout": 30000}],
[5000, "TRANSPORT", "PACKET_RECEIVED", "DEFAULT", {"packet_type": "1RTT", "header": {"packet_number": "4", "packet_size": 40}, "frames": [{"frame_type": "ACK", "acked_ranges": [[0, 9]]}, {"stream_type": "MAX_DATA", "maximum": "131072"}]}],
[6000, "TRANSPORT", "PACKET_SENT", "DEFAULT", {"packet_type": "1RTT", "header": {"packet_number": "8", "packet_size": 30}, "frames": [{"frame_type": "CONNECTION_CLOSE"}]}]
]}]}"#;
    let mut expected = transfer();
    expected[8] = "0 Client a4 40 ack [(0, 9)] eliciting limit 131072";
    expected.insert(1, "0 Gap(BeginsLater)");
    let kept = kept(text);
    assert_eq!(kept.lines, expected);
    assert_eq!(kept.times[0], 11 * MS);
    assert_eq!(kept.times[10], 17 * MS);
    let About { name, vantage, program, source, .. } = &kept.abouts[0];
    assert_eq!((name.as_str(), *vantage), ("backend-67", Some(Side::Server)));
    assert_eq!((program.as_deref(), *source), (Some("backend-67"), crate::event::Source::Qlog));
}

/// The events of the current drafts, with a given prefix of names.
fn modern(prefix: &str, raw: bool) -> Vec<String> {
    let (ranges, length) = match raw {
        true => ("[[1,4],[6,7]]", "\"raw\":{\"length\":1218,\"payload_length\":1215}"),
        false => ("[[6,7],[1,4]]", "\"length\":1215"),
    };
    let name = |word: &str| format!("{prefix}{word}");
    let event = |ms: f64, word: &str, data: &str| {
        format!("{{\"time\":{ms},\"name\":\"{}\",\"data\":{data}}}", name(word))
    };
    vec![
        event(
            0.0,
            "packet_received",
            r#"{"header":{"packet_type":"initial","packet_number":0},"raw":{"length":1200},"frames":[{"frame_type":"crypto"},{"frame_type":"padding"}]}"#,
        ),
        event(
            1.0,
            "packet_sent",
            &format!(
                r#"{{"header":{{"packet_type":"1RTT","packet_number":7}},"raw":{{"length":1252}},"frames":[{{"frame_type":"stream","stream_id":0,"offset":1000,{length}}}]}}"#
            ),
        ),
        event(
            3.0,
            "packet_received",
            &format!(
                r#"{{"header":{{"packet_type":"1RTT","packet_number":3}},"raw":{{"length":40}},"frames":[{{"frame_type":"ack","ack_delay":0.5,"acked_ranges":{ranges}}}]}}"#
            ),
        ),
        event(
            3.0,
            "packet_lost",
            r#"{"header":{"packet_type":"1RTT","packet_number":5},"trigger":"reordering_threshold"}"#,
        ),
        event(
            3.0,
            "metrics_updated",
            r#"{"congestion_window":12000,"latest_rtt":50.25,"rtt_variance":25,"ssthresh":18446744073709551615}"#,
        ),
        event(3.0, "congestion_state_updated", r#"{"old":"slow_start","new":"recovery"}"#),
        event(3.0, "loss_timer_updated", r#"{"event_type":"set","timer_type":"pto","delta":100}"#),
        event(
            4.0,
            "parameters_set",
            r#"{"owner":"remote","max_ack_delay":25,"initial_max_data":65536,"max_udp_payload_size":1500,"max_idle_timeout":30000}"#,
        ),
        event(
            5.0,
            "packet_received",
            r#"{"header":{"packet_type":"1RTT","packet_number":4},"raw":{"length":40},"frames":[{"frame_type":"ack","acked_ranges":[[0,9]]},{"frame_type":"max_data","maximum":131072}]}"#,
        ),
        event(
            6.0,
            "packet_sent",
            r#"{"header":{"packet_type":"1RTT","packet_number":8},"raw":{"length":30},"frames":[{"frame_type":"connection_close"}]}"#,
        ),
    ]
}

/// Checks the events of `transfer`, whose first packet sent has number 7.
fn assert_transfer(text: &str, begin: u64) {
    let kept = kept(text);
    let mut expected = transfer();
    expected[8] = "0 Client a4 40 ack [(0, 9)] eliciting limit 131072";
    expected.insert(1, "0 Gap(BeginsLater)");
    assert_eq!(kept.lines, expected, "{text}");
    let mut times = TIMES.to_vec();
    times.insert(1, 1);
    assert_eq!(kept.times, times.iter().map(|ms| begin + ms * MS).collect::<Vec<_>>(), "{text}");
}

#[test]
fn documents_and_sequences_of_all_drafts() {
    let point = r#""vantage_point":{"type":"server"}"#;
    for prefix in ["transport:", "quic:", "", "QUIC:"] {
        for raw in [false, true] {
            let events = modern(prefix, raw);
            let list = events.join(",");
            for head in [
                r#"{"qlog_version":"draft-02","traces":[{"#,
                r#"{"qlog_version":"0.3","qlog_format":"JSON","traces":[{"#,
                r#"{"file_schema":"urn:ietf:params:qlog:file:contained","traces":[{"#,
            ] {
                assert_transfer(&format!("{head}{point},\"events\":[{list}]}}]}}"), 0);
                // The vantage point comes last, as aioquic writes it.
                assert_transfer(&format!("{head}\"events\" : [ {list} ],\n{point}}}]}}"), 0);
            }
            for (mark, head) in [
                ("\x1e", r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"#),
                ("", r#"{"qlog_format":"NDJSON","qlog_version":"0.3","trace":{"#),
                ("\x1e", r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","trace":{"#),
            ] {
                let records = events.join(&format!("\n{mark}"));
                assert_transfer(&format!("{mark}{head}{point}}}}}\n{mark}{records}\n"), 0);
                assert_transfer(&format!("\u{feff}{mark}{head}{point}}}}}\r\n{mark}{records}"), 0);
            }
        }
    }
}

#[test]
fn clocks_of_a_trace() {
    let list = modern("", false).join(",");
    let trace = |common: &str| {
        format!("{{\"traces\":[{{\"vantage_point\":{{\"type\":\"server\"}},{common},\"events\":[{list}]}}]}}")
    };
    assert_transfer(&trace(r#""common_fields":{"time_format":"relative","reference_time":1500}"#), 1500 * MS);
    let date = r#""common_fields":{"reference_time":{"clock_type":"monotonic","epoch":"unknown","wall_clock_time":"2019-03-29T22:55:53.572Z"}}"#;
    assert_transfer(&trace(date), 1_553_900_153_572 * MS);
    assert_transfer(&trace(r#""configuration":{"time_offset":"100"}"#), 100 * MS);
    let late = format!(
        "{{\"traces\":[{{\"vantage_point\":{{\"type\":\"server\"}},\"events\":[{list}],\"configuration\":{{\"time_units\":\"us\"}}}}]}}"
    );
    let last = lines(&late).pop().unwrap();
    assert!(last.contains("`configuration` comes after the events"), "{last}");
}

#[test]
fn connections_of_a_file() {
    let event = |group: &str, number: u64| {
        format!(
            r#"{{"time":{number},"name":"packet_sent","group_id":{group},"data":{{"header":{{"packet_type":"1RTT","packet_number":0}},"raw":{{"length":{number}}}}}}}"#
        )
    };
    let events = [event("\"aa\"", 1), event("\"bb\"", 2), event("\"aa\"", 3)];
    let text =
        format!(r#"{{"traces":[{{"vantage_point":{{"type":"client"}},"events":[{}]}}]}}"#, events.join(","));
    let kept = kept(&text);
    let ids: Vec<&str> = kept.abouts.iter().map(|about| about.identity.as_str()).collect();
    assert_eq!(ids, ["aa", "bb"]);
    let packets: Vec<&String> = kept.lines.iter().filter(|line| line.contains("Client a0")).collect();
    assert_eq!(packets, ["0 Client a0 1 eliciting", "1 Client a0 2 eliciting", "0 Client a0 3 eliciting"]);
    // Indices into `common_fields`, and two traces.
    let events = [event("1", 1), event("0", 2)].join(",");
    let trace = format!(
        r#"{{"vantage_point":{{"type":"client"}},"common_fields":{{"group_id":["aa",{{"port":1}}]}},"events":[{events}]}}"#
    );
    let both = super::tests::kept(&format!("{{\"traces\":[{trace},{trace}]}}"));
    let ids: Vec<&str> = both.abouts.iter().map(|about| about.identity.as_str()).collect();
    assert_eq!(ids, ["{\"port\":1}", "aa", "{\"port\":1}", "aa"]);
}

/// draft-02: arrays with a group each, and times that count from the event before.
#[test]
fn groups_and_deltas_in_arrays() {
    let text = r#"{"qlog_version":"draft-02-wip","traces":[{"error_description":"none"},{"vantage_point":{"type":"client"},"event_fields":["delta_time","group_id","category","event","data"],"events":[
[1500,"aa","transport","packet_sent",{"header":{"packet_type":"1RTT","packet_number":0,"packet_size":40},"frames":[]}],
[5,"bb","transport","packet_sent",{"header":{"packet_type":"1RTT","packet_number":0,"packet_size":41},"frames":[]}],
[17,"bb","http","frame_created",{}],
[1,"bb","transport","packet_received",{"header":{"packet_type":"1RTT","packet_number":0,"packet_size":42},"frames":[]}]]}]}"#;
    let kept = kept(text);
    assert_eq!(kept.lines, ["0 Client a0 40", "1 Client a0 41", "1 Server a0 42"]);
    assert_eq!(kept.times, [1500 * MS, 1505 * MS, 1523 * MS]);
}

#[test]
fn vantage_points() {
    let trace = |point: &str| {
        format!(
            r#"{{"traces":[{{{point}"events":[{{"time":0,"name":"packet_sent","data":{{"header":{{"packet_type":"1RTT","packet_number":0}},"raw":{{"length":9}}}}}}]}}]}}"#
        )
    };
    for (point, from, vantage) in [
        (r#""vantage_point":{"type":"client"},"#, "Client", Some(Side::Client)),
        (r#""vantage_point":{"type":"network","flow":"client"},"#, "Client", None),
        (r#""vantage_point":{"type":"network","flow":"server"},"#, "Server", None),
        (r#""vantage_point":{"type":"unknown"},"#, "Server", None),
        ("", "Server", None),
    ] {
        let kept = kept(&trace(point));
        assert_eq!(kept.abouts[0].vantage, vantage, "{point}");
        let packet = format!("0 {from} a0 9 eliciting");
        assert!(kept.lines.contains(&packet), "{point}: {:?}", kept.lines);
        let is_assumed = kept.lines.iter().any(|line| line.contains("the server is assumed"));
        assert_eq!(is_assumed, vantage.is_none() && !point.contains("flow"), "{point}");
    }
}

/// Our own TCP logs: numbers of transmissions, and a cumulative byte.
#[test]
fn our_words() {
    let head = r#"{"qlog_version":"0.3","trace":{"vantage_point":{"name":"one","type":"server"},"title":"one","configuration":{"algorithm":"cubic","seed":1},"common_fields":{"protocol_type":["TCP"],"time_format":"relative","reference_time":1000.0}}}"#;
    let text = [
        head,
        r#"{"time":0.0,"name":"transport:packet_sent","data":{"header":{"packet_type":"initial","packet_number":0},"raw":{"length":60}}}"#,
        r#"{"time":1.0,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":0},"raw":{"length":1500},"frames":[{"frame_type":"stream","stream_id":0,"offset":0,"length":1448}]}}"#,
        r#"{"time":2.0,"name":"transport:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":0},"frames":[{"frame_type":"ack","acked_ranges":[[0,0]],"cumulative":1448}]}}"#,
        r#"{"time":3.0,"name":"recovery:packet_lost","basis":"the kernel's rule","data":{"trigger":"pto_expired"}}"#,
        r#"{"time":3.0,"name":"recovery:metrics_updated","data":{"ssthresh":7000,"cc_w_max":1.5}}"#,
        r#"{"time":3.0,"name":"recovery:congestion_state_updated","cause":"loss","data":{"new":"recovery"}}"#,
        r#"{"time":3.0,"name":"generic:message","data":{"message":"Losses are inferred."}}"#,
        r#"{"time":4.0,"name":"transport:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":1},"raw":{"length":1448},"frames":[{"frame_type":"stream","stream_id":0,"offset":0,"length":1448}],"ecn":"CE"}}"#,
    ]
    .join("\n");
    let kept = kept(&text);
    assert_eq!(
        kept.lines,
        [
            "0 Server a-1 0 eliciting Opens",
            "0 Server a0 1448 [0: 0+1448] eliciting",
            "0 Client a-1 0 ack [(0, 0)] to 1448",
            "0 Lost { space: Application, number: None, trigger: Some(Timeout) }",
            "0 metrics None Some(7000) None None [(\"w_max\", 1.5)]",
            "0 State { new: \"recovery\", trigger: Some(\"loss\") }",
            "0 Gap(Other(\"Losses are inferred.\"))",
            "0 Client a1 1448 [0: 0+1448] eliciting Ce",
        ]
    );
    let About { protocol, controller, program, .. } = &kept.abouts[0];
    assert_eq!(*protocol, Protocol::Tcp);
    assert_eq!((controller.as_deref(), program.as_deref()), (Some("cubic"), Some("ackclock")));
}

#[test]
fn quirks_of_stacks() {
    let quinn = [
        r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"unknown"}}}"#,
        r#"{"time":1,"name":"transport:packet_sent","data":{"header":{"packet_type":"initial","packet_number":0,"length":1200}},"group_id":"a"}"#,
        r#"{"time":1,"name":"recovery:metrics_updated","data":{"min_rtt":0.333,"smoothed_rtt":0.333,"latest_rtt":0.333,"rtt_variance":0.1665,"congestion_window":12000},"group_id":"a"}"#,
        r#"{"time":7,"name":"transport:packet_received","data":{"header":{"packet_type":"handshake","packet_number":0}},"group_id":"b"}"#,
        r#"{"time":7,"name":"recovery:metrics_updated","data":{"latest_rtt":0.007},"group_id":"b"}"#,
    ]
    .join("\n");
    let kept = kept(&quinn);
    assert_eq!((kept.abouts.len(), kept.abouts[0].vantage), (1, Some(Side::Client)));
    let gaps = kept.lines.iter().filter(|line| line.contains("Gap")).count();
    assert_eq!(gaps, 3, "sizes, frames, seconds: {:?}", kept.lines);
    let others: Vec<&String> = kept.lines.iter().filter(|line| !line.contains("Gap")).collect();
    assert_eq!(others[2], "0 Server h0 0 eliciting");
    assert_eq!(others[3], "0 metrics None None Some(7 ms) None []");
    let noq = [
        r#"{"file_schema":"x","trace":{"vantage_point":{"type":"client"},"common_fields":{"reference_time":{"clock_type":"","epoch":""}}}}"#,
        r#"{"time":1,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":0,"length":40},"frames":[{"frame_type":"ack","ack_delay":105.0,"acked_ranges":[[0]]}]}}"#,
    ]
    .join("\n");
    assert_eq!(lines(&noq), ["0 Client a0 40 ack [(0, 0)] after 840000"]);
    let aioquic = r#"{"traces":[{"events":[{"data":{"type":"1RTT","packet_number":165},"name":"recovery:packet_lost","time":1795892304046.5}],"vantage_point":{"name":"aioquic","type":"server"}}]}"#;
    let lost = super::tests::kept(aioquic);
    assert_eq!(lost.lines, ["0 Lost { space: Application, number: Some(165), trigger: None }"]);
    assert_eq!(lost.times, [1_795_892_304_046_500_000]);
    let mvfst = r#"{"traces":[{"vantage_point":{"type":"server"},"configuration":{"time_units":"us"},"event_fields":["relative_time","category","event","data"],"events":[["5","recovery","packets_lost",{"largest_lost_packet_num":9,"lost_bytes":2,"lost_packets":2}],["6","metric_update","congestion_metric_update",{"current_cwnd":5}]]}]}"#;
    let lost = "0 Lost { space: Application, number: None, trigger: None }";
    assert_eq!(lines(mvfst), [lost, lost, "0 metrics Some(5) None None None []"]);
}

#[test]
fn damaged_input() {
    let events = modern("", false);
    let head = r#"{"qlog_version":"0.3","trace":{"vantage_point":{"type":"server"}}}"#;
    // A half record at the end, and one in the middle.
    let cut = format!("{head}\n{}\n{}\n{{\"time\":9,\"na", events[0], events[1]);
    assert_eq!(lines(&cut).last().unwrap(), "0 Gap(Truncated)");
    let middle = format!("{head}\n{}\n{{\"time\":9,\"na\n{}\n", events[0], events[1]);
    assert_eq!(
        lines(&middle),
        [
            transfer()[0],
            "0 Gap(BeginsLater)",
            transfer()[1],
            "0 Gap(Unreadable(1, \"byte 260: EOF while parsing a string\"))"
        ]
    );
    // A document: cut, with a bracket too few, with an open text, and with a stray bracket.
    let document = |events: &[String]| {
        format!(
            "{{\"traces\":[{{\"vantage_point\":{{\"type\":\"server\"}},\"events\":[{}]}}]}}",
            events.join(",")
        )
    };
    let whole = document(&events[..4]);
    let cut = &whole[..whole.len() - 30];
    assert_eq!(lines(cut).last().unwrap(), "0 Gap(Truncated)");
    for (from, to) in
        [("\"frames\":[", "\"frames\":["), ("1252}", "1252"), ("1RTT\"", "1RTT\n"), ("]}]}", "]}}]}")]
    {
        let mut damaged = events[..4].to_vec();
        damaged[1] = damaged[1].replacen(from, to, 1);
        let lines = lines(&document(&damaged));
        let found = transfer().iter().filter(|line| lines.iter().any(|other| other == *line)).count();
        assert!(found >= 3, "{from}: {lines:?}");
        assert!(found == 4 || lines.iter().any(|line| line.contains("Unreadable")), "{from}: {lines:?}");
    }
    // Times that run backwards.
    let mut backwards = events[..4].to_vec();
    backwards[2] = backwards[2].replace("\"time\":3", "\"time\":0.5");
    assert!(lines(&document(&backwards)).contains(&"0 Gap(Backwards(500 us))".to_owned()));
}

/// Stops at once.
#[derive(Default)]
struct Stopped(u64);

impl Sink for Stopped {
    fn open(&mut self, _: About) -> usize {
        0
    }
    fn event(&mut self, _: usize, _: Time, _: &Event<'_>) {
        self.0 += 1;
    }
    fn is_stopped(&self) -> bool {
        true
    }
}

#[test]
fn reading_stops_when_asked() {
    let head = r#"{"qlog_version":"0.3","trace":{"vantage_point":{"type":"server"}}}"#;
    let text = format!("{head}\n{}\n", modern("", false)[1]).into_bytes();
    let line = text.iter().position(|b| *b == b'\n').unwrap() + 1;
    let long = [&text[..], &text[line..].repeat(20_000)].concat();
    let mut stopped = Stopped::default();
    read(&long[..], "x", &mut stopped).unwrap();
    // One megabyte of the four, at about 200 bytes each.
    assert!((5000..8000).contains(&stopped.0), "{}", stopped.0);
}

#[test]
fn hostile_ranges_stay_ranges() {
    let text = r#"{"traces":[{"vantage_point":{"type":"server"},"events":[{"time":0,"name":"packet_received","data":{"header":{"packet_number":0},"raw":{"length":9},"frames":[{"frame_type":"ack","acked_ranges":[[0,4611686018427387903],["5","18446744073709551615"]]},{"frame_type":"stream","offset":18446744073709551615,"length":18446744073709551615}]}}]}]}"#;
    assert_eq!(
        lines(text),
        [
            "0 Client a0 9 [0: 18446744073709551615+18446744073709551615] ack [(0, 18446744073709551615)] eliciting"
        ]
    );
}

#[test]
fn not_qlog() {
    for (text, message) in [
        ("", "x.qlog: it is not qlog: it has neither `traces` nor a `trace`"),
        ("hello", "x.qlog: it is not qlog: it has neither `traces` nor a `trace`"),
        ("{\"start\":{}}", "x.qlog: it is not qlog: it has neither `traces` nor a `trace`"),
        ("{\"traces\":[]}", "x.qlog: it is not qlog: it has neither `traces` nor a `trace`"),
        (
            "{\"traces\":[{\"events\":[]}]}",
            "x.qlog: its qlog traces have no packets, losses or metrics of a connection",
        ),
        (
            "{\"traces\":[{\"vantage_point\":{\"type\":\"server\"},\"events\":[{\"name\":\"packet_sent\"}]}]}",
            "x.qlog, byte 56: its qlog traces have no event that can be read: an event has no time",
        ),
    ] {
        assert_eq!(failure(text), message, "{text}");
    }
}

#[test]
fn detection() {
    for text in [
        "\x1e{\"qlog_version\":\"0.3\"",
        "\u{feff} {\"traces\": [",
        "{\"file_schema\":\"x\"",
        "{\"time\":1,\"name\":\"a\",\"data\":{}}",
    ] {
        assert!(looks_like(text.as_bytes()), "{text}");
    }
    for text in ["", "qlog_version", "{\"start\":{\"connected\":[", "\u{1f}\u{8b}", "[{\"qlog_version\":1}]"]
    {
        assert!(!looks_like(text.as_bytes()), "{text}");
    }
}

#[test]
fn words_of_other_stacks() {
    for (word, expected) in [
        ("reordering_threshold", Some(Trigger::PacketThreshold)),
        ("REORDERING_THRESHOLD", Some(Trigger::PacketThreshold)),
        ("time_threshold", Some(Trigger::TimeThreshold)),
        ("pto_expired", Some(Trigger::Timeout)),
        ("timer", Some(Trigger::Timeout)),
        ("repeat", None),
    ] {
        assert_eq!(packet::trigger(word), expected, "{word}");
    }
    for (word, expected) in [
        ("ECT(0)", Some(Ecn::Ect0)),
        ("ect1", Some(Ecn::Ect1)),
        ("CE", Some(Ecn::Ce)),
        ("Not-ECT", Some(Ecn::NotEct)),
        ("x", None),
    ] {
        assert_eq!(packet::ecn(word), expected, "{word}");
    }
    let timer = |data: &str, word: &str, is_any| {
        serde_json::from_str::<recovery::TimerChange<'_>>(data).unwrap().read(word, is_any)
    };
    assert_eq!(
        timer(r#"{"timer_type":"ack","event_type":"set"}"#, "updated", false),
        Some((Timer::Set, false))
    );
    assert_eq!(timer(r#"{"timer_type":"ack","event_type":"set"}"#, "updated", true), None);
    assert_eq!(
        timer(r#"{"timer_type":"loss_timeout","event_type":"expired"}"#, "updated", true),
        Some((Timer::Expired, false))
    );
    assert_eq!(timer(r#"{"timer_type":"pto"}"#, "cancelled", false), Some((Timer::Cancelled, true)));
    assert_eq!(timer("{}", "expired", false), Some((Timer::Expired, false)));
}

/// Nothing panics, whatever is damaged.
#[test]
fn two_thousand_damaged_files() {
    let events = modern("quic:", true);
    let head = r#"{"qlog_version":"0.3","trace":{"vantage_point":{"type":"unknown"}}}"#;
    let document = |events: &str, rest: &str| {
        format!("{{\"title\":\"t\",\"traces\":[{{\"events\":[{events}],{rest}}}]}}")
    };
    let point = r#""vantage_point":{"type":"network","flow":"client"},"common_fields":{"group_id":["a"],"reference_time":"5"}"#;
    let arrays = r#"[1,"transport","packet_sent",{"header":{"packet_number":"1"}}],[2,"recovery","metrics_updated",{"cwnd":3}]"#;
    let texts = [
        format!("{head}\n{}\n", events.join("\n")),
        format!("\x1e{head}\n\x1e{}", events.join("\n\x1e")),
        document(&events.join(","), point),
        document(&events.join(",\n"), r#""vantage_point":{"type":"client"}"#),
        document(arrays, r#""event_fields":["time","category","event","data"]"#),
    ];
    let mut readable = 0;
    crate::tests::mutate::damaged("qlog", &texts.map(String::into_bytes), |text| {
        let mut kept = Kept::default();
        readable += usize::from(read(text, "x", &mut kept).is_ok());
        let _ = looks_like(text);
    });
    // A damaged place leaves the other events readable. A third of the files are cut, many of them
    // before the first event.
    assert!(readable > 1000, "{readable}");
}

/// Each event that opens and does not end costs no more than what was read.
#[test]
fn hostile_files_take_linear_time() {
    let head = "{\"traces\":[{\"vantage_point\":{\"type\":\"server\"},\"events\":[";
    for body in ["{\"time\":1,\"a\":[", "{", "[", "\"", "{\"time\":1},]", "\\", "\x1e", "\n{", "},{"] {
        let text = format!("{head}{}", body.repeat(300_000 / body.len()));
        let _ = read(text.as_bytes(), "x", &mut Kept::default());
        let _ = read(body.repeat(300_000 / body.len()).as_bytes(), "x", &mut Kept::default());
    }
}
