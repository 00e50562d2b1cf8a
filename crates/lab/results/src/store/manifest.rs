//! The manifest of a study: everything that determines its runs and their evaluation.

use std::io;

use experiment::file::links;
use experiment::place::Place;
use experiment::row::RowLabel;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::sums::hex;
use crate::network::Network;

/// Everything that determines the runs and their evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Name: `quic-dc/table-1`.
    pub experiment: String,
    /// Version of Ackclock.
    pub version: String,
    /// Commit of Ackclock.
    pub commit: String,
    /// SHA-256 of the program, if the commit does not identify it: changed sources, or own
    /// controllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// SHA-256 of how runs are evaluated: title, note, table, published values, claims, charts. Not
    /// a part of the id.
    #[serde(default)]
    pub reading: String,
    /// Additional recordings: qlog, windows that are not in `[windows]`, and losses and CE marks over
    /// time (`signals`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recording: Vec<String>,
    /// World of the runs.
    pub world: Place,
    /// Time and kernel of a measurement, because a measurement repeats no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// Seed of the first repetition; the others count up.
    pub seed: u64,
    /// Number of runs of each case without its own number.
    pub repetitions: u32,
    /// Columns of keys in the tables: keys that vary or were set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Cases with all their keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub case: Vec<ManifestCase>,
}

/// A case of a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManifestCase {
    pub variant: String,
    pub row: RowLabel,
    /// Number of its runs, if lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<u32>,
    /// The experiment with all defaults written out.
    pub spec: toml::Table,
}

impl Manifest {
    /// Returns the limits of the networks of its cases.
    pub fn networks(&self) -> Vec<Network> {
        self.case.iter().filter_map(|case| Network::from_spec(&case.variant, &case.row, &case.spec)).collect()
    }

    /// Returns the number of all runs.
    pub fn runs(&self) -> usize {
        self.case.iter().map(|case| case.repetitions.unwrap_or(self.repetitions) as usize).sum()
    }

    /// Returns twelve hexadecimal digits that identify the runs of this manifest.
    pub fn id(&self) -> String {
        digest(self.of_runs().unwrap_or_default().as_bytes())[..12].to_owned()
    }

    /// Returns the text without the name of the experiment, its titles, and how runs are evaluated.
    pub(super) fn of_runs(&self) -> Result<String, toml::ser::Error> {
        // The note of a run begins with the name of the experiment.
        let case = |case: &ManifestCase| ManifestCase { spec: without_titles(&case.spec), ..case.clone() };
        self.text_with(["", ""], case)
    }

    /// Returns the text of `manifest.toml`.
    pub(super) fn text(&self) -> io::Result<String> {
        self.text_with([&self.experiment, &self.reading], ManifestCase::clone).map_err(io::Error::other)
    }

    /// Serializes case by case. For each table, the serializer moves all that it has written before.
    /// In one piece that would be the square of the number of cases.
    fn text_with(
        &self,
        [experiment, reading]: [&str; 2],
        case: impl Fn(&ManifestCase) -> ManifestCase,
    ) -> Result<String, toml::ser::Error> {
        #[derive(Serialize)]
        struct One {
            case: [ManifestCase; 1],
        }
        let head = Self {
            experiment: experiment.to_owned(),
            version: self.version.clone(),
            commit: self.commit.clone(),
            program: self.program.clone(),
            reading: reading.to_owned(),
            recording: self.recording.clone(),
            keys: self.keys.clone(),
            measured: self.measured.clone(),
            case: Vec::new(),
            ..*self
        };
        let mut text = toml::to_string(&head)?;
        for one in &self.case {
            text.push('\n');
            text.push_str(&toml::to_string(&One { case: [case(one)] })?);
        }
        Ok(text)
    }
}

/// Returns a run without the keys that only name it. A trace is identified by its content.
pub(crate) fn without_titles(spec: &toml::Table) -> toml::Table {
    let names = ["title", "source", "note"];
    let mut spec: toml::Table = spec
        .iter()
        .filter(|(key, _)| !names.contains(&key.as_str()))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    for link in links(&mut spec) {
        let rate = link.get_mut("rate").and_then(toml::Value::as_table_mut);
        rate.filter(|rate| rate.contains_key("sha256")).and_then(|rate| rate.remove("trace"));
    }
    spec
}

/// Returns the SHA-256 in hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case by case, the text is that of one piece.
    #[test]
    fn a_manifest_is_its_cases() {
        let case = |row: &str| {
            ManifestCase {
            variant: "queue = 1 BDP".to_owned(),
            row: row.into(),
            repetitions: (row == "b").then_some(2),
            spec: "note = \"x: y\"\n[link]\nrate = \"1 Mbit/s\"\n[[flow]]\nlabel = \"f\"\n[flow.recovery]\npto = 1"
                .parse()
                .unwrap(),
        }
        };
        let manifest = Manifest {
            experiment: "paper/x".to_owned(),
            version: "1".to_owned(),
            commit: "c".to_owned(),
            program: None,
            reading: "r".to_owned(),
            recording: vec!["qlog".to_owned()],
            world: Place::SIM,
            measured: None,
            keys: vec!["link.queue".to_owned()],
            seed: 1,
            repetitions: 3,
            case: vec![case("a"), case("b"), case("c")],
        };
        assert_eq!(manifest.text().unwrap(), toml::to_string(&manifest).unwrap());
        let read: Manifest = toml::from_str(&manifest.text().unwrap()).unwrap();
        assert_eq!(read, manifest);
        let mut renamed =
            Manifest { experiment: "y".to_owned(), reading: "s".to_owned(), ..manifest.clone() };
        renamed.case[0].spec.insert("title".to_owned(), "Another".into());
        assert_eq!(renamed.id(), manifest.id());
        let fewer = Manifest { case: manifest.case[..2].to_vec(), ..manifest.clone() };
        assert_ne!(fewer.id(), manifest.id());
    }

    /// A trace is its content, wherever its file is.
    #[test]
    fn a_trace_is_identified_by_its_content() {
        let id = |rate: &str| {
            let spec =
                format!("[[link]]\nrate = \"1 Mbit/s\"\n[[link]]\nrate = {rate}\n[reverse]\nrate = {rate}");
            toml::to_string(&without_titles(&spec.parse().unwrap())).unwrap()
        };
        let one = id("{ trace = \"a.down\", sha256 = \"12\" }");
        assert_eq!(one, id("{ trace = \"b/c.down\", sha256 = \"12\" }"));
        assert_ne!(one, id("{ trace = \"a.down\", sha256 = \"34\" }"));
        assert_ne!(id("{ trace = \"a.down\" }"), id("{ trace = \"b.down\" }"), "not a manifest's");
    }
}
