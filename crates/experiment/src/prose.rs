//! Sentences with numbers of the run in them: `{BBRv2: rtt_mean}` in a reason or a note becomes what the table has.
//!
//! ```text
//! {row: metric}                     ours, with the table's decimals
//! {row: published metric}           the source's
//! {row: metric | variant}           in another variant: a pattern with `*`, the first that matches
//! ```
//!
//! Without a variant it is the one whose table the sentence stands under, or the first of the reference.

use crate::metric::Metric;
use crate::row::RowLabel;

/// A number that a sentence asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<'t> {
    /// The row.
    pub row: RowLabel,
    /// The metric.
    pub metric: Metric,
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
    Some(Place { row: row.trim().into(), metric: metric.into(), published: published.is_some(), variant })
}

/// What a sentence says itself, between the numbers that it asks for.
pub fn texts(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| if let Piece::Text(text) = piece { Some(text) } else { None })
}

/// The numbers that a sentence asks for, or what stands in its braces and asks for none.
pub fn places(text: &str) -> impl Iterator<Item = Result<Place<'_>, &str>> {
    pieces(text).filter_map(|piece| if let Piece::Number(place) = piece { Some(place) } else { None })
}

/// The sentence with its numbers, as `number` writes them.
pub fn fill(text: &str, number: impl Fn(&Place<'_>) -> Option<String>) -> String {
    let shown = |piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Number(Ok(place)) => number(&place).unwrap_or_else(|| "(no value)".to_owned()),
        // Files have none of these; a note that quotes `--set` has what was given there.
        Piece::Number(Err(inside)) => format!("{{{inside}}}"),
    };
    pieces(text).map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_what_asks_for_nothing() {
        let number = |place: &Place<'_>| {
            let published = if place.published { "published" } else { "ours" };
            (place.row == "BBR: 2").then(|| format!("{published} {} {:?}", place.metric, place.variant))
        };
        assert_eq!(fill("{BBR: 2: rtt_mean} ms", number), "ours rtt_mean None ms");
        assert_eq!(fill("{BBR: 2: published loss | *64 kB}", number), "published loss Some(\"*64 kB\")");
        assert_eq!(fill("nothing to fill, 5 ms", number), "nothing to fill, 5 ms");
        assert_eq!(fill("{A: loss} and {x}", number), "(no value) and {x}");
        assert_eq!(places("a {x} {r: m}").filter(Result::is_err).count(), 1);
    }
}
