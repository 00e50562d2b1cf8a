#![doc = include_str!("../README.md")]

pub mod analyse;
pub mod compare;
pub mod conform;
pub mod cost;
mod decision;
pub mod diff;
mod failure;
mod lab;
mod page;
mod ratio;
pub mod replay;
pub mod stability;
pub mod text;

pub use self::decision::Verdict;
pub use self::failure::Failure;
pub use self::lab::{Lab, Stored, id};
pub use self::page::{Content, Page};
pub use self::ratio::Ratio;

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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Seconds on one core.
    pub seconds: f64,
    /// The rest of a sentence about it: which runs it covers, and how to make them fewer.
    pub covers: String,
    /// Whether it is told even if it is short.
    pub announced: bool,
}
