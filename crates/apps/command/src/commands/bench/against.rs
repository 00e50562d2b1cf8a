//! Compares two builds in one session. Each round runs every case once with each build, one right
//! after the other, in alternating order. Disturbances of the machine affect both alike.

use std::path::Path;
use std::process::Command;

use super::measure::Figure;
use crate::places;
use crate::status::{Error, HOLDS, print};

/// A case measured with both builds.
struct Pair {
    case: String,
    /// CPU time of this build over that of the other, one for each round.
    ratios: Vec<f64>,
}

/// Compares this build with another, and prints a line for each case.
pub(super) fn run(other: &Path, rounds: u32, cases: &[&str]) -> Result<u8, Error> {
    if places::is_library() {
        return Err(Error::bad("--against: this program is a library; use `ackclock` built by cargo"));
    }
    let this = std::env::current_exe().map_err(Error::bad)?;
    print("CPU time of this build over that of the other: median of the rounds (minimum to maximum)\n");
    for case in cases {
        let mut pair = Pair { case: (*case).to_owned(), ratios: Vec::new() };
        for round in 0..rounds {
            let (mine, others) = if round.is_multiple_of(2) {
                let mine = once(&this, case)?;
                (mine, once(other, case)?)
            } else {
                let others = once(other, case)?;
                (once(&this, case)?, others)
            };
            pair.ratios.push(mine.cpu_seconds / others.cpu_seconds);
        }
        print(&pair.line());
    }
    Ok(HOLDS)
}

/// Runs one case once.
fn once(program: &Path, case: &str) -> Result<Figure, Error> {
    let wrong = |what: &dyn std::fmt::Display| Error::bad(format!("{}: {what}", program.display()));
    let done = Command::new(program).args(["bench", "--tries", "1", "--json", case]).output();
    let done = done.map_err(|e| wrong(&e))?;
    if !done.status.success() {
        let errors = String::from_utf8_lossy(&done.stderr);
        return Err(wrong(&format!(
            "`bench --tries 1 --json \"{case}\"` ended with {}: {}",
            done.status,
            errors.lines().next().unwrap_or("no message")
        )));
    }
    let figures: Vec<Figure> = serde_json::from_slice(&done.stdout).map_err(|e| wrong(&e))?;
    figures
        .into_iter()
        .find(|figure| figure.case == case)
        .ok_or_else(|| wrong(&format!("has no case `{case}`")))
}

impl Pair {
    fn line(&self) -> String {
        let mut sorted = self.ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        format!("{:36} {median:>6.3}  ({least:.3} to {most:.3})\n", self.case)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_ends() {
        let line = |ratios: &[f64]| Pair { case: "x".to_owned(), ratios: ratios.to_vec() }.line();
        assert!(line(&[1.2, 0.9, 1.0]).ends_with("1.000  (0.900 to 1.200)\n"));
        assert!(line(&[1.2, 0.9]).ends_with("1.050  (0.900 to 1.200)\n"));
    }
}
