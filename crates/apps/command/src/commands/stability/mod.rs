//! `ackclock stability`: computes the margins of a controller's loop.

mod args;
#[cfg_attr(not(feature = "networks"), path = "no_network.rs")]
mod network;

use std::path::PathBuf;

use scenario::Watch;

pub(crate) use self::args::StabilityArgs;
use crate::commands::folders::slug;
use crate::progress::waiting;
use crate::status::{Error, HOLDS, print};

/// Runs the analysis, prints the result and writes the page.
pub(crate) fn run(args: &StabilityArgs) -> Result<u8, Error> {
    if let Some(curves) = args.curves().map_err(Error::bad)? {
        return numbers(args, "dccc penalty", &curves.table(), &[("penalty.csv", curves.csv())]);
    }
    if let Some(file) = &args.network {
        return network::run(args, file);
    }
    let (mut analysis, case) =
        (args.setting().map_err(Error::bad)?.analyse(), args.case().map_err(Error::bad)?);
    let mut dir = PathBuf::from("results/stability").join(slug(&[analysis.name()]));
    dir.extend(case.iter().map(|case| slug(&[case.name()])));
    let dir = args.out.clone().unwrap_or(dir);
    analysis.simulation = waiting("stability", || case.and_then(|case| case.run(&Watch::default())));
    let page = report::write_stability(&dir, &analysis)
        .map_err(|e| Error::bad(format!("cannot write the page to {}: {e}", dir.display())))?;
    if args.json {
        print(&(serde_json::to_string_pretty(&analysis).map_err(Error::bad)? + "\n"));
    } else {
        print(&stability::text::table(&analysis));
        print(&format!("page: {}\n", page.display()));
    }
    Ok(HOLDS)
}

/// Prints a text, and writes numbers to a folder.
fn numbers(args: &StabilityArgs, name: &str, text: &str, files: &[(&str, String)]) -> Result<u8, Error> {
    let dir = PathBuf::from("results/stability").join(slug(&[name.to_owned()]));
    let dir = args.out.clone().unwrap_or(dir);
    report::write_numbers(&dir, files)
        .map_err(|e| Error::bad(format!("cannot write the numbers to {}: {e}", dir.display())))?;
    print(text);
    if !args.json {
        let names: Vec<_> = files.iter().map(|(name, _)| dir.join(name).display().to_string()).collect();
        print(&format!("numbers: {}\n", names.join(", ")));
    }
    Ok(HOLDS)
}
