//! `ackclock bench`: measures packets through the bottleneck per CPU second on one core.
//!
//! `docs/src/notebook/performance.md` explains what limits the speed.

mod against;
mod cases;
mod instructions;
mod measure;

use std::path::PathBuf;

use clap::Args;
use experiment::diagnostic::question;

use self::cases::{CASES, Case};
use self::measure::Figure;
use crate::commands::arguments::tries;
use crate::interrupt;
use crate::status::{Error, HOLDS, complain, print};

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Run only the cases whose names contain one of these strings.
    cases: Vec<String>,
    /// Set the number of tries per case; the fastest try is reported.
    #[arg(long, default_value_t = 5, allow_negative_numbers = true, value_parser = tries)]
    tries: u32,
    /// Print the results as JSON.
    #[arg(long, conflicts_with = "against")]
    json: bool,
    /// Compare with another build of ackclock; --tries sets the number of pairs of runs.
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,
}

/// Measures every case.
pub(crate) fn run(args: &BenchArgs) -> Result<u8, Error> {
    let cases = chosen(&args.cases)?;
    if cfg!(debug_assertions) {
        complain(
            "debug build: assertions and overflow checks slow it down; build with `cargo build --release`",
        );
    }
    // A study would use every core, and its CPU time would be the sum over all cores.
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().map_err(Error::bad)?;
    if let Some(other) = &args.against {
        let names: Vec<&str> = cases.iter().map(|case| case.name).collect();
        return against::run(other, args.tries, &names);
    }
    let (watch, mut figures) = (interrupt::watch()?, Vec::new());
    for case in cases {
        let figure = measure::measure(case, args.tries, &watch)?;
        if !args.json {
            print(&line(&figure));
        }
        figures.push(figure);
    }
    if args.json {
        print(&(serde_json::to_string_pretty(&figures).map_err(Error::bad)? + "\n"));
    }
    Ok(HOLDS)
}

fn chosen(texts: &[String]) -> Result<Vec<&'static Case>, Error> {
    // A complete name selects one case, even if other names contain it.
    let is_named = |case: &Case, text: &String| case.name == *text;
    let fits = |case: &Case, text: &String| {
        let whole = CASES.iter().any(|case| is_named(case, text));
        if whole { is_named(case, text) } else { case.name.contains(text.as_str()) }
    };
    if let Some(text) = texts.iter().find(|text| !CASES.iter().any(|case| fits(case, text))) {
        // Names contain commas, so each has its own line.
        let known: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        let (question, known) = (question(text, &known), known.join("\n    "));
        return Err(Error::bad(format!("no case has `{text}` in its name; {question}known:\n    {known}")));
    }
    Ok(CASES.iter().filter(|case| texts.is_empty() || texts.iter().any(|text| fits(case, text))).collect())
}

fn line(figure: &Figure) -> String {
    let nanoseconds = figure.cpu_seconds * 1e9 / figure.packets as f64;
    let instructions = match figure.instructions_per_packet {
        Some(count) => format!("{count:>6.0} instructions"),
        None => String::new(),
    };
    let line = format!(
        "{:36} {:>9} packets {:>6.2} s {:>6.0} ns/packet {:>5.2} M/s {instructions}",
        figure.case,
        figure.packets,
        figure.cpu_seconds,
        nanoseconds,
        figure.packets_per_cpu_second * 1e-6
    );
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_name_is_one_case_and_a_part_may_be_several() {
        let names = |text: &str| {
            chosen(&[text.to_owned()])
                .map_err(|e| e.message)
                .unwrap()
                .iter()
                .map(|c| c.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("1 flow, a study"), ["1 flow, a study"]);
        assert_eq!(names("10 Gbit/s x 300"), ["QUIC, 10 Gbit/s x 300 ms", "TCP, 10 Gbit/s x 300 ms"]);
        let wrong = chosen(&["CoDle".to_owned()]).map(drop).unwrap_err();
        assert!(wrong.message.contains("no case has `CoDle`"), "{}", wrong.message);
        assert!(
            wrong.message.contains("known:\n    1 flow, 10 Mbit/s, 100 MB\n    1 flow, 500"),
            "{}",
            wrong.message
        );
        assert_eq!(chosen(&[]).map_err(|e| e.message).unwrap().len(), CASES.len());
    }
}
