//! The base class of controllers in Python: the output of a controller as attributes.

use congestion::{Control, initial_window};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use units::{Rate, Time};

use crate::controller::signals::PathInfo;

/// Largest window in bytes. The packets of a larger one would fill the memory.
const MOST: f64 = (1_u64 << 30) as f64;
/// Nanoseconds of a second.
const NANOSECONDS: f64 = 1e9;

/// Output of a controller. Windows are bytes, rates bit/s, times seconds.
#[pyclass(subclass, dict, weakref, module = "ackclock._ackclock")]
pub(crate) struct Controller {
    cwnd: Number,
    ssthresh: Option<Number>,
    pacing_rate: Option<f64>,
    send_quantum: Option<Number>,
    wake: Option<f64>,
}

/// Bytes. Fractions stay until they are read by the sender, so that a window can grow slowly.
#[derive(Clone, Copy)]
struct Number {
    value: f64,
    is_whole: bool,
}

impl Number {
    fn whole(value: u64) -> Self {
        Self { value: value as f64, is_whole: true }
    }

    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let value: f64 = given.extract()?;
        if !(0.0..=MOST).contains(&value) {
            return Err(PyValueError::new_err(format!("{name}: {given} is not from 0 to 2^30 bytes")));
        }
        let is_whole = given.is_exact_instance_of::<pyo3::types::PyInt>();
        Ok(Self { value, is_whole })
    }

    fn shown<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.is_whole {
            true => Ok((self.value as u64).into_pyobject(py)?.into_any()),
            false => Ok(self.value.into_pyobject(py)?.into_any()),
        }
    }
}

#[pymethods]
impl Controller {
    #[new]
    #[pyo3(signature = (path = None, *_args, **_parameters))]
    fn new(
        path: Option<&Bound<'_, PyAny>>,
        _args: &Bound<'_, PyTuple>,
        _parameters: Option<&Bound<'_, PyDict>>,
    ) -> Self {
        let path = path.and_then(|path| path.cast::<PathInfo>().ok());
        let mds = path
            .map_or(congestion::PathInfo::default().max_datagram_size, |path| path.get().max_datagram_size);
        let cwnd = Number::whole(initial_window(mds));
        Self { cwnd, ssthresh: Some(Number::whole(0)), pacing_rate: None, send_quantum: None, wake: None }
    }

    #[getter]
    fn cwnd<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.cwnd.shown(py)
    }

    #[setter]
    fn set_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.cwnd = Number::read("cwnd", value)?;
        Ok(())
    }

    #[getter]
    fn ssthresh<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.ssthresh.map(|value| value.shown(py)).transpose()
    }

    #[setter]
    fn set_ssthresh(&mut self, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.ssthresh = value.map(|value| Number::read("ssthresh", value)).transpose()?;
        Ok(())
    }

    #[getter]
    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    #[setter]
    fn set_pacing_rate(&mut self, value: Option<f64>) -> PyResult<()> {
        if let Some(value) = value.filter(|value| !(1.0..=1e15).contains(value)) {
            return Err(PyValueError::new_err(format!(
                "pacing_rate: {value} is not from 1 to 1e15 bit/s, and not None"
            )));
        }
        self.pacing_rate = value;
        Ok(())
    }

    #[getter]
    fn send_quantum<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.send_quantum.map(|value| value.shown(py)).transpose()
    }

    #[setter]
    fn set_send_quantum(&mut self, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.send_quantum = value.map(|value| Number::read("send_quantum", value)).transpose()?;
        Ok(())
    }

    #[getter]
    fn wake(&self) -> Option<f64> {
        self.wake
    }

    #[setter]
    fn set_wake(&mut self, value: Option<f64>) -> PyResult<()> {
        if let Some(value) = value.filter(|value| !(0.0..=1e9).contains(value)) {
            return Err(PyValueError::new_err(format!(
                "wake: {value} is not from 0 to 1e9 seconds since the start of the run, and not None"
            )));
        }
        self.wake = value;
        Ok(())
    }
}

impl Controller {
    /// Forgets the time of the timer, which has come.
    pub(crate) fn clear_wake(&mut self) {
        self.wake = None;
    }

    /// Returns the output as the sender reads it.
    pub(crate) fn control(&self) -> Control {
        Control {
            cwnd: self.cwnd.value as u64,
            pacing_rate: self.pacing_rate.map(rate),
            ssthresh: self.ssthresh.map_or(u64::MAX, |value| value.value as u64),
            send_quantum: self.send_quantum.map(|value| value.value as u64),
            wake: self.wake.map_or(Time::NEVER, |at| Time((at * NANOSECONDS).round() as u64)),
        }
    }
}

/// Reads bit/s.
pub(crate) fn rate(bits: f64) -> Rate {
    Rate::from_bytes_per_sec(bits / 8.0)
}
