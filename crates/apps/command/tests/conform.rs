//! `ackclock conform`, from the command line.

use std::path::Path;
use std::process::Command;

fn conform(dir: &Path, args: &[&str]) -> (bool, String, String) {
    let (status, said, why) = status(dir, args);
    (status == 0, said, why)
}

fn status(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
    let output =
        command.arg("conform").args(args).args(["--quick", "--repeat", "1"]).current_dir(dir).output();
    let output = output.unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn json(dir: &Path, args: &[&str]) -> serde_json::Value {
    let (well, said, why) = conform(dir, &[args, &["--json"]].concat());
    assert!(well, "{why}");
    serde_json::from_str(&said).unwrap()
}

/// Our endpoint has the simulator's controller, so nothing differs. The snapshot has the whole
/// screen.
#[test]
fn ours_conforms() {
    let dir = tempfile::tempdir().unwrap();
    let (well, said, why) = conform(dir.path(), &["ackclock", "-v"]);
    assert!(well, "{why}");
    insta::assert_snapshot!("ours", said);
    let page = dir.path().join("results/report/conform/ackclock-cubic");
    for file in ["index.html", "envelopes.svg", "conform-grid.html"] {
        assert!(page.join(file).is_file(), "{file}");
    }
}

/// A controller that is wrong on purpose deviates everywhere, and the rule is named.
#[test]
fn a_wrong_beta_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let answer = json(dir.path(), &["ackclock", "--controller", "{ name = 'cubic', beta = 0.5 }"]);
    assert_eq!((&answer["conforms"], &answer["explained_by"]), (&false.into(), &"beta of 0.5".into()));
    let cells = answer["cells"].as_array().unwrap();
    assert!(cells.len() == 4 && cells.iter().all(|cell| cell["deviates"] == true), "{cells:?}");
    assert!(cells.iter().all(|cell| (0.49..0.52).contains(&cell["subject"]["kept"][1].as_f64().unwrap())));
    // The studies behind the answer: the grid and the changed rules.
    let results = answer["results"].as_array().unwrap();
    let names: Vec<_> = results.iter().map(|stored| stored["experiment"].as_str().unwrap()).collect();
    assert_eq!(names, ["conform/grid", "conform/rules-cubic"]);
    for stored in results {
        let path = dir.path().join(stored["path"].as_str().unwrap());
        assert!(
            path.join("summary.json").is_file() && path.ends_with(stored["id"].as_str().unwrap()),
            "{stored}"
        );
    }
}

/// Only new deviations fail against a baseline, and every deviation with `--fail-if`.
#[test]
fn verdicts_decide_the_exit_status() {
    const WRONG: &str = "{ name = 'cubic', beta = 0.5 }";
    let dir = tempfile::tempdir().unwrap();
    let ask = |args: &[&str]| {
        let (code, said, why) = status(dir.path(), &[&["ackclock"], args].concat());
        (code, said.replace("\n  ", " ") + &why)
    };
    let (code, said) = ask(&["--out", "right", "--fail-if", "deviates"]);
    assert_eq!(code, 0, "{said}");
    let wrong = json(dir.path(), &["ackclock", "--controller", WRONG]);
    std::fs::write(dir.path().join("wrong.json"), wrong.to_string()).unwrap();
    assert_eq!(ask(&["--controller", WRONG, "--fail-if", "deviates"]).0, 1);

    let (code, said) = ask(&["--controller", WRONG, "--baseline", "right"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("\nNew deviations since the baseline: window at 20 Mbit/s, "), "{said}");
    assert!(
        said.contains("; window at 20 Mbit/s, 10 ms, 1 BDP;") && said.contains("Gone: none. Known: 0."),
        "{said}"
    );
    let (code, said) = ask(&["--controller", WRONG, "--baseline", "wrong.json"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("New deviations since the baseline: none. Gone: none. Known: "), "{said}");
    let (code, said) = ask(&["--baseline", "wrong.json", "--fail-if", "deviates"]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("New deviations since the baseline: none. Gone: ") && said.contains("Known: 0."),
        "{said}"
    );
    let (code, said, _) =
        status(dir.path(), &["ackclock", "--controller", WRONG, "--baseline", "right", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(code, 1);
    assert_eq!(answer["since"]["new"][0]["measure"], "window");

    for (args, why) in [
        (
            &["--controller", "new-reno", "--baseline", "right/report/conform/ackclock-cubic/answer.json"][..],
            "it is about cubic",
        ),
        (
            &["--controller", "new-reno", "--baseline", "right"],
            "--baseline right/report/conform/ackclock-new-reno/answer.json: No such file",
        ),
        (&["--baseline", "none.json"], "--baseline none.json: No such file"),
        (
            &["--controller", WRONG, "--baseline", "results"],
            "--baseline results/report/conform/ackclock-cubic/answer.json: this run writes that file; keep the baseline",
        ),
        (
            &["--baseline", "/dev/zero"],
            "--baseline /dev/zero: not a regular file; give a folder written by `ackclock conform --out`",
        ),
    ] {
        let (code, said) = ask(args);
        assert!(code == 2 && said.contains(why), "{said}");
    }
    std::fs::write(dir.path().join("broken.json"), "{}").unwrap();
    let (code, said) = ask(&["--baseline", "broken.json"]);
    assert!(code == 2 && said.contains("missing field"), "{said}");
}

/// A baseline of all networks is none for four of them.
#[test]
fn a_baseline_has_the_same_networks() {
    let dir = tempfile::tempdir().unwrap();
    let mut answer = json(dir.path(), &["ackclock"]);
    let cell = serde_json::json!({ "variant": "delay = 1 s", "deviates_in": [] });
    answer["cells"].as_array_mut().unwrap().push(cell);
    std::fs::write(dir.path().join("more.json"), answer.to_string()).unwrap();
    let (code, _, why) = status(dir.path(), &["ackclock", "--baseline", "more.json"]);
    assert!(
        code == 2 && why.contains("--baseline: it has other networks; ask both questions with --quick"),
        "{why}"
    );
}

/// quinn's CUBIC has the curve of RFC 8312. Our controller inside quinn shows that the cause is the
/// controller.
#[cfg(feature = "others")]
#[test]
fn the_curve_of_quinn_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let answer = json(dir.path(), &["quinn"]);
    assert_eq!((&answer["conforms"], &answer["explained_by"]), (&false.into(), &"curve of RFC 8312".into()));
    let cause = &answer["cause"];
    assert!(cause["inside"].as_f64().unwrap() > 0.5 * cause["standard"].as_f64().unwrap(), "{cause}");
    // Changed rules run only on the networks where the stack deviates.
    assert_eq!(cause["rules"].as_array().unwrap().len(), 13);
    let rules = std::fs::read_dir(dir.path().join("results/conform/rules-cubic")).unwrap();
    let folder = rules.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let runs = std::fs::read_to_string(folder.join("runs.csv")).unwrap();
    assert!(runs.contains("delay = 5 ms") && !runs.contains("delay = 25 ms"));
}

#[test]
fn what_cannot_be_asked() {
    let dir = tempfile::tempdir().unwrap();
    for (args, why) in [
        (
            &["ackclock", "--controller", "vegas"][..],
            "--controller vegas: must be one of cubic, new-reno, bbr3",
        ),
        (&["linux-tcp"], "linux-tcp: needs --on wire"),
        (&["linux-tcp", "--on", "wire", "--kernel"], "--kernel: linux-tcp already is the kernel's TCP"),
        (
            &["linux-tcp", "--on", "wire", "--controller", "bbr3"],
            "--controller bbr3: the kernel has no BBRv3",
        ),
        (&["quic-go"], "quic-go: needs --on wire"),
        (&["ackclock", "--controller", "{ name = 'cubic', betta = 1 }"], "--controller: betta: unknown key"),
        (&["ackclock", "--controller", "{ name = 'cubic'"], "--controller { name = 'cubic'"),
        (&["ackclock", "--repeat", "0"], "'--repeat <REPEAT>': must be an integer between 1 and 10000"),
        #[cfg(feature = "others")]
        (
            &["quinn", "--controller", "{ name = 'cubic', beta = 0.5 }"],
            "--controller: quinn's own cubic takes no parameters; write --controller cubic",
        ),
        #[cfg(feature = "others")]
        (
            &["quinn", "--controller", "bbr3"],
            "bbr3 cannot run on quinn: the random numbers of quinn's own bbr3 cannot be seeded",
        ),
    ] {
        let (well, _, said) = conform(dir.path(), args);
        assert!(!well && said.contains(why), "{said}");
    }
}
