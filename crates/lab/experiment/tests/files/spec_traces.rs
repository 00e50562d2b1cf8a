//! Recorded links: files of traces beside an experiment.

use std::fs;
use std::path::Path;

use crate::common::scenario;
use experiment::diagnostics::Diagnostics;
use experiment::file::{Experiment, Words, bare};
use link::Limit;
use units::{Bytes, Rate};

/// One chance of 1504 bytes in each ms: 12.032 Mbit/s.
const TRACE: &str = "1\n2\n";
/// SHA-256 of it, as sha256sum prints it.
const SHA256: &str = "a6e2b7a040683432de03a18fd8a1939a2fdf82585b364bfc874bdd4095c4cae1";

const REST: &str = "title = \"t\"\nsource = \"s\"\nduration = \"3 s\"\n\n[[flow]]\ncontroller = \"cubic\"\n\n[link]\n\
                    delay = \"25 ms\"\nqueue = \"2 BDP\"\n";

/// A folder with an experiment and a trace.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(trace: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.down"), trace).unwrap();
        Self(dir)
    }

    /// Reads an experiment with this rate.
    fn read(&self, rate: &str) -> Result<Experiment, Diagnostics> {
        let (file, text) = (self.0.path().join("x.toml"), format!("{REST}rate = {rate}\n"));
        fs::write(&file, &text).unwrap();
        Experiment::parse("x", &file, &text)
    }

    /// Returns the message for a rate, without the path of the folder.
    fn message(&self, rate: &str) -> String {
        let message = self.read(rate).unwrap_err().to_string();
        message.replace(&format!("{}/", self.0.path().display()), "")
    }
}

/// The path is relative to the experiment. The mean is the rate of the BDP. A manifest has the
/// content's checksum, with which it can be read again.
#[test]
fn a_trace_beside_the_file() {
    let folder = Folder::with(TRACE.as_bytes());
    let file = folder.read("{ trace = \"a.down\" }").unwrap();
    let link = scenario(&file, 0).link;
    assert_eq!((link.rate.nominal(), link.limit), (Rate(12_032_000), Limit::Bytes(Bytes(150_400))));
    let spec = file.resolved(&file.cases()[0], 1).unwrap();
    let rate = spec["link"]["rate"].to_string();
    assert_eq!(rate, format!("{{ sha256 = \"{SHA256}\", trace = \"a.down\" }}"));
    assert_eq!(scenario(&folder.read(&rate).unwrap(), 0).link, link);
    // Another file finds it too.
    let written = toml::to_string(&file.written(&file.cases()[0])).unwrap();
    let copy = Experiment::parse("copy", Path::new("copy.toml"), &written).unwrap();
    assert_eq!(scenario(&copy, 0).link.rate.nominal(), link.rate.nominal());
    fs::write(folder.0.path().join("a.down"), "1\n").unwrap();
    let changed = folder.message(&rate);
    assert!(
        changed.contains("link.rate.sha256: a.down has other content: its SHA-256 is 4355a4"),
        "{changed}"
    );
}

#[test]
fn mistakes_name_file_line_and_what_is_right() {
    for (trace, rate, says) in [
        (TRACE, "{ trace = \"b.down\" }", "x.toml:11: link.rate.trace: b.down: no such file"),
        (TRACE, "{ trace = \".\" }", "link.rate.trace: .: cannot be read: not a regular file"),
        (TRACE, "{ trace = 3 }", "link.rate.trace: "),
        (TRACE, "{ trace = \"a.down\", loop = true }", "link.rate.loop: unknown key; known: sha256, trace"),
        (TRACE, "{ sha256 = \"x\" }", "link.rate"),
        (
            TRACE,
            "{ trace = \"a.down\" }\nburst = \"3 kB\"",
            "a token bucket has no meaning for chances to deliver",
        ),
        (
            "",
            "{ trace = \"a.down\" }",
            "link.rate.trace: a.down:1: the trace is empty; write whole milliseconds",
        ),
        ("5\n3\n", "{ trace = \"a.down\" }", "a.down:2: 3 ms comes after 5 ms; the times must not decrease"),
        ("0 0\n1 0\n", "{ trace = \"a.down\" }", "link.rate: the rate is 0; must be above 0"),
        ("1\n\u{0}\n", "{ trace = \"a.down\" }", "a.down:2: `␀` is not a whole number"),
    ] {
        let message = Folder::with(trace.as_bytes()).message(rate);
        assert!(message.contains(says), "{rate}: {message}");
    }
    let message = Folder::with(b"1\n\xff\n").message("{ trace = \"a.down\" }");
    assert!(message.contains("a.down:2: not UTF-8: byte 0xff in column 1; save it as UTF-8"), "{message}");
    let udp = "{ trace = \"a.down\" }\n\n[[udp]]\nsize = \"1000 bytes\"\nrate = { trace = \"a.down\" }";
    let message = Folder::with(TRACE.as_bytes()).message(udp);
    assert!(message.contains("udp.0.rate: a trace applies to links, not to UDP sources; write"), "{message}");
    let huge = Folder::with(b"");
    fs::File::options().write(true).open(huge.0.path().join("a.down")).unwrap().set_len(201 << 20).unwrap();
    let message = huge.message("{ trace = \"a.down\" }");
    assert!(message.contains("a.down: larger than 200 MiB; shorten it; a trace repeats"), "{message}");
}

/// On a command line, `trace` stands for the rate.
#[test]
fn words() {
    let folder = Folder::with(b"time_s,rate_mbit_s\n0,8\n1,2\n");
    let path = folder.0.path().join("a.down");
    let text = format!("trace={} rtt=60 ms queue=1 BDP", path.display());
    let read = |text: &str| {
        let words = Words::split(text).unwrap();
        bare::link(&words.name(), &words.toml(), |delay| delay * 2, 1500)
    };
    let link = read(&text).unwrap();
    assert_eq!((link.rate.nominal(), link.limit), (Rate(5_000_000), Limit::Bytes(Bytes(37_500))));
    let wrong = read("trace=no.down rtt=60 ms").unwrap_err().to_string();
    assert!(wrong.contains("rate.trace: no.down: no such file"), "{wrong}");
    assert!(Words::split("trace rtt=60 ms").unwrap_err().to_string().contains("`trace` has no value"));
}

/// In the simulator a flow gets as much over a trace of a chance in each ms as over a link with the
/// mean rate, with drop-tail and with disciplines that decide at departure.
#[test]
fn a_flow_over_a_trace() {
    let folder = Folder::with(TRACE.as_bytes());
    let red = "{ name = \"red\", min = \"10 packets\", max = \"20 packets\" }";
    for aqm in ["\"drop-tail\"", red, "\"codel\"", "\"fq-codel\"", "\"pie\"", "\"dualpi2\""] {
        let carried = |rate: &str| {
            let file = folder.read(&format!("{rate}\naqm = {aqm}")).unwrap();
            sim::run(&scenario(&file, 0), &scenario::Watch::default()).unwrap().carried[0] as f64
        };
        let (trace, constant) = (carried("{ trace = \"a.down\" }"), carried("\"12.032 Mbit/s\""));
        // A packet waits half a ms for its chance, 1 % of the RTT. Its four bytes are 0.3 %.
        assert!((trace / constant - 1.0).abs() < 0.03, "{aqm}: {trace} {constant}");
    }
}
