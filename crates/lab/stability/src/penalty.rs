//! Figure 2 of arXiv 1506.02799v3: the penalty of equation 17 over the one-way delay, in units of
//! beta. There is one curve for each propagation delay, which also is the delay of the return path.
//!
//! ```text
//! v/beta = ((e - T_r)/(e + e^b))+,  e^b = p,  e >= p
//! ```
//!
//! The paper states neither the threshold nor the propagation delays of its curves, so they are
//! arguments here.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use units::Duration;

/// Parameters of the curves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curves {
    /// Threshold T_r.
    pub threshold: Duration,
    /// Propagation delay p of each curve.
    pub propagation: Vec<Duration>,
}

/// Delays in the table, as multiples of the threshold.
const STEPS: [f64; 13] = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0, 10.0, 20.0];
/// Number of CSV rows, up to ten times the threshold.
const ROWS: u64 = 400;

impl Curves {
    /// Returns the penalty on one curve, or `None` if the delay is below the propagation delay.
    pub fn at(&self, propagation: Duration, delay: f64) -> Option<f64> {
        let back = propagation.as_secs_f64();
        let over = (delay - self.threshold.as_secs_f64()).max(0.0);
        (delay >= back).then(|| over / (delay + back))
    }

    /// Formats the curves as a table for the terminal.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        let names = self.propagation.iter().map(|p| format!("p = {p}"));
        table.set_header(std::iter::once("one-way delay (ms)".to_owned()).chain(names));
        for thresholds in STEPS {
            let delay = self.threshold.as_secs_f64() * thresholds;
            let values = self.propagation.iter().map(|p| self.at(*p, delay));
            let values = values.map(|v| v.map_or_else(|| "none".to_owned(), |v| format!("{v:.4}")));
            table.add_row(std::iter::once(format!("{:.1}", delay * 1e3)).chain(values));
        }
        for i in 0..=self.propagation.len() {
            if let Some(column) = table.column_mut(i) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        format!(
            "\nFigure 2 of arXiv 1506.02799v3: penalty in units of beta (17), threshold {}, return path p\n\n{}\n",
            self.threshold,
            table.trim_fmt()
        )
    }

    /// Formats the curves as CSV, with a row per delay and a column per curve. A cell is empty if
    /// the delay is below the propagation delay.
    pub fn csv(&self) -> String {
        let names: Vec<_> =
            self.propagation.iter().map(|p| format!("penalty_p_{}_ms", p.as_millis_f64())).collect();
        let mut out = format!("one_way_delay_ms,{}\n", names.join(","));
        for i in 0..=ROWS {
            let delay = self.threshold.as_secs_f64() * 10.0 * i as f64 / ROWS as f64;
            let values = self.propagation.iter().map(|p| self.at(*p, delay));
            let values: Vec<_> = values.map(|v| v.map_or(String::new(), |v| format!("{v:.6}"))).collect();
            let _ = writeln!(out, "{:.3},{}", delay * 1e3, values.join(","));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves() -> Curves {
        let ms = Duration::from_millis;
        Curves { threshold: ms(100), propagation: [10, 50, 200].map(ms).to_vec() }
    }

    /// The penalty is 0 up to the threshold, tends to 1, and is smaller for longer paths.
    #[test]
    fn the_shape_of_figure_2() {
        let all = curves();
        let of = |p: usize, e: f64| all.at(all.propagation[p], e);
        assert_eq!((of(0, 0.1), of(0, 0.005), of(2, 0.15)), (Some(0.0), None, None));
        assert!((of(0, 1e9).unwrap() - 1.0).abs() < 1e-6);
        for e in [0.21, 0.5, 2.0] {
            assert!(of(0, e) > of(1, e) && of(1, e) > of(2, e));
        }
        // (e - 100)/(e + 50) at 250 ms.
        assert!((of(1, 0.25).unwrap() - 0.5).abs() < 1e-12);
    }

    #[cfg(feature = "networks")]
    #[test]
    fn the_price_is_that_of_the_fluid() {
        use crate::network::{Flow, tests::link};
        let params = congestion::algorithms::media::dccc::Params::default();
        let (all, flow) = (curves(), Flow { route: vec![0], back: link(1e6, 0.05).delay, params });
        for e in [0.21, 0.5, 2.0] {
            assert!((flow.penalty(e) - all.at(all.propagation[1], e).unwrap()).abs() < 1e-12);
        }
    }

    #[test]
    fn in_rows() {
        let text = curves().csv();
        assert_eq!(
            text.lines().next(),
            Some("one_way_delay_ms,penalty_p_10_ms,penalty_p_50_ms,penalty_p_200_ms")
        );
        assert!(text.contains("\n250.000,0.576923,0.500000,0.333333\n"), "{text}");
        assert!(curves().table().contains("p = 50 ms"));
    }
}
