//! Checks of AQM parameters.

/// Returns the message of the first rule that does not hold.
pub(super) fn first_broken(rules: &[(bool, &str)]) -> Result<(), String> {
    rules.iter().find(|rule| !rule.0).map_or(Ok(()), |rule| Err(rule.1.to_owned()))
}

/// Reports whether `value` is a probability, from 0 to 1.
pub(super) fn is_probability(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}
