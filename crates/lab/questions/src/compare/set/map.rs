//! A map of the winners over two keys of the networks.

use experiment::file::numbers;
use serde::Serialize;
use units::split_number;

use super::judged::{Counts, OnNetwork, values};
use crate::Failure;
use crate::text::significant;

/// Most values of a key that are shown one by one. More are put into groups.
const MOST: usize = 6;
/// Stands for networks that are not decided.
pub(super) const OPEN: &str = "open";
/// Stands for several labels that lead on as many networks.
pub(super) const MIXED: &str = "mixed";
/// Stands for a network on which no controller leads.
pub(super) const EQUAL: &str = "equal";
/// Groups of the values of a key with many.
const GROUPS: usize = 4;

/// Label that leads on most networks, their number, and the number of all.
pub type Cell = Option<(String, usize, usize)>;

/// Winners over two keys.
#[derive(Debug, Serialize)]
pub struct Map {
    /// Key of the lines.
    pub down: String,
    /// Key of the columns.
    pub across: String,
    pub lines: Vec<String>,
    pub columns: Vec<String>,
    /// For each line and column, the label that leads by more than the margin on most networks
    /// there, or `equal`, `open` or `mixed`, the number of these networks, and the number of all; `None` without a
    /// network.
    pub cells: Vec<Vec<Cell>>,
}

/// A key whose values are grouped.
struct Grouped {
    key: String,
    /// Names of the groups.
    names: Vec<String>,
    /// Group of each network.
    groups: Vec<usize>,
}

impl Map {
    /// Draws the map over these two keys, or over the two whose values explain the ratios best.
    /// Returns `None` if fewer than two keys vary.
    ///
    /// # Errors
    /// A key that does not vary.
    pub(super) fn new(networks: &[OnNetwork], keys: Option<&[String; 2]>) -> Result<Option<Self>, Failure> {
        let known: Vec<&str> = networks.first().map_or(Vec::new(), |network| {
            network.keys.iter().map(|(key, _)| key.as_str()).filter(|key| varies(networks, key)).collect()
        });
        let [down, across] = match keys {
            Some(keys) => chosen(&known, keys)?,
            None => {
                let mut ranked: Vec<(f64, &str)> =
                    known.iter().map(|key| (explained(&grouped(networks, key), networks), *key)).collect();
                ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
                match ranked.as_slice() {
                    [first, second, ..] => [first.1, second.1],
                    _ => return Ok(None),
                }
            }
        };
        let (down, across) = (grouped(networks, down), grouped(networks, across));
        let cell = |line: usize, column: usize| {
            let there = networks.iter().enumerate();
            let there = there.filter(|(i, _)| down.groups[*i] == line && across.groups[*i] == column);
            winner(&there.map(|(_, network)| network).collect::<Vec<_>>())
        };
        let line = |line| (0..across.names.len()).map(|column| cell(line, column)).collect();
        let cells = (0..down.names.len()).map(line).collect();
        Ok(Some(Self { cells, down: down.key, across: across.key, lines: down.names, columns: across.names }))
    }
}

/// Finds the two keys of a map among those that vary.
///
/// # Errors
/// A key that does not vary, or one that is given twice.
pub(super) fn chosen<'a>(known: &[&'a str], keys: &[String; 2]) -> Result<[&'a str; 2], Failure> {
    let find = |word: &String| {
        let found = known.iter().find(|key| *key == word || key.rsplit('.').next() == Some(word));
        let listed = known.join(", ");
        found.ok_or_else(|| Failure::Field("map", format!(" {word}: does not vary; these do: {listed}")))
    };
    let [down, across] = [*find(&keys[0])?, *find(&keys[1])?];
    match down == across {
        true => Err(Failure::Field("map", format!(" {down}: is given twice; name two keys"))),
        false => Ok([down, across]),
    }
}

fn varies(networks: &[OnNetwork], key: &str) -> bool {
    let all = values(networks, key);
    all.iter().any(|value| value != &all[0])
}

/// Returns the label that leads on most of these networks.
fn winner(networks: &[&OnNetwork]) -> Cell {
    let mut counts = Counts::new();
    for network in networks {
        let label = if network.is_open() { OPEN } else { network.best.as_deref().unwrap_or(EQUAL) };
        *counts.entry(label).or_default() += 1;
    }
    let most = *counts.values().max()?;
    let first: Vec<&str> =
        counts.iter().filter(|(_, count)| **count == most).map(|(label, _)| *label).collect();
    let label = if let [label] = first.as_slice() { label } else { MIXED };
    Some((label.to_owned(), most, networks.len()))
}

/// Puts the values of a key into groups: each value is one, or numbers are divided into four of
/// about the same size.
fn grouped(networks: &[OnNetwork], key: &str) -> Grouped {
    let all = values(networks, key);
    let mut names: Vec<String> = Vec::new();
    for value in &all {
        if !names.iter().any(|known| known == value) {
            names.push((*value).to_owned());
        }
    }
    let key = key.to_owned();
    let numbers = numbers(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let (shown, members) = match numbers.filter(|_| names.len() > MOST) {
        Some((numbers, _)) => in_quarters(&names, &numbers),
        None => (names.clone(), (0..names.len()).collect()),
    };
    let group = |value: &&str| names.iter().position(|name| name == value).map_or(0, |at| members[at]);
    Grouped { key, groups: all.iter().map(group).collect(), names: shown }
}

/// Divides distinct numbers into groups. Returns the names of the groups, and the group of each
/// number.
fn in_quarters(names: &[String], numbers: &[f64]) -> (Vec<String>, Vec<usize>) {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    let (mut groups, mut shown) = (vec![0; names.len()], Vec::new());
    for (group, members) in order.chunks(names.len().div_ceil(GROUPS)).enumerate() {
        members.iter().for_each(|member| groups[*member] = group);
        shown.extend(members.first().map(|least| format!("from {}", short(&names[*least]))));
    }
    (shown, groups)
}

/// Shortens a number to three digits.
fn short(value: &str) -> String {
    match split_number(value) {
        Ok((number, unit)) => format!("{} {unit}", significant(number)).trim().to_owned(),
        Err(_) => value.to_owned(),
    }
}

/// Returns the sum of squares of the logarithms of the ratios between the groups of a key.
fn explained(key: &Grouped, networks: &[OnNetwork]) -> f64 {
    let controllers = networks.first().map_or(0, |network| network.controllers.len());
    let of = |controller: usize| {
        let logs: Vec<(usize, f64)> = networks
            .iter()
            .zip(&key.groups)
            .filter_map(|(network, group)| {
                Some((*group, libm::log(network.controllers[controller].ratio?.value)))
            })
            .collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let whole = mean(&logs.iter().map(|(_, log)| *log).collect::<Vec<_>>());
        let between = |group: usize| {
            let own: Vec<f64> = logs.iter().filter(|(g, _)| *g == group).map(|(_, log)| *log).collect();
            own.len() as f64 * (mean(&own) - whole) * (mean(&own) - whole)
        };
        (0..key.names.len()).map(between).sum::<f64>()
    };
    (1..controllers).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::super::judged::Measured;
    use super::*;
    use crate::ratio::Ratio;

    /// Returns networks of 12 rates and 2 losses, on which b leads if there is loss. Delays do not
    /// matter.
    fn networks() -> Vec<OnNetwork> {
        let network = |i: usize| {
            let lossy = i % 2 == 1;
            let value = if lossy { 2.0 } else { 1.0 };
            let measured = |ratio: Option<f64>| Measured {
                goodput: ratio.unwrap_or(1.0),
                rtt_mean: None,
                queue_wait: None,
                loss: None,
                ratio: ratio.map(|value| Ratio { value, low: value, high: value }),
                verdict: None,
                keeps: None,
            };
            let key = |key: &str, value: String| (key.to_owned(), value);
            OnNetwork {
                name: i.to_string(),
                keys: vec![
                    key("link.rate", format!("{} Mbit/s", i / 2 + 1)),
                    key("link.loss", format!("{} %", i % 2)),
                    key("link.delay", "5 ms".to_owned()),
                ],
                pairs: 1,
                best: lossy.then(|| "b".to_owned()),
                controllers: vec![measured(None), measured(Some(value))],
            }
        };
        (0..24).map(network).collect()
    }

    /// The key that explains most is the first, twelve numbers make four groups, and a key that
    /// does not vary is none.
    #[test]
    fn a_map_of_winners() {
        let map = Map::new(&networks(), None).unwrap().unwrap();
        assert_eq!((map.down.as_str(), map.across.as_str()), ("link.loss", "link.rate"));
        assert_eq!(map.lines, ["0 %", "1 %"]);
        assert_eq!(
            map.columns,
            ["from 1.00 Mbit/s", "from 4.00 Mbit/s", "from 7.00 Mbit/s", "from 10.0 Mbit/s"]
        );
        let cell = |label: &str| Some((label.to_owned(), 3, 3));
        assert_eq!(map.cells, [vec![cell("equal"); 4], vec![cell("b"); 4]]);
        let mut half = networks();
        half.iter_mut().take(12).for_each(|network| network.best = Some("a".to_owned()));
        let cell = |networks: &[OnNetwork]| winner(&networks.iter().collect::<Vec<_>>());
        assert_eq!(cell(&half[11..13]), Some(("mixed".to_owned(), 1, 2)), "as many of each");
        half[12].controllers[1].verdict = Some(crate::Verdict::Undecided);
        assert_eq!(cell(&half[12..13]), Some(("open".to_owned(), 1, 1)));
    }

    #[test]
    fn keys_of_the_map() {
        let map = |a: &str, b: &str| Map::new(&networks(), Some(&[a.to_owned(), b.to_owned()]));
        assert_eq!(map("rate", "link.loss").unwrap().unwrap().down, "link.rate");
        for (a, b, says) in [("rate", "rtt", "rtt: does not vary"), ("rate", "rate", "is given twice")] {
            assert!(map(a, b).unwrap_err().to_string().contains(says));
        }
    }
}
