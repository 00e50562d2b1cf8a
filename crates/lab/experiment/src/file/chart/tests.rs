//! Every combination of mark and channels is either read, or refused with a valid alternative.

use std::path::Path;

use crate::chart::{Along, Chart, Data, Mark, ScaleKind};
use crate::file::Experiment;
use crate::metric::Metric;
use crate::print::Legend;

const HEAD: &str = "title = \"T\"\nsource = \"S\"\nduration = \"1 s\"\nlink = { rate = \"100 Mbit/s\", delay = \"1 ms\" }\n\
                    [[flow]]\ncontroller = \"cubic\"\n";
const VARY: &str = "[vary]\n\"link.queue\" = [\"0.1 BDP\", \"1 BDP\", \"4 BDP\"]\n\
                    \"link.delay\" = [\"5 ms\", \"50 ms\"]\n\"flow.controller\" = [\"cubic\", \"bbr3\"]\n";

fn charts(text: &str) -> Result<Vec<Chart>, String> {
    let file = Experiment::parse("t", Path::new("t.toml"), text);
    file.map(|exp| exp.charts).map_err(|problem| problem.to_string())
}

/// Reads a chart of a file that varies a queue, a delay and the controller of the rows.
fn swept(keys: &str) -> Result<Chart, String> {
    charts(&format!("{HEAD}{VARY}[[chart]]\ntitle = \"T\"\n{keys}\n")).map(|mut charts| charts.remove(0))
}

/// Reads a chart of a file in which nothing varies.
fn plain(keys: &str) -> Result<Chart, String> {
    charts(&format!("{HEAD}[[chart]]\ntitle = \"T\"\n{keys}\n")).map(|mut charts| charts.remove(0))
}

/// Every mark with all its axes, and with every colour and facet.
#[test]
fn what_can_be_combined_is_read_and_stored() {
    let cells = ["x = \"row\"", "x = \"variant\"", "x = \"queue\"", "x = \"link.queue\"\ncolour = \"delay\""];
    let more = [
        "",
        "colour = \"metric\"\ny = [\"goodput\"]",
        "x = \"queue\"\ncolour = \"delay\"\nfacet = \"controller\"",
        "x = \"queue\"\nfacet = \"delay\"\ny = \"loss\"",
        "x = \"row\"\ncolour = \"variant\"",
        "x = \"row\"\nfacet = \"variant\"",
        "x = \"row\"\ncolour = \"queue\"",
        "x = \"variant\"\nfacet = \"row\"",
        "x = \"row\"\nrows = [\"cubic\"]",
    ];
    let time = [
        "",
        "y = \"owd_ms\"",
        "y = [\"cwnd_bytes\", \"queue_bytes\", \"state\"]\ny-scale = \"log\"",
        "colour = \"row\"",
        "colour = \"flow\"",
        "facet = \"row\"",
        "facet = \"variant\"\ncolour = \"row\"\ninterval = \"100 ms\"\nrows = [\"*\"]",
    ];
    let line =
        ["x = \"rtt\"", "x = \"rtt\"\ny = \"cdf\"\nscale = \"log\"", "x = \"rtt\"\ncolour = \"variant\""];
    let key = ["x = \"queue\"\nscale = \"log\"\ny-scale = \"log\"", "x = \"controller\""];
    let area = [
        "",
        "y = \"cwnd_bytes\"",
        "y = \"bytes_in_flight\"\ncolour = \"flow\"\nfacet = \"variant\"\ninterval = \"1 s\"",
    ];
    let point = [
        "",
        "x = \"rtt\"\ny = \"loss\"\ny-scale = \"log\"",
        "x = \"queue_delay\"\ny = \"goodput\"\nscale = \"log\"\ncolour = \"row\"",
        "x = \"loss\"\ny = \"retransmissions\"\ncolour = \"flow\"\nfacet = \"variant\"",
    ];
    let bar = ["colour = \"flow\"", "colour = \"flow\"\ny = \"retransmissions\"\nfacet = \"variant\""];
    let all: [(&str, Vec<&[&str]>); 4] = [
        ("line", vec![&time, &line, &key, &cells[2..], &more[2..4]]),
        ("area", vec![&area]),
        ("point", vec![&point, &cells, &key, &more[2..]]),
        ("bar", vec![&bar, &cells, &more]),
    ];
    let mut read = 0;
    for (mark, keys) in all
        .iter()
        .flat_map(|(mark, sets)| sets.iter().flat_map(move |set| set.iter().map(move |keys| (mark, keys))))
    {
        let chart =
            swept(&format!("mark = \"{mark}\"\n{keys}")).unwrap_or_else(|e| panic!("{mark} {keys}\n{e}"));
        assert_eq!(chart.mark.word(), *mark);
        let stored = serde_json::to_string(&chart).unwrap();
        assert_eq!(serde_json::from_str::<Chart>(&stored).unwrap(), chart, "{stored}");
        read += 1;
    }
    assert!(read > 45, "{read}");
}

#[test]
fn what_cannot_be_combined_is_refused_with_what_can() {
    for (keys, parts) in [
        ("", &["chart.0.mark: missing", "line, bar, area, point"][..]),
        ("mark = \"lin\"", &["t.toml:13", "unknown mark `lin`", "did you mean \"line\"?"]),
        (
            "mark = \"area\"\nx = \"row\"",
            &["t.toml:14", "chart.0.x: mark = \"area\" does not support x = \"row\"", "x = \"time\""],
        ),
        ("mark = \"line\"\nx = \"row\"", &["\"time\", \"rtt\" or a key of [vary]"]),
        ("mark = \"line\"\nx = \"goodput\"", &["does not support x = \"goodput\""]),
        ("mark = \"bar\"\nx = \"time\"", &["\"row\", \"variant\" or a key of [vary]"]),
        (
            "mark = \"line\"\nx = \"link.queu\"",
            &["`link.queu` does not vary", "did you mean \"link.queue\"?"],
        ),
        (
            "mark = \"line\"\nx = \"queue\"\ncolour = \"queue\"",
            &["t.toml:15", "the x axis already uses this key"],
        ),
        ("mark = \"line\"\nx = \"queue\"\ncolour = \"variant\"", &["the x axis already uses this key"]),
        (
            "mark = \"line\"\nx = \"queue\"\ncolour = \"delay\"\nfacet = \"delay\"",
            &["t.toml:16", "the colour already uses this key"],
        ),
        ("mark = \"line\"\nx = \"queue\"\nscale = \"lg\"", &["unknown scale `lg`"]),
        (
            "mark = \"line\"\nx = \"queue\"\ninterval = \"1 s\"",
            &[
                "t.toml:15",
                "does not use `interval`",
                "its keys: mark, title, x, y, rows, width, font-size, colour, facet, scale, y-scale, legend",
            ],
        ),
        ("mark = \"bar\"\ny-scale = \"log\"", &["mark = \"bar\" over x = \"row\" does not use `y-scale`"]),
        ("mark = \"area\"\ny-scale = \"log\"", &["does not use `y-scale`"]),
        ("mark = \"area\"\ny = \"latest_rtt_ms\"", &["cannot be summed over flows", "goodput_mbit_s"]),
        ("mark = \"area\"\ny = \"queue_bytes\"", &["belongs to the path, not to each flow"]),
        ("mark = \"area\"\ncolour = \"row\"", &["unknown colour `row`", "flow"]),
        (
            "mark = \"line\"\nx = \"rtt\"\ny = \"goodput\"",
            &["cannot be the y axis of a chart over \"rtt\"; write \"cdf\""],
        ),
        (
            "mark = \"line\"\nx = \"rtt\"\ncolour = \"variant\"\nfacet = \"variant\"",
            &["the colours already show the variants"],
        ),
        (
            "mark = \"line\"\ny = [\"cwnd\"]",
            &["t.toml:14", "unknown column of the series `cwnd`", "did you mean \"cwnd_bytes\"?"],
        ),
        ("mark = \"line\"\ny = \"max_bww\"", &["unknown column", "did you mean \"max_bw\"?"]),
        ("mark = \"point\"\nx = \"jain\"", &["`jain` is not in the table"]),
        ("mark = \"point\"\nx = \"godput\"", &["`godput` does not vary"]),
        ("mark = \"bar\"\ncolour = \"source\"", &["no published values"]),
        ("mark = \"point\"\nx = \"row\"\ncolour = \"source\"", &["only bars show the published values"]),
        (
            "mark = \"point\"\nx = \"row\"\ncolour = \"flow\"",
            &["cells of the table cover all flows together"],
        ),
        ("mark = \"bar\"\ncolour = \"flow\"\ny = \"rtt_mean\"", &["`rtt_mean` is not a sum over flows"]),
        ("mark = \"box\"", &["unknown mark `box`", "line, bar, area, point"]),
        ("mark = \"bar\"\ny = \"jain\"", &["`jain` is not in the table"]),
        ("mark = \"bar\"\ny = [\"goodput\", \"loss\"]\ncolour = \"metric\"", &["different units"]),
        ("mark = \"line\"\ninterval = \"0 s\"", &["t.toml:14", "the interval is 0 s"]),
        ("mark = \"line\"\ninterval = 1", &["chart.0.interval", "`1` has no unit"]),
        ("mark = \"line\"\nfacet = \"delay\"", &["unknown facet `delay`", "row"]),
        ("mark = \"point\"\nrows = [\"x\"]", &["`x` matches no row"]),
        ("mark = \"point\"\nz = 1", &["chart.0.z: unknown key"]),
        ("mark = \"line\"\nmetrics = [\"loss\"]", &["chart.0.metrics: unknown key"]),
    ] {
        let told = swept(keys).unwrap_err();
        assert!(parts.iter().all(|part| told.contains(part)), "{keys}\n{told}");
    }
    assert!(plain("mark = \"line\"\nx = \"link.queue\"").unwrap_err().contains("does not vary"));
}

/// Every chart has a size on paper; those over time have a part, and those with colours a legend.
#[test]
fn charts_for_paper() {
    let size = "width = \"84 mm\"\nfont-size = \"8 pt\"\n";
    let part = "from = \"0.2 s\"\nto = \"0.8 s\"\n";
    let chart = plain(&format!("mark = \"line\"\n{size}{part}legend = \"right\"")).unwrap();
    assert_eq!((chart.print.width(), chart.print.font_size(), chart.print.part()), (84.0, 8.0, (0.2, 0.8)));
    assert_eq!(chart.print.legend, Some(Legend::Right));
    let stored = serde_json::to_string(&chart).unwrap();
    assert_eq!(serde_json::from_str::<Chart>(&stored).unwrap(), chart, "{stored}");
    assert!(!serde_json::to_string(&plain("mark = \"line\"").unwrap()).unwrap().contains("print"));
    for mark in ["bar", "point", "area", "sequence\"\nbetween = [\"0 s\", \"1 s\"]#"] {
        assert!(plain(&format!("mark = \"{mark}\"\n{size}")).is_ok(), "{mark}");
    }
    for (keys, says) in [
        ("mark = \"bar\"\nfrom = \"1 s\"", "does not use `from`"),
        ("mark = \"line\"\nx = \"rtt\"\nto = \"1 s\"", "does not use `to`"),
        ("mark = \"sequence\"\nbetween = [\"0 s\", \"1 s\"]\nfrom = \"0 s\"", "does not use `from`"),
        ("mark = \"point\"\nlegend = \"none\"", "does not use `legend`"),
        ("mark = \"line\"\nlegend = \"left\"", "unknown legend `left`"),
        ("mark = \"line\"\nfrom = \"1 s\"\nto = \"1 s\"", "chart.0.to: the end is 1 s, the start 1 s"),
        ("mark = \"line\"\nwidth = \"84\"", "chart.0.width: `84` is in no known unit"),
        ("mark = \"line\"\nwidth = \"30 mm\"", "text of 9 pt is too large for 30 mm"),
        ("mark = \"line\"\nfont-size = \"12 pt\"", "write at most 11.9 pt"),
    ] {
        let said = plain(keys).expect_err(keys);
        assert!(said.contains(says), "{keys}\n{said}");
    }
}

/// The window can be drawn beside the bytes in flight, with losses and CE marks as ticks.
#[test]
fn columns_of_one_unit_share_a_panel() {
    let both =
        "mark = \"line\"\ny = [\"cwnd_bytes\", \"bytes_in_flight\", \"ssthresh\"]\ncolour = \"metric\"\n";
    let chart = plain(&format!("{both}ticks = [\"lost_packets\", \"ce_packets\"]")).unwrap();
    let Data::Series { overlaid, ticks, .. } = &chart.data else { panic!("{chart:?}") };
    assert!(*overlaid && ticks.len() == 2 && chart.has_signals() && chart.columns().count() == 5);
    assert!(!plain(both).unwrap().has_signals());
    for (keys, says) in [
        (both.replace("ssthresh", "latest_rtt_ms"), "`cwnd_bytes` and `latest_rtt_ms` have different units"),
        ("mark = \"line\"\nticks = [\"drops\"]".to_owned(), "unknown tick `drops`"),
        ("mark = \"area\"\nticks = [\"ce_packets\"]".to_owned(), "does not use `ticks`"),
    ] {
        let said = plain(&keys).expect_err(&keys);
        assert!(said.contains(says), "{keys}\n{said}");
    }
}

/// Columns are those of the file's controllers, including variables that a new controller does not
/// have yet.
/// A sequence needs a part of the run, or a script whose packets arrive after they are sent.
#[test]
fn sequences() {
    let step = "{ at = \"1 ms\", from = \"sender\", arrives = \"2 ms\", text = \"0\" }";
    let script = |steps: &str| plain(&format!("mark = \"sequence\"\nscript = [{steps}]"));
    let Data::Script { steps } = script(step).unwrap().data else { panic!("no script") };
    assert_eq!(steps.len(), 1);
    let part = plain("mark = \"sequence\"\nbetween = [\"0 s\", \"1 s\"]").unwrap();
    assert!(part.packets().is_some());
    for (read, says) in [
        (plain("mark = \"sequence\""), "a sequence needs a part of the run"),
        (plain("mark = \"sequence\"\nbetween = [\"1 s\", \"1 s\"]"), "the end is not after the start"),
        (script(""), "0 steps"),
        (script(&format!("{step}]\nbetween = [\"0 s\", \"1 s\"")), "does not use `between`"),
        (script(&step.replace("2 ms", "1 ms")), "`0` cannot arrive then"),
        (script(&step.replace("from = \"sender\", ", "")), "`0` cannot arrive then"),
        (script(&format!("{step}, {{ at = \"0 s\", text = \"timer\" }}")), "steps out of order"),
        (script(&step.replace("sender", "server")), "unknown value `server`"),
        (script(&step.replace("text", "says")), "`says`"),
    ] {
        let said = read.expect_err(says);
        assert!(said.contains(says) && said.contains("t.toml:"), "{said}");
    }
}

#[test]
fn columns_are_what_the_controllers_list() {
    let drawn = |controller: &str, column: &str| {
        let head = HEAD.replace("cubic", controller);
        charts(&format!("{head}[[chart]]\ntitle = \"T\"\nmark = \"line\"\ny = \"{column}\"\n"))
    };
    for (controller, later) in
        [("westwood-plus", "rtt_min"), ("cubic", "w_est"), ("dccc", "e"), ("vegas", "base_rtt")]
    {
        assert!(drawn(controller, later).is_ok(), "{controller} {later}");
    }
    let told = drawn("new-reno", "w_est").unwrap_err();
    assert!(told.contains("unknown column of the series `w_est`"), "{told}");
    assert!(drawn("new-reno", "state").is_err() && drawn("bbr3", "state").is_ok());
}

fn cells(chart: &Chart) -> (&crate::chart::Axis, &[Metric], &[crate::chart::Spot]) {
    let Data::Cells { x, metrics, spots, .. } = &chart.data else { panic!("{chart:?}") };
    (x, metrics, spots)
}

#[test]
fn a_line_stands_at_the_values_of_its_key() {
    let text = "mark = \"line\"\nx = \"link.queue\"\ny = \"goodput\"";
    let chart = swept(text).unwrap();
    let (x, metrics, spots) = cells(&chart);
    assert_eq!((x.name.as_str(), x.unit.as_str(), x.scale), ("queue", "BDP", ScaleKind::Log));
    assert_eq!((metrics, spots.len()), (&[Metric::from("goodput")][..], 12));
    let spot = spots
        .iter()
        .find(|s| s.variant == "queue = 4 BDP, delay = 50 ms" && s.row.as_str() == "bbr3")
        .unwrap();
    assert_eq!(
        (spot.at.as_slice(), spot.series.as_str(), spot.facet.as_str()),
        (&[4.0][..], "bbr3", "delay = 50 ms")
    );
    let chart =
        swept(&format!("{text}\ncolour = \"delay\"\nfacet = \"controller\"\nscale = \"linear\"")).unwrap();
    let (x, _, spots) = cells(&chart);
    assert_eq!(
        (x.scale, spots[0].series.as_str(), spots[0].facet.as_str()),
        (ScaleKind::Linear, "5 ms", "controller = cubic")
    );
}

#[test]
fn bars_stand_along_rows_variants_or_a_key() {
    let bar = |keys: &str| swept(&format!("mark = \"bar\"\n{keys}")).unwrap();
    let chart = bar("");
    let (x, metrics, spots) = cells(&chart);
    assert_eq!(
        (x.along, x.words.as_slice(), metrics.len()),
        (Along::Rows, &["cubic", "bbr3"].map(str::to_owned)[..], 4)
    );
    assert!(!chart.together && spots.iter().all(|spot| spot.series.is_empty() && spot.facet.is_empty()));
    let chart = bar("x = \"variant\"\nrows = [\"bbr3\"]");
    let (x, _, spots) = cells(&chart);
    assert_eq!((x.along, x.words.len(), spots.len()), (Along::Variants, 6, 6));
    assert!(chart.together && spots.iter().all(|spot| spot.series == "bbr3"));
    let chart = bar("x = \"row\"\ncolour = \"queue\"");
    let (_, _, spots) = cells(&chart);
    assert_eq!((spots[1].series.as_str(), spots[1].facet.as_str()), ("0.1 BDP", "delay = 5 ms"));
}

#[test]
fn a_file_without_a_chart_gets_one_that_fits() {
    let chart = charts(&format!("{HEAD}{VARY}")).unwrap().remove(0);
    let (x, metrics, spots) = cells(&chart);
    assert_eq!(
        (chart.mark, x.name.as_str(), metrics.len(), spots[0].series.as_str()),
        (Mark::Line, "queue", 4, "cubic")
    );
    let bare = charts(HEAD).unwrap().remove(0);
    assert!(bare.mark == Mark::Bar && cells(&bare).0.along == Along::Rows);
    let sampled = charts(&format!("series = \"10 ms\"\n{HEAD}")).unwrap().remove(0);
    assert!(matches!(sampled, Chart { mark: Mark::Line, data: Data::Series { .. }, .. }));
}

/// Rows of another backend appear on the axis of rows next to their own, or otherwise in a separate
/// colour.
#[test]
fn rows_of_another_world_stand_beside_those_of_this() {
    use crate::place::Place;
    let lying = swept("mark = \"bar\"").unwrap().with_rows_on(&[Place::WIRE]);
    let (x, _, spots) = cells(&lying);
    assert_eq!(x.words, ["cubic", "cubic (wire)", "bbr3", "bbr3 (wire)"]);
    assert_eq!((spots[3].row.as_str(), spots[3].at[0], spots[3].series.as_str()), ("bbr3 (wire)", 3.0, ""));
    let line = swept("mark = \"line\"\nx = \"queue\"").unwrap().with_rows_on(&[Place::WIRE]);
    assert_eq!(cells(&line).2[1].series, "cubic (wire)");
    let two = swept("mark = \"bar\"").unwrap().with_rows_on(&[Place::NOQ, Place::QUINN]);
    let (x, _, spots) = cells(&two);
    assert_eq!(x.words, ["cubic", "cubic (noq)", "cubic (quinn)", "bbr3", "bbr3 (noq)", "bbr3 (quinn)"]);
    assert_eq!((spots[5].row.as_str(), spots[5].at[0]), ("bbr3 (quinn)", 5.0));
}
