//! PIE: RFC 8033 (February 2017), section 4, with the enhancements of section 5 except 5.3
//! (switching itself off).
//!
//! ```text
//! every t-update: d = alpha (delay - target) + beta (delay - old delay)                              (4.2)
//!                 d scaled by p: 1/2048 below 1e-6, 1/512, 1/128, 1/32, 1/8, 1/2 below 0.1, else 1   (4.2)
//!                 p >= 0.1: d at most 0.02                                                           (5.5)
//!                 p += d;  delay = old delay = 0: p *= 0.98;  p within 0..=1                         (4.2)
//!                 burst allowance -= t-update; p = 0 and both delays < target/2: = max-burst         (4.4)
//! arrival:        burst allowance left, or old delay < target/2 and p < 0.2, or backlog <= 2 mtu: pass (4.1)
//!                 sum += p; below 0.85: pass; from 8.5 on: signal; between: signal with probability p  (5.3)
//!                 signal: sum = 0; a mark only while p <= mark-limit                                   (5.1)
//! delay = backlog / departure rate, measured while 16 KiB wait (4.3, 5.2), or the age of the last packet that left
//! ```
//!
//! Linux adds 0.02 above 250 ms; the RFC does not. The departure rate is measured from one
//! departure to another, without the packet that opens the measurement. (The RFC and Linux count
//! it, 10 % too much at 16 KiB.)

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Rng, Time};

use crate::aqm::check::{first_broken, is_probability};
use crate::aqm::fifo::{Fifo, Waiting};
use crate::aqm::signals::Signals;
use crate::aqm::ticker::Ticker;
use crate::packet::Packet;

/// Parameters of PIE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "pie"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Target queuing delay, above 0 (QDELAY_REF; default 15 ms: RFC 8033 section 4.2).
    pub target: Duration,
    /// Time between updates of the probability, above 0 (T_UPDATE; default 15 ms: section 4.2).
    pub t_update: Duration,
    /// Weight of the delay's distance from the target, in 1/s (default 0.125: section 4.2).
    pub alpha: f64,
    /// Weight of the delay's change, in 1/s (default 1.25: section 4.2).
    pub beta: f64,
    /// Longest burst that passes without signals (MAX_BURST; default 150 ms: section 4.4).
    pub max_burst: Duration,
    /// Marks ECN-capable packets instead of dropping them (default on: section 5.1).
    pub ecn: bool,
    /// Probability above which ECN-capable packets are dropped too, 0 to 1 (mark_ecnth; default
    /// 0.1: section 5.1).
    pub mark_limit: f64,
    /// Largest packet on the wire: a backlog of two such packets is never too long (default 1514 B:
    /// section 4.1).
    pub mtu: Bytes,
    /// Method of measuring the queuing delay (default `departure-rate`).
    pub delay: Delay,
}

/// Method of measuring the queuing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Delay {
    /// Backlog divided by departure rate, which is measured while at least 16 KiB wait (section
    /// 5.2). Zero until then.
    DepartureRate,
    /// Waiting time of the last packet that left; zero when the queue is empty (section 4.3;
    /// Linux's default).
    Timestamp,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            t_update: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            ecn: true,
            mark_limit: 0.1,
            mtu: Bytes(1514),
            delay: Delay::DepartureRate,
        }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), String> {
        let is_gain = |gain: f64| gain >= 0.0 && gain.is_finite();
        first_broken(&[
            (self.target > Duration::ZERO, "`target` must be longer than 0 s"),
            (self.t_update > Duration::ZERO, "`t-update` must be longer than 0 s"),
            (is_gain(self.alpha), "`alpha` must be a number of at least 0"),
            (is_gain(self.beta), "`beta` must be a number of at least 0"),
            (is_probability(self.mark_limit), "`mark-limit` must be a probability from 0 to 1"),
        ])
    }
}

/// Section 4.2: (probability, divisor): below the probability the correction is divided by the
/// divisor.
const SCALE: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
/// Section 5.5: (probability, maximum): from the probability on the correction is at most the
/// maximum.
const STEEP: (f64, f64) = (0.1, 0.02);
/// Section 4.2: factor of the probability after an update with an idle link.
const DECAY: f64 = 0.98;
/// Section 4.1: probability below which a short delay suppresses all signals.
const SAFE: f64 = 0.2;
/// Section 5.4: sum of probabilities below which no packet is signalled, and sum from which on
/// every packet is.
const SPREAD: (f64, f64) = (0.85, 8.5);

/// Controller that turns delays into a probability.
#[derive(Clone, Debug)]
struct Controller {
    probability: f64,
    old: Duration,
    burst: Duration,
}

impl Controller {
    /// Returns the correction before scaling.
    fn correction(&self, params: &Params, delay: Duration) -> f64 {
        let (now, old) = (delay.as_secs_f64(), self.old.as_secs_f64());
        params.alpha * (now - params.target.as_secs_f64()) + params.beta * (now - old)
    }

    fn update(&mut self, params: &Params, delay: Duration) {
        let p = self.probability;
        let divisor = SCALE.iter().find(|step| p < step.0).map_or(1.0, |step| step.1);
        let mut correction = self.correction(params, delay) / divisor;
        if p >= STEEP.0 {
            correction = correction.min(STEEP.1);
        }
        let idle = delay == Duration::ZERO && self.old == Duration::ZERO;
        let moved = (p + correction) * if idle { DECAY } else { 1.0 };
        self.probability = moved.clamp(0.0, 1.0);
        self.burst = self.burst - params.t_update;
        let half = params.target / 2;
        if self.probability == 0.0 && delay < half && self.old < half {
            self.burst = params.max_burst;
        }
        self.old = delay;
    }
}

/// Section 5.2: measures the departure rate.
#[derive(Clone, Debug, Default)]
struct Meter {
    /// Start of the measurement, and the bytes that left since.
    open: Option<(Time, u64)>,
    /// Average time per byte, in ns.
    average: Option<f64>,
}

/// Section 5.2: bytes that must wait to start a measurement, and that end it (DQ_THRESHOLD).
const MEASURED: u64 = 1 << 14;
/// Section 5.2: weight of a new measurement.
const WEIGHT: f64 = 0.25;

impl Meter {
    /// Notes that a packet leaves a queue of `bytes`, itself included.
    fn on_departure(&mut self, now: Time, size: u32, bytes: u64) {
        if let Some((began, count)) = &mut self.open {
            *count += u64::from(size);
            if *count < MEASURED {
                return;
            }
            let sample = (now - *began).0 as f64 / *count as f64;
            self.average = Some(self.average.map_or(sample, |a| a + WEIGHT * (sample - a)));
        }
        self.open = (bytes >= MEASURED).then_some((now, 0));
    }

    fn delay(&self, bytes: u64) -> Duration {
        self.average.map_or(Duration::ZERO, |per_byte| Duration((per_byte * bytes as f64) as u64))
    }
}

/// Single queue managed by PIE.
#[derive(Debug)]
pub(crate) struct Pie<P> {
    params: Params,
    queue: Fifo<P>,
    ticker: Ticker,
    controller: Controller,
    meter: Meter,
    /// Waiting time of the last packet that left.
    waited: Duration,
    sum: f64,
    rng: Rng,
}

impl<P: Packet> Pie<P> {
    pub(crate) fn new(params: &Params, rng: Rng) -> Self {
        Self {
            queue: Fifo::default(),
            ticker: Ticker::new(params.t_update),
            controller: Controller { probability: 0.0, old: Duration::ZERO, burst: params.max_burst },
            meter: Meter::default(),
            waited: Duration::ZERO,
            sum: 0.0,
            rng,
            params: params.clone(),
        }
    }

    /// Decides about an arriving packet. Returns false to drop it; may mark it.
    pub(crate) fn accepts(&mut self, now: Time, packet: &mut P, signals: &mut Signals<P>) -> bool {
        self.catch_up(now);
        if self.controller.burst > Duration::ZERO || !self.signals() {
            return true;
        }
        let markable = self.params.ecn && self.controller.probability <= self.params.mark_limit;
        markable && signals.mark(packet)
    }

    pub(crate) fn enqueue(&mut self, waiting: Waiting<P>) {
        self.queue.push(waiting);
    }

    /// Returns the packet that leaves now.
    pub(crate) fn dequeue(&mut self, now: Time) -> Option<Waiting<P>> {
        self.catch_up(now);
        let bytes = self.queue.bytes();
        let head = self.queue.pop()?;
        self.waited = now - head.arrival;
        self.meter.on_departure(now, head.packet.size(), bytes);
        Some(head)
    }

    fn catch_up(&mut self, now: Time) {
        while self.ticker.due(now).is_some() {
            let delay = self.delay();
            self.controller.update(&self.params, delay);
        }
    }

    fn delay(&self) -> Duration {
        match self.params.delay {
            Delay::DepartureRate => self.meter.delay(self.queue.bytes()),
            Delay::Timestamp if self.queue.is_empty() => Duration::ZERO,
            Delay::Timestamp => self.waited,
        }
    }

    /// Sections 4.1 and 5.4.
    fn signals(&mut self) -> bool {
        let p = self.controller.probability;
        let short = self.controller.old < self.params.target / 2 && p < SAFE;
        if short || self.queue.bytes() <= self.params.mtu.0.saturating_mul(2) {
            return false;
        }
        self.sum = if p == 0.0 { 0.0 } else { self.sum + p };
        let hit = self.sum >= SPREAD.1 || (self.sum >= SPREAD.0 && self.rng.unit() < p);
        if hit {
            self.sum = 0.0;
        }
        hit
    }
}

#[cfg(test)]
mod tests {
    use units::Ecn;

    use super::*;
    use crate::aqm::fixtures::{Pkt, ms};

    const MS: Duration = Duration::from_millis(1);

    fn controller(probability: f64, old: Duration) -> Controller {
        Controller { probability, old, burst: Duration::ZERO }
    }

    fn pie(params: &Params) -> Pie<Pkt> {
        Pie::new(params, Rng::stream(1, "l.aqm"))
    }

    /// 30 ms after 15 ms: 0.125 * 0.015 + 1.25 * 0.015.
    #[test]
    fn step() {
        let params = Params::default();
        assert!((controller(0.5, MS * 15).correction(&params, MS * 30) - 0.020_625).abs() < 1e-15);
    }

    #[test]
    fn scaling_table() {
        let table = [
            (0.0, 2048.0),
            (9e-7, 2048.0),
            (1e-6, 512.0),
            (9e-6, 512.0),
            (1e-5, 128.0),
            (1e-4, 32.0),
            (1e-3, 8.0),
            (1e-2, 2.0),
            (0.099, 2.0),
            (0.1, 1.0),
        ];
        for (p, divisor) in table {
            // A correction of 0.010625 + 0.00125 is below the cap of 0.02.
            let mut c = controller(p, MS * 15);
            let exact = c.correction(&Params::default(), MS * 22);
            c.update(&Params::default(), MS * 22);
            assert!((c.probability - p - exact / divisor).abs() < 1e-12, "p = {p}");
        }
        let mut c = controller(0.1, MS * 15);
        c.update(&Params::default(), MS * 100);
        assert!((c.probability - 0.12).abs() < 1e-12, "at most 0.02 from 0.1 on");
        let mut c = controller(0.09, MS * 15);
        c.update(&Params::default(), MS * 100);
        assert!((c.probability - 0.09 - (0.010_625 + 0.106_25) / 2.0).abs() < 1e-12, "no cap below 0.1");
    }

    #[test]
    fn decays_when_idle_and_stays_a_probability() {
        let mut c = controller(0.5, Duration::ZERO);
        c.update(&Params::default(), Duration::ZERO);
        assert!((c.probability - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12);
        (0..2000).for_each(|_| c.update(&Params::default(), Duration::ZERO));
        assert_eq!((c.probability, c.burst), (0.0, MS * 150));
        (0..2000).for_each(|_| c.update(&Params::default(), MS * 500));
        assert_eq!(c.probability, 1.0);
    }

    /// The allowance lasts ten updates of 15 ms once p rises. It is renewed only when the queue is
    /// short again.
    #[test]
    fn burst_allowance() {
        let mut p = pie(&Params::default());
        p.controller.probability = 1.0;
        p.controller.old = MS * 100;
        p.waited = MS * 100;
        p.params.delay = Delay::Timestamp;
        let mut signals = Signals::default();
        for id in 0..100 {
            p.enqueue(Waiting { arrival: ms(0), packet: Pkt::new(id, 1500) });
        }
        let taken: Vec<_> =
            (0..20).map(|k| p.accepts(ms(15 * k), &mut Pkt::new(0, 1500), &mut signals)).collect();
        assert!(taken[..10].iter().all(|t| *t), "{taken:?}");
        // From 150 ms on p = 1, so the sum reaches 0.85 at once.
        assert!(taken[10..].iter().all(|t| !*t), "{taken:?}");
    }

    #[test]
    fn spares_the_short_queue() {
        let mut p = pie(&Params::default());
        p.controller = controller(0.19, MS * 7);
        let mut signals = Signals::default();
        for id in 0..100 {
            p.enqueue(Waiting { arrival: ms(0), packet: Pkt::new(id, 1500) });
        }
        assert!((0..100).all(|_| p.accepts(ms(1), &mut Pkt::new(0, 1500), &mut signals)), "short delay");
        p.controller.probability = 0.3;
        assert!((0..100).any(|_| !p.accepts(ms(1), &mut Pkt::new(0, 1500), &mut signals)), "but p >= 0.2");
        let mut p = pie(&Params::default());
        p.controller = controller(1.0, MS * 100);
        (0..2).for_each(|id| p.enqueue(Waiting { arrival: ms(0), packet: Pkt::new(id, 1500) }));
        assert!((0..100).all(|_| p.accepts(ms(1), &mut Pkt::new(0, 1500), &mut signals)), "two packets");
    }

    /// ECN-capable packets are marked up to 10 % and dropped above. Others are always dropped.
    #[test]
    fn ecn_up_to_its_limit() {
        for (probability, ecn, marks) in
            [(0.1, Ecn::Ect0, true), (0.11, Ecn::Ect0, false), (0.1, Ecn::NotEct, false)]
        {
            let mut p = pie(&Params::default());
            p.controller = controller(probability, MS * 20);
            let mut signals = Signals::default();
            (0..100).for_each(|id| p.enqueue(Waiting { arrival: ms(0), packet: Pkt::new(id, 1500) }));
            let (mut marked, mut dropped) = (0, 0);
            for id in 0..10_000 {
                let mut packet = Pkt::new(id, 1500).with_ecn(ecn);
                dropped += u64::from(!p.accepts(ms(1), &mut packet, &mut signals));
                marked += u64::from(packet.ecn() == Ecn::Ce);
            }
            assert_eq!((marked > 0, dropped > 0), (marks, !marks), "{probability} {ecn:?}");
            assert_eq!(signals.marked.packets, marked);
            // Section 5.3: signals are at least 0.85/p packets apart, so their share is slightly
            // below p.
            let rate = (marked + dropped) as f64 / 10_000.0;
            assert!(rate < probability && rate > 0.5 * probability, "{rate} for {probability}");
        }
    }

    /// Unresponsive loads of 120 % and 150 %. The queue settles at the target. p settles at the
    /// excess, plus what the spacing of 5.4 leaves out.
    #[test]
    fn equilibrium_is_the_target() {
        for delay in [Delay::DepartureRate, Delay::Timestamp] {
            for load in [1.2, 1.5] {
                let mut p = pie(&Params { delay, ..Params::default() });
                // A packet of 1500 bytes takes 1 ms.
                let (mut signals, mut sum, mut n, mut due) = (Signals::default(), 0.0, 0, 0.0_f64);
                for now in 0..120_000_u64 {
                    due += load;
                    while due >= 1.0 {
                        due -= 1.0;
                        let mut packet = Pkt::new(now, 1500);
                        if p.accepts(ms(now), &mut packet, &mut signals) {
                            p.enqueue(Waiting { arrival: ms(now), packet });
                        }
                    }
                    if let Some(head) = p.dequeue(ms(now)).filter(|_| now > 60_000) {
                        sum += (ms(now) - head.arrival).as_millis_f64();
                        n += 1;
                    }
                }
                let mean = sum / f64::from(n);
                assert!((mean - 15.0).abs() < 1.5, "{delay:?} {load}: {mean} ms");
            }
        }
    }

    /// The measured rate equals that of the link exactly.
    #[test]
    fn departure_rate() {
        let mut meter = Meter::default();
        for now in 0..100 {
            meter.on_departure(ms(now), 1000, 16_383);
        }
        assert_eq!(meter.delay(5000), Duration::ZERO, "too few bytes wait");
        for now in 100..200 {
            meter.on_departure(ms(now), 1000, 20_000);
        }
        assert_eq!(meter.delay(5000), MS * 5);
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(Params { mark_limit: 2.0, ..Params::default() }.check().unwrap_err().contains("mark-limit"));
        assert!(Params { alpha: f64::NAN, ..Params::default() }.check().unwrap_err().contains("alpha"));
        assert!(
            Params { t_update: Duration::ZERO, ..Params::default() }
                .check()
                .unwrap_err()
                .contains("t-update")
        );
    }
}
