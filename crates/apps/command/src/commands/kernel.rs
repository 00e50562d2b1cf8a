//! `ackclock kernel`: congestion controllers inside Linux TCP.

use clap::{Args, Subcommand};
use congestion::Algorithm;
use kernel::{Agent, Lifetime, Loaded, Native, Report};
use units::Duration;

use crate::commands::controller;
use crate::interrupt;
use crate::output::tell;
use crate::status::{Error, HOLDS, print};

/// Rules of Linux' own Reno.
const RENO: [&str; 4] =
    ["halve=\"cwnd\"", "count=\"packets\"", "abc-limit=4294967295", "abc-limit-after-timeout=4294967295"];
/// Priority of a controller in this process, in steps below an emulator's.
const BELOW: u8 = 1;

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Load `dstar` or `reno` as a module that stays until it is unloaded.
    ///
    /// The module is an eBPF program. Sockets choose it by its name: `iperf3 -C dstar`, TCP_CONGESTION,
    /// or `sysctl net.ipv4.tcp_congestion_control=dstar`.
    ///
    /// Example: `sudo ackclock kernel load dstar --set min-gain-cwnd=8`
    Load(NamedArgs),
    /// List the loaded modules, with the number of sockets that use them.
    List,
    /// Unload a module.
    ///
    /// No socket can choose it any more. Those that use it keep it until they end.
    Unload {
        /// Name of the module in the kernel.
        name: String,
    },
    /// Run a controller for TCP sockets, until Ctrl-C.
    ///
    /// The controller runs in this process, and answers each ACK about 0.15 ms later. When it ends,
    /// its connections go on as Reno.
    ///
    /// Example: `sudo ackclock kernel run bbr3 --name my_bbr3`
    Run(NamedArgs),
}

/// A controller, and its name in the kernel.
#[derive(Debug, Args)]
struct NamedArgs {
    /// Controller; `ackclock algorithms` lists all of them.
    controller: String,
    /// Set a parameter of the controller, as in `--set beta=0.8` (repeatable).
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Name in the kernel: up to 15 letters, digits, `_` and `.`.
    ///
    /// The default is the controller's name, with `_` for `-`.
    #[arg(long)]
    name: Option<String>,
}

impl NamedArgs {
    /// Returns the controller with its name in the kernel. `reno` is Linux' own Reno.
    fn read(&self) -> Result<(Algorithm, String), Error> {
        let (named, rules) = match self.controller.as_str() {
            "reno" => ("tcp-reno", &RENO[..]),
            named => (named, &[][..]),
        };
        let sets: Vec<String> = rules.iter().map(|set| (*set).to_owned()).chain(self.sets.clone()).collect();
        let algorithm = controller::algorithm("", named, &sets, "tcp")?;
        let name = self.name.clone().unwrap_or_else(|| algorithm.name().replace('-', "_"));
        Ok((algorithm, name))
    }
}

/// Runs the action. Returns the exit status.
pub(crate) fn run(args: &KernelArgs) -> Result<u8, Error> {
    match &args.action {
        Action::Load(named) => {
            let (algorithm, name) = named.read()?;
            Native::load(&algorithm, &name).map_err(Error::bad)?;
            print(&format!(
                "{name} is loaded. {}\nunload it: ackclock kernel unload {name}\n",
                chosen(&name)
            ));
        }
        Action::List => print(&list(&kernel::loaded().map_err(Error::bad)?)),
        Action::Unload { name } => {
            kernel::unload(name).map_err(Error::bad)?;
            print(&format!("{name} is unloaded\n"));
        }
        Action::Run(named) => answer(named)?,
    }
    Ok(HOLDS)
}

/// Says how a socket chooses a controller.
fn chosen(name: &str) -> String {
    format!("Sockets choose it by TCP_CONGESTION, as in: iperf3 -C {name} -c HOST")
}

fn list(all: &[Loaded]) -> String {
    let mut out = String::new();
    for Loaded { name, program, lifetime, sockets } in all {
        let until = match lifetime {
            Lifetime::Unlimited => "loaded",
            Lifetime::Process => "of a process that runs",
            Lifetime::Over => "unloaded, for the sockets that still use it",
        };
        let word = if *sockets == 1 { "socket" } else { "sockets" };
        out += &format!("{name:15}  {program:5}  {sockets} {word}  {until}\n");
    }
    if out.is_empty() {
        "no module is loaded; load one with: ackclock kernel load dstar\n".to_owned()
    } else {
        out
    }
}

/// Answers the kernel until Ctrl-C, and says what happened.
fn answer(named: &NamedArgs) -> Result<(), Error> {
    let (algorithm, name) = named.read()?;
    let watch = interrupt::watch()?;
    let agent = Agent::register(algorithm, &name).map_err(Error::bad)?;
    tell(&format!("{name} runs. {}\nCtrl-C ends it, and its connections go on as Reno.", chosen(&name)));
    wire::emu::privilege::real_time(BELOW);
    let report = agent.run(&watch.stop).map_err(Error::bad)?;
    print(&summary(&name, &report));
    Ok(())
}

fn summary(name: &str, report: &Report) -> String {
    let Report { connections, records, lost_records, refused_flows, fallbacks, answer_time } = report;
    let [median, p99, longest] = answer_time.map(|time| Duration(time.0 / 1000 * 1000));
    let mut out = format!("{name}: {connections} connections, {records} records");
    if *records > 0 {
        out += &format!(", answered after {median} (99 %: {p99}, longest {longest})");
    }
    for (count, what) in [
        (lost_records, "records did not fit and are lost"),
        (refused_flows, "connections found no room and ran as Reno"),
        (fallbacks, "times the kernel went on as Reno, because no answer came"),
    ] {
        if *count > 0 {
            out += &format!("\n{count} {what}");
        }
    }
    out + "\n"
}
