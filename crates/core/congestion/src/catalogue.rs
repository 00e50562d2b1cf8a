//! Family, year, ancestors and header of each algorithm: the family tree of the registry.
//!
//! The header of an algorithm is the documentation of its module: equations with sections,
//! deviations and sources. It is part of the program, so that a command can print it.

use alloc::string::String;

/// Signal that decides how an algorithm sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Losses set the window.
    Loss,
    /// Delay sets the window.
    Delay,
    /// Losses and delay set the window together.
    Hybrid,
    /// ECN marks set the window.
    Ecn,
    /// A measured or computed rate sets the sending rate.
    Rate,
    /// A rate for media: audio and video.
    Media,
}

impl Family {
    /// All families, in the order of the family tree.
    pub const ALL: [Self; 6] = [Self::Loss, Self::Delay, Self::Hybrid, Self::Ecn, Self::Rate, Self::Media];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Delay => "delay",
            Self::Hybrid => "hybrid",
            Self::Ecn => "ECN",
            Self::Rate => "rate",
            Self::Media => "media",
        }
    }

    /// Returns what decides in this family, as a sentence.
    pub fn doc(self) -> &'static str {
        match self {
            Self::Loss => "Losses set the window.",
            Self::Delay => "Delay sets the window.",
            Self::Hybrid => "Losses and delay set the window together.",
            Self::Ecn => "ECN marks set the window.",
            Self::Rate => "A measured or computed rate sets the sending rate.",
            Self::Media => "A sending rate for audio and video.",
        }
    }
}

/// Place of an algorithm in the family tree.
#[derive(Clone, Copy, Debug)]
pub struct Lineage {
    /// Name in the registry.
    pub name: &'static str,
    /// Signal that decides.
    pub family: Family,
    /// Year of the document that defines it.
    pub year: u16,
    /// Names of the algorithms that it extends or combines.
    pub parents: &'static [&'static str],
    /// Headers of its module and of those that the header refers to.
    sources: &'static [&'static str],
}

impl Lineage {
    /// Returns the place of the algorithm with this name, if it is one of this crate.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|lineage| lineage.name == name)
    }

    /// Returns the headers of its modules in Markdown: equations, deviations and sources.
    pub fn header(&self) -> String {
        let mut header = String::new();
        for source in self.sources {
            for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
                header.push_str(line.strip_prefix(' ').unwrap_or(line));
                header.push('\n');
            }
            header.push('\n');
        }
        header
    }
}

/// Returns the length of the header at the start of `source`: all lines that begin with `//!`.
const fn header_length(source: &[u8]) -> usize {
    let mut at = 0;
    while at + 2 < source.len() && source[at] == b'/' && source[at + 1] == b'/' && source[at + 2] == b'!' {
        while at < source.len() && source[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    at
}

/// Copies the first `N` bytes of `source`, so that the program contains only these.
const fn first<const N: usize>(source: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let mut at = 0;
    while at < N {
        bytes[at] = source[at];
        at += 1;
    }
    bytes
}

macro_rules! catalogue {
    ($($name:literal $family:ident $year:literal [$($parent:literal),*] $($file:literal)+;)*) => {
        const ALL: &[Lineage] = &[$(Lineage {
            name: $name,
            family: Family::$family,
            year: $year,
            parents: &[$($parent),*],
            sources: &[$({
                const SOURCE: &[u8] = include_bytes!(concat!("algorithms/", $file, ".rs"));
                static HEADER: [u8; header_length(SOURCE)] = first(SOURCE);
                match core::str::from_utf8(&HEADER) {
                    Ok(header) => header,
                    Err(_) => panic!("a header is not UTF-8"),
                }
            }),+],
        }),*];
    };
}

catalogue! {
    "tahoe" Loss 1988 [] "reno/tahoe";
    "tcp-reno" Loss 2009 ["tahoe"] "reno/tcp_reno";
    "new-reno" Loss 2021 ["tcp-reno"] "reno/new_reno";
    "hstcp" Loss 2003 ["tcp-reno"] "reno/hstcp";
    "scalable" Loss 2003 ["tcp-reno"] "reno/scalable";
    "bic" Loss 2004 ["tcp-reno"] "reno/bic";
    "htcp" Loss 2004 ["tcp-reno"] "reno/htcp/mod";
    "hybla" Loss 2004 ["tcp-reno"] "reno/hybla";
    "cubic" Loss 2023 ["bic"] "cubic/rfc9438/mod";
    "cubic-picoquic" Loss 2023 ["cubic"] "cubic/picoquic/mod";
    "cubic-mvfst" Loss 2025 ["cubic"] "cubic/mvfst/mod";
    "westwood-plus" Loss 2004 ["tcp-reno"] "reno/westwood/mod";
    "fixed-window" Loss 2026 [] "fixed_window";
    "dual" Delay 1992 ["tcp-reno"] "delay/dual";
    "vegas" Delay 1995 ["dual"] "delay/vegas";
    "vegas-plus" Delay 2000 ["vegas", "tcp-reno"] "delay/vegas_plus";
    "fast" Delay 2006 ["vegas"] "delay/fast";
    "pert" Delay 2007 ["tcp-reno"] "delay/pert";
    "ledbat" Delay 2012 ["vegas"] "delay/ledbat/mod";
    "lola" Delay 2017 ["cubic"] "delay/lola/mod";
    "copa" Delay 2018 [] "delay/copa/mod";
    "ledbat-plus-plus" Delay 2020 ["ledbat"] "delay/ledbat_plus_plus/mod";
    "dstar" Delay 2020 [] "delay/dstar/mod";
    "veno" Hybrid 2003 ["tcp-reno", "vegas"] "delay/veno";
    "yeah" Hybrid 2007 ["scalable", "vegas"] "delay/yeah/mod";
    "compound" Hybrid 2008 ["tcp-reno", "hstcp", "vegas"] "delay/compound";
    "illinois" Hybrid 2008 ["tcp-reno"] "reno/illinois";
    "cdg" Hybrid 2011 ["tcp-reno", "vegas"] "delay/cdg/mod";
    "quic-dc" Hybrid 2025 ["westwood-plus"] "delay/quic_dc";
    "dctcp" Ecn 2017 ["tcp-reno"] "reno/dctcp" "reno/window";
    "cubic-ecn-gated" Ecn 2024 ["cubic-picoquic"] "cubic/ecn_gated";
    "bbr1-picoquic" Rate 2023 ["bbr1"] "bbr/v1_picoquic/mod";
    "prague" Ecn 2024 ["dctcp"] "ecn/prague/mod" "ecn/prague/classic";
    "bbr1-ecn-gated" Ecn 2024 ["bbr1"] "bbr/ecn_gated/mod";
    "bbr2-ecn-gated" Ecn 2024 ["bbr2", "bbr1-ecn-gated"] "bbr/ecn_gated/mod";
    "bbr3-ecn-gated" Ecn 2024 ["bbr3", "bbr1-ecn-gated"] "bbr/ecn_gated/mod";
    "tfrc" Rate 2008 [] "media/tfrc/mod" "media/tfrc/loss" "media/tfrc/limits";
    "timely" Rate 2015 [] "delay/timely";
    "bbr1" Rate 2017 [] "bbr/v1/mod";
    "bbr2" Rate 2022 ["bbr1"] "bbr/v2/mod";
    "bbr2-mvfst" Rate 2025 ["bbr2"] "bbr/v2/mvfst";
    "bbr3" Rate 2026 ["bbr2"] "bbr/v3/mod";
    "nada-2013" Media 2013 [] "media/nada_2013";
    "gcc" Media 2016 [] "media/gcc/mod";
    "gcc-simplified" Media 2017 ["gcc"] "media/gcc_simplified";
    "dccc" Media 2017 [] "media/dccc/mod";
    "c4" Media 2025 [] "media/c4/mod";
    "scream-v2" Media 2026 [] "media/scream_v2/mod" "media/scream_v2/window" "media/scream_v2/detect" "media/scream_v2/target";
    "nada" Media 2020 ["nada-2013"] "media/nada/mod";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, Registry};

    /// Every algorithm has a place. Its parents exist, and the year is that of its document.
    #[test]
    fn every_algorithm_has_a_place() {
        let registry = Registry::default();
        for entry in registry.iter() {
            let lineage = Lineage::find(entry.name).unwrap_or_else(|| panic!("{} has no place", entry.name));
            for parent in lineage.parents {
                let parent = Lineage::find(parent).unwrap_or_else(|| panic!("{}: no {parent}", entry.name));
                assert!(parent.name != entry.name);
            }
            if entry.name != "fixed-window" {
                let year = alloc::format!("{}", lineage.year);
                assert!(entry.doc.contains(&year), "{}: {year} is not in \"{}\"", entry.name, entry.doc);
            }
        }
        let names = |entry: &Entry| ALL.iter().filter(|lineage| lineage.name == entry.name).count();
        assert!(registry.iter().all(|entry| names(entry) == 1));
        assert_eq!(ALL.len(), registry.iter().count(), "a place of an unknown algorithm");
    }

    /// A header has equations and names its deviations, and nothing of the code behind it.
    #[test]
    fn headers_have_equations() {
        for lineage in ALL.iter().filter(|lineage| lineage.name != "fixed-window") {
            let header = lineage.header();
            assert!(header.contains("```text"), "{} has no equations", lineage.name);
            assert!(!header.contains("use crate"), "{}", lineage.name);
        }
    }
}
