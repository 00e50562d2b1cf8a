//! One flow's two processes, from their beginning to their end.

use std::time::{Duration, Instant};

use emu::child::code;
use emu::{Identity, Rig, Side};

use super::certificates::{Certificates, SERVER_NAME};
use super::dark::Dark;
use super::fate::{Fate, Transfer};
use super::feasibility::FlowPlan;
use super::folder::{FILE, FlowFolder};
use super::process::Process;
use crate::error::Error;
use crate::stack::{Located, Words};

/// What all flows of a run are told.
#[derive(Debug)]
pub(super) struct Told<'a> {
    /// The stacks of client and server.
    pub(super) located: [&'a Located; 2],
    /// What the client's stack is to send its own packets with: acknowledgements, mostly.
    pub(super) client_controller: &'a str,
    pub(super) certificates: &'a Certificates,
    pub(super) identity: &'a Identity,
    /// Payload of UDP of a full packet, bytes.
    pub(super) datagram: u32,
}

/// A flow under way.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    told: &'a Told<'a>,
    plan: &'a FlowPlan,
    folder: &'a FlowFolder,
    server: Option<Process>,
    client: Option<Process>,
    begun: Option<Instant>,
    /// How much had arrived, and when that was more than before.
    progress: (u64, Option<Instant>),
    fate: Option<Fate>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(told: &'a Told<'a>, plan: &'a FlowPlan, folder: &'a FlowFolder) -> Self {
        Self { told, plan, folder, server: None, client: None, begun: None, progress: (0, None), fate: None }
    }

    pub(super) fn plan(&self) -> &FlowPlan {
        self.plan
    }

    pub(super) fn fate(&self) -> Option<&Fate> {
        self.fate.as_ref()
    }

    /// Ends it so, unless it has ended; it is listened to no more.
    pub(super) fn settle(&mut self, fate: Fate) {
        self.fate.get_or_insert(fate);
    }

    fn words(&self, side: Side) -> Words {
        let Told { certificates, datagram, client_controller, .. } = self.told;
        let address = Side::Server.ipv4();
        let port = self.plan.port;
        Words::from([
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
        let located = self.told.located[side as usize];
        let end = if side == Side::Client { located.stack().client() } else { located.stack().server() };
        let mut command = located.command(end, &self.words(side))?;
        command.current_dir(&self.folder.downloads);
        Process::start(rig, side, self.told.identity, command)
    }

    /// # Errors
    /// What the system refuses.
    pub(super) fn start_server(&mut self, rig: &Rig) -> Result<(), Error> {
        self.server = Some(self.start(rig, Side::Server)?);
        Ok(())
    }

    /// Starts a client that waits for the word; another one is started when its time comes.
    ///
    /// # Errors
    /// What the system refuses.
    pub(super) fn prepare_client(&mut self, rig: &Rig) -> Result<(), Error> {
        if self.told.located[Side::Client as usize].stack().client().waits {
            self.client = Some(self.start(rig, Side::Client)?);
        }
        Ok(())
    }

    /// Whether its client waits for the word: its file is there then.
    pub(super) fn is_ready(&self) -> bool {
        self.client.is_none() || self.folder.arrived().is_some()
    }

    /// Its time has come.
    ///
    /// # Errors
    /// What the system refuses.
    pub(super) fn begin(&mut self, rig: &Rig, now: Instant) -> Result<(), Error> {
        match &mut self.client {
            Some(client) => client.begin(),
            None => self.client = Some(self.start(rig, Side::Client)?),
        }
        self.begun = Some(now);
        Ok(())
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Whether a process of it has ended that should not have.
    pub(super) fn check_processes(&mut self) {
        for (side, process) in [(Side::Server, &mut self.server), (Side::Client, &mut self.client)] {
            let Some(status) = process.as_mut().and_then(Process::status) else { continue };
            let fate = match (side, code(status)) {
                (Side::Client, 0) if self.begun.is_some() => match self.plan.whole {
                    true if self.folder.is_right() => Fate::Done,
                    true => Fate::WrongData,
                    false => Fate::Early,
                },
                (side, status) => Fate::Crashed(side, status),
            };
            // A client that is done counts before a server that ended with it.
            if self.fate.is_none() || fate == Fate::Done {
                self.fate = Some(fate);
            }
        }
    }

    /// Looks how far it is; nothing new for `silence` is a stall, but for when the link is dark.
    pub(super) fn look(&mut self, now: Instant, silence: Duration, dark: &Dark) {
        self.check_processes();
        if self.fate.is_some() {
            return;
        }
        let arrived = self.folder.arrived().unwrap_or(0);
        if arrived > self.progress.0 {
            self.progress = (arrived, Some(now));
        }
        let since = self.progress.1.or(self.begun).map(|since| dark.counts_from(since, now));
        if since.is_some_and(|since| now.saturating_duration_since(since) >= silence) {
            self.fate = Some(Fate::Stalled(silence));
        }
    }

    /// Its time is over before that of the run: it sends nothing more.
    pub(super) fn quiet(&mut self) {
        drop(self.client.take());
        drop(self.server.take());
    }

    /// Ends both processes, at once and without a word to each other, so that nothing more is sent.
    pub(super) fn stop(&mut self) -> Transfer {
        let words =
            [self.client.take(), self.server.take()].map(|end| end.map(Process::finish).unwrap_or_default());
        let fate = self.fate.clone().unwrap_or(Fate::Abandoned);
        let words = if fate.is_good() { Default::default() } else { words };
        Transfer { fate, arrived: self.folder.arrived().unwrap_or(0), words }
    }
}
