//! Aggregation of the repetitions of a row.

use crate::metric::Metric;

/// Method that turns the repetitions of a row into one number per metric.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub enum Aggregate {
    /// The mean of each metric.
    #[default]
    Mean,
    /// The median of each metric.
    Median,
    /// The run with the median of this metric. Of an even number of runs, the larger of the middle
    /// two.
    MedianRun(Metric),
}

impl Aggregate {
    /// Returns the metric that selects the run.
    pub fn metric(&self) -> Option<&Metric> {
        if let Self::MedianRun(metric) = self { Some(metric) } else { None }
    }

    /// Returns a remark for readers of the table, if it is needed.
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::Mean => None,
            Self::Median => Some("Numbers are medians over the repetitions.".to_owned()),
            Self::MedianRun(metric) => {
                Some(format!("Numbers come from the repetition with the median {metric}."))
            }
        }
    }
}
