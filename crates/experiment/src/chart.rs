//! Charts that an experiment file asks for.

use serde::{Deserialize, Serialize};
use units::Duration;

use crate::metric::Metric;
use crate::row::RowLabel;

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

impl ScaleKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    fn is_linear(&self) -> bool {
        *self == Self::Linear
    }
}

/// An axis of the values of a varied key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The key, as variants call it: `queue`.
    pub name: String,
    /// The unit that all its values have: `BDP`; empty for plain numbers, and for words.
    pub unit: String,
    /// How they lie along it.
    #[serde(default, skip_serializing_if = "ScaleKind::is_linear")]
    pub scale: ScaleKind,
    /// The words, where the values are no numbers of one unit: each stands at its index, from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

/// Where a row of a variant stands in a chart over varied keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spot {
    /// The variant's name.
    pub variant: String,
    /// The row's label.
    pub row: RowLabel,
    /// Its place on the axes, in their units: x, and y of a chart of two keys.
    pub at: Vec<f64>,
    /// The line that it belongs to; empty if there is but one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub series: String,
    /// The panel that it belongs to, likewise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub facet: String,
}

/// A chart that the experiment's file asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Chart {
    /// Distribution of RTT, one line per row.
    RttCdf {
        /// Title; the paper's figure.
        title: String,
        /// Row labels; empty: all.
        #[serde(default)]
        rows: Vec<RowLabel>,
        /// Of the RTTs.
        #[serde(default, skip_serializing_if = "ScaleKind::is_linear")]
        scale: ScaleKind,
    },
    /// Values over time, one panel per metric, one line per row and flow; the first repetition.
    OverTime {
        /// Title; the paper's figure.
        title: String,
        /// Columns of the series: `cwnd_bytes`, `latest_rtt_ms`, `queue_bytes`, `goodput_mbit_s`, ...
        metrics: Vec<String>,
        /// Row labels; empty: all.
        #[serde(default)]
        rows: Vec<RowLabel>,
        /// Of the values.
        #[serde(default, skip_serializing_if = "ScaleKind::is_linear")]
        y_scale: ScaleKind,
    },
    /// Metrics over a varied key, one panel per metric and facet, one line per series, with the deviation over the
    /// repetitions.
    Line {
        /// Title; the paper's figure.
        title: String,
        /// The varied key.
        x: Axis,
        /// Metrics of the table.
        metrics: Vec<Metric>,
        /// Of the metrics.
        #[serde(default, skip_serializing_if = "ScaleKind::is_linear")]
        y_scale: ScaleKind,
        /// Every row of every variant, with one value on the axes.
        spots: Vec<Spot>,
    },
    /// A metric over two varied keys as the colour of their fields, one panel per facet.
    Heatmap {
        /// Title; the paper's figure.
        title: String,
        /// The varied key from left to right.
        x: Axis,
        /// The varied key from bottom to top.
        y: Axis,
        /// A metric of the table.
        metric: Metric,
        /// Every row of every variant, with two values on the axes.
        spots: Vec<Spot>,
    },
    /// Bars per row, ours beside the published value, one panel per metric.
    Bars {
        /// Title.
        title: String,
        /// Metrics of the table.
        metrics: Vec<Metric>,
    },
    /// A box per row: quartiles, the least and the most of a metric over the repetitions, one panel per metric; without metrics,
    /// of the RTT samples.
    Box {
        /// Title; the paper's figure.
        title: String,
        /// Metrics of the table; none: RTTs.
        #[serde(default)]
        metrics: Vec<Metric>,
        /// Row labels; empty: all.
        #[serde(default)]
        rows: Vec<RowLabel>,
    },
    /// Bars per variant, one per row, one panel per metric: all variants in one figure.
    GroupedBars {
        /// Title; the paper's figure.
        title: String,
        /// Metrics of the table.
        metrics: Vec<Metric>,
    },
    /// Goodput of the flows on top of each other over time, one panel per row; the first repetition.
    Stacked {
        /// Title; the paper's figure.
        title: String,
        /// Row labels; empty: all.
        #[serde(default)]
        rows: Vec<RowLabel>,
        /// Goodput is averaged over this much time; by default over a second in a long run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<Duration>,
    },
    /// Goodput against RTT: each flow of each repetition, their mean and deviation per row.
    Plane {
        /// Title; the paper's figure.
        title: String,
        /// Row labels; empty: all.
        #[serde(default)]
        rows: Vec<RowLabel>,
    },
    /// How the flows of a run divide its goodput, one bar per row; the first repetition.
    Shares {
        /// Title; the paper's figure.
        title: String,
        /// Row labels; empty: all.
        #[serde(default)]
        rows: Vec<RowLabel>,
    },
}

impl Chart {
    /// The rows that it names, empty for all; `None` for a chart that always has all.
    pub fn rows_mut(&mut self) -> Option<&mut Vec<RowLabel>> {
        match self {
            Self::RttCdf { rows, .. }
            | Self::OverTime { rows, .. }
            | Self::Box { rows, .. }
            | Self::Stacked { rows, .. }
            | Self::Plane { rows, .. }
            | Self::Shares { rows, .. } => Some(rows),
            Self::Bars { .. } | Self::GroupedBars { .. } | Self::Line { .. } | Self::Heatmap { .. } => None,
        }
    }
}
