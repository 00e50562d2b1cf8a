//! State that the controllers of one call share: its stop, and the exception that ended it.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// State of a call.
#[derive(Debug, Default)]
pub(crate) struct Host {
    /// The host is that of a call, not that of a thread that no call has.
    is_active: bool,
    stop: AtomicBool,
    fault: Mutex<Option<PyErr>>,
    /// Threads with controllers, by the numbers that Python has for them.
    threads: Mutex<Vec<u64>>,
}

thread_local! {
    static HOST: RefCell<Arc<Host>> = RefCell::default();
}

impl Host {
    /// Creates the host of a call.
    pub(crate) fn of_call() -> Arc<Self> {
        Arc::new(Self { is_active: true, ..Self::default() })
    }

    /// Returns the host of the call that this thread works for.
    pub(crate) fn of_thread() -> Arc<Self> {
        HOST.with_borrow(Arc::clone)
    }

    /// Reports whether this thread works for a call, so that a controller is calling.
    pub(crate) fn is_inside_a_call() -> bool {
        HOST.with_borrow(|host| host.is_active)
    }

    /// Makes this the host of the current thread.
    pub(crate) fn enter(self: &Arc<Self>) {
        HOST.set(Arc::clone(self));
    }

    /// Notes that this thread calls Python.
    pub(crate) fn add_thread(&self, py: Python<'_>) -> PyResult<()> {
        let thread: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if !threads.contains(&thread) {
            threads.push(thread);
        }
        Ok(())
    }

    /// Reports whether the controllers are to end their runs.
    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Asks the controllers to end their runs.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the runs with an exception. The first one counts.
    pub(crate) fn fail(&self, why: PyErr) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns the exception that ended the runs.
    pub(crate) fn take_fault(&self) -> Option<PyErr> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn has_fault(&self) -> bool {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Raises `KeyboardInterrupt` in controllers that do not return.
    pub(crate) fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let raise = py.import("ctypes")?.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?;
        let ctypes = py.import("ctypes")?;
        for thread in threads {
            let thread = ctypes.getattr("c_ulong")?.call1((thread,))?;
            let exception = ctypes.getattr("py_object")?.call1((py.get_type::<PyKeyboardInterrupt>(),))?;
            raise.call1((thread, exception))?;
        }
        Ok(())
    }
}
