//! DualPI2, the coupled dual queue for L4S: RFC 9332 (January 2023), appendix A.
//!
//! ```text
//! ECT(1) and CE -> L queue, all others -> C queue                                            (A.1 enqueue)
//! every t-update: q = age of the older head
//!                 p' += alpha (q - target) + beta (q - old q), within 0..=1                  (A.1 update)
//!                 p_C = p'^2, p_CL = k p'
//! L leaves: marked with max(p_CL, ramp), ramp = (wait - min-th)/range within 0..=1           (A.1 laqm)
//!           p_CL >= 1 (overload): dropped with p_C, the rest marked with p_CL                (A.2)
//! C leaves: signalled with p_C; dropped all the same if not ECT or p_C >= 1/k^2              (A.1, A.2)
//! ```
//!
//! "With probability p" is the RFC's `recur`: every packet adds p to its queue's sum, and each
//! whole unit of the sum is a signal. Signals are therefore evenly spread and need no random draw.
//! C packets already marked CE count as L packets, as in the RFC.
//!
//! The scheduler is weighted (A.1 names it beside the time-shifted FIFO): L goes first, but while
//! both queues wait C gets its share of the bytes. Queue ages are compared like the RFC's
//! timestamps, so the C queue waits for `target` and the L queue hardly waits.

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Ecn, Time};

use crate::aqm::check::first_broken;
use crate::aqm::fifo::{Fifo, Waiting};
use crate::aqm::signals::Signals;
use crate::aqm::ticker::Ticker;
use crate::counters::DropReason;
use crate::packet::Packet;

/// Parameters of DualPI2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "dualpi2"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Target delay of the C queue, above 0 (target; default 15 ms: RFC 9332 appendix A.1).
    pub target: Duration,
    /// Time between updates of the probability, above 0 (Tupdate; default min(target, RTT_max/3) =
    /// 15 ms: A.1).
    pub t_update: Duration,
    /// Weight of the delay's distance from the target, in 1/s (default 0.1 Tupdate/RTT_max^2 = 0.15
    /// with RTT_max = 100 ms: A.1; Linux 0.16).
    pub alpha: f64,
    /// Weight of the delay's change, in 1/s (default 0.3/RTT_max = 3: A.1; Linux 3.2).
    pub beta: f64,
    /// Coupling factor k, at least 1: L packets are marked with k times the square root of C's
    /// probability (default 2: section 2.1).
    pub k: f64,
    /// Waiting time of an L packet above which the marking ramp begins (minTh; default 800 us:
    /// A.1).
    pub min_th: Duration,
    /// Length of the ramp; 0 makes it a step (range; default 400 us: A.1).
    pub range: Duration,
    /// Backlog of the L queue, in bytes, up to which the ramp never marks (Th_len, one packet;
    /// default 1514 B: A.1).
    pub mtu: Bytes,
    /// Share of the bytes that the C queue gets while both wait, above 0 and below 1 (default 1/16:
    /// section 2.5.1; Linux 0.1).
    pub c_share: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            t_update: Duration::from_millis(15),
            alpha: 0.15,
            beta: 3.0,
            k: 2.0,
            min_th: Duration::from_micros(800),
            range: Duration::from_micros(400),
            mtu: Bytes(1514),
            c_share: 0.0625,
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
            (self.k >= 1.0 && self.k.is_finite(), "`k` must be a number of at least 1"),
            (self.c_share > 0.0 && self.c_share < 1.0, "`c-share` must be above 0 and below 1"),
        ])
    }

    /// Returns the native marking probability of an L packet that has waited for `wait`.
    fn ramp(&self, wait: Duration) -> f64 {
        if wait < self.min_th {
            return 0.0;
        }
        let above = wait - self.min_th;
        if above >= self.range { 1.0 } else { above.0 as f64 / self.range.0 as f64 }
    }
}

/// Coupled PI controller.
#[derive(Clone, Copy, Debug, Default)]
struct Coupling {
    /// p'.
    base: f64,
    old: Duration,
}

impl Coupling {
    fn update(&mut self, params: &Params, delay: Duration) {
        let (now, old) = (delay.as_secs_f64(), self.old.as_secs_f64());
        let correction = params.alpha * (now - params.target.as_secs_f64()) + params.beta * (now - old);
        self.base = (self.base + correction).clamp(0.0, 1.0);
        self.old = delay;
    }

    /// Returns p_C.
    fn classic(self) -> f64 {
        self.base * self.base
    }

    /// Returns p_CL, not bounded by 1.
    fn coupled(self, params: &Params) -> f64 {
        params.k * self.base
    }
}

/// Evenly spread signals: `recur` of the RFC.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    sum: f64,
}

impl Spread {
    fn hits(&mut self, probability: f64) -> bool {
        self.sum += probability.min(1.0);
        let hit = self.sum >= 1.0;
        if hit {
            self.sum -= 1.0;
        }
        hit
    }
}

/// Both queues, their scheduler and the coupled controller.
#[derive(Debug)]
pub(crate) struct DualPi2<P> {
    params: Params,
    low: Fifo<P>,
    classic: Fifo<P>,
    ticker: Ticker,
    coupling: Coupling,
    low_marks: Spread,
    low_drops: Spread,
    classic_signals: Spread,
    /// Weighted bytes owed to C. Above zero, C sends next.
    credit: f64,
}

impl<P: Packet> DualPi2<P> {
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            low: Fifo::default(),
            classic: Fifo::default(),
            ticker: Ticker::new(params.t_update),
            coupling: Coupling::default(),
            low_marks: Spread::default(),
            low_drops: Spread::default(),
            classic_signals: Spread::default(),
            credit: 0.0,
            params: params.clone(),
        }
    }

    pub(crate) fn enqueue(&mut self, waiting: Waiting<P>) {
        self.catch_up(waiting.arrival);
        match waiting.packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => self.low.push(waiting),
            Ecn::NotEct | Ecn::Ect0 => self.classic.push(waiting),
        }
    }

    /// Returns the packet that leaves now.
    pub(crate) fn dequeue(&mut self, now: Time, signals: &mut Signals<P>) -> Option<Waiting<P>> {
        self.catch_up(now);
        loop {
            let contended = !self.low.is_empty() && !self.classic.is_empty();
            let is_low = !self.low.is_empty() && (self.classic.is_empty() || self.credit <= 0.0);
            let (head, drop) = if is_low { self.next_low(now, signals) } else { self.next_classic(signals) }?;
            if drop {
                signals.drop(head, DropReason::Aqm);
                continue;
            }
            self.charge(contended, is_low, head.packet.size());
            return Some(head);
        }
    }

    fn catch_up(&mut self, now: Time) {
        while let Some(at) = self.ticker.due(now) {
            let delay = self.classic.age(at).max(self.low.age(at));
            self.coupling.update(&self.params, delay);
        }
    }

    /// Takes the head of L. Also returns whether to drop it.
    fn next_low(&mut self, now: Time, signals: &mut Signals<P>) -> Option<(Waiting<P>, bool)> {
        let long = self.low.bytes() > self.params.mtu.0;
        let mut head = self.low.pop()?;
        let coupled = self.coupling.coupled(&self.params);
        if coupled >= 1.0 && self.low_drops.hits(self.coupling.classic()) {
            return Some((head, true));
        }
        let native = if long && coupled < 1.0 { self.params.ramp(now - head.arrival) } else { 0.0 };
        if self.low_marks.hits(native.max(coupled)) {
            signals.mark(&mut head.packet);
        }
        Some((head, false))
    }

    /// Takes the head of C. Also returns whether to drop it.
    fn next_classic(&mut self, signals: &mut Signals<P>) -> Option<(Waiting<P>, bool)> {
        let mut head = self.classic.pop()?;
        let p = self.coupling.classic();
        if !self.classic_signals.hits(p) {
            return Some((head, false));
        }
        let most = (1.0 / (self.params.k * self.params.k)).min(1.0);
        let drop = p >= most || !signals.mark(&mut head.packet);
        Some((head, drop))
    }

    /// Updates the credit so that C gets c-share of the bytes while both queues wait.
    fn charge(&mut self, contended: bool, is_low: bool, size: u32) {
        let share = self.params.c_share;
        self.credit = match (contended, is_low) {
            (false, _) => 0.0,
            (true, true) => self.credit + share * f64::from(size),
            (true, false) => self.credit - (1.0 - share) * f64::from(size),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::fixtures::{Pkt, ms};

    const MS: Duration = Duration::from_millis(1);

    fn dual() -> DualPi2<Pkt> {
        DualPi2::new(&Params::default())
    }

    fn filled(ecn: Ecn, packets: u64, base: f64) -> DualPi2<Pkt> {
        let mut dual = dual();
        for id in 0..packets {
            dual.enqueue(Waiting { arrival: ms(0), packet: Pkt::new(id, 1500).with_ecn(ecn) });
        }
        dual.coupling.base = base;
        dual
    }

    /// Returns the numbers of packets that left, were marked and were dropped.
    fn drain(dual: &mut DualPi2<Pkt>) -> (u64, u64, u64) {
        let (mut signals, mut out) = (Signals::default(), 0);
        while dual.dequeue(ms(0), &mut signals).is_some() {
            out += 1;
        }
        (out, signals.marked.packets, signals.dropped.len() as u64)
    }

    #[test]
    fn coupling() {
        let at = |base| {
            let c = Coupling { base, ..Coupling::default() };
            (c.classic(), c.coupled(&Params::default()))
        };
        let ((c, l), half) = (at(0.1), at(0.5));
        assert!((c - 0.01).abs() < 1e-15 && (l - 0.2).abs() < 1e-15);
        assert_eq!(half, (0.25, 1.0), "p_Cmax and saturation meet");
    }

    #[test]
    fn pi() {
        let mut c = Coupling { base: 0.1, old: MS * 15 };
        c.update(&Params::default(), MS * 20);
        assert!((c.base - 0.1 - 0.15 * 0.005 - 3.0 * 0.005).abs() < 1e-12);
        c.update(&Params::default(), Duration::MAX);
        assert_eq!(c.base, 1.0);
        (0..1000).for_each(|_| c.update(&Params::default(), Duration::ZERO));
        assert_eq!(c.base, 0.0);
    }

    /// Out of 10 000 packets exactly p_C and p_CL are signalled, evenly spread.
    #[test]
    fn marks_in_both_queues() {
        for (ecn, signals) in [(Ecn::Ect1, 2000), (Ecn::Ce, 2000), (Ecn::Ect0, 100)] {
            let (out, marked, dropped) = drain(&mut filled(ecn, 10_000, 0.1));
            assert_eq!((out, dropped), (10_000, 0));
            assert!(marked.abs_diff(signals) <= 1, "{ecn:?}: {marked}");
        }
        let (out, marked, dropped) = drain(&mut filled(Ecn::NotEct, 10_000, 0.1));
        assert!(marked == 0 && dropped.abs_diff(100) <= 1 && out + dropped == 10_000);
    }

    #[test]
    fn ramp() {
        let at = |us| Params::default().ramp(Duration::from_micros(us));
        assert_eq!(
            [at(0), at(799), at(800), at(900), at(1000), at(1199), at(1200)].map(|p| (p * 400.0) as u32),
            [0, 0, 0, 100, 200, 399, 400]
        );
        let step = Params { min_th: MS, range: Duration::ZERO, ..Params::default() };
        assert_eq!((step.ramp(Duration(999_999)), step.ramp(MS)), (0.0, 1.0));
        // Halfway up the ramp half of the packets are marked, whatever p' is. The last packet is
        // not.
        let (mut dual, mut signals) = (filled(Ecn::Ect1, 1001, 0.0), Signals::default());
        while dual.dequeue(Time(1_000_000), &mut signals).is_some() {}
        assert!(signals.marked.packets.abs_diff(500) <= 1, "{}", signals.marked.packets);
        let (mut dual, mut signals) = (filled(Ecn::Ect1, 1, 0.0), Signals::default());
        dual.dequeue(ms(50), &mut signals);
        assert_eq!(signals.marked.packets, 0, "a single packet is never marked");
    }

    /// From p' = 1/k on marks carry no more information: both queues drop with p_C.
    #[test]
    fn overload() {
        for (ecn, marks) in [(Ecn::Ect1, true), (Ecn::Ect0, false), (Ecn::NotEct, false)] {
            let (out, marked, dropped) = drain(&mut filled(ecn, 10_000, 0.6));
            assert!(dropped.abs_diff(3600) <= 1, "{ecn:?}: {dropped}");
            assert_eq!(marked, if marks { out } else { 0 });
        }
        let (_, marked, dropped) = drain(&mut filled(Ecn::Ect0, 10_000, 0.499));
        assert!(dropped == 0 && marked > 2400, "just below");
    }

    /// While both queues wait C gets 1/16 of the bytes. Alone, either gets everything.
    #[test]
    fn scheduler() {
        let mut dual = dual();
        for id in 0..4000 {
            dual.enqueue(Waiting { arrival: ms(0), packet: Pkt::new(id, 500).with_ecn(Ecn::Ect1) });
            dual.enqueue(Waiting { arrival: ms(0), packet: Pkt::new(id, 1500).with_ecn(Ecn::Ect0) });
        }
        let (mut bytes, mut signals) = ([0_u64; 2], Signals::default());
        for _ in 0..3200 {
            let packet = dual.dequeue(ms(0), &mut signals).unwrap().packet;
            bytes[usize::from(packet.ecn() == Ecn::Ect0)] += u64::from(packet.size());
        }
        let share = bytes[1] as f64 / (bytes[0] + bytes[1]) as f64;
        assert!((share - 0.0625).abs() < 0.002, "{share}");
        assert_eq!(drain(&mut dual).0, 4800);
        // A packet for L overtakes those for C.
        let mut dual = filled(Ecn::Ect0, 10, 0.0);
        dual.enqueue(Waiting { arrival: ms(0), packet: Pkt::new(77, 1500).with_ecn(Ecn::Ect1) });
        assert_eq!(dual.dequeue(ms(0), &mut signals).unwrap().packet.id, 77);
    }

    /// With an unresponsive load of 120 %, C's delay settles at the target.
    #[test]
    fn equilibrium_is_the_target() {
        let (mut dual, mut signals, mut sum, mut n) = (dual(), Signals::default(), 0.0, 0);
        for now in 0..120_000_u64 {
            for id in 0..1 + u64::from(now % 5 == 0) {
                dual.enqueue(Waiting { arrival: ms(now), packet: Pkt::new(id, 1500) });
            }
            if let Some(head) = dual.dequeue(ms(now), &mut signals).filter(|_| now > 60_000) {
                sum += (ms(now) - head.arrival).as_millis_f64();
                n += 1;
            }
        }
        let mean = sum / f64::from(n);
        assert!((mean - 15.0).abs() < 1.5, "{mean} ms");
        assert!((dual.coupling.classic() - 1.0 / 6.0).abs() < 0.03, "{}", dual.coupling.classic());
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(Params { c_share: 0.0, ..Params::default() }.check().unwrap_err().contains("c-share"));
        assert!(Params { k: 0.5, ..Params::default() }.check().unwrap_err().contains("`k`"));
    }
}
