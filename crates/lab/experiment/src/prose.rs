//! Sentences with placeholders for numbers of the run. `{BBRv2: rtt_mean}` in a reason or a note
//! becomes the number in the table.
//!
//! ```text
//! {row: metric}                     our number, with the table's decimals
//! {row: published metric}           the source's number
//! {row: metric | variant}           in another variant: a pattern with `*`, the first that matches
//! ```
//!
//! Without a variant, the number comes from the table above the sentence, or from the first
//! reference variant.

use crate::metric::Metric;
use crate::row::RowLabel;

/// A number that a sentence refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<'t> {
    pub row: RowLabel,
    pub metric: Metric,
    /// Whether it is the source's number instead of ours.
    pub published: bool,
    /// Pattern of the variant, if it is another one.
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

/// Returns the literal parts of a sentence, between its placeholders.
pub fn texts(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| if let Piece::Text(text) = piece { Some(text) } else { None })
}

/// Returns the placeholders of a sentence. An error holds the text in braces that is not a valid
/// placeholder.
pub fn places(text: &str) -> impl Iterator<Item = Result<Place<'_>, &str>> {
    pieces(text).filter_map(|piece| if let Piece::Number(place) = piece { Some(place) } else { None })
}

/// Fills the placeholders of a sentence with the results of `number`.
pub fn fill(text: &str, number: impl Fn(&Place<'_>) -> Option<String>) -> String {
    let shown = |piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Number(Ok(place)) => number(&place).unwrap_or_else(|| "(no value)".to_owned()),
        // Checked files have no invalid placeholders, but a note that quotes `--set` may contain
        // braces.
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
