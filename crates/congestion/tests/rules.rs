//! What every controller must obey, whatever it is. A new algorithm is covered by being in `Algorithm::all()`.

mod common;

use common::read::{named, read};
use kneepoint_congestion::algorithms::reno::new_reno;
use kneepoint_congestion::components::count::Count;
use kneepoint_congestion::{
    Ack, AckedPacket, Algorithm, Cause, Congestion, Controller, Detection, Idle, Lost, LostPacket, PathInfo,
    RateSample, Sent,
};
use proptest::prelude::*;
use units::{Duration, Time};

const MDS: u64 = 1200;
const PATH: PathInfo = PathInfo { max_datagram_size: MDS, paced: true, seed: 1 };

/// One step of a script.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many packets acknowledged; may the window grow; their queuing delay.
    Ack {
        packets: u64,
        grow: bool,
        queue: Duration,
    },
    Event(Cause),
    /// An ACK of nothing but packets that had been declared lost.
    Late {
        packets: u64,
        in_recovery: bool,
    },
    Spurious,
    /// Sends again after so many retransmission timeouts of silence, and the window is to be restarted.
    Idle {
        rtos: u64,
    },
}

fn step(causes: &'static [Cause]) -> impl Strategy<Value = (u64, Step)> {
    let ack = (1u64..=10, prop::bool::weighted(0.8), 0u64..60).prop_map(|(packets, grow, ms)| Step::Ack {
        packets,
        grow,
        queue: Duration::from_millis(ms),
    });
    let event = prop::sample::select(causes).prop_map(Step::Event);
    let late =
        (1u64..=10, any::<bool>()).prop_map(|(packets, in_recovery)| Step::Late { packets, in_recovery });
    let idle = (1u64..20).prop_map(|rtos| Step::Idle { rtos });
    (0u64..300, prop_oneof![16 => ack, 3 => event, 2 => late, 1 => Just(Step::Spurious), 1 => idle])
}

const QUIC: &[Cause] = &[Cause::Loss, Cause::Ecn, Cause::Delay, Cause::PersistentCongestion];
const TCP: &[Cause] = &[Cause::Loss, Cause::Ecn, Cause::Timeout];

/// Plays the ledger's part: every signal it sends is one that the ledger could send.
struct Driver {
    now: Time,
    pn: u64,
    delivered: u64,
    lost: u64,
    min_rtt: Duration,
    /// An event told of a mark: the next ACK counts it.
    marked: bool,
}

impl Driver {
    fn new() -> Self {
        Self { now: Time::ZERO, pn: 0, delivered: 0, lost: 0, min_rtt: Duration::MAX, marked: false }
    }

    fn congestion(&mut self, cc: &mut dyn Controller, cause: Cause) {
        match cause {
            Cause::Loss | Cause::PersistentCongestion => self.lose(cc, Detection::PacketThreshold),
            Cause::Timeout => self.lose(cc, Detection::Timeout),
            Cause::Ecn => self.marked = true,
            _ => {}
        }
        let (min_rtt, smoothed_rtt) = (self.min_rtt, Duration::from_millis(60));
        let prior_in_flight = cc.control().cwnd;
        cc.on_congestion(&Congestion { now: self.now, cause, prior_in_flight, min_rtt, smoothed_rtt });
    }

    /// The packets leave one RTT before they are acknowledged together.
    fn ack(&mut self, cc: &mut dyn Controller, packets: u64, grow: bool, queue: Duration) -> Option<Cause> {
        let rtt = Duration::from_millis(50) + queue;
        self.min_rtt = self.min_rtt.min(rtt);
        let sent = self.now;
        self.now += rtt;
        let packets: Vec<_> = (0..packets).map(|i| self.packet(cc, sent, queue, i + 1)).collect();
        let acked = MDS * packets.len() as u64;
        let prior_delivered = self.delivered;
        self.delivered += acked;
        let rate = RateSample {
            prior_delivered,
            delivered: acked,
            interval: rtt,
            delivery_rate: Some(units::Rate::from_delivery(acked, rtt)),
            app_limited: !grow,
            tx_in_flight: acked,
            lost: 0,
        };
        cc.on_ack(&Ack {
            now: self.now,
            packets: &packets,
            acked,
            late: 0,
            growth: if grow { acked } else { 0 },
            lost: 0,
            prior_in_flight: acked,
            bytes_in_flight: 0,
            latest_rtt: Some(rtt),
            min_rtt: self.min_rtt,
            smoothed_rtt: rtt,
            ack_delay: Duration::ZERO,
            ce: u64::from(std::mem::take(&mut self.marked)),
            delivered: self.delivered,
            rate: Some(rate),
            round: self.pn,
            round_start: true,
            in_recovery: false,
            app_limited: !grow,
            cwnd_limited: grow,
        })
    }

    fn late(&mut self, cc: &mut dyn Controller, packets: u64, in_recovery: bool) -> Option<Cause> {
        let late = packets * MDS;
        self.delivered += late;
        cc.on_ack(&Ack {
            now: self.now,
            packets: &[],
            acked: 0,
            late,
            growth: 0,
            lost: 0,
            prior_in_flight: 0,
            bytes_in_flight: 0,
            latest_rtt: None,
            min_rtt: self.min_rtt,
            smoothed_rtt: Duration::from_millis(60),
            ack_delay: Duration::ZERO,
            ce: 0,
            delivered: self.delivered,
            rate: None,
            round: self.pn,
            round_start: false,
            in_recovery,
            app_limited: false,
            cwnd_limited: true,
        })
    }

    fn idle(&mut self, cc: &mut dyn Controller, rtos: u64) {
        let rto = Duration::from_millis(260);
        let idle = rto * rtos + Duration::from_millis(1);
        self.now += idle;
        cc.on_idle(&Idle { now: self.now, idle, rto });
        self.send(cc, self.now, 1);
    }

    /// The `nth` packet in flight, the first being 1.
    fn send(&mut self, cc: &mut dyn Controller, sent: Time, nth: u64) -> u64 {
        let pn = self.pn;
        self.pn += 1;
        cc.on_sent(&Sent { now: sent, pn, bytes: MDS, bytes_in_flight: nth * MDS, app_limited: false });
        pn
    }

    fn packet(&mut self, cc: &mut dyn Controller, sent: Time, queue: Duration, nth: u64) -> AckedPacket {
        let pn = self.send(cc, sent, nth);
        let received = Some((sent + Duration::from_millis(25) + queue).0 as i64);
        AckedPacket { pn, bytes: MDS, sent, received, before_reduction: false }
    }

    /// A burst of four, enough for a controller that ignores single losses.
    fn lose(&mut self, cc: &mut dyn Controller, detection: Detection) {
        let lost = [1, 2, 3, 4].map(|nth| LostPacket {
            pn: self.send(cc, self.now, nth),
            bytes: MDS,
            sent: self.now,
            detection,
            tx_in_flight: nth * MDS,
            lost_at_send: self.lost,
            app_limited: false,
        });
        self.lost += 4 * MDS;
        let (now, total_lost, delivered) = (self.now, self.lost, self.delivered);
        cc.on_lost(&Lost { now, packets: &lost, total_lost, delivered, bytes_in_flight: 0 });
    }
}

/// True of whatever state any controller is in.
fn sane(cc: &dyn Controller, min: u64) -> Result<(), TestCaseError> {
    let control = cc.control();
    prop_assert!(control.cwnd >= min && control.cwnd < 1 << 50, "{cc:?}: window {}", control.cwnd);
    prop_assert!(control.pacing_rate.is_none_or(|r| r.0 > 0), "{cc:?}: pacing stopped");
    let mut nan = None;
    cc.trace(&mut |name, value| nan = if value.is_nan() { Some(name) } else { nan });
    prop_assert_eq!(nan, None, "{:?}", cc);
    Ok(())
}

/// The rules that an algorithm's own document breaks.
#[derive(Clone, Copy, Default)]
struct Exempt {
    /// The window may grow although the ledger grants nothing.
    ungranted: bool,
    /// It may grow by more than was acknowledged.
    faster: bool,
    /// A congestion event may open it.
    by_event: bool,
    /// A spurious loss may leave more than there ever was.
    beyond_undo: bool,
}

fn exempt(algorithm: &Algorithm) -> Exempt {
    match algorithm.name() {
        // The window is the last measurement and its gain, whatever has been acknowledged since; a measurement that the
        // application limited moves it too (tcp_davis.c; `ignore-app-limited` helps, but not against the end of DRAIN).
        "dstar" => Exempt { ungranted: true, faster: true, ..Exempt::default() },
        // The window is the curve's value now, without a limit per round trip; slow start jumps to half of rate times
        // RTT; what is left after a spurious loss is the curve's value at that time (picoquic cubic.c).
        "cubic-picoquic" | "cubic-ecn-gated" => {
            Exempt { faster: true, beyond_undo: true, ..Exempt::default() }
        }
        // No limit per round trip, and slow start counts every byte: only an idle application stops CUBIC (mvfst.md section 7).
        "cubic-mvfst" => Exempt { ungranted: true, faster: true, ..Exempt::default() },
        // Never application-limited (mvfst.md section 6).
        "new-reno" if algorithm.params::<new_reno::Params>().is_some_and(|p| p.count == Count::Always) => {
            Exempt { ungranted: true, faster: true, ..Exempt::default() }
        }
        // The event sets the window to what the path holds (arXiv 2507.00896 section 3; tcp_westwood.c).
        "westwood-plus" | "quic-dc" => Exempt { by_event: true, ..Exempt::default() },
        _ => Exempt::default(),
    }
}

/// The script against one algorithm. `min` is the smallest window, bytes.
fn play(algorithm: &Algorithm, script: &[(u64, Step)], min: u64) -> Result<(), TestCaseError> {
    let mut cc = algorithm.build(PATH);
    // A controller that paces by a rate of its own (BBR) sets its window from a model: only the first rules bind it.
    let by_window = cc.control().pacing_rate.is_none();
    let exempt = exempt(algorithm);
    let mut driver = Driver::new();
    // The window since the last event, and the bytes since that were allowed to open it.
    let (mut start, mut growth) = (cc.control().cwnd, 0);
    let mut largest = start;
    for &(ms, step) in script {
        driver.now += Duration::from_millis(ms);
        let before = cc.control().cwnd;
        let mut event = None;
        match step {
            Step::Ack { packets, grow, queue } => {
                event = driver.ack(&mut *cc, packets, grow, queue);
                let after = cc.control().cwnd;
                if by_window && !grow && !exempt.ungranted {
                    prop_assert!(after <= before, "{algorithm:?} grew without growth: {before} -> {after}");
                }
                growth += if grow { packets * MDS } else { 0 };
                // One packet more: where growth comes in packets, the last event left part of one.
                prop_assert!(
                    !by_window || exempt.faster || after <= start + growth + MDS,
                    "{algorithm:?} faster than slow start: {start} + {growth} -> {after}"
                );
            }
            Step::Event(cause) => event = Some(cause),
            Step::Late { packets, in_recovery } => {
                event = driver.late(&mut *cc, packets, in_recovery);
                let after = cc.control().cwnd;
                if by_window && !exempt.ungranted {
                    prop_assert!(after <= before, "{algorithm:?} grew by late packets: {before} -> {after}");
                }
            }
            Step::Spurious => cc.on_spurious(),
            Step::Idle { rtos } => {
                driver.idle(&mut *cc, rtos);
                let after = cc.control().cwnd;
                prop_assert!(
                    !by_window || after <= before,
                    "{algorithm:?} grew by waiting: {before} -> {after}"
                );
            }
        }
        if let Some(cause) = event {
            let before = cc.control().cwnd;
            driver.congestion(&mut *cc, cause);
            let after = cc.control().cwnd;
            prop_assert!(
                !by_window || exempt.by_event || after <= before,
                "{algorithm:?} grew on {cause:?}: {before} -> {after}"
            );
        }
        if event.is_some() || matches!(step, Step::Spurious | Step::Idle { .. }) {
            (start, growth) = (cc.control().cwnd, 0);
        }
        let undone = !by_window
            || exempt.beyond_undo
            || exempt.by_event
            || matches!(step, Step::Ack { .. } | Step::Late { .. });
        prop_assert!(undone || start <= largest, "more than undone");
        largest = largest.max(cc.control().cwnd);
        sane(&*cc, if by_window { min } else { MDS })?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn quic_script(script in prop::collection::vec(step(QUIC), 1..300)) {
        for algorithm in Algorithm::all() {
            play(&algorithm, &script, 2 * MDS)?;
        }
    }

    /// A retransmission timeout may leave a single packet.
    #[test]
    fn tcp_script(script in prop::collection::vec(step(TCP), 1..300)) {
        for algorithm in Algorithm::all() {
            play(&algorithm, &script, MDS)?;
        }
    }

    /// The other ways to slow-start, to count and to filter obey too.
    #[test]
    fn variants(script in prop::collection::vec(step(QUIC), 1..300)) {
        for text in VARIANTS {
            let algorithm = read(text).map_err(TestCaseError::fail)?;
            play(&algorithm, &script, 2 * MDS)?;
        }
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
    "name = 'ledbat'\nslow-start = 'standard'\ntarget = '25 ms'\ngain = 0.5",
    "name = 'ledbat'\nslow-start = 'hystart++'\nbase-history = 1\nbase-interval = '1 s'\ncurrent-filter = 1",
    "name = 'nada'\nbuffer-len = '10 kB'\ntaps = 1\nrmin = '1 Mbit/s'\nrmax = '1 Mbit/s'",
    "name = 'nada-2013'\nupdate = 'gradual'\nx-ref = '25 ms'\nalpha = 0.1\ntau-o = '500 ms'",
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
    "name = 'cubic-mvfst'\nslow-start = 'standard'\nlast-max-reduction = 1.0\nc = 4.0",
    "name = 'bbr2'\nprobe-up-exit = 'plateau'\nrecovery = 'window'",
    "name = 'bbr2'\ninflight-too-high = 'round'\nstartup-loss-exit = 'round'\nbandwidth-sample = 'best'",
    "name = 'bbr2-mvfst'\nrecovery = 'event'\nmax-bw-advance = 'feedback'\necn = true\nundo = true",
    "name = 'bbr1-ecn-gated'\nbase = { min-rtt-slack = 0.05, initial-window = 4 }",
    "name = 'gcc'\ndeltas = 1\nmax-rate = '2 Mbit/s'\nburst-time = '0 ms'",
    "name = 'gcc-simplified'\nearly-drop = 'off'\noveruse-time = '100 ms'\nmax-rate = '2 Mbit/s'",
];

#[test]
fn unknown_parameter_is_refused() {
    for algorithm in Algorithm::all() {
        let text = format!("name = '{}'\nbetta = 0.5", algorithm.name());
        let error = read(&text).expect_err(&text);
        assert!(error.to_string().contains("betta"), "{error}");
    }
}

#[test]
fn unknown_word_is_refused() {
    for (text, known) in [
        ("name = 'cubic'\nslow-start = 'fast'", "hystart++"),
        ("name = 'tcp-reno'\ncount = 'all'", "packets"),
        ("name = 'hstcp'\ninitial-window = 'off'", "auto"),
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
        ("name = 'cubic-ecn-gated'\nrtt = 'mean'", "round-min"),
        ("name = 'cubic-ecn-gated'\nbase = { betta = 1 }", "betta"),
        ("name = 'dccc'\nowd = 'raw'", "anchored"),
        ("name = 'dccc'\nfixed-period = 'rtt'", "off"),
        ("name = 'ledbat'\nslow-start = 'none'", "off"),
        ("name = 'nada'\nrmax = 1500000", "string"),
        ("name = 'nada-2013'\nupdate = 'fast'", "gradual"),
        ("name = 'gcc-simplified'\nearly-drop = 'never'", "off"),
    ] {
        let error = read(text).expect_err(text);
        assert!(error.contains(known), "{error}");
    }
}

/// What is written can be read again, and every parameter tells what it is.
#[test]
fn written_and_documented() {
    for algorithm in Algorithm::all() {
        let text = named(&algorithm);
        assert_eq!(read(&text).expect(&text), algorithm);
        assert!(algorithm.doc().len() > 20, "{}", algorithm.name());
        for param in algorithm.docs() {
            assert!(param.doc.trim().ends_with('.'), "{}: {}", algorithm.name(), param.name);
        }
    }
}
