//! A place where scenarios run: a simulator, protocol code in virtual time, or real time.

use std::path::Path;

use crate::{Outcome, Recorder, Scenario, Watch};

/// A place where scenarios run.
///
/// A study knows its places by this trait alone. A world depends on no other world.
pub trait World: Send + Sync {
    /// Checks that every flow and link of a scenario can run here.
    ///
    /// # Errors
    /// The first thing that cannot, as a clause: `it uses TCP`.
    fn check(&self, scenario: &Scenario) -> Result<(), String>;

    /// Checks that the programs which the world runs are on this machine.
    ///
    /// # Errors
    /// The missing part, and how to install it.
    fn find(&self) -> Result<(), String> {
        Ok(())
    }

    /// Runs a scenario once. Returns `None` if `watch.stop` ended the run early.
    ///
    /// A recorder receives time series and packet events during the run. Without one, the outcome
    /// has them. A world in real time may leave them to the outcome in any case. `pcap` is the file
    /// for the captured traffic, where there is real traffic to capture.
    ///
    /// # Errors
    /// A failure of the world, not of the scenario: a system call, a process.
    fn run(
        &self,
        scenario: &Scenario,
        pcap: Option<&Path>,
        watch: &Watch,
        recorder: Option<&mut dyn Recorder>,
    ) -> Result<Option<Ran>, String>;

    /// Returns the metrics that a run of this scenario cannot tell, by their words in files.
    fn untold(&self, scenario: &Scenario) -> Vec<&'static str>;

    /// Reports whether a run takes as long as its scenario. Such runs are made one after the other,
    /// and again if the machine disturbed them.
    fn is_real_time(&self) -> bool {
        false
    }

    /// Returns the settings outside of this program that decide a run in real time. `None` if they
    /// are not known: a finished run is then not used again.
    fn settings(&self) -> Option<String> {
        None
    }

    /// Reports whether all flows of a scenario are endpoints that can also run in virtual time.
    fn has_virtual_twin(&self, _: &Scenario) -> bool {
        false
    }

    /// Returns what a reader of this world's rows must know, a sentence or more each.
    fn notes(&self, _: &Scenario) -> Vec<&'static str> {
        Vec::new()
    }
}

/// A completed run.
#[derive(Debug)]
pub struct Ran {
    /// Results, without the series and events that a recorder has.
    pub outcome: Outcome,
    /// Reasons why the run is invalid; empty for a valid run.
    pub invalid_reasons: Vec<String>,
}
