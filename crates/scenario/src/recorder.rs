//! What takes time series and packet events while a run goes on, so that how long it is costs no memory.

use crate::outcome::Outcome;
use crate::record::Record;
use crate::series::Series;
use crate::trace::Trace;

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// That sends the data.
    Sender,
    /// That receives it.
    Receiver,
}

/// Takes what a run records. What goes wrong with it (a full disk) it keeps until somebody asks; it may end the run by its
/// [`Watch`](crate::Watch).
pub trait Recorder {
    /// The samples that follow those before.
    fn series(&mut self, part: Series);
    /// The events at one end of a flow that follow those before; they go when it returns, and their memory is used for the next.
    fn events(&mut self, flow: usize, end: End, part: &Trace);
}

impl Outcome {
    /// Hands over all samples and events that it holds.
    pub fn hand_over(&mut self, recorder: &mut dyn Recorder) {
        if !self.series.times.is_empty() {
            recorder.series(std::mem::take(&mut self.series));
        }
        for (number, record) in self.flows.iter_mut().enumerate() {
            record.hand_over(number, recorder);
        }
    }
}

impl Record {
    /// Hands over the events of the flow of this number that it holds.
    pub fn hand_over(&mut self, number: usize, recorder: &mut dyn Recorder) {
        for (end, trace) in [(End::Sender, &mut self.trace), (End::Receiver, &mut self.far_trace)] {
            if let Some(trace) = trace.as_mut().filter(|trace| !trace.is_empty()) {
                recorder.events(number, end, trace);
                self.spare.extend(trace.drain(..).filter_map(|(_, event)| event.into_spare()));
            }
        }
    }
}
