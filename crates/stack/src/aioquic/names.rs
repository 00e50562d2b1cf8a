//! Which controllers aioquic has, by the names that they have here.

use congestion::{Algorithm, Entry, Registry};

/// Our names and aioquic's.
const NAMES: [(&str, &str); 2] = [("new-reno", "reno"), ("cubic", "cubic")];

/// What aioquic calls its own of this name.
///
/// # Errors
/// Why it has none, in a sentence: no controller of that name, or one with other parameters than the defaults, of which aioquic has no
/// keys.
pub(crate) fn theirs(algorithm: &Algorithm) -> Result<&'static str, String> {
    let name = algorithm.name();
    let Some((_, theirs)) = NAMES.iter().find(|(ours, _)| *ours == name) else {
        return Err(format!(
            "{name} does not run in aioquic: of ours it has new-reno and cubic by name, in versions of its own"
        ));
    };
    let plain = Registry::default().get(name).map(Entry::algorithm);
    if plain.as_ref() != Some(algorithm) {
        return Err(format!("{name} with parameters does not run in aioquic: its own has none"));
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
        let names: Vec<&str> = all.iter().filter_map(|algorithm| theirs(algorithm).ok()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let why = |algorithm: &Algorithm| theirs(algorithm).unwrap_err();
        let bbr = all.iter().find(|algorithm| algorithm.name() == "bbr3").unwrap();
        assert!(why(bbr).starts_with("bbr3 does not run in aioquic: "), "{}", why(bbr));
        let other = new_reno::Params { initial_window: Some(20), ..Default::default() };
        assert!(why(&other.into()).starts_with("new-reno with parameters does not run in aioquic"));
    }
}
