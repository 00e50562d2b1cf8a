//! The page of a stability analysis, its charts as SVG files, and the frequency response as CSV.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use maud::{Markup, html};

use crate::chart::{self, Figure};
use crate::files::{legal, write_all};
use crate::{page, section};
use stability::margins::{Margins, degrees, frequencies};
use stability::{Analysis, SOURCE, text};

/// Writes the files that [`pages`] returns into `dir`. Returns the path of the page.
///
/// # Errors
/// Fails if a file cannot be written. No file is left half written.
pub fn write(dir: &Path, analysis: &Analysis) -> io::Result<PathBuf> {
    write_all(dir, &pages(analysis))?;
    Ok(dir.join("index.html"))
}

/// Returns the names and texts of an analysis' files: the charts as SVG, `response.csv`, and at the
/// end `index.html`.
pub fn pages(analysis: &Analysis) -> Vec<(String, String)> {
    let figures = chart::draw_loops(analysis);
    let drawn = figures.iter().map(|figure| (figure.file(), legal(&figure.standalone())));
    let mut all: Vec<_> = drawn.collect();
    all.push(("response.csv".to_owned(), response(analysis)));
    all.push(("index.html".to_owned(), legal(&draw(analysis, &figures))));
    all
}

fn draw(analysis: &Analysis, figures: &[Figure]) -> Markup {
    let body = html! {
        header { h1 { "Stability of dccc" } (strip(analysis)) }
        main {
            section {
                h2 { (text::describe(&analysis.setting)) }
                p.source { "Source: " (SOURCE) }
                p.note { (text::poles(&analysis.setting)) }
                h3 { "Margins" }
                (table(analysis))
                p.note { (HOW_TO_READ) }
                @if let Some(simulation) = &analysis.simulation { p.note { (text::ends(simulation)) } }
                div.charts {
                    @for figure in figures { (section::only_figure(figure)) }
                }
            }
        }
        footer { p { "Ackclock " (env!("CARGO_PKG_VERSION")) ". The frequency response is in " a href="response.csv" { "response.csv" } "." } }
    };
    page::frame("Stability of dccc", "", &body)
}

const HOW_TO_READ: &str = "The paper's equation 46 describes a controller that acts continuously. The implementation acts \
once per RTT, as equation 26 describes. This adds half an RTT of delay to the loop, so its margins are smaller. The largest \
stable gain is the largest stable kr RTT; changing the gain also moves the second pole. The gain margin is computed with the \
second pole fixed.";

/// Draws the verdict and the margins of the loop that runs.
fn strip(analysis: &Analysis) -> Markup {
    let Analysis { continuous, sampled, setting, .. } = analysis;
    let rtt = setting.rtt.as_secs_f64();
    let class = |m: &Margins| if m.is_stable() { "holds" } else { "unexpected" };
    let phase = sampled.phase_margin.map_or("none".to_owned(), |m| format!("{:.1}°", degrees(m)));
    let delay =
        sampled.delay_margin.map_or("none".to_owned(), |m| format!("{} ms", text::short(m * rtt * 1e3)));
    let largest = sampled.largest_gain.map_or("any".to_owned(), |gain| format!("{gain:.3}"));
    html! {
        ul.strip {
            li class=(class(sampled)) { b { (text::verdict(sampled)) } "with one update per RTT" }
            li class=(class(continuous)) { b { (text::verdict(continuous)) } "if it acted continuously" }
            li { b { (largest) } "largest stable gain; here " (setting.gain) }
            li { b { (phase) } "phase margin" }
            li { b { (delay) } "delay margin" }
        }
    }
}

fn table(analysis: &Analysis) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table.numbers {
                thead { tr { th {} th scope="col" { "continuous, equation 46" } th scope="col" { "once per RTT, equation 26" } } }
                tbody {
                    @for row in text::rows(analysis) {
                        tr { th scope="row" { (row.name) } @for value in &row.values { td { (value) } } }
                    }
                }
            }
        }
    }
}

/// Returns the frequency response of both loops as CSV: 100 points per decade, and more around the
/// crossovers.
fn response(analysis: &Analysis) -> String {
    let rtt = analysis.setting.rtt.as_secs_f64();
    let mut out = "loop,omega_rad_s,gain,gain_db,phase_degrees,real,imaginary\n".to_owned();
    for (name, updates, margins) in
        [("continuous", None, analysis.continuous), ("sampled", Some(1), analysis.sampled)]
    {
        let open = analysis.setting.open_loop(updates);
        let high = open.top().min(60.0);
        let low = (open.gain * open.price / 10.0).min(1e-2);
        let mut all: Vec<f64> = frequencies(low, high, 0.023).collect();
        let crossovers = margins.gain_crossover.into_iter().chain([margins.phase_crossover]);
        all.extend(crossovers.flat_map(|w| frequencies(0.95 * w, 1.05 * w, 1e-3)).filter(|w| *w <= high));
        all.sort_by(f64::total_cmp);
        for w in all {
            let (g, phase) = (open.at(w), degrees(open.phase(w)));
            let (gain, db) = (g.norm(), text::decibels(g.norm()));
            let _ = writeln!(
                out,
                "{name},{:.6e},{gain:.6e},{db:.4},{phase:.4},{:.6e},{:.6e}",
                w / rtt,
                g.re,
                g.im
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use units::{Duration, Rate};

    use super::*;
    use stability::Setting;

    fn analysis(gain: f64, links: u32, rate: u64) -> Analysis {
        let (rtt, h) = (Duration::from_millis(100), Rate(20_000));
        Setting { rtt, one_way_delay: None, rate: Rate(rate), links, gain, h, beta: 0.1 }.analyse()
    }

    /// Pages are well-formed and have numbers for stable and unstable loops and for the lowest
    /// rates.
    #[test]
    fn every_page_is_well_formed() {
        for (gain, links, rate) in
            [(0.4, 1, 1_000_000), (1.2, 3, 1_000_000), (10.0, 1000, u64::MAX), (1e-9, 1, 200_001)]
        {
            let analysis = analysis(gain, links, rate);
            let figures = chart::draw_loops(&analysis);
            for svg in figures.iter().map(|f| f.standalone().0) {
                super::super::tests::texts_stay_inside("stability", &svg);
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{gain} {rate}");
            }
            let page = draw(&analysis, &figures).0.replace("<!DOCTYPE html>", "");
            assert!(page.contains("unstable closed-loop poles") && !page.contains("NaN"));
        }
    }

    /// Every row of the response has the columns of the header, and the crossover is among the
    /// rows.
    #[test]
    fn response_in_numbers() {
        let text = response(&analysis(0.4, 1, 1_000_000));
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<(String, [f64; 6])> = rows.deserialize().map(Result::unwrap).collect();
        for name in ["continuous", "sampled"] {
            let all = || rows.iter().filter(|r| r.0 == name).map(|r| r.1);
            assert!(all().any(|r| (r[1] - 1.0).abs() < 1e-3), "{name}: no row near |G| = 1");
            assert!(all().all(|r| (r[1] - r[4].hypot(r[5])).abs() <= 1e-5 * r[1]));
            assert!(all().zip(all().skip(1)).all(|(a, b)| a[0] <= b[0]));
        }
    }
}
