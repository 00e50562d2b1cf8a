//! A comparison over several values of one key of the link.

use std::fmt::Write as _;

use experiment::row::RowLabel;
use results::summary::{Results, Row, Variant};

use super::measured::{known, mean};
use super::question::Question;
use super::screen::or_dash;
use super::varied::Varied;
use crate::ratio::Ratio;
use crate::text::{self, cut, put, significant};

/// Width of the screen.
const SCREEN: usize = 79;
/// Width of the column of values.
const VALUE: usize = 12;

/// A quantity of every controller: heading, variants, metric, and format of a value.
struct Quantity<'a>(&'static str, &'a [Variant], &'static str, fn(f64) -> String);

/// Heading of a column, and the row that it shows.
type Column = (String, RowLabel);

/// Formats a line for each value, with the results of each controller alone and against the
/// competitor. Puts as many quantities side by side as fit.
pub(super) fn text(question: &Question, varied: &Varied, all: &[Results], seeds: u32) -> String {
    let (long, beside) = (&all[0].summary.variants[..], &all[1].summary.variants[..]);
    let mut out = String::new();
    put(&mut out, "", &verdict(question, varied, long, seeds));
    question.place.sentence().iter().for_each(|place| put(&mut out, "", place));
    let quantities = [
        Quantity("goodput, Mbit/s", long, "goodput", significant),
        Quantity("mean RTT, ms", long, "rtt_mean", significant),
        Quantity("loss, %", long, "loss", |loss| format!("{loss:.3}")),
        Quantity("share, %", beside, "share of candidate", |share| format!("{share:.0}")),
        Quantity("competitor, Mbit/s", beside, "goodput of competitor", significant),
    ];
    let columns: Vec<Column> = question
        .contestants()
        .into_iter()
        .map(|(c, on)| (question.place.shown(&c.label, on), RowLabel::new(&c.label, on)))
        .collect();
    let width = columns.iter().map(|(shown, _)| shown.chars().count()).max().unwrap_or(0).clamp(7, 14);
    let group = (columns.len() * (width + 1)).max(GROUP) + 2;
    for block in quantities.chunks(((SCREEN - VALUE) / group).max(1)) {
        out.push('\n');
        table(&mut out, varied, &columns, block, (width, group));
    }
    out.push('\n');
    put(&mut out, "", &foot(question, seeds));
    out
}

/// Describes how the numbers were measured.
pub(super) fn foot(question: &Question, seeds: u32) -> String {
    let [to, from] = [question.to, question.from].map(|time| text::seconds(time.as_secs_f64()));
    let against = &question.against.label;
    let flows = format!(
        "Share and competitor: a flow that shares the link with one of {against}. Others: a flow alone."
    );
    let marks = question.marks();
    format!("{flows} {} of {to} each; the first {from} are not counted.{marks}", text::seeds(seeds))
}

/// Width of a heading.
const GROUP: usize = 18;

fn table(
    out: &mut String,
    varied: &Varied,
    columns: &[Column],
    block: &[Quantity<'_>],
    (width, group): (usize, usize),
) {
    let cells = |shown: &dyn Fn(&Column) -> String| {
        let cells: String = columns.iter().map(|column| format!(" {:>width$}", shown(column))).collect();
        format!("{cells:>group$}")
    };
    let heads: String = block.iter().map(|quantity| format!("{:>group$}", quantity.0)).collect();
    let names: String = block.iter().map(|_| cells(&|(shown, _)| cut(shown, width))).collect();
    let _ = writeln!(out, "{:VALUE$}{heads}", "");
    let _ = writeln!(out, "{:>VALUE$}{names}", varied.key);
    for (i, value) in varied.values.iter().enumerate() {
        let row = |variants: &[Variant], label: &RowLabel, metric: &str| {
            let row = variants.get(i).and_then(|v| v.rows.iter().find(|row| row.label == *label));
            row.and_then(|row| known(row, metric))
        };
        let line: String = block
            .iter()
            .map(|Quantity(_, variants, metric, shown)| {
                cells(&|(_, label)| or_dash(row(variants, label, metric), shown))
            })
            .collect();
        let _ = writeln!(out, "{value:>VALUE$}{line}");
    }
}

/// Names the controllers with the highest goodput and the lowest RTT over the values.
pub(super) fn verdict(question: &Question, varied: &Varied, variants: &[Variant], seeds: u32) -> String {
    let most = spans(varied, variants, &|variant| best(question, variant, ("goodput", false), seeds));
    let least = spans(varied, variants, &|variant| best(question, variant, ("rtt_mean", true), seeds));
    let on = question.network();
    format!("Highest goodput over {} on {on}: {most}. Lowest mean RTT: {least}.", varied.key)
}

/// Groups neighbouring values with the same winner, as in
/// `bbr3 from 0.1 BDP to 1 BDP, cubic at 2 BDP`.
fn spans(varied: &Varied, variants: &[Variant], best: &dyn Fn(&Variant) -> String) -> String {
    let mut spans: Vec<(String, usize, usize)> = Vec::new();
    for (i, variant) in variants.iter().enumerate() {
        let winner = best(variant);
        match spans.last_mut() {
            Some((name, _, last)) if *name == winner => *last = i,
            _ => spans.push((winner, i, i)),
        }
    }
    let value = |i: usize| varied.values.get(i).map_or("", String::as_str);
    let says = spans.iter().map(|(name, first, last)| match first == last {
        true => format!("{name} at {}", value(*first)),
        false => format!("{name} from {} to {}", value(*first), value(*last)),
    });
    says.collect::<Vec<_>>().join(", ")
}

/// Returns the controller with the largest or smallest mean of a metric above 0, and those that do
/// not differ from it significantly.
fn best(question: &Question, variant: &Variant, (metric, least): (&str, bool), seeds: u32) -> String {
    let place = &question.place;
    let order = |a: &&Row, b: &&Row| mean(a, metric).total_cmp(&mean(b, metric));
    let rows = || variant.rows.iter().filter(|row| place.compares(row) && mean(row, metric) > 0.0);
    let Some(best) = (if least { rows().min_by(order) } else { rows().max_by(order) }) else {
        return "none (no packet arrives)".to_owned();
    };
    let ratio = |row: &Row| Ratio::new(best.cells.get(metric)?, row.cells.get(metric)?, seeds);
    let is = |row: &&Row, what: fn(Ratio) -> bool| row.label == best.label || ratio(row).is_some_and(what);
    let shown = |row: &Row| place.shown(row.label.in_file(), row.label.backend());
    let names: Vec<String> = rows().filter(|r| is(r, |r| !r.matters())).map(shown).collect();
    let same = rows().filter(|row| is(row, Ratio::is_same)).count();
    match names.as_slice() {
        [alone] => alone.clone(),
        names if names.len() == same => format!("{} (tie)", names.join(" and ")),
        names => format!("{} (no significant difference)", names.join(" and ")),
    }
}
