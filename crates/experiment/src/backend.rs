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
    /// Real QUIC stacks, TLS and all, in the simulator's virtual time; the simulator's rows stand beside. As the backend of a row: ours.
    Stack,
    /// A row of that world: noq, unmodified, with our controllers.
    Noq,
    /// The same of quinn.
    Quinn,
    /// A row of that world: aioquic, unmodified, with its own controllers.
    Aioquic,
}

impl Backend {
    /// Every backend that a row can have, the simulator first.
    pub const ALL: [Self; 6] = [Self::Sim, Self::Wire, Self::Stack, Self::Noq, Self::Quinn, Self::Aioquic];
    /// Those that an experiment as a whole can run in.
    pub const WORLDS: [Self; 3] = [Self::Sim, Self::Wire, Self::Stack];

    /// Its word in files, JSON and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Wire => "wire",
            Self::Stack => "stack",
            Self::Noq => "noq",
            Self::Quinn => "quinn",
            Self::Aioquic => "aioquic",
        }
    }

    /// The backend of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.word() == word)
    }

    /// What it is, for the help of the command.
    pub fn doc(self) -> &'static str {
        match self {
            Self::Sim => "The deterministic simulator",
            Self::Wire => {
                "The kernel's TCP, and UDP, through the emulator in real time (Linux); the simulator's rows stand beside"
            }
            Self::Stack => {
                "Real QUIC stacks, TLS and all, in the simulator's virtual time: our endpoints, or others (--stack); the simulator's rows stand beside"
            }
            Self::Noq => "noq with our controllers, in the simulator's virtual time",
            Self::Quinn => "quinn with our controllers, in the simulator's virtual time",
            Self::Aioquic => "aioquic with its own controllers, in the simulator's virtual time",
        }
    }

    /// What titles of its results end with.
    pub fn title_end(self) -> &'static str {
        match self {
            Self::Sim => "",
            Self::Wire => ", on the wire",
            Self::Stack => ", on the stack",
            Self::Noq => ", on noq",
            Self::Quinn => ", on quinn",
            Self::Aioquic => ", on aioquic",
        }
    }

    /// Where a run takes place, in a sentence: `nothing can run on noq`.
    pub fn place(self) -> &'static str {
        match self {
            Self::Sim => "the simulator",
            Self::Wire => "the wire",
            Self::Stack => "the stack",
            Self::Noq => "noq",
            Self::Quinn => "quinn",
            Self::Aioquic => "aioquic",
        }
    }

    /// Whether the rows of `other` stand in its tables: its own do, and beside them the simulator's.
    pub fn shows(self, other: Self) -> bool {
        match self {
            Self::Sim | Self::Noq | Self::Quinn | Self::Aioquic => other == self || other == Self::Sim,
            // QUIC on the wire has its endpoints in virtual time beside it.
            Self::Wire => matches!(other, Self::Sim | Self::Stack | Self::Wire),
            Self::Stack => other != Self::Wire,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The word of the command line is that of the stored summary.
    #[test]
    fn one_word_everywhere() {
        for backend in Backend::ALL {
            assert_eq!(serde_json::to_string(&backend).unwrap(), format!("\"{}\"", backend.word()));
        }
    }

    #[test]
    fn the_simulator_stands_beside_all() {
        assert!(Backend::Wire.shows(Backend::Sim) && Backend::Wire.shows(Backend::Wire));
        assert!(Backend::Sim.shows(Backend::Sim) && !Backend::Sim.shows(Backend::Wire));
        assert!(Backend::Stack.shows(Backend::Sim) && !Backend::Stack.shows(Backend::Wire));
        assert!(Backend::Stack.shows(Backend::Noq) && !Backend::Wire.shows(Backend::Quinn));
    }
}
