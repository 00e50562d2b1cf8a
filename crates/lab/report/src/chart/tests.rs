//! Every mark with every kind of data: there is a figure, its marks are in it, and no text leaves
//! it.

use experiment::chart::{Along, Chart, Colour, Data, Mark, ScaleKind, Spot};
use results::network::Network;
use results::summary::Results;
use std::collections::BTreeSet;
use units::Duration;

use super::{Source, WIDE, WIDTH, draw};
use crate::fixture::{cells, chart, over_time, plane, realistic};
use crate::styles::Palette;
use crate::tests::texts_stay_inside;

/// Draws a chart of one of the realistic experiments as files.
fn pictures(experiment: usize, chart: &Chart, width: f64) -> Vec<String> {
    let experiments = realistic();
    let palette = Palette::new(&experiments);
    let figures = draw(&Source::new(&experiments[experiment], &palette, width), chart);
    figures.iter().map(|figure| figure.standalone().0).collect()
}

/// Draws a chart of these results as files.
fn drawn(results: &Results, chart: &Chart) -> Vec<String> {
    let palette = Palette::new(std::slice::from_ref(results));
    let figures = draw(&Source::new(results, &palette, WIDTH), chart);
    figures.iter().map(|figure| figure.standalone().0).collect()
}

/// Returns the scales of a figure's panels without repeats.
fn y_scales(picture: &str) -> BTreeSet<&str> {
    let length = |rest: &'_ str| rest.split(' ').take(2).map(str::len).sum::<usize>() + 1;
    picture.split("data-y=\"").skip(1).map(|rest| &rest[..length(rest)]).collect()
}

/// Returns text that shows a mark in a figure.
fn sign(mark: Mark) -> &'static str {
    match mark {
        Mark::Line => "stroke-linejoin=\"round\"",
        Mark::Bar => "<rect x=",
        Mark::Area => "stroke-width=\"0.5\"",
        Mark::Point => "class=\"marker\"",
        Mark::Sequence => "<line",
    }
}

fn check(name: &str, chart: &Chart, pictures: &[String]) {
    assert!(!pictures.is_empty(), "{name}");
    for picture in pictures {
        texts_stay_inside(name, picture);
        let is_flow = matches!(chart.data, Data::Flows { .. });
        let sign = if is_flow { "<circle" } else { sign(chart.mark) };
        assert!(picture.contains(sign) && picture.contains("<title>"), "{name} without {sign}\n{picture}");
        assert!(!picture.contains("no values") && !picture.contains("no time series"), "{name}");
    }
}

fn columns(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|column| (*column).to_owned()).collect()
}

/// Returns cells with different uses of colours and panels.
fn all_cells() -> Vec<(String, Data)> {
    let variants = realistic()[0].summary.variants.clone();
    let mut all = Vec::new();
    for along in [Along::Rows, Along::Variants, Along::Key] {
        for how in ["plain", "faceted", "coloured", "overlaid", "published"] {
            let mut data = cells(&variants, along, &["throughput", "goodput"]);
            let Data::Cells { spots, overlaid, published, .. } = &mut data else { unreachable!() };
            (*overlaid, *published) = (how == "overlaid", how == "published");
            for spot in spots.iter_mut() {
                let Spot { variant, row, series, facet, .. } = spot;
                match how {
                    "faceted" if along == Along::Rows => facet.clone_from(variant),
                    "faceted" => *facet = row.to_string(),
                    "coloured" if along == Along::Rows => series.clone_from(variant),
                    _ => {}
                }
                if how == "faceted" {
                    series.clear();
                }
            }
            all.push((format!("{along:?} {how}"), data));
        }
    }
    all
}

#[test]
fn every_mark_of_cells_is_drawn_along_everything() {
    for (name, data) in all_cells() {
        for mark in [Mark::Line, Mark::Bar, Mark::Point] {
            let is_along_numbers = name.starts_with("Key");
            if mark == Mark::Line && !is_along_numbers {
                continue;
            }
            for scale in [ScaleKind::Linear, ScaleKind::Log] {
                let chart = Chart { together: true, y_scale: scale, ..chart("T", mark, data.clone()) };
                let name = format!("{mark:?} {name} {scale:?}");
                check(&name, &chart, &pictures(0, &chart, WIDTH));
                assert_eq!(pictures(0, &chart, WIDE).len(), 1, "{name}");
            }
        }
    }
}

#[test]
fn every_mark_of_runs_is_drawn() {
    let series = |colour, strips, interval| Data::Series {
        columns: columns(&["goodput_mbit_s", "cwnd_bytes"]),
        colour,
        strips,
        interval,
        overlaid: false,
        ticks: Vec::new(),
    };
    let second = Some(Duration::from_secs(1));
    let metric = |metric: &str| Data::Shares { metric: metric.into() };
    let plane_of =
        |x: &str, y: &str, of_flows, colour| Data::Flows { x: x.into(), y: y.into(), of_flows, colour };
    let all = [
        (Mark::Line, series(None, None, None)),
        (Mark::Line, series(Some(Colour::Row), Some(false), second)),
        (Mark::Line, series(Some(Colour::Row), Some(true), None)),
        (Mark::Line, series(Some(Colour::Flow), Some(true), second)),
        (Mark::Area, over_time(columns(&["goodput_mbit_s"]))),
        (Mark::Area, over_time(columns(&["cwnd_bytes"]))),
        (Mark::Bar, metric("goodput")),
        (Mark::Point, plane("rtt_mean", "goodput")),
        (Mark::Point, plane_of("goodput", "rtt_mean", true, Some(Colour::Row))),
        (Mark::Point, plane_of("rtt_mean", "goodput", true, Some(Colour::Flow))),
        (Mark::Point, plane_of("loss", "throughput", false, None)),
    ];
    for (mark, data) in all {
        for scale in [ScaleKind::Linear, ScaleKind::Log] {
            for together in [false, true] {
                let chart = Chart { scale, y_scale: scale, together, ..chart("T", mark, data.clone()) };
                let name = format!("{mark:?} {data:?} {scale:?} {together}");
                check(&name, &chart, &pictures(1, &chart, WIDTH));
                assert_eq!(pictures(1, &chart, WIDE).len(), 1, "{name}");
            }
        }
    }
}

#[test]
fn samples_are_lines_by_row_or_by_variant() {
    for (colour, pictures_of) in [(Colour::Row, 2), (Colour::Variant, 9)] {
        for scale in [ScaleKind::Linear, ScaleKind::Log] {
            let apart = Chart { scale, ..chart("T", Mark::Line, Data::Samples { colour }) };
            let drawn = pictures(0, &apart, WIDTH);
            check("samples", &apart, &drawn);
            assert_eq!(drawn.len(), pictures_of);
            let together = pictures(0, &Chart { together: true, ..apart }, WIDTH);
            assert_eq!((together.len(), together[0].matches("class=\"panel\"").count()), (1, pictures_of));
        }
    }
}

/// Tooltips name the unit of a value.
#[test]
fn tooltips_have_units() {
    let variants = realistic()[0].summary.variants.clone();
    let bars = pictures(0, &chart("T", Mark::Bar, cells(&variants, Along::Rows, &["goodput"])), WIDTH);
    assert!(bars[0].contains("Mbit/s</title>") && bars[0].contains("published: "), "{}", bars[0]);
    let lines = pictures(1, &chart("T", Mark::Line, over_time(columns(&["cwnd_bytes"]))), WIDTH);
    assert!(lines[0].contains("data-units=\" s| kB\""), "{}", lines[0]);
    let points = pictures(1, &chart("T", Mark::Point, plane("rtt_mean", "goodput")), WIDTH);
    assert!(points[0].contains(" ms, ") && points[0].contains("Mbit/s</title>"));
    let samples = pictures(0, &chart("T", Mark::Line, Data::Samples { colour: Colour::Row }), WIDTH);
    assert!(samples[0].contains("data-units=\" ms| %\""));
}

/// A value of zero on a logarithmic axis breaks nothing.
#[test]
fn a_log_axis_leaves_out_what_has_no_place_on_it() {
    let mut variants = realistic()[0].summary.variants.clone();
    variants[0].rows[0].cells.get_mut("goodput").unwrap().mean = 0.0;
    let data = cells(&variants, Along::Variants, &["goodput"]);
    let drawn = pictures(
        0,
        &Chart { y_scale: ScaleKind::Log, together: true, ..chart("T", Mark::Point, data) },
        WIDTH,
    );
    assert!(!drawn[0].contains("NaN") && !drawn[0].contains("inf"));
}

/// Panels that would press others to the bottom get scales of their own, and the figure says so.
#[test]
fn panels_that_are_far_apart_do_not_share_a_scale() {
    let faster = |factor: f64| {
        let mut results = realistic().remove(1);
        for track in results.series.iter_mut().filter(|track| track.row == "BBRv2") {
            for column in track.columns.values_mut() {
                *column = column.iter().map(|value| value * factor).collect();
            }
        }
        let cells = &mut results.summary.variants[0].rows[2].cells;
        cells.values_mut().for_each(|cell| cell.mean *= factor);
        results
    };
    let columns = || over_time(columns(&["goodput_mbit_s"]));
    let mut faceted = cells(&faster(1.0).summary.variants, Along::Variants, &["goodput"]);
    let Data::Cells { spots, .. } = &mut faceted else { unreachable!() };
    spots.iter_mut().for_each(|spot| spot.facet = spot.row.to_string());
    for (mark, data) in [(Mark::Area, columns()), (Mark::Line, columns()), (Mark::Point, faceted)] {
        let chart = Chart { together: true, ..chart("T", mark, data) };
        let near = drawn(&faster(2.0), &chart).remove(0);
        assert!(!near.contains("its own scale"), "{mark:?}");
        let far = drawn(&faster(100.0), &chart).remove(0);
        texts_stay_inside("far", &far);
        assert!(far.contains("Each ") && far.contains(" has its own scale."), "{mark:?} {far}");
        if mark != Mark::Point {
            assert_eq!((y_scales(&near).len(), y_scales(&far).len()), (1, 2), "{mark:?}");
        }
    }
}

/// Nothing was run between the values of a key: the script reads only at these values.
#[test]
fn a_swept_axis_says_which_values_were_run() {
    let variants = realistic()[0].summary.variants.clone();
    let mut data = cells(&variants, Along::Key, &["goodput"]);
    let Data::Cells { spots, .. } = &mut data else { unreachable!() };
    spots.iter_mut().for_each(|spot| spot.at[0] = 0.1 + 0.2 * spot.at[0]);
    let chart = Chart { together: true, ..chart("T", Mark::Line, data) };
    let drawn = pictures(0, &chart, WIDTH).remove(0);
    let stops = drawn.split("data-at=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let names: Vec<&str> = stops.split(' ').filter_map(|stop| stop.split('=').nth(1)).collect();
    assert_eq!(names, ["0.1", "0.3"], "{stops}");
    let script = include_str!("../script.js");
    assert!(script.contains("g.dataset.at") && script.contains("read(curve, pixel, stop)"));
    let time =
        pictures(1, &crate::fixture::chart("T", Mark::Line, over_time(columns(&["cwnd_bytes"]))), WIDTH);
    assert!(!time[0].contains("data-at="));
}

/// Over a swept rate the capacity rises with it. The base RTT is one line if all panels have the
/// same.
#[test]
fn swept_lines_stand_under_what_the_network_allows() {
    let mut results = realistic().remove(0);
    let variants = results.summary.variants.clone();
    let network = |(i, variant): (usize, &results::summary::Variant), row: &results::summary::Row| Network {
        variant: variant.name.clone(),
        row: row.label.clone(),
        capacity: vec![(0.0, 10.0 + 5.0 * i as f64)],
        base_rtt: vec![vec![(0.0, 50.0)]],
        buffer: Vec::new(),
    };
    let each = variants.iter().enumerate().flat_map(|v| v.1.rows.iter().map(move |row| network(v, row)));
    results.networks = each.collect();
    let lines = |results: &Results, metric: &str| {
        let data = cells(&variants, Along::Key, &[metric]);
        drawn(results, &Chart { together: true, ..chart("T", Mark::Line, data) }).remove(0)
    };
    for (metric, name) in [("goodput", "capacity"), ("rtt_mean", "base RTT"), ("loss", "")] {
        let picture = lines(&results, metric);
        let shown = picture.matches("class=\"reference\"").count();
        assert_eq!(shown, usize::from(!name.is_empty()), "{metric} {picture}");
        assert!(picture.contains(&format!(">{name}</text>")) != name.is_empty(), "{metric}");
        texts_stay_inside(metric, &picture);
    }
    let course = lines(&results, "goodput");
    let course = course.split("class=\"reference\"><path d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(course.contains('l'), "it rises: {course}");
    results.networks.pop();
    assert!(!lines(&results, "goodput").contains("reference"), "a row whose network is not known");
}

/// The chart says so if it cannot use the scale that the file asks for.
#[test]
fn a_zero_on_a_logarithmic_axis_is_told() {
    let variants = realistic()[0].summary.variants.clone();
    let swept = |first: f64, scale| {
        let mut data = cells(&variants, Along::Key, &["goodput"]);
        let Data::Cells { x, spots, .. } = &mut data else { unreachable!() };
        x.scale = scale;
        spots.iter_mut().for_each(|spot| spot.at[0] += first);
        pictures(0, &Chart { together: true, ..chart("T", Mark::Line, data) }, WIDTH).remove(0)
    };
    assert!(swept(0.0, ScaleKind::Log).contains("The x axis is linear: a logarithmic axis cannot show 0"));
    assert!(
        !swept(0.0, ScaleKind::Linear).contains("cannot show")
            && !swept(1.0, ScaleKind::Log).contains("cannot show")
    );
}

/// Curves without names have no legend.
#[test]
fn a_legend_has_no_nameless_line() {
    let mut results = realistic().remove(0);
    results.summary.variants.truncate(1);
    results.summary.variants[0].name.clear();
    results.rtt_cdf.iter_mut().for_each(|cdf| cdf.variant.clear());
    let data = Data::Samples { colour: Colour::Variant };
    let all = drawn(&results, &chart("T", Mark::Line, data));
    assert!(all.iter().all(|picture| !picture.contains("class=\"key\"")), "{}", all[0]);
}
