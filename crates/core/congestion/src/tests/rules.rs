//! Tests that every controller obeys the rules. A new algorithm is covered once it is in the
//! registry.

use super::read::{named, read};
use crate::algorithms::delay::copa;
use crate::algorithms::reno::new_reno;
use crate::components::count::Count;
use crate::testing::conformance::{self, Exemptions, Rule};
use crate::{Algorithm, Registry};

/// Rules that a window breaks which grows without being used.
const UNUSED: Exemptions = Exemptions::new(&[(Rule::Granted, MAY_GROW), (Rule::SlowStart, MAY_GROW)]);
const MAY_GROW: &str =
    "An unused window may grow up to a limit: draft-ietf-ccwg-ratelimited-increase-11 section 3.";

/// Returns the rules that an algorithm's specification breaks.
fn exempt(algorithm: &Algorithm) -> Exemptions {
    if named(algorithm).contains("count = \"rate-limited\"") {
        return UNUSED;
    }
    match algorithm.name() {
        "new-reno" | "tcp-reno" | "cubic" if named(algorithm).contains("saved-cwnd = \"600") => {
            Exemptions::new(&[(
                Rule::SlowStart,
                "Careful Resume jumps to half of a saved window: draft-ietf-tsvwg-careful-resume section 4.3.",
            )])
        }
        "copa" if algorithm.params::<copa::Params>().is_some_and(|p| p.max_step.is_none()) => {
            Exemptions::new(&[(
                Rule::SlowStart,
                "The velocity may move the window by more than a packet per packet: Arun and Balakrishnan section 2.1.",
            )])
        }
        "dstar" => Exemptions::new(&[
            (Rule::Granted, "An application-limited measurement also changes the window: tcp_davis.c."),
            (
                Rule::SlowStart,
                "The window is the last measurement plus its gain, whatever has been acknowledged since: tcp_davis.c.",
            ),
        ]),
        "cubic-picoquic" | "cubic-ecn-gated" => Exemptions::new(&[
            (
                Rule::SlowStart,
                "The window is the current value of the curve, and slow start jumps to half of rate times RTT: picoquic cubic.c.",
            ),
            (
                Rule::UndoRestores,
                "The window after an undo is the current value of the curve: picoquic cubic.c.",
            ),
        ]),
        "cubic-mvfst" => Exemptions::new(&[
            (
                Rule::Granted,
                "Slow start counts every byte, and only an idle application pauses the curve: mvfst QuicCubic.cpp:175-192.",
            ),
            (Rule::SlowStart, "The curve has no limit per round trip: mvfst QuicCubic.cpp:208-308."),
        ]),
        "new-reno" if algorithm.params::<new_reno::Params>().is_some_and(|p| p.count == Count::Always) => {
            Exemptions::new(&[
                (Rule::Granted, "mvfst's NewReno is never application-limited: mvfst NewReno.cpp:81-84."),
                (Rule::SlowStart, "mvfst's NewReno is never application-limited: mvfst NewReno.cpp:81-84."),
            ])
        }
        "prague" => Exemptions::new(&[
            (Rule::Granted, "Unmarked packets grow the window after a mark too: tcp_prague.c."),
            (Rule::SlowStart, "Unmarked packets grow the window after a mark too: tcp_prague.c."),
        ]),
        "hybla" => Exemptions::new(&[(
            Rule::SlowStart,
            "Slow start multiplies the window by 2^rho per round trip, with rho = RTT / 25 ms: Caini and Firrincieli 2004, tcp_hybla.c.",
        )]),
        "tahoe" => Exemptions::new(&[(
            Rule::TwoPackets,
            "A loss leaves one packet, which is older than RFC 9002: Jacobson 1988.",
        )]),
        "westwood-plus" | "quic-dc" => Exemptions::new(&[(
            Rule::EventCuts,
            "The event sets the window to the bandwidth-delay product: arXiv 2507.00896 section 3, tcp_westwood.c.",
        )]),
        _ => Exemptions::NONE,
    }
}

/// Every algorithm of the registry, with its defaults.
#[test]
fn registry() {
    for entry in Registry::default().iter() {
        conformance::check_with(entry, exempt(&entry.algorithm()));
    }
}

/// The other variants of slow start, counting and filters obey the rules too.
#[test]
fn variants() {
    for text in VARIANTS {
        let algorithm = read(text).expect(text);
        conformance::check_algorithm(&algorithm, exempt(&algorithm));
    }
}

const VARIANTS: &[&str] = &[
    "name = 'new-reno'\nslow-start = 'hystart++'",
    "name = 'new-reno'\nslow-start = 'hystart'",
    "name = 'cubic'\nslow-start = 'hystart++'",
    "name = 'cubic'\nslow-start = 'hystart'\nbeta = 0.875\nfast-convergence = false",
    "name = 'new-reno'\nslow-start = 'hystart-picoquic'\ngrowth = 'ack'\ncount = 'acks'\npersistent-congestion = 'initial'",
    "name = 'new-reno'\nabc-limit = 10\ninitial-window = 32\ncount = 'packets'",
    "name = 'cubic'\nslow-start = 'hystart-picoquic'\ncount = 'acks'\ninitial-window = 4\nabc-limit = 10",
    "name = 'tcp-reno'\ncount = 'packets'\nhalve = 'cwnd'\nabc-limit = 1000000",
    "name = 'tcp-reno'\ncount = 'acks'\ngrowth = 'ack'\nslow-start = 'hystart-picoquic'",
    "name = 'westwood-plus'\ncount = 'acks'\ngrowth = 'ack'\nabc-limit = 2\ninitial-window = 3",
    "name = 'quic-dc'\ncount = 'acks'\nslow-start = 'hystart-picoquic'\ninitial-window = 3",
    "name = 'vegas'\ncount = 'acks'\nabc-limit = 2",
    "name = 'hstcp'\ncount = 'acks'\nabc-limit = 10\ninitial-window = 20\nslow-start = 'hystart-picoquic'",
    "name = 'westwood-plus'\nfilter = 'one-pole'\nslow-start = 'hystart'",
    "name = 'quic-dc'\nthreshold = '5 ms'\nanchor = 'raw'",
    "name = 'quic-dc'\nthreshold = '25 ms'\nanchor = 'windowed'\nanchor-window = '10 s'",
    "name = 'quic-dc'\nthreshold = 'off'\nfilter = 'two-pole'",
    "name = 'vegas'\nalpha = 1\nbeta = 3\nidle-restart = false",
    "name = 'vegas-plus'\ncount-max = 0\nmargin = '5 ms'\nbase = { alpha = 1, beta = 3, count = 'acks' }",
    "name = 'veno'\ncount = 'bytes'\nfew-samples = 0\nidle-restart = false",
    "name = 'veno'\nbeta = 0\ncount = 'acks'\nslow-start = 'hystart'\nabc-limit = 2",
    "name = 'dual'\nlower-ssthresh = false\nperiod = 1\nalpha = 0.0",
    "name = 'fast'\nalpha = 200.0\ngamma = 1.0\nperiod = 1\nmi-threshold = 'off'",
    "name = 'fast'\nmax-weight = 0.01\ncount = 'acks'\nslow-start = 'hystart++'",
    "name = 'pert'\nramp-end = 'rtt'\nmax-p = 1.0\nmin-threshold = '0 ms'\nmax-threshold = '0 ms'",
    "name = 'pert'\nweight = 1.0\ncount = 'acks'\nslow-start = 'hystart'",
    "name = 'cdg'\nwindow = 1\nbackoff-factor = 1000.0\nuse-ineff = 'off'",
    "name = 'cdg'\nuse-tolerance = true\nuse-shadow = false\nack-train = false\ndelay-exit = false\ncount = 'bytes'",
    "name = 'lola'\nq-target = '1 ms'\nphi = 1.0\nt-sync = '0 ms'\nreset-after = 1",
    "name = 'lola'\nt-measure = '0 ms'\nblind-rounds = 0.1\nc = 100.0\ninitial-window = 20",
    "name = 'yeah'\nalpha = 1\nphi = 100\nrho = 0\nzeta = 0\nscalable = 1",
    "name = 'yeah'\ncount = 'bytes'\nidle-restart = false\nslow-start = 'hystart'",
    "name = 'timely'\npatched = true\nt-low = '40 ms'\nt-high = '100 ms'\nmin-rtt = '50 ms'",
    "name = 'copa'\ndelta = 0.05\ncompetitive-mode = false\ndelay = 'latest'\nmax-step = 'off'",
    "name = 'copa'\nreset-at-turn = false\nvelocity-rounds = 1\nempty-rounds = 0.5\ninitial-window = 1",
    "name = 'dstar'\nignore-app-limited = true\npersistent-congestion = 'slow-start'\nidle-restart = '100 ms'",
    "name = 'dstar'\npersistent-congestion = 'window'\nrtt-timeout = '1 s'\nidle-restart = 'off'\nmax-cwnd = 20",
    "name = 'cubic-picoquic'\nloss-threshold = 0\necn = false",
    "name = 'cubic-picoquic'\nrevision = 'd199d45b'",
    "name = 'cubic-picoquic'\ncentre = 'cwnd'\nfast-convergence = false",
    "name = 'cubic-picoquic'\ncentre = 'cwnd'\nmark-epoch = 'old'\nloss-threshold = 0",
    "name = 'cubic-ecn-gated'\nrtt = 'latest'\nmin-rtt-window = '10 s'",
    "name = 'cubic-ecn-gated'\nrtt = 'round-min'\nbase = { beta = 0.7, bandwidth-seed = 0 }",
    "name = 'dccc'\nowd = 'anchored'\nthreshold = '0 ms'\nsmoothing = 0.5\nmax-rate = '2 Mbit/s'",
    "name = 'dccc'\nowd = 'windowed'\nfixed-period = '100 ms'\nsending-rate = 'measured'\nsilence = 'off'",
    "name = 'hstcp'\nslow-start = 'hystart++'\nlow-window = 4.0",
    "name = 'hstcp'\nslow-start = 'hystart'\nmax-ssthresh = 100",
    "name = 'hybla'\nrules = 'linux'\nrtt0 = '100 ms'\nmax-window = 500",
    "name = 'hybla'\nrtt0 = '50 ms'\ncount = 'packets'\nabc-limit = 2\nslow-start = 'hystart++'",
    "name = 'bic'\nsmooth-part = 5\nbeta = 0.8\nfast-convergence = 'beta'\ndelayed-ack = false",
    "name = 'bic'\nb = 1\nlow-window = 1\nmax-increment = 1000\nfast-convergence = 'off'\ncount = 'bytes'",
    "name = 'compound'\nlow-window = 2\nlambda = 'off'\nrtt = 'round-min'\nk = 0.9\nalpha = 0.9",
    "name = 'compound'\ngamma-low = 1\ngamma-high = 2\nbeta = 0.2\neta = 3\nslow-start = 'hystart'",
    "name = 'tahoe'\ncount = 'bytes'\ngrowth = 'window'\ninitial-window = 10",
    "name = 'htcp'\nrules = 'draft'\nquadratic = 0.5\ndelta-l = '0 ms'\ncount = 'bytes'",
    "name = 'htcp'\nrtt-scaling = false\nbandwidth-switch = false\nbeta-max = 0.5\nslow-start = 'hystart'",
    "name = 'illinois'\nalpha-min = 2.0\nalpha-max = 2.0\ntheta = 1\nwin-thresh = 2\ncount = 'bytes'",
    "name = 'scalable'\nlegacy-window = 16\na = 0.02\ncount = 'acks'\nslow-start = 'hystart'",
    "name = 'dctcp'\nrules = 'linux'\ncount = 'packets'\ninitial-window = 10",
    "name = 'dctcp'\nslow-start = 'hystart'\ngrowth = 'ack'\ng = 0.5\nalpha-on-init = 0.0",
    "name = 'prague'\nrtt-transition = 0\nrtt-virt = '100 ms'\nalpha-on-init = 0.0",
    "name = 'prague'\necn-fallback = true\nslow-start = 'hystart'\nabc-limit = 2\nburst = '0 ms'",
    "name = 'ledbat'\nslow-start = 'standard'\ntarget = '25 ms'\ngain = 0.5",
    "name = 'ledbat'\nslow-start = 'hystart++'\nbase-history = 1\nbase-interval = '1 s'\ncurrent-filter = 1",
    "name = 'c4'\necn = false\ncruise-eras = 3\njitter-restart = 0.0",
    "name = 'c4'\npackets-before-loss = 0\ninitial-window = 4\nbeta = 0.5",
    "name = 'ledbat-plus-plus'\ntarget = '5 ms'\ngain-in-ramp = false\nslowdown-period = 0.5",
    "name = 'ledbat-plus-plus'\nslowdown-period = 'off'\ncurrent-filter = 1\nmax-divisor = 1.0",
    "name = 'nada'\nbuffer-len = '10 kB'\ntaps = 1\nrmin = '1 Mbit/s'\nrmax = '1 Mbit/s'",
    "name = 'nada-2013'\nupdate = 'gradual'\nx-ref = '25 ms'\nalpha = 0.1\ntau-o = '500 ms'",
    "name = 'scream-v2'\nis-l4s = true\nreduce-jitter = true\npacing-headroom = 1.5",
    "name = 'scream-v2'\ncompeting-flows = false\nloss-rate-threshold = 0.01\nmin-ref-wnd = '1 kB'\nupdate-interval = '0 ms'",
    "name = 'bbr1'\nprobe-rtt = false\nmin-rtt-slack = 0\ninitial-window = 32\nextra-acked-gain = 0",
    "name = 'bbr1-picoquic'\necn = false\nloss-threshold = 0",
    "name = 'bbr1'\nunpaced-packets = 10",
    "name = 'bbr3'\nprobe-up-inflight-gain = 1.25\ninitial-window = 32",
    "name = 'new-reno'\ngrowth = 'packet'\ncount = 'always'\nslow-start = 'hystart-mvfst'\ninitial-window = 10",
    "name = 'tcp-reno'\ngrowth = 'packet'\nslow-start = 'hystart-mvfst'",
    "name = 'cubic'\nslow-start = 'hystart-mvfst'",
    "name = 'hstcp'\nslow-start = 'hystart-mvfst'",
    "name = 'ledbat'\nslow-start = 'hystart-mvfst'",
    "name = 'westwood-plus'\nfilter = 'one-pole'\nslow-start = 'hystart-mvfst'",
    "name = 'quic-dc'\nslow-start = 'hystart-mvfst'\ngrowth = 'packet'",
    "name = 'new-reno'\nslow-start = 'search'\ncount = 'packets'",
    "name = 'cubic'\nslow-start = 'search'",
    "name = 'cubic-mvfst'\nslow-start = 'search'",
    "name = 'ledbat'\nslow-start = 'search'",
    "name = 'new-reno'\ncount = 'rate-limited'",
    "name = 'cubic'\ncount = 'rate-limited'\nslow-start = 'hystart++'",
    "name = 'dctcp'\ncount = 'rate-limited'",
    "name = 'new-reno'\ncareful-resume = { saved-cwnd = '600 kB', saved-rtt = '60 ms' }",
    "name = 'tcp-reno'\ncareful-resume = { saved-cwnd = '600 kB', saved-rtt = '60 ms', beta = 1.0 }",
    "name = 'cubic'\ncareful-resume = { saved-cwnd = '600 kB', saved-rtt = '60 ms', max-jump = '100 kB' }",
    "name = 'cubic-mvfst'\nslow-start = 'standard'\nlast-max-reduction = 1.0\nc = 4.0",
    "name = 'bbr2'\nprobe-up-exit = 'plateau'\nrecovery = 'window'",
    "name = 'bbr2'\ninflight-too-high = 'round'\nstartup-loss-exit = 'round'\nbandwidth-sample = 'best'",
    "name = 'bbr2-mvfst'\nrecovery = 'event'\nmax-bw-advance = 'feedback'\necn = true\nundo = true",
    "name = 'bbr1-ecn-gated'\nbase = { min-rtt-slack = 0.05, initial-window = 4 }",
    "name = 'bbr2-ecn-gated'\nunit = 'phase'\nscope = 'both'\nbase-marks = true",
    "name = 'bbr3-ecn-gated'\npersistence = 'compound'\nrtt = 'smoothed'\nbase = { probe-up-inflight-gain = 1.25 }",
    "name = 'tfrc'\ndamping = true\nb = 2.0\nrto = 1.0",
    "name = 'gcc'\ndeltas = 1\nmax-rate = '2 Mbit/s'\nburst-time = '0 ms'",
    "name = 'gcc-simplified'\nearly-drop = 'off'\noveruse-time = '100 ms'\nmax-rate = '2 Mbit/s'",
];

#[test]
fn unknown_word_is_refused() {
    for (text, known) in [
        ("name = 'cubic'\nslow-start = 'fast'", "hystart++"),
        ("name = 'tcp-reno'\ncount = 'all'", "packets"),
        ("name = 'hstcp'\ninitial-window = 'off'", "auto"),
        ("name = 'htcp'\nrules = 'paper'", "draft"),
        ("name = 'hybla'\nrules = 'draft'", "paper"),
        ("name = 'bic'\nfast-convergence = 'on'", "mean"),
        ("name = 'compound'\nrtt = 'mean'", "round-min"),
        ("name = 'cubic-picoquic'\nrevision = 'head'", "d199d45b"),
        ("name = 'westwood-plus'\nfilter = 'none'", "two-pole"),
        ("name = 'bbr2-mvfst'\nrecovery = 'prr'", "window"),
        ("name = 'bbr2'\nprobe-up-exit = 'loss'", "plateau"),
        ("name = 'new-reno'\ngrowth = 'packets'", "packet"),
        ("name = 'cubic-mvfst'\nslow-start = 'hystart-quic'", "hystart-mvfst"),
        ("name = 'quic-dc'\nanchor = 'none'", "clamped"),
        ("name = 'quic-dc'\nthreshold = 20", "threshold"),
        ("name = 'quic-dc'\nthreshold = '20 %'", "threshold"),
        ("name = 'dstar'\ntimeout = 'ignore'", "slow-start"),
        ("name = 'dstar'\nidle-restart = 'always'", "rto"),
        ("name = 'copa'\ndelay = 'mean'", "latest"),
        ("name = 'cubic-ecn-gated'\nrtt = 'mean'", "round-min"),
        ("name = 'cubic-ecn-gated'\nbase = { betta = 1 }", "betta"),
        ("name = 'vegas-plus'\nbase = { gama = 1 }", "gama"),
        ("name = 'dccc'\nowd = 'raw'", "anchored"),
        ("name = 'dccc'\nfixed-period = 'rtt'", "off"),
        ("name = 'pert'\nramp-end = 'end'", "queue"),
        ("name = 'ledbat'\nslow-start = 'none'", "off"),
        ("name = 'nada'\nrmax = 1500000", "string"),
        ("name = 'nada-2013'\nupdate = 'fast'", "gradual"),
        ("name = 'gcc-simplified'\nearly-drop = 'never'", "off"),
    ] {
        let error = read(text).expect_err(text);
        assert!(error.contains(known), "{error}");
    }
}

/// An algorithm that is written can be read again.
#[test]
fn written_and_read() {
    for algorithm in Algorithm::all() {
        let text = named(&algorithm);
        assert_eq!(read(&text).expect(&text), algorithm);
    }
}
