//! A class of Python as an entry of the registry.

use std::collections::BTreeSet;
use std::sync::Arc;

use congestion::{Entry, Needs, Parameter, Range, Value, Variable};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use units::Duration;

use crate::controller::bridge;
use crate::controller::shape::Shape;

/// A parameter: name, description, smallest and largest value, default.
type Described = (String, String, Option<(Option<f64>, Option<f64>)>, Default);

/// Default of a parameter. A flag comes first, because Python takes it for a number.
#[derive(FromPyObject)]
enum Default {
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}

/// A class that experiments may name.
#[pyclass(frozen, weakref, module = "ackclock._ackclock")]
pub(crate) struct Class {
    pub(crate) entry: Entry,
    pub(crate) shape: Arc<Shape>,
}

#[pymethods]
impl Class {
    #[new]
    fn new(
        class: Py<PyAny>,
        name: &str,
        doc: &str,
        methods: BTreeSet<String>,
        parameters: Vec<Described>,
        variables: Vec<(String, String)>,
        interval: Option<&str>,
        needs: BTreeSet<String>,
        shapes_recovery: bool,
    ) -> PyResult<Self> {
        let wrong = |why| PyValueError::new_err(format!("{name}.interval: {why}"));
        let interval = interval.map(str::parse::<Duration>).transpose().map_err(wrong)?;
        if interval.is_some_and(|interval| interval == Duration::ZERO) {
            return Err(wrong("must be longer than 0 s".to_owned()));
        }
        let variable = |(name, unit): (String, String)| Variable {
            name: Box::leak(name.into()),
            unit: Box::leak(unit.into()),
            doc: "a variable of the class",
            always: false,
        };
        let names = parameters.iter().map(|parameter| parameter.0.clone()).collect();
        let parameters: Vec<Parameter> = parameters.into_iter().map(described).collect();
        let variables: Vec<Variable> = variables.into_iter().map(variable).collect();
        let rate_samples = needs.contains("rate_samples");
        let shape = Arc::new(Shape {
            class,
            interval,
            parameters: names,
            variables: variables.clone(),
            packets: needs.contains("packets"),
            rate_samples,
            shapes_recovery,
            needs: Needs {
                receive_times: needs.contains("receive_times"),
                every_receive_time: needs.contains("every_receive_time"),
                // Reports have the delivery rate as well.
                rate_samples: rate_samples || methods.contains("on_round") || methods.contains("on_interval"),
                mark_counts: needs.contains("mark_counts"),
                ..Needs::default()
            },
            methods,
        });
        let own = Arc::clone(&shape);
        let build = Arc::new(move |path, values: &[Value]| bridge::build(&own, path, values));
        Ok(Self { entry: Entry::dynamic(name, doc, &parameters, variables, build), shape })
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.entry.name
    }
}

fn described((name, doc, range, default): Described) -> Parameter {
    let range = range.map(|(low, high)| {
        let low = low.map_or(Range::above(f64::NEG_INFINITY), Range::from);
        high.map_or(low, |high| low.to(high))
    });
    let default = match default {
        Default::Flag(value) => Value::Flag(value),
        Default::Whole(value) => Value::Whole(value),
        Default::Number(value) => Value::Number(value),
        Default::Text(value) => Value::Text(value),
    };
    Parameter { name, doc, range, default }
}
