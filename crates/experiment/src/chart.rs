//! Charts that an experiment file asks for: a mark, and what it is drawn from. The reader of the file has decided the channels
//! by then: who draws a chart finds axes, series and panels here, and no words of the file.

use serde::{Deserialize, Serialize};
use units::Duration;

use crate::backend::Backend;
use crate::metric::Metric;
use crate::row::RowLabel;

/// Instead of a metric: the RTT samples, of which there are many in a run.
pub const RTT_SAMPLES: &str = "rtt";

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A line through the values of a series.
    Line,
    /// A bar from zero.
    Bar,
    /// Areas on top of each other.
    Area,
    /// A point each.
    Point,
    /// Quartiles, the least and the most.
    Box,
    /// A field in the colour of its value.
    Rect,
}

impl Mark {
    /// As files have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Bar => "bar",
            Self::Area => "area",
            Self::Point => "point",
            Self::Box => "box",
            Self::Rect => "rect",
        }
    }
}

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleKind {
    /// Equal differences are equally far apart.
    #[default]
    Linear,
    /// Equal ratios are.
    Log,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What an axis of cells goes along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Along {
    /// The values of a varied key.
    #[default]
    Key,
    /// The rows of the table.
    Rows,
    /// The variants.
    Variants,
}

/// An axis on which cells of the table stand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The key, as variants call it: `queue`.
    pub name: String,
    /// The unit that all its values have: `BDP`; empty for plain numbers, and for words.
    pub unit: String,
    /// What it goes along.
    #[serde(default, skip_serializing_if = "is_default")]
    pub along: Along,
    /// How they lie along it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: ScaleKind,
    /// The words, where the values are no numbers of one unit: each stands at its index, from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

/// Where a row of a variant stands in a chart of the table's cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spot {
    /// The variant's name.
    pub variant: String,
    /// The row's label.
    pub row: RowLabel,
    /// Its place on the axes, in their units: x, and y of a chart with two.
    pub at: Vec<f64>,
    /// The colour that it has; empty if there is but one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub series: String,
    /// The panel that it belongs to, likewise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub facet: String,
}

/// What colours tell apart in a chart of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Colour {
    /// Rows.
    Row,
    /// Variants.
    Variant,
    /// Flows of a run.
    Flow,
}

/// What a chart is drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Data {
    /// Columns of the series over time, a panel each; the first repetition.
    Series {
        /// `cwnd_bytes`, `latest_rtt_ms`, `queue_bytes`, `goodput_mbit_s`, ...
        columns: Vec<String>,
        /// By default rows, and flows where a row has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        colour: Option<Colour>,
        /// A strip for each row; by default where there is much to see.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strips: Option<bool>,
        /// Values are averaged over this much time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<Duration>,
    },
    /// The share of RTT samples up to each RTT, of all repetitions.
    Samples {
        /// Rows or variants.
        colour: Colour,
    },
    /// Two metrics against each other: of each flow of each repetition, or of each row where flows do not have them.
    Flows {
        /// To the right.
        x: Metric,
        /// Upwards.
        y: Metric,
        /// Whether flows have both.
        of_flows: bool,
        /// By default rows, and kinds of flows where a row has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        colour: Option<Colour>,
    },
    /// How the flows of a run divide its sum of a metric; the first repetition.
    Shares {
        /// One that adds up.
        metric: Metric,
    },
    /// Cells of the table along an axis, a panel per metric and facet.
    Cells {
        /// The axis.
        x: Axis,
        /// Metrics of the table, or [`RTT_SAMPLES`].
        metrics: Vec<Metric>,
        /// The metrics share a panel, and differ in colour.
        #[serde(default, skip_serializing_if = "is_default")]
        overlaid: bool,
        /// With the source's own numbers beside ours.
        #[serde(default, skip_serializing_if = "is_default")]
        published: bool,
        /// The rows of the variants that are shown.
        spots: Vec<Spot>,
    },
    /// A metric as the colour of fields on two axes, a panel per facet.
    Fields {
        /// From left to right.
        x: Axis,
        /// From bottom to top.
        y: Axis,
        /// A metric of the table.
        metric: Metric,
        /// The rows of the variants that are shown.
        spots: Vec<Spot>,
    },
}

/// A chart that the experiment's file asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// Title; the paper's figure.
    pub title: String,
    /// How a value looks.
    pub mark: Mark,
    /// Row labels; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<RowLabel>,
    /// Of the x axis, if it is no varied key's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: ScaleKind,
    /// Of the y axis.
    #[serde(default, skip_serializing_if = "is_default")]
    pub y_scale: ScaleKind,
    /// One picture of all variants instead of one for each.
    #[serde(default, skip_serializing_if = "is_default")]
    pub together: bool,
    /// What it shows.
    pub data: Data,
}

impl Chart {
    /// The columns of the series that it draws.
    pub fn columns(&self) -> &[String] {
        match &self.data {
            Data::Series { columns, .. } => columns,
            _ => &[],
        }
    }

    /// The same with the rows of these other backends beside the simulator's.
    #[must_use]
    pub fn with_rows_on(&self, others: &[Backend]) -> Self {
        let mut chart = self.clone();
        if others.is_empty() {
            return chart;
        }
        let beside = |row: &RowLabel| -> Vec<RowLabel> {
            std::iter::once(row.clone()).chain(others.iter().map(|other| row.on(*other))).collect()
        };
        chart.rows = chart.rows.iter().flat_map(beside).collect();
        match &mut chart.data {
            Data::Cells { x, spots, .. } => add_rows(others, &mut [x], spots),
            Data::Fields { x, y, spots, .. } => add_rows(others, &mut [x, y], spots),
            _ => {}
        }
        chart
    }
}

/// Beside each row those of other backends: on the axis of the rows, else in a colour or panel of their own.
fn add_rows(others: &[Backend], axes: &mut [&mut Axis], spots: &mut Vec<Spot>) {
    let of_rows = axes.iter().position(|axis| axis.along == Along::Rows);
    let on_other = |spot: &Spot, other: Backend| {
        let mut beside = Spot { row: spot.row.on(other), ..spot.clone() };
        if of_rows.is_none() {
            let name = if axes.len() > 1 { &mut beside.facet } else { &mut beside.series };
            *name = RowLabel::new(name, other).to_string();
        }
        beside
    };
    let all = |spot: &Spot| -> Vec<Spot> {
        std::iter::once(spot.clone()).chain(others.iter().map(|other| on_other(spot, *other))).collect()
    };
    let mut both: Vec<Vec<Spot>> = spots.iter().map(all).collect();
    if let Some(index) = of_rows {
        let each = (1 + others.len()) as f64;
        for group in &mut both {
            group.iter_mut().zip(0_u32..).for_each(|(spot, next)| {
                spot.at[index] = each * spot.at[index] + f64::from(next);
            });
        }
        let beside = |word: &String| -> Vec<String> {
            let others = others.iter().map(|other| RowLabel::new(word, *other).to_string());
            std::iter::once(word.clone()).chain(others).collect()
        };
        let words = &mut axes[index].words;
        *words = words.iter().flat_map(beside).collect();
    }
    *spots = both.into_iter().flatten().collect();
}
