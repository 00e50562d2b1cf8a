//! Charts that an experiment file asks for.

use serde::{Deserialize, Serialize};
use units::Duration;

use crate::metric::Metric;
use crate::row::RowLabel;

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
            Self::Bars { .. } | Self::GroupedBars { .. } => None,
        }
    }
}
