//! Runs the two processes of one flow, from start to end.

use std::time::{Duration, Instant};

use crate::emu::child::code;
use crate::emu::{Identity, Rig, Side};

use super::certificates::{Certificates, SERVER_NAME};
use super::fate::{Fate, Transfer};
use super::feasibility::FlowPlan;
use super::folder::{FILE, FlowFolder};
use super::outages::Outages;
use super::process::Process;
use crate::processes::error::Error;
use crate::processes::stack::{Located, Placeholders};

/// Parameters shared by all flows of a run.
#[derive(Debug)]
pub(super) struct FlowContext<'a> {
    /// Stacks of client and server.
    pub(super) located: [&'a Located; 2],
    /// Controller of the client's own packets, which are mostly ACKs.
    pub(super) client_controller: &'a str,
    pub(super) certificates: &'a Certificates,
    pub(super) identity: &'a Identity,
    /// UDP payload of a full packet, in bytes.
    pub(super) datagram: u32,
}

/// A running flow.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    context: &'a FlowContext<'a>,
    plan: &'a FlowPlan,
    folder: &'a FlowFolder,
    server: Option<Process>,
    client: Option<Process>,
    begun: Option<Instant>,
    /// Bytes that had arrived, and the time of their last increase.
    progress: (u64, Option<Instant>),
    fate: Option<Fate>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(context: &'a FlowContext<'a>, plan: &'a FlowPlan, folder: &'a FlowFolder) -> Self {
        Self {
            context,
            plan,
            folder,
            server: None,
            client: None,
            begun: None,
            progress: (0, None),
            fate: None,
        }
    }

    pub(super) fn plan(&self) -> &FlowPlan {
        self.plan
    }

    pub(super) fn fate(&self) -> Option<&Fate> {
        self.fate.as_ref()
    }

    /// Sets how the flow ended, unless it already has. The flow is no longer watched.
    pub(super) fn set_fate(&mut self, fate: Fate) {
        self.fate.get_or_insert(fate);
    }

    fn placeholders(&self, side: Side) -> Placeholders {
        let FlowContext { certificates, datagram, client_controller, .. } = self.context;
        let address = Side::Server.ipv4();
        let port = self.plan.port;
        Placeholders::from([
            ("address", address.to_string()),
            ("port", port.to_string()),
            ("url", format!("https://{address}:{port}/{FILE}")),
            ("path", format!("/{FILE}")),
            ("name", SERVER_NAME.to_owned()),
            ("ca", certificates.ca.display().to_string()),
            ("cert", certificates.cert.display().to_string()),
            ("key", certificates.key.display().to_string()),
            ("root", self.folder.root.display().to_string()),
            ("out", self.folder.out().display().to_string()),
            ("downloads", self.folder.downloads.display().to_string()),
            ("keylog", self.folder.keys[side as usize].display().to_string()),
            ("qlog", self.folder.qlog[side as usize].display().to_string()),
            (
                "controller",
                if side == Side::Client {
                    client_controller.to_string()
                } else {
                    self.plan.controller.clone()
                },
            ),
            ("datagram", datagram.to_string()),
        ])
    }

    fn start(&self, rig: &Rig, side: Side) -> Result<Process, Error> {
        let located = self.context.located[side as usize];
        let end = if side == Side::Client { located.stack().client() } else { located.stack().server() };
        let mut command = located.command(end, &self.placeholders(side))?;
        command.current_dir(&self.folder.downloads);
        Process::start(rig, side, self.context.identity, command)
    }

    /// Starts the server.
    ///
    /// # Errors
    /// The error of the system call.
    pub(super) fn start_server(&mut self, rig: &Rig) -> Result<(), Error> {
        self.server = Some(self.start(rig, Side::Server)?);
        Ok(())
    }

    /// Starts the client if it waits for the start signal. Another client is started at its time.
    ///
    /// # Errors
    /// The error of the system call.
    pub(super) fn prepare_client(&mut self, rig: &Rig) -> Result<(), Error> {
        if self.context.located[Side::Client as usize].stack().client().waits {
            self.client = Some(self.start(rig, Side::Client)?);
        }
        Ok(())
    }

    /// Reports whether the client is ready. A client creates its file just before it waits for the
    /// start signal.
    pub(super) fn is_ready(&self) -> bool {
        self.client.is_none() || self.folder.arrived().is_some()
    }

    /// Starts the transfer.
    ///
    /// # Errors
    /// The error of the system call.
    pub(super) fn start_transfer(&mut self, rig: &Rig, now: Instant) -> Result<(), Error> {
        match &mut self.client {
            Some(client) => client.send_start(),
            None => self.client = Some(self.start(rig, Side::Client)?),
        }
        self.begun = Some(now);
        Ok(())
    }

    pub(super) fn has_started(&self) -> bool {
        self.begun.is_some()
    }

    /// Checks for processes that have ended, and sets how the flow ended.
    pub(super) fn check_processes(&mut self) {
        for (side, process) in [(Side::Server, &mut self.server), (Side::Client, &mut self.client)] {
            let Some(status) = process.as_mut().and_then(Process::status) else { continue };
            let fate = match (side, code(status)) {
                (Side::Client, 0) if self.begun.is_some() => match self.plan.whole {
                    true if self.folder.matches_served() => Fate::Done,
                    true => Fate::WrongData,
                    false => Fate::Early,
                },
                (side, status) => Fate::Crashed(side, status),
            };
            // A finished client takes precedence over a server that ended with it.
            if self.fate.is_none() || fate == Fate::Done {
                self.fate = Some(fate);
            }
        }
    }

    /// Checks the progress. A flow without new data for `silence` outside of outages has stalled.
    pub(super) fn poll(&mut self, now: Instant, silence: Duration, outages: &Outages) {
        self.check_processes();
        if self.fate.is_some() {
            return;
        }
        let arrived = self.folder.arrived().unwrap_or(0);
        if arrived > self.progress.0 {
            self.progress = (arrived, Some(now));
        }
        let since = self.progress.1.or(self.begun).map(|since| outages.counts_from(since, now));
        if since.is_some_and(|since| now.saturating_duration_since(since) >= silence) {
            self.fate = Some(Fate::Stalled(silence));
        }
    }

    /// Ends both processes of a flow that stops before the run does, so that it sends nothing more.
    pub(super) fn kill(&mut self) {
        drop(self.client.take());
        drop(self.server.take());
    }

    /// Ends both processes at once, without a close of the connection, so that nothing more is
    /// sent.
    pub(super) fn stop(&mut self) -> Transfer {
        let last_output =
            [self.client.take(), self.server.take()].map(|end| end.map(Process::finish).unwrap_or_default());
        let fate = self.fate.clone().unwrap_or(Fate::Abandoned);
        let last_output = if fate.is_good() { Default::default() } else { last_output };
        Transfer { fate, arrived: self.folder.arrived().unwrap_or(0), last_output }
    }
}
