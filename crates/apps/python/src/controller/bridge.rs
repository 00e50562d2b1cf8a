//! A controller whose decisions an object of Python makes.

use std::fmt;
use std::sync::Arc;

use congestion::{
    Ack, Cause, CloneController, Congestion, Control, Controller as Contract, Idle, Lost, Needs, PathInfo,
    Sent, Value,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use units::Time;

use crate::controller::host::Host;
use crate::controller::object::Controller;
use crate::controller::report::{Sums, next_report};
use crate::controller::shape::Shape;
use crate::controller::signals;

/// Message of a run whose controller raised an exception, which the caller gets.
const FAILED: &str = "the controller raised an exception";

/// Bound methods of the object, if its class has them.
struct Methods {
    on_ack: Option<Py<PyAny>>,
    on_round: Option<Py<PyAny>>,
    on_interval: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_lost: Option<Py<PyAny>>,
    on_congestion: Option<Py<PyAny>>,
    on_spurious: Option<Py<PyAny>>,
    on_idle: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    on_path_change: Option<Py<PyAny>>,
}

impl Methods {
    fn new(object: &Bound<'_, PyAny>, shape: &Shape) -> PyResult<Self> {
        let method = |name: &str| match shape.has(name) {
            true => object.getattr(name).map(|method| Some(method.unbind())),
            false => Ok(None),
        };
        Ok(Self {
            on_ack: method("on_ack")?,
            on_round: method("on_round")?,
            on_interval: method("on_interval")?,
            on_sent: method("on_sent")?,
            on_lost: method("on_lost")?,
            on_congestion: method("on_congestion")?,
            on_spurious: method("on_spurious")?,
            on_idle: method("on_idle")?,
            on_timer: method("on_timer")?,
            on_path_change: method("on_path_change")?,
        })
    }
}

/// A controller whose decisions an object of Python makes.
pub(crate) struct Bridge {
    object: Py<Controller>,
    methods: Methods,
    shape: Arc<Shape>,
    host: Arc<Host>,
    sums: Sums,
    /// Time of the next report.
    report_at: Time,
    has_sent: bool,
    control: Control,
    failed: bool,
}

/// Creates the controller of a path. After an exception it is one that has failed.
pub(crate) fn build(shape: &Arc<Shape>, path: PathInfo, values: &[Value]) -> Box<dyn Contract> {
    let host = Host::of_thread();
    let made = Python::attach(|py| {
        host.add_thread(py)?;
        let keywords = PyDict::new(py);
        for (name, value) in shape.parameters.iter().zip(values) {
            match value {
                Value::Number(value) => keywords.set_item(name, value)?,
                Value::Whole(value) => keywords.set_item(name, value)?,
                Value::Flag(value) => keywords.set_item(name, value)?,
                Value::Text(value) => keywords.set_item(name, value)?,
            }
        }
        let object = shape.class.bind(py).call((signals::PathInfo::from(path),), Some(&keywords))?;
        Bridge::new(object.cast_into::<Controller>().map_err(PyErr::from)?, shape, &host)
    });
    match made {
        Ok(bridge) => Box::new(bridge),
        Err(why) => failed(&host, why),
    }
}

fn failed(host: &Host, why: PyErr) -> Box<dyn Contract> {
    host.fail(why);
    Box::new(Failed)
}

impl Bridge {
    fn new(object: Bound<'_, Controller>, shape: &Arc<Shape>, host: &Arc<Host>) -> PyResult<Self> {
        let py = object.py();
        let methods = Methods::new(object.as_any(), shape)?;
        let mut bridge = Self {
            object: object.unbind(),
            methods,
            shape: Arc::clone(shape),
            host: Arc::clone(host),
            sums: Sums::default(),
            report_at: shape.interval.map_or(Time::NEVER, |interval| Time::ZERO + interval),
            has_sent: false,
            control: Control::window(0),
            failed: false,
        };
        bridge.read(py);
        Ok(bridge)
    }

    /// Reads the output of the object.
    #[inline]
    fn read(&mut self, py: Python<'_>) {
        self.control = self.object.borrow(py).control();
        self.control.wake = self.control.wake.min(self.report_at);
    }

    /// Calls Python. After an exception nothing is called again.
    #[inline]
    fn call<R: Default>(&mut self, call: impl FnOnce(Python<'_>, &mut Self) -> PyResult<R>) -> R {
        if self.failed || self.host.is_over() {
            self.failed = true;
            return R::default();
        }
        Python::attach(|py| match call(py, self) {
            Ok(result) => {
                self.read(py);
                result
            }
            Err(why) => {
                self.failed = true;
                self.host.fail(why);
                R::default()
            }
        })
    }

    /// Calls a method with a signal, if the class has it.
    fn tell<'s, S, P>(&mut self, method: fn(&Methods) -> &Option<Py<PyAny>>, signal: &'s S)
    where
        P: From<&'s S> + pyo3::PyClass + Into<pyo3::PyClassInitializer<P>>,
    {
        if method(&self.methods).is_some() {
            self.call(|py, bridge| match method(&bridge.methods) {
                Some(method) => method.call1(py, (Py::new(py, P::from(signal))?,)).map(drop),
                None => Ok(()),
            });
        }
    }

    fn ack(&mut self, ack: &Ack<'_>) -> Option<Cause> {
        let Shape { packets, rate_samples, .. } = *self.shape;
        self.call(|py, bridge| {
            let Some(method) = &bridge.methods.on_ack else { return Ok(None) };
            let ack = Py::new(py, signals::Ack::new(py, ack, packets, rate_samples)?)?;
            cause(method.call1(py, (ack,))?.bind(py))
        })
    }

    fn round(&mut self, now: Time) -> Option<Cause> {
        let report = self.sums.take(now);
        self.call(|py, bridge| match &bridge.methods.on_round {
            Some(method) => cause(method.call1(py, (report,))?.bind(py)),
            None => Ok(None),
        })
    }

    /// Begins the first report of a flow, which may have started late.
    fn begin_reports(&mut self, now: Time) {
        self.has_sent = true;
        self.sums.take(now);
        if let Some(interval) = self.shape.interval {
            self.report_at = next_report(now, interval);
            Python::attach(|py| self.read(py));
        }
    }

    fn has_reports(&self) -> bool {
        self.methods.on_round.is_some() || self.methods.on_interval.is_some()
    }
}

/// Reads the return value of `on_ack` and `on_round`.
fn cause(returned: &Bound<'_, PyAny>) -> PyResult<Option<Cause>> {
    if returned.is_none() {
        return Ok(None);
    }
    match returned.extract::<&str>() {
        Ok("delay") => Ok(Some(Cause::Delay)),
        _ => Err(PyValueError::new_err(format!(
            "a controller returned {returned}; return None, or \"delay\" to ask for a congestion event"
        ))),
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("control", &self.control).finish_non_exhaustive()
    }
}

impl CloneController for Bridge {
    fn clone_controller(&self) -> Box<dyn Contract> {
        let copied = Python::attach(|py| {
            let object = py.import("copy")?.call_method1("deepcopy", (&self.object,))?;
            Self::new(object.cast_into::<Controller>().map_err(PyErr::from)?, &self.shape, &self.host)
        });
        match copied {
            Ok(copy) => {
                let Self { sums, report_at, has_sent, control, failed, .. } = *self;
                Box::new(Self { sums, report_at, has_sent, control, failed, ..copy })
            }
            Err(why) => failed(&self.host, why),
        }
    }
}

impl Contract for Bridge {
    fn on_sent(&mut self, sent: &Sent) {
        if self.has_reports() {
            if !self.has_sent {
                self.begin_reports(sent.now);
            }
            self.sums.add_sent(sent);
        }
        self.tell::<_, signals::Sent>(|methods| &methods.on_sent, sent);
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Option<Cause> {
        if self.has_reports() {
            self.sums.add_ack(ack);
        }
        let asked = if self.methods.on_ack.is_some() { self.ack(ack) } else { None };
        if ack.round_start && self.methods.on_round.is_some() {
            return self.round(ack.now).or(asked);
        }
        asked
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.sums.add_event(event);
        self.tell::<_, signals::Congestion>(|methods| &methods.on_congestion, event);
    }

    fn on_lost(&mut self, lost: &Lost<'_>) {
        if self.methods.on_lost.is_some() {
            self.call(|py, bridge| match &bridge.methods.on_lost {
                Some(method) => method.call1(py, (signals::Lost::new(py, lost)?,)).map(drop),
                None => Ok(()),
            });
        }
    }

    fn on_spurious(&mut self) {
        if self.methods.on_spurious.is_some() {
            self.call(|py, bridge| match &bridge.methods.on_spurious {
                Some(method) => method.call0(py).map(drop),
                None => Ok(()),
            });
        }
    }

    fn on_idle(&mut self, idle: &Idle) {
        self.tell::<_, signals::Idle>(|methods| &methods.on_idle, idle);
    }

    fn on_timer(&mut self, now: Time) {
        let report = (now >= self.report_at).then(|| {
            self.report_at = self.shape.interval.map_or(Time::NEVER, |interval| next_report(now, interval));
            self.sums.take(now)
        });
        self.call(|py, bridge| {
            let due = bridge.object.borrow(py).control().wake <= now;
            if let (Some(report), Some(method)) = (report, &bridge.methods.on_interval) {
                method.call1(py, (report,))?;
            }
            if let (true, Some(method)) = (due, &bridge.methods.on_timer) {
                bridge.object.borrow_mut(py).clear_wake();
                method.call1(py, (now.as_secs_f64(),))?;
            }
            Ok(())
        });
    }

    fn on_path_change(&mut self, path: PathInfo) {
        if self.methods.on_path_change.is_some() {
            self.call(|py, bridge| match &bridge.methods.on_path_change {
                Some(method) => method.call1(py, (signals::PathInfo::from(path),)).map(drop),
                None => Ok(()),
            });
        }
    }

    fn needs(&self) -> Needs {
        self.shape.needs
    }

    fn shapes_recovery(&self) -> bool {
        self.shape.shapes_recovery
    }

    fn control(&self) -> Control {
        self.control
    }

    fn failure(&self) -> Option<String> {
        self.failed.then(|| FAILED.to_owned())
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        if self.shape.variables.is_empty() || self.failed {
            return;
        }
        let told = Python::attach(|py| {
            for variable in &self.shape.variables {
                let value = self.object.bind(py).getattr(variable.name)?;
                if !value.is_none() {
                    put(variable.name, value.extract()?);
                }
            }
            Ok(())
        });
        if let Err(why) = told {
            self.host.fail(why);
        }
    }
}

/// A controller that could not be created.
#[derive(Clone, Debug)]
struct Failed;

impl Contract for Failed {
    fn on_ack(&mut self, _: &Ack<'_>) -> Option<Cause> {
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_path_change(&mut self, _: PathInfo) {}
    fn control(&self) -> Control {
        Control::window(congestion::initial_window(PathInfo::default().max_datagram_size))
    }
    fn failure(&self) -> Option<String> {
        Some(FAILED.to_owned())
    }
}
