//! The cases of the benchmark, as experiment files. Unless noted, each is a long run of bulk flows
//! over a drop-tail queue of 1 BDP.

use std::path::Path;

use experiment::diagnostics::Diagnostics;
use experiment::file::Experiment;
use stack::Cipher;

/// Work that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// The simulation alone.
    Simulation,
    /// A simulation with real QUIC endpoints instead of simulated flows.
    Stack(Cipher),
    /// A whole study, with its files.
    Study,
    /// A whole study with qlog files.
    Qlog,
}

/// A case of the benchmark.
pub(super) struct Case {
    /// Description. Cases that differ in one number follow each other.
    pub(super) name: &'static str,
    pub(super) work: Work,
    file: &'static str,
}

impl Case {
    /// Returns the experiment.
    pub(super) fn experiment(&self) -> Result<Experiment, Diagnostics> {
        let series = if self.file.contains("series") { "" } else { "series = \"off\"\n" };
        let text = format!("title = \"{}\"\n{series}{}", self.name, self.file);
        Experiment::parse("bench", Path::new("bench"), &text)
    }
}

const fn case(name: &'static str, file: &'static str) -> Case {
    Case { name, work: Work::Simulation, file }
}

/// Flows on 500 Mbit/s that start a millisecond apart.
macro_rules! flows {
    ($count:literal, $seconds:literal, $flow:literal, $link:literal) => {
        flows!($count, $seconds, $flow, $link, "")
    };
    ($count:literal, $seconds:literal, $flow:literal, $link:literal, $head:literal) => {
        concat!(
            $head,
            "duration = \"",
            $seconds,
            " s\"\nlink = { rate = \"500 Mbit/s\", rtt = \"50 ms\", queue = \"1 BDP\"",
            $link,
            " }\n[[flow]]\nstagger = \"1 ms\"\ncount = ",
            $count,
            "\n",
            $flow,
            "\n"
        )
    };
}

/// One flow on a fast link.
macro_rules! fast {
    ($rate:literal, $rtt:literal, $flow:expr, $link:literal) => {
        concat!(
            "duration = \"10 s\"\nlink = { rate = \"",
            $rate,
            " Gbit/s\", rtt = \"",
            $rtt,
            " ms\", queue = \"1 BDP\"",
            $link,
            " }\n[[flow]]\n",
            $flow,
            "\n"
        )
    };
}

/// Flows whose windows together fill a fast link and half of its queue. Shows the cost of an
/// additional flow at equal loss.
macro_rules! lossless {
    ($count:literal, $window:literal) => {
        fast!(
            "10",
            "50",
            concat!(
                "count = ",
                $count,
                "\nstagger = \"1 us\"\ncontroller = { name = \"fixed-window\", window = ",
                $window,
                " }"
            ),
            ""
        )
    };
}

const SMALL: &str = "duration = \"400 s\"\ntransfer = \"100 MB\"\nlink = { rate = \"10 Mbit/s\", rtt = \"50 ms\", queue = \"1 BDP\" }\n[[flow]]\ncontroller = \"cubic\"\n";

/// Four links in series; the last is the bottleneck.
const CHAIN: &str = r#"
duration = "60 s"
[[link]]
name = "a"
rate = "1 Gbit/s"
delay = "5 ms"
queue = "1 MB"
[[link]]
name = "b"
rate = "1 Gbit/s"
delay = "5 ms"
queue = "1 MB"
[[link]]
name = "c"
rate = "1 Gbit/s"
delay = "5 ms"
queue = "1 MB"
[[link]]
name = "d"
rate = "500 Mbit/s"
delay = "10 ms"
queue = "3 MB"
[[flow]]
controller = "cubic"
rtt = "50 ms"
stagger = "1 ms"
count = 128
"#;

/// QUIC endpoints at both ends. Each packet through the bottleneck carries data.
const fn endpoints(name: &'static str, cipher: Cipher, file: &'static str) -> Case {
    Case { name, work: Work::Stack(cipher), file }
}

/// One flow of endpoints with an RTT of 50 ms.
macro_rules! connection {
    ($rate:literal, $seconds:literal, $flow:literal) => {
        concat!(
            "duration = \"",
            $seconds,
            " s\"\nlink = { rate = \"",
            $rate,
            " Mbit/s\", rtt = \"50 ms\", queue = \"1 BDP\" }\n[[flow]]\n",
            $flow,
            "\n"
        )
    };
}

pub(super) const CASES: [Case; 34] = [
    case("1 flow, 10 Mbit/s, 100 MB", SMALL),
    case("1 flow, 500 Mbit/s, 60 s", flows!("1", "60", "controller = \"cubic\"", "")),
    case("128 flows, 500 Mbit/s, 60 s", flows!("128", "60", "controller = \"cubic\"", "")),
    case("1000 flows, 500 Mbit/s, 60 s", flows!("1000", "60", "controller = \"cubic\"", "")),
    case("10000 flows, 500 Mbit/s, 60 s", flows!("10000", "60", "controller = \"cubic\"", "")),
    case(
        "1 flow of TCP, 500 Mbit/s",
        flows!("1", "60", "controller = \"cubic\"\ntransport = \"tcp\"\nhandshake = false", ""),
    ),
    case(
        "128 flows of TCP, 500 Mbit/s",
        flows!("128", "60", "controller = \"cubic\"\ntransport = \"tcp\"\nhandshake = false", ""),
    ),
    case(
        "1000 flows of TCP, 500 Mbit/s",
        flows!("1000", "60", "controller = \"cubic\"\ntransport = \"tcp\"\nhandshake = false", ""),
    ),
    case(
        "1 flow of NewReno, TCP, each ACK",
        flows!(
            "1",
            "60",
            "controller = \"new-reno\"\ntransport = \"tcp\"\nhandshake = false\nack = { ack-every = 1 }",
            ""
        ),
    ),
    case(
        "128 flows of NewReno, TCP, each ACK",
        flows!(
            "128",
            "60",
            "controller = \"new-reno\"\ntransport = \"tcp\"\nhandshake = false\nack = { ack-every = 1 }",
            ""
        ),
    ),
    case("QUIC, 10 Gbit/s x 10 ms", fast!("10", "10", "controller = \"cubic\"", "")),
    case("QUIC, 10 Gbit/s x 100 ms", fast!("10", "100", "controller = \"cubic\"", "")),
    case("QUIC, 10 Gbit/s x 300 ms", fast!("10", "300", "controller = \"cubic\"", "")),
    case(
        "TCP, 10 Gbit/s x 10 ms",
        fast!("10", "10", "controller = \"cubic\"\ntransport = \"tcp\"\nhandshake = false", ""),
    ),
    case(
        "TCP, 10 Gbit/s x 100 ms",
        fast!("10", "100", "controller = \"cubic\"\ntransport = \"tcp\"\nhandshake = false", ""),
    ),
    case(
        "TCP, 10 Gbit/s x 300 ms",
        fast!("10", "300", "controller = \"cubic\"\ntransport = \"tcp\"\nhandshake = false", ""),
    ),
    case("1 flow without loss, 10 Gbit/s", lossless!("1", "60000")),
    case("1000 flows without loss, 10 Gbit/s", lossless!("1000", "60")),
    case("10000 flows without loss, 10 Gbit/s", lossless!("10000", "6")),
    case(
        "TCP, 5 Gbit/s, every 50th late",
        fast!(
            "5",
            "60",
            "controller = \"cubic\"\ntransport = \"tcp\"\nhandshake = false",
            ", reorder = { every = 50, by = \"2 ms\" }"
        ),
    ),
    case("128 flows, CoDel", flows!("128", "60", "controller = \"cubic\"", ", aqm = \"codel\"")),
    case("128 flows, FQ-CoDel", flows!("128", "60", "controller = \"cubic\"", ", aqm = \"fq-codel\"")),
    case("128 flows, PIE", flows!("128", "60", "controller = \"cubic\"", ", aqm = \"pie\"")),
    case("128 flows, DualPI2", flows!("128", "60", "controller = \"cubic\"", ", aqm = \"dualpi2\"")),
    case("128 flows, four links", CHAIN),
    endpoints("endpoints, TLS", Cipher::Tls, connection!("500", "10", "controller = \"cubic\"")),
    endpoints("endpoints, no cipher", Cipher::Plain, connection!("500", "10", "controller = \"cubic\"")),
    endpoints("endpoints, TLS, 100 Mbit/s", Cipher::Tls, connection!("100", "30", "controller = \"cubic\"")),
    endpoints(
        "endpoints, no cipher, 100 Mbit/s",
        Cipher::Plain,
        connection!("100", "30", "controller = \"cubic\""),
    ),
    endpoints(
        "endpoints, no cipher, receive times",
        Cipher::Plain,
        connection!("100", "30", "controller = \"quic-dc\""),
    ),
    Case {
        name: "1 flow, a study",
        work: Work::Study,
        file: flows!("1", "10", "controller = \"cubic\"", ""),
    },
    Case {
        name: "1 flow, a study with qlog",
        work: Work::Qlog,
        file: flows!("1", "10", "controller = \"cubic\"", ""),
    },
    Case {
        name: "128 flows, a study",
        work: Work::Study,
        file: flows!("128", "10", "controller = \"cubic\"", ""),
    },
    Case {
        name: "128 flows, a study, series 1 ms",
        work: Work::Study,
        file: flows!("128", "10", "controller = \"cubic\"", "", "series = \"1 ms\"\n"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_can_run() {
        for case in &CASES {
            let experiment = case.experiment().unwrap_or_else(|e| panic!("{}: {:?}", case.name, e));
            assert_eq!(experiment.cases().len(), 1, "{}", case.name);
            assert!(case.name.len() <= 35, "{}", case.name);
        }
    }
}
