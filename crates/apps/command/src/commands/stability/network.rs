//! `ackclock stability --network FILE`: the loop of many flows over several links.

use std::path::Path;

use experiment::input;
use stability::network::{self, text::NetworkAnalysis};

use super::{StabilityArgs, numbers};
use crate::progress::waiting;
use crate::status::Error;

/// Analyses the network of a file, prints the result and writes its numbers.
///
/// # Errors
/// A mistake in the file, or a network without an equilibrium.
pub(super) fn run(args: &StabilityArgs, file: &Path) -> Result<u8, Error> {
    args.check_algorithm().map_err(Error::bad)?;
    let network = waiting("stability", || read(file)).map_err(Error::bad)?;
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
    numbers(args, &format!("dccc network {stem}"), &said, &files)
}

fn read(file: &Path) -> Result<NetworkAnalysis, String> {
    let name = file.display();
    let text = input::read(file).map_err(|problem| problem.to_string())?;
    let net = network::read(&text).map_err(|wrong| match wrong.line {
        Some(line) => format!("{name}:{line}: {}", wrong.what),
        None => format!("{name}: {}", wrong.what),
    })?;
    NetworkAnalysis::new(net).map_err(|wrong| format!("{name}: {wrong}"))
}
