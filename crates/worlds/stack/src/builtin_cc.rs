//! Maps our algorithm names to the built-in controllers of noq and quinn.

use congestion::{Algorithm, Entry, Registry};

/// A controller built into a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltinCc {
    /// `new-reno`.
    NewReno,
    /// `cubic`.
    Cubic,
}

/// Returns the built-in controller of this name, with its default settings.
///
/// # Errors
/// Reason for which no built-in controller can run: an unsupported name, or parameters, which they
/// do not have. The built-in BBR of both stacks draws random numbers from the system and cannot be
/// seeded, so two runs of one scenario would differ.
pub(crate) fn find(algorithm: &Algorithm, stack: &str) -> Result<BuiltinCc, String> {
    let name = algorithm.name();
    let builtin = match name {
        "new-reno" => BuiltinCc::NewReno,
        "cubic" => BuiltinCc::Cubic,
        bbr if bbr.starts_with("bbr") => {
            return Err(format!(
                "the random numbers of {stack}'s own {name} cannot be seeded, so two runs would differ"
            ));
        }
        _ => {
            return Err(format!("{stack} has no {name} of its own; use new-reno or cubic"));
        }
    };
    let plain = Registry::default().get(name).map(Entry::algorithm);
    if plain.as_ref() == Some(algorithm) {
        return Ok(builtin);
    }
    Err(format!("{stack}'s own {name} takes no parameters; remove them"))
}

#[cfg(test)]
mod tests {
    use congestion::algorithms::cubic::rfc9438 as cubic;

    use super::*;

    #[test]
    fn two_of_all() {
        let all = Algorithm::all();
        let names: Vec<&str> = all.iter().filter(|a| find(a, "noq").is_ok()).map(Algorithm::name).collect();
        assert_eq!(names, ["new-reno", "cubic"]);
        let other = cubic::Params { beta: 0.5, ..Default::default() };
        let why = find(&other.into(), "quinn").unwrap_err();
        assert!(why.starts_with("quinn's own cubic takes no parameters"), "{why}");
    }
}
