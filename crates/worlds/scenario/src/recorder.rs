//! Takes time series and packet events during a run, so that memory does not grow with its length.

use crate::outcome::Outcome;
use crate::record::Record;
use crate::series::Series;
use crate::trace::Trace;

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Sender of the data.
    Sender,
    /// Receiver of the data.
    Receiver,
}

/// Receives the samples and events of a run. It keeps errors, such as a full disk, until asked for
/// them, and may end the run through its [`Watch`](crate::Watch).
pub trait Recorder {
    /// Receives the next samples.
    fn series(&mut self, part: Series);
    /// Receives the next events at one end of a flow. They are dropped on return, and their memory
    /// is reused.
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
    /// Hands over all events that it holds. `number` is the number of the flow.
    pub fn hand_over(&mut self, number: usize, recorder: &mut dyn Recorder) {
        for (end, trace) in [(End::Sender, &mut self.trace), (End::Receiver, &mut self.far_trace)] {
            if let Some(trace) = trace.as_mut().filter(|trace| !trace.is_empty()) {
                recorder.events(number, end, trace);
                self.spare.extend(trace.drain(..).filter_map(|(_, event)| event.into_spare()));
            }
        }
    }
}
