#![doc = include_str!("../README.md")]
#![allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "Python passes values, and one caller"
)]

mod answer;
mod call;
mod controller;
mod env;
mod error;
mod experiment;
mod list;
mod results;
mod session;
mod table;
mod twice;

use pyo3::prelude::*;

/// The extension module. The package `ackclock` documents what it offers.
#[pymodule]
mod _ackclock {
    #[pymodule_export]
    use crate::answer::{Answer, ask, command, plain};
    #[cfg(feature = "conformance")]
    #[pymodule_export]
    use crate::controller::conformance::conformance;
    #[pymodule_export]
    use crate::controller::entry::Class;
    #[pymodule_export]
    use crate::controller::object::Controller;
    #[pymodule_export]
    use crate::controller::report::Report;
    #[pymodule_export]
    use crate::controller::signals::{
        Ack, AckedPacket, Congestion, Idle, Lost, LostPacket, PathInfo, RateSample, Sent,
    };
    #[pymodule_export]
    use crate::env::episodes::Episodes;
    #[pymodule_export]
    use crate::env::view::View;
    #[pymodule_export]
    use crate::experiment::{Experiment, resolve};
    #[pymodule_export]
    use crate::list::{controllers, experiments, metrics, networks, schema, series_columns};
    #[pymodule_export]
    use crate::results::{Results, stored};
    #[pymodule_export]
    use crate::table::Table;

    use pyo3::types::{PyAnyMethods, PyModuleMethods};

    use super::{Bound, PyModule, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Results of a changed program are not those of its commit: this file is the program.
        if let Ok(file) = module.getattr("__spec__").and_then(|spec| spec.getattr("origin")?.extract()) {
            ackclock::set_file(file);
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
