//! The plane of RTT and goodput: where the flows of each row are, their mean, and how far they scatter. RTT falls to the
//! right, as papers draw it since Remy: the better, the further up and right.

use experiment::row::RowLabel;
use maud::{Markup, html};

use super::axis::{Scale, extent, is_drawable};
use super::ellipse::Ellipse;
use super::kinds::{Kind, Kinds, distinct};
use super::place::{self, Area};
use super::svg::{self, Anchor, Figure, SMALL, TEXT, WIDTH};
use super::{Source, path, reference, wanted};
use crate::colours::{AXIS, MUTED, PAPER};
use crate::number;
use results::network::{Course, Network};
use results::summary::{FlowRow, Variant};

const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = TOP + 270.0;
/// An axis of RTTs spans at least this share of its highest.
const LEAST_SPAN: f64 = 0.2;
/// Less of the width than this is too little for all clouds of a figure.
const SMALL_PART: f64 = 0.3;
/// With more RTT than this many base RTTs, the axis begins where the flows are.
const MOST_RTT: f64 = 4.0;
/// A line that stretches an axis by more than this is not on it.
const NEAR: f64 = 1.3;
/// Dots that labels avoid: all of them would take long and leave no place anyway.
const MOST_OBSTACLES: usize = 4000;

/// The flows of a row and a kind, in all repetitions.
struct Cloud<'a> {
    row: &'a str,
    kind: Kind<'a>,
    /// RTT (ms) and goodput (Mbit/s).
    points: Vec<(f64, f64)>,
    ellipse: Ellipse,
}

impl Cloud<'_> {
    /// What must be inside the picture.
    fn outline(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().copied().chain(self.ellipse.outline())
    }
}

/// What the figures share, and the RTTs of one.
struct Plane<'a> {
    looks: &'a Looks<'a>,
    rtt: Scale,
    goodput: &'a Scale,
    rtt_name: &'a str,
    lines: Lines,
}

/// What all networks of a figure allow, if it is one value.
struct Lines {
    /// Mbit/s.
    capacity: Option<f64>,
    /// ms.
    base_rtt: Option<f64>,
}

impl Lines {
    fn of(source: &Source<'_>, variant: &Variant, rows: &[RowLabel]) -> Self {
        let shown = wanted(variant, rows);
        let networks: Vec<&Network> =
            shown.iter().filter_map(|row| reference::network(source, &variant.name, row)).collect();
        let one = |mut courses: Vec<&Course>| {
            courses.dedup();
            match courses[..] {
                [course] if course.len() == 1 => Some(course[0].1),
                _ => None,
            }
        };
        Self {
            capacity: one(networks.iter().map(|n| &n.capacity).collect()),
            base_rtt: one(networks.iter().flat_map(|n| &n.base_rtt).collect()),
        }
    }
}

/// One figure per variant.
pub(super) fn draw(source: &Source<'_>, title: &str, rows: &[RowLabel]) -> Vec<Figure> {
    let variants = &source.results.summary.variants;
    let shown: Vec<Vec<Cloud<'_>>> = variants.iter().map(|v| clouds(source, v, rows)).collect();
    let goodput = extent(shown.iter().flatten().flat_map(Cloud::outline).map(|p| p.1.max(0.0)));
    let lines: Vec<Lines> = variants.iter().map(|v| Lines::of(source, v, rows)).collect();
    let highest = goodput.map_or(0.0, |(_, high)| high);
    let near = lines.iter().flat_map(|l| l.capacity).filter(|capacity| *capacity <= NEAR * highest);
    let goodput = extent(near.chain(goodput.into_iter().flat_map(|(low, high)| [low, high])));
    let goodput = Scale::values(goodput, true, 5).on(BOTTOM, TOP);
    let (rtts, are_shared) = rtts(&shown, &lines);
    let rtt_name =
        if are_shared { "Mean RTT (ms)" } else { "Mean RTT (ms); the figures have different scales" };
    let looks = Looks::of(source, &shown);
    let figures =
        variants.iter().zip(&shown).zip(rtts).zip(lines).map(|(((variant, clouds), rtt), lines)| {
            Plane { looks: &looks, rtt, goodput: &goodput, rtt_name, lines }.figure(
                title,
                &variant.name,
                clouds,
            )
        });
    figures.collect()
}

/// The scale of each figure's RTTs, and whether it is the same in all: unless one figure would have to show all it has
/// in a small part of its width.
fn rtts(shown: &[Vec<Cloud<'_>>], lines: &[Lines]) -> (Vec<Scale>, bool) {
    let ends = |(clouds, lines): (&Vec<Cloud<'_>>, &Lines)| {
        let (low, high) = extent(clouds.iter().flat_map(Cloud::outline).map(|p| p.0.max(0.0)))?;
        // Not so near that a few percent would seem a lot.
        let base = lines.base_rtt.filter(|base| *base <= low && high <= MOST_RTT * *base).unwrap_or(low);
        Some((base.min(high * (1.0 - LEAST_SPAN)), high))
    };
    let each: Vec<_> = shown.iter().zip(lines).map(ends).collect();
    let all = extent(each.iter().flatten().flat_map(|(low, high)| [*low, *high])).unwrap_or((0.0, 1.0));
    let are_shared = each.iter().flatten().all(|(low, high)| (high - low) >= SMALL_PART * (all.1 - all.0));
    let scale = |ends: &Option<(f64, f64)>| {
        let (low, high) = if are_shared { all } else { ends.unwrap_or(all) };
        Scale::nice(low, high, 6).on(RIGHT, LEFT)
    };
    (each.iter().map(scale).collect(), are_shared)
}

fn clouds<'a>(source: &'a Source<'a>, variant: &'a Variant, rows: &[RowLabel]) -> Vec<Cloud<'a>> {
    let of_row = |row: &'a str| {
        let flows: Vec<&FlowRow> = source.flows(&variant.name, row).collect();
        let cloud = |kind: Kind<'a>| {
            let points: Vec<_> =
                flows.iter().filter(|f| Kind::of(f) == kind).filter_map(|f| point(f)).collect();
            Some(Cloud { row, kind, ellipse: Ellipse::of(&points)?, points })
        };
        distinct(flows.iter().map(|f| Kind::of(f))).into_iter().filter_map(cloud).collect::<Vec<_>>()
    };
    wanted(variant, rows).into_iter().flat_map(of_row).collect()
}

fn point(flow: &FlowRow) -> Option<(f64, f64)> {
    let value = |name: &str| flow.values.get(name).copied().filter(|v| is_drawable(*v) && *v >= 0.0);
    Some((value("rtt_mean")?, value("goodput")?))
}

/// Names and colours of clouds: those of their rows, unless a row has several kinds of flows.
struct Looks<'a> {
    source: &'a Source<'a>,
    /// Rows and kinds of all clouds.
    all: Vec<(&'a str, Kind<'a>)>,
    kinds: Kinds<'a>,
    is_mixed: bool,
}

impl<'a> Looks<'a> {
    fn of(source: &'a Source<'a>, shown: &[Vec<Cloud<'a>>]) -> Self {
        let mut all: Vec<(&str, Kind<'_>)> = Vec::new();
        for cloud in shown.iter().flatten() {
            if !all.contains(&(cloud.row, cloud.kind)) {
                all.push((cloud.row, cloud.kind));
            }
        }
        let is_mixed = shown.iter().any(|clouds| clouds.windows(2).any(|w| w[0].row == w[1].row));
        Self { source, kinds: Kinds::of(source, all.iter().map(|a| a.1)), all, is_mixed }
    }

    fn name(&self, cloud: &Cloud<'_>) -> String {
        let one_row = self.all.iter().all(|(row, _)| *row == cloud.row);
        match (self.is_mixed, one_row) {
            (false, _) => cloud.row.to_owned(),
            (true, true) => self.kinds.name(cloud.kind),
            (true, false) => format!("{}, {}", cloud.kind.label, cloud.row),
        }
    }

    fn colour(&self, cloud: &Cloud<'_>) -> String {
        if !self.is_mixed {
            return self.source.style(cloud.row).colour;
        }
        self.kinds.style(cloud.kind).colour
    }
}

impl Plane<'_> {
    fn figure(&self, title: &str, variant: &str, clouds: &[Cloud<'_>]) -> Figure {
        let remark = "Dots: the flows of all repetitions; circle: their mean; ellipse: one std. dev.";
        let body = html! {
            (svg::grid_x(&self.rtt, TOP, BOTTOM, true))
            (svg::grid_y(self.goodput, LEFT, RIGHT))
            (svg::floor(LEFT, RIGHT, BOTTOM))
            (self.references())
            (better())
            @for cloud in clouds { (self.scatter(cloud)) }
            (self.means(clouds))
            @if clouds.is_empty() { (svg::nothing(WIDTH, f64::midpoint(TOP, BOTTOM), "no flows")) }
            (svg::axis_name(LEFT, RIGHT, BOTTOM + 33.0, self.rtt_name))
            (svg::upright_name(TOP, BOTTOM, "Goodput (Mbit/s)"))
            (svg::text(8.0, BOTTOM + 50.0, SMALL, MUTED, Anchor::Start, remark))
        };
        Figure {
            kind: "plane",
            title: title.to_owned(),
            variant: variant.to_owned(),
            width: WIDTH,
            height: BOTTOM + 60.0,
            body,
        }
    }

    fn at(&self, (rtt, goodput): (f64, f64)) -> (f64, f64) {
        (self.rtt.at(rtt), self.goodput.at(goodput))
    }

    /// The base RTT and the capacity, where they lie on the axes.
    fn references(&self) -> Markup {
        let dashed = |data: String, name| svg::curve(&data, &reference::style(), 1.1, name);
        let rtt = self.lines.base_rtt.filter(|rtt| self.rtt.has(*rtt)).map(|rtt| self.rtt.at(rtt));
        let capacity = self.lines.capacity.filter(|c| self.goodput.has(*c)).map(|c| self.goodput.at(c));
        html! {
            @if let Some(x) = rtt {
                (dashed(format!("M{} {}V{}", svg::px(x), svg::px(BOTTOM), svg::px(TOP)), "base RTT"))
                (svg::text(x - 4.0, BOTTOM - 5.0, SMALL, MUTED, Anchor::End, "base RTT"))
            }
            @if let Some(y) = capacity {
                (dashed(format!("M{} {}H{}", svg::px(LEFT), svg::px(y), svg::px(RIGHT)), "capacity"))
                (svg::text(LEFT + 4.0, y - 4.0, SMALL, MUTED, Anchor::Start, "capacity"))
            }
        }
    }

    /// The flows as faint dots, and the ellipse.
    fn scatter(&self, cloud: &Cloud<'_>) -> Markup {
        let colour = self.looks.colour(cloud);
        let dots = path::dots(cloud.points.iter().map(|p| self.at(*p)));
        let outline = path::outline(cloud.ellipse.outline().map(|p| self.at(p)));
        html! {
            path d=(dots) stroke=(colour) stroke-width="3.5" stroke-linecap="round" stroke-opacity=".4" fill="none" {}
            path d=(outline) stroke=(colour) stroke-width="1.2" fill=(colour) fill-opacity=".08" {}
        }
    }

    /// What labels should not cover: dots and ellipses.
    fn obstacles(&self, clouds: &[Cloud<'_>]) -> Vec<Area> {
        let all = || clouds.iter().flat_map(Cloud::outline).map(|p| self.at(p));
        let step = all().count().div_ceil(MOST_OBSTACLES).max(1);
        all().step_by(step).map(|(x, y)| Area::around(x, y, 2.0, 2.0)).collect()
    }

    /// The means with their names.
    fn means(&self, clouds: &[Cloud<'_>]) -> Markup {
        let room = Area { left: LEFT, top: TOP, right: RIGHT, bottom: BOTTOM };
        let points: Vec<_> = clouds.iter().map(|c| self.at(c.ellipse.centre)).collect();
        let names: Vec<_> = clouds.iter().map(|c| self.looks.name(c)).collect();
        let short: Vec<_> = names.iter().map(|n| svg::shortened(n, TEXT, WIDTH / 3.0)).collect();
        let sizes: Vec<_> = short.iter().map(|n| (svg::text_width(n, TEXT), TEXT)).collect();
        let labels = place::labels(&points, &sizes, &room, self.obstacles(clouds));
        html! {
            @for (point, label) in points.iter().zip(&labels) {
                @if let Some([from, to]) = place::leader(*point, label) { (svg::line(from.0, from.1, to.0, to.1, AXIS)) }
            }
            @for ((cloud, (x, y)), name) in clouds.iter().zip(&points).zip(&names) {
                circle cx=(svg::px(*x)) cy=(svg::px(*y)) r="4.5" fill=(self.looks.colour(cloud)) stroke=(PAPER) {
                    title { (name) ": " (words(cloud.ellipse.centre)) }
                }
            }
            @for (label, name) in labels.iter().zip(&short) {
                (svg::haloed(label.left, label.bottom - 2.0, name))
            }
        }
    }
}

fn words((rtt, goodput): (f64, f64)) -> String {
    format!("{} ms, {} Mbit/s", number::fixed(rtt, 1), number::fixed(goodput, 2))
}

/// Which corner is the best, over it.
fn better() -> Markup {
    let (x, y) = (RIGHT - 2.0, TOP - 18.0);
    let shaft = format!("M{} {}l10-10m-7 0h7v7", svg::px(x - 10.0), svg::px(y + 11.0));
    html! {
        (svg::text(x - 16.0, TOP - 8.0, SMALL, MUTED, Anchor::End, "better"))
        path d=(shaft) stroke=(MUTED) stroke-width="1.4" fill="none" {}
    }
}
