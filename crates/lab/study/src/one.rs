//! Makes one run, and records it.

use std::io;
use std::path::Path;

use results::measure;
use results::store::{Audit, Done, Recorded};
use scenario::{Outcome, Ran, Scenario, Watch, World};

use crate::gather::flow_rows;
use crate::job::{Job, Run, work};
use crate::options::Failure;
use crate::recorder::Recorder;

/// Largest number of tries in real time. Other programs on the machine can make a run invalid.
const TRIES: u32 = 3;

impl Run<'_> {
    /// Makes the run with this number in virtual time, unless it exists already. Returns `None` if
    /// it belongs to another part.
    pub(crate) fn simulate(&self, number: usize, job: &Job<'_>) -> Result<Option<Done>, Failure> {
        let scenario = job.scenario(self.exp, self.options);
        let known = self.runs.load(number);
        if known.is_some() || !self.options.runs.has(number) {
            return Ok(self.progress.run(work(&scenario), |_| known));
        }
        self.progress.check_stop()?;
        let world = self.options.world(job.case.on)?;
        let made = self.progress.run(work(&scenario), |watch| {
            let mut recorder = Recorder::begin(self, job, &scenario, watch)?;
            let ran = world.run(&scenario, None, watch, Some(&mut recorder));
            let exchanges = recorder.exchanges();
            // Nothing is kept of a run that was stopped or whose world failed.
            let is_whole = matches!(ran, Ok(Some(_)));
            let recorded = if is_whole { recorder.finish(number) } else { recorder.give_up() };
            Ok((ran, recorded, exchanges))
        });
        let (ran, recorded, exchanges) = made.map_err(|e| self.store(e))?;
        // A full disk ends the run as well.
        let recorded = recorded.map_err(|e| self.store(e))?;
        let ran = ran.map_err(|why| Failure::World(of_row(job, &why)))?.ok_or(Failure::Interrupted(0))?;
        let audit = Audit { invalid_reasons: ran.invalid_reasons, repeated: 0 };
        let audit = Some(audit).filter(|audit| !audit.invalid_reasons.is_empty());
        let done = self.done(job, &scenario, &ran.outcome, (world, recorded));
        let done = Done { audit, exchanges, ..done };
        self.runs.keep(number, &done).map_err(|e| self.store(e))?;
        Ok(Some(done))
    }

    /// Makes the run with this number in real time, unless it exists already. Only its last try is
    /// recorded. Returns `None` if it belongs to another part.
    pub(crate) fn measure(&self, number: usize, job: &Job<'_>) -> Result<Option<Done>, Failure> {
        let scenario = job.scenario(self.exp, self.options);
        let known = self.runs.load(number);
        if known.is_some() || !self.options.runs.has(number) {
            return Ok(self.progress.run(work(&scenario), |_| known));
        }
        self.progress.check_stop()?;
        let world = self.options.world(job.case.on)?;
        let pcap = match self.options.pcap {
            true => Some(self.in_folder("pcap", &(job.file("") + ".pcapng")).map_err(|e| self.store(e))?),
            false => None,
        };
        let tried =
            self.progress.run(work(&scenario), |watch| tries(world, &scenario, pcap.as_deref(), watch));
        let (mut ran, repeated) = tried?;
        let nobody = Watch::default();
        let mut recorder = Recorder::begin(self, job, &scenario, &nobody).map_err(|e| self.store(e))?;
        ran.outcome.hand_over(&mut recorder);
        let exchanges = recorder.exchanges();
        let recorded = recorder.finish(number).map_err(|e| self.store(e))?;
        let audit = Some(Audit { invalid_reasons: ran.invalid_reasons, repeated });
        let done = self.done(job, &scenario, &ran.outcome, (world, recorded));
        let done = Done { audit, exchanges, ..done };
        self.runs.keep(number, &done).map_err(|e| self.store(e))?;
        Ok(Some(done))
    }

    fn done(
        &self,
        job: &Job<'_>,
        scenario: &Scenario,
        outcome: &Outcome,
        (world, recorded): (&dyn World, Option<Recorded>),
    ) -> Done {
        let untold = world.untold(scenario);
        let mut values = measure::measure(scenario, outcome, self.exp.groups());
        let mut flows = flow_rows(job, scenario, outcome);
        values.retain(|metric, _| !untold.contains(&metric.word()));
        flows.iter_mut().for_each(|flow| flow.values.retain(|metric, _| !untold.contains(&metric.word())));
        Done {
            values,
            flows,
            rtt: measure::rtt_of_all(&outcome.flows),
            recorded,
            audit: None,
            exchanges: Vec::new(),
        }
    }

    fn store(&self, error: io::Error) -> Failure {
        Failure::Store(self.options.out.join(&self.exp.name), error)
    }
}

/// Makes a run up to [`TRIES`] times until it is valid. Returns it, and the number of tries before.
fn tries(
    world: &dyn World,
    scenario: &Scenario,
    pcap: Option<&Path>,
    watch: &Watch,
) -> Result<(Ran, u32), Failure> {
    let mut repeated = 0;
    loop {
        let is_last = repeated + 1 == TRIES;
        match world.run(scenario, pcap, watch, None) {
            Ok(None) => return Err(Failure::Interrupted(0)),
            Ok(Some(ran)) if is_last || ran.invalid_reasons.is_empty() => return Ok((ran, repeated)),
            Err(why) if is_last => return Err(Failure::World(why)),
            // Packets of the handshake can be lost like any other.
            Ok(Some(_)) | Err(_) => repeated += 1,
        }
    }
}

fn of_row(job: &Job<'_>, why: &str) -> String {
    let row = job.case.label();
    match job.case.variant.as_str() {
        "" => format!("{row}: {why}"),
        variant => format!("{row} ({variant}): {why}"),
    }
}
