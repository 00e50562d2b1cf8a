//! Maps our algorithm names to aioquic's controllers.

use congestion::{Algorithm, Entry, Registry};

/// Our names, and aioquic's.
const NAMES: [(&str, &str); 2] = [("new-reno", "reno"), ("cubic", "cubic")];

/// Returns aioquic's name of a controller.
///
/// # Errors
/// Reason for which aioquic cannot run the controller: an unsupported name, or parameters other
/// than the defaults, which aioquic cannot set.
pub(crate) fn aioquic_name(algorithm: &Algorithm) -> Result<&'static str, String> {
    let name = algorithm.name();
    let Some((_, theirs)) = NAMES.iter().find(|(ours, _)| *ours == name) else {
        return Err(format!("{name} does not run in aioquic: its own controllers are new-reno and cubic"));
    };
    let plain = Registry::default().get(name).map(Entry::algorithm);
    if plain.as_ref() != Some(algorithm) {
        return Err(format!("{name} with parameters does not run in aioquic: its own {name} takes none"));
    }
    Ok(theirs)
}

#[cfg(test)]
mod tests {
    use congestion::algorithms::reno::new_reno;

    use super::*;

    #[test]
    fn two_of_all() {
        let all = Algorithm::all();
        let names: Vec<&str> = all.iter().filter_map(|algorithm| aioquic_name(algorithm).ok()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let why = |algorithm: &Algorithm| aioquic_name(algorithm).unwrap_err();
        let bbr = all.iter().find(|algorithm| algorithm.name() == "bbr3").unwrap();
        assert!(why(bbr).starts_with("bbr3 does not run in aioquic: "), "{}", why(bbr));
        let other = new_reno::Params { initial_window: Some(20), ..Default::default() };
        assert!(why(&other.into()).starts_with("new-reno with parameters does not run in aioquic"));
    }
}
