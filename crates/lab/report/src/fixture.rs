//! Handmade results: realistic experiments with sawtooths, many flows, and one of odd values only.

use experiment::metric::Metric;
use std::collections::BTreeMap;

use units::Duration;

use experiment::chart::{Along, Axis, Chart, Colour, Data, Mark, ScaleKind, Spot};
use results::summary::{
    BiasFound, Cdf, Cell, ClaimResult, FlowRow, Judged, PartResult, Quartiles, Results, Row, RunLength,
    Summary, Track, Variant, Verdict,
};
use results::verdict::Outcome;

const METRICS: [&str; 5] = ["goodput", "throughput", "loss", "rtt_mean", "rtt_std"];
const COLUMNS: [usize; 5] = [3, 4, 5, 6, 7];
pub(super) const REASON: &str = "One lost packet more or less moves the share: the paper counts a handful of losses per run, and \
                      its two decimals hide a factor of two.";

/// Two experiments like those of `ackclock run quic-dc`: nine rows in two variants, and four flows
/// in one.
pub(super) fn realistic() -> Vec<Results> {
    vec![table_1(), table_5()]
}

fn table_1() -> Results {
    let names = ["limit-counts = queue", "limit-counts = queue+delay"];
    let variants: Vec<_> = names.iter().enumerate().map(|(i, n)| variant(n, i as f64)).collect();
    let tracks =
        variants.iter().flat_map(|v| v.rows.iter().enumerate().map(|(i, r)| track(&v.name, r, i, 0)));
    let series = tracks.collect();
    let rtt_cdf = variants.iter().flat_map(|v| v.rows.iter().map(|r| cdf(&v.name, r))).collect();
    let columns = words(&["cwnd_bytes", "latest_rtt_ms", "queue_bytes"]);
    let of_rows = ["QUIC-DC 10", "QUIC-DC 80", "Cubic", "New Reno"];
    let lines = |title: &str| chart(title, Mark::Line, over_time(columns.clone()));
    let metrics = ["goodput", "loss", "rtt_mean"];
    let charts = vec![
        chart("Figure 4: RTT distribution", Mark::Line, Data::Samples { colour: Colour::Row }),
        Chart { rows: words(&of_rows), ..lines("Figure 5: window, RTT and queue over time") },
        chart("Goodput and loss", Mark::Bar, cells(&variants, Along::Rows, &metrics)),
        lines("Every row over time"),
        Chart {
            together: true,
            ..chart("How the limit counts", Mark::Bar, cells(&variants, Along::Variants, &metrics))
        },
    ];
    let summary = Summary {
        experiment: "quic-dc/table-1".to_owned(),
        world: experiment::place::Place::SIM,
        title: "One flow, buffer of 4 BDP".to_owned(),
        source: "QUIC Delay Control, arXiv 2507.00896 (July 2025), Table 1 and Figure 4".to_owned(),
        why_reference: String::new(),
        note: "10 Mbit/s, 25 ms each way, 250 kB of buffer, 100 MB per run. The second variant counts packets in \
               propagation against the limit, as Linux netem does when it is delay line and queue in one."
            .to_owned(),
        metrics: words(&METRICS),
        variants,
        claims: claims(),
        charts,
        states: BTreeMap::new(),
        variables: BTreeMap::new(),
        exchanges: Vec::new(),
    };
    Results { summary, series, flows: Vec::new(), rtt_cdf, networks: Vec::new() }
}

/// Returns a chart of all rows.
pub(super) fn chart(title: &str, mark: Mark, data: Data) -> Chart {
    Chart {
        title: title.to_owned(),
        mark,
        rows: Vec::new(),
        scale: ScaleKind::Linear,
        y_scale: ScaleKind::Linear,
        together: false,
        print: Default::default(),
        data,
    }
}

/// Returns data for columns over time.
pub(super) fn over_time(columns: Vec<String>) -> Data {
    Data::Series { columns, colour: None, strips: None, interval: None, overlaid: false, ticks: Vec::new() }
}

/// Returns all cells along rows, along variants with a colour per row, or along a key with one
/// number per variant.
pub(super) fn cells(variants: &[Variant], along: Along, metrics: &[&str]) -> Data {
    let mut rows: Vec<&str> = Vec::new();
    let mut spots = Vec::new();
    for (place, variant) in variants.iter().enumerate() {
        for row in &variant.rows {
            if !rows.contains(&row.label.as_str()) {
                rows.push(row.label.as_str());
            }
            let index = rows.iter().position(|label| row.label == *label).unwrap();
            let lies = along == Along::Rows;
            let series = if lies { String::new() } else { row.label.to_string() };
            let at = vec![if lies { index } else { place } as f64];
            let (variant, row) = (variant.name.clone(), row.label.clone());
            spots.push(Spot { variant, row, at, series, facet: String::new() });
        }
    }
    let axis = match along {
        Along::Rows => rows.iter().map(|row| (*row).to_owned()).collect(),
        Along::Variants => variants.iter().map(|variant| variant.name.clone()).collect(),
        Along::Key => Vec::new(),
    };
    let x = Axis { name: "queue".to_owned(), unit: "BDP".to_owned(), along, words: axis, ..Axis::default() };
    Data::Cells { x, metrics: words(metrics), overlaid: false, published: along == Along::Rows, spots }
}

fn words<'w, T: From<&'w str>>(words: &[&'w str]) -> Vec<T> {
    words.iter().map(|w| (*w).into()).collect()
}

fn variant(name: &str, shift: f64) -> Variant {
    let (_, table) = experiment::library::published("shipped:", "quic-dc-table1.csv").unwrap();
    let mut rows: Vec<Row> = table.lines().skip(1).enumerate().map(|(i, line)| row(i, line, shift)).collect();
    let cells = METRICS.iter().zip([9.19, 9.24, 1.312, 101.2, 24.1]);
    let cells = cells.map(|(m, mean)| ((*m).into(), Cell { mean, spread: Some(0.02), ..Cell::default() }));
    rows.push(Row {
        label: "BBRv1".into(),
        algorithm: "bbr1".to_owned(),
        cells: cells.collect(),
        trust: None,
    });
    Variant { name: name.to_owned(), reference: shift == 0.0, rows, biases: vec![bias()] }
}

fn bias() -> BiasFound {
    BiasFound {
        metric: "goodput".into(),
        mean: 0.021,
        range: (0.017, 0.026),
        reason: Some(REASON.to_owned()),
        open: true,
    }
}

fn row(index: usize, line: &str, shift: f64) -> Row {
    let fields: Vec<&str> = line.split(',').collect();
    let label =
        if fields[1].is_empty() { fields[0].to_owned() } else { format!("{} {}", fields[0], fields[1]) };
    let cell = |metric: usize, column: usize| {
        let published: f64 = fields[column].parse().unwrap();
        let skew = 1.0 + (((index * 7 + metric * 3) % 9) as f64 - 4.0) * 0.012 + shift * 0.02;
        let skew = if metric == 2 { skew * 1.4 } else { skew };
        let reason = (metric == 2 && index != 5).then(|| REASON.to_owned());
        let at = |part: f64| published * skew * (1.0 + 0.006 * part);
        let runs =
            Quartiles { min: at(-1.3), lower: at(-0.5), median: at(0.1), upper: at(0.6), max: at(1.0) };
        Cell {
            mean: published * skew,
            spread: Some(published * 0.004),
            runs: Some(runs),
            published: Some(published),
            reason,
            ..Cell::default()
        }
    };
    let cells = METRICS.iter().zip(COLUMNS).enumerate().map(|(i, (m, c))| ((*m).into(), cell(i, c)));
    Row {
        label: label.into(),
        algorithm: algorithm(fields[0]).to_owned(),
        cells: cells.collect(),
        trust: None,
    }
}

fn algorithm(name: &str) -> &'static str {
    match name {
        "QUIC-DC" => "quic-dc",
        "Westwood+" => "westwood-plus",
        "BBRv2" => "bbr2",
        "Cubic" => "cubic",
        _ => "new-reno",
    }
}

/// Returns a sawtooth with the row's mean RTT.
fn track(variant: &str, row: &Row, index: usize, flow: u32) -> Track {
    let mean = row.cells["rtt_mean"].mean;
    let period = 4.0 + 3.0 * index as f64 + f64::from(flow) * 1.7;
    let (start, end) = (f64::from(flow) * 15.0, 84.0 - f64::from(flow) * 5.0);
    let times: Vec<f64> = (0..2100).map(|i| f64::from(i) * 0.04).collect();
    let rtt = |t: f64| {
        let noise = ((t * 7919.0) as u64 * 2_654_435_761 % 1000) as f64 / 1000.0;
        50.0 + (mean - 50.0) * (0.5 + (t / period).fract()) + 1.5 * noise
    };
    let running = |t: f64, v: f64| if t < start || t > end { f64::NAN } else { v };
    let column = |f: &dyn Fn(f64) -> f64| times.iter().map(|t| f(*t)).collect::<RunLength>();
    let columns = BTreeMap::from([
        ("cwnd_bytes".to_owned(), column(&|t| running(t, rtt(t).floor() * 1250.0))),
        ("latest_rtt_ms".to_owned(), column(&|t| running(t, rtt(t)))),
        ("goodput_mbit_s".to_owned(), column(&|t| running(t, 9.2 - (t / period).fract()))),
        ("queue_bytes".to_owned(), column(&|t| (rtt(t) - 50.0).max(0.0) * 1250.0)),
    ]);
    Track { variant: variant.to_owned(), row: row.label.clone(), repetition: 0, flow, times, columns }
}

fn cdf(variant: &str, row: &Row) -> Cdf {
    let (mean, std) = (row.cells["rtt_mean"].mean, row.cells["rtt_std"].mean);
    let low = (mean - 1.7 * std).max(50.0);
    let point = |i: u32| {
        let share = f64::from(i) / 400.0;
        // Smooth at both ends, with a tail.
        let bent = share * share * (3.0 - 2.0 * share) * 0.35 + share * 0.65;
        (low + 2.0 * (mean - low) * bent + if i > 396 { f64::from(i - 396) * 4.0 } else { 0.0 }, share)
    };
    Cdf { variant: variant.to_owned(), row: row.label.clone(), points: (1..=400).map(point).collect() }
}

fn claims() -> Vec<ClaimResult> {
    let claim =
        |id: &str, says: &str, published, verdict, numbers: [(bool, &str); 2], reason: Option<&str>| {
            let names = ["limit-counts = queue", "limit-counts = queue+delay"];
            let judged = names.iter().zip(numbers).map(|(v, (holds, n))| judged(v, holds, n));
            let part = PartResult {
                says: None,
                metric: "loss".into(),
                holds_published: published,
                variants: judged.collect(),
            };
            ClaimResult {
                id: id.to_owned(),
                says: says.to_owned(),
                ours: false,
                main: true,
                parts: vec![part],
                verdict,
                reason: reason.map(str::to_owned),
                open: reason.is_some(),
            }
        };
    vec![
        claim(
            "S0-01",
            "QUIC-DC has the lowest loss at 4 BDP",
            Some(true),
            Verdict::Holds,
            [(true, "0.028 below 0.071"), (true, "0.031 below 0.074")],
            None,
        ),
        claim(
            "S0-02",
            "loss two orders of magnitude below CUBIC (at least 30 times)",
            Some(true),
            Verdict::Partly,
            [(false, "1.442 / 0.042 = 34, of 52"), (false, "1.46 / 0.051 = 28")],
            Some("CUBIC's losses come from slow start, where HyStart++ leaves earlier than the testbed's."),
        ),
        claim(
            "S0-03.3",
            "mean RTT grows with the threshold",
            Some(false),
            Verdict::Holds,
            [(true, "53.2 < 62.1 < 88.4 < 124"), (false, "53.2 < 62.1, 88.4 > 88.2")],
            Some("The window's limit binds before the threshold does."),
        ),
        claim(
            "S0-04.1",
            "QUIC-DC mean RTT below every other algorithm",
            None,
            Verdict::Missed,
            [(false, "123.8 not below 102.3"), (false, "124.9 not below 103")],
            None,
        ),
    ]
}

/// Returns four staggered flows per row in one variant without a name.
fn table_5() -> Results {
    let whole = table_1();
    let chosen = ["QUIC-DC 80", "Westwood+", "BBRv2", "Cubic", "New Reno"];
    let mut variant = Variant { name: String::new(), ..whole.summary.variants[0].clone() };
    variant.rows.retain(|r| chosen.contains(&r.label.as_str()));
    let flows = variant.rows.iter().enumerate().flat_map(|(i, r)| (0..4).map(move |f| track("", r, i, f)));
    let series = flows.collect();
    let rows = variant.rows.iter().enumerate();
    let flows = rows.flat_map(|(i, r)| (0..20).map(move |n| flow(r, i, n / 4, n % 4))).collect();
    let lines = over_time(words(&["goodput_mbit_s", "cwnd_bytes", "queue_bytes"]));
    let title = "Figure 7: four flows";
    let variants = vec![variant];
    let charts = vec![
        chart("Figure 6: four flows", Mark::Line, lines),
        chart(title, Mark::Area, over_time(words(&["goodput_mbit_s"]))),
        chart(title, Mark::Point, plane("rtt_mean", "goodput")),
        chart(title, Mark::Bar, Data::Shares { metric: "goodput".into() }),
    ];
    let summary = Summary {
        experiment: "quic-dc/table-5".to_owned(),
        world: experiment::place::Place::SIM,
        title: "Four staggered flows".to_owned(),
        source: "QUIC Delay Control, Table 5 and Figure 6".to_owned(),
        why_reference: String::new(),
        note: String::new(),
        metrics: words(&["goodput", "rtt_mean"]),
        variants,
        claims: Vec::new(),
        charts,
        states: BTreeMap::new(),
        variables: BTreeMap::new(),
        exchanges: Vec::new(),
    };
    Results { summary, series, flows, rtt_cdf: Vec::new(), networks: Vec::new() }
}

/// Returns data for flows in a plane of two metrics.
pub(super) fn plane(x: &str, y: &str) -> Data {
    Data::Flows { x: x.into(), y: y.into(), of_flows: true, colour: None }
}

/// Returns a flow with goodput and RTT scattered around those of its row.
fn flow(row: &Row, index: usize, repetition: u32, flow: u32) -> FlowRow {
    let noise = |salt: usize| {
        ((index * 977 + repetition as usize * 331 + flow as usize * 137 + salt) % 89) as f64 / 89.0
    };
    let rtt = row.cells["rtt_mean"].mean * (0.95 + 0.1 * noise(0));
    let goodput = row.cells["goodput"].mean / 4.0 * (0.6 + 0.5 * noise(17) + 0.3 * noise(0));
    FlowRow {
        variant: String::new(),
        row: row.label.clone(),
        repetition,
        flow,
        label: row.label.to_string(),
        algorithm: row.algorithm.clone(),
        values: BTreeMap::from([("goodput".into(), goodput), ("rtt_mean".into(), rtt)]),
    }
}

/// Returns many flows of two kinds, in nine rows and half an hour.
pub(super) fn crowd() -> Results {
    let mut results = table_5();
    let variant = table_1().summary.variants.swap_remove(0);
    let of_row = |(i, row): (usize, &Row)| -> Vec<FlowRow> {
        let kind = |n: u32| if n < 64 { ("CUBIC", "cubic") } else { ("BBR", "bbr1") };
        let flow = |n: u32| FlowRow {
            label: kind(n).0.to_owned(),
            algorithm: kind(n).1.to_owned(),
            ..flow(row, i, n / 128, n % 128)
        };
        (0..256).map(flow).collect()
    };
    results.flows = variant.rows.iter().enumerate().flat_map(of_row).collect();
    results.series = results.flows.iter().filter(|f| f.repetition == 0).map(noisy_track).collect();
    results.summary.experiment = "crowd".to_owned();
    results.summary.charts.retain(|chart| chart.mark == Mark::Area || chart.columns().next().is_none());
    results.summary.variants = vec![Variant { name: String::new(), ..variant }];
    results
}

/// Returns a track of goodput without repeats.
fn noisy_track(flow: &FlowRow) -> Track {
    let noise = |t: u64| ((t * 7919 + u64::from(flow.flow) * 104_729) * 2_654_435_761 % 1000) as f64 / 1000.0;
    let goodput: RunLength = (0..1800).map(|t| flow.values["goodput"] * noise(t)).collect();
    Track {
        variant: String::new(),
        row: flow.row.clone(),
        repetition: 0,
        flow: flow.flow,
        times: (1..=1800).map(f64::from).collect(),
        columns: BTreeMap::from([("goodput_mbit_s".to_owned(), goodput)]),
    }
}

/// Returns values that no experiment should produce but files may contain.
pub(super) fn odd() -> Vec<Results> {
    let evil = "<script>alert(\"1\")</script> & 'q' ]]> \u{1} \u{0} é 漢字";
    let long = "a very long label that goes on and on ".repeat(20);
    let labels = [evil, long.as_str(), "", "one point", "empty", "no cells"];
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e300, f64::MIN_POSITIVE, -3.5];
    let metrics: Vec<Metric> = words(&["goodput", "loss", evil, "", "_", "never measured"]);
    let cell = |i: usize| Cell {
        mean: values[i % 8],
        spread: Some(values[(i / 2) % 8]),
        published: [None, Some(values[(i + 3) % 8])][i % 2],
        reason: [None, Some(evil.to_owned()), Some(long.clone())][i % 3].clone(),
        ..Cell::default()
    };
    let row = |(i, label): (usize, &&str)| {
        let count = if *label == "no cells" { 0 } else { 5 };
        let cells = metrics.iter().take(count).enumerate().map(|(j, m)| (m.clone(), cell(i * 5 + j)));
        Row { label: (*label).into(), algorithm: (*label).to_owned(), cells: cells.collect(), trust: None }
    };
    let rows: Vec<Row> = labels.iter().enumerate().map(row).collect();
    let variants = ["", evil, &long].map(|name| Variant {
        name: name.to_owned(),
        reference: true,
        rows: rows.clone(),
        biases: vec![BiasFound {
            metric: evil.into(),
            mean: f64::MAX,
            range: (0.0, 1e9),
            reason: Some(long.to_owned()),
            open: false,
        }],
    });
    let charts = odd_charts(evil, &metrics, &variants);
    let summary = Summary {
        experiment: format!("../{evil}/é"),
        world: experiment::place::Place::SIM,
        title: evil.to_owned(),
        source: long.clone(),
        why_reference: String::new(),
        note: evil.to_owned(),
        metrics: metrics.clone(),
        variants: variants
            .iter()
            .cloned()
            .chain([Variant {
                name: "no rows".to_owned(),
                reference: false,
                rows: Vec::new(),
                biases: Vec::new(),
            }])
            .collect(),
        claims: odd_claims(evil, &long),
        charts,
        states: BTreeMap::new(),
        variables: BTreeMap::new(),
        exchanges: Vec::new(),
    };
    let bare = Summary { variants: Vec::new(), title: String::new(), metrics: Vec::new(), ..summary.clone() };
    let series = odd_series(evil, &labels);
    let rtt_cdf = odd_cdfs(&labels, &values);
    let flows = odd_flows(evil, &labels, &values);
    let empty = Results {
        summary: bare,
        series: Vec::new(),
        flows: Vec::new(),
        rtt_cdf: Vec::new(),
        networks: Vec::new(),
    };
    vec![Results { summary, series, flows, rtt_cdf, networks: Vec::new() }, empty]
}

/// Returns every kind of chart, with rows that exist and rows that do not.
fn odd_charts(evil: &str, metrics: &[Metric], variants: &[Variant]) -> Vec<Chart> {
    let names: Vec<&str> = metrics.iter().map(Metric::as_str).collect();
    let columns: Vec<String> = words(&["cwnd_bytes", evil, "", "queue_bytes", "nowhere"]);
    let binned = |interval| match over_time(columns.clone()) {
        Data::Series { columns, colour, strips, overlaid, ticks, .. } => {
            Data::Series { columns, colour, strips, interval, overlaid, ticks }
        }
        other => other,
    };
    let all = [
        (Mark::Line, Data::Samples { colour: Colour::Row }),
        (Mark::Line, Data::Samples { colour: Colour::Variant }),
        (Mark::Line, over_time(columns.clone())),
        (Mark::Line, over_time(Vec::new())),
        (Mark::Line, binned(Some(Duration::ZERO))),
        (Mark::Area, over_time(words(&["goodput_mbit_s"]))),
        (Mark::Area, binned(Some(Duration::ZERO))),
        (Mark::Area, binned(Some(Duration::MAX))),
        (Mark::Point, plane("rtt_mean", "goodput")),
        (Mark::Point, plane(evil, "")),
        (Mark::Bar, Data::Shares { metric: "goodput".into() }),
    ];
    let along = [Along::Rows, Along::Variants, Along::Key];
    let marks = [Mark::Line, Mark::Bar, Mark::Point];
    let of_cells = marks.iter().flat_map(|mark| along.map(|along| (*mark, cells(variants, along, &names))));
    let none = (Mark::Bar, cells(variants, Along::Rows, &[]));
    let mut charts: Vec<Chart> =
        all.into_iter().chain(of_cells).chain([none]).map(|(mark, data)| chart(evil, mark, data)).collect();
    let mut others = charts.clone();
    for (chart, rows) in others.iter_mut().zip([["nobody", ""], [evil, "one point"]].iter().cycle()) {
        (chart.rows, chart.scale, chart.y_scale) = (words(rows), ScaleKind::Log, ScaleKind::Log);
        chart.together = true;
    }
    charts.append(&mut others);
    charts
}

/// Returns flows without a track, tracks without a flow, and all pairs of odd values.
fn odd_flows(evil: &str, labels: &[&str], values: &[f64]) -> Vec<FlowRow> {
    let flow = |n: usize| {
        let value = |n: usize| values.get(n % (values.len() + 1)).copied();
        let of_flow = [("goodput", value(n)), ("rtt_mean", value(n / 9)), (evil, Some(f64::NAN))];
        FlowRow {
            variant: ["", evil][n / 200 % 2].to_owned(),
            row: labels[n % 5].into(),
            repetition: 3 + (n % 2) as u32,
            flow: (n / 6) as u32,
            label: labels[n % 7 % 6].to_owned(),
            algorithm: labels[n % 11 % 6].to_owned(),
            values: of_flow.into_iter().filter_map(|(name, v)| Some((name.into(), v?))).collect(),
        }
    };
    (0..400).map(flow).collect()
}

/// Returns an outcome in a variant. The first variant is the reference.
fn judged(variant: &str, holds: bool, numbers: &str) -> Judged {
    Judged {
        variant: variant.to_owned(),
        reference: variant == "limit-counts = queue",
        outcome: if holds { Outcome::Holds } else { Outcome::Missed },
        margin: Some(if holds { 0.24 } else { -0.034 }),
        spread: Some(0.011),
        one_run: false,
        numbers: numbers.to_owned(),
    }
}

fn odd_claims(evil: &str, long: &str) -> Vec<ClaimResult> {
    let claim = |verdict, holds_published, variants: Vec<Judged>| ClaimResult {
        id: evil.to_owned(),
        says: long.to_owned(),
        ours: true,
        main: false,
        parts: vec![PartResult {
            says: Some(evil.to_owned()),
            metric: evil.into(),
            holds_published,
            variants,
        }],
        verdict,
        reason: Some(evil.to_owned()),
        open: true,
    };
    let odd =
        Judged { margin: Some(f64::MAX), spread: None, outcome: Outcome::NotJudged, ..judged("", false, "") };
    let told = vec![judged(evil, true, evil), odd];
    vec![
        claim(Verdict::Holds, None, told.clone()),
        claim(Verdict::Partly, Some(false), Vec::new()),
        claim(Verdict::WithinSpread, Some(true), told.clone()),
        claim(Verdict::NotJudged, Some(true), told.clone()),
        claim(Verdict::Missed, Some(true), told),
    ]
}

fn odd_series(evil: &str, labels: &[&str]) -> Vec<Track> {
    let track = |(i, label): (usize, &&str)| {
        let times = [vec![0.0, 1.0, f64::NAN, 2.0, 1.5], vec![3.0], Vec::new()][i % 3].clone();
        let values =
            [vec![1.0, f64::NAN, f64::INFINITY, 1e300, -4.0], vec![7.0], vec![1.0; 9]][(i / 2) % 3].clone();
        let columns = [
            ("cwnd_bytes", values.clone()),
            ("goodput_mbit_s", values.clone()),
            (evil, values),
            ("queue_bytes", vec![f64::NAN; 5]),
        ];
        let columns = columns.into_iter().map(|(n, v)| (n.to_owned(), RunLength::from_values(&v))).collect();
        Track { variant: String::new(), row: (*label).into(), repetition: 3, flow: i as u32, times, columns }
    };
    labels.iter().enumerate().map(track).collect()
}

fn odd_cdfs(labels: &[&str], values: &[f64]) -> Vec<Cdf> {
    let points: [Vec<(f64, f64)>; 3] =
        [values.iter().map(|v| (*v, *v)).collect(), vec![(50.0, 1.0)], Vec::new()];
    let cdf = |(i, label): (usize, &&str)| Cdf {
        variant: String::new(),
        row: (*label).into(),
        points: points[i % 3].clone(),
    };
    labels.iter().enumerate().map(cdf).collect()
}
