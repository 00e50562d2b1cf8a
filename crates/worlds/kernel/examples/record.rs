//! Makes the recordings in `tests/recordings`: what native D* decided on real connections.
//!
//! `sudo target/debug/examples/record ACKCLOCK FOLDER [NAME]`, where ACKCLOCK is the command with the
//! link emulator. NAME chooses one recording.
// Connections take real time.
#![allow(clippy::disallowed_methods)]

use std::error::Error;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ackclock_kernel::Native;
use ackclock_kernel::constants::natives;
use ackclock_kernel::event::{Event, kind};
use ackclock_kernel::record::state;
use flate2::Compression;
use flate2::write::GzEncoder;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Name of the controller while it is recorded.
const NAME: &str = "ack_recorded";
const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 64, 0, 2), 5000);
/// Pause of the sender after each time in which it is busy.
const PAUSE: Duration = Duration::from_millis(700);

/// A network, and how long its sender is busy between pauses.
struct Network {
    name: &'static str,
    link: &'static str,
    busy: &'static [&'static str],
}

const NETWORKS: [Network; 4] = [
    Network {
        name: "loss",
        link: "rate=10 Mbit/s rtt=40 ms queue=1 BDP loss=2 %",
        busy: &["3500", "3500", "3500"],
    },
    // Longer than RTTmin stays valid.
    Network { name: "jitter", link: "rate=10 Mbit/s rtt=40 ms queue=0.5 BDP jitter=8 ms", busy: &["14000"] },
    Network {
        name: "reordering",
        link: "rate=10 Mbit/s rtt=40 ms queue=1 BDP reorder={ every = 97, by = \"20 ms\" }",
        busy: &["3500", "3500", "3500"],
    },
    Network {
        name: "timeouts",
        link: "rate=10 Mbit/s queue=1 BDP blackhole=[[\"2 s\", \"2.6 s\"]] delay=[[\"0 s\", \"20 ms\"], \
               [\"5 s\", \"400 ms\"], [\"5.4 s\", \"20 ms\"], [\"9 s\", \"400 ms\"], [\"9.4 s\", \"20 ms\"]]",
        busy: &["3500", "3500", "3500"],
    },
];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => serve(),
        ["send", ref busy @ ..] => send(busy),
        [ackclock, folder, ref one @ ..] => {
            let is_chosen = |network: &&Network| one.first().is_none_or(|one| *one == network.name);
            NETWORKS
                .iter()
                .filter(is_chosen)
                .try_for_each(|network| record(ackclock, Path::new(folder), network))
        }
        _ => Err("usage: record ACKCLOCK FOLDER [NAME]".into()),
    }
}

fn record(ackclock: &str, folder: &Path, network: &Network) -> Result<()> {
    let Network { name, link, busy } = network;
    let [dstar, _] = natives();
    let native = Native::register_reporting(&dstar, NAME)?;
    let reader = native.events()?;
    let own = std::env::current_exe()?;
    let own = own.to_str().ok_or("a path that is no text")?;
    let server = format!("{own} serve");
    let mut run = Command::new(ackclock);
    let mut run = run.args(["link", link, "--server", &server, "--", own, "send"]).args(*busy).spawn()?;
    let mut events = Vec::new();
    loop {
        let ended = run.try_wait()?;
        events.extend(reader.take()?);
        if ended.is_some() {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    if native.lost_events() > 0 {
        return Err("the kernel lost events".into());
    }
    write(&folder.join(format!("{name}.gz")), &events)?;
    describe(name, link, &events);
    Ok(())
}

fn write(path: &Path, events: &[Event]) -> Result<()> {
    let mut to = GzEncoder::new(File::create(path)?, Compression::best());
    events.iter().try_for_each(|event| to.write_all(&event.to_bytes()))?;
    to.finish()?;
    Ok(())
}

fn describe(name: &str, link: &str, events: &[Event]) {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let count = |is: &dyn Fn(&Event) -> bool| events.iter().filter(|event| is(event)).count();
    let of_state = |wanted| count(&|event| event.kind == kind::CONGESTION && event.state == wanted);
    println!(
        "| `{name}` | {} | `{link}` | {} | {} | {} | {} | {} |",
        kernel.trim(),
        events.len(),
        of_state(state::RECOVERY),
        of_state(state::LOSS),
        count(&|event| event.kind == kind::UNDO),
        count(&|event| event.kind == kind::IDLE),
    );
}

fn serve() -> Result<()> {
    let (mut stream, _) = TcpListener::bind(SERVER)?.accept()?;
    let mut chunk = vec![0; 1 << 16];
    while stream.read(&mut chunk)? > 0 {}
    Ok(())
}

fn send(busy: &[&str]) -> Result<()> {
    let client = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&client, sockopt::TcpCongestion, &NAME.into())?;
    let [a, b, c, d] = SERVER.0.octets();
    connect(client.as_raw_fd(), &SockaddrIn::new(a, b, c, d, SERVER.1))?;
    let mut stream = TcpStream::from(client);
    let chunk = vec![7; 1 << 14];
    for ms in busy {
        let (begin, busy) = (Instant::now(), Duration::from_millis(ms.parse()?));
        while begin.elapsed() < busy {
            stream.write_all(&chunk)?;
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}
