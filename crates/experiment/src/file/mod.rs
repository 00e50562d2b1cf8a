//! The experiment file: TOML in, runs out.
//!
//! ```text
//! title, source, note         what it is; note is optional
//! duration, transfer          the run ends at `duration`; flows without `transfer` have data without end
//! repetitions, seed           default 1 and 1; repetition n has the seed plus n
//! series                      sampling interval of the time series, default "100 ms", or "off"
//! [measure]  from, to         metrics count only this window
//! [windows]  name = { from, to }    other windows: `goodput @ name`
//! [link]     rate, burst, delay, queue, limit-counts, aqm, bleach, jitter, loss, reorder     see `link`, `queue`
//!            [[link]] with a `name` each: a chain of links                               see `chain`
//! [reverse]  the same for the way back, also [[reverse]]                                     see `network`
//! [[flow]]   label, controller, transport, stack, count, start, stagger, start-jitter, stop, lasts, transfer, application,
//!            pauses, rtt, direction, route, back-route, slow-start, [flow.packet], [flow.recovery], [flow.ack],
//!            [flow.clock]                                                       see `flow`, `application`
//! [probe]    interval, size, rtt, route, back-route    a ping beside the flows                                  see `probe`
//! [[udp]]    label, rate, on-off, size, start, stop, route    traffic that heeds no congestion    see `udp`
//! [vary]     "link.rate" = [...]    "flow." means every flow, "flow.0." the first            see `vary`
//!            name = [{ label, set = { "link.rate" = "..." } }]    several keys together
//! [table]    rows = "flow.controller", metrics = [...], over-runs = "mean", "median" or { median-of = "goodput" }
//! [published] table = "x.csv", rows = [columns], columns = { metric = "column" }
//! [[claim]], [[miss]], [[chart]]                                                             see `claim`, `chart`
//! ```
//!
//! Every key is checked when the file is read, for every combination of varied values, so that nothing fails later; every
//! error is a [`Diagnostic`](crate::diagnostic::Diagnostic) with line and key, and all of a file are told at once.

mod application;
mod aqm;
pub mod bare;
mod candidate;
mod chain;
mod chart;
mod check;
mod claim;
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
mod spans;
mod stack;
mod swept;
pub(crate) mod tables;
mod udp;
mod unknown_rows;
mod vary;
mod words;

pub use self::check::{Check, Fold, Relation, Side};
pub use self::claim::{Claim, Part};
pub use self::experiment::Experiment;
pub use self::miss::{Bias, Miss};
pub(crate) use self::node::empty;
pub use self::queue::Queue;
pub use self::reference::Reference;
pub use self::rows::Rows;
pub use self::rows::matches;
pub use self::swept::{Swept, SweptKey, SweptValues};
pub use self::vary::Case;
pub use self::words::Words;
