//! Shows what changed between two sets of results by more than the spread between runs.

mod change;
mod comparison;
mod evidence;
mod junit;
mod pairs;
mod rule;
mod set;
mod settings;
mod sight;
mod text;
mod unchecked;

pub use self::change::{Change, Ruling};
pub use self::comparison::{ChangedVerdict, Comparison};
pub use self::evidence::{Evidence, Method};
pub use self::rule::Rule;
pub use self::set::{Measured, Set};
pub use self::unchecked::Unchecked;

use crate::{Cost, Failure, Lab, Page};

/// Question what changed between two sets of results.
#[derive(Debug)]
pub struct Question {
    pub before: Set,
    pub after: Set,
    /// Largest changes that are accepted.
    pub rules: Vec<Rule>,
}

impl crate::Question for Question {
    type Answer = Comparison;

    fn check(&self, _: &Lab<'_>) -> Result<Cost, Failure> {
        Ok(Cost::default())
    }

    fn answer(&self, _: &Lab<'_>) -> Result<Comparison, Failure> {
        Ok(self.comparison())
    }

    fn text(&self, answer: &Comparison, all: bool) -> String {
        text::report(answer, self, text::Shown { markdown: false, all })
    }

    fn page<'a>(&self, _: &'a Comparison) -> Option<Page<'a>> {
        None
    }
}

impl Question {
    /// Compares the results. No experiment runs.
    pub fn comparison(&self) -> Comparison {
        Comparison::new(&self.before.results, &self.after.results, &self.rules)
    }

    /// Returns the answer in Markdown. `all` adds the small changes.
    pub fn markdown(&self, answer: &Comparison, all: bool) -> String {
        text::report(answer, self, text::Shown { markdown: true, all })
    }
}

impl Comparison {
    /// Returns the outcome of the rules as JUnit's XML.
    pub fn junit(&self) -> String {
        junit::report(self)
    }
}
