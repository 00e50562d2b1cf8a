//! Ends of aioquic, unmodified, in virtual time: Python, and so a child process, which is found when a run wants it.
//!
//! One process for all ends of a run ([`Host`]), which speaks in turns: [`messages`] has what is asked and answered, `host.py` is the other
//! side of it, [`end`] an end as others drive it. Deterministic as the stacks in this program are: see `host.py`.
//!
//! aioquic has congestion controllers of its own, and runs those: which of ours have their names is in [`names`].

pub(crate) mod end;
mod host;
mod messages;
pub(crate) mod names;
mod process;

pub use host::Host;
