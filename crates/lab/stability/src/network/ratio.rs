//! Return ratio of the loop over several links: section IV-B, equations 36 to 43. With loss,
//! section IV-C.
//!
//! ```text
//! F(s) = C^-1 R_f(s) s^-1 (Is - K X U'')^-1 K X (V' + s) R_b^T(s)            (38)
//! R_f lr = e^(-s tau^f),  R_b lr = e^(-s tau^b),  tau^f + tau^b = RTT_r       (8)
//! G(s) = s^-1 (Is - K X U'')^-1 K (V' + s) diag(e^(-s RTT))                   (40)
//! R~(s) = diag(1/sqrt c_l) R_f(s) diag(sqrt x_r);  eig F = eig R~(s) G(s) R~^T(-s)   (41), (42)
//! eig F(iw) lies in rho(R~^T(iw) R~(-iw)) co(0, eig G(iw)),  rho <= M         (43)
//! ```
//!
//! Here U'' x = -h/x. Rows and columns are the links with a queue. A link without one passes its
//! load on.
//!
//! A **full link** (IV-C) has a queue of constant length and signals its load only by loss, without
//! delay. By (4), d pi_l = c_l/y_l^2 dy_l. By (5), a flow weights this with the share that the
//! other links of its route let through. In (38), c_l/y_l^2 then replaces 1/(s c_l), and the weight
//! replaces V' + s.
//!
//! The loop is stable if det(I + F) does not encircle 0, so that the eigenvalues do not encircle
//! -1. F has no pole in the right half plane. It has a pole at 0 for each independent queue, and
//! the path passes to the right of it.

use std::f64::consts::{FRAC_PI_2, PI};

use nalgebra::{DMatrix, Schur};
use num_complex::Complex64;
use serde::Serialize;

use super::{Equilibrium, Network};
use crate::margins::{frequencies, turn};

/// The network, linearised around its equilibrium.
#[derive(Clone, Debug)]
pub struct ReturnRatio<'a> {
    net: &'a Network,
    equilibrium: &'a Equilibrium,
    /// Indices of the links with a queue.
    pub congested: Vec<usize>,
    /// Factor for all eta.
    scale: f64,
}

/// Margins of the loop over several links, with times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NetworkMargins {
    /// Gain factor at which the loop becomes unstable, with unchanged poles. `None` if there is no
    /// such factor.
    pub gain_margin: Option<f64>,
    /// Phase lag of all flows at which the loop becomes unstable, in radians.
    pub phase_margin: Option<f64>,
    /// Additional delay of all flows at which the loop becomes unstable, in seconds.
    pub delay_margin: Option<f64>,
    /// Factor of all eta at which the loop becomes unstable, which also moves the poles. `None` if
    /// there is no such factor.
    pub largest_gain: Option<f64>,
    /// Number of closed-loop poles in the right half plane.
    pub closed_poles: i64,
}

/// A change of the loop to find its margins.
#[derive(Clone, Copy, Debug)]
struct Perturbation {
    factor: f64,
    lag: f64,
    delay: f64,
}

const UNPERTURBED: Perturbation = Perturbation { factor: 1.0, lag: 0.0, delay: 0.0 };
/// Largest factor, and largest additional delay in RTTs, in the search for margins.
const MOST: f64 = 1e3;

impl<'a> ReturnRatio<'a> {
    /// Linearises a network around its equilibrium.
    pub fn new(net: &'a Network, equilibrium: &'a Equilibrium) -> Self {
        let congested = (0..net.links.len()).filter(|&l| equilibrium.queues[l] > 0.0).collect();
        Self { net, equilibrium, congested, scale: 1.0 }
    }

    fn scaled(&self, scale: f64) -> Self {
        Self { scale, ..self.clone() }
    }

    /// Returns k_r = eta/RTT_r.
    fn k(&self, flow: usize) -> f64 {
        self.scale * self.net.flows[flow].params.gain / self.equilibrium.rtts[flow]
    }

    /// Returns k_r h/x_r, the pole of a flow.
    fn pole(&self, flow: usize) -> f64 {
        self.k(flow) * self.net.flows[flow].h() / self.equilibrium.rates[flow]
    }

    fn is_full(&self, link: usize) -> bool {
        self.equilibrium.losses[link] > 0.0
    }

    /// Returns the response of a flow to a link's signal: V' + s, or the weight of a loss in (5).
    fn flow_response(&self, link: usize, flow: usize, s: Complex64) -> Complex64 {
        let (net, equilibrium) = (self.net, self.equilibrium);
        if self.is_full(link) {
            let through = 1.0 - net.loss(&net.flows[flow], &equilibrium.losses);
            return Complex64::from(through / (1.0 - equilibrium.losses[link]));
        }
        s + net.flows[flow].slope(equilibrium.delays[flow])
    }

    /// Returns the response of a link to its load: 1/(s c), or c/y^2.
    fn link_response(&self, link: usize, s: Complex64) -> Complex64 {
        let (c, y) = (self.net.links[link].rate, self.equilibrium.loads[link]);
        if self.is_full(link) { Complex64::from(c / (y * y)) } else { 1.0 / (s * c) }
    }

    /// Returns F(s), equation 38.
    pub fn at(&self, s: Complex64) -> DMatrix<Complex64> {
        let n = self.congested.len();
        DMatrix::from_fn(n, n, |row, column| {
            let (l, m) = (self.congested[row], self.congested[column]);
            let crossing =
                (0..self.net.flows.len()).filter(|&r| self.net.crosses(l, r) && self.net.crosses(m, r));
            let through = |r: usize| {
                let there = self.net.forward(r, l, self.equilibrium);
                let back = self.equilibrium.rtts[r] - self.net.forward(r, m, self.equilibrium);
                let flow = self.k(r) * self.equilibrium.rates[r] / (s + self.pole(r));
                flow * self.flow_response(m, r, s) * (-s * (there + back)).exp()
            };
            self.link_response(l, s) * crossing.map(through).sum::<Complex64>()
        })
    }

    /// Returns G(s) of each flow, equation 40. It is not defined for full links.
    pub fn flows_at(&self, s: Complex64) -> Vec<Complex64> {
        let flow = |r: usize| {
            let slope = self.net.flows[r].slope(self.equilibrium.delays[r]);
            self.k(r) * (slope + s) / (s * (s + self.pole(r))) * (-s * self.equilibrium.rtts[r]).exp()
        };
        (0..self.net.flows.len()).map(flow).collect()
    }

    /// Equation 41.
    pub fn weighted_routes(&self, s: Complex64) -> DMatrix<Complex64> {
        DMatrix::from_fn(self.congested.len(), self.net.flows.len(), |row, r| {
            let l = self.congested[row];
            let share = (self.equilibrium.rates[r] / self.net.links[l].rate).sqrt();
            let there = (-s * self.net.forward(r, l, self.equilibrium)).exp();
            if self.net.crosses(l, r) { share * there } else { Complex64::ZERO }
        })
    }

    /// Returns rho of equation 43. R~^T(iw) R~(-iw) is the transpose of R~* R~, whose largest
    /// eigenvalue is the square of a singular value.
    pub fn spectral_radius(&self, w: f64) -> f64 {
        let singular = self.weighted_routes(Complex64::new(0.0, w)).singular_values();
        singular.iter().fold(0.0, |most: f64, v| most.max(v * v))
    }

    /// Returns the eigenvalues of F.
    pub fn eigenvalues(&self, s: Complex64) -> Vec<Complex64> {
        let schur = Schur::try_new(self.at(s), f64::EPSILON, 0);
        schur.map_or_else(Vec::new, |schur| schur.unpack().1.diagonal().iter().copied().collect())
    }

    /// Computes all margins.
    pub fn margins(&self) -> NetworkMargins {
        let is_bad = |perturbation| self.closed_poles(perturbation) > 0;
        let closed_poles = self.closed_poles(UNPERTURBED);
        let longest = self.equilibrium.rtts.iter().copied().fold(0.0, f64::max);
        let unless_bad = |found: Option<f64>| found.filter(|_| closed_poles == 0);
        NetworkMargins {
            gain_margin: boundary(1.0 / MOST, MOST, |factor| is_bad(Perturbation { factor, ..UNPERTURBED })),
            phase_margin: unless_bad(boundary(1e-9, PI, |lag| is_bad(Perturbation { lag, ..UNPERTURBED }))),
            delay_margin: unless_bad(boundary(1e-9 * longest, MOST * longest, |delay| {
                is_bad(Perturbation { delay, ..UNPERTURBED })
            })),
            largest_gain: boundary(1.0 / MOST, MOST, |scale| {
                self.scaled(scale).closed_poles(UNPERTURBED) > 0
            }),
            closed_poles,
        }
    }

    /// Returns frequencies from far below poles and zeros up to small |F|, in rad/s.
    pub fn frequencies(&self) -> Vec<f64> {
        self.frequencies_under(UNPERTURBED)
    }

    fn frequencies_under(&self, perturbation: Perturbation) -> Vec<f64> {
        let flows = 0..self.net.flows.len();
        let slope = |r: usize| self.net.flows[r].slope(self.equilibrium.delays[r]);
        let corners = flows.flat_map(|r| [self.pole(r), slope(r), 1.0 / self.equilibrium.rtts[r]]);
        let lowest = corners.filter(|w| *w > 0.0).fold(f64::INFINITY, f64::min);
        let longest = self.equilibrium.rtts.iter().copied().fold(0.0, f64::max) + perturbation.delay;
        let mut high = 4.0 / longest;
        while self.size(high, high * longest) * perturbation.factor > 0.3 {
            high *= 1.2;
        }
        frequencies(1e-4 * lowest * longest, high * longest, 0.02).map(|w| w / longest).collect()
    }

    /// Returns the norm of F, with rows of full links divided by `by` and their columns multiplied
    /// by it. This changes no eigenvalue. Without it, a full link that reacts at once to the slope
    /// of another queue would have an entry that never becomes small.
    fn size(&self, w: f64, by: f64) -> f64 {
        let weight = |i: usize| if self.is_full(self.congested[i]) { 1.0 / by } else { 1.0 };
        let f = self.at(Complex64::new(0.0, w));
        let n = self.congested.len();
        DMatrix::from_fn(n, n, |i, j| f[(i, j)].norm() * weight(i) / weight(j)).norm()
    }

    /// Returns det(I + F) on the imaginary axis.
    fn difference(&self, w: f64, perturbation: Perturbation) -> Complex64 {
        let n = self.congested.len();
        let turned = perturbation.factor * Complex64::cis(-perturbation.lag - w * perturbation.delay);
        (DMatrix::identity(n, n) + self.at(Complex64::new(0.0, w)) * turned).determinant()
    }

    /// Counts the encirclements of 0 by det(I + F). The curve starts at -90 degrees for each pole
    /// at 0, turned by the lag. The indentation compensates this. The rest of both branches is
    /// twice the final angle of one.
    fn closed_poles(&self, perturbation: Perturbation) -> i64 {
        let all = self.frequencies_under(perturbation);
        let lags: Vec<f64> = (0..=16).map(|i| perturbation.lag * f64::from(i) / 16.0).collect();
        let lagged = turn(&|lag| self.difference(all[0], Perturbation { lag, ..perturbation }), &lags);
        let turned = turn(&|w| self.difference(w, perturbation), &all);
        let start = -(self.poles_at_zero() as f64) * FRAC_PI_2;
        (-(start + lagged + turned) / PI).round() as i64
    }

    /// Returns the number of independent queues: the rank of the routes of flows that react to
    /// delay.
    fn poles_at_zero(&self) -> usize {
        let queues: Vec<usize> = self.congested.iter().copied().filter(|&l| !self.is_full(l)).collect();
        let flows = self.net.flows.len();
        let routes = DMatrix::from_fn(queues.len(), flows, |row, r| {
            let reacts = self.net.flows[r].slope(self.equilibrium.delays[r]) > 0.0;
            f64::from(u8::from(reacts && self.net.crosses(queues[row], r)))
        });
        if routes.is_empty() { 0 } else { routes.rank(1e-9) }
    }
}

/// Finds the first point from `low` to `most` at which `is_bad` becomes true, to nine digits.
/// Returns `None` if there is none. The search goes upwards, because a larger perturbation takes
/// longer to evaluate.
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

    /// Returns three links and five flows with different return paths, thresholds and gains.
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

    /// With one link, response and margins equal those of the single loop, also with several flows.
    #[test]
    fn one_link_is_the_loop_of_equation_46() {
        for (flows, rate, gain) in [(1, 1e6, 0.4), (1, 3e5, 0.4), (4, 8e6, 0.4), (1, 1e6, 1.6)] {
            let mut net =
                network(vec![link(rate * f64::from(flows), 0.025)], &vec![&[0][..]; flows as usize]);
            net.flows.iter_mut().for_each(|flow| flow.params.gain = gain);
            let equilibrium = net.equilibrium().unwrap();
            let (ratio, rtt) = (ReturnRatio::new(&net, &equilibrium), equilibrium.rtts[0]);
            let price = 20e3 / rate;
            let open = OpenLoop { gain, slope: 0.1 - price, price, links: 1.0, updates: None };
            for w in [1e-3, 0.1, 0.7, 3.0, 20.0] {
                let f = ratio.at(Complex64::new(0.0, w / rtt))[(0, 0)];
                assert!((f - open.at(w)).norm() < 1e-8 * f.norm(), "{w}: {f} {}", open.at(w));
                near(ratio.spectral_radius(w), 1.0, 1e-8);
            }
            let (ours, known) = (ratio.margins(), Margins::new(&open));
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

    /// Two separate links are two loops. The eigenvalues are theirs, and the margin is the smaller
    /// one.
    #[test]
    fn links_apart_are_loops_apart() {
        let both = network(vec![link(1e6, 0.025), link(3e5, 0.05)], &[&[0], &[1]]);
        let equilibrium = both.equilibrium().unwrap();
        let ratio = ReturnRatio::new(&both, &equilibrium);
        let s = Complex64::new(0.0, 3.0);
        let (f, g) = (ratio.at(s), ratio.flows_at(s));
        assert!(f[(0, 1)] == Complex64::ZERO && f[(1, 0)] == Complex64::ZERO);
        for (l, g) in g.iter().enumerate() {
            assert!((f[(l, l)] - g).norm() < 1e-8 * g.norm());
        }
        let alone = |price: f64| {
            Margins::new(&OpenLoop { gain: 0.4, slope: 0.1 - price, price, links: 1.0, updates: None })
        };
        let expected = alone(0.02).gain_margin.min(alone(20.0 / 300.0).gain_margin);
        near(ratio.margins().gain_margin.unwrap(), expected, 1e-6);
    }

    /// Our sums equal equation 38 as printed, with matrices.
    #[test]
    fn equation_38() {
        let net = mixed();
        let equilibrium = net.equilibrium().unwrap();
        let ratio = ReturnRatio::new(&net, &equilibrium);
        assert_eq!(ratio.congested, [0, 1, 2]);
        let s = Complex64::new(0.3, 5.0);
        let routes =
            |delay: &dyn Fn(usize, usize) -> f64| {
                DMatrix::from_fn(3, 5, |l, r| {
                    if net.crosses(l, r) { (-s * delay(r, l)).exp() } else { Complex64::ZERO }
                })
            };
        let there = routes(&|r, l| net.forward(r, l, &equilibrium));
        let back = routes(&|r, l| equilibrium.rtts[r] - net.forward(r, l, &equilibrium));
        let diagonal = |each: &dyn Fn(usize) -> Complex64, n: usize| {
            DMatrix::from_fn(n, n, |i, j| if i == j { each(i) } else { Complex64::ZERO })
        };
        let capacities = diagonal(&|l| (1.0 / net.links[l].rate).into(), 3);
        let k = |r: usize| net.flows[r].params.gain / equilibrium.rtts[r];
        let curvature = |r: usize| -net.flows[r].h() / (equilibrium.rates[r] * equilibrium.rates[r]);
        let inner = diagonal(&|r| 1.0 / (s - k(r) * equilibrium.rates[r] * curvature(r)), 5);
        let kx = diagonal(&|r| (k(r) * equilibrium.rates[r]).into(), 5);
        let prices = diagonal(&|r| s + net.flows[r].slope(equilibrium.delays[r]), 5);
        let printed = capacities * &there * inner.clone() * &kx * &prices * back.transpose() * (1.0 / s);
        assert!((ratio.at(s) - &printed).norm() < 1e-10 * printed.norm());

        // Equation 39: R_b^T(s) = diag(e^(-s RTT)) R_f^T(-s).
        let ahead = DMatrix::from_fn(3, 5, |l, r| {
            if net.crosses(l, r) { (s * net.forward(r, l, &equilibrium)).exp() } else { Complex64::ZERO }
        });
        let trips = diagonal(&|r| (-s * equilibrium.rtts[r]).exp(), 5);
        assert!((back.transpose() - &trips * ahead.transpose()).norm() < 1e-10);

        // Equations 40 and 42 give the same eigenvalues.
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

    /// In every direction, each eigenvalue lies within rho times the hull of 0 and the flows'
    /// loops, as (43) says; and rho <= M.
    #[test]
    fn equation_43() {
        for net in [parking_lot(), mixed()] {
            let equilibrium = net.equilibrium().unwrap();
            let ratio = ReturnRatio::new(&net, &equilibrium);
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

    /// The paper's bound, -1/M for each flow, is safe: the margin of the loop itself is not
    /// smaller.
    #[test]
    fn the_bound_is_safe() {
        for net in [parking_lot(), mixed()] {
            let equilibrium = net.equilibrium().unwrap();
            let exact = ReturnRatio::new(&net, &equilibrium).margins();
            assert_eq!(exact.closed_poles, 0);
            let bounds = net.flows.iter().zip(&equilibrium.rates).map(|(flow, x)| {
                let (price, links) = (flow.h() / x, net.longest() as f64);
                let open =
                    OpenLoop { gain: flow.params.gain, slope: 0.1 - price, price, links, updates: None };
                Margins::new(&open).gain_margin
            });
            let bound = bounds.fold(f64::INFINITY, f64::min);
            assert!(exact.gain_margin.unwrap() >= bound, "{exact:?} {bound}");
        }
    }

    /// With one full link (IV-C), the loop is of first order with delay: eta (1 - pi) e^-p / (p +
    /// eta h/x). With B = eta (1 - pi) and A = eta h/x, the gain crossover is at w^2 = B^2 - A^2.
    /// The phase reaches -180 degrees at w = pi - atan(w/A).
    #[test]
    fn a_full_link_in_closed_form() {
        for (flows, rate, gain) in [(1, 1e6, 0.4), (3, 3e6, 0.9), (1, 1e6, 2.5)] {
            let narrow = Link { buffer: 0.06, ..link(rate, 0.025) };
            let mut net = network(vec![narrow], &vec![&[0][..]; flows]);
            net.flows.iter_mut().for_each(|flow| flow.params.gain = gain);
            let equilibrium = net.equilibrium().unwrap();
            let (loss, rtt, price) =
                (equilibrium.losses[0], equilibrium.rtts[0], 20e3 / equilibrium.rates[0]);
            let (a, b) = (gain * price, gain * (1.0 - loss));
            let ratio = ReturnRatio::new(&net, &equilibrium);
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
            // A common factor of all eta does not change w = acos(-A/B).
            let limit = f64::acos(-a / b) / w;
            near(margins.largest_gain.unwrap(), limit, 1e-6);
        }
    }
}
