//! Properties of a class that decide how it is called.

use std::collections::BTreeSet;

use congestion::{Needs, Variable};
use pyo3::prelude::*;
use units::Duration;

/// Properties of a class that decide how it is called.
pub(crate) struct Shape {
    pub(crate) class: Py<PyAny>,
    /// Names of its methods that override those of the base class.
    pub(crate) methods: BTreeSet<String>,
    /// Names of its parameters, in order.
    pub(crate) parameters: Vec<String>,
    pub(crate) variables: Vec<Variable>,
    /// Interval of its reports.
    pub(crate) interval: Option<Duration>,
    pub(crate) packets: bool,
    pub(crate) rate_samples: bool,
    pub(crate) shapes_recovery: bool,
    pub(crate) needs: Needs,
}

impl Shape {
    pub(crate) fn has(&self, method: &str) -> bool {
        self.methods.contains(method)
    }

    /// Reports whether Python is called for packets. Several such runs would wait for one
    /// another's lock.
    pub(crate) fn is_called_often(&self) -> bool {
        ["on_ack", "on_sent"].iter().any(|method| self.has(method))
    }
}
