//! `ackclock stability`: output, files and refusals.

use crate::*;

/// The margins of the paper's own example, its page, and the numbers behind it.
#[test]
fn stability_of_dccc() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("s");
    let run = |more: &[&str]| {
        let asked = ["stability", "dccc", "--rate", "1Mbit/s", "--out", out.to_str().unwrap()];
        let done = ackclock(&[&asked[..], more].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout)
    };
    let table = run(&["--rtt", "100ms"]);
    for words in ["poles at 0 and −0.08000 rad/s", "3.804 (11.6 dB)", "242.7", "1.537", "0.9566", "stable"]
    {
        assert!(table.contains(words), "{words}: {table}");
    }
    let files: Vec<String> = tree(&out).into_iter().map(|f| f.0).collect();
    assert_eq!(files, ["bode.svg", "index.html", "nyquist.svg", "response.csv"]);
    let json = |more: &[&str]| serde_json::from_str::<serde_json::Value>(&run(more)).unwrap();
    let rest = json(&["--base-rtt", "50ms", "--threshold", "100ms", "--json"]);
    assert_eq!((&rest["setting"]["rtt"], &rest["sampled"]["closed-poles"]), (&"156.25 ms".into(), &0.into()));
    let asked = "--base-rtt 50ms --simulate 30s --start 0s --start 5s --json";
    let simulated = json(&asked.split(' ').collect::<Vec<_>>());
    for model in ["fluid-end", "packets-end"] {
        let delay = simulated["simulation"][model]["delay-ms"].as_f64().unwrap();
        assert!((delay / 131.25 - 1.0).abs() < 0.05, "{model}: {delay}");
    }
    assert!(out.join("fluid-and-packets.svg").exists());
    let wild = json(&["--rtt", "100ms", "--gain", "1.2", "--json"]);
    assert_eq!(
        (&wild["continuous"]["closed-poles"], &wild["sampled"]["closed-poles"]),
        (&0.into(), &2.into())
    );
}

/// Prints the analysis of dccc with these arguments, and writes its files to `out`.
fn analysed(out: &Path, more: &[&str]) -> String {
    let done = ackclock(&[&["stability", "dccc", "--out", out.to_str().unwrap()][..], more].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    text(&done.stdout)
}

/// A network from a file: on the terminal, as JSON and as numbers.
#[cfg(feature = "networks")]
#[test]
fn stability_of_networks() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (dir.path().join("net.toml"), dir.path().join("s"));
    let one = "[[link]]\nname = \"l\"\nrate = \"1 Mbit/s\"\ndelay = \"25 ms\"\n[[flow]]\nroute = [\"l\"]\n";
    std::fs::write(&file, one).unwrap();
    let file = file.to_str().unwrap();
    let table = analysed(&out, &["--network", file]);
    for words in ["131.25", "156.25", "3.804 (11.6 dB)", "56.7", "379.18", "V_bent only falls"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let json = analysed(&out, &["--network", file, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["margins"]["closed-poles"], 0);
    let files: Vec<String> = tree(&out).into_iter().map(|f| f.0).collect();
    assert_eq!(files, ["eigenvalues.csv", "passivity.csv"]);
}

/// The curves of Figure 2, on the terminal and as numbers.
#[test]
fn penalty_curves() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("s");
    let curves = analysed(&out, &["--threshold", "80ms", "--penalty", "10ms", "50ms"]);
    assert!(curves.contains("threshold 80 ms") && curves.contains("p = 50 ms"), "{curves}");
    assert!(analysed(&out, &["--penalty"]).contains("p = 25 ms"));
    let files: Vec<String> = tree(&out).into_iter().map(|f| f.0).collect();
    assert_eq!(files, ["penalty.csv"]);
}

#[test]
fn stability_refuses_in_one_sentence() {
    for (arguments, words) in [
        ("cubic --rtt 100ms --rate 1Mbit/s", "no stability analysis"),
        ("dcc --rtt 100ms --rate 1Mbit/s", "did you mean \"dccc\"?"),
        ("dccc --rtt 100 --rate 1Mbit/s", "`100` has no unit"),
        ("dccc --rtt 100ms --rate 200kbit/s", "200 kbit/s or less (equation 20)"),
        ("dccc --rtt 100ms --rate 1Mbit/s --gain NaN", "0.000001 to 10"),
        ("dccc --rtt 100ms --rate 1Mbit/s --gain -1", "0.000001 to 10"),
        ("dccc --rtt 100ms --rate 1Mbit/s --gain 1e-80", "--gain 1e-80: give"),
        ("dccc --rtt 100ms", "give --rate with --rtt or --base-rtt, or use --network or --penalty"),
        ("dccc --rate 1Mbit/s --simulate 60s", "--simulate needs --base-rtt"),
        ("dccc --rtt 100ms --rate 1Mbit/s --beta 2", "above 0 and up to 1"),
        ("dccc --rtt 100ms --rate 1Mbit/s --links 0", "1 to 1000"),
        ("dccc --rtt 0ms --rate 1Mbit/s", "above zero"),
        ("dccc --rtt 100ms --rate 1Mbit/s --h 0bit/s", "give a rate"),
        ("dccc --rtt 100ms --rate 1Mbit/s --threshold 50ms", "--threshold needs --base-rtt instead of --rtt"),
        ("dccc --base-rtt 400ms --rate 5Mbit/s", "give a larger threshold"),
        ("dccc --rtt 100ms --rate 1Mbit/s --simulate 60s", "--simulate needs --base-rtt instead of --rtt"),
        ("dccc --base-rtt 50ms --rate 1Mbit/s --start 1s", "--simulate"),
        ("dccc --base-rtt 50ms --rate 1Mbit/s --simulate 60s --start 50s", "give a start before 45 s"),
        ("dccc --base-rtt 50ms --rate 1Mbit/s --simulate 1ms", "give at least 1 s"),
        ("dccc --base-rtt 50ms --rate 1Mbit/s --simulate 60s --links 3", "has one link"),
        ("dccc --base-rtt 50ms --rate 9Gbit/s --simulate 600s", "give a shorter time"),
        ("dccc --base-rtt 1ns --rate 1Mbit/s --simulate 60s", "give a shorter time"),
        #[cfg(feature = "networks")]
        ("dccc --network none.toml", "none.toml: no such file"),
        #[cfg(not(feature = "networks"))]
        ("dccc --network none.toml", "--features networks"),
        ("dccc --network none.toml --rtt 100ms", "cannot be used with"),
        ("dccc --penalty 10ms --threshold 0ms", "above zero"),
    ] {
        let done = ackclock(&[&["stability"], &arguments.split(' ').collect::<Vec<_>>()[..]].concat());
        assert_eq!(done.status.code(), Some(2), "{arguments}");
        assert!(text(&done.stderr).contains(words), "{arguments}: {}", text(&done.stderr));
    }
}
