//! Formats the analysis as text, for the terminal and the page.

use comfy_table::{CellAlignment, Table, presets};
use units::Duration;

use super::margins::{Margins, degrees};
use super::overlay::{End, Overlay};
use super::{Analysis, SOURCE, Setting};

/// A row of the table: a quantity of the continuous and of the sampled loop.
pub struct Row {
    /// Name with unit.
    pub name: &'static str,
    /// Values of the continuous and of the sampled loop.
    pub values: [String; 2],
}

/// Formats a number with four digits, in the more readable notation, with a typographic minus sign.
pub fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 3 - libm::log10(value.abs()).floor() as i32;
    let text = if (0..=6).contains(&digits) {
        format!("{value:.*}", digits as usize)
    } else if digits < 0 && digits > -4 {
        format!("{value:.0}")
    } else {
        format!("{value:.3e}")
    };
    text.replace('-', "−")
}

/// Converts a ratio to decibels.
pub fn decibels(ratio: f64) -> f64 {
    20.0 * libm::log10(ratio)
}

/// Describes a setting: `RTT 100 ms, 1 Mbit/s per flow, ...`.
pub fn describe(s: &Setting) -> String {
    let rest =
        s.one_way_delay.map_or(String::new(), |d| format!(" at equilibrium (one-way delay {})", rounded(d)));
    let links = if s.links == 1 { "1 link".to_owned() } else { format!("{} links", s.links) };
    format!(
        "RTT {}{rest}, {} per flow, gain {}, h {}, beta {}, {links} per path",
        rounded(s.rtt),
        s.rate,
        s.gain,
        s.h,
        s.beta
    )
}

/// Rounds to 10 microseconds.
fn rounded(time: Duration) -> Duration {
    Duration(time.0.saturating_add(5_000) / 10_000 * 10_000)
}

/// Describes the poles and the zero of the open loop of equation 46.
pub fn poles(s: &Setting) -> String {
    let (open, rtt) = (s.open_loop(None), s.rtt.as_secs_f64());
    format!(
        "Open loop of equation 46: poles at 0 and {} rad/s, zero at {} rad/s. No pole is in the right half plane, so \
         the loop is stable if and only if the curve does not encircle −1/M.",
        short(open.pole() / rtt),
        short(-open.slope / rtt)
    )
}

/// Returns the rows of the table.
pub fn rows(analysis: &Analysis) -> Vec<Row> {
    let rtt = analysis.setting.rtt.as_secs_f64();
    let row = |name, value: &dyn Fn(&Margins) -> Option<String>| {
        let both = [&analysis.continuous, &analysis.sampled];
        Row {
            name,
            values: both.map(|m| value(m).map_or_else(|| "none".to_owned(), |v| v.replace('-', "−"))),
        }
    };
    let factor = |ratio: f64| format!("{} ({:.1} dB)", short(ratio), decibels(ratio));
    vec![
        row("gain crossover (rad/s)", &|m| Some(short(m.gain_crossover? / rtt))),
        row("phase margin (degrees)", &|m| Some(format!("{:.1}", degrees(m.phase_margin?)))),
        row("delay margin (ms)", &|m| Some(short(m.delay_margin? * rtt * 1e3))),
        row("phase crossover (rad/s)", &|m| Some(short(m.phase_crossover / rtt))),
        row("gain margin", &|m| Some(factor(m.gain_margin))),
        row("largest stable gain", &|m| Some(m.largest_gain.map_or_else(|| "any".to_owned(), short))),
        row("clockwise encirclements of −1/M", &|m| Some(m.encirclements.to_string())),
        row("unstable open-loop poles", &|m| Some(m.open_poles.to_string())),
        row("unstable closed-loop poles", &|m| Some(m.closed_poles.to_string())),
        row("verdict", &|m| Some(verdict(m).to_owned())),
    ]
}

/// Returns `stable` or `unstable`.
pub fn verdict(margins: &Margins) -> &'static str {
    if margins.is_stable() { "stable" } else { "unstable" }
}

/// Formats the whole analysis for the terminal.
pub fn table(analysis: &Analysis) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "continuous\nequation 46", "once per RTT\nequation 26"]);
    for row in rows(analysis) {
        let [continuous, sampled] = row.values;
        table.add_row([row.name.to_owned(), continuous, sampled]);
    }
    for i in 1..3 {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let (setting, poles) = (describe(&analysis.setting), poles(&analysis.setting));
    let simulation = analysis.simulation.as_ref().map_or_else(String::new, |s| format!("\n{}\n", ends(s)));
    format!("\ndccc: {SOURCE}\n{setting}\n{poles}\n\n{}\n{simulation}", table.trim_fmt())
}

/// Describes fluid and packets in the last quarter.
pub fn ends(overlay: &Overlay) -> String {
    let words = |name: &str, end: &End| {
        let rates: Vec<_> = end.rates_mbit_s.iter().map(|rate| format!("{rate:.3}")).collect();
        let (delay, deviation) = (end.delay_ms, end.delay_deviation_ms);
        format!("{name} {delay:.2} ms (standard deviation {deviation:.2} ms), {} Mbit/s", rates.join(", "))
    };
    let apart = overlay.packets_end.delay_ms / overlay.fluid_end.delay_ms - 1.0;
    format!(
        "One-way delay and rates in the last quarter: {}; {}. The delays differ by {:.2} %.",
        words("fluid", &overlay.fluid_end),
        words("packets", &overlay.packets_end),
        apart.abs() * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (4.0755, "4.075"),
            (-0.08, "−0.08000"),
            (242.68, "242.7"),
            (411_634.2, "411634"),
            (1.2e9, "1.200e9"),
            (3.2e-6, "3.200e−6"),
            (0.0, "0"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
