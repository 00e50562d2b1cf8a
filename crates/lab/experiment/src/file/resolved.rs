//! Writes one run as an experiment file with every default written out, for its manifest.

use crate::file::setup::Setup;
use crate::file::tables::File;

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
        measure: setup.measure,
        windows: setup.windows.iter().map(|(name, window)| (name.as_str(), *window)).collect(),
        link: &setup.links.link,
        reverse: setup.links.reverse_link.as_ref(),
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
