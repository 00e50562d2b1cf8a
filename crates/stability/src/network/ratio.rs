//! The return ratio of the loop over several links: section IV-B, equations 36 to 43; under loss, IV-C.
//!
//! ```text
//! F(s) = C^-1 R_f(s) s^-1 (Is - K X U'')^-1 K X (V' + s) R_b^T(s)            (38)
//! R_f lr = e^(-s tau^f),  R_b lr = e^(-s tau^b),  tau^f + tau^b = RTT_r       (8)
//! G(s) = s^-1 (Is - K X U'')^-1 K (V' + s) diag(e^(-s RTT))                   (40)
//! R~(s) = diag(1/sqrt c_l) R_f(s) diag(sqrt x_r);  eig F = eig R~(s) G(s) R~^T(-s)   (41), (42)
//! eig F(iw) lies in rho(R~^T(iw) R~(-iw)) co(0, eig G(iw)),  rho <= M         (43)
//! ```
//!
//! with U'' x = -h/x. Rows and columns are links that have a queue: one without passes its load on. A **full link** (IV-C) has a
//! queue of constant length and tells of its load by loss alone, at once: with (4), d pi_l = c_l/y_l^2 dy_l, heard as it is; with
//! (5), weighted by what the other links of the route let through. In (38) that is c_l/y_l^2 in the place of 1/(s c_l), and the
//! weight in that of V' + s.
//!
//! The loop is stable if det(I + F) does not turn around 0 (the eigenvalues not around -1): F has no pole in the right half
//! plane, and those at 0, one for each queue that moves on its own, are passed on their right.

use std::f64::consts::{FRAC_PI_2, PI};

use nalgebra::{DMatrix, Schur};
use num_complex::Complex64;
use serde::Serialize;

use super::{Network, Rest};
use crate::margins::{frequencies, turn};

/// The network at rest, linearised.
#[derive(Clone, Debug)]
pub struct Ratio<'a> {
    net: &'a Network,
    rest: &'a Rest,
    /// Numbers of the links that have a queue.
    pub congested: Vec<usize>,
    /// All eta times this.
    scale: f64,
}

/// Frequencies and times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NetworkMargins {
    /// The factor that the loop bears, with all poles where they are; none if it bears any.
    pub gain_margin: Option<f64>,
    /// The lag that it bears in all flows at once, radians.
    pub phase_margin: Option<f64>,
    /// The delay that it bears in all flows at once, seconds.
    pub delay_margin: Option<f64>,
    /// The factor of all eta that it bears, which moves the poles too; none if it bears any.
    pub largest_gain: Option<f64>,
    /// Closed-loop poles in the right half plane.
    pub closed_poles: i64,
}

/// What is done to the loop to see what it bears.
#[derive(Clone, Copy, Debug)]
struct Strain {
    factor: f64,
    lag: f64,
    delay: f64,
}

const NONE: Strain = Strain { factor: 1.0, lag: 0.0, delay: 0.0 };
/// Factors, and RTTs of further delay, among which margins are sought.
const MOST: f64 = 1e3;

impl<'a> Ratio<'a> {
    /// Around a rest.
    pub fn new(net: &'a Network, rest: &'a Rest) -> Self {
        let congested = (0..net.links.len()).filter(|&l| rest.queues[l] > 0.0).collect();
        Self { net, rest, congested, scale: 1.0 }
    }

    fn scaled(&self, scale: f64) -> Self {
        Self { scale, ..self.clone() }
    }

    /// k_r = eta/RTT_r.
    fn k(&self, flow: usize) -> f64 {
        self.scale * self.net.flows[flow].params.gain / self.rest.rtts[flow]
    }

    /// k_r h/x_r, the pole of a flow.
    fn pole(&self, flow: usize) -> f64 {
        self.k(flow) * self.net.flows[flow].h() / self.rest.rates[flow]
    }

    fn is_full(&self, link: usize) -> bool {
        self.rest.losses[link] > 0.0
    }

    /// What a flow makes of what it hears of a link: V' + s, or a loss's weight in (5).
    fn hears(&self, link: usize, flow: usize, s: Complex64) -> Complex64 {
        let (net, rest) = (self.net, self.rest);
        if self.is_full(link) {
            let through = 1.0 - net.loss(&net.flows[flow], &rest.losses);
            return Complex64::from(through / (1.0 - rest.losses[link]));
        }
        s + net.flows[flow].slope(rest.delays[flow])
    }

    /// What a link makes of its load: 1/(s c), or c/y^2.
    fn tells(&self, link: usize, s: Complex64) -> Complex64 {
        let (c, y) = (self.net.links[link].rate, self.rest.loads[link]);
        if self.is_full(link) { Complex64::from(c / (y * y)) } else { 1.0 / (s * c) }
    }

    /// Equation 38, term by term.
    pub fn at(&self, s: Complex64) -> DMatrix<Complex64> {
        let n = self.congested.len();
        DMatrix::from_fn(n, n, |row, column| {
            let (l, m) = (self.congested[row], self.congested[column]);
            let crossing =
                (0..self.net.flows.len()).filter(|&r| self.net.crosses(l, r) && self.net.crosses(m, r));
            let through = |r: usize| {
                let there = self.net.forward(r, l, self.rest);
                let back = self.rest.rtts[r] - self.net.forward(r, m, self.rest);
                let flow = self.k(r) * self.rest.rates[r] / (s + self.pole(r));
                flow * self.hears(m, r, s) * (-s * (there + back)).exp()
            };
            self.tells(l, s) * crossing.map(through).sum::<Complex64>()
        })
    }

    /// Equation 40: of each flow. Not defined for full links.
    pub fn flows_at(&self, s: Complex64) -> Vec<Complex64> {
        let flow = |r: usize| {
            let slope = self.net.flows[r].slope(self.rest.delays[r]);
            self.k(r) * (slope + s) / (s * (s + self.pole(r))) * (-s * self.rest.rtts[r]).exp()
        };
        (0..self.net.flows.len()).map(flow).collect()
    }

    /// Equation 41.
    pub fn weighted_routes(&self, s: Complex64) -> DMatrix<Complex64> {
        DMatrix::from_fn(self.congested.len(), self.net.flows.len(), |row, r| {
            let l = self.congested[row];
            let share = (self.rest.rates[r] / self.net.links[l].rate).sqrt();
            let there = (-s * self.net.forward(r, l, self.rest)).exp();
            if self.net.crosses(l, r) { share * there } else { Complex64::ZERO }
        })
    }

    /// rho of equation 43: R~^T(iw) R~(-iw) is the transpose of R~* R~, whose largest eigenvalue is a singular value squared.
    pub fn spectral_radius(&self, w: f64) -> f64 {
        let singular = self.weighted_routes(Complex64::new(0.0, w)).singular_values();
        singular.iter().fold(0.0, |most: f64, v| most.max(v * v))
    }

    /// Eigenvalues of F.
    pub fn eigenvalues(&self, s: Complex64) -> Vec<Complex64> {
        let schur = Schur::try_new(self.at(s), f64::EPSILON, 0);
        schur.map_or_else(Vec::new, |schur| schur.unpack().1.diagonal().iter().copied().collect())
    }

    /// All margins.
    pub fn margins(&self) -> NetworkMargins {
        let is_bad = |strain| self.closed_poles(strain) > 0;
        let closed_poles = self.closed_poles(NONE);
        let longest = self.rest.rtts.iter().copied().fold(0.0, f64::max);
        let unless_bad = |found: Option<f64>| found.filter(|_| closed_poles == 0);
        NetworkMargins {
            gain_margin: boundary(1.0 / MOST, MOST, |factor| is_bad(Strain { factor, ..NONE })),
            phase_margin: unless_bad(boundary(1e-9, PI, |lag| is_bad(Strain { lag, ..NONE }))),
            delay_margin: unless_bad(boundary(1e-9 * longest, MOST * longest, |delay| {
                is_bad(Strain { delay, ..NONE })
            })),
            largest_gain: boundary(1.0 / MOST, MOST, |scale| self.scaled(scale).closed_poles(NONE) > 0),
            closed_poles,
        }
    }

    /// Frequencies from far below poles and zeros to where |F| is small, rad/s.
    pub fn frequencies(&self) -> Vec<f64> {
        self.frequencies_under(NONE)
    }

    fn frequencies_under(&self, strain: Strain) -> Vec<f64> {
        let flows = 0..self.net.flows.len();
        let slope = |r: usize| self.net.flows[r].slope(self.rest.delays[r]);
        let corners = flows.flat_map(|r| [self.pole(r), slope(r), 1.0 / self.rest.rtts[r]]);
        let lowest = corners.filter(|w| *w > 0.0).fold(f64::INFINITY, f64::min);
        let longest = self.rest.rtts.iter().copied().fold(0.0, f64::max) + strain.delay;
        let mut high = 4.0 / longest;
        while self.size(high, high * longest) * strain.factor > 0.3 {
            high *= 1.2;
        }
        frequencies(1e-4 * lowest * longest, high * longest, 0.02).map(|w| w / longest).collect()
    }

    /// How large F is, rows of full links over `by` and their columns times it. That changes no eigenvalue; without it a full
    /// link, which hears the slope of another's queue at once, would have an entry that never becomes small.
    fn size(&self, w: f64, by: f64) -> f64 {
        let weight = |i: usize| if self.is_full(self.congested[i]) { 1.0 / by } else { 1.0 };
        let f = self.at(Complex64::new(0.0, w));
        let n = self.congested.len();
        DMatrix::from_fn(n, n, |i, j| f[(i, j)].norm() * weight(i) / weight(j)).norm()
    }

    /// det(I + F) on the imaginary axis.
    fn difference(&self, w: f64, strain: Strain) -> Complex64 {
        let n = self.congested.len();
        let turned = strain.factor * Complex64::cis(-strain.lag - w * strain.delay);
        (DMatrix::identity(n, n) + self.at(Complex64::new(0.0, w)) * turned).determinant()
    }

    /// Turns of det(I + F) around 0. It comes from -90 degrees for each pole at 0, and from where a lag turns it; the
    /// indentation gives that back, so that what is left over of both branches is twice the angle at which one ends.
    fn closed_poles(&self, strain: Strain) -> i64 {
        let all = self.frequencies_under(strain);
        let lags: Vec<f64> = (0..=16).map(|i| strain.lag * f64::from(i) / 16.0).collect();
        let lagged = turn(&|lag| self.difference(all[0], Strain { lag, ..strain }), &lags);
        let turned = turn(&|w| self.difference(w, strain), &all);
        let start = -(self.poles_at_zero() as f64) * FRAC_PI_2;
        (-(start + lagged + turned) / PI).round() as i64
    }

    /// Queues that move on their own: the rank of the routes of flows that hear delay.
    fn poles_at_zero(&self) -> usize {
        let queues: Vec<usize> = self.congested.iter().copied().filter(|&l| !self.is_full(l)).collect();
        let flows = self.net.flows.len();
        let routes = DMatrix::from_fn(queues.len(), flows, |row, r| {
            let hears = self.net.flows[r].slope(self.rest.delays[r]) > 0.0;
            f64::from(u8::from(hears && self.net.crosses(queues[row], r)))
        });
        if routes.is_empty() { 0 } else { routes.rank(1e-9) }
    }
}

/// Where `is_bad` first turns true from `low` on, to nine digits; none if it does not up to `most`. Upwards, because a sweep takes
/// the longer the larger the strain.
fn boundary(mut low: f64, most: f64, is_bad: impl Fn(f64) -> bool) -> Option<f64> {
    let mut high = low;
    while !is_bad(high) {
        if high >= most {
            return None;
        }
        low = high;
        high = (high * 4.0).min(most);
    }
    while high / low > 1.0 + 1e-9 {
        let middle = low.sqrt() * high.sqrt();
        if is_bad(middle) { high = middle } else { low = middle }
    }
    Some(low.sqrt() * high.sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{link, network, parking_lot};
    use super::super::{Link, Network};
    use super::*;
    use crate::margins::Margins;
    use crate::open_loop::OpenLoop;

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b.abs(), "{a} is not {b}");
    }

    /// Three links, five flows, other ways back, thresholds and gains: nothing alike.
    fn mixed() -> Network {
        let mut net = network(
            vec![link(3e6, 0.01), link(2e6, 0.02), link(2.5e6, 0.005)],
            &[&[0, 1, 2], &[0], &[1, 2], &[2], &[1]],
        );
        for (i, flow) in net.flows.iter_mut().enumerate() {
            flow.back += 0.011 * i as f64;
            flow.params.gain = 0.3 + 0.05 * i as f64;
            flow.params.threshold = units::Duration::from_millis(90 + 7 * i as u64);
        }
        net
    }

    /// One link is the loop that there was: its response, all its margins, also with several flows.
    #[test]
    fn one_link_is_the_loop_of_equation_46() {
        for (flows, rate, gain) in [(1, 1e6, 0.4), (1, 3e5, 0.4), (4, 8e6, 0.4), (1, 1e6, 1.6)] {
            let mut net =
                network(vec![link(rate * f64::from(flows), 0.025)], &vec![&[0][..]; flows as usize]);
            net.flows.iter_mut().for_each(|flow| flow.params.gain = gain);
            let rest = net.rest().unwrap();
            let (ratio, rtt) = (Ratio::new(&net, &rest), rest.rtts[0]);
            let price = 20e3 / rate;
            let open = OpenLoop { gain, slope: 0.1 - price, price, links: 1.0, updates: None };
            for w in [1e-3, 0.1, 0.7, 3.0, 20.0] {
                let f = ratio.at(Complex64::new(0.0, w / rtt))[(0, 0)];
                assert!((f - open.at(w)).norm() < 1e-8 * f.norm(), "{w}: {f} {}", open.at(w));
                near(ratio.spectral_radius(w), 1.0, 1e-8);
            }
            let (ours, known) = (ratio.margins(), Margins::of(&open));
            assert_eq!(ours.closed_poles, known.closed_poles);
            near(ours.gain_margin.unwrap(), known.gain_margin, 1e-6);
            near(ours.largest_gain.unwrap() * gain, known.largest_gain.unwrap(), 1e-6);
            if known.is_stable() {
                near(ours.phase_margin.unwrap(), known.phase_margin.unwrap(), 1e-6);
                near(ours.delay_margin.unwrap() / rtt, known.delay_margin.unwrap(), 1e-6);
            } else {
                assert_eq!((ours.phase_margin, ours.delay_margin), (None, None));
            }
        }
    }

    /// Two links apart are two loops: the eigenvalues are theirs, and the margin the lesser.
    #[test]
    fn links_apart_are_loops_apart() {
        let both = network(vec![link(1e6, 0.025), link(3e5, 0.05)], &[&[0], &[1]]);
        let rest = both.rest().unwrap();
        let ratio = Ratio::new(&both, &rest);
        let s = Complex64::new(0.0, 3.0);
        let (f, g) = (ratio.at(s), ratio.flows_at(s));
        assert!(f[(0, 1)] == Complex64::ZERO && f[(1, 0)] == Complex64::ZERO);
        for (l, g) in g.iter().enumerate() {
            assert!((f[(l, l)] - g).norm() < 1e-8 * g.norm());
        }
        let alone = |price: f64| {
            Margins::of(&OpenLoop { gain: 0.4, slope: 0.1 - price, price, links: 1.0, updates: None })
        };
        let expected = alone(0.02).gain_margin.min(alone(20.0 / 300.0).gain_margin);
        near(ratio.margins().gain_margin.unwrap(), expected, 1e-6);
    }

    /// Equation 38 from its matrices, as printed, in the place of our sums.
    #[test]
    fn equation_38() {
        let net = mixed();
        let rest = net.rest().unwrap();
        let ratio = Ratio::new(&net, &rest);
        assert_eq!(ratio.congested, [0, 1, 2]);
        let s = Complex64::new(0.3, 5.0);
        let routes =
            |delay: &dyn Fn(usize, usize) -> f64| {
                DMatrix::from_fn(3, 5, |l, r| {
                    if net.crosses(l, r) { (-s * delay(r, l)).exp() } else { Complex64::ZERO }
                })
            };
        let there = routes(&|r, l| net.forward(r, l, &rest));
        let back = routes(&|r, l| rest.rtts[r] - net.forward(r, l, &rest));
        let diagonal = |each: &dyn Fn(usize) -> Complex64, n: usize| {
            DMatrix::from_fn(n, n, |i, j| if i == j { each(i) } else { Complex64::ZERO })
        };
        let capacities = diagonal(&|l| (1.0 / net.links[l].rate).into(), 3);
        let k = |r: usize| net.flows[r].params.gain / rest.rtts[r];
        let curvature = |r: usize| -net.flows[r].h() / (rest.rates[r] * rest.rates[r]);
        let inner = diagonal(&|r| 1.0 / (s - k(r) * rest.rates[r] * curvature(r)), 5);
        let kx = diagonal(&|r| (k(r) * rest.rates[r]).into(), 5);
        let prices = diagonal(&|r| s + net.flows[r].slope(rest.delays[r]), 5);
        let printed = capacities * &there * inner.clone() * &kx * &prices * back.transpose() * (1.0 / s);
        assert!((ratio.at(s) - &printed).norm() < 1e-10 * printed.norm());

        // (39): R_b^T(s) = diag(e^(-s RTT)) R_f^T(-s).
        let ahead = DMatrix::from_fn(3, 5, |l, r| {
            if net.crosses(l, r) { (s * net.forward(r, l, &rest)).exp() } else { Complex64::ZERO }
        });
        let trips = diagonal(&|r| (-s * rest.rtts[r]).exp(), 5);
        assert!((back.transpose() - &trips * ahead.transpose()).norm() < 1e-10);

        // (40) and (42): the same eigenvalues.
        let flows = DMatrix::from_diagonal(&nalgebra::DVector::from_vec(ratio.flows_at(s)));
        let similar = ratio.weighted_routes(s) * flows * ratio.weighted_routes(-s).transpose();
        let of = |m: DMatrix<Complex64>| (m.trace(), m.determinant());
        let (ours, theirs) = (of(ratio.at(s)), of(similar));
        assert!((ours.0 - theirs.0).norm() < 1e-9 * ours.0.norm());
        assert!((ours.1 - theirs.1).norm() < 1e-9 * ours.1.norm());
        let eigenvalues = ratio.eigenvalues(s);
        let sum: Complex64 = eigenvalues.iter().sum();
        let product: Complex64 = eigenvalues.iter().product();
        assert!(
            (sum - ours.0).norm() < 1e-9 * sum.norm() && (product - ours.1).norm() < 1e-9 * product.norm()
        );
    }

    /// (43): no direction in which an eigenvalue goes beyond rho times the flows' loops and 0; and rho <= M.
    #[test]
    fn equation_43() {
        for net in [parking_lot(), mixed()] {
            let rest = net.rest().unwrap();
            let ratio = Ratio::new(&net, &rest);
            for w in [0.01, 0.3, 1.0, 4.0, 10.0, 40.0] {
                let s = Complex64::new(0.0, w);
                let rho = ratio.spectral_radius(w);
                assert!(rho <= net.longest() as f64 + 1e-9, "{rho}");
                let flows = ratio.flows_at(s);
                for value in ratio.eigenvalues(s) {
                    for i in 0..360 {
                        let turn = Complex64::cis(f64::from(i).to_radians());
                        let hull = flows.iter().map(|g| (g * turn).re).fold(0.0, f64::max);
                        assert!((value * turn).re <= rho * hull + 1e-9 * value.norm(), "{w} {value} {i}");
                    }
                }
            }
        }
    }

    /// The bound of the paper, -1/M for each flow, is safe: the loop itself bears as much or more.
    #[test]
    fn the_bound_is_safe() {
        for net in [parking_lot(), mixed()] {
            let rest = net.rest().unwrap();
            let exact = Ratio::new(&net, &rest).margins();
            assert_eq!(exact.closed_poles, 0);
            let bounds = net.flows.iter().zip(&rest.rates).map(|(flow, x)| {
                let (price, links) = (flow.h() / x, net.longest() as f64);
                let open =
                    OpenLoop { gain: flow.params.gain, slope: 0.1 - price, price, links, updates: None };
                Margins::of(&open).gain_margin
            });
            let bound = bounds.fold(f64::INFINITY, f64::min);
            assert!(exact.gain_margin.unwrap() >= bound, "{exact:?} {bound}");
        }
    }

    /// IV-C: of one full link only a first-order loop with delay is left, eta (1 - pi) e^-p / (p + eta h/x). With B = eta (1 - pi)
    /// and A = eta h/x it crosses |G| = 1 at w^2 = B^2 - A^2 and -180 degrees where w = pi - atan(w/A).
    #[test]
    fn a_full_link_in_closed_form() {
        for (flows, rate, gain) in [(1, 1e6, 0.4), (3, 3e6, 0.9), (1, 1e6, 2.5)] {
            let narrow = Link { buffer: 0.06, ..link(rate, 0.025) };
            let mut net = network(vec![narrow], &vec![&[0][..]; flows]);
            net.flows.iter_mut().for_each(|flow| flow.params.gain = gain);
            let rest = net.rest().unwrap();
            let (loss, rtt, price) = (rest.losses[0], rest.rtts[0], 20e3 / rest.rates[0]);
            let (a, b) = (gain * price, gain * (1.0 - loss));
            let ratio = Ratio::new(&net, &rest);
            for w in [0.01, 0.4, 5.0] {
                let expected = b * Complex64::cis(-w) / Complex64::new(a, w);
                let f = ratio.at(Complex64::new(0.0, w / rtt))[(0, 0)];
                assert!((f - expected).norm() < 1e-9 * f.norm(), "{w}: {f} {expected}");
            }
            let margins = ratio.margins();
            let w = (b * b - a * a).sqrt();
            let phase = PI - w - w.atan2(a);
            assert_eq!(margins.closed_poles > 0, phase < 0.0, "{margins:?}");
            if phase > 0.0 {
                near(margins.phase_margin.unwrap(), phase, 1e-6);
                near(margins.delay_margin.unwrap() / rtt, phase / w, 1e-6);
            }
            // All eta together: w = acos(-A/B) does not move with it.
            let limit = f64::acos(-a / b) / w;
            near(margins.largest_gain.unwrap(), limit, 1e-6);
        }
    }
}
