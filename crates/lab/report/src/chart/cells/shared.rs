//! Values, colours and scales that the panels of a chart of cells share.

use experiment::chart::{Along, Axis, Mark, ScaleKind, Spot};
use experiment::metric::Metric;
use maud::{Markup, html};

use super::allowed;
use super::pen::{Pen, Slot};
use super::value::Value;
use crate::chart::axis::{Scale, extent};
use crate::chart::{Source, sharing};
use crate::distinct::distinct;
use crate::number;
use crate::styles::Style;

/// Settings of a chart of cells.
pub(crate) struct Cells<'a> {
    pub(crate) title: &'a str,
    pub(crate) mark: Mark,
    pub(crate) y_scale: ScaleKind,
    pub(crate) x: &'a Axis,
    pub(crate) metrics: &'a [Metric],
    /// Draw all metrics in the same panels.
    pub(crate) overlaid: bool,
    pub(crate) published: bool,
    pub(crate) spots: &'a [Spot],
}

impl Cells<'_> {
    /// Reports whether the chart is horizontal: names of rows are long and stand on the left.
    pub(crate) fn is_horizontal(&self) -> bool {
        self.x.along == Along::Rows
    }
}

pub(super) struct Entry<'a> {
    /// Name; empty if there is only one colour.
    pub(super) name: String,
    pub(super) style: Style,
    series: &'a str,
}

/// The metrics of a panel, each with the index of its first entry.
pub(super) struct Group<'a> {
    pub(super) metrics: Vec<(&'a Metric, usize)>,
    pub(super) heading: String,
    /// Scale of all panels together.
    scale: Scale,
    /// Scale of each panel, if they are too different for one.
    own: Vec<(Part<'a>, Scale)>,
}

/// The owner of a panel: a variant, if each has its own figure, and a facet.
type Part<'a> = (&'a str, &'a str);

impl Group<'_> {
    /// Returns the scale of a panel.
    pub(super) fn scale_in(&self, variant: &str, facet: &str) -> &Scale {
        let own = self.own.iter().find(|(part, _)| *part == (variant, facet));
        own.map_or(&self.scale, |(_, scale)| scale)
    }
}

/// A value with its place and colour.
pub(super) struct Item<'a> {
    pub(super) entry: usize,
    pub(super) spot: &'a Spot,
    pub(super) metric: &'a Metric,
    pub(super) value: Value,
}

impl Item<'_> {
    /// Returns its place on the axis.
    pub(super) fn at(&self) -> f64 {
        self.spot.at.first().copied().unwrap_or(f64::NAN)
    }
}

pub(super) struct Shared<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) chart: &'a Cells<'a>,
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) groups: Vec<Group<'a>>,
    /// All variants are in one figure.
    pub(super) together: bool,
    /// Any value has a published one to show.
    pub(super) has_published: bool,
}

impl<'a> Shared<'a> {
    pub(super) fn new(source: &'a Source<'a>, chart: &'a Cells<'a>, together: bool) -> Self {
        let (entries, groups) = (entries(source, chart), Vec::new());
        let mut shared = Self { source, chart, entries, groups, together, has_published: false };
        let series = shared.entries.len() / chart.metrics.len().max(1);
        let each = chart.metrics.iter().enumerate();
        let sets: Vec<Vec<(&Metric, usize)>> = if chart.overlaid {
            vec![each.map(|(i, metric)| (metric, i * series)).collect()]
        } else {
            chart.metrics.iter().map(|metric| vec![(metric, 0)]).collect()
        };
        shared.groups = sets.into_iter().map(|metrics| shared.group(metrics)).collect();
        let all = shared.groups.iter().flat_map(|group| shared.items(&shared.every(), group, None));
        shared.has_published = chart.published && all.into_iter().any(|item| item.value.published.is_some());
        shared
    }

    fn every(&self) -> Vec<&'a Spot> {
        self.chart.spots.iter().collect()
    }

    fn group(&self, metrics: Vec<(&'a Metric, usize)>) -> Group<'a> {
        let names: Vec<String> = metrics.iter().map(|(metric, _)| number::metric(metric).label).collect();
        let unit = metrics.first().map_or("", |(metric, _)| metric.unit());
        let mut group = Group {
            metrics,
            heading: number::with_unit(&names.join(", "), unit),
            scale: Scale::exact(0.0, 1.0, 4),
            own: Vec::new(),
        };
        let scaled = |ends: &[f64]| self.scale(ends).in_unit(unit);
        let each: Vec<(Part<'a>, Vec<f64>)> =
            self.parts().into_iter().map(|(part, spots)| (part, self.ends(&spots, &group))).collect();
        let is_apart = sharing::are_apart(each.iter().filter_map(|(_, ends)| extent(ends.iter().copied())));
        if is_apart && self.chart.y_scale == ScaleKind::Linear {
            group.own = each.iter().map(|(part, ends)| (*part, scaled(ends))).collect();
        }
        group.scale = scaled(&each.into_iter().flat_map(|(_, ends)| ends).collect::<Vec<_>>());
        group
    }

    /// Returns the spots of each panel.
    fn parts(&self) -> Vec<(Part<'a>, Vec<&'a Spot>)> {
        let mut parts: Vec<(Part<'a>, Vec<&'a Spot>)> = Vec::new();
        for spot in self.chart.spots {
            let part = (if self.together { "" } else { spot.variant.as_str() }, spot.facet.as_str());
            match parts.iter_mut().find(|(other, _)| *other == part) {
                Some((_, spots)) => spots.push(spot),
                None => parts.push((part, vec![spot])),
            }
        }
        parts
    }

    /// Returns the network's limits in a panel, for lines over a key.
    pub(super) fn allowed(&self, spots: &[&Spot], group: &Group<'_>) -> Vec<allowed::Line> {
        let metrics: Vec<&Metric> = group.metrics.iter().map(|(metric, _)| *metric).collect();
        let is_swept = self.chart.mark == Mark::Line && self.chart.x.words.is_empty();
        if is_swept { allowed::lines(self.source, spots, &metrics) } else { Vec::new() }
    }

    /// Returns the values that the axis must include.
    fn ends(&self, spots: &[&'a Spot], group: &Group<'a>) -> Vec<f64> {
        let items = self.items(spots, group, None);
        let mut ends: Vec<f64> =
            items.iter().flat_map(|item| item.value.ends(self.chart.published)).collect();
        ends.extend(allowed::ends(&self.allowed(spots, group), &ends));
        ends
    }

    fn scale(&self, ends: &[f64]) -> Scale {
        let ends = ends.iter().copied();
        let count = if self.chart.is_horizontal() { 5 } else { 4 };
        match self.chart.y_scale {
            ScaleKind::Log => {
                let (low, high) = extent(ends.filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
                Scale::log(low, high)
            }
            ScaleKind::Linear => {
                let near = self.chart.mark == Mark::Point && self.chart.is_horizontal();
                Scale::values(extent(ends), near, count)
            }
        }
    }

    /// Describes panels with their own scales.
    pub(super) fn own_scales(&self) -> Option<String> {
        let own = self.groups.iter().filter(|group| !group.own.is_empty());
        let facets = distinct(self.chart.spots.iter().map(|spot| spot.facet.as_str())).len();
        let what = if facets > 1 { "panel" } else { "figure" };
        sharing::remark(what, own.map(|group| group.heading.as_str()), self.groups.len())
    }

    /// Returns the values of a panel, colour by colour; without a facet, of all facets.
    pub(super) fn items(&self, spots: &[&'a Spot], group: &Group<'a>, facet: Option<&str>) -> Vec<Item<'a>> {
        let mut items = Vec::new();
        for (metric, first) in &group.metrics {
            let mine = self.entries.iter().enumerate().skip(*first);
            let mine = mine.take(self.entries.len() / self.sharing());
            for (entry, of) in mine {
                let wanted =
                    |spot: &&&Spot| spot.series == of.series && facet.is_none_or(|f| f == spot.facet);
                for spot in spots.iter().filter(wanted) {
                    let value = Value::new(self.source, spot, metric);
                    items.extend(value.map(|value| Item { entry, spot, metric, value }));
                }
            }
        }
        items
    }

    /// Returns the number of metrics per panel.
    fn sharing(&self) -> usize {
        if self.chart.overlaid { self.chart.metrics.len().max(1) } else { 1 }
    }

    /// Returns the style of a value. With a single colour, rows keep their own.
    pub(super) fn style(&self, item: &Item<'_>) -> Style {
        match &self.entries[..] {
            // The name is beside it, so it needs no second sign.
            [_] if self.chart.is_horizontal() => {
                Style { stripes: 0, ..self.source.style(item.spot.row.as_str()) }
            }
            entries => {
                entries.get(item.entry).map_or_else(|| Style::nth(item.entry), |entry| entry.style.clone())
            }
        }
    }

    /// Splits a slot for our value and the published one, if any is shown.
    pub(super) fn slots(&self, slot: Slot) -> (Slot, Slot) {
        if self.has_published { slot.halves() } else { (slot, slot) }
    }

    /// Draws a value with its spread, and the published value beside it. `half` is the half width of
    /// a whisker's end.
    pub(super) fn mark(&self, pen: &Pen<'_>, item: &Item<'_>, slots: (Slot, Slot), half: f64) -> Markup {
        let (style, name, value) = (self.style(item), self.words(item), &item.value);
        let (ours, theirs) = slots;
        html! {
            @if self.chart.mark == Mark::Bar {
                (pen.bar(ours, value.centre, &style, true, &name))
                @if let Some(spread) = value.spread { (pen.whisker(ours.middle, half, spread)) }
            } @else {
                (pen.point(ours.middle, value.centre, value.spread, &style, &name))
            }
            @if let Some(published) = self.published(item) {
                @let name = format!("{} published: {}", item.spot.row, number::valued(item.metric, published));
                (pen.bar(theirs, published, &style, false, &name))
            }
        }
    }

    /// Returns the published value, if the chart shows it.
    pub(super) fn published(&self, item: &Item<'_>) -> Option<f64> {
        item.value.published.filter(|_| self.has_published)
    }

    /// Describes a value: `cubic at 0.5 BDP: 9.2 ± 0.1 Mbit/s`.
    pub(super) fn words(&self, item: &Item<'_>) -> String {
        let axis = self.chart.x;
        let place = match axis.words.get(item.at() as usize) {
            Some(word) => word.clone(),
            None => format!("{} {}", number::plain(item.at()), axis.unit).trim().to_owned(),
        };
        let name = self.entries.get(item.entry).map_or("", |entry| entry.name.as_str());
        let at = match (name.is_empty(), place.is_empty()) {
            (true, _) => place,
            (false, true) => name.to_owned(),
            (false, false) if self.chart.is_horizontal() => format!("{place}, {name}"),
            (false, false) => format!("{name} at {place}"),
        };
        format!("{at}: {}", item.value.words(item.metric)).trim_start_matches(": ").to_owned()
    }
}

/// Returns the colours of series, and of metrics if they share a panel.
fn entries<'a>(source: &Source<'_>, chart: &Cells<'a>) -> Vec<Entry<'a>> {
    let series = series(source, chart.spots);
    if !chart.overlaid {
        let entry = |(name, style): (&'a str, Style)| Entry { name: name.to_owned(), style, series: name };
        return series.into_iter().map(entry).collect();
    }
    let both = chart.metrics.iter().flat_map(|metric| series.iter().map(move |(name, _)| (metric, *name)));
    let name = |label: String, series: &str| match series {
        "" => label,
        series => format!("{label}, {series}"),
    };
    let entry = |(i, (metric, series))| Entry {
        name: name(number::metric(metric).label, series),
        style: Style::nth(i),
        series,
    };
    both.enumerate().map(entry).collect()
}

/// Returns the series with their styles. Series that are rows look the same in all charts.
fn series<'a>(source: &Source<'_>, spots: &'a [Spot]) -> Vec<(&'a str, Style)> {
    let names = distinct(spots.iter().map(|spot| spot.series.as_str()));
    let row =
        |name: &&str| spots.iter().find(|spot| spot.series == **name).map_or("", |spot| spot.row.as_str());
    let rows: Vec<&str> = names.iter().map(row).collect();
    if rows == names {
        return names.into_iter().map(|name| (name, source.style(name))).collect();
    }
    let algorithms: Vec<&str> = rows.iter().map(|row| source.algorithm(row)).collect();
    names.into_iter().zip(source.palette.styles(&algorithms)).collect()
}
