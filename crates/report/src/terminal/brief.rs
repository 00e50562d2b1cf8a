//! An experiment in one table: the reference variant, and beside each number where the other variants lie.

use comfy_table::{CellAlignment, Table, presets};
use experiment::metric::Metric;
use experiment::row::RowLabel;
use results::summary::{Summary, Trust, Variant, Verdict};
use textwrap::core::display_width;

use super::cells::{DEVIATION, bias, difference, mark, number, value};
use super::lines::{Lines, short};

/// Columns of a label or of a metric's name before it is broken.
const LABEL: usize = 30;
const NAME: usize = 16;
/// Between two columns.
const GAP: usize = 2;

/// Heading, table, claims.
pub fn text(summary: &Summary, width: usize) -> String {
    let mut out = Lines::new(width);
    out.line("");
    heading(&mut out, summary);
    out.line("");
    table(&mut out, summary);
    if !summary.claims.is_empty() {
        out.line("\nclaims");
    }
    for claim in &summary.claims {
        let ours = if claim.ours { " (ours)" } else { "" };
        out.put(&format!("  {} ", short(claim)), &format!("{}: {}{ours}", claim.id, claim.says));
        if let Some(reason) = claim.reason.as_ref().filter(|_| claim.verdict != Verdict::Holds) {
            out.put("             why: ", reason);
        }
    }
    out.into_text()
}

/// What the one experiment is.
pub(super) fn heading(out: &mut Lines, summary: &Summary) {
    out.put("", &format!("{}: {}{}", summary.experiment, summary.title, summary.world.title_end()));
    for more in [&summary.source, &summary.note] {
        if !more.is_empty() {
            out.put("", more);
        }
    }
}

/// The table of the reference variant, in blocks of columns that fit side by side, and its notes, each once.
pub(super) fn table(out: &mut Lines, summary: &Summary) {
    let Some(variant) = summary.variants.iter().find(|v| v.reference).or(summary.variants.first()) else {
        return;
    };
    let others: Vec<&Variant> = summary.variants.iter().filter(|other| other.name != variant.name).collect();
    if !variant.name.is_empty() {
        out.put("", &caption(variant, others.len()));
    }
    let mut reasons = Vec::new();
    let mut labels = vec!["\n".to_owned()];
    labels.extend(variant.rows.iter().map(|row| broken(&(row.label.to_string() + mark(row)), LABEL)));
    let groups: Vec<Group> =
        summary.metrics.iter().map(|metric| Group::of(metric, variant, &others, &mut reasons)).collect();
    blocks(out, &labels, &groups);
    if groups.iter().any(Group::has_deviation) {
        out.put("  ", DEVIATION);
    }
    for (i, reason) in reasons.iter().enumerate() {
        out.put(&format!("  [{}] ", i + 1), reason);
    }
    for row in &variant.rows {
        for remark in row.trust.iter().filter_map(Trust::remark) {
            out.put(&format!("  {} ", mark(row).trim()), &format!("{}: {remark}", row.label));
        }
    }
    variant.biases.iter().for_each(|found| out.put("  ", &bias(found)));
}

fn caption(variant: &Variant, others: usize) -> String {
    let of = if variant.reference { " (reference)" } else { "" };
    match others {
        0 => variant.name.clone(),
        _ => format!("{}{of}; others: lowest and highest of {others} other variants", variant.name),
    }
}

/// The columns of a metric, each with its header: ours, and where there are any the published ones and those of the others.
struct Group {
    columns: Vec<Vec<String>>,
}

impl Group {
    fn of(metric: &Metric, variant: &Variant, others: &[&Variant], reasons: &mut Vec<String>) -> Self {
        let cell = |row: usize| variant.rows[row].cells.get(metric);
        let rows = || 0..variant.rows.len();
        let column = |head: String, of: &mut dyn FnMut(usize) -> String| {
            let mut column = vec![head];
            column.extend(rows().map(of));
            column
        };
        let head = format!("{}\n{}", broken(metric.as_str(), NAME), metric.unit());
        let mut columns =
            vec![column(head, &mut |row| cell(row).map_or_else(|| "-".to_owned(), |c| value(metric, c)))];
        if rows().any(|row| cell(row).is_some_and(|c| c.published.is_some())) {
            let published = |row| cell(row)?.published.map(|p| number(metric, p));
            columns.push(column("published".to_owned(), &mut |row| published(row).unwrap_or_default()));
            let mut apart = |row| cell(row).map_or_else(String::new, |c| difference(c, reasons));
            columns.push(column("diff".to_owned(), &mut apart));
        }
        if !others.is_empty() {
            let range = |row: usize| range(metric, &variant.rows[row].label, others);
            columns.push(column("others".to_owned(), &mut |row| range(row)));
        }
        Self { columns }
    }

    fn width(&self) -> usize {
        self.columns.iter().map(|column| widest(column) + GAP).sum()
    }

    fn has_deviation(&self) -> bool {
        self.columns[0].iter().any(|cell| cell.contains('±'))
    }
}

/// `9.1..9.3`, or one number where they do not differ.
fn range(metric: &Metric, label: &RowLabel, others: &[&Variant]) -> String {
    let rows = others.iter().flat_map(|variant| &variant.rows).filter(|row| row.label == *label);
    let values: Vec<f64> = rows.filter_map(|row| Some(row.cells.get(metric)?.value())).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.is_empty() {
        return String::new();
    }
    let (low, high) = (number(metric, low), number(metric, high));
    if low == high { low } else { format!("{low}..{high}") }
}

/// As many metrics side by side as the width takes, and the rest below them.
fn blocks(out: &mut Lines, labels: &[String], groups: &[Group]) {
    let room = out.width().saturating_sub(widest(labels));
    let mut rest = groups;
    while !rest.is_empty() {
        let mut used = 0;
        let fits = rest.iter().take_while(|group| {
            used += group.width();
            used <= room
        });
        let (block, more) = rest.split_at(fits.count().max(1));
        draw(out, labels, block);
        rest = more;
        if !rest.is_empty() {
            out.line("");
        }
    }
}

fn draw(out: &mut Lines, labels: &[String], block: &[Group]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let columns: Vec<&Vec<String>> = block.iter().flat_map(|group| &group.columns).collect();
    for row in 0..labels.len() {
        let cells = std::iter::once(&labels[row]).chain(columns.iter().map(|column| &column[row]));
        let cells: Vec<String> = cells.map(|cell| plain(cell)).collect();
        match row {
            0 => table.set_header(cells),
            _ => table.add_row(cells),
        };
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if i == columns.len() { 0 } else { GAP as u16 }));
        if i > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    out.line(&table.trim_fmt());
}

/// Without control characters other than the end of a line.
fn plain(cell: &str) -> String {
    cell.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

fn broken(text: &str, width: usize) -> String {
    textwrap::fill(text, textwrap::Options::new(width).break_words(false))
}

fn widest(column: &[String]) -> usize {
    column.iter().flat_map(|cell| cell.lines()).map(display_width).max().unwrap_or(0)
}
