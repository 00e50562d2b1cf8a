//! Places: where an experiment runs, and where a row of its results ran.

use std::cmp::Ordering;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// Beginning of the words of the user's own stacks.
const OWN: &str = "own-";

/// A place to run a scenario: a world, and whose protocol code runs there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Place(&'static Row);

/// The description of a place.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// Name in files, JSON and on the command line.
    pub word: &'static str,
    /// Word of the world that its rows belong to.
    pub world: &'static str,
    /// Name within a sentence: `nothing can run on noq`.
    pub name: &'static str,
    /// Name of the stack; `None` where no protocol code runs.
    pub stack: Option<&'static str>,
    /// Description, for the command's help.
    pub doc: &'static str,
}

/// Defines the places: each with its description, and the other columns of [`Row`].
macro_rules! places {
    ($(
        $(#[doc = $doc:literal])+
        $place:ident: $word:literal, $world:literal, $name:literal, $stack:expr;
    )*) => {
        impl Place {
            $($(#[doc = $doc])+ pub const $place: Self = Self(&Row {
                word: $word,
                world: $world,
                name: $name,
                stack: $stack,
                doc: concat!($($doc),+),
            });)*

            /// Every place that a row can have, the simulator first. A new world is one row here.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$place),*];
        }
    };
}

places! {
    /// The deterministic simulator
    SIM: "sim", "sim", "the simulator", None;
    /// Real time, through the emulator (Linux): the kernel's TCP, our QUIC over UDP, or other
    /// stacks (--stack). Includes the simulator's rows
    WIRE: "wire", "wire", "the wire", Some("ackclock");
    /// The simulator's virtual time, with TLS: our QUIC endpoints, or other stacks (--stack).
    /// Includes the simulator's rows
    STACK: "stack", "stack", "the stack", Some("ackclock");
    /// Real time, through the emulator (Linux, root): the kernel's TCP with our controllers.
    /// Includes the simulator's rows
    KERNEL: "kernel", "kernel", "the kernel", Some("ackclock");
    /// The kernel's TCP with D* and Reno as eBPF programs
    KERNEL_NATIVE: "kernel-native", "kernel", "the kernel with native programs", Some("native");
    /// The kernel's TCP with its own controllers
    KERNEL_OWN: "kernel-own", "kernel", "the kernel with its own controllers", Some("own");
    /// noq with our controllers, in the simulator's virtual time
    NOQ: "noq", "stack", "noq", Some("noq");
    /// quinn with our controllers, in the simulator's virtual time
    QUINN: "quinn", "stack", "quinn", Some("quinn");
    /// aioquic with its own controllers, in the simulator's virtual time
    AIOQUIC: "aioquic", "stack", "aioquic", Some("aioquic");
    /// aioquic as processes, with its own controllers
    AIOQUIC_WIRE: "aioquic-wire", "wire", "aioquic", Some("aioquic");
    /// quinn as processes, with its own controllers
    QUINN_WIRE: "quinn-wire", "wire", "quinn", Some("quinn");
    /// noq as processes, with its own controllers
    NOQ_WIRE: "noq-wire", "wire", "noq", Some("noq");
    /// s2n-quic as processes, with its own controllers
    S2N_QUIC: "s2n-quic", "wire", "s2n-quic", Some("s2n-quic");
    /// quic-go as processes, with its own controllers
    QUIC_GO: "quic-go", "wire", "quic-go", Some("quic-go");
    /// Logs of connections that ran elsewhere
    LOG: "log", "log", "the log", Some("log");
    /// ngtcp2 as processes, with its own controllers
    NGTCP2: "ngtcp2", "wire", "ngtcp2", Some("ngtcp2");
}

impl Place {
    /// The worlds in which a whole experiment can run.
    pub const WORLDS: [Self; 4] = [Self::SIM, Self::WIRE, Self::STACK, Self::KERNEL];

    /// Makes a place of a program's own, which no stored result names yet.
    pub const fn new(row: &'static Row) -> Self {
        Self(row)
    }

    /// Returns the name used in files, JSON and on the command line.
    pub fn word(self) -> &'static str {
        self.0.word
    }

    /// Returns the place with this name.
    pub fn named(word: &str) -> Option<Self> {
        let shipped = Self::ALL.into_iter().find(|place| place.word() == word);
        shipped.or_else(|| Self::own(word.strip_prefix(OWN)?))
    }

    /// Returns the place of the user's stack with this name, which runs as processes on the wire.
    /// Returns `None` if the name has other characters than letters, digits, `-`, `.` and `_`, or
    /// more than 64, or if there are 1000 stacks already.
    pub fn own(name: &str) -> Option<Self> {
        const MOST: (usize, usize) = (64, 1000);
        static KNOWN: Mutex<Vec<Place>> = Mutex::new(Vec::new());
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        if name.is_empty() || name.len() > MOST.0 || !is_plain {
            return None;
        }
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = known.iter().find(|place| place.name() == name) {
            return Some(*place);
        }
        if known.len() >= MOST.1 {
            return None;
        }
        // Rows are never removed, so that places can be copied.
        let word: &'static str = String::leak(format!("{OWN}{name}"));
        let name = &word[OWN.len()..];
        let doc = "A stack of the user as processes, with its own controllers";
        let place = Self(Box::leak(Box::new(Row { word, world: "wire", name, stack: Some(name), doc })));
        known.push(place);
        Some(place)
    }

    /// Returns the world that this place's rows belong to, as the place of its own rows.
    pub fn world(self) -> Self {
        Self::named(self.0.world).unwrap_or(self)
    }

    /// Returns the name of the stack, or `None` for the simulator, which runs no protocol code. On
    /// the wire, our row is the kernel's if its flows are TCP.
    pub fn stack(self) -> Option<&'static str> {
        self.0.stack
    }

    /// Reports whether the rows come from a third-party stack.
    pub fn is_external(self) -> bool {
        self.0.word != self.0.world
    }

    /// Returns the place that runs this stack in a world.
    pub fn for_stack(world: Self, stack: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.world() == world && place.stack() == Some(stack))
    }

    /// Describes the place, for the command's help.
    pub fn doc(self) -> &'static str {
        self.0.doc.trim_start()
    }

    /// Returns the suffix for the titles of this place's results.
    pub fn title_suffix(self) -> String {
        if self == Self::SIM { String::new() } else { format!(", on {}", self.name()) }
    }

    /// Returns the name as used in a sentence: `nothing can run on noq`.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Reports whether tables of this place also show rows of `other`. They always show their own
    /// and the simulator's. QUIC on the wire is compared with the same endpoints in virtual time.
    pub fn shows(self, other: Self) -> bool {
        let is_own = other == self || other.0.world == self.0.word;
        is_own || other == Self::SIM || (self == Self::WIRE && other == Self::STACK)
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::SIM
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// In the order of [`Place::ALL`], others behind them by name.
impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |place: &Self| Self::ALL.iter().position(|known| known == place).unwrap_or(usize::MAX);
        rank(self).cmp(&rank(other)).then_with(|| self.word().cmp(other.word()))
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Self::named(&word).ok_or_else(|| D::Error::custom(format!("unknown place `{word}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command line and the stored summary use the same word.
    #[test]
    fn one_word_everywhere() {
        for backend in Place::ALL {
            assert_eq!(serde_json::to_string(&backend).unwrap(), format!("\"{}\"", backend.word()));
        }
    }

    /// A stored result names a user's stack, whether or not its manifest is at hand.
    #[test]
    fn stacks_of_the_user() {
        let own = Place::own("my-quinn").unwrap();
        assert_eq!(serde_json::from_str::<Place>("\"own-my-quinn\"").unwrap(), own);
        assert_eq!((own.world(), own.stack(), own.is_external()), (Place::WIRE, Some("my-quinn"), true));
        assert_eq!([Place::own(""), Place::own("a b"), Place::named("own-"), Place::named("x")], [None; 4]);
    }

    #[test]
    fn the_simulator_stands_beside_all() {
        assert!(Place::WIRE.shows(Place::SIM) && Place::WIRE.shows(Place::WIRE));
        assert!(Place::SIM.shows(Place::SIM) && !Place::SIM.shows(Place::WIRE));
        assert!(Place::STACK.shows(Place::SIM) && !Place::STACK.shows(Place::WIRE));
        assert!(Place::WIRE.shows(Place::QUIC_GO) && !Place::STACK.shows(Place::QUINN_WIRE));
        assert!(Place::STACK.shows(Place::NOQ) && !Place::WIRE.shows(Place::QUINN));
    }

    /// A stack and a world determine one backend, and the reverse.
    #[test]
    fn a_row_for_each_stack_and_world() {
        for backend in Place::ALL.into_iter().filter(|backend| *backend != Place::SIM) {
            let stack = backend.stack().unwrap();
            assert_eq!(Place::for_stack(backend.world(), stack), Some(backend));
        }
        assert_eq!(Place::for_stack(Place::STACK, "quic-go"), None);
    }
}
