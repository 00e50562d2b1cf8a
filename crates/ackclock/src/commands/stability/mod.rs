//! `ackclock stability`: margins of a controller's loop.

mod args;

use std::path::PathBuf;

use scenario::Watch;

pub(crate) use self::args::StabilityArgs;
use crate::commands::folders::slug;
use crate::run::waiting;
use crate::status::{Error, HOLDS, print};

/// Analyses, prints and writes the page.
pub(crate) fn run(args: &StabilityArgs) -> Result<u8, Error> {
    if let Some(curves) = args.curves().map_err(Error::bad)? {
        return numbers(args, "dccc penalty", &curves.table(), &[("penalty.csv", curves.csv())]);
    }
    if let (Some(file), Some(network)) =
        (&args.network, waiting("stability", || args.network()).map_err(Error::bad)?)
    {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let files = waiting("stability", || {
            let mut files = vec![("eigenvalues.csv", network.eigenvalues())];
            files.extend(network.moments().map(|moments| ("passivity.csv", moments)));
            files
        });
        let said = if args.json {
            serde_json::to_string_pretty(&network).map_err(Error::bad)? + "\n"
        } else {
            network.text()
        };
        return numbers(args, &format!("dccc network {stem}"), &said, &files);
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

/// Prints, and writes numbers to a folder.
fn numbers(args: &StabilityArgs, name: &str, said: &str, files: &[(&str, String)]) -> Result<u8, Error> {
    let dir = PathBuf::from("results/stability").join(slug(&[name.to_owned()]));
    let dir = args.out.clone().unwrap_or(dir);
    report::write_numbers(&dir, files)
        .map_err(|e| Error::bad(format!("cannot write the numbers to {}: {e}", dir.display())))?;
    print(said);
    if !args.json {
        let names: Vec<_> = files.iter().map(|(name, _)| dir.join(name).display().to_string()).collect();
        print(&format!("numbers: {}\n", names.join(", ")));
    }
    Ok(HOLDS)
}
