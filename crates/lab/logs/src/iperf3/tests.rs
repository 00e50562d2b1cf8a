use super::*;
use crate::tests::keep::Keep;

fn kept(text: &str) -> Keep {
    let mut keep = Keep::default();
    read(text.as_bytes(), "x.json", &mut keep).unwrap();
    keep
}

fn failure(text: &str) -> String {
    read(text.as_bytes(), "x.json", &mut Keep::default()).unwrap_err().to_string()
}

const START: &str = r#"{"connected":[{"socket":5,"local_host":"127.0.0.1","local_port":42626,"remote_host":"127.0.0.1","remote_port":52021}],"version":"iperf 3.12","timestamp":{"timesecs":1000},"connecting_to":{"host":"127.0.0.1"},"cookie":"c","test_start":{"protocol":"TCP","reverse":0}}"#;
const FIRST: &str = r#"{"streams":[{"socket":5,"start":0,"end":0.5,"seconds":0.5,"bytes":1000,"retransmits":2,"snd_cwnd":14480,"rtt":20000,"rttvar":500,"omitted":false,"sender":true},{"socket":7,"bytes":1}]}"#;
const WARMING: &str =
    r#"{"streams":[{"socket":5,"start":0,"end":0.5,"seconds":0.5,"bytes":1,"omitted":true,"sender":true}]}"#;
const END: &str = r#"{"streams":[{"sender":{"socket":5,"end":1,"seconds":1,"bytes":1000,"retransmits":2},"receiver":{"socket":5,"end":1.1,"seconds":1,"bytes":900}}],"sender_tcp_congestion":"cubic"}"#;

#[test]
fn a_sending_client() {
    let text = format!(r#"{{"start":{START},"intervals":[{WARMING},{FIRST}],"end":{END}}}"#);
    assert!(looks_like(text.as_bytes()));
    let kept = kept(&text);
    assert_eq!(
        kept.lines,
        [
            "0 1000.500 Some(Client) 500 ms Some(1000) sent repeats 2 cwnd 14480 rtt 20 ms rttvar 500 us",
            "0 1001.100 Some(Client) 1 s Some(900)",
            "0 1001.100 Gap(Other(\"1 intervals are left out, as `--omit` told iperf3\"))",
        ]
    );
    let About { name, identity, vantage, controller, program, .. } = &kept.abouts[0];
    assert_eq!(name, "127.0.0.1:42626 to 127.0.0.1:52021");
    assert_eq!((identity.as_str(), *vantage), ("c:42626-52021", Some(Side::Client)));
    assert_eq!((controller.as_deref(), program.as_deref()), (Some("cubic"), Some("iperf 3.12")));
}

/// The same test as a stream of lines, and with the sender at the other end.
#[test]
fn lines_and_reverse() {
    let whole = kept(&format!(r#"{{"start":{START},"intervals":[{FIRST}],"end":{END}}}"#)).lines;
    let lines = format!(
        "{{\"event\":\"start\",\"data\":{START}}}\n{{\"event\":\"interval\",\"data\":{FIRST}}}\n{{\"event\":\"end\",\"data\":{END}}}\n"
    );
    assert_eq!(kept(&lines).lines, whole);
    let cut = lines.rsplit_once("{\"event\":\"end\"").unwrap().0;
    assert_eq!(kept(cut).lines.last().unwrap(), "0 1000.500 Gap(Truncated)");
    let start = START.replace("\"reverse\":0", "\"reverse\":1");
    let first = FIRST.replace(",\"sender\":true", "");
    let reverse = kept(&format!(r#"{{"start":{start},"intervals":[{first}],"end":{END}}}"#)).lines;
    assert!(reverse[0].starts_with("0 1000.500 Some(Server) 500 ms Some(1000) repeats"), "{reverse:?}");
    assert_eq!(reverse[1], "0 1001.100 Some(Server) 1 s Some(1000) sent repeats 2");
    // Several tests of a server in one file.
    let two = format!(r#"{{"start":{START},"intervals":[{FIRST}],"end":{END}}}"#).repeat(2);
    assert_eq!(kept(&two).abouts.len(), 2);
}

#[test]
fn refused_with_the_reason() {
    let udp = START.replace("TCP", "UDP");
    assert_eq!(
        failure(&format!(r#"{{"start":{udp},"intervals":[{FIRST}],"end":{END}}}"#)),
        "x.json: it is a test of UDP, without window and ACKs: give one of TCP"
    );
    assert_eq!(
        failure(r#"{"start":{"test_start":{"protocol":"TCP"}},"intervals":[],"error":"unable to connect"}"#),
        "x.json: the test failed: unable to connect"
    );
    assert_eq!(failure("{}"), "x.json: it has no interval of iperf3");
    assert!(failure("{\"start\":\n[").starts_with("x.json, line 2: it is no iperf3 file"));
}

#[test]
fn two_thousand_damaged_files() {
    let text = format!(r#"{{"start":{START},"intervals":[{WARMING},{FIRST}],"end":{END}}}"#);
    let lines =
        format!("{{\"event\":\"start\",\"data\":{START}}}\n{{\"event\":\"interval\",\"data\":{FIRST}}}\n");
    crate::tests::mutate::damaged("iperf3", &[text.into_bytes(), lines.into_bytes()], |text| {
        let _ = (looks_like(text), read(text, "x", &mut Keep::default()));
    });
}
