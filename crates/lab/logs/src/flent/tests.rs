use super::*;
use crate::tests::keep::Keep;

fn kept(text: &str) -> Keep {
    let mut keep = Keep::default();
    read(text.as_bytes(), "x.flent", &mut keep).unwrap();
    keep
}

const TEXT: &str = r#"{"metadata":{"NAME":"tcp_bidirectional","TITLE":"t","T0":"2026-11-28T18:58:22.500000Z","FLENT_VERSION":"2.1.1","DATA_FILENAME":"t.flent.gz","SERIES_META":{"TCP upload":{"UNITS":"Mbits/s","CONG_CONTROL":"cubic"},"Ping (ms) ICMP":{"UNITS":"ms"},"TCP download":{"UNITS":"KB"}}},
"version":4,"x_values":[0.0,0.2,0.4],
"results":{"TCP upload":[null,10.0,20.0],"TCP totals":[1,2,3],"Ping (ms) ICMP":[50,51,52],"TCP download":[1,1,1]},
"raw_values":{"TCP upload":[{"t":100.4,"tcp_cwnd":10,"tcp_rtt":50.5,"tcp_rtt_var":2,"tcp_pacing_rate":12.5},{"t":100.2,"dur":0.2,"val":10.0},{"val":3}],"Ping (ms) ICMP":[{"seq":1,"t":100.1,"val":50.25}]}}"#;

#[test]
fn flows_and_pings() {
    assert!(looks_like(TEXT.as_bytes()));
    let kept = kept(TEXT);
    let names: Vec<&str> = kept.abouts.iter().map(|about| about.name.as_str()).collect();
    assert_eq!(names, ["t: Ping (ms) ICMP", "t: TCP upload"]);
    assert_eq!(kept.abouts[1].controller.as_deref(), Some("cubic"));
    assert_eq!(kept.abouts[1].program.as_deref(), Some("flent 2.1.1"));
    assert_eq!(kept.lines[0], "0 100.100 None 0 ns None rtt 50.25 ms ping");
    // 10 Mbit/s for 0.2 s are 250 000 bytes.
    assert_eq!(kept.lines[1], "1 100.200 Some(Client) 200 ms Some(250000) sent");
    assert!(
        kept.lines[2].contains("smoothed_rtt: Some(50.5 ms)")
            && kept.lines[2].contains("pacing_rate: Some(12500000)")
    );
    assert!(kept.lines[2].contains("(\"cwnd_packets\", 10.0)"), "{}", kept.lines[2]);
    assert!(kept.lines[3].contains("windows in packets"));
    assert_eq!(kept.lines[4], "1 100.400 Gap(Unreadable(1, \"a measurement has no time\"))");
}

/// Old files have only interpolated values.
#[test]
fn without_raw_values() {
    let text = TEXT.replace("\"raw_values\"", "\"other\"").replace("KB", "Mbits/s");
    let lines = kept(&text).lines;
    let flow: Vec<&String> = lines.iter().filter(|line| line.starts_with("2 ")).collect();
    assert_eq!(flow[0], "2 1795892302.700 Some(Client) 200 ms Some(250000) sent");
    assert_eq!(flow[1], "2 1795892302.900 Some(Client) 200 ms Some(500000) sent");
    assert!(flow[2].contains("interpolated"));
    assert!(lines.iter().any(|line| line == "1 1795892302.700 Some(Server) 200 ms Some(25000)"), "{lines:?}");
}

#[test]
fn refused_with_the_reason() {
    let failure = |text: &str| read(text.as_bytes(), "x", &mut Keep::default()).unwrap_err().to_string();
    assert_eq!(failure("{\"metadata\":{}}"), "x: it has neither a TCP flow nor a ping");
    assert!(
        failure("{\"x\":1}").starts_with("x, line 1: it is no flent file that can be read: missing field")
    );
}

#[test]
fn two_thousand_damaged_files() {
    crate::tests::mutate::damaged("flent", &[TEXT.as_bytes().to_vec()], |text| {
        let _ = (looks_like(text), read(text, "x", &mut Keep::default()));
    });
}
