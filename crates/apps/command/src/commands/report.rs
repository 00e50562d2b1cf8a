//! `ackclock report`: rebuilds the report from results folders, or writes its charts as figures for
//! papers.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use experiment::chart::Chart;
use experiment::print::{self, Legend, Print};
use report::Printed;
use results::summary::Results;
use units::Duration;

use crate::commands::folders::load;
use crate::commands::run::conclusion;
use crate::status::{Error, HOLDS, print};

/// Arguments of `ackclock report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folders with results; the newest results of each experiment are used.
    #[arg(default_value = "results")]
    dirs: Vec<PathBuf>,
    /// Write the report to this folder.
    #[arg(long, default_value = "results/report/all")]
    out: PathBuf,
    /// Write each chart as a file of this format, instead of the HTML report.
    #[arg(long)]
    format: Option<Format>,
    /// Draw only the charts with this text in their title.
    #[arg(long, value_name = "TITLE", requires = "format")]
    chart: Option<String>,
    /// Start charts over time at this time of the run: "2 s".
    #[arg(long, value_name = "TIME")]
    from: Option<Duration>,
    /// End charts over time at this time of the run.
    #[arg(long, value_name = "TIME")]
    to: Option<Duration>,
    /// Set the width of the charts' files on paper, in mm, cm or in [default: 84 mm].
    #[arg(long, value_parser = print::width)]
    width: Option<f64>,
    /// Set the size of the text in the charts' files [default: 9 pt].
    #[arg(long, value_name = "SIZE", value_parser = print::font_size)]
    font_size: Option<f64>,
    /// Set the position of the legends.
    #[arg(long, value_parser = legends())]
    legend: Option<Legend>,
    /// Set the pixels per inch of PNG, 30 to 2400 [default: 300].
    #[arg(long, value_parser = clap::value_parser!(u16).range(30..=2400))]
    dpi: Option<u16>,
}

/// Pixels per inch of PNG by default.
const DPI: u16 = 300;

/// Format of a figure.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Svg,
    Pdf,
    Png,
}

/// Returns the parser of `--legend`.
fn legends() -> impl TypedValueParser<Value = Legend> {
    PossibleValuesParser::new(Legend::WORDS.map(|(word, _)| word)).try_map(|word| word.parse::<Legend>())
}

/// Writes the report and prints the conclusion, or writes the figures.
pub(crate) fn run(args: &ReportArgs) -> Result<u8, Error> {
    let mut all = load(&args.dirs)?;
    args.apply(&mut all)?;
    let failed = |e| Error::bad(format!("cannot write the report to {}: {e}", args.out.display()));
    if args.dpi.is_some() && !matches!(args.format, Some(Format::Png)) {
        return Err(Error::bad("only PNG has pixels; write --format png, or remove --dpi"));
    }
    let Some(format) = args.format else {
        let page = report::write(&args.out, "Ackclock", &all).map_err(failed)?;
        print(&conclusion(&all));
        print(&format!("report: {}\n", page.display()));
        return Ok(HOLDS);
    };
    let figures = report::figures(&all).into_iter().filter(|figure| args.is_chosen(&figure.title));
    let files: Result<Vec<_>, Error> =
        figures.map(|figure| file(figure, format, args.dpi.unwrap_or(DPI))).collect();
    let files = files?;
    report::write_numbers(&args.out, &files).map_err(failed)?;
    for (name, _) in &files {
        print(&format!("{}\n", args.out.join(name).display()));
    }
    Ok(HOLDS)
}

impl ReportArgs {
    fn is_chosen(&self, title: &str) -> bool {
        let has = |part: &String| title.to_lowercase().contains(&part.to_lowercase());
        self.chart.as_ref().is_none_or(has)
    }

    /// Applies the options to the chosen charts. Each must have an effect on one of them.
    fn apply(&self, all: &mut [Results]) -> Result<(), Error> {
        let Self { from, to, width, font_size, legend, .. } = *self;
        let options = Print { from, to, width, font_size, legend };
        let titles: Vec<String> =
            all.iter().flat_map(|r| &r.summary.charts).map(|c| format!("{:?}", c.title)).collect();
        let charts = all.iter_mut().flat_map(|results| &mut results.summary.charts);
        let mut chosen: Vec<&mut Chart> = charts.filter(|chart| self.is_chosen(&chart.title)).collect();
        if let (true, Some(part)) = (chosen.is_empty(), &self.chart) {
            return Err(Error::bad(format!(
                "no chart has {part:?} in its title; titles: {}",
                titles.join(", ")
            )));
        }
        let is_timed = from.or(to).is_none() || chosen.iter().any(|chart| chart.is_over_time());
        let has_legend = legend.is_none() || chosen.iter().any(|chart| chart.has_legend());
        if !is_timed {
            return Err(Error::bad("--from and --to need a chart over time, and none is chosen"));
        }
        if !has_legend {
            return Err(Error::bad("--legend needs a chart with a legend, and none is chosen"));
        }
        for chart in &mut chosen {
            chart.print = options.or(chart.print);
            chart
                .print
                .check()
                .map_err(|(key, wrong, right)| Error::bad(format!("--{key}: {wrong}; {right}")))?;
        }
        Ok(())
    }
}

/// Returns the name and the content of a figure's file.
#[cfg_attr(not(feature = "figures"), allow(unused_variables, reason = "only PNG has pixels"))]
fn file(figure: Printed, format: Format, dpi: u16) -> Result<(String, Vec<u8>), Error> {
    let Printed { name, svg, .. } = figure;
    Ok(match format {
        Format::Svg => (format!("{name}.svg"), svg.into_bytes()),
        #[cfg(feature = "figures")]
        Format::Pdf => (format!("{name}.pdf"), report::print::pdf(&svg).map_err(Error::bad)?),
        #[cfg(feature = "figures")]
        Format::Png => (format!("{name}.png"), report::print::png(&svg, dpi).map_err(Error::bad)?),
        #[cfg(not(feature = "figures"))]
        _ => return Err(Error::bad(crate::features::missing("figures as PDF and PNG", "figures"))),
    })
}
