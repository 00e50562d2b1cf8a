//! Names for the files of a run that every file system accepts, whatever the labels.

use std::collections::BTreeMap;

/// Largest length of a case's labels in a name. File systems accept 255 bytes, and more words
/// follow.
const LONGEST: usize = 150;

/// Returns the beginning of the names of each case's files: its labels, and its number after `~` if
/// others would have the same name. The comparison ignores case, because some file systems do.
pub(crate) fn stems<S: AsRef<str>>(labels: &[[S; 2]]) -> Vec<String> {
    let bounded = |[variant, row]: &[S; 2]| -> String {
        joined(&[&safe(variant.as_ref()), &safe(row.as_ref())]).chars().take(LONGEST).collect()
    };
    let stems: Vec<String> = labels.iter().map(bounded).collect();
    let mut uses: BTreeMap<String, u32> = BTreeMap::new();
    for stem in &stems {
        *uses.entry(stem.to_ascii_lowercase()).or_default() += 1;
    }
    let is_shared = |stem: &str| uses.get(&stem.to_ascii_lowercase()).is_some_and(|uses| *uses > 1);
    let numbered = |(i, stem): (usize, String)| if is_shared(&stem) { format!("{stem}~{i}") } else { stem };
    stems.into_iter().enumerate().map(numbered).collect()
}

/// Replaces the characters of a label that some file system refuses, and `~`, which marks the
/// numbers. A dot at the beginning would hide the file.
fn safe(label: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "+-._#".contains(c) { c } else { '_' };
    label.replacen('.', "_", usize::from(label.starts_with('.'))).chars().map(keep).collect()
}

/// Joins words to a name.
pub(crate) fn joined(words: &[&str]) -> String {
    words.iter().copied().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("--")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_stems(rows: &[&str]) -> Vec<String> {
        stems(&rows.iter().map(|row| ["", *row]).collect::<Vec<_>>())
    }

    #[test]
    fn labels_stay_where_they_can() {
        let labels = [["limit-counts = queue", "QUIC-DC 10"], ["", "cubic"], ["", ""]];
        assert_eq!(stems(&labels), ["limit-counts___queue--QUIC-DC_10", "cubic", ""]);
    }

    #[test]
    fn no_two_alike() {
        assert_eq!(row_stems(&["a/b", "c", "a?b"]), ["a_b~0", "c", "a_b~2"]);
        assert_eq!(row_stems(&["a", "A"]), ["a~0", "A~1"]);
        assert_eq!(row_stems(&["..a", "_.a", ".b", "c.d"]), ["_.a~0", "_.a~1", "_b", "c.d"]);
        assert_eq!(row_stems(&["é", "ü", "_"]), ["_~0", "_~1", "_~2"]);
        // Pairs of labels that join to the same name, and a label that looks numbered.
        let joined = [["a", "b--c"], ["a--b", "c"], ["", "x"], ["", "x"], ["", "x~2"]];
        assert_eq!(stems(&joined), ["a--b--c~0", "a--b--c~1", "x~2", "x~3", "x_2"]);
    }

    #[test]
    fn names_have_an_end() {
        let long = |end: &str| "l".repeat(300) + end;
        let stems = row_stems(&[&long("1"), &long("2"), "short"]);
        assert!(stems.iter().all(|stem| stem.len() < 200));
        assert_ne!(stems[0], stems[1]);
        assert_eq!(stems[2], "short");
    }
}
