//! Where an experiment's runs take place: the backend of a row.

use serde::{Deserialize, Serialize};

/// What runs a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The deterministic simulator.
    #[default]
    Sim,
    /// The kernel's TCP, our QUIC over real UDP, and UDP, through the emulator in real time (Linux); the simulator's rows stand beside, and of QUIC
    /// those of the stack.
    Wire,
    /// Real QUIC stacks, TLS and all, in the simulator's virtual time; the simulator's rows stand beside. As the backend of a row: ours.
    Stack,
    /// A row of that world: noq, unmodified, with our controllers.
    Noq,
    /// The same of quinn.
    Quinn,
    /// A row of that world: aioquic, unmodified, with its own controllers.
    Aioquic,
    /// A row of the wire: aioquic as processes, with its own controllers.
    AioquicWire,
    /// The same of quinn.
    QuinnWire,
    /// The same of noq.
    NoqWire,
    /// The same of s2n-quic.
    #[serde(rename = "s2n-quic")]
    S2nQuic,
    /// The same of quic-go.
    QuicGo,
    /// The same of ngtcp2.
    Ngtcp2,
}

impl Backend {
    /// Every backend that a row can have, the simulator first.
    pub const ALL: [Self; 12] = [
        Self::Sim,
        Self::Wire,
        Self::Stack,
        Self::Noq,
        Self::Quinn,
        Self::Aioquic,
        Self::AioquicWire,
        Self::QuinnWire,
        Self::NoqWire,
        Self::S2nQuic,
        Self::QuicGo,
        Self::Ngtcp2,
    ];
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
            Self::AioquicWire => "aioquic-wire",
            Self::QuinnWire => "quinn-wire",
            Self::NoqWire => "noq-wire",
            Self::S2nQuic => "s2n-quic",
            Self::QuicGo => "quic-go",
            Self::Ngtcp2 => "ngtcp2",
        }
    }

    /// The backend of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.word() == word)
    }

    /// The world in which rows of it stand.
    pub fn world(self) -> Self {
        match self {
            Self::Sim => Self::Sim,
            Self::Stack | Self::Noq | Self::Quinn | Self::Aioquic => Self::Stack,
            Self::Wire
            | Self::AioquicWire
            | Self::QuinnWire
            | Self::NoqWire
            | Self::S2nQuic
            | Self::QuicGo
            | Self::Ngtcp2 => Self::Wire,
        }
    }

    /// The name of the stack; none where nobody's protocol code is in it. On the wire our row is the kernel's where its flows are of TCP.
    pub fn stack(self) -> Option<&'static str> {
        match self {
            Self::Sim => None,
            Self::Wire | Self::Stack => Some("ackclock"),
            Self::Noq | Self::NoqWire => Some("noq"),
            Self::Quinn | Self::QuinnWire => Some("quinn"),
            Self::Aioquic | Self::AioquicWire => Some("aioquic"),
            Self::S2nQuic | Self::QuicGo | Self::Ngtcp2 => Some(self.word()),
        }
    }

    /// Whether somebody else's stack is in its rows.
    pub fn is_of_others(self) -> bool {
        !matches!(self, Self::Sim | Self::Wire | Self::Stack)
    }

    /// The backend of this stack's rows in a world.
    pub fn of(world: Self, stack: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.world() == world && backend.stack() == Some(stack))
    }

    /// What it is, for the help of the command.
    pub fn doc(self) -> &'static str {
        match self {
            Self::Sim => "The deterministic simulator",
            Self::Wire => {
                "The kernel's TCP, our QUIC over UDP, or other stacks as processes (--stack), through the emulator in real time (Linux); the simulator's rows stand beside"
            }
            Self::Stack => {
                "Real QUIC stacks, TLS and all, in the simulator's virtual time: our endpoints, or others (--stack); the simulator's rows stand beside"
            }
            Self::Noq => "noq with our controllers, in the simulator's virtual time",
            Self::Quinn => "quinn with our controllers, in the simulator's virtual time",
            Self::Aioquic => "aioquic with its own controllers, in the simulator's virtual time",
            Self::AioquicWire => "aioquic as processes, with its own controllers",
            Self::QuinnWire => "quinn as processes, with its own controllers",
            Self::NoqWire => "noq as processes, with its own controllers",
            Self::S2nQuic => "s2n-quic as processes, with its own controllers",
            Self::QuicGo => "quic-go as processes, with its own controllers",
            Self::Ngtcp2 => "ngtcp2 as processes, with its own controllers",
        }
    }

    /// What titles of its results end with.
    pub fn title_end(self) -> String {
        match self {
            Self::Sim => String::new(),
            other => format!(", on {}", other.place()),
        }
    }

    /// Where a run takes place, in a sentence: `nothing can run on noq`.
    pub fn place(self) -> &'static str {
        match self {
            Self::Sim => "the simulator",
            Self::Wire => "the wire",
            Self::Stack => "the stack",
            other => other.stack().unwrap_or_default(),
        }
    }

    /// Whether the rows of `other` stand in its tables: its own do, and beside them the simulator's.
    pub fn shows(self, other: Self) -> bool {
        match self {
            // QUIC on the wire has its endpoints in virtual time beside it.
            Self::Wire => other.world() == Self::Wire || matches!(other, Self::Sim | Self::Stack),
            Self::Stack => other.world() == Self::Stack || other == Self::Sim,
            _ => other == self || other == Self::Sim,
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
        assert!(Backend::Wire.shows(Backend::QuicGo) && !Backend::Stack.shows(Backend::QuinnWire));
        assert!(Backend::Stack.shows(Backend::Noq) && !Backend::Wire.shows(Backend::Quinn));
    }

    /// A stack and a world lead to one backend, and back.
    #[test]
    fn a_row_for_each_stack_and_world() {
        for backend in Backend::ALL.into_iter().filter(|backend| *backend != Backend::Sim) {
            let stack = backend.stack().unwrap();
            assert_eq!(Backend::of(backend.world(), stack), Some(backend));
        }
        assert_eq!(Backend::of(Backend::Stack, "quic-go"), None);
    }
}
