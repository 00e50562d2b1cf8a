//! Solves delay differential equations by the method of steps: classical Runge-Kutta with a fixed
//! step, and cubic interpolation of the past.
//!
//! No crate fits. differential-equations 0.7.0 fixes the number of delays at compile time, but here
//! it depends on the number of flows. It also has no projection, which keeps a queue from becoming
//! negative. The licence of numra-dde forbids commercial use.

/// The solution so far. Before the start it has the initial values.
#[derive(Clone, Debug)]
pub struct History {
    step: f64,
    size: usize,
    /// Rows of `size` values, one per step.
    values: Vec<f64>,
    slopes: Vec<f64>,
}

impl History {
    /// Returns component `i` at time `t`. After the last step it returns the last value, so delays
    /// should be at least a step.
    pub fn at(&self, i: usize, t: f64) -> f64 {
        let last = self.len() - 1;
        let (row, share) = match t / self.step {
            position if position <= 0.0 => return self.values[i],
            position if position >= last as f64 => return self.values[last * self.size + i],
            position => (position as usize, position.fract()),
        };
        let (a, b) = (row * self.size + i, (row + 1) * self.size + i);
        let (y0, y1) = (self.values[a], self.values[b]);
        let (d0, d1) = (self.slopes[a] * self.step, self.slopes[b] * self.step);
        // Cubic Hermite interpolation in Horner's form.
        let rise = y1 - y0;
        y0 + share * (d0 + share * ((3.0 * rise - 2.0 * d0 - d1) + share * (d0 + d1 - 2.0 * rise)))
    }

    /// Returns the number of steps, including the initial values.
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.values.len() / self.size
    }

    /// Returns the values of step `row`.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.size..(row + 1) * self.size]
    }

    /// Returns the slopes of step `row`.
    pub fn slopes(&self, row: usize) -> &[f64] {
        &self.slopes[row * self.size..(row + 1) * self.size]
    }

    /// Returns the time between steps.
    pub fn step(&self) -> f64 {
        self.step
    }
}

/// A system of delay differential equations.
pub trait System {
    /// Writes the slopes of the values at time `t`, given the past.
    fn slopes(&self, t: f64, values: &[f64], past: &History, slopes: &mut [f64]);

    /// Projects the values into their valid range, after each step.
    fn project(&self, _: &mut [f64]) {}
}

/// Solves the system from time 0 to `end`. The values are `initial` at time 0 and before.
pub fn solve(system: &impl System, initial: &[f64], step: f64, end: f64) -> History {
    let size = initial.len();
    let mut past = History { step, size, values: initial.to_vec(), slopes: vec![0.0; size] };
    let mut k = vec![vec![0.0; size]; 4];
    let mut values = initial.to_vec();
    system.slopes(0.0, &values, &past, &mut k[0]);
    past.slopes.copy_from_slice(&k[0]);
    let steps = (end / step).round() as usize;
    for n in 0..steps {
        let t = n as f64 * step;
        for (stage, share) in [(1, 0.5), (2, 0.5), (3, 1.0)] {
            let moved: Vec<f64> =
                values.iter().zip(&k[stage - 1]).map(|(v, k)| v + share * step * k).collect();
            system.slopes(t + share * step, &moved, &past, &mut k[stage]);
        }
        for (i, value) in values.iter_mut().enumerate() {
            *value += step / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
        }
        system.project(&mut values);
        past.values.extend_from_slice(&values);
        past.slopes.extend_from_slice(&k[3]);
        system.slopes(t + step, &values, &past, &mut k[0]);
        past.slopes[(n + 1) * size..].copy_from_slice(&k[0]);
    }
    past
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The equation x' = -gain x(t - 1).
    struct Delayed(f64);

    impl System for Delayed {
        fn slopes(&self, t: f64, _: &[f64], past: &History, slopes: &mut [f64]) {
            slopes[0] = -self.0 * past.at(0, t - 1.0);
        }
    }

    /// From x = 1 the solution is 1 - t, and each interval adds a term of the next degree. The
    /// solver is exact up to the third degree.
    #[test]
    fn polynomials_of_the_first_intervals() {
        let x = solve(&Delayed(1.0), &[1.0], 0.1, 3.0);
        for i in 0..=30 {
            let t = f64::from(i) * 0.1;
            let (one, two) = ((t - 1.0).max(0.0), (t - 2.0).max(0.0));
            let exact = 1.0 - t + one * one / 2.0 - two * two * two / 6.0;
            assert!((x.at(0, t) - exact).abs() < 1e-12, "{t}: {} {exact}", x.at(0, t));
        }
    }

    /// Returns the largest |x| in the last tenth, relative to that in the second tenth.
    fn growth(gain: f64) -> f64 {
        let x = solve(&Delayed(gain), &[1.0], 0.01, 200.0);
        let peak = |from: usize| (from..from + 2000).map(|n| x.row(n)[0].abs()).fold(0.0, f64::max);
        peak(18_000) / peak(2_000)
    }

    /// The system is stable up to a gain of pi/2, within a thousandth. At that gain the amplitude
    /// is constant, with a period of 4.
    #[test]
    fn stability_boundary() {
        let boundary = std::f64::consts::FRAC_PI_2;
        assert!(growth(0.999 * boundary) < 0.95, "{}", growth(0.999 * boundary));
        assert!(growth(1.001 * boundary) > 1.05, "{}", growth(1.001 * boundary));
        assert!((growth(boundary) - 1.0).abs() < 1e-4, "{}", growth(boundary));
        let x = solve(&Delayed(boundary), &[1.0], 0.01, 104.0);
        assert!((x.at(0, 104.0) - x.at(0, 100.0)).abs() < 1e-6);
    }

    /// The solver has fourth order: half the step gives a sixteenth of the error.
    #[test]
    fn order() {
        let at = |step| solve(&Delayed(1.0), &[1.0], step, 8.0).at(0, 8.0);
        let exact = at(1.0 / 512.0);
        let ratio = (at(1.0 / 8.0) - exact) / (at(1.0 / 16.0) - exact);
        assert!((12.0..24.0).contains(&ratio), "{ratio}");
    }
}
