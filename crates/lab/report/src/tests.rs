//! Tests of the finished report: complete, well-formed, harmless, and readable offline.

use std::collections::BTreeSet;
use std::path::Path;

use super::chart::text_width;
use super::terminal::{brief, first};
use super::{fixture, pages, svg, write};
use experiment::chart::{Chart, Mark};
use results::summary::{Results, Summary};

/// Returns the files of a report's folder by name.
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

/// Checks that files are well-formed XML, once the void elements `meta` and `input` are closed.
fn parse_all(files: &[(String, String)]) {
    for (name, text) in files {
        let mut xml = text.clone();
        for open in ["<meta ", "<input "] {
            let closed: Vec<&str> = xml.split(open).collect();
            let pieces = closed[1..].iter().map(|piece| format!("{open}{}", piece.replacen('>', "/>", 1)));
            xml = std::iter::once(closed[0].to_owned()).chain(pieces).collect();
        }
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(&xml, options);
        let document = document.unwrap_or_else(|e| panic!("{name}: {e}"));
        let scripts = document.descendants().filter(|n| n.has_tag_name("script")).count();
        assert_eq!(scripts, usize::from(name.ends_with(".html")), "{name} runs a label");
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

fn page<'f>(files: &'f [(String, String)], name: &str) -> &'f str {
    &files.iter().find(|(n, _)| n == name).unwrap().1
}

/// Claims come first, then one variant at a time by radio buttons, without a script. Long texts are
/// folded.
#[test]
fn a_page_answers_first_and_needs_no_script() {
    let files = files(&fixture::realistic());
    let text = page(&files, "quic-dc-table-1.html");
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}"));
    assert!(
        at("<div class=\"claims\"") < at("<table class=\"numbers\"")
            && at("type=\"radio\"") < at("class=\"charts\"")
    );
    assert_eq!(text.matches("type=\"radio\"").count(), 2);
    assert!(text.contains("#v-quic-dc-table-1-1:checked~.body .v-quic-dc-table-1-1{display:block}"));
    assert!(at("<details class=\"paper\"><summary>") < at("class=\"notes\""));
    let overview = page(&files, "index.html");
    assert!(overview.contains("href=\"quic-dc-table-1.html\"") && !overview.contains("class=\"charts\""));
}

/// Failing claims come first and unfold in print. Details are behind each line.
#[test]
fn a_claim_is_a_line() {
    let files = files(&fixture::realistic());
    let text = page(&files, "quic-dc-table-1.html");
    let claims =
        &text[text.find("<div class=\"claims\"").unwrap()..text.find("table class=\"numbers\"").unwrap()];
    assert!(!claims.contains("<table"));
    let lines: Vec<&str> = claims.split("<summary><span class=\"badge ").skip(1).collect();
    let verdicts: Vec<&str> = lines.iter().filter_map(|line| line.split(['"', '>']).nth(2)).collect();
    assert_eq!(
        verdicts.iter().map(|v| v.split('<').next().unwrap()).collect::<Vec<_>>(),
        ["✗ missed", "◐ partly", "✓ holds", "✓ holds"]
    );
    assert_eq!(claims.matches("<details class=\"paper\"><summary>").count(), 2);
    assert!(lines[1].find("</summary>") < lines[1].find("1.442 / 0.042") && lines[1].contains("HyStart++"));
}

/// Charts exist for a column and for a whole page.
#[test]
fn charts_over_time_are_there_in_two_widths() {
    let files = files(&fixture::realistic());
    let text = page(&files, "quic-dc-table-5.html");
    for frame in ["viewBox=\"0 0 430 ", "viewBox=\"0 0 1000 "] {
        assert!(text.contains(frame), "{frame}");
    }
    assert!(text.contains("class=\"plot\" data-x=\"0 ") && text.contains("class=\"key\" data-series="));
    // A key controls the curves of its name.
    let keys = text.split("class=\"key\" data-series=").skip(1).filter_map(|rest| rest.split('"').nth(1));
    let curve = |name: &&str| text.contains(&format!("data-series=\"{name}\"><title>"));
    assert!(
        keys.clone().any(|name| name.starts_with("flow "))
            && keys.filter(|k| k.starts_with("flow ")).all(|k| curve(&k))
    );
}

/// In one panel and in strips, each controller's numbers refer to its own names, and the axis has
/// the names of all.
#[test]
fn states_have_their_names_on_the_axis() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut experiments = fixture::realistic();
    let results = &mut experiments[1];
    results.summary.states.insert("cubic".to_owned(), names(&["Drain", "Startup"]));
    results.summary.states.insert("bbr2".to_owned(), names(&["Startup", "Drain", "ProbeBW_UP"]));
    for track in &mut results.series {
        let state = track.times.iter().map(|time| f64::from(u8::from(*time > 40.0))).collect();
        track.columns.insert("state".to_owned(), state);
    }
    results.summary.charts = vec![Chart {
        rows: vec!["BBRv2".into(), "Cubic".into()],
        ..fixture::chart("States", Mark::Line, fixture::over_time(vec!["state".to_owned()]))
    }];
    let mut one_each = experiments.clone();
    one_each[1].series.retain(|track| track.flow == 0);
    one_each[1].flows.retain(|flow| flow.flow == 0);
    for experiments in [experiments, one_each] {
        let files = files(&experiments);
        let chart = page(&files, "quic-dc-table-5-line-time.svg");
        let words = chart.split("data-words=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let words: Vec<&str> = words.collect();
        assert!(
            words.iter().any(|words| words.ends_with("ProbeBW_UP") && words.contains("Drain|")),
            "{words:?}"
        );
        for name in ["Startup", "Drain", "ProbeBW_UP"] {
            assert!(chart.contains(&format!(">{name}</text>")), "{name}: {chart}");
        }
    }
}

#[test]
fn what_the_network_allows_is_a_line() {
    let mut experiments = fixture::realistic();
    let summary = &experiments[1].summary;
    let network = |row: &results::summary::Row| results::network::Network {
        variant: summary.variants[0].name.clone(),
        row: row.label.clone(),
        capacity: vec![(0.0, 10.0), (20.0, 5.0)],
        base_rtt: vec![vec![(0.0, 50.0)]],
        buffer: vec![(0.0, 120_000.0)],
    };
    experiments[1].networks = summary.variants[0].rows.iter().map(network).collect();
    let with = files(&experiments);
    let chart = page(&with, "quic-dc-table-5-line-time.svg");
    for name in ["capacity", "queue limit"] {
        assert!(chart.contains(&format!("<title>{name}</title>")), "{name}");
    }
    assert!(page(&with, "quic-dc-table-5-area-time.svg").contains("<title>capacity</title>"));
    assert!(!page(&files(&fixture::realistic()), "quic-dc-table-5-line-time.svg").contains("capacity"));
}

#[test]
fn the_folder_holds_the_page_and_a_file_per_chart_and_variant() {
    let names: Vec<_> = files(&fixture::realistic()).into_iter().map(|(n, _)| n).collect();
    let charts = ["bar-row", "line-rtt", "line-time"];
    let variants = ["limit-counts-queue", "limit-counts-queue-delay"];
    let mut expected = vec!["index.html".to_owned(), "quic-dc-table-1-bar-variant.svg".to_owned()];
    expected.extend([1, 5].map(|n| format!("quic-dc-table-{n}.html")));
    let of_table_5 = ["area-time", "bar-flow", "line-time", "point-rtt-mean"];
    expected.extend(of_table_5.iter().map(|c| format!("quic-dc-table-5-{c}.svg")));
    let of_chart = |c: &&str| variants.map(|v| format!("quic-dc-table-1-{c}-{v}.svg"));
    expected.extend(charts.iter().flat_map(of_chart));
    expected.extend(variants.map(|v| format!("quic-dc-table-1-line-time-2-{v}.svg")));
    expected.push("ledger.html".to_owned());
    expected.sort();
    assert_eq!(names, expected);
}

/// Pages and charts are texts, without a folder.
#[test]
fn a_report_is_made_of_texts() {
    let experiments = fixture::realistic();
    let texts = pages("A <heading> & more", &[], &experiments);
    assert_eq!(texts.last().unwrap().0, "index.html");
    let mut sorted = texts.clone();
    sorted.sort();
    assert!(sorted == files(&experiments), "the folder holds the same texts");
    assert!(svg_files(&experiments[0]).len() > 5);
    parse_all(&svg_files(&fixture::odd()[0]));
}

fn svg_files(results: &Results) -> Vec<(String, String)> {
    let texts = results.summary.charts.iter().flat_map(|chart| svg(results, chart));
    texts.map(|text| ("chart.svg".to_owned(), text)).collect()
}

#[test]
fn odd_values_break_nothing() {
    let files = files(&fixture::odd());
    parse_all(&files);
    assert!(files.len() > 20, "{} files", files.len());
    for (name, text) in &files {
        assert!(text.matches("<script").count() <= 1, "{name}");
        assert!(name.len() < 250 && !name.contains(['/', ' ', '<']), "{name}");
    }
    let pages: String =
        files.iter().filter(|(n, _)| n.ends_with(".html")).map(|(_, text)| text.as_str()).collect();
    for words in
        ["&lt;script&gt;", "No rows.", "No results.", "A &lt;heading&gt; &amp; more", "∞", "unexplained"]
    {
        assert!(pages.contains(words), "{words}");
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
        for address in ["http://", "https://", "//cdn", "@import", "url(h", "url(\"", "fetch("] {
            assert!(!addresses.contains(address), "{name}: {address}");
        }
    }
    for (name, text) in files.iter().filter(|(n, _)| n.ends_with(".html")) {
        assert!(text.len() < 2_500_000, "{name}: {} bytes", text.len());
    }
    assert!(include_str!("script.js").len() < 12_800, "the script is small");
}

#[test]
fn a_crowd_of_flows_makes_small_pictures() {
    let files = files(&[fixture::crowd()]);
    parse_all(&files);
    let charts: Vec<_> = files.iter().filter(|(n, _)| n.ends_with(".svg")).collect();
    assert_eq!(charts.len(), 3);
    for (name, text) in charts {
        assert!(text.len() < 300_000, "{name}: {} bytes", text.len());
    }
    let stacked = &files.iter().find(|(n, _)| n.contains("area-time")).unwrap().1;
    // Samples of half an hour are in no more bins than the figure can show.
    assert!(stacked.contains("in bins of 10 s") && stacked.contains("BBR, 8 flows"), "{stacked}");
    let shares = &files.iter().find(|(n, _)| n.contains("bar-flow")).unwrap().1;
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

/// At the width of a column, texts have 7 to 9 points, stay inside and do not cover each other, and
/// lines have half a point.
#[test]
fn a_printed_figure_is_legible() {
    let mut experiments = fixture::realistic();
    experiments.push(fixture::crowd());
    let figures = super::figures(&experiments);
    assert!(figures.len() > 10 && figures.iter().all(|figure| figure.svg.contains("width=\"84.0000mm\"")));
    for super::Printed { name, svg, .. } in &figures {
        texts_stay_inside(name, svg);
        let document = roxmltree::Document::parse(svg).unwrap();
        let root = document.root_element();
        let numbers = |value: &str| value.split(' ').map(|n| n.parse::<f64>().unwrap()).collect::<Vec<_>>();
        let points = 84.0 * 72.0 / 25.4 / numbers(root.attribute("viewBox").unwrap())[2];
        for node in document.descendants() {
            if let Some(size) = node.attribute("font-size") {
                let size = points * numbers(size)[0];
                assert!((7.0..=9.1).contains(&size), "{name}: {size} points");
            }
            // Strokes in the colour of the paper are gaps.
            let is_line =
                node.attribute("fill") == Some("none") && node.attribute("stroke") != Some("#ffffff");
            if let Some(width) = node.attribute("stroke-width").filter(|_| is_line) {
                assert!(points * numbers(width)[0] >= 0.5, "{name}: a line of {width} pixels");
            }
        }
        for ticks in document.descendants().filter(|node| node.attribute("class") == Some("ticks")) {
            let labels = ticks.children().filter(|node| node.has_tag_name("text"));
            let span = |node: roxmltree::Node<'_, '_>| {
                let half = 0.475
                    * text_width(node.text().unwrap(), numbers(node.attribute("font-size").unwrap())[0]);
                let at = numbers(node.attribute("x").unwrap())[0];
                (at - half, at + half)
            };
            let mut spans: Vec<_> = labels.map(span).collect();
            spans.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(spans.windows(2).all(|w| w[0].1 < w[1].0 + 0.2), "{name}: {spans:?}");
        }
    }
}

pub(super) fn texts_stay_inside(name: &str, svg: &str) {
    let document = roxmltree::Document::parse(svg).unwrap();
    let frame = document.root_element().attribute("viewBox").unwrap();
    let most: f64 = frame.split(' ').nth(2).unwrap().parse().unwrap();
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
        assert!(left >= 0.0 && left + width <= most, "{name}: {words}");
    }
}

#[test]
fn a_row_has_one_colour_in_every_chart() {
    let files = files(&fixture::realistic());
    // Only one row has the algorithm cubic here.
    let colour = super::styles::Palette::new(&fixture::realistic()).colour("cubic");
    let charts: Vec<_> = files.iter().filter(|(n, _)| n.ends_with(".svg") && n.contains("table-1")).collect();
    for (name, text) in &charts {
        assert!(text.contains(&format!("\"{colour}\"")), "{name} without {colour}");
    }
    let page = page(&files, "quic-dc-table-1.html");
    assert!(page.contains(&format!(".chart [stroke=\"{colour}\"]{{stroke:")), "no dark twin");
}

#[test]
fn marked_cells_have_a_reason_or_say_that_there_is_none() {
    let files = files(&fixture::realistic());
    let page = page(&files, "quic-dc-table-1.html");
    assert!(
        page.contains("href=\"#quic-dc-table-1-0-note-1\"")
            && page.contains("id=\"quic-dc-table-1-0-note-1\"")
    );
    for words in ["unexplained", "✗ missed", "◐ partly", "(reference)", "is biased"] {
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

/// Screens of two widths keep them for all values.
#[test]
fn screens_keep_their_width() {
    let odd = fixture::odd();
    let mut all = fixture::realistic();
    all.extend(odd.into_iter().filter(|results| results.summary.experiment.len() < 60));
    let summaries: Vec<&Summary> = all.iter().map(|results| &results.summary).collect();
    for width in [80, 120] {
        let mut screens = vec![first::text("all", &summaries, width)];
        screens.extend(summaries.iter().take(2).map(|summary| brief::text(summary, &mut Vec::new(), width)));
        for line in screens.iter().flat_map(|screen| screen.lines()) {
            let columns = textwrap::core::display_width(line);
            let words = line.split_whitespace().map(str::len).max().unwrap_or(0);
            assert!(columns <= width || words > width / 2, "{columns} columns: {line}");
            assert!(!line.replace("\u{1b}[", "").contains(|c: char| c.is_control()), "{line:?}");
        }
    }
}

/// The report and the first screen count the same numbers: those of the reference that differ by
/// more than 10 %.
#[test]
fn one_count_of_differences() {
    let mut all = fixture::realistic();
    let summaries = |all: &[Results]| all.iter().map(|r| r.summary.clone()).collect::<Vec<_>>();
    let whole = summaries(&all);
    let of_all = results::ledger::Outliers::count(&whole);
    let mut other = all[0].summary.variants[0].clone();
    (other.name, other.reference) = ("limit-counts = another".to_owned(), false);
    all[0].summary.variants.push(other);
    let alone = summaries(&all);
    let outliers = results::ledger::Outliers::count(&alone);
    assert!(outliers.open > 0 && outliers == of_all, "{outliers:?} {of_all:?}");
    let screen = first::text("all", &alone.iter().collect::<Vec<_>>(), 80);
    assert!(
        screen.contains(&format!(", {} of the {} numbers that", outliers.open, outliers.all)),
        "{screen}"
    );
    let files = files(&all);
    let tile =
        format!("<b>{}</b><span>of {} numbers that differ by more than 10 %", outliers.open, outliers.all);
    assert!(page(&files, "index.html").contains(&tile), "{tile}");
}

/// A single experiment with up to 20 rows shows its table, then its claims. A longer one shows
/// counts.
#[test]
fn the_first_screen_has_numbers() {
    let mut all = fixture::realistic();
    let summary = &mut all[0].summary;
    summary.variants[1].reference = false;
    for width in [80, 120] {
        let screen = first::text("quic-dc/table-1", &[summary], width);
        let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("{words}: {screen}"));
        assert!(at("\nCubic ") < at("\nNew Reno ") && at("\nNew Reno ") < at("\nmain claims\n"), "{screen}");
        assert!(at("\nmain claims\n") < at("missed!") && at("\nmain claims\n") < at("S0-02: "), "{screen}");
        assert!(at("  [1]: reason for differences (-v)\n") < at("\nmain claims\n"), "{screen}");
        assert!(!screen.contains("variants  holds") && !screen.contains(fixture::REASON), "{screen}");
        let columns = screen.lines().map(textwrap::core::display_width).max().unwrap();
        assert!(columns <= width, "{columns} columns: {screen}");
    }
    let rows = &mut summary.variants[0].rows;
    *rows = rows.iter().cycle().take(21).cloned().collect();
    let screen = first::text("quic-dc/table-1", &[summary], 80);
    assert!(screen.contains("variants  holds") && !screen.contains("\nCubic "), "{screen}");
}

/// With `-v`, each experiment has a table of one block, and each reason appears once.
#[test]
fn a_table_each_and_each_reason_once() {
    let mut all = fixture::realistic();
    all[0].summary.variants[1].reference = false;
    let twice = [&all[0].summary, &all[0].summary];
    let mut notes = Vec::new();
    let texts = twice.map(|summary| brief::text(summary, &mut notes, 80));
    assert!(!notes.is_empty() && texts[0].contains("  [1] ") && !texts[1].contains("  [1] "), "{}", texts[1]);
    assert!(
        texts[1].contains("%[1]")
            && texts[1].contains("every goodput is biased: +2.1 % on average (+1.7 to +2.6): [1]"),
        "{}",
        texts[1]
    );
    let rows: Vec<&str> =
        texts[0].lines().skip_while(|line| !line.starts_with("QUIC-DC 10 ")).take(2).collect();
    assert!(
        rows[0].contains(" 8.72 -5%") && rows[1].trim_start().starts_with("8.90 "),
        "and the other variant: {rows:?}"
    );
}

/// An answer has text and charts on one page, and no counters without claims.
#[test]
fn an_answer_stands_with_its_pictures() {
    let mut all = fixture::realistic();
    for results in &mut all {
        results.summary.claims.clear();
        let rows = results.summary.variants.iter_mut().flat_map(|v| &mut v.rows);
        rows.flat_map(|row| row.cells.values_mut()).for_each(|cell| cell.published = None);
    }
    all[1].summary.title = "Which one: beside another".to_owned();
    let table = super::Block::Table {
        caption: "Alone".to_owned(),
        head: vec![String::new(), "cubic".to_owned()],
        rows: vec![vec!["goodput".to_owned(), "9.2".to_owned()]],
    };
    let dir = tempfile::tempdir().unwrap();
    let blocks = [super::Block::Text("cubic carries most.".to_owned()), table];
    super::write_answer(dir.path(), "Which one", &blocks, &all).unwrap();
    let files = read(dir.path());
    parse_all(&files);
    let text = page(&files, "index.html");
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}"));
    assert!(
        at("cubic carries most.") < at("<svg class=\"chart\"")
            && at("<td class=\"count\">9.2") < at("<svg class=\"chart\"")
    );
    assert!(at("<svg class=\"chart\"") < at("quic-dc-table-5.html\">beside another</a>"));
    for words in ["<pre", "claims hold", "numbers that differ", "ledger.html"] {
        assert!(!text.contains(words), "{words}");
    }
}
