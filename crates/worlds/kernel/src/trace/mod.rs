//! TCP connections of this host, whatever their controller, as events for qlog.
//!
//! * `Probe` (feature `load`): records of an eBPF program at the kernel's tracepoints.
//! * `Poll` (feature `load`): samples of the connections of one process by inet_diag, without
//!   privileges. Changes between two samples are not visible.
//! * [`Flow`]: turns records into events of [`scenario::trace`].

#[cfg(feature = "load")]
mod diag;
mod flow;
#[cfg(feature = "load")]
mod poll;
#[cfg(feature = "load")]
mod probe;
#[cfg(feature = "load")]
mod process;
mod record;

#[cfg(feature = "load")]
pub use self::diag::{Diag, Sample};
pub use self::flow::{Flow, LABELS, Label, Summary, TAIL_LOSS_PROBE};
#[cfg(feature = "load")]
pub use self::poll::{INTERVAL, Poll};
#[cfg(feature = "load")]
pub use self::probe::Probe;
pub use self::record::{TraceRecord, kind};
