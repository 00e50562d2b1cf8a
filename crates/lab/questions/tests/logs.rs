//! Compares analyses of logs with the runs that wrote them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ackclock_questions::analyse::{Analysed, Question};
use ackclock_questions::{Lab, Question as _, conform};
use experiment::file::Experiment;
use experiment::library::Library;
use experiment::place::Place;
use results::qlog::Format;
use results::summary::{FlowRow, Results};
use scenario::Watch;
use sim::Simulator;
use stack::{Stack, VirtualTime};
use study::{Options, Places, Program, Silent, Study};

/// Metrics that must be equal.
const EXACT: [&str; 6] = [
    "retransmissions",
    "declared_lost",
    "lost_by_packet_threshold",
    "lost_by_time_threshold",
    "lost_by_timeout",
    "spurious_retransmissions",
];

fn options(out: &Path, world: Place) -> Options {
    let places =
        Places::default().with(Place::SIM, Simulator).with(Place::STACK, VirtualTime(Stack::Ackclock));
    let simulate = Options::simulate(out.to_owned(), places, Program::default());
    let backends = if world == Place::SIM { Vec::new() } else { vec![world] };
    Options { world, backends, qlog: Some(Format::default()), ..simulate }
}

/// Runs an experiment once with logs. Returns its results and their folder.
fn run(name: &str, out: &Path, world: Place) -> (Box<Results>, PathBuf) {
    let source = Library.resolve(&[name.to_owned()]).unwrap().remove(0);
    let mut exp = Experiment::parse(&source.name, &source.file, &source.text).unwrap();
    exp.repetitions = 1;
    match study::experiment(&exp, &options(out, world), &Silent, &Watch::default()).unwrap() {
        Study::Complete(results, folder, _) => (results, folder),
        Study::Part(..) => unreachable!(),
    }
}

/// Returns the log files by flow: sender and receiver.
fn logs(folder: &Path) -> BTreeMap<String, [PathBuf; 2]> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder.join("qlog")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(stem) = name.strip_suffix(".sqlog").filter(|stem| !stem.ends_with("-receiver")) {
            let receiver = path.with_file_name(format!("{stem}-receiver.sqlog"));
            all.insert(stem.to_owned(), [path, receiver]);
        }
    }
    all
}

fn analysed(
    files: &[PathBuf; 2],
    window: Option<(units::Duration, units::Duration)>,
    out: &Path,
) -> Analysed {
    let options = options(out, Place::SIM);
    let lab = Lab { options: &options, progress: &Silent, watch: &Watch::default() };
    let question = Question { files: files.to_vec(), window, ..Question::default() };
    let mut answer = question.answer(&lab).unwrap();
    assert_eq!(answer.connections.len(), 1, "{files:?}");
    answer.connections.remove(0)
}

fn value(one: &Analysed, word: &str) -> Option<f64> {
    one.metrics.iter().find(|metric| metric.metric == word).and_then(|metric| metric.value)
}

/// Compares every flow of an experiment with the analysis of its logs. Returns the number of
/// flows.
fn compare(name: &str, world: Place) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let (results, folder) = run(name, dir.path(), world);
    let files = logs(&folder);
    let source = Library.resolve(&[name.to_owned()]).unwrap().remove(0);
    let exp = Experiment::parse(&source.name, &source.file, &source.text).unwrap();
    let window = exp.scenario(&exp.cases()[0], 0).measure;
    let window = window.map(|(from, to)| (from - units::Time::ZERO, to - units::Time::ZERO));
    assert!(!files.is_empty());
    for (stem, files) in &files {
        let row = find(&results.flows, stem);
        let one = analysed(files, window, dir.path());
        let of_run = |word: &str| row.values.iter().find(|(metric, _)| metric.as_str() == word).map(|v| *v.1);
        for word in EXACT {
            let told = value(&one, word);
            assert_eq!(told.or(of_run(word)), of_run(word), "{name}, {stem}: {word}");
        }
        // A log does not tell when a run without an end ended, so its rates are of another time.
        let ends = of_run("completion").is_some();
        let rates = ["goodput", "throughput"].into_iter().filter(|_| ends).map(|word| (word, 1e-6));
        let times = ["rtt_mean", "rtt_p95", "owd_mean"].into_iter().map(|word| (word, 1e-3));
        for (word, tolerance) in times.chain(rates) {
            if let (Some(ours), Some(of_run)) = (value(&one, word), of_run(word)) {
                let differs = (ours - of_run).abs() > tolerance * of_run;
                assert!(!differs, "{name}, {stem}: {word} {ours} for {of_run}");
            }
        }
    }
    files.len()
}

/// Finds the flow of a log by the names in the file's name.
fn find<'a>(flows: &'a [FlowRow], stem: &str) -> &'a FlowRow {
    let clean = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    let number: u32 = stem.rsplit_once("flow").unwrap().1.parse().unwrap();
    let wanted = clean(stem.rsplit_once("--run").unwrap().0);
    let names = |flow: &FlowRow| clean(&format!("{}{}", flow.variant, flow.row.as_str()));
    let found: Vec<&FlowRow> =
        flows.iter().filter(|flow| flow.flow == number && names(flow) == wanted).collect();
    assert_eq!(found.len(), 1, "{stem}");
    found[0]
}

#[test]
fn a_run_and_its_logs_agree() {
    assert!(compare("thesis/table-1", Place::SIM) >= 12);
    assert!(compare("thesis/figure-34", Place::SIM) >= 4);
    assert!(compare("thesis/figure-29", Place::STACK) >= 3);
}

/// Runs a file with logs, and returns the logs of its flows in order.
fn logs_of(text: &str, out: &Path) -> Vec<[PathBuf; 2]> {
    let exp = Experiment::parse("log", Path::new("log.toml"), text).unwrap();
    let study = study::experiment(&exp, &options(out, Place::SIM), &Silent, &Watch::default()).unwrap();
    let Study::Complete(_, folder, _) = study else { unreachable!() };
    logs(&folder).into_values().collect()
}

fn all_of(files: Vec<PathBuf>, out: &Path) -> Vec<Analysed> {
    let options = options(out, Place::SIM);
    let lab = Lab { options: &options, progress: &Silent, watch: &Watch::default() };
    Question { files, ..Question::default() }.answer(&lab).unwrap().connections
}

const LINK: &str = "title = \"log\"\nduration = \"12 s\"\n[link]\nrate = \"20 Mbit/s\"\nrtt = \"40 ms\"\nqueue = \"1 BDP\"\n";

/// The sender's log of one run and the receiver's of another are two connections, whatever their
/// packet numbers. The ends of two flows of one run find each other in any order.
#[test]
fn only_the_two_ends_of_a_connection_are_joined() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let flow = |loss: &str| format!("{LINK}{loss}[[flow]]\ncontroller = \"cubic\"\ncount = 2\n");
    let lossy = logs_of(&flow("loss = \"1 %\"\n"), dirs[0].path());
    let plain = logs_of(&flow(""), dirs[1].path());
    let mixed = all_of(vec![lossy[0][0].clone(), plain[0][1].clone()], dirs[0].path());
    assert_eq!(mixed.iter().map(|one| one.files.len()).collect::<Vec<_>>(), [1, 1]);
    let [[s0, r0], [s1, r1]] = &lossy[..] else { panic!() };
    let together = all_of([s0, s1, r1, r0].map(Clone::clone).to_vec(), dirs[0].path());
    let mut names: Vec<Vec<String>> = together.iter().map(|one| one.files.clone()).collect();
    names.sort();
    let pair = |files: [&PathBuf; 2]| files.map(|file| file.display().to_string()).to_vec();
    assert_eq!(names, [pair([s0, r0]), pair([s1, r1])]);
}

/// Each connection of a flow that opens several is counted on its own.
#[test]
fn connections_of_a_flow_are_apart() {
    let dir = tempfile::tempdir().unwrap();
    let text = format!(
        "{LINK}[[flow]]\ncontroller = \"cubic\"\napplication = {{ name = \"on-off\", object = \"200 kB\", idle = \"500 ms\", connection = \"new\" }}\n"
    );
    let [files] = &logs_of(&text, dir.path())[..] else { panic!() };
    let all = all_of(files.to_vec(), dir.path());
    assert!(all.len() > 5, "{}", all.len());
    for one in &all {
        assert_eq!((one.files.len(), one.bytes), (2, 200_000), "{}", one.label);
        assert_eq!(value(one, "loss"), Some(0.0));
    }
}

/// A blackout of 3 s is persistent congestion. If the sender does not answer it, that is a problem.
#[test]
fn persistent_congestion_is_found() {
    let dir = tempfile::tempdir().unwrap();
    for (option, missed) in [("", false), ("recovery.persistent-congestion = \"off\"\n", true)] {
        let text =
            format!("{LINK}blackhole = [[\"3 s\", \"6 s\"]]\n[[flow]]\ncontroller = \"cubic\"\n{option}");
        let [files] = &logs_of(&text, dir.path())[..] else { panic!() };
        let problems = all_of(vec![files[0].clone()], dir.path()).remove(0).problems;
        let told: Vec<&str> = problems.iter().map(|problem| problem.text.as_str()).collect();
        assert_eq!(told.iter().any(|text| text.contains("was missed")), missed, "{told:?}");
        assert!(!told.iter().any(|text| text.contains("without persistent")), "{told:?}");
    }
}

/// A log of CUBIC conforms. With a `beta` of 0.5 it does not, and that rule is named.
#[test]
fn a_stack_is_judged_by_its_log() {
    const NETWORK: &str = "rate=20 Mbit/s rtt=40 ms queue=1 BDP";
    let dir = tempfile::tempdir().unwrap();
    for (controller, conforms) in [("\"cubic\"", true), ("{ name = \"cubic\", beta = 0.5 }", false)] {
        let text = format!(
            "title = \"log\"\nduration = \"30 s\"\n[link]\nrate = \"20 Mbit/s\"\nrtt = \"40 ms\"\nqueue = \"1 BDP\"\n\
             [[flow]]\ncontroller = {controller}\n"
        );
        let exp = Experiment::parse("log", Path::new("log.toml"), &text).unwrap();
        let options = options(dir.path(), Place::SIM);
        let study = study::experiment(&exp, &options, &Silent, &Watch::default()).unwrap();
        let Study::Complete(_, folder, _) = study else { unreachable!() };
        let [sender, receiver] = logs(&folder).into_values().next().unwrap();
        let question = |file: PathBuf, link: &str| {
            let asked = Question { files: vec![file], ..Question::default() };
            conform::Log::read(&asked, link, &Watch::default())
        };
        assert!(question(receiver, NETWORK).is_err_and(|why| why.to_string().contains("receiver's log")));
        assert!(question(sender.clone(), "networks/none").is_err());
        let asked = conform::Asked {
            stack: String::new(),
            place: Place::LOG,
            controller: "cubic".to_owned(),
            kernel: false,
            quick: false,
            repeat: Some(2),
            registry: congestion::Registry::default(),
        };
        let question = conform::Question::of_log(&asked, question(sender, NETWORK).unwrap()).unwrap();
        let lab = Lab { options: &options, progress: &Silent, watch: &Watch::default() };
        question.check(&lab).unwrap();
        let answer = question.answer(&lab).unwrap();
        assert_eq!(answer.conforms, conforms, "{}", question.text(&answer, true));
        assert_eq!(question.text(&answer, false).contains("beta of 0.5"), !conforms);
    }
}

/// Every file of the thesis, on the simulator and with real endpoints.
#[test]
#[ignore = "minutes"]
fn all_of_the_thesis() {
    for source in Library.shipped().into_iter().filter(|source| source.name.starts_with("thesis/")) {
        let sim = compare(&source.name, Place::SIM);
        // Its flows are all TCP, which the stack does not run.
        let is_tcp = source.name == "thesis/which-tcp-receiver";
        let stack = if is_tcp { 0 } else { compare(&source.name, Place::STACK) };
        println!("{}: {sim} flows on sim, {stack} on sim and stack", source.name);
    }
}

/// The log of a tracer has windows and losses, but no packets.
#[test]
fn a_log_without_packets_has_windows() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("traced.sqlog");
    let records = [
        r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"server"},"configuration":{"algorithm":"cubic","seed":0},"common_fields":{"protocol_type":["TCP"],"time_format":"relative"}}}"#,
        r#"{"time":0.0,"name":"recovery:metrics_updated","data":{"congestion_window":20000,"bytes_in_flight":9000,"smoothed_rtt":40.0}}"#,
        r#"{"time":10.0,"name":"recovery:packet_lost","data":{"trigger":"reordering_threshold"}}"#,
        r#"{"time":20.0,"name":"recovery:congestion_state_updated","cause":"loss","data":{"new":"recovery"}}"#,
        r#"{"time":20.0,"name":"recovery:metrics_updated","data":{"congestion_window":14000}}"#,
    ];
    std::fs::write(&log, records.map(|record| format!("\u{1e}{record}\n")).concat()).unwrap();
    let one = all_of(vec![log], dir.path()).remove(0);
    assert_eq!(value(&one, "declared_lost"), Some(1.0));
    assert_eq!((value(&one, "reductions"), value(&one, "least_window")), (Some(1.0), Some(14.0)));
    for word in ["goodput", "retransmissions", "rtt_mean"] {
        assert_eq!(value(&one, word), None, "{word}");
    }
    assert!(!one.is_checked);
}
