//! The experiment file: parses and checks TOML, and produces runs.
//!
//! ```text
//! title, source, note         description; source and note are optional
//! duration, transfer          the run ends at `duration`; flows without `transfer` have unlimited data
//! repetitions, seed           default 1 and 1; repetition n uses the seed plus n
//! series                      sampling interval of the time series, default "100 ms", or "off"
//! [measure]  from, to         window in which metrics are measured
//! [windows]  name = { from, to }    additional windows: `goodput @ name`
//! [link]     rate, burst, delay, queue, limit-counts, aqm, bleach, jitter, loss, reorder     see `link`, `queue`
//!            [[link]] with a `name` each: a chain of links                               see `chain`
//! [reverse]  the same for the return path, also [[reverse]]                                  see `network`
//! [[flow]]   label, controller, transport, stack, count, start, stagger, start-jitter, stop, lasts, transfer, application,
//!            pauses, rtt, direction, route, back-route, slow-start, [flow.packet], [flow.recovery], [flow.ack],
//!            [flow.clock]                                                       see `flow`, `application`
//! [probe]    interval, size, rtt, route, back-route    a ping alongside the flows                               see `probe`
//! [[udp]]    label, rate, on-off, size, start, stop, route    traffic without congestion control    see `udp`
//! [vary]     "link.rate" = [...]    "flow." means every flow, "flow.0." the first            see `vary`
//!            name = [{ label, set = { "link.rate" = "..." } }]    several keys together
//! [table]    rows = "flow.controller", metrics = [...], over-runs = "mean", "median" or { median-of = "goodput" }
//! [published] table = "x.csv", rows = [columns], columns = { metric = "column" }
//! [[claim]], [[miss]], [[chart]]                                                             see `claim`, `chart`
//! ```
//!
//! Every key is checked when the file is read, for every combination of varied values, so that
//! nothing fails later. Every error is a [`Diagnostic`](crate::diagnostic::Diagnostic) with line
//! and key. All errors of a file are reported at once.

mod application;
mod aqm;
pub mod bare;
mod candidate;
mod chain;
mod chart;
mod check;
mod claim;
mod compared;
mod controller;
mod cursor;
mod experiment;
mod flow;
mod groups;
mod labels;
mod link;
mod load;
mod merge;
mod miss;
mod mistakes;
mod network;
mod node;
mod packet;
mod probe;
mod queue;
mod reference;
mod resolved;
pub mod rows;
mod setup;
mod stack;
mod sweep;
pub(crate) mod tables;
mod udp;
mod unknown_rows;
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
pub use self::reference::Reference;
pub use self::rows::Rows;
pub use self::rows::matches;
pub use self::sweep::{SweepAxes, SweepKey, SweepValues};
pub use self::vary::Case;
pub use self::words::Words;
