//! Writes one run as an experiment file with every default written out, for its manifest.

use link::LinkConfig;
use units::{Percent, Time};

use crate::file::setup::Setup;
use crate::file::tables::network::{Changing, Link, Links};
use crate::file::tables::{File, Window};

/// The descriptive keys of the file.
pub(crate) struct Head<'a> {
    pub(crate) title: &'a str,
    pub(crate) source: &'a str,
    /// Identification of the run.
    pub(crate) note: String,
    pub(crate) seed: u64,
}

/// Returns the file. Absent optional values have no key, because TOML has no null.
pub(crate) fn table(head: Head<'_>, setup: &Setup) -> Result<toml::Table, toml::ser::Error> {
    let file = File {
        title: head.title,
        source: head.source,
        note: head.note,
        duration: setup.duration,
        repetitions: 1,
        // TOML integers are signed. A seed beyond their range becomes the largest integer.
        seed: i64::try_from(head.seed).unwrap_or(i64::MAX),
        series: setup.series.map_or_else(|| "off".to_owned(), |interval| interval.to_string()),
        measure: setup.measure.map(|(from, to)| Window { from, to }),
        windows: setup
            .windows
            .iter()
            .map(|(name, from, to)| (name.as_str(), Window { from: *from, to: *to }))
            .collect(),
        link: links(&setup.links, &setup.link_names),
        reverse: (!setup.reverse.is_empty()).then(|| links(&setup.reverse, reverse_names(setup))),
        probe: setup.probe_table.as_ref(),
        udp: &setup.udp_tables,
        flow: &setup.flows,
        transfer: None,
        vary: None,
        table: None,
        published: None,
        reference: None,
        claim: None,
        miss: None,
        bias: None,
        chart: None,
    };
    toml::Table::try_from(file)
}

fn links<'a>(links: &'a [LinkConfig], names: &'a [String]) -> Links<'a> {
    match names {
        [] => Links::One(Box::new(link(&links[0], None))),
        names => {
            Links::Chain(links.iter().zip(names).map(|(config, name)| link(config, Some(name))).collect())
        }
    }
}

/// Returns the names of the return links, if the file gives them.
fn reverse_names(setup: &Setup) -> &[String] {
    if setup.reverse_named { &setup.reverse_names } else { &[] }
}

fn link<'a>(config: &'a LinkConfig, name: Option<&'a str>) -> Link<'a> {
    Link {
        name,
        rate: &config.rate,
        burst: config.burst,
        delay: Changing::new(config.delay, &config.delay_steps),
        rtt: None,
        queue: Changing::new(config.limit, &config.limit_steps),
        limit_counts: config.limit_counts,
        jitter: config.jitter,
        loss: Percent(config.loss * 100.0),
        bleach: config.bleach,
        aqm: &config.aqm,
        reorder: config.reorder,
        drop: &config.drop,
        blackhole: config.blackhole.iter().map(|(from, to)| (*from - Time::ZERO, *to - Time::ZERO)).collect(),
        corrupt: (config.corrupt > 0.0).then_some(Percent(config.corrupt * 100.0)),
        duplicate: (config.duplicate > 0.0).then_some(Percent(config.duplicate * 100.0)),
    }
}
