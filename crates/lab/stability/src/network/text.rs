//! Formats the analysis of a network as text, and its numbers as CSV.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use num_complex::Complex64;
use serde::Serialize;

use super::passivity::{Moment, PassivityRun};
use super::ratio::{NetworkMargins, ReturnRatio};
use super::{Equilibrium, Network};
use crate::margins::{Margins, degrees};
use crate::open_loop::OpenLoop;
use crate::text::{decibels, short};

/// Results of the analysis of a network.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NetworkAnalysis {
    #[serde(skip)]
    net: Network,
    #[serde(skip)]
    equilibrium: Equilibrium,
    /// Name, queue (seconds), loss and load (bit/s) of each link.
    pub links: Vec<(String, f64, f64, f64)>,
    /// Rate (bit/s), one-way delay and RTT (seconds) of each flow.
    pub flows: Vec<(f64, f64, f64)>,
    /// Margins of the loop itself.
    pub margins: NetworkMargins,
    /// Smallest margins of the paper's bound, -1/M for the loop of each flow (46). `None` if a link
    /// is full.
    pub bound: Option<Margins>,
    /// Largest rho of (43).
    pub spectral_radius: f64,
    /// Quantities of the passivity proof, from two initial states. Empty if a link is full, because
    /// the proof does not cover this case.
    pub passivity: Vec<PassivityRun>,
}

/// Length of the runs without delays, in RTTs. It is some ten times what they need.
const TRIPS: f64 = 1000.0;
/// Initial states of the runs: queues and rates as multiples of the equilibrium, and a description.
/// The table shows the last one.
const STARTS: [(f64, f64, &str); 2] = [
    (0.0, 0.5, "empty queues and half of each rate"),
    (3.0, 1.5, "3 times each queue and 1.5 times each rate"),
];
/// Number of rows in the table of a run.
const LINES: usize = 12;

impl NetworkAnalysis {
    /// Analyses a network.
    ///
    /// # Errors
    /// A network without an equilibrium, or without any queue.
    pub fn new(net: Network) -> Result<Self, String> {
        let equilibrium = net.equilibrium()?;
        let ratio = ReturnRatio::new(&net, &equilibrium);
        if ratio.congested.is_empty() {
            return Err("no link has a queue at equilibrium, so there is no loop to analyse".into());
        }
        let is_full = equilibrium.losses.iter().any(|loss| *loss > 0.0);
        let longest = equilibrium.rtts.iter().copied().fold(0.0, f64::max);
        let radii = ratio.frequencies().into_iter().map(|w| ratio.spectral_radius(w));
        let spectral_radius = radii.fold(0.0, f64::max);
        let margins = ratio.margins();
        let bound = (!is_full).then(|| bound(&net, &equilibrium)).flatten();
        let run = |(q, x, _): (f64, f64, &str)| PassivityRun::run(&net, &equilibrium, q, x, TRIPS * longest);
        let passivity = if is_full { Vec::new() } else { STARTS.map(run).to_vec() };
        let per_link = |(l, link): (usize, &super::Link)| {
            (link.name.clone(), equilibrium.queues[l], equilibrium.losses[l], equilibrium.loads[l])
        };
        Ok(Self {
            links: net.links.iter().enumerate().map(per_link).collect(),
            flows: (0..net.flows.len())
                .map(|r| (equilibrium.rates[r], equilibrium.delays[r], equilibrium.rtts[r]))
                .collect(),
            margins,
            bound,
            spectral_radius,
            passivity,
            net,
            equilibrium,
        })
    }

    /// Formats the analysis for the terminal.
    pub fn text(&self) -> String {
        let mut out = format!(
            "\ndccc: {}\n\n{}\n\n{}\n\n{}\n",
            super::super::SOURCE,
            self.link_table(),
            self.flow_table(),
            self.margin_table()
        );
        if let Some(last) = self.passivity.last() {
            let _ = write!(out, "\n{}\n", passivity(last));
            for (run, (_, _, start)) in self.passivity.iter().zip(STARTS) {
                let _ = writeln!(out, "From {start}: {}.", describe_fall(run));
            }
        }
        out
    }

    fn link_table(&self) -> Table {
        let header = ["link", "rate (Mbit/s)", "queue (ms)", "load (Mbit/s)", "loss (%)"];
        let rows = self.net.links.iter().zip(&self.links).map(|(link, (name, queue, loss, load))| {
            let loss = format!("{:.3}", loss * 100.0);
            vec![name.clone(), mbit(link.rate), ms(*queue), mbit(*load), loss]
        });
        table(&header, rows)
    }

    fn flow_table(&self) -> Table {
        let header = ["flow", "route", "rate (Mbit/s)", "one-way delay (ms)", "RTT (ms)"];
        let rows = self.net.flows.iter().zip(&self.flows).enumerate().map(|(i, (flow, (x, e, rtt)))| {
            let route: Vec<_> = flow.route.iter().map(|&l| self.net.links[l].name.as_str()).collect();
            vec![(i + 1).to_string(), route.join(" "), mbit(*x), ms(*e), ms(*rtt)]
        });
        table(&header, rows)
    }

    fn margin_table(&self) -> Table {
        let longest = format!("bound, −1/{} (43, 46)", self.net.longest());
        let header = ["", "the loop (38)", &longest];
        let none = || "none".to_owned();
        let factor = |ratio: f64| format!("{} ({:.1} dB)", short(ratio), decibels(ratio));
        let angle = |angle: f64| format!("{:.1}", degrees(angle));
        let (ours, bound) = (&self.margins, self.bound.as_ref());
        let row = |name: &str, ours: Option<String>, bound: Option<String>| {
            vec![name.to_owned(), ours.unwrap_or_else(none), bound.unwrap_or_else(none)]
        };
        let rows = [
            row("gain margin", ours.gain_margin.map(factor), bound.map(|b| factor(b.gain_margin))),
            row(
                "phase margin (degrees)",
                ours.phase_margin.map(angle),
                bound.and_then(|b| b.phase_margin).map(angle),
            ),
            row("delay margin (ms)", ours.delay_margin.map(ms), None),
            row("factor of all gains", ours.largest_gain.map(factor), None),
            row("unstable closed-loop poles", Some(ours.closed_poles.to_string()), None),
            row("largest rho (43)", Some(short(self.spectral_radius)), Some(self.net.longest().to_string())),
            row(
                "verdict",
                Some(word(ours.closed_poles == 0)),
                bound.map(|b| if b.is_stable() { word(true) } else { "does not say".to_owned() }),
            ),
        ];
        table(&header, rows.into_iter())
    }

    /// Formats the eigenvalues of F and rho as CSV, with a row per frequency and eigenvalue.
    pub fn eigenvalues(&self) -> String {
        let ratio = ReturnRatio::new(&self.net, &self.equilibrium);
        let mut out = "omega_rad_s,spectral_radius,real,imaginary\n".to_owned();
        for w in ratio.frequencies() {
            for value in ratio.eigenvalues(Complex64::new(0.0, w)) {
                let rho = ratio.spectral_radius(w);
                let _ = writeln!(out, "{w:.6e},{rho:.6},{:.6e},{:.6e}", value.re, value.im);
            }
        }
        out
    }

    /// Formats the quantities of the passivity proof as CSV, with a row per step. Returns `None` if
    /// a link is full.
    pub fn moments(&self) -> Option<String> {
        let run = self.passivity.last()?;
        let mut out =
            "time_s,v_user_bit_s,v_link_bit_s,w_user_bit,w_link_bit,gap_bit,slope_bit,v_bent_bit_s\n"
                .to_owned();
        for m in &run.moments {
            let bent = m.v_bent.map_or(String::new(), |v| format!("{v:.6e}"));
            let _ = writeln!(
                out,
                "{:.6},{:.6e},{:.6e},{:.6e},{:.6e},{:.6e},{:.6e},{bent}",
                m.time, m.v_user, m.v_link, m.w_user, m.w_link, m.gap, m.slope
            );
        }
        Some(out)
    }
}

/// Returns the smallest margins of the flows against -1/M.
fn bound(net: &Network, equilibrium: &Equilibrium) -> Option<Margins> {
    let all = net.flows.iter().zip(&equilibrium.rates).map(|(flow, x)| {
        let price = flow.h() / x;
        let slope = flow.params.beta - price;
        let links = net.longest() as f64;
        Margins::new(&OpenLoop { gain: flow.params.gain, slope, price, links, updates: None })
    });
    all.min_by(|a, b| a.gain_margin.total_cmp(&b.gain_margin))
}

/// Formats a run as a table, with rows spaced evenly in the logarithm of time.
fn passivity(run: &PassivityRun) -> String {
    let last = run.moments.len() - 1;
    let rows: Vec<usize> = (0..LINES)
        .map(|i| libm::exp(libm::log(last.max(1) as f64) * i as f64 / (LINES - 1) as f64) as usize)
        .map(|n| n.min(last))
        .collect();
    let header = ["time (s)", "V_user", "V_link", "V", "V'", "−W_user", "−W_link", "gap", "V_bent"];
    let line = |m: &Moment| {
        let values = [m.v_user, m.v_link, m.v_user + m.v_link, m.slope, -m.w_user, -m.w_link, m.gap];
        let mut all = vec![format!("{:.3}", m.time)];
        all.extend(values.map(short));
        all.push(m.v_bent.map_or_else(|| "none".to_owned(), short));
        all
    };
    let mut shown = rows;
    shown.insert(0, 0);
    shown.dedup();
    format!(
        "Passivity without delays (27 to 60), in bit s and bit, alpha {} 1/s, from {}:\n\n{}\n",
        short(run.alpha),
        STARTS[STARTS.len() - 1].2,
        table(&header, shown.iter().map(|&n| line(&run.moments[n])))
    )
}

/// Rises below this share are rounding errors.
const ROUNDING: f64 = 1e-6;

/// Describes whether the storage functions fall.
fn describe_fall(run: &PassivityRun) -> String {
    let word = |name: &str, growth: f64| match growth {
        grown if grown > ROUNDING => {
            format!("{name} rises again by {:.3} % of its first value", grown * 100.0)
        }
        _ => format!("{name} only falls"),
    };
    let bent = run.bent_growth().map(|growth| word(", V_bent", growth));
    word("V", run.growth()) + &bent.unwrap_or_default()
}

fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.to_vec());
    rows.for_each(|row| {
        table.add_row(row);
    });
    for i in 1..header.len() {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn word(is_stable: bool) -> String {
    if is_stable { "stable" } else { "unstable" }.to_owned()
}

fn mbit(rate: f64) -> String {
    format!("{:.3}", rate * 1e-6)
}

fn ms(time: f64) -> String {
    format!("{:.2}", time * 1e3)
}

#[cfg(test)]
mod tests {
    use super::super::Link;
    use super::super::tests::{link, network, parking_lot};
    use super::*;

    #[test]
    fn says_all_of_it() {
        let analysis = NetworkAnalysis::new(parking_lot()).unwrap();
        let text = analysis.text();
        for part in ["−1/2", "gain margin", "largest rho", "stable", "V_user", "alpha"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        let lines = analysis.eigenvalues();
        assert_eq!(
            lines.lines().count(),
            1 + 2 * ReturnRatio::new(&analysis.net, &analysis.equilibrium).frequencies().len()
        );
        assert!(analysis.moments().unwrap().lines().count() > 1000);
    }

    /// With loss, there is neither a bound nor a proof.
    #[test]
    fn a_full_link() {
        let narrow = Link { buffer: 0.03, ..link(1e6, 0.025) };
        let analysis = NetworkAnalysis::new(network(vec![narrow], &[&[0], &[0]])).unwrap();
        assert!(analysis.bound.is_none() && analysis.passivity.is_empty() && analysis.moments().is_none());
        assert!(analysis.text().contains("loss (%)"));
    }
}
