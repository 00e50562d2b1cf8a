//! What stands for the repetitions of a row.

use crate::metric::Metric;

/// What stands for the repetitions of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OverRuns {
    /// The mean of each metric.
    #[default]
    Mean,
    /// The median of each metric.
    Median,
    /// One run: that with the median of this metric, of an even number the larger of the two in the middle.
    MedianRun(Metric),
}

impl OverRuns {
    /// The metric that decides which run it is.
    pub fn metric(&self) -> Option<&Metric> {
        if let Self::MedianRun(metric) = self { Some(metric) } else { None }
    }

    /// What a reader of the table must know.
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::Mean => None,
            Self::Median => Some("Numbers are medians over the repetitions.".to_owned()),
            Self::MedianRun(metric) => {
                Some(format!("Numbers are of the repetition that has the median {metric}."))
            }
        }
    }
}
