//! Real time as a world: the kernel's TCP with our QUIC endpoints, and other stacks as processes.

use std::path::Path;
use std::time::Instant;

use scenario::{Guests, Ran, Recorder, Scenario, Watch, World};

use crate::endpoints::{self, Feasibility, MakeGuests, Measured};
use crate::processes::{self, Stack};

/// Note about rows of other stacks.
const OTHERS: &str = "Rows of other stacks on the wire are processes with their own controllers of these names, loss recovery, pacing and \
                      acknowledgements. From the file they take the network, the datagram size and the times.";

/// The kernel's TCP and QUIC endpoints of this process, through the emulator.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints {
    /// Checks that the endpoints can run the QUIC flows of a scenario.
    pub check: fn(&Scenario) -> Result<(), String>,
    /// Makes the endpoints of a scenario's QUIC flows.
    pub guests: fn(&Scenario) -> Result<Guests, String>,
}

impl Endpoints {
    fn fit(&self, scenario: &Scenario) -> Result<Feasibility, String> {
        let fit = Feasibility::check(scenario)?;
        if fit.flows.iter().any(Option::is_none) {
            (self.check)(scenario)?;
        }
        Ok(fit)
    }

    /// Runs a scenario that fits, as [`endpoints::run`] does.
    pub(crate) fn run_as(
        &self,
        scenario: &Scenario,
        fit: &Feasibility,
        pcap: Option<&Path>,
        watch: &Watch,
        begins: &dyn Fn(Instant),
    ) -> Result<Option<Ran>, String> {
        let make = fit.flows.iter().any(Option::is_none).then(|| -> MakeGuests {
            let (make, scenario) = (self.guests, scenario.clone());
            Box::new(move || make(&scenario))
        });
        let measured = endpoints::run(scenario, fit, make, pcap.map(Path::to_owned), watch, begins);
        let Some(Measured { outcome, invalid_reasons, .. }) = measured.map_err(|e| e.to_string())? else {
            return Ok(None);
        };
        Ok(Some(Ran { outcome, invalid_reasons }))
    }
}

impl World for Endpoints {
    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        self.fit(scenario).map(drop)
    }

    fn run(
        &self,
        scenario: &Scenario,
        pcap: Option<&Path>,
        watch: &Watch,
        _: Option<&mut dyn Recorder>,
    ) -> Result<Option<Ran>, String> {
        self.run_as(scenario, &self.fit(scenario)?, pcap, watch, &|_| {})
    }

    fn untold(&self, scenario: &Scenario) -> Vec<&'static str> {
        endpoints::unknown(scenario).to_vec()
    }

    fn settings(&self) -> Option<String> {
        Some(crate::emu::tcp::settings())
    }

    fn is_real_time(&self) -> bool {
        true
    }

    fn has_virtual_twin(&self, scenario: &Scenario) -> bool {
        Feasibility::check(scenario).is_ok_and(|fit| fit.guests_only())
    }
}

/// Another stack as processes, through the emulator.
#[derive(Clone, Debug)]
pub struct Processes(pub Stack);

impl World for Processes {
    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        processes::check(scenario, &self.0, None).map_err(|why| why.to_string())
    }

    fn find(&self) -> Result<(), String> {
        self.0.locate().map(drop).map_err(|why| why.to_string())
    }

    fn run(
        &self,
        scenario: &Scenario,
        pcap: Option<&Path>,
        watch: &Watch,
        _: Option<&mut dyn Recorder>,
    ) -> Result<Option<Ran>, String> {
        // The stack's own logs, for those who ask for logs and captures.
        let qlog = pcap.filter(|_| scenario.trace).map(|pcap| pcap.with_extension("qlog"));
        // An earlier try may have left some.
        qlog.iter().for_each(|qlog| drop(std::fs::remove_dir_all(qlog)));
        let pcap = pcap.map(Path::to_owned);
        let options = processes::Options { pcap, qlog, ..processes::Options::default() };
        match processes::run_with(scenario, &self.0, None, &options, watch) {
            Ok(processes::Measured { outcome, invalid_reasons, .. }) => {
                Ok(Some(Ran { outcome, invalid_reasons }))
            }
            Err(processes::Error::Interrupted) => Ok(None),
            Err(why) => Err(why.to_string()),
        }
    }

    fn untold(&self, _: &Scenario) -> Vec<&'static str> {
        processes::UNKNOWN.to_vec()
    }

    fn is_real_time(&self) -> bool {
        true
    }

    fn notes(&self, _: &Scenario) -> Vec<&'static str> {
        vec![OTHERS]
    }
}
