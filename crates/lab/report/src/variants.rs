//! Splits names of variants like `queue = 1 BDP, delay = 5 ms` into shared keys and values.

/// Returns the keys that all names share, and the values of each name: `queue`, and `1 BDP`, `3
/// BDP`.
pub(super) fn keys_and_values(names: &[&str]) -> (String, Vec<Vec<String>>) {
    let split: Option<Vec<Vec<_>>> = names.iter().map(|name| pairs(name)).collect();
    let keys = |pairs: &[(&str, &str)]| pairs.iter().map(|(key, _)| *key).collect::<Vec<_>>().join(", ");
    match split {
        Some(split) if !split.is_empty() && split.windows(2).all(|w| keys(&w[0]) == keys(&w[1])) => {
            let values = split.iter().map(|pairs| pairs.iter().map(|(_, v)| (*v).to_owned()).collect());
            (split.first().map_or(String::new(), |first| keys(first)), values.collect())
        }
        _ => (String::new(), names.iter().map(|name| vec![(*name).to_owned()]).collect()),
    }
}

/// Splits a name into keys and values. A value may hold a comma, but no further ` = `.
fn pairs(name: &str) -> Option<Vec<(&str, &str)>> {
    let mut starts: Vec<usize> = vec![0];
    for (comma, _) in name.match_indices(", ") {
        let rest = &name[comma + 2..];
        let key = rest.split(", ").next().unwrap_or(rest);
        if key.contains(" = ") {
            starts.push(comma + 2);
        }
    }
    let end = |i: usize| starts.get(i + 1).map_or(name.len(), |next| next - 2);
    starts.iter().enumerate().map(|(i, start)| name[*start..end(i)].split_once(" = ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_they_share() {
        let split = |names: &[&str]| {
            let (keys, values) = keys_and_values(names);
            let values: Vec<_> = values.iter().map(|v| v.join("|")).collect();
            format!("{keys}: {}", values.join(" "))
        };
        assert_eq!(split(&["queue = 1 BDP", "queue = 3 BDP"]), "queue: 1 BDP 3 BDP");
        assert_eq!(split(&["a = 1, b = x", "a = 2, b = y"]), "a, b: 1|x 2|y");
        assert_eq!(split(&["a = 1", "b = 1"]), ": a = 1 b = 1");
        assert_eq!(split(&["a = 1, 2", "a = 3"]), "a: 1, 2 3");
        assert_eq!(split(&["a = x, y, b = 1", "a = z, b = 2"]), "a, b: x, y|1 z|2");
        assert_eq!(split(&[""]), ": ");
        assert_eq!(split(&[]), ": ");
    }
}
