//! A world around another one, for runs with controllers of Python.

use std::path::Path;
use std::sync::Arc;

use scenario::{Ran, Recorder, Scenario, Watch, World};

use crate::controller::host::Host;

/// A world whose runs may have controllers of Python.
pub(crate) struct Hosting {
    inner: Arc<dyn World>,
}

impl Hosting {
    pub(crate) fn new(inner: Arc<dyn World>) -> Self {
        Self { inner }
    }
}

impl World for Hosting {
    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        self.inner.check(scenario)
    }

    fn find(&self) -> Result<(), String> {
        self.inner.find()
    }

    /// Keeps nothing of a run whose controller raised an exception.
    fn run(
        &self,
        scenario: &Scenario,
        pcap: Option<&Path>,
        watch: &Watch,
        recorder: Option<&mut dyn Recorder>,
    ) -> Result<Option<Ran>, String> {
        let host = Host::of_thread();
        let ran = self.inner.run(scenario, pcap, watch, recorder);
        if host.has_fault() || host.is_over() { Ok(None) } else { ran }
    }

    fn untold(&self, scenario: &Scenario) -> Vec<&'static str> {
        self.inner.untold(scenario)
    }

    fn is_real_time(&self) -> bool {
        self.inner.is_real_time()
    }

    fn settings(&self) -> Option<String> {
        self.inner.settings()
    }

    fn has_virtual_twin(&self, scenario: &Scenario) -> bool {
        self.inner.has_virtual_twin(scenario)
    }

    fn notes(&self, scenario: &Scenario) -> Vec<&'static str> {
        self.inner.notes(scenario)
    }
}
