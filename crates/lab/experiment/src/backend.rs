//! Backends: what runs an experiment, and what ran a row of its results.

use serde::{Deserialize, Serialize};

/// A way to run a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The deterministic simulator.
    #[default]
    Sim,
    /// Real-time runs through the emulator (Linux): the kernel's TCP, our QUIC over real UDP, and
    /// UDP sources. Results are shown next to those of the simulator and, for QUIC, of the stack.
    Wire,
    /// Real QUIC stacks with TLS in the simulator's virtual time, shown next to the simulator's
    /// rows. As the backend of a row: our own stack.
    Stack,
    /// noq, unmodified, with our controllers, in virtual time.
    Noq,
    /// quinn, unmodified, with our controllers, in virtual time.
    Quinn,
    /// aioquic, unmodified, with its own controllers, in virtual time.
    Aioquic,
    /// aioquic as processes in real time, with its own controllers.
    AioquicWire,
    /// quinn as processes in real time, with its own controllers.
    QuinnWire,
    /// noq as processes in real time, with its own controllers.
    NoqWire,
    /// s2n-quic as processes in real time, with its own controllers.
    #[serde(rename = "s2n-quic")]
    S2nQuic,
    /// quic-go as processes in real time, with its own controllers.
    QuicGo,
    /// ngtcp2 as processes in real time, with its own controllers.
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
    /// The backends in which a whole experiment can run.
    pub const WORLDS: [Self; 3] = [Self::Sim, Self::Wire, Self::Stack];

    /// Returns the name used in files, JSON and on the command line.
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

    /// Returns the backend with this name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.word() == word)
    }

    /// Returns the world that this backend's rows belong to: the simulator, the stack or the wire.
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

    /// Returns the name of the stack, or `None` for the simulator, which runs no protocol code. On
    /// the wire, our row is the kernel's if its flows are TCP.
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

    /// Reports whether the rows come from a third-party stack.
    pub fn is_external(self) -> bool {
        !matches!(self, Self::Sim | Self::Wire | Self::Stack)
    }

    /// Returns the backend that runs this stack in a world.
    pub fn for_stack(world: Self, stack: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.world() == world && backend.stack() == Some(stack))
    }

    /// Describes the backend, for the command's help.
    pub fn doc(self) -> &'static str {
        match self {
            Self::Sim => "The deterministic simulator",
            Self::Wire => {
                "Real time, through the emulator (Linux): the kernel's TCP, our QUIC over UDP, or other stacks (--stack). Includes the simulator's rows"
            }
            Self::Stack => {
                "The simulator's virtual time, with TLS: our QUIC endpoints, or other stacks (--stack). Includes the simulator's rows"
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

    /// Returns the suffix for the titles of this backend's results.
    pub fn title_suffix(self) -> String {
        match self {
            Self::Sim => String::new(),
            other => format!(", on {}", other.place()),
        }
    }

    /// Returns the place of a run as used in a sentence: `nothing can run on noq`.
    pub fn place(self) -> &'static str {
        match self {
            Self::Sim => "the simulator",
            Self::Wire => "the wire",
            Self::Stack => "the stack",
            other => other.stack().unwrap_or_default(),
        }
    }

    /// Reports whether tables of this backend also show rows of `other`. They always show their own
    /// and the simulator's.
    pub fn shows(self, other: Self) -> bool {
        match self {
            // QUIC on the wire is compared with the same endpoints in virtual time.
            Self::Wire => other.world() == Self::Wire || matches!(other, Self::Sim | Self::Stack),
            Self::Stack => other.world() == Self::Stack || other == Self::Sim,
            _ => other == self || other == Self::Sim,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command line and the stored summary use the same word.
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

    /// A stack and a world determine one backend, and the reverse.
    #[test]
    fn a_row_for_each_stack_and_world() {
        for backend in Backend::ALL.into_iter().filter(|backend| *backend != Backend::Sim) {
            let stack = backend.stack().unwrap();
            assert_eq!(Backend::for_stack(backend.world(), stack), Some(backend));
        }
        assert_eq!(Backend::for_stack(Backend::Stack, "quic-go"), None);
    }
}
