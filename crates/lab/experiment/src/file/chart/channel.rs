//! Reads the channels of a chart: rows, variants and keys of `[vary]`, and on the x axis also time,
//! RTT and metrics.

use crate::chart::Mark;
use crate::diagnostic::{Diagnostic, question};
use crate::file::cursor::{Cursor, Fields};
use crate::file::sweep;
use crate::file::vary::Case;
use crate::quantity::Quantity;

pub(super) use crate::file::sweep::Channel;

/// Meaning of an x axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum X {
    Time,
    Rtt,
    Metric,
    Cells(Channel),
}

const ROW: &str = "row";
const VARIANT: &str = "variant";

/// Reads the x axis. Also returns its word. Without the key, uses the mark's usual axis.
pub(super) fn read_x(fields: &Fields<'_>, mark: Mark, cases: &[Case]) -> Result<(X, String), Diagnostic> {
    let (x, word) = match (fields.get("x"), mark) {
        (Some(at), _) => return read_axis(&at, cases),
        (None, Mark::Line | Mark::Area | Mark::Sequence) => (X::Time, "time"),
        (None, Mark::Bar) => (X::Cells(Channel::Row), ROW),
        (None, Mark::Point) => (X::Rtt, "rtt"),
    };
    Ok((x, word.to_owned()))
}

fn read_axis(at: &Cursor<'_>, cases: &[Case]) -> Result<(X, String), Diagnostic> {
    let word: String = at.read()?;
    let x = match word.as_str() {
        "time" => X::Time,
        "rtt" => X::Rtt,
        text => match named(text, cases) {
            Some(channel) => X::Cells(channel),
            None if is_metric(text) => X::Metric,
            None => return Err(unknown(at, text, cases, &["time", "rtt", ROW, VARIANT])),
        },
    };
    Ok((x, word))
}

/// Reports whether a text looks like a metric. The metric itself is checked where it is used.
fn is_metric(text: &str) -> bool {
    let word = text.split([' ', '@']).next().unwrap_or(text);
    Quantity::find(word).is_some()
}

/// Reads rows, variants, or a key.
pub(super) fn read_channel(at: &Cursor<'_>, cases: &[Case], others: &[&str]) -> Result<Channel, Diagnostic> {
    let word: String = at.read()?;
    named(&word, cases).ok_or_else(|| {
        let own: Vec<&str> = [ROW, VARIANT].iter().chain(others).copied().collect();
        unknown(at, &word, cases, &own)
    })
}

fn named(word: &str, cases: &[Case]) -> Option<Channel> {
    match word {
        ROW => Some(Channel::Row),
        VARIANT => Some(Channel::Variant),
        key => sweep::find(&sweep::keys(cases), key).map(Channel::Key),
    }
}

/// Creates a problem for a word that is neither a channel nor a varied key.
fn unknown(at: &Cursor<'_>, word: &str, cases: &[Case], own: &[&str]) -> Diagnostic {
    let keys = sweep::keys(cases);
    let keys: Vec<&str> = keys.iter().map(sweep::Key::key).collect();
    let known: Vec<&str> = own.iter().copied().chain(keys.iter().copied()).collect();
    let varied = if keys.is_empty() { String::new() } else { format!(" ({})", keys.join(", ")) };
    let own = own.join(", ");
    let right = format!("{}write {own} or a key of [vary]{varied}", question(word, &known));
    at.problem(format!("`{word}` does not vary"), right)
}

/// Reads `facet` of charts with one picture per variant. Returns whether all variants share one
/// picture.
pub(super) fn read_together(fields: &Fields<'_>) -> Result<bool, Diagnostic> {
    let facet = fields.get("facet");
    facet.map_or(Ok(false), |at| at.word("facet", &[(VARIANT, true)]))
}
