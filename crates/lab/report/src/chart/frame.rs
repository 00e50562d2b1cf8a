//! The frame of every chart: a legend, plots below each other, the names of the axes, and remarks.
//! Kinds of charts only add their marks.

use maud::{Markup, html};

use super::axis::Scale;
use super::svg::{self, Anchor, Figure, SMALL, TEXT};
use crate::colours::{INK, MUTED};
use crate::styles::Style;
use experiment::print::Legend;

/// Space on the left of a plot for the labels of its y axis, and on its right.
const SIDES: (f64, f64) = (50.0, 14.0);
/// Largest share of the width for a legend beside the plots.
const MOST_LEGEND: f64 = 0.45;
/// Height of a line of text under a chart.
const REMARK: f64 = 14.0;

/// A figure while it is drawn, from the top down.
pub(super) struct Frame {
    pub(super) width: f64,
    /// Left and right end of the plots.
    pub(super) sides: (f64, f64),
    /// Lower end of what is drawn.
    pub(super) bottom: f64,
    drawn: Vec<Markup>,
    /// Legend below the plots, or on their right.
    legend: Option<Aside>,
}

/// Width of a figure and position of its legend.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) legend: Legend,
}

impl From<f64> for Layout {
    fn from(width: f64) -> Self {
        Self { width, legend: Legend::Top }
    }
}

/// A legend that is not above the plots.
struct Aside {
    entries: Markup,
    /// Width that it takes from the plots.
    width: f64,
    height: f64,
}

/// A pair of scales on their pixels.
pub(super) struct Plot {
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl Plot {
    /// Returns the pixels of a point.
    pub(super) fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x.at(x), self.y.at(y))
    }

    /// Returns the upper and the lower end.
    pub(super) fn span(&self) -> (f64, f64) {
        (self.y.right(), self.y.left())
    }

    /// Returns the left and the right end. The x axis may fall to the right.
    pub(super) fn sides(&self) -> (f64, f64) {
        (self.x.left().min(self.x.right()), self.x.left().max(self.x.right()))
    }

    /// Draws the grid with the labels of y, and those of x if asked.
    pub(super) fn grid(&self, with_labels: bool) -> Markup {
        let ((top, bottom), (left, right)) = (self.span(), self.sides());
        html! {
            (svg::grid_x(&self.x, top, bottom, with_labels))
            (svg::grid_y(&self.y, left, right))
        }
    }

    /// Draws the x axis.
    pub(super) fn axis(&self) -> Markup {
        let (left, right) = self.sides();
        svg::x_axis_line(left, right, self.y.left())
    }

    /// Groups what is drawn on the scales, for the page's script.
    pub(super) fn group(&self, inner: &Markup) -> Markup {
        svg::plot_at(&self.x, &self.y, &[], inner)
    }
}

impl Frame {
    pub(super) fn new(width: f64) -> Self {
        Self { width, sides: (SIDES.0, width - SIDES.1), bottom: 0.0, drawn: Vec::new(), legend: None }
    }

    /// Creates a frame with a legend.
    pub(super) fn with_legend(layout: impl Into<Layout>, entries: &[(&str, &Style)], weight: f64) -> Self {
        let Layout { width, legend } = layout.into();
        let aside =
            if legend == Legend::Right { svg::legend_width(entries).min(MOST_LEGEND * width) } else { 0.0 };
        let frame = Self::new(width - aside);
        let space = if legend == Legend::Right { aside } else { width };
        let (entries, height) = svg::legend(space, 4.0, entries, weight);
        match legend {
            Legend::None => frame,
            Legend::Top => Self { bottom: height, drawn: vec![entries], ..frame },
            Legend::Bottom | Legend::Right => {
                Self { legend: Some(Aside { entries, width: aside, height }), ..frame }
            }
        }
    }

    /// Creates a frame with a text instead of a chart.
    pub(super) fn placeholder(width: f64, why: &str) -> Self {
        Self { bottom: 50.0, drawn: vec![svg::placeholder(width, 30.0, why)], ..Self::new(width) }
    }

    pub(super) fn draw(&mut self, part: Markup) {
        self.drawn.push(part);
    }

    /// Places a plot of this height below what is drawn and a space.
    pub(super) fn plot(&mut self, space: f64, height: f64, x: &Scale, y: &Scale) -> Plot {
        let top = self.bottom + space;
        self.bottom = top + height;
        Plot { x: x.on(self.sides.0, self.sides.1), y: y.on(self.bottom, top) }
    }

    /// Draws the name of the x axis and remarks under the lowest plot.
    pub(super) fn foot(&mut self, x_name: &str, remarks: &[String]) {
        self.x_name(33.0, x_name);
        self.remarks(42.0, remarks);
    }

    /// Draws the names of both axes of the only plot, and a remark.
    pub(super) fn axes(&mut self, plot: &Plot, [x_name, y_name]: [&str; 2], remark: Option<&str>) {
        self.x_name(33.0, x_name);
        self.y_name(plot.span(), y_name);
        self.remarks(42.0, &remark.map(str::to_owned).into_iter().collect::<Vec<_>>());
    }

    /// Draws the name of the x axis at this distance below the lowest plot.
    pub(super) fn x_name(&mut self, below: f64, name: &str) {
        let middle = f64::midpoint(self.sides.0, self.sides.1);
        self.draw(svg::text(middle, self.bottom + below, TEXT, INK, Anchor::Middle, name));
    }

    /// Draws the name of the y axis, beside the middle of the plots.
    pub(super) fn y_name(&mut self, (top, bottom): (f64, f64), name: &str) {
        self.draw(svg::y_axis_name(top, bottom, name));
    }

    /// Draws remarks below a space, each on a line of its own.
    pub(super) fn remarks(&mut self, space: f64, remarks: &[String]) {
        self.bottom += space;
        let space = (self.width - 8.0) / svg::TOO_WIDE;
        let wrapped = |remark: &String| svg::wrapped(remark, space).unwrap_or_else(|| vec![remark.clone()]);
        let lines: Vec<String> = remarks.iter().flat_map(wrapped).collect();
        for (i, line) in lines.iter().enumerate() {
            let y = self.bottom + 8.0 + REMARK * i as f64;
            self.draw(svg::text(8.0, y, SMALL, MUTED, Anchor::Start, line));
        }
        self.bottom += if lines.is_empty() { 0.0 } else { 4.0 + REMARK * lines.len() as f64 };
    }

    /// Places the legend that is not above the plots.
    fn with_aside(mut self) -> Self {
        let Some(Aside { entries, width, height }) = self.legend.take() else { return self };
        let place = if width > 0.0 { (self.width, 4.0) } else { (0.0, self.bottom) };
        self.width += width;
        self.bottom = (place.1 + height).max(self.bottom);
        let shift = format!("translate({} {})", svg::px(place.0), svg::px(place.1));
        self.draw(html! { g transform=(shift) { (entries) } });
        self
    }

    /// Returns the finished figure. The name of a variant may be empty.
    pub(super) fn figure(self, kind: impl Into<String>, title: &str, variant: &str) -> Figure {
        let this = self.with_aside();
        Figure {
            kind: kind.into(),
            title: title.to_owned(),
            variant: variant.to_owned(),
            width: this.width,
            height: this.bottom,
            unit: None,
            body: html! { @for part in this.drawn { (part) } },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_stand_below_each_other_above_names_and_remarks() {
        let scale = Scale::exact(0.0, 10.0, 5);
        let mut frame = Frame::new(430.0);
        let first = frame.plot(10.0, 100.0, &scale, &scale);
        let second = frame.plot(20.0, 50.0, &scale, &scale);
        assert_eq!([first.span(), second.span()], [(10.0, 110.0), (130.0, 180.0)]);
        assert_eq!((first.sides(), first.at((0.0, 10.0))), ((50.0, 416.0), (50.0, 10.0)));
        frame.foot("Time (s)", &["One.".to_owned(), "Two.".to_owned()]);
        let figure = frame.figure("kind", "Title", "a = 1");
        assert_eq!((figure.height, figure.name().as_str()), (254.0, "Title (a = 1)"));
        let body = figure.body.0;
        let at = |words: &str| body.find(words).unwrap_or_else(|| panic!("{words}: {body}"));
        assert!(at("y=\"213\"") < at("y=\"230\"") && at("One.") < at("y=\"244\""));
    }

    #[test]
    fn a_legend_stands_where_it_is_asked_for() {
        let style = Style::nth(0);
        let scale = Scale::exact(0.0, 10.0, 5);
        let drawn = |legend| {
            let mut frame =
                Frame::with_legend(Layout { width: 300.0, legend }, &[("CUBIC", &style)], svg::PIECE);
            let plot = frame.plot(10.0, 100.0, &scale, &scale);
            frame.foot("Time (s)", &[]);
            let figure = frame.figure("kind", "T", "");
            assert_eq!(figure.width, 300.0);
            (plot.span().0, plot.sides().1, figure.height, figure.body.0)
        };
        let (top, bottom) = (drawn(Legend::Top), drawn(Legend::Bottom));
        assert!((top.0, top.1, top.2) == (30.0, 286.0, 172.0) && top.3.contains("CUBIC"), "{top:?}");
        assert!((bottom.0, bottom.1, bottom.2) == (10.0, 286.0, 172.0), "{bottom:?}");
        assert!(bottom.3.contains("<g transform=\"translate(0 152)\">"), "{}", bottom.3);
        let right = drawn(Legend::Right);
        // The name has 5 letters of 12 pixels, and the sample and its distances take 50.
        let taken = 50.0 + svg::text_width("CUBIC", TEXT);
        assert!((right.0, right.2) == (10.0, 152.0) && (right.1 - (286.0 - taken)).abs() < 1e-9, "{right:?}");
        let none = drawn(Legend::None);
        assert!((none.0, none.1, none.2) == (10.0, 286.0, 152.0) && !none.3.contains("CUBIC"), "{none:?}");
    }

    #[test]
    fn an_axis_that_falls_to_the_right_has_the_same_sides() {
        let scale = Scale::exact(0.0, 10.0, 5);
        let plot = Plot { x: scale.on(416.0, 50.0), y: scale.on(100.0, 0.0) };
        assert_eq!(plot.sides(), (50.0, 416.0));
    }
}
