//! The answer over a set of networks.

use results::summary::Results;
use serde::Serialize;

use super::judged::{OnNetwork, Standing};
use super::map::Map;
use crate::Stored;

/// Answer to a question over a set of networks.
#[derive(Debug, Serialize)]
pub struct SetAnswer {
    /// Controllers in the order of the question. The first is the one that others are compared
    /// with.
    pub standings: Vec<Standing>,
    pub networks: Vec<OnNetwork>,
    /// Winners over two keys of the networks.
    pub map: Option<Map>,
    /// The competitor, if flows shared the link with one.
    pub against: Option<String>,
    /// Share by which goodputs may differ that count as equal.
    pub margin: f64,
    /// Whether pairs of runs were made until each network was decided.
    pub decided: bool,
    /// Combinations that no network can have, in a sentence.
    pub left_out: String,
    /// Keys of the file without effect.
    pub unused: Vec<String>,
    /// The studies behind the numbers.
    pub results: Vec<Stored>,
    /// Their results: of the flows alone, and of those beside a competitor.
    #[serde(skip)]
    pub runs: Vec<Results>,
}
