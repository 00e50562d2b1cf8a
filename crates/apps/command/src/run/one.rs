//! Simulates or measures one run, and records it.

use std::io;

use experiment::metric::Metric;
use results::measure;
use results::store::{Done, Recorded};
use scenario::{Outcome, Scenario, Watch};
use stack::Host;

use super::gather::flow_rows;
use super::job::{Job, Run, work};
use super::options::Failure;
use super::recorder::Recorder;
use super::{on_stack, on_wire};

impl Run<'_> {
    /// Simulates the run with this number, unless it exists already. Returns `None` if it belongs
    /// to another part.
    pub(super) fn simulate(&self, number: usize, job: &Job<'_>) -> Result<Option<Done>, Failure> {
        let scenario = job.scenario(self.exp, self.options);
        let is_others = self.options.shard.is_some_and(|shard| !shard.has(number));
        let known = self.runs.load(number);
        if known.is_some() || is_others {
            return Ok(self.progress.run(work(&scenario), |_| known));
        }
        let host = Host::default();
        let guests = on_stack::guests_for(job.case, &scenario, &host)?;
        let simulated = self.progress.run(work(&scenario), |watch| {
            let mut recorder = Recorder::begin(self, job, &scenario, watch)?;
            let outcome = sim::run_with_guests(&scenario, guests, watch, Some(&mut recorder));
            // Nothing is kept of a run that was interrupted or whose host failed.
            let is_whole = outcome.is_some() && host.failure().is_none();
            let recorded = if is_whole { recorder.finish(number) } else { recorder.give_up() };
            Ok((outcome, recorded))
        });
        let (outcome, recorded) = simulated.map_err(|e| self.store(e))?;
        // A full disk ends the run as well.
        let recorded = recorded.map_err(|e| self.store(e))?;
        let outcome = outcome.ok_or(Failure::Interrupted(0))?;
        on_stack::check_host(job.case, &host)?;
        let mut done = self.done(job, &scenario, &outcome, recorded);
        done.audit = on_stack::audit(&scenario, &outcome);
        let knows = |metric: &Metric| on_stack::knows(job.case.on, metric);
        done.values.retain(|metric, _| knows(metric));
        done.flows.iter_mut().for_each(|flow| flow.values.retain(|metric, _| knows(metric)));
        self.runs.keep(number, &done).map_err(|e| self.store(e))?;
        Ok(Some(done))
    }

    /// Measures the run with this number in real time.
    pub(super) fn measure(&self, number: usize, job: &Job<'_>) -> Result<Done, Failure> {
        let scenario = job.scenario(self.exp, self.options);
        let pcap = match self.options.pcap {
            true => Some(self.in_folder("pcap", &(job.file("") + ".pcapng")).map_err(|e| self.store(e))?),
            false => None,
        };
        let (mut outcome, audit) = self
            .progress
            .run(work(&scenario), |watch| on_wire::run(job.case.on, &scenario, pcap.as_deref(), watch))?;
        let nobody = Watch::default();
        let mut recorder = Recorder::begin(self, job, &scenario, &nobody).map_err(|e| self.store(e))?;
        outcome.hand_over(&mut recorder);
        let recorded = recorder.finish(number).map_err(|e| self.store(e))?;
        let mut done = self.done(job, &scenario, &outcome, recorded);
        let knows = |metric: &Metric| on_wire::knows(job.case.on, &scenario, metric);
        done.values.retain(|metric, _| knows(metric));
        done.flows.iter_mut().for_each(|flow| flow.values.retain(|metric, _| knows(metric)));
        Ok(Done { audit: Some(audit), ..done })
    }

    fn done(
        &self,
        job: &Job<'_>,
        scenario: &Scenario,
        outcome: &Outcome,
        recorded: Option<Recorded>,
    ) -> Done {
        Done {
            values: measure::measure(scenario, outcome, self.exp.groups()),
            flows: flow_rows(job, scenario, outcome),
            rtt: measure::rtt_of_all(&outcome.flows),
            recorded,
            audit: None,
        }
    }

    fn store(&self, error: io::Error) -> Failure {
        Failure::Store(self.options.out.join(&self.exp.name), error)
    }
}
