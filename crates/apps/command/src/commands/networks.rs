//! `ackclock networks`: lists the shipped networks.

use clap::Args;
use experiment::library::{Library, NETWORKS, Source};
use link::{Limit, LinkConfig};
use questions::text::cut;
use scenario::Scenario;
use units::{Duration, Time};

use super::sources;
use crate::status::{Error, HOLDS, list_width, print};

#[derive(Debug, Args)]
pub(crate) struct NetworksArgs {
    /// Print the file of this network: its links, with the source of each number.
    name: Option<String>,
}

/// Levels of a picture, from the lowest rate to the highest.
const LEVELS: [char; 8] =
    ['\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];
/// Parts of the run in a picture.
const PARTS: u64 = 12;
/// Time that a picture shows.
const SHOWN: Duration = Duration::from_secs(60);

/// Prints the networks, or one of them. Returns the exit status.
pub(crate) fn run(args: &NetworksArgs) -> Result<u8, Error> {
    let networks = Library.networks();
    let name = |source: &Source| source.name[NETWORKS.len()..].to_owned();
    if let Some(wanted) = &args.name {
        let Some(source) = networks.iter().find(|source| name(source) == *wanted) else {
            let names: Vec<String> = networks.iter().map(name).collect();
            return Err(Error::bad(format!("`{wanted}` is no network; known: {}", names.join(", "))));
        };
        print(&source.text);
        return Ok(HOLDS);
    }
    print(&format!(
        "{:14}{:>7}{:>6}{:>8}{:>10}{:>7}  rate in a minute\n",
        "", "Mbit/s", "back", "RTT ms", "queue", "loss %"
    ));
    for source in &networks {
        let experiment = sources::parsed(source)?;
        let scenario = experiment.scenario(&experiment.cases()[0], 0);
        let line = format!("{:14}{}  {}", name(source), numbers(&scenario), experiment.title);
        print(&format!("{}\n", cut(&line, list_width())));
    }
    print("\nackclock compare cubic bbr3 --link lte; in a file: network = \"lte\"\n");
    Ok(HOLDS)
}

fn numbers(scenario: &Scenario) -> String {
    let link = &scenario.link;
    let mbit = |link: &LinkConfig| format!("{}", link.rate.nominal().0 as f64 / 1e6);
    let back = scenario.reverse.first().map_or_else(|| "-".to_owned(), mbit);
    let rtt = scenario.flows[0].rtt.0 as f64 / 1e6;
    let queue = match link.limit {
        Limit::Packets(packets) => format!("{packets} pkt"),
        Limit::Bytes(bytes) => format!("{:.0} kB", bytes.0 as f64 / 1e3),
        _ => "-".to_owned(),
    };
    let picture = picture(scenario);
    format!("{:>7}{back:>6}{rtt:>8}{queue:>10}{:>7}  {picture}", mbit(link), link.mean_loss() * 100.0)
}

/// Draws the rate over time with one character for each part of it.
fn picture(scenario: &Scenario) -> String {
    let part = SHOWN / PARTS;
    let carried = |i: u64| {
        let window = [Time::ZERO + part * i, Time::ZERO + part * (i + 1)];
        scenario.link.capacity_between(window, scenario.seed, &scenario.link_streams(0))
    };
    let all: Vec<f64> = (0..PARTS).map(carried).collect();
    let most = all.iter().fold(0.0, |most, bytes| f64::max(most, *bytes)).max(1.0);
    all.iter().map(|bytes| LEVELS[((bytes / most * 7.0).round() as usize).min(7)]).collect()
}
