//! Sentences with numbers of the run in them: `{BBRv2: rtt_mean}` in a reason or a note becomes what the table has.
//!
//! ```text
//! {row: metric}                     ours, with the table's decimals
//! {row: published metric}           the source's
//! {row: metric | variant}           in another variant: a pattern with `*`, the first that matches
//! ```
//!
//! Without a variant it is the one whose table the sentence stands under, or the first of the reference.

use crate::metric;
use crate::summary::Variant;

/// A number that a sentence asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<'t> {
    /// The row's label.
    pub row: &'t str,
    /// The metric.
    pub metric: &'t str,
    /// The source's number, not ours.
    pub published: bool,
    /// A pattern of variants.
    pub variant: Option<&'t str>,
}

/// A piece of a sentence.
enum Piece<'t> {
    Text(&'t str),
    Number(Result<Place<'t>, &'t str>),
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    text.split('{')
        .enumerate()
        .flat_map(|(i, part)| match (i, part.split_once('}')) {
            (0, _) | (_, None) => [Some(Piece::Text(part)), None],
            (_, Some((inside, after))) => {
                [Some(Piece::Number(place(inside).ok_or(inside))), Some(Piece::Text(after))]
            }
        })
        .flatten()
}

fn place(inside: &str) -> Option<Place<'_>> {
    let (what, variant) = inside.split_once(" | ").map_or((inside, None), |(what, v)| (what, Some(v.trim())));
    let (row, metric) = what.rsplit_once(": ")?;
    let published = metric.strip_prefix("published ");
    let metric = published.unwrap_or(metric).trim();
    Some(Place { row: row.trim(), metric, published: published.is_some(), variant })
}

/// The numbers that a sentence asks for, or what stands in its braces and asks for none.
pub fn places(text: &str) -> impl Iterator<Item = Result<Place<'_>, &str>> {
    pieces(text).filter_map(|piece| if let Piece::Number(place) = piece { Some(place) } else { None })
}

/// The sentence with its numbers. `matches` says whether a pattern means a variant.
pub fn fill(text: &str, here: &Variant, all: &[Variant], matches: impl Fn(&str, &str) -> bool) -> String {
    let number = |place: Place<'_>| {
        let variant = match place.variant {
            None => Some(here),
            Some(pattern) => all.iter().find(|variant| matches(pattern, &variant.name)),
        };
        let cell = variant?.rows.iter().find(|row| row.label == place.row)?.cells.get(place.metric)?;
        let value = if place.published { cell.published? } else { cell.value() };
        Some(format!("{value:.*}", metric::decimals(place.metric, value)))
    };
    let shown = |piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Number(place) => place.ok().and_then(number).unwrap_or_else(|| "(no value)".to_owned()),
    };
    pieces(text).map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Cell, Row};

    fn variant(name: &str, value: f64) -> Variant {
        let cell = Cell {
            mean: value,
            spread: None,
            runs: None,
            shown: None,
            published: Some(102.33),
            reason: None,
            open: false,
        };
        let row = Row {
            label: "BBR: 2".to_owned(),
            algorithm: "bbr2".to_owned(),
            cells: [("rtt_mean".to_owned(), cell)].into_iter().collect(),
            trust: None,
        };
        Variant { name: name.to_owned(), reference: true, rows: vec![row], biases: Vec::new() }
    }

    #[test]
    fn numbers_come_from_the_run() {
        let all = [variant("queue", 52.567), variant("queue+delay", 51.0)];
        let filled = |text: &str| fill(text, &all[0], &all, |pattern, name| pattern == name);
        assert_eq!(filled("{BBR: 2: rtt_mean} for {BBR: 2: published rtt_mean} ms"), "52.57 for 102.33 ms");
        assert_eq!(filled("{BBR: 2: rtt_mean | queue+delay} ms"), "51.00 ms");
        assert_eq!(filled("nothing to fill, 5 ms"), "nothing to fill, 5 ms");
        assert_eq!(filled("{BBR: 2: loss} and {x}"), "(no value) and (no value)");
        assert_eq!(places("a {x} {r: m}").filter(Result::is_err).count(), 1);
    }
}
