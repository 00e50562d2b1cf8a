//! Charts of stored results as figures for papers.

use std::fs;

use super::{ackclock, small, text};

#[test]
fn charts_become_files_of_the_size_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (results, out) = (dir.path().join("r"), dir.path().join("figures"));
    let (results, into) = (results.to_str().unwrap(), out.to_str().unwrap());
    assert!(ackclock(&["run", &small(dir.path(), "0.1"), "--out", results]).status.success());
    let report = |options: &[&str]| ackclock(&[&["report", results, "--out", into], options].concat());
    let done = report(&["--format", "svg", "--width", "84 mm", "--legend", "bottom"]);
    let file = out.join("small-line-rtt.svg");
    assert_eq!(text(&done.stdout), format!("{}\n", file.display()));
    let drawn = fs::read_to_string(file).unwrap();
    assert!(drawn.contains("<svg") && drawn.contains("width=\"84.0000mm\""), "{drawn}");
    assert!(drawn.contains("<g transform=\"translate(0 "), "the legend is below: {drawn}");
    for (options, says) in [
        (vec!["--chart", "nothing"], "no chart has \"nothing\" in its title; titles: \"RTT\""),
        (vec!["--dpi", "300"], "only PNG has pixels"),
        (vec!["--from", "1 s"], "--from and --to need a chart over time"),
        (vec!["--width", "30 mm"], "--width: text of 9 pt is too large for 30 mm; write at least 64 mm"),
        (vec!["--width", "84"], "`84` is in no known unit; a width is written \"84 mm\""),
        (vec!["--legend", "left"], "[possible values: top, bottom, right, none]"),
    ] {
        let done = report(&[&["--format", "svg"], &options[..]].concat());
        let said = text(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains(says), "{options:?}: {said}");
    }
    for (format, starts) in [("pdf", &b"%PDF-1"[..]), ("png", b"\x89PNG")] {
        let done = report(&["--format", format]);
        let file = out.join("small-line-rtt").with_extension(format);
        if cfg!(feature = "figures") {
            assert!(fs::read(file).unwrap().starts_with(starts), "{format}");
        } else {
            let said = text(&done.stderr);
            assert!(
                done.status.code() == Some(2) && said.contains("build it with `--features figures`"),
                "{said}"
            );
        }
    }
}
