//! The experiment file: parses and checks TOML, and produces runs.
//!
//! ```text
//! experiment    the whole file, with the keys in `tables`
//!   cases       [vary]: one run for each combination of values
//!     setup     the keys of a run: links (network, chain), flows (flow), [probe], [[udp]]
//!   contents    [table]
//!   reference   [published]
//!   judgement   [reference], [[claim]], [[miss]], [[bias]], [[chart]]
//! overrides     --set
//! candidate     --controller
//! ```
//!
//! `docs/src/reference/keys.md` lists the keys of each table.
//!
//! Every key is checked when the file is read, for every combination of varied values, so that
//! nothing fails later. Every error is a [`Diagnostic`](crate::diagnostic::Diagnostic) with line
//! and key. All errors of a file are reported at once.

mod application;
mod aqm;
pub mod bare;
mod candidate;
mod cases;
mod chain;
mod chart;
mod check;
mod claim;
mod column;
mod compared;
mod contents;
mod controller;
mod cursor;
mod experiment;
mod flow;
mod groups;
mod judgement;
mod labels;
mod link;
mod merge;
mod miss;
mod missing;
mod mistakes;
mod network;
mod node;
mod overrides;
mod packet;
mod probe;
mod queue;
mod range;
mod reference;
pub mod rows;
mod setup;
pub(crate) mod stack;
mod sweep;
pub(crate) mod tables;
mod trace;
mod udp;
mod values;
mod vary;
mod words;

pub use self::check::{Check, Fold, Relation, Side};
pub use self::claim::{Claim, Part};
pub use self::compared::{Compared, Sample, slack_within};
pub use self::experiment::Experiment;
pub use self::miss::{Bias, Miss};
pub(crate) use self::node::empty;
pub use self::queue::Queue;
pub use self::range::Range;
pub use self::reference::Reference;
pub use self::rows::Rows;
pub use self::rows::matches;
pub use self::sweep::{SweepAxes, SweepKey, SweepValues, numbers};
pub use self::trace::links;
pub use self::vary::Case;
pub use self::words::Words;
