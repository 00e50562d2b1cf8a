//! Observations and actions of an agent: the same in an environment and in an exported policy.

use congestion::initial_window;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::controller::report::Report;

/// Names of the ratios that an agent sees of an interval, with their smallest and largest values.
pub(crate) const FEATURES: [(&str, f32, f32); 7] = [
    ("rtt_ratio", 0.0, 100.0),
    ("rtt_gradient", -10.0, 10.0),
    ("send_ratio", 0.0, 100.0),
    ("loss_share", 0.0, 1.0),
    ("throughput_ratio", 0.0, 1.0),
    ("window_ratio", 0.0, 100.0),
    ("interval_ratio", 0.0, 100.0),
];
/// Smallest window in packets.
const LEAST_PACKETS: u64 = 2;
/// Largest window in packets before the first ACK.
const MOST_PACKETS: u64 = 100;
/// Smallest pacing rate in packets per second.
const LEAST_RATE: f64 = 10.0;
/// Largest window and rate, as a multiple of what the path has delivered.
const MOST: f64 = 8.0;
/// Window behind a chosen rate, as a multiple of rate x RTT. It limits a sender without feedback.
const BEHIND_RATE: f64 = 2.0;

/// Output that an action changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acts {
    /// Nothing: the flow keeps its own controller.
    None,
    Window,
    Rate,
    Both,
}

impl Acts {
    /// Returns the bytes of an action.
    pub(crate) fn size(self) -> usize {
        size_of::<f32>() * if self == Self::Both { 2 } else { 1 }
    }
}

impl std::str::FromStr for Acts {
    type Err = PyErr;

    fn from_str(word: &str) -> PyResult<Self> {
        match word {
            "none" => Ok(Self::None),
            "window" => Ok(Self::Window),
            "rate" => Ok(Self::Rate),
            "both" => Ok(Self::Both),
            _ => Err(PyValueError::new_err(format!(
                "action: {word:?} is not \"window\", \"rate\", \"both\" or \"none\""
            ))),
        }
    }
}

/// State of an agent: its window and rate, and its last observations.
#[pyclass(module = "ackclock._ackclock")]
#[derive(Clone, Debug)]
pub(crate) struct View {
    acts: Acts,
    mds: u64,
    cwnd: f64,
    /// Chosen pacing rate, bit/s.
    rate: Option<f64>,
    /// Mean RTT of the last interval with samples, seconds.
    rtt: Option<f64>,
    /// Largest throughput of an interval, bit/s.
    best: f64,
    rows: Vec<f32>,
}

#[pymethods]
impl View {
    #[new]
    pub(crate) fn new(action: &str, history: usize, mds: u64) -> PyResult<Self> {
        let acts = action.parse()?;
        let rows = vec![0.0; history.max(1) * FEATURES.len()];
        Ok(Self { acts, mds, cwnd: initial_window(mds) as f64, rate: None, rtt: None, best: 0.0, rows })
    }

    /// Names of the ratios of an interval, with their smallest and largest values.
    #[staticmethod]
    fn features() -> Vec<(&'static str, f32, f32)> {
        FEATURES.to_vec()
    }

    /// Adds an interval. Returns the observation: little-endian `float32`, the newest interval last.
    fn observe<'py>(&mut self, py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyByteArray>> {
        self.add(report);
        bytes(py, &self.rows, f32::to_le_bytes)
    }

    /// Applies an action, little-endian `float32`: each number from -1 to 1 multiplies by 2 to its
    /// power.
    pub(crate) fn act(&mut self, action: &[u8]) -> PyResult<()> {
        let numbers: Vec<f32> =
            action.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect();
        if action.len() != self.acts.size() || numbers.iter().any(|number| !number.is_finite()) {
            let length = self.acts.size() / size_of::<f32>();
            return Err(PyValueError::new_err(format!(
                "action: {numbers:?} is not {length} finite values of float32; give numbers from -1 to 1"
            )));
        }
        let factor = |at: usize| libm::exp2(f64::from(numbers.get(at).map_or(0.0, |a| a.clamp(-1.0, 1.0))));
        match self.acts {
            Acts::None => {}
            Acts::Window => self.scale_window(factor(0)),
            Acts::Rate => {
                self.scale_rate(factor(0));
                if let (Some(rate), Some(rtt)) = (self.rate, self.rtt) {
                    self.cwnd = (BEHIND_RATE * rate / 8.0 * rtt).max(initial_window(self.mds) as f64);
                }
            }
            Acts::Both => {
                self.scale_window(factor(0));
                self.scale_rate(factor(1));
            }
        }
        Ok(())
    }

    /// Window in bytes.
    #[getter]
    pub(crate) fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Pacing rate in bit/s; None: the sender spreads the window over the RTT.
    #[getter]
    pub(crate) fn pacing_rate(&self) -> Option<f64> {
        self.rate
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.clone()
    }
}

impl View {
    /// Returns the last observations, the newest interval last.
    pub(crate) fn rows(&self) -> &[f32] {
        &self.rows
    }

    /// Mean RTT of the last interval with samples; before, the length of an interval. Seconds.
    pub(crate) fn rtt(&self, report: &Report) -> f64 {
        self.rtt.unwrap_or(report.duration)
    }

    /// Adds an interval to the observations.
    pub(crate) fn add(&mut self, report: &Report) {
        self.rtt = report.mean_rtt.or(self.rtt);
        let throughput = report.throughput();
        self.best = self.best.max(throughput);
        let min_rtt = report.min_rtt.unwrap_or(0.0);
        let [acked, lost, sent] = [report.acked, report.lost, report.sent].map(|bytes| bytes as f64);
        let features = [
            if min_rtt > 0.0 { self.rtt(report) / min_rtt } else { 1.0 },
            report.rtt_gradient,
            sent / acked.max(self.mds as f64),
            share(lost, acked + lost),
            share(throughput, self.best),
            share(8.0 * self.cwnd, self.best * min_rtt),
            share(report.duration, min_rtt),
        ];
        self.rows.drain(..FEATURES.len());
        let clipped = features.iter().zip(FEATURES).map(|(value, (_, low, high))| {
            // Numbers beyond the ends of an observation tell nothing more.
            (*value as f32).clamp(low, high)
        });
        self.rows.extend(clipped);
    }

    fn scale_window(&mut self, factor: f64) {
        let [least, most] = [LEAST_PACKETS, MOST_PACKETS].map(|packets| (packets * self.mds) as f64);
        let delivered = self.rtt.map_or(0.0, |rtt| self.best / 8.0 * rtt);
        self.cwnd = (self.cwnd * factor).clamp(least, most.max(MOST * delivered));
    }

    fn scale_rate(&mut self, factor: f64) {
        let first = self.rtt.map(|rtt| 8.0 * self.cwnd / rtt);
        let least = LEAST_RATE * 8.0 * self.mds as f64;
        let most = (MOST * self.best).max(first.unwrap_or(0.0)).max(least);
        self.rate = self.rate.or(first).map(|rate| (rate * factor).clamp(least, most));
    }
}

/// Returns a share, or 0 of nothing.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Returns numbers as bytes that Python may change.
pub(crate) fn bytes<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    numbers: &[T],
    as_bytes: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyByteArray>> {
    PyByteArray::new_with(py, numbers.len() * N, |out| {
        for (place, number) in out.as_chunks_mut().0.iter_mut().zip(numbers) {
            *place = as_bytes(*number);
        }
        Ok(())
    })
}
