//! A study as a library: any world, no output, the program's identity.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use ackclock_study::{
    self as study, Failure, Options, Places, Program, Selection, Silent, Study, experiment,
};
use experiment::file::Experiment;
use experiment::place::{Place, Row};
use results::store::{self, State};
use scenario::{Ran, Recorder, Scenario, Watch, World};
use sim::Simulator;

const FILE: &str = "title = \"t\"\nsource = \"s\"\nduration = \"2 s\"\nrepetitions = 2\n\n[link]\nrate = \"10 Mbit/s\"\n\
                    delay = \"10 ms\"\nqueue = \"1 BDP\"\n\n[[flow]]\ncontroller = \"cubic\"\n";

const HERE: Place = Place::new(&Row {
    word: "here",
    world: "here",
    name: "this test",
    stack: None,
    doc: "A world of a test",
});

/// A world in real time whose first try of each run is disturbed. It tells no loss.
struct Disturbed {
    tries: AtomicU32,
}

impl World for Disturbed {
    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        if scenario.flows.len() == 1 { Ok(()) } else { Err("it has several flows".to_owned()) }
    }

    fn run(
        &self,
        scenario: &Scenario,
        pcap: Option<&Path>,
        watch: &Watch,
        recorder: Option<&mut dyn Recorder>,
    ) -> Result<Option<Ran>, String> {
        let mut ran = Simulator.run(scenario, pcap, watch, recorder)?;
        if self.tries.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            ran.iter_mut().for_each(|ran| ran.invalid_reasons.push("as tested".to_owned()));
        }
        Ok(ran)
    }

    fn untold(&self, _: &Scenario) -> Vec<&'static str> {
        vec!["loss"]
    }

    fn is_real_time(&self) -> bool {
        true
    }

    fn notes(&self, _: &Scenario) -> Vec<&'static str> {
        vec!["Rows of a test."]
    }
}

/// A world in real time during whose first run the user presses Ctrl-C.
struct Stopping {
    runs: Arc<AtomicU32>,
    watch: Arc<Watch>,
    settings: Arc<Mutex<Option<&'static str>>>,
}

impl World for Stopping {
    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        Simulator.check(scenario)
    }

    fn run(
        &self,
        scenario: &Scenario,
        pcap: Option<&Path>,
        watch: &Watch,
        recorder: Option<&mut dyn Recorder>,
    ) -> Result<Option<Ran>, String> {
        let ran = Simulator.run(scenario, pcap, watch, recorder);
        self.watch.stop.store(self.runs.fetch_add(1, Ordering::Relaxed) == 0, Ordering::Relaxed);
        ran
    }

    fn settings(&self) -> Option<String> {
        self.settings.lock().unwrap().map(str::to_owned)
    }

    fn untold(&self, scenario: &Scenario) -> Vec<&'static str> {
        Simulator.untold(scenario)
    }

    fn is_real_time(&self) -> bool {
        true
    }
}

/// The simulator, which counts its runs.
struct Counted(Arc<AtomicU32>);

impl World for Counted {
    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        Simulator.check(scenario)
    }

    fn run(
        &self,
        scenario: &Scenario,
        pcap: Option<&Path>,
        watch: &Watch,
        recorder: Option<&mut dyn Recorder>,
    ) -> Result<Option<Ran>, String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Simulator.run(scenario, pcap, watch, recorder)
    }

    fn untold(&self, scenario: &Scenario) -> Vec<&'static str> {
        Simulator.untold(scenario)
    }
}

fn parsed(text: &str) -> Experiment {
    Experiment::parse("paper/x", Path::new("x.toml"), text).unwrap()
}

fn options(out: &Path, commit: &str) -> Options {
    let program = Program { commit: commit.to_owned(), ..Program::default() };
    Options::simulate(out.to_owned(), Places::default().with(Place::SIM, Simulator), program)
}

fn complete(study: Study) -> (results::summary::Results, std::path::PathBuf, bool) {
    match study {
        Study::Complete(results, folder, known) => (*results, folder, known),
        Study::Part(..) => panic!("a part"),
    }
}

/// Each row of another world stands below the simulator's. An invalid run is made again, and what
/// the world cannot tell is in no row.
#[test]
fn a_world_is_a_value() {
    let out = tempfile::tempdir().unwrap();
    let mut options = options(out.path(), "a");
    options.places = options.places.with(HERE, Disturbed { tries: AtomicU32::new(0) });
    (options.world, options.backends) = (HERE, vec![HERE]);
    options.qlog = Some(results::qlog::Format::default());
    let study = experiment(&parsed(FILE), &options, &Silent, &Watch::default()).unwrap();
    let (results, folder, _) = complete(study);
    // The log of a run that was made twice has the last try alone.
    let logs = |on: &str| {
        let files = fs::read_dir(folder.join("qlog")).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let is_wanted = |path: &std::path::PathBuf| {
            name(path).contains("run0") && name(path).contains("here") == (on == "here")
        };
        let sizes: Vec<usize> = files
            .filter(|path| path.extension().is_some_and(|e| e == "sqlog"))
            .filter(is_wanted)
            .map(|path| fs::read(path).unwrap().len())
            .collect();
        (sizes.len(), sizes.iter().sum::<usize>())
    };
    let (simulated, again) = (logs("sim"), logs("here"));
    assert!(simulated.0 > 0 && again.0 == simulated.0, "{simulated:?} {again:?}");
    assert!(again.1 < simulated.1 * 3 / 2, "{simulated:?} {again:?}");
    let rows = &results.summary.variants[0].rows;
    let on: Vec<Place> = rows.iter().map(|row| row.label.backend()).collect();
    assert_eq!(on, [Place::SIM, HERE]);
    let tells = |row: usize, metric: &str| rows[row].cells.keys().any(|known| known.word() == metric);
    assert!(tells(0, "loss") && !tells(1, "loss") && tells(1, "goodput"));
    assert!(results.summary.note.contains("Rows of a test."), "{}", results.summary.note);

    let two = FILE.to_owned() + "[[flow]]\ncontroller = \"cubic\"\n";
    let refused = experiment(&parsed(&two), &options, &Silent, &Watch::default()).unwrap_err();
    assert!(matches!(refused, Failure::World(why) if why.contains("it has several flows")));
}

/// Measurements that are done when a study is interrupted are not made again, unless the settings
/// of the world have changed or are not known.
#[test]
fn an_interrupted_measurement_goes_on() {
    for (first, second, kept, more) in [
        (Some("a"), Some("a"), 3, 1), // two simulations and one measurement
        (Some("a"), Some("b"), 3, 2),
        (Some("a"), None, 3, 2),
        (None, None, 0, 2),
    ] {
        let out = tempfile::tempdir().unwrap();
        let (runs, watch) = (Arc::new(AtomicU32::new(0)), Arc::new(Watch::default()));
        let settings = Arc::new(Mutex::new(first));
        let world =
            Stopping { runs: Arc::clone(&runs), watch: Arc::clone(&watch), settings: Arc::clone(&settings) };
        let mut options = options(out.path(), "a");
        options.places = options.places.with(HERE, world);
        (options.world, options.backends) = (HERE, vec![HERE]);
        let interrupted = experiment(&parsed(FILE), &options, &Silent, &watch).unwrap_err();
        assert!(matches!(interrupted, Failure::Interrupted(n) if n == kept), "{first:?}: {interrupted:?}");
        *settings.lock().unwrap() = second;
        let run = || {
            let before = runs.load(Ordering::Relaxed);
            let study = experiment(&parsed(FILE), &options, &Silent, &Watch::default()).unwrap();
            (complete(study).0.summary.variants[0].rows.len(), runs.load(Ordering::Relaxed) - before)
        };
        assert_eq!(run(), (2, more), "{first:?}, {second:?}");
        assert_eq!(run(), (2, 2), "a complete study is measured again when it is asked for");
    }
}

/// A study needs no terminal, and runs in any thread. Its results are those of the same program
/// alone.
#[test]
fn two_programs_have_two_studies() {
    let out = tempfile::tempdir().unwrap();
    let folder = |commit: &str| {
        let options = options(out.path(), commit);
        let run = move || experiment(&parsed(FILE), &options, &Silent, &Watch::default()).unwrap();
        let (_, folder, known) = complete(std::thread::spawn(run).join().unwrap());
        (folder, known)
    };
    let (first, known) = folder("a");
    assert!(!known && first.join("summary.json").exists());
    assert_eq!(folder("a"), (first.clone(), true));
    let (second, known) = folder("b");
    assert!(!known && second != first);
    let same = |name: &str| fs::read(first.join(name)).unwrap() == fs::read(second.join(name)).unwrap();
    assert!(same("runs.csv"));
}

/// A place that the program does not have is named.
#[test]
fn a_missing_place_is_named() {
    let out = tempfile::tempdir().unwrap();
    let mut options = options(out.path(), "a");
    (options.world, options.backends) = (Place::STACK, vec![Place::NOQ]);
    let refused = experiment(&parsed(FILE), &options, &Silent, &Watch::default()).unwrap_err();
    assert!(matches!(refused, Failure::World(why) if why == "this build has no noq"));
}

/// A changed title, claim or table runs nothing. The folder gets another summary and keeps the
/// rest.
#[test]
fn another_reading_runs_nothing() {
    let out = tempfile::tempdir().unwrap();
    let runs = Arc::new(AtomicU32::new(0));
    let mut options = options(out.path(), "a");
    options.places = Places::default().with(Place::SIM, Counted(Arc::clone(&runs)));
    options.qlog = Some(results::qlog::Format::default());
    let run = |text: &str| complete(experiment(&parsed(text), &options, &Silent, &Watch::default()).unwrap());
    let files = FILE.replace("[link]", "[windows]\nlate = { from = \"1 s\" }\n[link]");
    let (first, folder, _) = run(&files);
    let made = runs.load(Ordering::Relaxed);
    let kept = |name: &str| fs::read(folder.join(name)).unwrap();
    let before = ["runs.csv", "series.parquet", "flows.parquet", "columns.json"].map(kept);
    let other = files.replace("title = \"t\"", "title = \"another\"")
        + "[table]\nmetrics = [\"goodput @ late\", \"loss\"]\n\
           [[claim]]\nid = \"1\"\nsays = \"Some arrives.\"\nours = true\nmetric = \"goodput @ late\"\n\
           left = { mean = [\"cubic\"] }\nis = \"above\"\nright = 1\n";
    let (second, again, known) = run(&other);
    assert_eq!((again, known, runs.load(Ordering::Relaxed)), (folder.clone(), true, made));
    assert_eq!((&*second.summary.title, second.summary.claims.len()), ("another", 1));
    assert_eq!(second.summary.claims[0].verdict, results::summary::Verdict::Holds);
    assert_eq!(["runs.csv", "series.parquet", "flows.parquet", "columns.json"].map(kept), before);
    assert_eq!(results::store::load(&folder).unwrap(), second);
    assert!(folder.join("qlog").read_dir().unwrap().count() > 1);
    // The first reading again gives the first summary, bit for bit.
    assert_eq!(run(&files), (first, folder.clone(), true));
    // A window that no run recorded needs runs.
    let whole = files + "[table]\nmetrics = [\"goodput @ run\"]\n";
    assert_ne!(run(&whole).1, folder);
}

/// Parts by lists of runs, in a pool of the caller, give the results of the whole.
#[test]
fn parts_by_lists_of_runs() {
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = parsed(&FILE.replace("repetitions = 2", "repetitions = 3"));
    let plan = study::planned(&file);
    assert_eq!(plan.iter().map(|run| run.number).collect::<Vec<_>>(), [0, 1, 2]);
    let run = |options: &Options| experiment(&file, options, &Silent, &Watch::default()).unwrap();
    let (_, folder, _) = complete(run(&options(whole.path(), "a")));
    let pool = Some(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap()));
    let part = |runs: &[usize]| {
        let runs = Selection::Listed(runs.iter().copied().collect());
        run(&Options { runs, pool: pool.clone(), ..options(parts.path(), "a") })
    };
    assert!(matches!(part(&[2]), Study::Part(name, 1, 3) if name == "paper/x"));
    let (_, other, _) = complete(part(&[0, 1]));
    let files = |folder: &Path| ["runs.csv", "summary.json"].map(|name| fs::read(folder.join(name)).unwrap());
    assert_eq!(files(&folder), files(&other));
}

/// Two programs that compute the same study again at once do not disturb each other.
#[test]
fn two_at_once_compute_anew() {
    let out = tempfile::tempdir().unwrap();
    let options = Options { fresh: true, ..options(out.path(), "a") };
    let run = || complete(experiment(&parsed(FILE), &options, &Silent, &Watch::default()).unwrap());
    for _ in 0..5 {
        std::thread::scope(|scope| {
            let two = [scope.spawn(run), scope.spawn(run)].map(|thread| thread.join().unwrap());
            assert!(two.iter().all(|(_, folder, known)| !known && *folder == two[0].1));
        });
    }
    let left: Vec<_> =
        fs::read_dir(out.path().join("paper/x")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// A part makes its own measurements only.
#[test]
fn measurements_in_parts() {
    let (out, runs) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU32::new(1)));
    let (watch, settings) = (Arc::new(Watch::default()), Arc::new(Mutex::new(Some("a"))));
    let world = Stopping { runs: Arc::clone(&runs), watch: Arc::clone(&watch), settings };
    let options = options(out.path(), "a");
    let places = options.places.clone().with(HERE, world);
    let text = FILE.replace("repetitions = 2", "repetitions = 4");
    let exp = parsed(&text);
    let part = |shard: &str| {
        let options = Options {
            runs: Selection::Shard(shard.parse().unwrap()),
            world: HERE,
            backends: vec![HERE],
            places: places.clone(),
            ..options.clone()
        };
        let before = runs.load(Ordering::Relaxed);
        let study = experiment(&exp, &options, &Silent, &watch).unwrap();
        (runs.load(Ordering::Relaxed) - before, matches!(study, Study::Complete(..)))
    };
    // Four simulations, and four measurements beside them.
    assert_eq!(part("1/2"), (2, false));
    assert_eq!(part("2/2"), (2, true));
}

/// A program may have controllers that are known at run time only. Each file is read with its own.
#[test]
fn controllers_of_a_program() {
    use congestion::algorithms::fixed_window::FixedWindow;
    use congestion::{Controller, Entry, PathInfo, Registry};

    let out = tempfile::tempdir().unwrap();
    let goodput = |packets: u64| {
        let build = move |path: PathInfo, _: &[_]| -> Box<dyn Controller> {
            Box::new(FixedWindow::packets(packets, path))
        };
        let mine = Entry::dynamic("mine", "A window of a test.", &[], Vec::new(), Arc::new(build));
        let text = FILE.replace("\"cubic\"", "\"mine\"");
        let registry = Registry::default().with(mine);
        let file = Experiment::parse_with(&registry, "own/x", Path::new("x.toml"), &text).unwrap();
        // A program says what it is: its controllers are a part of it.
        let options = options(out.path(), &packets.to_string());
        let (results, folder, _) = complete(experiment(&file, &options, &Silent, &Watch::default()).unwrap());
        assert!(!results::store::load(&folder).unwrap().networks.is_empty());
        results.summary.variants[0].rows[0].cells["goodput"].mean
    };
    // Two packets of 1200 bytes in each RTT of 20 ms are about 1 Mbit/s.
    let (two, four) = (goodput(2), goodput(4));
    assert!((0.8..1.0).contains(&two) && (1.9 * two..2.1 * two).contains(&four), "{two} {four}");
    let refused = Experiment::parse("x", Path::new("x.toml"), &FILE.replace("\"cubic\"", "\"mine\""));
    assert!(refused.unwrap_err().to_string().contains("unknown algorithm `mine`"));
}

/// The name of an axis, and a key that is set, are columns of the tables, so that they make another
/// study. An axis may have the name of a column.
#[test]
fn columns_of_keys() {
    let out = tempfile::tempdir().unwrap();
    let options = options(out.path(), "a");
    let run = |file: &Experiment| complete(experiment(file, &options, &Silent, &Watch::default()).unwrap());
    let axis = |name: &str, title: &str| {
        let rates = "[{ label = \"invalid: slow\", set = { \"link.rate\" = \"5 Mbit/s\" } }, \
                     { label = \"fast\", set = { \"link.rate\" = \"9 Mbit/s\" } }]";
        let file = FILE.replace("\"t\"", &format!("\"{title}\""));
        parsed(&format!("{file}[vary]\n{name} = {rates}\n[table]\nrows = \"{name}\"\n"))
    };
    let (_, first, _) = run(&axis("audit", "one"));
    let (read_again, same, known) = run(&axis("audit", "two"));
    assert_eq!((&same, known), (&first, true));
    assert!(read_again.summary.variants[0].rows.iter().all(|row| row.trust.is_none()));
    assert_ne!(run(&axis("net", "one")).1, first);

    let plain = parsed(FILE);
    let set = plain.with_overrides(&[("link.rate".to_owned(), "10 Mbit/s".to_owned())], false).unwrap();
    assert_ne!(run(&set).1, run(&plain).1);
}

/// A kept run that is damaged is made again by its own part. The other part does not claim that all
/// are done. What is no file is no run.
#[test]
fn damaged_runs_of_another_part() {
    let out = tempfile::tempdir().unwrap();
    let file = parsed(FILE);
    let part = |numbers: &[usize]| {
        let runs = Selection::Listed(numbers.iter().copied().collect());
        let options = Options { runs, ..options(out.path(), "a") };
        experiment(&file, &options, &Silent, &Watch::default()).unwrap()
    };
    assert!(matches!(part(&[0]), Study::Part(_, 1, 2)));
    let folder = fs::read_dir(out.path().join("paper/x")).unwrap().map(|entry| entry.unwrap().path());
    let folder = folder.into_iter().find(|path| path.to_string_lossy().contains(".runs-")).unwrap();
    fs::write(folder.join("00000.run"), "damaged").unwrap();
    assert!(matches!(part(&[1]), Study::Part(_, 1, 2)));
    fs::remove_file(folder.join("00000.run")).unwrap();
    fs::create_dir(folder.join("00000.run")).unwrap();
    assert!(matches!(part(&[1]), Study::Part(_, 1, 2)));
    fs::remove_dir(folder.join("00000.run")).unwrap();
    assert!(matches!(part(&[0]), Study::Complete(..)));
}

/// A folder that was copied under another name is told from the original.
#[test]
fn a_copied_folder() {
    let out = tempfile::tempdir().unwrap();
    let study = experiment(&parsed(FILE), &options(out.path(), "a"), &Silent, &Watch::default()).unwrap();
    let (_, folder, _) = complete(study);
    let copy = folder.with_file_name("0123456789ab");
    fs::create_dir(&copy).unwrap();
    for file in fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()) {
        fs::copy(&file, copy.join(file.file_name().unwrap())).unwrap();
    }
    let states: Vec<_> = store::index(out.path()).unwrap().into_iter().map(|of| (of.dir, of.state)).collect();
    let id = folder.file_name().unwrap().to_string_lossy();
    assert!(states.contains(&(folder.clone(), State::Whole)), "{states:?}");
    assert!(states.contains(&(copy, State::Damaged(format!("a copy of {id}")))), "{states:?}");
}
