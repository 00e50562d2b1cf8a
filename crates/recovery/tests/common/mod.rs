//! A sender on the bench: packets of one size, times in milliseconds, a controller that writes down what it is told.
#![allow(dead_code, unreachable_pub, reason = "each test binary has its own copy and uses a part of it")]

use std::ops::Range;
use std::sync::{Arc, Mutex};

use ackclock_recovery::{
    AckEffects, AckError, AckFrame, Config, EcnCounts, Payload, Role, SendDecision, Sender, SpaceId, TcpAck,
    Timeout,
};
use congestion::{Ack, Cause, Congestion, Control, Controller, Detection, Idle, Lost, PathInfo};
use units::{Ecn, Time};

/// Bytes of every packet, in the window and in the stream.
pub const SIZE: u64 = 1000;

/// A piece of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece(pub u64, pub u64);

impl Payload for Piece {
    fn range(&self) -> Range<u64> {
        self.0..self.1
    }
}

/// The `n`-th piece.
pub fn piece(n: u64) -> Piece {
    Piece(n * SIZE, (n + 1) * SIZE)
}

/// What the controller was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Bytes acknowledged and how many of them may open the window.
    Ack {
        acked: u64,
        growth: u64,
    },
    Lost(Vec<(u64, Detection)>),
    Reduce(Cause),
    Undo,
    Idle,
}

/// What test and controller share.
#[derive(Debug, Default)]
pub struct Notes {
    pub cwnd: u64,
    pub ssthresh: u64,
    /// The window after any congestion event; without it the window stays.
    pub reduced: Option<u64>,
    pub shapes_recovery: bool,
    pub signals: Vec<Signal>,
    /// Delivery rates, bytes per second.
    pub rates: Vec<f64>,
    /// Bytes declared lost before that arrived.
    pub late: u64,
    /// Whether the last ACK said that the window had been full.
    pub cwnd_limited: bool,
    /// The answer to the next ACK.
    pub ask: Option<Cause>,
}

/// A controller with the window that the test says.
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

/// The bench.
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

    /// With three packet number spaces; what is acknowledged comes back.
    pub fn endpoint(config: Config, role: Role) -> Self {
        let notes = Arc::new(Mutex::new(Notes { cwnd: 1 << 40, ..Notes::default() }));
        let path = PathInfo { max_datagram_size: SIZE, paced: true, seed: 1 };
        let sender = Sender::with_spaces(config, Box::new(Recorder(Arc::clone(&notes))), path, role);
        Self { sender, out: AckEffects::with_acked(), notes, next_piece: 0 }
    }

    /// Its handshake is behind it.
    pub fn connected() -> Self {
        let mut bench = Self::endpoint(Config::quic(), Role::Client);
        bench.sender.on_handshake_confirmed(ms(0.0));
        bench
    }

    /// A new piece in this space.
    pub fn send_in(&mut self, at: f64, space: SpaceId) -> u64 {
        let data = piece(self.next_piece);
        self.next_piece += 1;
        self.sender.on_sent_in(ms(at), space, SIZE, Ecn::NotEct, data, true)
    }

    /// PADDING, and nothing that elicits an ACK.
    pub fn pad_in(&mut self, at: f64, space: SpaceId) -> u64 {
        self.sender.on_sent_in(ms(at), space, SIZE, Ecn::NotEct, Piece(0, 0), false)
    }

    /// A packet with an ACK alone.
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

    /// A controller for another path, which writes down what it is told in the same notes.
    pub fn controller(&self) -> Box<dyn Controller> {
        Box::new(Recorder(Arc::clone(&self.notes)))
    }

    pub fn tcp() -> Self {
        Self::new(Config::tcp())
    }

    /// One packet, sent and acknowledged at once after `rtt`: the estimator starts at `rtt`. At time 0.
    pub fn primed(config: Config, rtt: f64) -> Self {
        let tcp = config.timeout == Timeout::TlpRto;
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

    /// A new piece.
    pub fn send(&mut self, at: f64) -> u64 {
        let data = piece(self.next_piece);
        self.next_piece += 1;
        self.sender.on_sent(ms(at), SIZE, data, false).0
    }

    /// New pieces, as many as there are times.
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

    /// All pieces before `cumulative` and the SACKed ones have arrived; transmission `echo` says so.
    pub fn tcp_ack(&mut self, at: f64, cumulative: u64, sacks: &[(u64, u64)], echo: u64) {
        let mut ack = TcpAck { cumulative: cumulative * SIZE, echo, ..TcpAck::default() };
        for (slot, sack) in ack.sacks.iter_mut().zip(sacks) {
            *slot = (sack.0 * SIZE, sack.1 * SIZE);
        }
        self.sender.on_tcp_ack(ms(at), &ack, &mut self.out);
    }

    /// Calls the timer at its time; returns that time in milliseconds.
    pub fn timer(&mut self) -> f64 {
        let at = self.sender.next_timer().expect("a timer is armed");
        self.sender.on_timer(at, &mut self.out);
        at.as_secs_f64() * 1e3
    }

    /// When the timer is due, milliseconds.
    pub fn due(&self) -> Option<f64> {
        self.sender.next_timer().map(|t| t.as_secs_f64() * 1e3)
    }

    pub fn lost(&self) -> Vec<(u64, Detection)> {
        self.out.lost.iter().map(|l| (l.0, l.1)).collect()
    }

    pub fn lost_pns(&self) -> Vec<u64> {
        self.out.lost.iter().map(|l| l.0).collect()
    }

    /// What the controller was told since the last call.
    pub fn signals(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.notes.lock().unwrap().signals)
    }

    /// The congestion events and undos since the last call.
    pub fn verdicts(&mut self) -> Vec<Signal> {
        self.signals().into_iter().filter(|s| matches!(s, Signal::Reduce(_) | Signal::Undo)).collect()
    }

    pub fn set_window(&mut self, bytes: u64) {
        self.notes.lock().unwrap().cwnd = bytes;
    }

    /// The window after every congestion event from now on.
    pub fn set_reduced(&mut self, bytes: u64) {
        self.notes.lock().unwrap().reduced = Some(bytes);
    }

    /// Sends what the sender lets pass, what is lost first; returns how many packets left.
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

/// Times within a microsecond.
#[track_caller]
pub fn assert_ms(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-3, "{got} ms for {expected} ms");
}
