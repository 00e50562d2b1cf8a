//! The answer on one screen.

use std::fmt::Write as _;

use report::Block;

use super::answer::{Answer, Windows};
use crate::text::{cut, put, significant};

/// Widths of the screen and of a label.
const WIDTH: usize = 79;
const LABEL: usize = 34;

/// Formats the answer. `all` adds windows over time.
pub(super) fn text(answer: &Answer, all: bool) -> String {
    let mut out = cut(&answer.log, WIDTH) + "\n";
    put(&mut out, "", &verdict(answer));
    out.push('\n');
    for (name, value) in rows(answer) {
        let _ = writeln!(out, "  {name:<LABEL$} {value}");
    }
    if all {
        out += "\n  time, s        logged, kB  replayed, kB\n";
        let step = answer.windows.len().div_ceil(40).max(1);
        for Windows { seconds, logged, replayed } in answer.windows.iter().step_by(step) {
            let [logged, replayed] = [logged, replayed].map(|window| kilo(*window as f64));
            let _ = writeln!(out, "  {seconds:<14.3} {logged:>10}  {replayed:>12}");
        }
    }
    out.push('\n');
    notes(answer).iter().for_each(|note| put(&mut out, "note: ", note));
    out
}

fn kilo(bytes: f64) -> String {
    significant(bytes / 1e3)
}

fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share))
}

/// Says how far the windows are apart.
pub(super) fn verdict(answer: &Answer) -> String {
    let Answer { controller, acks, differing, .. } = answer;
    let logged = answer.logged_controller.as_deref().unwrap_or("an unnamed controller");
    let through = match answer.is_same {
        true if answer.is_derived => {
            // Another program's controller of this name need not be ours.
            format!("Our {controller} replayed through the ACKs and losses of the log's {logged}")
        }
        true => format!("{controller} replayed through its own log"),
        false if logged == controller => {
            format!("{controller} with other parameters replayed through the log of {logged}")
        }
        false => format!("{controller} replayed through the ACKs and losses of {logged}"),
    };
    if *differing == 0 {
        return format!("{through}: its window is the logged one at all {acks} ACKs.");
    }
    let [median, p95] = [answer.median_distance, answer.p95_distance].map(percent);
    format!(
        "{through}: its window is {median} from the logged one in the median of {acks} ACKs, and {p95} in the 95th percentile."
    )
}

fn rows(answer: &Answer) -> Vec<(&'static str, String)> {
    let [logged, replayed] = answer.mean_windows.map(kilo);
    let mut rows = vec![("ACKs", answer.acks.to_string())];
    if answer.differing == 0 {
        rows.push(("mean window", format!("{logged} kB")));
        return rows;
    }
    rows.extend([
        ("ACKs with another window", answer.differing.to_string()),
        ("mean window, logged", format!("{logged} kB")),
        ("mean window, replayed", format!("{replayed} kB")),
        ("distance, median", percent(answer.median_distance)),
        ("distance, 95th percentile", percent(answer.p95_distance)),
        ("distance, largest", percent(answer.largest_distance)),
    ]);
    if let Some(Windows { seconds, logged, replayed }) = answer.first_difference {
        let [logged, replayed] = [logged, replayed].map(|window| kilo(window as f64));
        let windows = format!("at {seconds:.3} s: {logged} kB logged, {replayed} kB replayed");
        rows.push(("first difference", windows));
    }
    rows
}

/// Returns the numbers for the page.
pub(super) fn table(answer: &Answer) -> Block {
    Block::Table {
        caption: "Windows".to_owned(),
        head: vec![String::new(), "value".to_owned()],
        rows: rows(answer).into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect(),
    }
}

/// Says what an open loop cannot tell, and what was derived.
pub(super) fn notes(answer: &Answer) -> Vec<String> {
    let Answer { controller, .. } = answer;
    let mut notes = Vec::new();
    if !answer.is_same || answer.is_derived {
        notes.push(format!(
            "Open loop: the log decides what is sent, acknowledged and lost. The window of {controller} changes neither the queue nor the losses. The replay tells how it reads these signals, not what it would achieve. For that, run it on a like network."
        ));
    }
    if answer.is_same && answer.differing > 0 && !answer.is_derived {
        notes.push(format!(
            "The log has every call of {controller}, so its window should be the logged one. The controller has changed since, or the log is damaged."
        ));
    }
    if answer.is_derived {
        notes.push(
            "Signals are derived: only logs of this program's runs have the calls of a controller. The window counts as full when the next packet does not fit into that of the log. The application limits the sender only where the log says so."
                .to_owned(),
        );
    }
    if answer.lacks_marks {
        notes.push(format!(
            "{controller} needs counts of CE marks. The log tells only reductions for them, and each counts as one mark."
        ));
    }
    match answer.others {
        0 => {}
        1 => notes.push("Another connection of the log has less data and is not replayed.".to_owned()),
        others => {
            notes.push(format!("{others} other connections of the log have less data and are not replayed."));
        }
    }
    notes
}
