//! A sender on a test bench: packets of one size, times in milliseconds, and a controller that
//! records the signals it receives.
#![allow(dead_code, unreachable_pub, reason = "each test binary has its own copy and uses a part of it")]

use std::ops::Range;
use std::sync::{Arc, Mutex};

use ackclock_recovery::{
    AckEffects, AckError, AckFrame, Config, EcnCounts, Payload, Role, SendDecision, Sender, SpaceId, TcpAck,
    Timeout,
};
use congestion::{Ack, Cause, Congestion, Control, Controller, Detection, Idle, Lost, PathInfo};
use units::{Ecn, Time};

/// Size of every packet in bytes, in the window and in the stream.
pub const SIZE: u64 = 1000;

/// A piece of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece(pub u64, pub u64);

impl Payload for Piece {
    fn range(&self) -> Range<u64> {
        self.0..self.1
    }
}

/// Returns the `n`-th piece.
pub fn piece(n: u64) -> Piece {
    Piece(n * SIZE, (n + 1) * SIZE)
}

/// Signals received by the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Bytes acknowledged, and how many of them may grow the window.
    Ack {
        acked: u64,
        growth: u64,
    },
    Lost(Vec<(u64, Detection)>),
    Reduce(Cause),
    Undo,
    Idle,
}

/// State shared by the test and the controller.
#[derive(Debug, Default)]
pub struct Notes {
    pub cwnd: u64,
    pub ssthresh: u64,
    /// The window after any congestion event; if `None`, the window does not change.
    pub reduced: Option<u64>,
    pub shapes_recovery: bool,
    pub signals: Vec<Signal>,
    /// Delivery rates, in bytes per second.
    pub rates: Vec<f64>,
    /// Bytes declared lost that arrived later.
    pub late: u64,
    /// The last ACK reported that the window had been full.
    pub cwnd_limited: bool,
    /// The controller's answer to the next ACK.
    pub ask: Option<Cause>,
}

/// A controller with a window set by the test.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Mutex<Notes>>);

impl Controller for Recorder {
    fn needs(&self) -> congestion::Needs {
        congestion::Needs { rate_samples: true, ..congestion::Needs::default() }
    }
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let mut notes = self.0.lock().unwrap();
        notes.rates.extend(ack.rate.and_then(|sample| sample.delivery_rate).map(units::Rate::bytes_per_sec));
        notes.late += ack.late;
        notes.cwnd_limited = ack.cwnd_limited;
        notes.signals.push(Signal::Ack { acked: ack.acked, growth: ack.growth });
        notes.ask.take()
    }
    fn on_congestion(&mut self, event: &Congestion) {
        let mut notes = self.0.lock().unwrap();
        notes.signals.push(Signal::Reduce(event.cause));
        notes.cwnd = notes.reduced.unwrap_or(notes.cwnd);
    }
    fn on_lost(&mut self, lost: &Lost) {
        let packets = lost.packets.iter().map(|p| (p.pn, p.detection)).collect();
        self.0.lock().unwrap().signals.push(Signal::Lost(packets));
    }
    fn on_spurious(&mut self) {
        self.0.lock().unwrap().signals.push(Signal::Undo);
    }
    fn on_idle(&mut self, _: &Idle) {
        self.0.lock().unwrap().signals.push(Signal::Idle);
    }
    fn shapes_recovery(&self) -> bool {
        self.0.lock().unwrap().shapes_recovery
    }
    fn on_path_change(&mut self, _: PathInfo) {}
    fn control(&self) -> Control {
        let notes = self.0.lock().unwrap();
        Control {
            cwnd: notes.cwnd,
            pacing_rate: None,
            ssthresh: notes.ssthresh,
            send_quantum: None,
            wake: Time::NEVER,
        }
    }
}

#[derive(Debug)]
pub struct Bench {
    pub sender: Sender<Piece>,
    pub out: AckEffects<Piece>,
    pub notes: Arc<Mutex<Notes>>,
    next_piece: u64,
}

pub fn ms(ms: f64) -> Time {
    Time((ms * 1e6).round() as u64)
}

impl Bench {
    pub fn new(config: Config) -> Self {
        let notes = Notes { cwnd: 1 << 40, ..Notes::default() };
        let notes = Arc::new(Mutex::new(notes));
        let path = PathInfo { max_datagram_size: SIZE, paced: true, seed: 1 };
        let sender = Sender::new(config, Box::new(Recorder(Arc::clone(&notes))), path);
        Self { sender, out: AckEffects::default(), notes, next_piece: 0 }
    }

    pub fn quic() -> Self {
        Self::new(Config::quic())
    }

    /// Creates a bench with three packet number spaces that collects acknowledged payloads.
    pub fn endpoint(config: Config, role: Role) -> Self {
        let notes = Arc::new(Mutex::new(Notes { cwnd: 1 << 40, ..Notes::default() }));
        let path = PathInfo { max_datagram_size: SIZE, paced: true, seed: 1 };
        let sender = Sender::with_spaces(config, Box::new(Recorder(Arc::clone(&notes))), path, role);
        Self { sender, out: AckEffects::with_acked(), notes, next_piece: 0 }
    }

    /// Creates a bench whose handshake is confirmed.
    pub fn connected() -> Self {
        let mut bench = Self::endpoint(Config::quic(), Role::Client);
        bench.sender.on_handshake_confirmed(ms(0.0));
        bench
    }

    /// Sends a new piece in this space.
    pub fn send_in(&mut self, at: f64, space: SpaceId) -> u64 {
        let data = piece(self.next_piece);
        self.next_piece += 1;
        self.sender.on_sent_in(ms(at), space, SIZE, Ecn::NotEct, data, true)
    }

    /// Sends a PADDING packet, which does not elicit an ACK.
    pub fn pad_in(&mut self, at: f64, space: SpaceId) -> u64 {
        self.sender.on_sent_in(ms(at), space, SIZE, Ecn::NotEct, Piece(0, 0), false)
    }

    /// Sends an ACK-only packet.
    pub fn bare_in(&mut self, space: SpaceId) -> u64 {
        self.sender.on_bare_sent(space, Ecn::NotEct)
    }

    pub fn ack_in(&mut self, at: f64, space: SpaceId, ranges: &[(u64, u64)]) -> Result<(), AckError> {
        let frame = AckFrame { ranges: ranges.to_vec(), ..AckFrame::default() };
        self.sender.on_ack_in(ms(at), space, &frame, None, &mut self.out)
    }

    pub fn acked(&self) -> Vec<u64> {
        self.out.acked.iter().map(|acked| acked.0).collect()
    }

    /// Returns a controller for another path that records its signals in the same notes.
    pub fn controller(&self) -> Box<dyn Controller> {
        Box::new(Recorder(Arc::clone(&self.notes)))
    }

    pub fn tcp() -> Self {
        Self::new(Config::tcp())
    }

    /// Creates a bench that has sent one packet at time 0, acknowledged after `rtt`: the estimator
    /// starts at `rtt`.
    pub fn primed(config: Config, rtt: f64) -> Self {
        let tcp = config.timeout != Timeout::Pto;
        let mut bench = Self::new(config);
        bench.send(0.0);
        if tcp {
            bench.tcp_ack(rtt, 1, &[], 0);
        } else {
            bench.ack(rtt, &[(0, 0)]);
        }
        bench.signals();
        bench
    }

    /// Sends a new piece.
    pub fn send(&mut self, at: f64) -> u64 {
        let data = piece(self.next_piece);
        self.next_piece += 1;
        self.sender.on_sent(ms(at), SIZE, data, false).0
    }

    /// Sends a new piece at each of these times.
    pub fn send_at(&mut self, times: impl IntoIterator<Item = f64>) {
        for at in times {
            self.send(at);
        }
    }

    pub fn resend(&mut self, at: f64, data: Piece) -> u64 {
        self.sender.on_sent(ms(at), SIZE, data, true).0
    }

    pub fn ack(&mut self, at: f64, ranges: &[(u64, u64)]) {
        self.ack_frame(at, &AckFrame { ranges: ranges.to_vec(), ..AckFrame::default() });
    }

    pub fn ack_ecn(&mut self, at: f64, ranges: &[(u64, u64)], ecn: EcnCounts) {
        self.ack_frame(at, &AckFrame { ranges: ranges.to_vec(), ecn: Some(ecn), ..AckFrame::default() });
    }

    pub fn ack_frame(&mut self, at: f64, frame: &AckFrame) {
        self.sender.on_ack(ms(at), frame, None, &mut self.out);
    }

    /// Acknowledges all pieces before `cumulative` and the SACKed ones, in answer to transmission
    /// `echo`.
    pub fn tcp_ack(&mut self, at: f64, cumulative: u64, sacks: &[(u64, u64)], echo: u64) {
        let mut ack = TcpAck { cumulative: cumulative * SIZE, echo, ..TcpAck::default() };
        for (slot, sack) in ack.sacks.iter_mut().zip(sacks) {
            *slot = (sack.0 * SIZE, sack.1 * SIZE);
        }
        self.sender.on_tcp_ack(ms(at), &ack, &mut self.out);
    }

    /// Processes the timer when it is due. Returns that time in milliseconds.
    pub fn timer(&mut self) -> f64 {
        let at = self.sender.next_timer().expect("a timer is armed");
        self.sender.on_timer(at, &mut self.out);
        at.as_secs_f64() * 1e3
    }

    /// Returns the time at which the timer is due, in milliseconds.
    pub fn due(&self) -> Option<f64> {
        self.sender.next_timer().map(|t| t.as_secs_f64() * 1e3)
    }

    pub fn lost(&self) -> Vec<(u64, Detection)> {
        self.out.lost.iter().map(|l| (l.0, l.1)).collect()
    }

    pub fn lost_pns(&self) -> Vec<u64> {
        self.out.lost.iter().map(|l| l.0).collect()
    }

    /// Returns the signals since the last call.
    pub fn signals(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.notes.lock().unwrap().signals)
    }

    /// Returns the congestion events and undos since the last call.
    pub fn verdicts(&mut self) -> Vec<Signal> {
        self.signals().into_iter().filter(|s| matches!(s, Signal::Reduce(_) | Signal::Undo)).collect()
    }

    pub fn set_window(&mut self, bytes: u64) {
        self.notes.lock().unwrap().cwnd = bytes;
    }

    /// Sets the window after every following congestion event.
    pub fn set_reduced(&mut self, bytes: u64) {
        self.notes.lock().unwrap().reduced = Some(bytes);
    }

    /// Sends as much as the sender allows, lost pieces first. Returns the number of packets.
    pub fn fill(&mut self, at: f64, lost: &mut Vec<Piece>) -> u64 {
        let before = self.sender.stats().sent;
        while self.sender.can_send(ms(at), SIZE) == SendDecision::Now {
            if lost.is_empty() {
                self.send(at);
            } else {
                let data = lost.remove(0);
                self.resend(at, data);
            }
        }
        self.sender.stats().sent - before
    }

    pub fn ask(&mut self, cause: Cause) {
        self.notes.lock().unwrap().ask = Some(cause);
    }
}

/// Asserts that the times differ by at most a microsecond.
#[track_caller]
pub fn assert_ms(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-3, "{got} ms for {expected} ms");
}
