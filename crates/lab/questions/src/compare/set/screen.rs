//! The answer over a set of networks: on one screen, as Markdown, and as the blocks of a page.

use std::fmt::Write as _;

use report::Block;

use super::Set;
use super::answer::SetAnswer;
use super::judged::{OnNetwork, Standing};
use super::map::{Cell, EQUAL, MIXED, Map, OPEN};
use crate::compare::screen::or_dash;
use crate::decision::Verdict;
use crate::ratio::Ratio;
use crate::text::{cut, join_all, put, significant};

/// Width of the screen.
const SCREEN: usize = 79;
/// Widths of a label beside the numbers.
const SHORTEST_LABEL: usize = 8;
const LONGEST_LABEL: usize = 16;
/// Width of a cell of the map.
const CELL: usize = 15;

/// Formats the screen, at most 80 columns wide.
pub(super) fn text(set: &Set, answer: &SetAnswer) -> String {
    let mut out = String::new();
    put(&mut out, "", &verdict(set, answer));
    set.place.sentence().iter().for_each(|place| put(&mut out, "", place));
    out.push('\n');
    standings(&mut out, answer);
    out.push('\n');
    for line in extremes(answer) {
        put(&mut out, "", &line);
    }
    if let Some(map) = &answer.map {
        out.push('\n');
        map_text(&mut out, map);
        out.push('\n');
    }
    put(&mut out, "", &foot(set, answer));
    out
}

/// Says how often each controller is best, and the median ratio.
fn verdict(set: &Set, answer: &SetAnswer) -> String {
    let (networks, within) = (answer.networks.len(), margin(answer));
    let link = &set.link;
    if let [first, other] = answer.standings.as_slice() {
        let undecided = match other.undecided {
            0 => String::new(),
            1 => "; 1 is not decided".to_owned(),
            open => format!("; {open} are not decided"),
        };
        return format!(
            "{} achieves more goodput than {} on {} of {networks} networks of {link}, less on {}, and equal \
             goodput (within {within}) on {}{undecided}.{}",
            other.label,
            first.label,
            other.wins,
            other.losses,
            other.draws,
            medians(answer)
        );
    }
    let mut ranked: Vec<&Standing> = answer.standings.iter().collect();
    ranked.sort_by_key(|standing| std::cmp::Reverse(standing.best_on));
    let on: Vec<String> = ranked.iter().map(|s| format!("{} on {}", s.label, s.best_on)).collect();
    format!(
        "Highest goodput (within {within} of it) on the {networks} networks of {link}: {}.{}",
        join_all(&on),
        medians(answer)
    )
}

fn margin(answer: &SetAnswer) -> String {
    format!("{} %", (answer.margin * 1e4).round() / 1e2)
}

fn medians(answer: &SetAnswer) -> String {
    let known: Vec<String> = answer
        .standings
        .iter()
        .filter_map(|standing| Some(format!("{} {}", standing.label, with_interval(standing.median?))))
        .collect();
    let first = answer.standings.first().map_or("", |standing| standing.label.as_str());
    if known.is_empty() { String::new() } else { format!(" Median ratio to {first}: {}.", join_all(&known)) }
}

fn with_interval(ratio: Ratio) -> String {
    match ratio.high.is_finite() {
        true => format!("{:.2} ({:.2} to {:.2})", ratio.value, ratio.low, ratio.high),
        false => format!("{:.2}", ratio.value),
    }
}

/// Names of the columns of the standings, and the cells of each line.
fn columns(answer: &SetAnswer) -> (Vec<String>, Vec<Vec<String>>) {
    let mut head = ["", "best on", "more", "equal", "less"].map(str::to_owned).to_vec();
    let is_open = answer.decided || answer.standings.iter().any(|standing| standing.undecided > 0);
    if is_open {
        head.push("open".to_owned());
    }
    head.extend(["median", "lowest", "longest wait"].map(str::to_owned));
    if answer.against.is_some() {
        head.push("keeps".to_owned());
    }
    let line = |(i, own): (usize, &Standing)| {
        let count = |n: usize| if i == 0 { "-".to_owned() } else { n.to_string() };
        let mut line = vec![own.label.clone(), own.best_on.to_string()];
        line.extend([own.wins, own.draws, own.losses].map(count));
        if is_open {
            line.push(count(own.undecided));
        }
        line.push(or_dash(own.median.map(|ratio| ratio.value), |ratio| format!("{ratio:.2}")));
        line.push(or_dash(own.worst.as_ref().map(|worst| worst.0), |ratio| format!("{ratio:.2}")));
        line.push(or_dash(own.longest_wait.as_ref().map(|wait| wait.0), |ms| {
            format!("{} ms", significant(ms))
        }));
        if answer.against.is_some() {
            line.push(or_dash(own.keeps.as_ref().map(|keeps| keeps.0), |share| {
                format!("{:.0} %", share * 100.0)
            }));
        }
        line
    };
    (head, answer.standings.iter().enumerate().map(line).collect())
}

fn standings(out: &mut String, answer: &SetAnswer) {
    let (head, lines) = columns(answer);
    let widths: Vec<usize> = head.iter().skip(1).map(|name| name.chars().count().max(6)).collect();
    let numbers = |gap: usize| widths.iter().map(|width| width + gap).sum::<usize>();
    let gap = if numbers(2) + SHORTEST_LABEL > SCREEN { 1 } else { 2 };
    let longest = lines.iter().map(|line| line[0].chars().count()).max().unwrap_or(0);
    let width = longest.clamp(SHORTEST_LABEL, LONGEST_LABEL).min(SCREEN - numbers(gap));
    for line in std::iter::once(&head).chain(&lines) {
        let cells = line.iter().skip(1).zip(&widths);
        let cells: String = cells.map(|(cell, width)| format!("{:gap$}{cell:>width$}", "")).collect();
        let _ = writeln!(out, "{:width$}{cells}", cut(&line[0], width));
    }
}

/// Names the networks of the extremes.
fn extremes(answer: &SetAnswer) -> Vec<String> {
    let each = |what: &str, of: &dyn Fn(&Standing) -> Option<String>| {
        let known: Vec<String> =
            answer.standings.iter().filter_map(|s| Some(format!("{} {}", s.label, of(s)?))).collect();
        (!known.is_empty()).then(|| format!("{what}: {}.", known.join("; ")))
    };
    let first = answer.standings.first().map_or("", |standing| standing.label.as_str());
    let worst = |s: &Standing| s.worst.as_ref().map(|(ratio, name)| format!("{ratio:.2} with {name}"));
    let longest = answer.standings.iter().filter_map(|s| Some((s.longest_wait.as_ref()?, &s.label)));
    let longest = longest.max_by(|a, b| a.0.0.total_cmp(&b.0.0)).map(|((wait, name), label)| {
        format!("Longest mean queueing delay: {label} {} ms with {name}.", significant(*wait))
    });
    let kept = |s: &Standing| {
        let (median, least, name) = s.keeps.as_ref()?;
        Some(format!("{:.0} %, lowest {:.0} % with {name}", median * 100.0, least * 100.0))
    };
    let keeps = answer
        .against
        .as_ref()
        .and_then(|against| each(&format!("Median share of its goodput that {against} keeps beside"), &kept));
    [each(&format!("Lowest ratio to {first}"), &worst), longest, keeps].into_iter().flatten().collect()
}

fn map_text(out: &mut String, map: &Map) {
    put(out, "", &format!("{}:", map_caption(map)));
    let width = map.lines.iter().map(|line| line.chars().count()).max().unwrap_or(0).min(24);
    let cell = |text: &str| format!(" {:>CELL$}", cut(text, CELL));
    let heads: String = map.columns.iter().map(|column| cell(column)).collect();
    let _ = writeln!(out, "{:width$}{heads}", "");
    for (line, cells) in map.lines.iter().zip(&map.cells) {
        let cells: String = cells.iter().map(|known| cell(&map_cell(known))).collect();
        let _ = writeln!(out, "{:>width$}{cells}", cut(line, width));
    }
}

fn map_caption(map: &Map) -> String {
    let (down, across) = (&map.down, &map.across);
    let has = |label: &str| map.cells.iter().flatten().flatten().any(|cell| cell.0 == label);
    let words = [(EQUAL, "nobody leads"), (MIXED, "several lead on as many"), (OPEN, "not decided")];
    let words: String = words
        .iter()
        .filter(|(label, _)| has(label))
        .map(|(label, says)| format!("; {label}: {says}"))
        .collect();
    format!("Leader on most networks, by {down} (down) and {across} (across){words}")
}

fn map_cell(cell: &Cell) -> String {
    cell.as_ref().map_or_else(|| "-".to_owned(), |(label, count, all)| format!("{label} {count}/{all}"))
}

/// Describes how the numbers were measured.
fn foot(set: &Set, answer: &SetAnswer) -> String {
    let first = answer.standings.first().map_or("", |standing| standing.label.as_str());
    let pairs = answer.networks.iter().map(|network| network.pairs);
    let (least, most) = (pairs.clone().min().unwrap_or(0), pairs.max().unwrap_or(0));
    let runs = match (answer.decided, least == most) {
        (true, true) => format!("{least} pairs of runs on each network."),
        (true, false) => format!("{least} to {most} pairs of runs on each network, until it was decided."),
        (false, _) if most == 1 => {
            "One run of each controller on each network; --decide makes pairs until each network is decided."
                .to_owned()
        }
        (false, _) => format!("{most} pairs of runs on each network, looked at once."),
    };
    let mut all = vec![
        runs,
        format!(
            "More, equal and less compare with {first}. Intervals are 95 %, with the networks as the sample."
        ),
    ];
    if answer.against.is_none() {
        all.push(format!("--against {first} adds what a competitor keeps."));
    }
    all.extend((!answer.left_out.is_empty()).then(|| answer.left_out.clone()));
    if !answer.unused.is_empty() {
        all.push(format!("Not used of {}: {}.", set.link, answer.unused.join(", ")));
    }
    all.join(" ")
}

/// Formats a ratio with its interval, if it has one, and says if it is not decided.
fn judged(ratio: Ratio, verdict: Option<Verdict>) -> String {
    let open = if verdict == Some(Verdict::Undecided) { ", open" } else { "" };
    match ratio.low < ratio.high {
        true => format!("{:.2} ({:.2} to {:.2}{open})", ratio.value, ratio.low, ratio.high),
        false => format!("{:.2}", ratio.value),
    }
}

/// Returns the names of the columns and the cells of the table of all networks.
fn networks(answer: &SetAnswer) -> (Vec<String>, Vec<Vec<String>>) {
    let keys: Vec<&str> = answer
        .networks
        .first()
        .map_or(Vec::new(), |network| network.keys.iter().map(|(key, _)| key.as_str()).collect());
    let labels = || answer.standings.iter().map(|standing| standing.label.as_str());
    let mut head = vec!["network".to_owned()];
    head.extend(keys.iter().map(|key| (*key).to_owned()));
    head.extend(labels().map(|label| format!("{label}, Mbit/s")));
    head.extend(labels().skip(1).map(|label| format!("{label} ratio")));
    if answer.decided {
        head.push("pairs".to_owned());
    }
    head.extend(labels().map(|label| format!("{label} wait, ms")));
    if answer.against.is_some() {
        head.extend(labels().map(|label| format!("beside {label}, %")));
    }
    let line = |(i, network): (usize, &OnNetwork)| {
        let all = &network.controllers;
        let mut line = vec![(i + 1).to_string()];
        line.extend(network.keys.iter().map(|(_, value)| value.clone()));
        line.extend(all.iter().map(|own| significant(own.goodput)));
        line.extend(
            all.iter()
                .skip(1)
                .map(|own| own.ratio.map_or("-".to_owned(), |ratio| judged(ratio, own.verdict))),
        );
        if answer.decided {
            line.push(network.pairs.to_string());
        }
        line.extend(all.iter().map(|own| or_dash(own.queue_wait, significant)));
        if answer.against.is_some() {
            line.extend(all.iter().map(|own| or_dash(own.keeps, |share| format!("{:.0}", share * 100.0))));
        }
        line
    };
    (head, answer.networks.iter().enumerate().map(line).collect())
}

/// Returns the answer as Markdown.
pub(super) fn markdown(set: &Set, answer: &SetAnswer) -> String {
    let mut out = format!("{}\n\n", verdict(set, answer));
    let mut table = |(head, lines): (Vec<String>, Vec<Vec<String>>)| {
        let escaped = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        out.push_str(&escaped(&head));
        out.push_str(&format!("|---{}|\n", "|--:".repeat(head.len() - 1)));
        lines.iter().for_each(|line| out.push_str(&escaped(line)));
        out.push('\n');
    };
    table(columns(answer));
    table(networks(answer));
    out.push_str(&foot(set, answer));
    out.push('\n');
    out
}

/// Returns the page.
pub(super) fn blocks(set: &Set, answer: &SetAnswer) -> Vec<Block> {
    let mut blocks = vec![Block::Text(verdict(set, answer))];
    blocks.extend(set.place.sentence().map(Block::Text));
    let (head, rows) = columns(answer);
    blocks.push(Block::Table { caption: "Standings".to_owned(), head, rows });
    blocks.extend(extremes(answer).into_iter().map(Block::Text));
    if let Some(map) = &answer.map {
        let line = |(name, cells): (&String, &Vec<Cell>)| {
            let cells = cells.iter().map(map_cell);
            std::iter::once(name.clone()).chain(cells).collect()
        };
        blocks.push(Block::Table {
            caption: map_caption(map),
            head: std::iter::once(String::new()).chain(map.columns.iter().cloned()).collect(),
            rows: map.lines.iter().zip(&map.cells).map(line).collect(),
        });
    }
    blocks.push(Block::Text(foot(set, answer)));
    let (head, rows) = networks(answer);
    blocks.push(Block::Sortable { caption: format!("All {} networks", answer.networks.len()), head, rows });
    blocks
}
