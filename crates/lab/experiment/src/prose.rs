//! Sentences with placeholders for numbers of the run. `{BBRv2: rtt_mean}` in a reason or a note
//! becomes the number in the table.
//!
//! ```text
//! {row: metric}                     our number, with the table's decimals
//! {row: published metric}           the source's number
//! {row: metric | variant}           in another variant: a pattern with `*`, the first that matches
//! {row: metric > 0.95}              with the bound that the sentence around it asserts, or `< 0.95`
//! ```
//!
//! Without a variant, the number comes from the table above the sentence, or from the first
//! reference variant. A number beyond its bound is followed by [`BROKEN`], which `cargo xtask prose`
//! reports.

use std::cmp::Ordering;

use crate::metric::Metric;
use crate::row::RowLabel;

/// Mark after a number that breaks the bound of its sentence.
pub const BROKEN: &str = "(the sentence expects ";

/// A number that a sentence refers to.
#[derive(Clone, Debug, PartialEq)]
pub struct Place<'t> {
    pub row: RowLabel,
    pub metric: Metric,
    /// Whether it is the source's number instead of ours.
    pub published: bool,
    /// Pattern of the variant, if it is another one.
    pub variant: Option<&'t str>,
    /// Side and limit that the sentence asserts: greater or less than a number.
    pub bound: Option<(Ordering, f64)>,
}

impl Place<'_> {
    /// Returns the value with its decimals, followed by a mark if it breaks the bound.
    pub fn shown(&self, value: f64) -> String {
        let decimals =
            if self.published { self.metric.published_decimals(value) } else { self.metric.decimals(value) };
        let text = format!("{value:.decimals$}");
        match self.bound {
            Some((side, limit)) if value.partial_cmp(&limit) != Some(side) => {
                let word = if side == Ordering::Less { "less" } else { "more" };
                format!("{text} {BROKEN}{word} than {limit})")
            }
            _ => text,
        }
    }
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
    let (metric, bound) = bound(published.unwrap_or(metric))?;
    let (row, metric) = (row.trim().into(), metric.trim().into());
    Some(Place { row, metric, published: published.is_some(), variant, bound })
}

/// Splits a metric from its bound. Returns `None` for a bound without a number.
fn bound(metric: &str) -> Option<(&str, Option<(Ordering, f64)>)> {
    let sides = [(" > ", Ordering::Greater), (" < ", Ordering::Less)];
    let found = sides.into_iter().find_map(|(sign, side)| Some((metric.split_once(sign)?, side)));
    let Some(((metric, limit), side)) = found else { return Some((metric, None)) };
    let limit: f64 = limit.trim().parse().ok()?;
    limit.is_finite().then_some((metric, Some((side, limit))))
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
        Piece::Number(Ok(place)) => number(&place).unwrap_or_else(|| match place.bound {
            Some((_, limit)) => format!("(no value) {BROKEN}one beyond {limit})"),
            None => "(no value)".to_owned(),
        }),
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

    /// A word like "fair" has a bound, so that a number that contradicts it is marked.
    #[test]
    fn a_number_beyond_its_bound_is_marked() {
        let text = |value: f64, text: &str| fill(text, |place| Some(place.shown(value)));
        assert_eq!(text(0.99, "fair ({D*: jain > 0.95 | path = a})"), "fair (0.990)");
        assert_eq!(
            text(0.795, "fair ({D*: jain > 0.95 | path = a})"),
            "fair (0.795 (the sentence expects more than 0.95))"
        );
        assert!(text(0.5, "{D*: published jain < 0.5}").contains(BROKEN), "equal is not less");
        assert!(!text(0.4, "{D*: published jain < 0.5}").contains(BROKEN));
        assert!(text(f64::NAN, "{D*: jain > 0}").contains(BROKEN));
        assert!(fill("{A: completion > 0.95}", |_| None).contains(BROKEN), "no value keeps no bound");
        assert_eq!(places("{A: jain > nan}{A: jain < -1e400}").filter(Result::is_err).count(), 2);
        assert_eq!(places("{D*: jain > much} {D*: jain}").filter(Result::is_err).count(), 1);
    }
}
