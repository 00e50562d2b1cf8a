//! `ackclock replay`: whose logs it takes, and what it says.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{ackclock, text};

const FILE: &str = r#"title = "replay"
duration = "3 s"
[link]
rate = "12 Mbit/s"
rtt = "40 ms"
queue = "0.5 BDP"
loss = "0.2 %"
[[flow]]
controller = { name = "CONTROLLER", PARAMETERS }
"#;

/// Runs a controller with logs. Returns the log of the newest sender whose name has this word.
fn log(dir: &Path, (controller, parameters): (&str, &str), word: &str, more: &[&str]) -> PathBuf {
    let file = dir.join("replay.toml");
    fs::write(&file, FILE.replace("CONTROLLER", controller).replace(", PARAMETERS", parameters)).unwrap();
    let out = dir.join(format!("{controller}{word}"));
    let run = ["run", file.to_str().unwrap(), "--qlog", "--out", out.to_str().unwrap()];
    let done = ackclock(&[&run[..], more].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let folders = fs::read_dir(out.join("replay")).unwrap().map(|entry| entry.unwrap().path().join("qlog"));
    let mut logs = folders.filter(|folder| folder.is_dir()).flat_map(|folder| fs::read_dir(folder).unwrap());
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.ends_with(".sqlog") && !name.contains("receiver") && name.contains(word)
    };
    logs.by_ref().map(|entry| entry.unwrap().path()).find(is_it).unwrap()
}

/// Returns the exit status, and what is printed.
fn replay(dir: &Path, log: &Path, more: &[&str]) -> (i32, String) {
    let out = dir.join("out");
    let command = ["replay", log.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let done = ackclock(&[&command[..], more].concat());
    (done.status.code().unwrap(), text(&done.stdout) + &text(&done.stderr))
}

fn json(dir: &Path, log: &Path, more: &[&str]) -> Value {
    let (status, said) = replay(dir, log, &[&["--json"], more].concat());
    assert_eq!(status, 0, "{said}");
    serde_json::from_str(&said).unwrap()
}

/// Replays every controller's log inside these stacks.
#[cfg(feature = "others")]
#[test]
fn a_controller_inside_noq_and_quinn_reproduces_its_log() {
    let dir = tempfile::tempdir().unwrap();
    for controller in ["new-reno", "cubic", "cubic-mvfst", "hybla", "vegas", "bbr3"] {
        // quinn's trait carries no delivery rates, which bbr3 needs.
        for stack in ["noq", "quinn"].into_iter().filter(|stack| controller != "bbr3" || *stack == "noq") {
            let more = ["--on", "stack", "--stack", stack];
            let log = log(dir.path(), (controller, ""), &format!("_{stack}_"), &more);
            let answer = json(dir.path(), &log, &[]);
            assert!(answer["acks"].as_u64().unwrap() > 500, "{controller} in {stack}: {}", answer["acks"]);
            assert_eq!(answer["differing"], 0, "{controller} in {stack}");
            assert_eq!(answer["is_derived"], false);
        }
    }
}

/// The parameters of the logged controller are those of the log. Another value differs.
#[test]
fn parameters_are_those_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path(), ("cubic", ", beta = 0.5"), "cubic", &[]);
    assert_eq!(json(dir.path(), &log, &[])["differing"], 0);
    let same = json(dir.path(), &log, &["--controller", "{ name = \"cubic\", beta = 0.5 }"]);
    assert_eq!((&same["differing"], &same["is_same"]), (&0.into(), &true.into()));
    let other = json(dir.path(), &log, &["--controller", "cubic"]);
    assert!(other["differing"].as_u64().unwrap() > 100 && other["is_same"] == false, "{other}");
    let (status, said) = replay(dir.path(), &log, &["--controller", "bbr"]);
    assert_eq!(status, 0);
    let words = ["bbr3 replayed through the ACKs and losses of cubic", "Open loop: the log decides"];
    assert!(words.iter().all(|words| said.contains(words)), "{said}");
    assert!(dir.path().join("out/report/replay").read_dir().unwrap().count() > 0);
}

/// Without the calls the signals are derived. NewReno decides the same from them.
#[test]
fn signals_are_derived_from_packets() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path(), ("new-reno", ""), "new-reno", &[]);
    let plain = dir.path().join("plain.sqlog");
    let records = fs::read_to_string(&log).unwrap();
    let without = records.split('\u{1e}').skip(1).map(|record| {
        let mut record: Value = serde_json::from_str(record).unwrap();
        record.as_object_mut().unwrap().remove("calls");
        format!("\u{1e}{record}\n")
    });
    fs::write(&plain, without.collect::<String>()).unwrap();
    let answer = json(dir.path(), &plain, &[]);
    assert_eq!((&answer["differing"], &answer["is_derived"]), (&0.into(), &true.into()), "{answer}");
    let (_, said) = replay(dir.path(), &plain, &[]);
    assert!(said.contains("Our new-reno replayed through") && said.contains("Open loop"), "{said}");
    let (status, said) = replay(dir.path(), &plain, &["--controller", "dccc"]);
    let why = "dccc needs the receive time of packets, which the log does not have";
    assert!(status == 2 && said.contains(why), "{said}");
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let sender = log(dir.path(), ("cubic", ""), "cubic", &[]);
    let receiver =
        sender.with_file_name(sender.file_name().unwrap().to_string_lossy().replace(".s", "-receiver.s"));
    let records = fs::read_to_string(&sender).unwrap();
    let changed = |name: &str, text: String| {
        let file = dir.path().join(name);
        fs::write(&file, text).unwrap();
        file
    };
    let unknown =
        changed("unknown.sqlog", records.replace("\"algorithm\":\"cubic\"", "\"algorithm\":\"mine\""));
    let damaged = changed("damaged.sqlog", records.replace(",{\"sent\":[20,1252,", ",{\"sent\":[2,1252,"));
    let parameters = changed("parameters.sqlog", records.replace("\"beta\":0.7", "\"beta\":\"x\""));
    let iperf = changed(
        "iperf3.json",
        "{\"start\":{\"version\":\"iperf 3.12\"},\"intervals\":[],\"end\":{}}".to_owned(),
    );
    let huge = changed("huge.sqlog", records.replace("\"beta\":0.7", "\"beta\":99.0"));
    let windows = |record: &&str| !record.contains("metrics_updated");
    let without = records.split('\u{1e}').skip(1).filter(windows).map(|record| {
        let mut record: Value = serde_json::from_str(record).unwrap();
        record.as_object_mut().unwrap().remove("calls");
        format!("\u{1e}{record}\n")
    });
    let wire = changed("wire.sqlog", without.collect());
    let missing = dir.path().join("missing.sqlog");
    let cases: [(&Path, &[&str], &str); 11] = [
        (&receiver, &[], "it is the receiver's log, which has no ACKs of the data; give the sender's"),
        (&unknown, &[], "the log's controller `mine` is none of this program; name one with --controller"),
        (
            &damaged,
            &[],
            "does not follow from those before: the log is damaged; write it again with `run --qlog`",
        ),
        (&parameters, &[], "the log's parameters of cubic do not fit"),
        (&iperf, &["--controller", "cubic"], "iperf3.json: "),
        (&missing, &[], "missing.sqlog: No such file or directory"),
        (
            &sender,
            &["--controller", "cubik"],
            "--controller: unknown algorithm `cubik`; did you mean \"cubic\"?",
        ),
        (&sender, &["--controller", "{ name = \"cubic\", betta = 1 }"], "--controller: betta: "),
        // Values that crash a controller are refused, from the argument and from the log.
        (
            &sender,
            &["--controller", "{ name = \"cubic\", beta = 99.0 }"],
            "--controller: beta: `99.0` is out of range; allowed: above 0, below 1",
        ),
        (&huge, &[], "the log's parameters of cubic do not fit: beta: `99.0` is out of range"),
        (&wire, &["--controller", "cubic"], "the log has ACKs but no congestion window; give the qlog of"),
    ];
    for (log, more, why) in cases {
        let (status, said) = replay(dir.path(), log, more);
        assert!(status == 2 && said.contains(why), "{why}: {said}");
    }
}
