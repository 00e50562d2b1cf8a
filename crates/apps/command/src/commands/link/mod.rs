//! `ackclock link`: runs a command behind an emulated link.
// The emulator runs by the real clock.
#![allow(clippy::disallowed_methods)]

pub(crate) mod show;

use std::ffi::OsString;
use std::fs;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use wire::emu::child::{Child, code};
use wire::emu::privilege::Way;
use wire::emu::signals::Signals;
use wire::emu::{Config, Identity, Rig, Side, Snapshot, privilege};

use crate::commands::arguments::integer;
use crate::commands::pair::{self, Pair};
use crate::commands::sources;
use crate::status::Error;
use experiment::library::{Library, NETWORKS};

/// Largest IP packet in bytes, the MTU of the TUN devices.
const MTU: u32 = 1500;
/// Interval between checks for signals and ended commands.
const LOOK: Duration = Duration::from_millis(50);
/// Interval between status lines on a terminal, where each replaces the one before.
const REDRAW: Duration = Duration::from_millis(250);
/// Interval between status lines elsewhere.
const REWRITE: Duration = Duration::from_secs(10);
/// Longest time that the client's command waits until the server's listens.
const LISTEN: Duration = Duration::from_secs(2);
/// Time that the server's command has to end by itself after the client's has ended.
const FAREWELL: Duration = Duration::from_millis(500);
/// Time that a command has to end after a signal.
const GRACE: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// The bottleneck, as in "rate=10 Mbit/s delay=25 ms queue=2 BDP", or the name or file of an
    /// experiment.
    ///
    /// The keys are those of [link] in docs/src/reference/keys.md. The first case of an experiment
    /// is used. A network of `ackclock networks` has its bottleneck in the direction of a download.
    link: String,
    /// Set the reverse direction, in the same format.
    ///
    /// Without it, the reverse direction has the same delay and no limits.
    #[arg(long, value_name = "LINK")]
    back: Option<String>,
    /// Put the bottleneck in the direction from server to client, as in a download.
    #[arg(long)]
    down: bool,
    /// Run a shell command at the other end, as in "iperf3 -s".
    ///
    /// The client's command waits up to 2 s for the server to listen.
    #[arg(long, value_name = "COMMAND")]
    server: Option<String>,
    /// Add this number of bytes to every IP packet on the wire, such as 14 for Ethernet.
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = integer(0_u32, 1000))]
    overhead: u32,
    /// Set the seed for all random elements.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write a log with a row per packet, as CSV.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Capture the traffic at both ends, as pcapng.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Let the commands keep root and every capability.
    ///
    /// They can then change the link's interfaces, which invalidates the run, or move into the
    /// host's network.
    #[arg(long)]
    keep_root: bool,
    /// Print only errors and warnings, without addresses, status and summary.
    #[arg(long, short)]
    quiet: bool,
    /// The command and its arguments.
    ///
    /// The command runs in a network of its own, at 10.64.0.1 and fd00:64::1. It can reach only the
    /// server at 10.64.0.2 and fd00:64::2 ($ACKCLOCK_SERVER, $ACKCLOCK_SERVER_V6), which answers
    /// pings. The host's network and the internet are out of reach.
    ///
    /// Under sudo the command runs as the user who called sudo. As root without sudo it stays root,
    /// with no capabilities except those for files, users, raw sockets and ports below 1024. `sudo`
    /// does not work inside.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Runs the command. Returns its exit status.
pub(crate) fn run(args: &LinkArgs) -> Result<u8, Error> {
    let (config, down) = config(args)?;
    // The user namespace must be entered before any thread starts, and the signals held before any
    // thread that must not get them.
    let way = privilege::acquire().map_err(|e| e.to_string())?;
    let identity = match way {
        Way::Root if args.keep_root => Identity::own(),
        _ => Identity::of_caller(way).map_err(|e| e.to_string())?,
    };
    let signals = Signals::hold().map_err(|e| e.to_string())?;
    let rig = Rig::start(&config).map_err(|e| e.to_string())?;
    if !args.quiet {
        show::say(&format!("commands run as {identity}"));
        introduce(&config, down);
    }
    let ran = commands(args, &rig, &identity, &signals);
    let report = rig.stop().map_err(|e| e.to_string())?;
    let status = ran?;
    if !args.quiet {
        let [there, back] = &report.last.sides;
        show::say(&show::direction("client -> server", there, report.last.elapsed));
        show::say(&show::direction("server -> client", back, report.last.elapsed));
        show::say(&show::audit(&report.audit));
    } else if !report.audit.invalid_reasons().is_empty() {
        show::say(&format!("ackclock: {}", show::audit(&report.audit)));
    }
    Ok(status)
}

/// Returns the link, and whether the bottleneck is in the direction from server to client.
fn config(args: &LinkArgs) -> Result<(Config, bool), Error> {
    if let (Some(log), Some(pcap)) = (&args.log, &args.pcap)
        && are_same(log, pcap)
    {
        let (log, pcap) = (log.display(), pcap.display());
        return Err(Error::bad(format!("--pcap {pcap}: the same file as --log {log}; give each its own")));
    }
    let (Pair { link, back }, is_network) = pair(args)?;
    let (back, down) = (back.unwrap_or_else(Config::delay), args.down || is_network);
    let (there, back) = if down { (back, link) } else { (link, back) };
    let log = wire::emu::capture::log::Files { csv: args.log.clone(), pcap: args.pcap.clone(), keep: false };
    Ok((Config { there, back, overhead: args.overhead, seed: args.seed, log }, down))
}

/// Reports whether two paths lead to the same file, which need not exist yet. Devices such as
/// /dev/null can be written twice.
fn are_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok();
        fs::canonicalize(path).ok().or(folder.zip(path.file_name()).map(|(folder, name)| folder.join(name)))
    };
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), _) if one.file_type().is_char_device() => false,
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => one == other || whole(one).is_some_and(|one| whole(other) == Some(one)),
    }
}

/// Reads the link. Reports whether it is a shipped network.
fn pair(args: &LinkArgs) -> Result<(Pair, bool), Error> {
    let packet = MTU + args.overhead;
    if args.link.contains('=') && !Path::new(&args.link).is_file() {
        return Ok((pair::read(&args.link, args.back.as_deref(), packet)?, false));
    }
    if args.back.is_some() {
        return Err(Error::bad(
            "--back: only valid with a link like \"rate=10 Mbit/s delay=25 ms\", not with an experiment",
        ));
    }
    let sources = Library.resolve(std::slice::from_ref(&args.link)).map_err(|e| {
        Error::bad(format!("{e}; or write the link like \"rate=10 Mbit/s delay=25 ms queue=2 BDP\""))
    })?;
    let [source] = &sources[..] else {
        return Err(Error::bad(format!("`{}` names {} experiments; name one", args.link, sources.len())));
    };
    let experiment = sources::parsed(source)?;
    let (pair, note) = pair::from_experiment(&experiment)?;
    if !args.quiet {
        show::say(&format!("link of {note}"));
    }
    Ok((pair, source.name.starts_with(NETWORKS)))
}

fn introduce(config: &Config, down: bool) {
    let (bottleneck, way) =
        if down { (&config.back, "server -> client") } else { (&config.there, "client -> server") };
    show::say(&format!("bottleneck {way}: {}", show::link(bottleneck)));
    for side in [Side::Client, Side::Server] {
        show::say(&format!("{side} {} {}", side.ipv4(), side.ipv6()));
    }
}

/// Runs both commands until the client's has ended.
fn commands(args: &LinkArgs, rig: &Rig, identity: &Identity, signals: &Signals) -> Result<u8, String> {
    let mut server = args.server.as_ref().map(|text| start_server(rig, identity, text)).transpose()?;
    if let Some(server) = &mut server {
        await_listener(rig, server)?;
    }
    let [program, arguments @ ..] = &args.command[..] else {
        return Err("no command".to_owned());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let mut client = Child::start(rig, Side::Client, identity, command).map_err(|e| e.to_string())?;
    let mut status = Status::new(args);
    let mut deadline = None;
    let ended = loop {
        if let Some(ended) = client.try_status() {
            break ended;
        }
        if rig.has_failed() || deadline.is_some_and(|at| Instant::now() >= at) {
            // Stopping the link reports what is wrong with it.
            client.signal(wire::emu::child::Signal::SIGKILL);
            break client.wait();
        }
        if let Some(came) = signals.wait(LOOK) {
            // The commands get signals from the terminal as well, and decide themselves.
            if !came.from_terminal {
                client.signal(came.signal);
                deadline.get_or_insert(Instant::now() + GRACE);
            }
        }
        status.show(rig);
    };
    status.clear();
    if let Some(server) = server {
        end(server);
    }
    Ok(code(ended))
}

fn start_server(rig: &Rig, identity: &Identity, text: &str) -> Result<Child, String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", text]).stdin(Stdio::null());
    Child::start(rig, Side::Server, identity, shell).map_err(|e| e.to_string())
}

fn await_listener(rig: &Rig, server: &mut Child) -> Result<(), String> {
    let until = Instant::now() + LISTEN;
    while Instant::now() < until {
        if let Some(status) = server.try_status() {
            return Err(format!("the server's command ended early with status {}", code(status)));
        }
        if rig.namespace(Side::Server).listens().map_err(|e| e.to_string())? {
            return Ok(());
        }
        thread::sleep(LOOK / 5);
    }
    // The server may use another protocol than TCP and UDP.
    Ok(())
}

/// Waits for a server that ends after one client, and terminates any other, with time for its last
/// output.
fn end(mut server: Child) {
    if !ends_within(&mut server, FAREWELL) {
        server.signal(wire::emu::child::Signal::SIGTERM);
        ends_within(&mut server, GRACE);
    }
}

fn ends_within(command: &mut Child, span: Duration) -> bool {
    let until = Instant::now() + span;
    while command.try_status().is_none() && Instant::now() < until {
        thread::sleep(LOOK / 5);
    }
    command.try_status().is_some()
}

/// The live line on standard error.
struct Status {
    on_terminal: bool,
    quiet: bool,
    main: usize,
    last: Snapshot,
    shown: Instant,
}

impl Status {
    fn new(args: &LinkArgs) -> Self {
        Self {
            on_terminal: std::io::stderr().is_terminal(),
            quiet: args.quiet,
            main: usize::from(args.down),
            last: Snapshot::default(),
            shown: Instant::now(),
        }
    }

    fn show(&mut self, rig: &Rig) {
        if self.quiet || self.shown.elapsed() < if self.on_terminal { REDRAW } else { REWRITE } {
            return;
        }
        self.shown = Instant::now();
        let now = rig.snapshot();
        let line = show::status(&self.last, &now, self.main);
        self.last = now;
        // Move the cursor back to the start of the line, so that the command's output overwrites
        // it.
        let text = if self.on_terminal { format!("\x1b[2K{line}\r") } else { line + "\n" };
        // A closed standard error does not end the run.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    fn clear(&self) {
        if self.on_terminal && !self.quiet {
            let _ = std::io::stderr().write_all(b"\x1b[2K\r");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file is the same by another path or link, whether or not it exists.
    #[test]
    fn the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let other = dir.path().join(".").join("a");
        assert!(are_same(&path("a"), &other) && !are_same(&path("a"), &path("b")));
        fs::write(path("a"), "").unwrap();
        fs::hard_link(path("a"), path("b")).unwrap();
        std::os::unix::fs::symlink("a", path("c")).unwrap();
        for same in [other, path("b"), path("c")] {
            assert!(are_same(&path("a"), &same), "{}", same.display());
        }
        assert!(!are_same(&path("a"), &path("d")) && !are_same(&path("d"), &path("a")));
        assert!(!are_same(Path::new("/dev/null"), Path::new("/dev/null")));
        assert!(are_same(Path::new("/nowhere/a"), Path::new("/nowhere/a")));
    }
}
