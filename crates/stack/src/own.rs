//! Which controllers of their own stacks bring that are in this program (noq, quinn), by the names that they have here.

use congestion::{Algorithm, Entry, Registry};

/// A controller of a stack's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    /// Called `new-reno` here.
    NewReno,
    /// Called `cubic` here.
    Cubic,
}

/// The stack's own controller of this name, as the stack comes.
///
/// # Errors
/// Why there is none that runs here, in a sentence: another name, or parameters, of which it has no such keys. BBR of both draws random
/// numbers from the system, with no seed to be set, and two runs of one scenario would differ.
pub(crate) fn named(algorithm: &Algorithm, stack: &str) -> Result<Own, String> {
    let name = algorithm.name();
    let own = match name {
        "new-reno" => Own::NewReno,
        "cubic" => Own::Cubic,
        bbr if bbr.starts_with("bbr") => {
            return Err(format!(
                "{name} of {stack} does not run here: its own BBR draws random numbers that nobody can seed, and two runs would differ"
            ));
        }
        _ => {
            return Err(format!("{name} of {stack} does not run here: of its own it has new-reno and cubic"));
        }
    };
    let plain = Registry::default().get(name).map(Entry::algorithm);
    if plain.as_ref() == Some(algorithm) {
        return Ok(own);
    }
    Err(format!("{name} of {stack} with parameters does not run here: its own has none of them"))
}

#[cfg(test)]
mod tests {
    use congestion::algorithms::cubic::rfc9438 as cubic;

    use super::*;

    #[test]
    fn two_of_all() {
        let all = Algorithm::all();
        let names: Vec<&str> = all.iter().filter(|a| named(a, "noq").is_ok()).map(Algorithm::name).collect();
        assert_eq!(names, ["new-reno", "cubic"]);
        let other = cubic::Params { beta: 0.5, ..Default::default() };
        let why = named(&other.into(), "quinn").unwrap_err();
        assert!(why.starts_with("cubic of quinn with parameters does not run here"), "{why}");
    }
}
