//! Where an experiment's runs take place: the backend of a row.

use serde::{Deserialize, Serialize};

/// What runs a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The deterministic simulator.
    #[default]
    Sim,
    /// The kernel's TCP, and UDP, through the emulator in real time (Linux); the simulator's rows stand beside.
    Wire,
}

/// What the labels of rows on the wire end with.
const WIRE: &str = " (wire)";

impl Backend {
    /// A row's label in this world.
    pub fn label(self, row: &str) -> String {
        match self {
            Self::Sim => row.to_owned(),
            Self::Wire => format!("{row}{WIRE}"),
        }
    }

    /// Why a label of a file is refused: rows of the wire are known by the end of theirs.
    pub fn objection(label: &str) -> Option<String> {
        let label = label.trim();
        let taken = Self::of(label).1 == Self::Wire;
        taken.then(|| format!("`{label}` would be taken for a row of `run --on wire`"))
    }

    /// The row's label in the experiment's file, and the world it was run in.
    pub fn of(label: &str) -> (&str, Self) {
        label.strip_suffix(WIRE).map_or((label, Self::Sim), |row| (row, Self::Wire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lead_back_to_their_rows() {
        for world in [Backend::Sim, Backend::Wire] {
            assert_eq!(Backend::of(&world.label("TCP 5")), ("TCP 5", world));
        }
    }
}
