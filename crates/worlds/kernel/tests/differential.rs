//! The rules of the native programs, compiled for user space, decide as the controllers in Rust do.
#![cfg(target_os = "linux")]

use std::fmt::Debug;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use ackclock_kernel::constants::{constants, natives};
use bytemuck::{AnyBitPattern, NoUninit, Zeroable};
use congestion::algorithms::delay::dstar::{self, IdleRestart, Restart};
use congestion::algorithms::reno::tcp_reno::{self, Halve};
use congestion::components::count::Count;
use congestion::{Ack, Algorithm, Cause, Congestion, Control, Controller, Idle, PathInfo, STATE, Sent};
use units::{Duration, Rng, Time};

/// Bytes of a packet.
const MSS: u64 = 1448;
/// Number of sequences and of signals in each.
const SEQUENCES: u64 = 500;
const SIGNALS: usize = 2000;

/// Kinds of a signal.
mod kind {
    pub(super) const OPEN_DSTAR: u32 = 0;
    pub(super) const OPEN_RENO: u32 = 1;
    pub(super) const BEGIN: u32 = 2;
    pub(super) const ACK: u32 = 3;
    pub(super) const CONGESTION: u32 = 4;
    pub(super) const UNDO: u32 = 5;
    pub(super) const IDLE: u32 = 6;
    pub(super) const PRR: u32 = 7;
}

const CAUSES: [Cause; 3] = [Cause::Loss, Cause::Ecn, Cause::Timeout];

/// A signal, as `bpf/host.c` reads it.
#[derive(Clone, Copy, Debug, NoUninit, Zeroable)]
#[repr(C)]
struct Signal {
    time: u64,
    rtt: i64,
    kind: u32,
    cause: u32,
    delivered: u32,
    acked: u32,
    flight: u32,
    app_limited: u8,
    in_recovery: u8,
    unused: [u8; 2],
}

/// The state after a signal, as `bpf/host.c` writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, AnyBitPattern)]
#[repr(C)]
struct State {
    cwnd: u32,
    ssthresh: u32,
    mode: u32,
    slow_start: u32,
    bdp: u32,
    gain_cwnd: u32,
    min_rtt: u32,
    unused: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Dstar,
    Reno,
}

/// A connection with its parameters and its signals.
struct Sequence {
    algorithm: Algorithm,
    /// In the order of the program's struct. All zero for the defaults.
    parameters: [u64; 13],
    signals: Vec<Signal>,
}

impl Program {
    /// Draws a sequence. Every second one has the usual parameters.
    fn sequence(self, seed: u64) -> Sequence {
        let mut rng = Rng::stream(seed, "differential");
        let usual = seed.is_multiple_of(2);
        let algorithm = match self {
            _ if usual => natives()[self as usize].clone(),
            Self::Dstar => dstar_params(&mut rng).into(),
            Self::Reno => reno_params(&mut rng).into(),
        };
        let mut parameters = [0; 13];
        if !usual {
            let values = constants(&algorithm).unwrap().values;
            parameters.iter_mut().zip(values).for_each(|(at, (_, value))| *at = value);
        }
        Sequence { algorithm, parameters, signals: self.signals(&mut rng) }
    }

    fn signals(self, rng: &mut Rng) -> Vec<Signal> {
        let open = if self == Self::Dstar { kind::OPEN_DSTAR } else { kind::OPEN_RENO };
        let begins_at = 1 + below(rng, 4) as usize;
        let (mut time, mut delivered) = (1 + below(rng, 1 << 40), below(rng, 1 << 32));
        let base = 100 + below(rng, 200_000);
        // Coarse times meet limits exactly.
        let tick = [1, 10_000][below(rng, 2) as usize];
        time -= time % tick;
        let (noise, bits) = (1 + below(rng, base), below(rng, 12));
        (0..SIGNALS)
            .map(|step| {
                time += below(rng, base / 4 / tick + 2) * tick;
                let mut signal = Signal { time, cause: below(rng, 3) as u32, ..Signal::zeroed() };
                signal.flight = below(rng, 16 << bits) as u32;
                signal.kind = match below(rng, 1000) {
                    _ if step == 0 => open,
                    _ if step == begins_at => kind::BEGIN,
                    0..6 if step > begins_at => kind::CONGESTION,
                    6..9 if step > begins_at => kind::UNDO,
                    9 => kind::IDLE,
                    10 => {
                        time += below(rng, 12_000_000 / tick) * tick;
                        kind::ACK
                    }
                    _ => kind::ACK,
                };
                if signal.kind == kind::ACK {
                    signal.acked = below(rng, 1 << bits) as u32;
                    delivered += u64::from(signal.acked);
                    signal.rtt = if below(rng, 10) == 0 { -1 } else { (base + below(rng, noise)) as i64 };
                    signal.app_limited = u8::from(below(rng, 50) == 0);
                    signal.in_recovery = below(rng, 2) as u8;
                }
                // The count of the kernel wraps.
                signal.delivered = delivered as u32;
                signal
            })
            .collect()
    }
}

fn below(rng: &mut Rng, most: u64) -> u64 {
    rng.next_u64() % most.max(1)
}

/// Draws a factor that the programs can have.
fn factor(rng: &mut Rng, parts: u64) -> f64 {
    (1 + below(rng, parts)) as f64 / 256.0
}

fn dstar_params(rng: &mut Rng) -> dstar::Params {
    let restart = [Restart::Window, Restart::Drain, Restart::SlowStart];
    let (min_cwnd, bits) = (1 + below(rng, 20), below(rng, 18));
    dstar::Params {
        min_cwnd,
        max_cwnd: min_cwnd + below(rng, 1 << bits),
        min_gain_cwnd: below(rng, 50),
        gain: factor(rng, 2000),
        max_gain: factor(rng, 1000),
        slow_start_gain: factor(rng, 1000),
        drain_rtts: below(rng, 4),
        gain_1_rtts: 1 + below(rng, 4),
        gain_2_rtts: 1 + below(rng, 4),
        rtt_timeout: Duration::from_millis(10 * below(rng, 1000)),
        ignore_app_limited: below(rng, 2) == 0,
        timeout: restart[below(rng, 3) as usize],
        idle_restart: if below(rng, 2) == 0 { IdleRestart::Off } else { IdleRestart::Rto },
        ..dstar::Params::default()
    }
}

fn reno_params(rng: &mut Rng) -> tcp_reno::Params {
    tcp_reno::Params {
        initial_window: 1 + below(rng, 50),
        beta: factor(rng, 255),
        halve: if below(rng, 2) == 0 { Halve::Flight } else { Halve::Cwnd },
        count: Count::Packets,
        abc_limit: 1 + below(rng, 50),
        abc_limit_after_timeout: 1 + below(rng, 5),
        min_window: 1 + below(rng, 5),
        ..tcp_reno::Params::default()
    }
}

/// The controller in Rust.
struct Rust {
    controller: Box<dyn Controller>,
    /// Packets delivered. The controller's count does not wrap.
    delivered: u64,
}

impl Rust {
    fn new(algorithm: &Algorithm) -> Self {
        let path = PathInfo { max_datagram_size: MSS, paced: false, seed: 0 };
        Self { controller: algorithm.build(path), delivered: 0 }
    }

    fn signal(&mut self, signal: &Signal) {
        let now = Time(signal.time * 1000);
        let sent = Sent { now, pn: 0, bytes: MSS, bytes_in_flight: 2 * MSS, app_limited: false };
        match signal.kind {
            kind::BEGIN => self.controller.on_sent(&sent),
            kind::ACK => self.ack(signal, now),
            kind::CONGESTION => self.controller.on_congestion(&Congestion {
                now,
                cause: CAUSES[signal.cause as usize],
                prior_in_flight: u64::from(signal.flight) * MSS,
                min_rtt: Duration::MAX,
                smoothed_rtt: Duration::ZERO,
            }),
            kind::UNDO => {
                // A packet tells the time, which `on_spurious` does not.
                self.controller.on_sent(&sent);
                self.controller.on_spurious();
            }
            kind::IDLE => {
                // After one RTO, Reno's window stays. Halving it later is the kernel's part.
                let [idle, rto] = [200, 200].map(Duration::from_millis);
                self.controller.on_idle(&Idle { now, idle, rto });
            }
            _ => {}
        }
    }

    fn ack(&mut self, signal: &Signal, now: Time) {
        self.delivered += u64::from(signal.acked);
        let acked = u64::from(signal.acked) * MSS;
        self.controller.on_ack(&Ack {
            now,
            acked,
            growth: acked,
            delivered: self.delivered * MSS,
            latest_rtt: u64::try_from(signal.rtt).ok().map(Duration::from_micros),
            app_limited: signal.app_limited != 0,
            in_recovery: signal.in_recovery != 0,
            ..Ack::default()
        });
    }

    /// Returns the state as the program writes it.
    fn state(&self, program: Program) -> State {
        let Control { cwnd, ssthresh, .. } = self.controller.control();
        let packets = |bytes: u64| u32::try_from(bytes / MSS).unwrap_or(u32::MAX);
        let mut state = State { cwnd: packets(cwnd), ..State::zeroed() };
        if program == Program::Reno {
            state.ssthresh = packets(ssthresh);
            return state;
        }
        state.slow_start = u32::from(ssthresh > 0);
        self.controller.trace(&mut |name, value| match name {
            STATE => state.mode = value as u32,
            "bdp" => state.bdp = packets(value as u64),
            "gain_cwnd" => state.gain_cwnd = packets(value as u64),
            "min_rtt" if value.is_infinite() => state.min_rtt = u32::MAX,
            "min_rtt" => state.min_rtt = (value * 1e6).round() as u32,
            _ => {}
        });
        state
    }
}

/// The rules for user space, in a folder of their own that goes with them.
struct Host {
    folder: PathBuf,
}

impl Host {
    /// Compiles the rules. Returns `None` where there is no C compiler.
    fn compile(folder: &str, flags: &[&str]) -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("ackclock-kernel-{folder}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let host = Self { folder };
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/host.c");
        let mut command = Command::new(&compiler);
        command.args(["-O1", "-Wall", source, "-o"]).arg(host.program()).args(flags);
        let Ok(output) = command.output() else {
            eprintln!("skipped: no C compiler (`{}`)", compiler.display());
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(host)
    }

    fn program(&self) -> PathBuf {
        self.folder.join("host")
    }

    fn start(&self) -> Child {
        let mut command = Command::new(self.program());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// Compares sequences. Returns the number of signals, or the first difference.
    fn compare(&self, program: Program, sequences: u64) -> Result<u64, String> {
        let mut host = self.start();
        let to = BufWriter::new(host.stdin.take().unwrap());
        let mut from = BufReader::new(host.stdout.take().unwrap());
        let result = thread::scope(|scope| {
            scope.spawn(move || write(program, to, sequences));
            let result = (0..sequences).map(|seed| sequence(program, seed, &mut from)).sum();
            // The writer ends with its pipe.
            drop(from);
            result
        });
        host.wait().unwrap();
        result
    }
}

/// A reduction by PRR, in the terms of RFC 9937. The program computes the window after each ACK.
struct Reduction {
    ssthresh: u32,
    /// `RecoverFS`.
    flight: u32,
    delivered: u32,
    sent: u32,
    pipe: u32,
    host: Child,
}

impl Reduction {
    /// Begins with this many packets in flight, of which some are declared lost.
    fn begin(host: &Host, flight: u32, ssthresh: u32, lost: u32) -> Self {
        let host = host.start();
        Self { ssthresh, flight, delivered: 0, sent: 0, pipe: flight - lost, host }
    }

    /// Delivers a packet and sends what the window allows. Returns the number of packets that left.
    fn ack(&mut self, safe: bool) -> u32 {
        self.pipe -= 1;
        self.delivered += 1;
        let signal = Signal {
            kind: kind::PRR,
            time: self.ssthresh.into(),
            rtt: self.flight.into(),
            delivered: self.delivered,
            cause: self.sent,
            acked: 1,
            flight: self.pipe,
            in_recovery: u8::from(safe),
            ..Signal::zeroed()
        };
        self.host.stdin.as_mut().unwrap().write_all(bytemuck::bytes_of(&signal)).unwrap();
        let mut bytes = [0; size_of::<State>()];
        self.host.stdout.as_mut().unwrap().read_exact(&mut bytes).unwrap();
        let sends = bytemuck::pod_read_unaligned::<State>(&bytes).cwnd - self.pipe;
        self.sent += sends;
        self.pipe += sends;
        sends
    }
}

impl Drop for Reduction {
    fn drop(&mut self) {
        drop(self.host.stdin.take());
        let _ = self.host.wait();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn write(program: Program, mut to: impl Write, sequences: u64) {
    for seed in 0..sequences {
        let Sequence { parameters, signals, .. } = program.sequence(seed);
        let (open, rest) = signals.split_at(1);
        // A reader that has found a difference reads no more.
        let parts: [&[u8]; 3] =
            [bytemuck::cast_slice(open), bytemuck::cast_slice(&parameters), bytemuck::cast_slice(rest)];
        if parts.iter().any(|part| to.write_all(part).is_err()) {
            return;
        }
    }
}

/// Returns the number of signals, or the first difference.
fn sequence(program: Program, seed: u64, from: &mut impl Read) -> Result<u64, String> {
    let Sequence { algorithm, signals, .. } = program.sequence(seed);
    let mut rust = Rust::new(&algorithm);
    for (step, signal) in signals.iter().enumerate() {
        let mut bytes = [0; size_of::<State>()];
        from.read_exact(&mut bytes).unwrap();
        let theirs: State = bytemuck::pod_read_unaligned(&bytes);
        rust.signal(signal);
        let ours = rust.state(program);
        if ours != theirs {
            return Err(describe(&(seed, step), &algorithm, signal, [&theirs, &ours]));
        }
    }
    Ok(signals.len() as u64)
}

fn describe(place: &impl Debug, algorithm: &Algorithm, signal: &Signal, [c, rust]: [&State; 2]) -> String {
    format!("sequence and step {place:?}, {algorithm:?}\n{signal:?}\nC    {c:?}\nRust {rust:?}")
}

#[test]
fn a_million_signals_decide_alike() {
    let Some(host) = Host::compile("alike", &[]) else { return };
    for program in [Program::Dstar, Program::Reno] {
        let signals = host.compare(program, SEQUENCES).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(signals, 1_000_000);
    }
}

/// One part of 256 more in one constant.
#[test]
fn another_constant_is_noticed() {
    for (program, flag) in [(Program::Dstar, "-DDSTAR_GAIN=513"), (Program::Reno, "-DRENO_BETA=129")] {
        let Some(host) = Host::compile("other", &[flag]) else { return };
        let why = host.compare(program, SEQUENCES).unwrap_err();
        assert!(why.contains("Rust State"), "{why}");
    }
}

/// While more is in flight than the target, `sent = ceil(delivered ssthresh / RecoverFS)` (RFC 9937,
/// section 6.2). The first retransmission leaves at once.
#[test]
fn a_reduction_is_spread_in_proportion() {
    let Some(host) = Host::compile("spread", &[]) else { return };
    for (flight, ssthresh) in [(20, 10), (100, 70), (1000, 333), (7, 3)] {
        let mut reduction = Reduction::begin(&host, flight, ssthresh, 1);
        while reduction.pipe > ssthresh + 1 {
            reduction.ack(true);
            let share = (reduction.delivered * ssthresh).div_ceil(flight);
            assert_eq!(reduction.sent, share, "{flight} to {ssthresh}, {} delivered", reduction.delivered);
        }
    }
}

/// Below the target, as many packets leave as were delivered. After a safe ACK one more leaves, and
/// never more than the target allows.
#[test]
fn heavy_losses_end_at_the_target() {
    let Some(host) = Host::compile("bound", &[]) else { return };
    let mut reduction = Reduction::begin(&host, 20, 10, 15);
    let conserving: Vec<u32> = (0..3).map(|_| reduction.ack(false)).collect();
    assert_eq!((conserving, reduction.pipe), (vec![1; 3], 5));
    let growing: Vec<u32> = (0..8).map(|_| reduction.ack(true)).collect();
    assert_eq!((growing, reduction.pipe), (vec![2, 2, 2, 2, 2, 1, 1, 1], 10));
}
