//! Makes one run, and records it.

use std::io;

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
        let is_others = self.options.shard.is_some_and(|shard| !shard.has(number));
        let known = self.runs.load(number);
        if known.is_some() || is_others {
            return Ok(self.progress.run(work(&scenario), |_| known));
        }
        let world = self.options.world(job.case.on)?;
        let ran = self.once(number, job, &scenario, world);
        let (ran, recorded) = ran?.map_err(|why| Failure::World(of_row(job, &why)))?;
        let audit = Audit { invalid_reasons: ran.invalid_reasons, repeated: 0 };
        let audit = Some(audit).filter(|audit| !audit.invalid_reasons.is_empty());
        let done = Done { audit, ..self.done(job, &scenario, &ran.outcome, (world, recorded)) };
        self.runs.keep(number, &done).map_err(|e| self.store(e))?;
        Ok(Some(done))
    }

    /// Makes the run with this number in real time, up to [`TRIES`] times until it is valid.
    pub(crate) fn measure(&self, number: usize, job: &Job<'_>) -> Result<Done, Failure> {
        let scenario = job.scenario(self.exp, self.options);
        let world = self.options.world(job.case.on)?;
        let mut repeated = 0;
        loop {
            let is_last = repeated + 1 == TRIES;
            match self.once(number, job, &scenario, world)? {
                Ok((ran, recorded)) if is_last || ran.invalid_reasons.is_empty() => {
                    let audit = Some(Audit { invalid_reasons: ran.invalid_reasons, repeated });
                    return Ok(Done { audit, ..self.done(job, &scenario, &ran.outcome, (world, recorded)) });
                }
                // Packets of the handshake can be lost like any other.
                Ok(_) => {}
                Err(why) if is_last => return Err(Failure::World(why)),
                Err(_) => {}
            }
            repeated += 1;
        }
    }

    /// Makes a run once. The inner error is the world's.
    fn once(
        &self,
        number: usize,
        job: &Job<'_>,
        scenario: &Scenario,
        world: &dyn World,
    ) -> Result<Result<(Ran, Option<Recorded>), String>, Failure> {
        let pcap = match self.options.pcap && world.is_real_time() {
            true => Some(self.in_folder("pcap", &(job.file("") + ".pcapng")).map_err(|e| self.store(e))?),
            false => None,
        };
        let made = self.progress.run(work(scenario), |watch: &Watch| {
            let mut recorder = Recorder::begin(self, job, scenario, watch)?;
            let ran = world.run(scenario, pcap.as_deref(), watch, &mut recorder);
            // Nothing is kept of a run that was stopped or whose world failed.
            let recorded =
                if matches!(ran, Ok(Some(_))) { recorder.finish(number) } else { recorder.give_up() };
            Ok((ran, recorded))
        });
        let (ran, recorded) = made.map_err(|e| self.store(e))?;
        // A full disk ends the run as well.
        let recorded = recorded.map_err(|e| self.store(e))?;
        match ran {
            Ok(Some(ran)) => Ok(Ok((ran, recorded))),
            Ok(None) => Err(Failure::Interrupted(0)),
            Err(why) => Ok(Err(why)),
        }
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
        Done { values, flows, rtt: measure::rtt_of_all(&outcome.flows), recorded, audit: None }
    }

    fn store(&self, error: io::Error) -> Failure {
        Failure::Store(self.options.out.join(&self.exp.name), error)
    }
}

fn of_row(job: &Job<'_>, why: &str) -> String {
    let row = job.case.label();
    match job.case.variant.as_str() {
        "" => format!("{row}: {why}"),
        variant => format!("{row} ({variant}): {why}"),
    }
}
