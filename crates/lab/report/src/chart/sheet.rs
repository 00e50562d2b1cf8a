//! Combines the figures of several variants: below each other in a column, in pairs across a page.

use maud::{Markup, html};

use super::Source;
use super::svg::{self, Anchor, Figure, TEXT, WIDE, WIDTH};

/// Height of a variant's name above its panel.
const NAME: f64 = 22.0;

/// Combines figures into one. An empty list stays empty.
pub(super) fn combine(source: &Source<'_>, figures: Vec<Figure>) -> Vec<Figure> {
    let Some(first) = figures.first() else { return figures };
    let (kind, title) = (first.kind.clone(), first.title.clone());
    let width = source.width.max(first.width);
    let columns = if width > WIDTH && first.width <= WIDTH { 2 } else { 1 };
    let mut top = 0.0;
    let mut drawn: Vec<Markup> = Vec::new();
    for row in figures.chunks(columns) {
        for (i, figure) in row.iter().enumerate() {
            drawn.push(panel(figure, i as f64 * (WIDE - WIDTH), top));
        }
        top += NAME + row.iter().map(|figure| figure.height).fold(0.0, f64::max) + 8.0;
    }
    let body = html! { @for panel in drawn { (panel) } };
    vec![Figure { kind, title, variant: String::new(), width, height: top, unit: None, body }]
}

/// Draws a figure as a panel. Its plots keep their own pixels.
fn panel(figure: &Figure, left: f64, top: f64) -> Markup {
    let (width, height) = (svg::px(figure.width), svg::px(figure.height));
    let frame = format!("0 0 {width} {height}");
    html! {
        (svg::label(left + 8.0, top + 16.0, TEXT, Anchor::Start, figure.width - 16.0, &figure.variant))
        svg class="panel" x=(svg::px(left)) y=(svg::px(top + NAME)) width=(width) height=(height) viewBox=(frame) {
            // The pointer is over the panel even where nothing is drawn.
            rect width=(width) height=(height) fill="none" pointer-events="all" {}
            (figure.body)
        }
    }
}
