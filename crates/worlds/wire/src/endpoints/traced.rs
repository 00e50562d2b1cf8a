//! Kernel events of a TCP flow in its log, from the kernel's tracepoints, or from samples of
//! `TCP_INFO` where nothing is traced.

use congestion::Detection;
use scenario::trace::{Event, Trace};
use units::Time;

use crate::endpoints::samples::{self, Sample, Samples};

/// First remark of a log.
const BY_RECORDS: &str = "packets are from the packet log, and each retransmission counts as a loss; other values \
     are from the kernel's tracepoints, and those of tcp_probe have the time of the event before";
const BY_SAMPLES: &str = "packets are from the packet log, and each retransmission counts as a loss; other values \
     are samples of TCP_INFO, and changes between two samples are not seen";
/// Reason of a retransmission outside recovery.
pub(crate) const PROBE: Reason =
    (Detection::Timeout, "by rule: outside recovery, Linux retransmits only as a tail loss probe");

/// Rule by which a packet counts as lost, and its source.
pub(crate) type Reason = (Detection, &'static str);

/// Events of a flow that the kernel's tracepoints report, in the run's time. Empty if the flow is
/// not traced.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traced {
    /// Remarks, metrics, reductions and ends of recovery.
    pub(crate) events: Trace,
    /// Reasons of retransmissions, each from its time on.
    pub(crate) reasons: Vec<(Time, Reason)>,
    /// Time from which samples replace the tracepoint for ACKs.
    pub(crate) samples_from: Time,
}

impl Traced {
    /// Returns the reason of a retransmission, if the flow is traced.
    pub(crate) fn reason(&self, now: Time) -> Option<Reason> {
        let after = self.reasons.partition_point(|(from, _)| *from <= now);
        let newest = after.checked_sub(1).map_or(PROBE, |newest| self.reasons[newest].1);
        (!self.events.is_empty()).then_some(newest)
    }

    /// Returns the events of the log, in no order. `start` is the start of the flow.
    pub(crate) fn with_samples(self, samples: &Samples, start: Time) -> Trace {
        let source = if self.events.is_empty() { BY_SAMPLES } else { BY_RECORDS };
        let mut all = vec![(start, Event::Remark(source))];
        if self.events.is_empty() {
            all.extend(samples.reductions().map(|(at, cause, _)| (at, Event::Reduced(cause))));
        }
        all.extend(self.events);
        let polled = samples.all().iter().filter(|sample| sample.at >= self.samples_from);
        all.extend(polled.map(|Sample { at, info }| (*at, Event::Metrics(samples::metrics(info)))));
        all
    }
}
