//! Charts requested by an experiment file: a mark, and the data it draws.
//!
//! The reader of the file has already decided the channels. Drawing code finds axes, series and
//! panels here, and no words of the file.

use serde::{Deserialize, Serialize};
use units::Duration;

use crate::metric::Metric;
use crate::place::Place;
use crate::print::Print;
use crate::row::RowLabel;

/// Graphical form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A line through the values of a series.
    Line,
    /// A bar from zero.
    Bar,
    /// Areas on top of each other.
    Area,
    /// One point per value.
    Point,
    /// An arrow from one end to the other for each packet, downwards in time.
    Sequence,
}

impl Mark {
    /// Words used in files.
    pub(crate) const WORDS: [(&str, Self); 5] = [
        ("line", Self::Line),
        ("bar", Self::Bar),
        ("area", Self::Area),
        ("point", Self::Point),
        ("sequence", Self::Sequence),
    ];

    /// Returns the word used in files.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, mark)| *mark == self).map_or("", |(word, _)| word)
    }
}

/// Columns of the series that are recorded only if a chart draws them: losses, repeats and CE
/// marks.
pub const SIGNALS: [&str; 3] = ["lost_packets", "repeated_packets", "ce_packets"];

/// A packet of a scripted exchange, or a decision of the sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScriptStep {
    /// Time at which it is sent or decided.
    pub at: Duration,
    /// End that sends it. `None` for a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ScriptEnd>,
    /// Time at which it arrives. `None` for a lost packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrives: Option<Duration>,
    /// Description.
    pub text: String,
}

/// End of a scripted exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScriptEnd {
    Sender,
    Receiver,
}

/// Scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleKind {
    /// Equal differences have equal lengths.
    #[default]
    Linear,
    /// Equal ratios have equal lengths.
    Log,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Meaning of the positions along an axis of table cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Along {
    /// The values of a varied key.
    #[default]
    Key,
    Rows,
    Variants,
}

/// An axis along which table cells are placed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The key, named as in variants: `queue`.
    pub name: String,
    /// The unit shared by all values: `BDP`. Empty for plain numbers and for words.
    pub unit: String,
    /// Meaning of its positions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub along: Along,
    /// Scale of the axis.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: ScaleKind,
    /// Labels, if the values are not numbers of one unit. Each label stands at its index, counted
    /// from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

/// Position of a row of a variant in a chart of table cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spot {
    pub variant: String,
    pub row: RowLabel,
    /// Position on the axis, in its unit.
    pub at: Vec<f64>,
    /// The series, which decides the colour. Empty if there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub series: String,
    /// The panel. Empty if there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub facet: String,
}

/// Meaning of the colours in a chart of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Colour {
    Row,
    Variant,
    Flow,
}

/// Data of a chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Data {
    /// Columns of the series over time, one panel per column, from the first repetition.
    Series {
        /// Columns such as `cwnd_bytes`, `latest_rtt_ms`, `queue_bytes` and `goodput_mbit_s`.
        columns: Vec<String>,
        /// Meaning of the colours. By default rows, or flows if a row has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        colour: Option<Colour>,
        /// Whether each row gets its own strip. By default, if a single panel would be crowded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strips: Option<bool>,
        /// Interval over which values are averaged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<Duration>,
        /// Whether the columns share a panel and differ in colour.
        #[serde(default, skip_serializing_if = "is_default")]
        overlaid: bool,
        /// Counters of [`SIGNALS`] whose changes are ticks at the edges of each panel.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ticks: Vec<String>,
    },
    /// Cumulative distribution of the RTT samples of all repetitions.
    Samples {
        /// Rows or variants.
        colour: Colour,
    },
    /// Two metrics plotted against each other, with one point per flow and repetition, or per row
    /// if the metrics are not measured per flow.
    Flows {
        /// The horizontal metric.
        x: Metric,
        /// The vertical metric.
        y: Metric,
        /// Whether both metrics are measured per flow.
        of_flows: bool,
        /// Meaning of the colours. By default rows, or kinds of flows if a row has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        colour: Option<Colour>,
    },
    /// Packets between the ends of each flow, from the first repetition.
    Packets {
        /// Start of the part that is drawn, from the start of the run.
        start: Duration,
        /// End of the part.
        end: Duration,
    },
    /// Packets that the file lists, of no run.
    Script {
        /// Packets and decisions, in the order of their times.
        steps: Vec<ScriptStep>,
    },
    /// Shares of the flows of a run in a metric's sum, from the first repetition.
    Shares {
        /// A metric that can be summed over flows.
        metric: Metric,
    },
    /// Table cells along an axis, one panel per metric and facet.
    Cells {
        x: Axis,
        /// Metrics of the table.
        metrics: Vec<Metric>,
        /// Whether the metrics share a panel and differ in colour.
        #[serde(default, skip_serializing_if = "is_default")]
        overlaid: bool,
        /// Whether the source's own numbers are drawn next to ours.
        #[serde(default, skip_serializing_if = "is_default")]
        published: bool,
        /// The displayed rows of each variant.
        spots: Vec<Spot>,
    },
}

/// A chart requested by the experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// Title, usually the paper's figure.
    pub title: String,
    /// Graphical form of a value.
    pub mark: Mark,
    /// Labels of the displayed rows. Empty for all rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<RowLabel>,
    /// Scale of the x axis, unless the axis is a varied key.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: ScaleKind,
    /// Scale of the y axis.
    #[serde(default, skip_serializing_if = "is_default")]
    pub y_scale: ScaleKind,
    /// Whether all variants share one picture instead of one picture each.
    #[serde(default, skip_serializing_if = "is_default")]
    pub together: bool,
    /// Size, legend and part of the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub print: Print,
    /// Data of the chart.
    pub data: Data,
}

impl Chart {
    /// Returns the columns of the series that the chart draws.
    pub fn columns(&self) -> impl Iterator<Item = &String> {
        let (columns, ticks) = match &self.data {
            Data::Series { columns, ticks, .. } => (&columns[..], &ticks[..]),
            _ => (&[][..], &[][..]),
        };
        columns.iter().chain(ticks)
    }

    /// Reports whether it draws columns that are recorded only if a chart does.
    pub fn has_signals(&self) -> bool {
        self.columns().any(|column| SIGNALS.contains(&column.as_str()))
    }

    /// Reports whether the chart is over time, so that a part of the run can be drawn.
    pub fn is_over_time(&self) -> bool {
        matches!(self.data, Data::Series { .. } | Data::Packets { .. })
    }

    /// Reports whether the kind of chart has a legend.
    pub fn has_legend(&self) -> bool {
        !matches!(self.data, Data::Flows { .. } | Data::Packets { .. } | Data::Script { .. })
    }

    /// Returns the part of the run whose packets the chart draws.
    pub fn packets(&self) -> Option<(Duration, Duration)> {
        match self.data {
            Data::Packets { start, end } => Some((start, end)),
            _ => None,
        }
    }

    /// Returns the chart with rows of these other backends next to the simulator's.
    #[must_use]
    pub fn with_rows_on(&self, others: &[Place]) -> Self {
        let mut chart = self.clone();
        if others.is_empty() {
            return chart;
        }
        let beside = |row: &RowLabel| -> Vec<RowLabel> {
            std::iter::once(row.clone()).chain(others.iter().map(|other| row.on(*other))).collect()
        };
        chart.rows = chart.rows.iter().flat_map(beside).collect();
        if let Data::Cells { x, spots, .. } = &mut chart.data {
            add_rows(others, x, spots);
        }
        chart
    }
}

/// Adds the rows of other backends next to each row: on the axis of rows if there is one,
/// otherwise as a separate colour.
fn add_rows(others: &[Place], axis: &mut Axis, spots: &mut Vec<Spot>) {
    let is_of_rows = axis.along == Along::Rows;
    let on_other = |spot: &Spot, other: Place| {
        let mut beside = Spot { row: spot.row.on(other), ..spot.clone() };
        if !is_of_rows {
            beside.series = RowLabel::new(&beside.series, other).to_string();
        }
        beside
    };
    let all = |spot: &Spot| -> Vec<Spot> {
        std::iter::once(spot.clone()).chain(others.iter().map(|other| on_other(spot, *other))).collect()
    };
    let mut both: Vec<Vec<Spot>> = spots.iter().map(all).collect();
    if is_of_rows {
        let each = (1 + others.len()) as f64;
        for group in &mut both {
            group.iter_mut().zip(0_u32..).for_each(|(spot, next)| {
                spot.at[0] = each * spot.at[0] + f64::from(next);
            });
        }
        let beside = |word: &String| -> Vec<String> {
            let others = others.iter().map(|other| RowLabel::new(word, *other).to_string());
            std::iter::once(word.clone()).chain(others).collect()
        };
        axis.words = axis.words.iter().flat_map(beside).collect();
    }
    *spots = both.into_iter().flatten().collect();
}
