//! `ackclock list --results`: lists every results folder below a root.

use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;

use crate::commands::folders::{AGAIN, NO_RESULTS, unlisted};
use crate::status::{Error, HOLDS, MISS, print, width};
use questions::text::cut;
use results::ledger::Claims;
use results::store::{self, Entry, State};

/// A line of the list.
#[derive(Serialize)]
struct Line<'a> {
    experiment: &'a str,
    id: &'a str,
    path: &'a Path,
    /// World: `sim`, `stack` or `wire`.
    on: Option<&'static str>,
    /// Time of the last change.
    modified: Option<String>,
    /// Version of Ackclock.
    version: Option<&'a str>,
    commit: Option<&'a str>,
    /// Cases times repetitions; for an unfinished study, the number of finished runs.
    runs: Option<usize>,
    repetitions: Option<u32>,
    claims: Option<Counts>,
    bytes: u64,
    /// `whole`, `no-sums`, `damaged` or `partial`.
    state: &'static str,
    /// The damage, if there is any.
    problem: Option<&'a str>,
}

/// Number of claims, and of those with each verdict.
#[derive(Serialize)]
struct Counts {
    all: usize,
    #[serde(flatten)]
    claims: Claims,
}

impl<'a> Line<'a> {
    fn new(entry: &'a Entry) -> Self {
        let Entry { experiment, id, dir, bytes, modified, manifest, summary, state } = entry;
        let (runs, repetitions) = match (manifest, state) {
            (_, State::Unfinished(kept)) => (Some(*kept), None),
            (Some(manifest), _) => (Some(manifest.runs()), Some(manifest.repetitions)),
            (None, _) => (None, None),
        };
        let (state, problem) = match state {
            State::Whole => ("whole", None),
            State::Unsummed => ("no-sums", None),
            State::Damaged(problem) => ("damaged", Some(problem.as_str())),
            State::Unfinished(_) => ("partial", None),
        };
        Self {
            experiment,
            id,
            path: dir,
            on: manifest.as_ref().map(|manifest| manifest.world.word()),
            modified: modified.map(time),
            version: manifest.as_ref().map(|manifest| manifest.version.as_str()),
            commit: manifest.as_ref().map(|manifest| manifest.commit.as_str()),
            runs,
            repetitions,
            claims: summary.as_ref().map(|summary| {
                let claims = Claims::count(&summary.claims);
                Counts { all: claims.all(), claims }
            }),
            bytes: *bytes,
            state,
            problem,
        }
    }

    /// Formats the line for this width. The experiment's name gets the columns that the others
    /// leave.
    fn text(&self, width: usize) -> String {
        let claims = match &self.claims {
            Some(Counts { all, claims }) if *all > 0 => {
                format!("{}/{}/{}", claims.holds, claims.partly + claims.within_spread, claims.missed)
            }
            Some(_) => "none".to_owned(),
            None => String::new(),
        };
        // A narrow screen has no room for the year.
        let digits = if width < NARROW { 5..10 } else { 0..10 };
        let date = self.modified.as_deref().and_then(|time| time.get(digits)).unwrap_or_default();
        let runs = self.runs.map_or_else(String::new, |runs| runs.to_string());
        let size = size(self.bytes);
        let end = self.problem.map_or_else(
            || format!("{claims:>8} {size:>6} {}", self.state),
            |problem| format!("{}: {problem}", self.state),
        );
        row(self.experiment, self.id, self.on.unwrap_or(""), date, &runs, &end, width)
    }
}

/// Smallest width with room for a whole date.
const NARROW: usize = 90;
/// Width of the state column.
const STATE: usize = "damaged".len();

fn row(name: &str, id: &str, on: &str, date: &str, runs: &str, end: &str, width: usize) -> String {
    let digits = if width < NARROW { 5 } else { 10 };
    let fixed = format!(" {id:12} {on:4} {date:digits$} {runs:>5} ");
    let room = width.saturating_sub(fixed.len() + 8 + 1 + 6 + 1 + STATE).max(8);
    cut(&format!("{:room$}{fixed}{end}", cut(name, room)), width) + "\n"
}

/// Prints the list. The exit status is 1 if something is damaged.
pub(crate) fn run(dir: &Path, json: bool) -> Result<u8, Error> {
    let all = store::index(dir).map_err(|e| unlisted(dir, &e))?;
    if all.is_empty() {
        return Err(Error::bad(format!("{}: {NO_RESULTS}", dir.display())));
    }
    let lines: Vec<Line<'_>> = all.iter().map(Line::new).collect();
    let damaged = lines.iter().any(|line| line.problem.is_some());
    if json {
        print(&(serde_json::to_string_pretty(&lines).map_err(Error::bad)? + "\n"));
    } else {
        let end = format!("{:>8} {:>6} state", "claims", "size");
        print(&row("experiment", "id", "on", "date", "runs", &end, width()));
        lines.iter().for_each(|line| print(&line.text(width())));
        print(&foot(&lines));
    }
    Ok(if damaged { MISS } else { HOLDS })
}

fn foot(lines: &[Line<'_>]) -> String {
    let count = |state: &str| lines.iter().filter(|line| line.state == state).count();
    let parts = [
        ("whole", "complete with matching checksums"),
        ("no-sums", "without checksums, from an older version"),
        ("damaged", "damaged"),
        ("partial", "unfinished"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(state, _)| count(state) > 0)
        .map(|(state, words)| format!("{} {words}", count(state)))
        .collect();
    let bytes = size(lines.iter().map(|line| line.bytes).sum());
    let problem = |line: &Line<'_>| {
        let text = format!("{}: {}; {AGAIN}", line.path.display(), line.problem?);
        Some(textwrap::fill(&text, textwrap::Options::new(width()).subsequent_indent("  ")) + "\n")
    };
    let problems: String = lines.iter().filter_map(problem).collect();
    format!("claims: holds / partly, or within the spread / fails\n{}; {bytes}\n{problems}", parts.join(", "))
}

/// Formats a time in UTC, to the second.
fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string()
}

/// Formats a size with two or three digits and a unit.
fn size(bytes: u64) -> String {
    let (value, unit) = match bytes as f64 {
        b if b >= 1e9 => (b / 1e9, "GB"),
        b if b >= 1e6 => (b / 1e6, "MB"),
        b => (b / 1e3, "kB"),
    };
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_digits_or_more() {
        for (bytes, text) in [
            (0, "0.0 kB"),
            (9_949, "9.9 kB"),
            (9_950, "10 kB"),
            (999_000, "999 kB"),
            (3_200_000_000, "3.2 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn a_line_keeps_its_width() {
        let line =
            row(&"quic-dc-testbed/".repeat(5), "0123456789ab", "wire", "11-23", "270", "damaged: x", 80);
        assert!(
            line.trim_end().chars().count() <= 80 && line.contains("0123456789ab wire 11-23   270 damaged"),
            "{line}"
        );
    }
}
