//! Speed and memory of the readers. It prints megabytes per second:
//! `cargo test --release -p ackclock-logs --test speed -- --ignored --nocapture`

use std::io::Read;
use std::time::Instant;

use ackclock_logs::event::{About, Event, Sink};
use ackclock_logs::qlog;
use peak_alloc::PeakAlloc;
use units::Time;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Counts events.
#[derive(Default)]
struct Count {
    connections: usize,
    events: u64,
}

impl Sink for Count {
    fn open(&mut self, _: About) -> usize {
        self.connections += 1;
        self.connections - 1
    }
    fn event(&mut self, _: usize, _: Time, _: &Event<'_>) {
        self.events += 1;
    }
}

/// Gives a text once, another one over and over, and a last one once.
struct Repeat {
    parts: [Vec<u8>; 3],
    times: usize,
    part: usize,
    at: usize,
}

impl Repeat {
    fn new(begin: &str, body: &str, times: usize, end: &str) -> Self {
        Self { parts: [begin, body, end].map(|text| text.as_bytes().to_vec()), times, part: 0, at: 0 }
    }
}

impl Read for Repeat {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while let Some(part) = self.parts.get(self.part) {
            if self.at < part.len() {
                let count = (&part[self.at..]).read(out)?;
                self.at += count;
                return Ok(count);
            }
            self.at = 0;
            match self.part {
                1 if self.times > 1 => self.times -= 1,
                _ => self.part += 1,
            }
        }
        Ok(0)
    }
}

/// Returns a thousand rounds of events as our logs have them, each after `separator`. As arrays they
/// are those of draft-00.
fn events(separator: &str, as_arrays: bool) -> String {
    let mut text = String::new();
    for i in 0..1000_u64 {
        let ms = i as f64 * 0.37;
        let header = format!(r#""header":{{"packet_type":"1RTT","packet_number":{i}}}"#);
        for (category, name, data) in [
            (
                "transport",
                "packet_sent",
                format!(
                    r#"{header},"raw":{{"length":1252}},"frames":[{{"frame_type":"stream","stream_id":0,"offset":{},"length":1215}}]"#,
                    i * 1215
                ),
            ),
            (
                "transport",
                "packet_received",
                format!(
                    r#"{header},"frames":[{{"frame_type":"ack","ack_delay":0.51,"acked_ranges":[[0,{i}]]}}]"#
                ),
            ),
            (
                "recovery",
                "metrics_updated",
                format!(
                    r#""congestion_window":{},"bytes_in_flight":12520,"smoothed_rtt":50.123456,"latest_rtt":51.7,"cc_w_max":1.5"#,
                    12000 + i
                ),
            ),
        ] {
            text += separator;
            text += &match as_arrays {
                true => format!("[{ms},\"{category}\",\"{name}\",{{{data}}}]"),
                false => format!("{{\"time\":{ms},\"name\":\"{category}:{name}\",\"data\":{{{data}}}}}"),
            };
        }
    }
    text
}

#[allow(clippy::disallowed_methods, reason = "a measurement of speed")]
fn run(megabytes: usize) {
    let trace = r#""vantage_point":{"type":"server"},"common_fields":{"time_format":"relative"}"#;
    let sequence = format!("\x1e{{\"qlog_version\":\"0.3\",\"trace\":{{{trace}}}}}");
    let document = format!("{{\"qlog_version\":\"0.3\",\"traces\":[{{{trace},\"events\":[null");
    let fields = r#""event_fields":["relative_time","category","event","data"]"#;
    let arrays = format!("{{\"qlog_version\":\"draft-00\",\"traces\":[{{{trace},{fields},\"events\":[null");
    for (name, begin, separator, end) in [
        ("sequence", sequence, "\n\x1e", "\n"),
        ("document", document, ",", "]}]}"),
        ("draft-00", arrays, ",\n", "]}]}"),
    ] {
        let body = events(separator, name == "draft-00");
        let times = megabytes * 1_000_000 / body.len() + 1;
        let input = Repeat::new(&begin, &body, times, end);
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage_as_mb();
        let mut count = Count::default();
        let start = Instant::now();
        qlog::read(input, name, &mut count).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let memory = MEMORY.peak_usage_as_mb() - before;
        println!("{name}: {:.0} MB/s, {memory:.1} MB of memory", (times * body.len()) as f64 / seconds / 1e6);
        // With a gap for times that run backwards; a document also has one for `null`.
        let gaps = if name == "sequence" { 1 } else { 2 };
        assert_eq!(count.events, times as u64 * 3000 + gaps, "{name}");
        // A value has at most 4 MiB and is read by 256 KiB.
        assert!(memory < 16.0, "{name}: {memory} MB");
    }
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    run(200);
}

#[test]
fn memory_is_bounded() {
    run(20);
}
