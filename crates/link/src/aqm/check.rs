//! Rules of parameters.

/// The first rule that does not hold.
pub(super) fn first_broken(rules: &[(bool, &str)]) -> Result<(), String> {
    rules.iter().find(|rule| !rule.0).map_or(Ok(()), |rule| Err(rule.1.to_owned()))
}

/// Whether it is a probability.
pub(super) fn is_share(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}
