//! Networks by name.

use std::path::Path;

use experiment::file::Experiment;
use experiment::library::Library;

const FLOW: &str = "[[flow]]\ncontroller = \"cubic\"\n";

fn read(keys: &str) -> Result<Experiment, String> {
    let text = format!("title = \"T\"\nduration = \"10 s\"\n{keys}\n{FLOW}");
    Experiment::parse("t", Path::new("t.toml"), &text).map_err(|problems| problems.to_string())
}

/// Each network has the same links by name as in its own file, and a name stands for itself.
#[test]
fn every_network_can_be_named() {
    let networks = Library.networks();
    assert!(networks.len() >= 13);
    for network in networks {
        let name = network.name.strip_prefix("networks/").unwrap();
        let own = Experiment::parse(&network.name, &network.file, &network.text).unwrap();
        let named = read(&format!("network = \"{name}\"")).unwrap();
        let links = |exp: &Experiment| {
            let scenario = exp.scenario(&exp.cases()[0], 0);
            (scenario.link, scenario.beyond, scenario.reverse)
        };
        assert_eq!(links(&named), links(&own), "{name}");
        let found = Library.resolve(&[name.to_owned()]).unwrap();
        assert_eq!(found.iter().map(|source| &source.name).collect::<Vec<_>>(), [&network.name]);
    }
}

/// A varied key of the network works as if its links stood in the file.
#[test]
fn a_network_can_be_varied() {
    let queues = "network = \"dsl\"\nvary = { \"link.queue\" = [\"10 ms\", \"20 ms\"] }";
    assert_eq!(read(queues).unwrap().cases().len(), 2);
}

#[test]
fn what_is_refused() {
    let link = "network = \"lte\"\nlink = { rate = \"1 Mbit/s\", delay = \"1 ms\" }";
    for (keys, says) in [
        ("network = \"ltee\"", "t.toml:3: network: unknown network `ltee`; did you mean \"lte\"?"),
        ("network = 3", "t.toml:3: network:"),
        (link, "`network` and `link` cannot be combined; remove one of them"),
    ] {
        let said = read(keys).expect_err(says);
        assert!(said.contains(says), "{said}");
    }
}
