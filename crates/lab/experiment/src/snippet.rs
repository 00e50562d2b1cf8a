//! Renders a line of a file with a caret below the problem.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::printable::printable;
use crate::text::{Place, boundary};

/// Columns kept on each side of the problem. Longer lines are cut before rendering.
const AROUND: usize = 500;

/// Renders the line within `columns`, with escape codes if `colour` is set. Returns `None` if no
/// part of a line is at fault.
pub(crate) fn draw(place: &Place, columns: usize, colour: bool) -> Option<String> {
    let (line, span) = place.first_line()?;
    let [before, blamed, after] = cut(line, span).map(printable);
    let blame = AnnotationKind::Primary.span(before.len()..before.len() + blamed.len());
    let line = [before, blamed, after].concat();
    let snippet = Snippet::source(line).line_start(place.line()).annotation(blame);
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() }.term_width(columns);
    let drawn = renderer.render(&[Group::with_level(Level::ERROR).element(snippet)]);
    Some(drawn.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"))
}

/// Splits a line into the text before, inside and after the span, each of bounded length.
fn cut(line: &str, span: Range<usize>) -> [&str; 3] {
    let from = boundary(line, span.start.saturating_sub(AROUND));
    let end = boundary(line, span.end.min(span.start + AROUND)).max(span.start);
    let to = boundary(line, end + AROUND);
    [&line[from..span.start], &line[span.start..end], &line[end..to]]
}
