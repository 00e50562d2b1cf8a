//! Unmodified endpoints of aioquic in virtual time. aioquic is written in Python, so they run in a
//! child process, which starts when a run needs it.
//!
//! One process holds all endpoints of a run ([`Host`]). It handles one request at a time:
//! [`messages`] defines requests and replies, `host.py` is the other side, and [`endpoint`] adapts
//! an endpoint to the session. Runs are deterministic; see `host.py`.
//!
//! aioquic runs its own congestion controllers. [`names`] maps our names to them.

pub(crate) mod endpoint;
mod host;
mod messages;
pub(crate) mod names;
mod process;

pub use host::Host;
