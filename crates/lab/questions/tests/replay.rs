//! Replays logs of runs: a controller that receives its own log has the logged window at every ACK.

use std::path::{Path, PathBuf};

use congestion::{Entry, Registry};
use experiment::file::Experiment;
use experiment::place::Place;
use logs::replay::{Replayed, Replays};
use results::qlog::{Dialect, Format};
use scenario::Watch;
use sim::Simulator;
use stack::{Stack, VirtualTime};
use study::{Options, Places, Program, Silent, Study};

fn file(controller: &str, more: &str) -> String {
    format!(
        r#"title = "replay"
duration = "6 s"
[link]
rate = "12 Mbit/s"
rtt = "40 ms"
queue = "0.5 BDP"
loss = "0.1 %"
aqm = {{ name = "codel", ecn = true }}
[[flow]]
controller = "{controller}"
{more}
"#
    )
}

/// Runs an experiment once with logs. Returns those of its senders, or why it cannot run.
fn senders(text: &str, out: &Path, world: Place, dialect: Dialect) -> Result<Vec<PathBuf>, String> {
    let experiment = Experiment::parse("replay", Path::new("replay"), text).map_err(|e| e.to_string())?;
    let places =
        Places::default().with(Place::SIM, Simulator).with(Place::STACK, VirtualTime(Stack::Ackclock));
    let simulate = Options::simulate(out.to_owned(), places, Program::default());
    let backends = if world == Place::SIM { Vec::new() } else { vec![world] };
    let format = Format { dialect, ..Format::default() };
    let options = Options { world, backends, qlog: Some(format), fresh: true, ..simulate };
    let ran = study::experiment(&experiment, &options, &Silent, &Watch::default());
    let folder = match ran.map_err(|e| format!("{e:?}"))? {
        Study::Complete(_, folder, _) => folder,
        Study::Part(..) => unreachable!(),
    };
    let files = std::fs::read_dir(folder.join("qlog")).unwrap().map(|entry| entry.unwrap().path());
    let is_log = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".sqlog") && !name.ends_with("-receiver.sqlog")
    };
    Ok(files.filter(is_log).collect())
}

fn replay(log: &Path, controller: Option<&str>) -> Vec<Replayed> {
    let registry = Registry::default();
    let wanted = controller.and_then(|name| registry.get(name)).map(Entry::algorithm);
    let own = registry.clone();
    let read = move |name: &str, json: Option<&str>| {
        let mut json = serde_json::Deserializer::from_str(json.ok_or("no parameters")?);
        own.get(name).ok_or("no such controller")?.read(&mut json).map_err(|e| e.to_string())
    };
    let mut replays = Replays::new(wanted, Box::new(read));
    logs::read(log, None, &mut replays).unwrap();
    replays.finish()
}

/// Checks that every controller reproduces its log in this world.
fn own_logs(world: Place, dialect: Dialect, more: &str) -> usize {
    let mut exact = 0;
    for entry in Registry::default().iter() {
        let out = tempfile::tempdir().unwrap();
        let Ok(logs) = senders(&file(entry.name, more), out.path(), world, dialect) else { continue };
        for log in logs {
            let all = replay(&log, None);
            let [one] = all.as_slice() else { panic!("{}: {} connections", entry.name, all.len()) };
            assert_eq!(one.refusal, None, "{}", entry.name);
            assert!(one.has_calls && one.is_same, "{}", entry.name);
            assert!(one.windows.acks() > 100, "{}: {} ACKs", entry.name, one.windows.acks());
            assert_eq!(one.windows.first_difference(), None, "{} {more}", entry.name);
            exact += 1;
        }
    }
    exact
}

#[test]
fn every_controller_reproduces_its_log_in_the_simulator() {
    assert!(own_logs(Place::SIM, Dialect::Current, "") > 30);
}

#[test]
fn every_controller_reproduces_its_log_of_tcp() {
    assert!(own_logs(Place::SIM, Dialect::V03, "transport = \"tcp\"") > 25);
}

#[test]
fn every_controller_reproduces_its_log_on_the_stack() {
    assert!(own_logs(Place::STACK, Dialect::Current, "") > 30);
}
