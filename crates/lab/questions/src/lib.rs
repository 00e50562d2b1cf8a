#![doc = include_str!("../README.md")]

pub mod compare;
pub mod conform;
pub mod cost;
pub mod diff;
mod failure;
mod lab;
mod ratio;
pub mod text;

pub use self::failure::Failure;
pub use self::lab::{Lab, Stored, id};
pub use self::ratio::Ratio;

use report::Block;
use results::summary::Results;

/// A question about controllers, stacks or results.
///
/// A question makes experiments, reads their results, and returns an answer as data. A text for a
/// terminal and a page are views of the answer.
pub trait Question {
    /// Data of the answer.
    type Answer;

    /// Checks that the experiments can run, and estimates how long they take.
    ///
    /// # Errors
    /// A mistake in the question, or a place that cannot run an experiment.
    fn check(&self, lab: &Lab<'_>) -> Result<Cost, Failure>;

    /// Runs the experiments, unless their results exist, and evaluates them.
    ///
    /// # Errors
    /// A study without results, or results that do not answer the question.
    fn answer(&self, lab: &Lab<'_>) -> Result<Self::Answer, Failure>;

    /// Returns the answer as text of 79 columns. `all` adds the details.
    fn text(&self, answer: &Self::Answer, all: bool) -> String;

    /// Returns the answer as a page, if it has one.
    fn page<'a>(&self, answer: &'a Self::Answer) -> Option<Page<'a>>;
}

/// Estimated work of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Seconds on one core.
    pub seconds: f64,
    /// The rest of a sentence about it: which runs it covers, and how to make them fewer.
    pub covers: String,
}

/// An answer as a page.
#[derive(Debug)]
pub struct Page<'a> {
    /// Name of its folder, below that of the reports.
    pub folder: String,
    pub title: String,
    /// The answer, for the beginning of the page.
    pub blocks: Vec<Block>,
    /// Results that the rest of the page shows.
    pub results: &'a [Results],
}
