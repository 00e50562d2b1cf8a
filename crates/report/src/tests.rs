//! The report as its reader gets it: whole, well-formed, harmless, and complete without a network.

use std::collections::BTreeSet;
use std::path::Path;

use super::chart::{WIDTH, text_width};
use super::terminal::{brief, first};
use super::{fixture, write};
use results::summary::{Results, Summary};

/// Everything that a report's folder holds, by name.
fn files(experiments: &[Results]) -> Vec<(String, String)> {
    let dir = tempfile::tempdir().unwrap();
    let index = write(&dir.path().join("deep/report"), "A <heading> & more", experiments).unwrap();
    assert_eq!(index, dir.path().join("deep/report/index.html"));
    read(index.parent().unwrap())
}

fn read(dir: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let name = |p: &Path| p.file_name().unwrap().to_string_lossy().into_owned();
    let mut files: Vec<_> = entries.map(|p| (name(&p), std::fs::read_to_string(&p).unwrap())).collect();
    files.sort();
    files
}

/// HTML leaves `meta` open; with these closed the page must be well-formed XML.
fn parse_all(files: &[(String, String)]) {
    for (name, text) in files {
        let closed: Vec<&str> = text.split("<meta ").collect();
        let mut xml = closed[0].to_owned();
        for piece in &closed[1..] {
            xml.push_str("<meta ");
            xml.push_str(&piece.replacen('>', "/>", 1));
        }
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(&xml, options);
        let document = document.unwrap_or_else(|e| panic!("{name}: {e}"));
        let elements: BTreeSet<_> = document.descendants().map(|n| n.tag_name().name().to_owned()).collect();
        assert!(!elements.contains("script"), "{name} runs a label");
        for node in document.descendants() {
            for attribute in node.attributes() {
                assert!(!attribute.name().starts_with("on"), "{name}: {}", attribute.name());
                let is_number = matches!(
                    attribute.name(),
                    "d" | "x" | "y" | "width" | "height" | "viewBox" | "cx" | "cy" | "transform"
                );
                let odd = ["NaN", "inf"].iter().any(|odd| attribute.value().contains(odd));
                assert!(!(is_number && odd), "{name}: {}", attribute.value());
            }
        }
        let ids: Vec<_> = document.descendants().filter_map(|n| n.attribute("id")).collect();
        let unique: BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), unique.len(), "{name}: an id twice");
        for link in document.descendants().filter_map(|n| n.attribute("href")) {
            let target = link.strip_prefix('#').map(|id| ids.contains(&id));
            let known = target.unwrap_or_else(|| files.iter().any(|(n, _)| n == link));
            assert!(known, "{name}: nothing at {link}");
        }
    }
}

#[test]
fn the_folder_holds_the_page_and_a_file_per_chart_and_variant() {
    let names: Vec<_> = files(&fixture::realistic()).into_iter().map(|(n, _)| n).collect();
    let charts = ["bars", "over-time", "rtt-cdf"];
    let variants = ["limit-counts-queue", "limit-counts-queue-delay"];
    let mut expected = vec!["index.html".to_owned(), "quic-dc-table-1-grouped-bars.svg".to_owned()];
    let of_table_5 = ["box", "over-time", "plane", "shares", "stacked"];
    expected.extend(of_table_5.iter().map(|c| format!("quic-dc-table-5-{c}.svg")));
    let of_chart = |c: &&str| variants.map(|v| format!("quic-dc-table-1-{c}-{v}.svg"));
    expected.extend(charts.iter().flat_map(of_chart));
    // The second chart of a kind.
    expected.extend(variants.map(|v| format!("quic-dc-table-1-over-time-2-{v}.svg")));
    expected.push("ledger.html".to_owned());
    expected.sort();
    assert_eq!(names, expected);
}

#[test]
fn odd_values_break_nothing() {
    let files = files(&fixture::odd());
    parse_all(&files);
    assert!(files.len() > 20, "{} files", files.len());
    for (name, text) in &files {
        assert!(!text.contains("<script"), "{name}");
        assert!(name.len() < 250 && !name.contains(['/', ' ', '<']), "{name}");
    }
    let page = &files.iter().find(|(n, _)| n == "index.html").unwrap().1;
    for words in
        ["&lt;script&gt;", "No rows.", "No results.", "A &lt;heading&gt; &amp; more", "∞", "unexplained"]
    {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn nothing_at_all_is_a_page_too() {
    let files = files(&[]);
    parse_all(&files);
    assert_eq!(files.len(), 2, "the page and the ledger");
}

#[test]
fn the_report_needs_no_network_and_is_small() {
    let mut experiments = fixture::realistic();
    for i in 0..4 {
        let mut more = fixture::realistic();
        more.iter_mut().for_each(|r| r.summary.experiment.push_str(&i.to_string()));
        experiments.append(&mut more);
    }
    let files = files(&experiments);
    parse_all(&files);
    for (name, text) in &files {
        let addresses = text.replace("http://www.w3.org/2000/svg", "");
        for address in ["http://", "https://", "//cdn", "@import", "url("] {
            assert!(!addresses.contains(address), "{name}: {address}");
        }
    }
    let page = &files.iter().find(|(n, _)| n == "index.html").unwrap().1;
    assert!(page.len() < 4_000_000, "{} bytes for ten experiments", page.len());
}

#[test]
fn a_crowd_of_flows_makes_small_pictures() {
    let files = files(&[fixture::crowd()]);
    parse_all(&files);
    let charts: Vec<_> = files.iter().filter(|(n, _)| n.ends_with(".svg")).collect();
    assert_eq!(charts.len(), 4);
    for (name, text) in charts {
        assert!(text.len() < 300_000, "{name}: {} bytes", text.len());
    }
    let stacked = &files.iter().find(|(n, _)| n.contains("stacked")).unwrap().1;
    // Half an hour of samples by the second, in no more bins than the picture can show.
    assert!(stacked.contains("in bins of 10 s") && stacked.contains("BBR, 8 flows"), "{stacked}");
    let shares = &files.iter().find(|(n, _)| n.contains("shares")).unwrap().1;
    assert!(shares.contains("128 flows, largest"));
}

#[test]
fn no_text_leaves_its_picture() {
    let mut experiments = fixture::realistic();
    experiments.push(fixture::crowd());
    for (name, text) in files(&experiments).iter().filter(|(name, _)| name.ends_with(".svg")) {
        texts_stay_inside(name, text);
    }
}

pub(super) fn texts_stay_inside(name: &str, svg: &str) {
    let document = roxmltree::Document::parse(svg).unwrap();
    for node in document.descendants().filter(|n| n.has_tag_name("text") && n.has_attribute("x")) {
        let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let words = node.text().unwrap_or("");
        // The estimate is a little too wide for most words.
        let width = 0.95 * text_width(words, number("font-size"));
        let left = match node.attribute("text-anchor") {
            Some("middle") => number("x") - width / 2.0,
            Some("end") => number("x") - width,
            _ => number("x"),
        };
        assert!(left >= 0.0 && left + width <= WIDTH, "{name}: {words}");
    }
}

#[test]
fn a_row_has_one_colour_in_every_chart() {
    let files = files(&fixture::realistic());
    // Cubic is the only row of its algorithm here.
    let colour = super::palette::shade("cubic", 0, 1);
    let charts: Vec<_> = files.iter().filter(|(n, _)| n.ends_with(".svg") && n.contains("table-1")).collect();
    for (name, text) in &charts {
        assert!(text.contains(&format!("\"{colour}\"")), "{name} without {colour}");
    }
    let page = &files.iter().find(|(n, _)| n == "index.html").unwrap().1;
    assert!(page.contains(&format!(".chart [stroke=\"{colour}\"]{{stroke:")), "no dark twin");
}

#[test]
fn marked_cells_have_a_reason_or_say_that_there_is_none() {
    let page = &files(&fixture::realistic())[0].1;
    assert!(
        page.contains("href=\"#quic-dc-table-1-0-note-1\"")
            && page.contains("id=\"quic-dc-table-1-0-note-1\"")
    );
    for words in ["unexplained", "✗ missed", "◐ partly", "(reference)", "is off to one side"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn the_same_results_make_the_same_bytes_and_replace_the_old_ones() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "Old", &fixture::odd()[1..]).unwrap();
    write(dir.path(), "New", &fixture::realistic()).unwrap();
    let first = read(dir.path());
    write(dir.path(), "New", &fixture::realistic()).unwrap();
    assert!(first == read(dir.path()));
    assert!(first.iter().all(|(name, _)| !name.starts_with('.')), "something is left half written");
}

#[test]
fn a_folder_that_cannot_be_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    assert!(write(&file, "No", &[]).is_err());
}

/// Whatever the values, on screens of two widths.
#[test]
fn screens_keep_their_width() {
    let odd = fixture::odd();
    let mut all = fixture::realistic();
    all.extend(odd.into_iter().filter(|results| results.summary.experiment.len() < 60));
    let summaries: Vec<&Summary> = all.iter().map(|results| &results.summary).collect();
    for width in [80, 120] {
        let mut screens = vec![first::text("all", &summaries, width)];
        screens.extend(summaries.iter().take(2).map(|summary| brief::text(summary, width)));
        for line in screens.iter().flat_map(|screen| screen.lines()) {
            let columns = textwrap::core::display_width(line);
            let words = line.split_whitespace().map(str::len).max().unwrap_or(0);
            assert!(columns <= width || words > width / 2, "{columns} columns: {line}");
            assert!(!line.replace("\u{1b}[", "").contains(|c: char| c.is_control()), "{line:?}");
        }
    }
}
