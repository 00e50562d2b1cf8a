//! A table that fits the width of the terminal.
//!
//! If all columns fit side by side, each value has a column. Otherwise each metric has one column,
//! and the table is cut into blocks.
//!
//! ```text
//!          goodput  published  diff      others             goodput          loss
//!           Mbit/s                                           Mbit/s             %
//! Cubic  5.50 ±0.1       5.53  -1 %  5.52..9.44     Cubic   5.50 -1%    0.30 +23%[3]
//!                                                         5.52..9.44      0.17..0.30
//! ```

use comfy_table::{CellAlignment, Table, presets};
use experiment::metric::Metric;
use results::summary::{Cell, Row};
use textwrap::core::display_width;

use super::cells::{difference, number, published, value};
use super::lines::{Lines, plain};

/// Width of a label, of a metric's name before it is wrapped, and of a name above a narrow cell.
const LABEL: usize = 30;
const NAME: usize = 16;
const NARROW: usize = 10;
/// Space between two columns.
const GAP: usize = 2;

/// A row of the table with its label.
pub(super) struct Line<'a> {
    pub(super) label: String,
    pub(super) row: &'a Row,
    /// The same row in other variants.
    pub(super) others: Vec<&'a Row>,
}

/// The rows of a table and its limits.
pub(super) struct Grid<'a> {
    /// Text above the labels.
    pub(super) corner: String,
    pub(super) rows: &'a [Line<'a>],
    /// Maximum number of lines. The first block is always printed.
    pub(super) most: usize,
}

/// The columns of a metric. The first cell of each is its header.
struct Group {
    columns: Vec<Vec<String>>,
}

/// Properties of a printed table.
pub(super) struct Layout {
    /// Metrics that did not fit.
    pub(super) left_out: Vec<String>,
    pub(super) has_deviation: bool,
}

impl Grid<'_> {
    /// Prints the table. Reasons for differences are added to `notes` and referred to by number.
    pub(super) fn draw(&self, out: &mut Lines, metrics: &[Metric], notes: &mut Vec<String>) -> Layout {
        let mut labels = vec![format!("{}\n", self.corner)];
        labels.extend(self.rows.iter().map(|line| broken(&line.label, LABEL)));
        let space = out.width().saturating_sub(widest(&labels));
        let mut told = notes.clone();
        let wide: Vec<Group> = metrics.iter().map(|metric| self.wide(metric, &mut told)).collect();
        if wide.iter().map(Group::width).sum::<usize>() <= space {
            *notes = told;
            draw(out, &labels, &wide);
            return Layout { left_out: Vec::new(), has_deviation: wide.iter().any(Group::has_deviation) };
        }
        let (mut rest, mut left, mut has_deviation) = (metrics, self.most, false);
        while !rest.is_empty() {
            let mut told = notes.clone();
            let block = self.block(rest, space, &mut told);
            let (is_first, lines) = (rest.len() == metrics.len(), height(&labels, &block));
            if !is_first && lines > left {
                break;
            }
            if !is_first {
                out.line("");
            }
            *notes = told;
            has_deviation |= block.iter().any(Group::has_deviation);
            draw(out, &labels, &block);
            left = left.saturating_sub(lines + 1);
            rest = &rest[block.len()..];
        }
        Layout { left_out: rest.iter().map(ToString::to_string).collect(), has_deviation }
    }

    /// Returns as many of these metrics as fit side by side, and adds their reasons to `notes`.
    fn block(&self, metrics: &[Metric], space: usize, notes: &mut Vec<String>) -> Vec<Group> {
        let (mut block, mut used): (Vec<Group>, usize) = (Vec::new(), 0);
        for metric in metrics {
            let mut told = notes.clone();
            let group = self.narrow(metric, &mut told);
            used += group.width();
            if !block.is_empty() && used > space {
                break;
            }
            *notes = told;
            block.push(group);
        }
        block
    }

    /// Returns up to four columns: ours, published, difference, other variants.
    fn wide(&self, metric: &Metric, notes: &mut Vec<String>) -> Group {
        let cells = || self.rows.iter().map(|line| line.row.cells.get(metric));
        let column = |head: &str, cells: &mut dyn Iterator<Item = String>| {
            std::iter::once(head.to_owned()).chain(cells).collect::<Vec<String>>()
        };
        let ours = |cell: Option<&Cell>| cell.map_or_else(|| "-".to_owned(), |c| value(metric, c));
        let mut columns = vec![column(
            &format!("{}\n{}", broken(metric.as_str(), NAME), metric.unit()),
            &mut cells().map(ours),
        )];
        if cells().flatten().any(|cell| cell.published.is_some()) {
            let published = cells().map(|cell| cell?.published.map(|p| published(metric, p)));
            columns.push(column("published", &mut published.map(Option::unwrap_or_default)));
            let apart = cells().map(|cell| cell.map_or_else(String::new, |c| difference(c, notes)));
            columns.push(column("diff", &mut apart.collect::<Vec<_>>().into_iter()));
        }
        if self.rows.iter().any(|line| !line.others.is_empty()) {
            columns.push(column("others", &mut self.rows.iter().map(|line| range(metric, line))));
        }
        Group { columns }
    }

    /// Returns one column. It holds ours, and the difference if anything is published, otherwise
    /// the deviation. The range of the other variants is below, unless it is the same number.
    fn narrow(&self, metric: &Metric, notes: &mut Vec<String>) -> Group {
        let has_published = self
            .rows
            .iter()
            .filter_map(|line| line.row.cells.get(metric))
            .any(|cell| cell.published.is_some());
        let mut cell_of = |line: &Line<'_>| {
            let (ours, apart) = match line.row.cells.get(metric) {
                None => ("-".to_owned(), String::new()),
                Some(cell) if has_published => (number(metric, cell.value()), difference(cell, notes)),
                Some(cell) => (value(metric, cell), String::new()),
            };
            let is_apart = |range: &String| Some(range.as_str()) != ours.split(' ').next();
            let range = Some(range(metric, line)).filter(is_apart).unwrap_or_default();
            (ours, apart.replace(" %", "%").replace("% [", "%["), range)
        };
        let cells: Vec<(String, String, String)> = self.rows.iter().map(&mut cell_of).collect();
        let differences = cells.iter().map(|cell| display_width(&cell.1)).max().unwrap_or(0);
        let gap = usize::from(differences > 0);
        let text = |(ours, apart, range): &(String, String, String)| {
            let below = if range.is_empty() { String::new() } else { format!("\n{range}") };
            format!("{ours}{:gap$}{apart:differences$}{below}", "")
        };
        let mut column = vec![format!("{}\n{}", broken_name(metric.as_str(), NARROW), metric.unit())];
        column.extend(cells.iter().map(text));
        Group { columns: vec![column] }
    }
}

impl Group {
    fn width(&self) -> usize {
        self.columns.iter().map(|column| widest(column) + GAP).sum()
    }

    fn has_deviation(&self) -> bool {
        self.columns[0].iter().any(|cell| cell.contains('±'))
    }
}

/// Wraps a name after spaces and underscores.
fn broken_name(name: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for piece in name.split_inclusive(['_', ' ']) {
        match lines.last_mut() {
            Some(line)
                if display_width(line) + display_width(piece.trim_end()) <= width || line.is_empty() =>
            {
                line.push_str(piece);
            }
            _ => lines.push(piece.to_owned()),
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// Formats the range of the other variants: `9.1..9.3`, or one number if they agree.
fn range(metric: &Metric, line: &Line<'_>) -> String {
    let values: Vec<f64> =
        line.others.iter().filter_map(|row| Some(row.cells.get(metric)?.value())).collect();
    if values.is_empty() {
        return String::new();
    }
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = (number(metric, low), number(metric, high));
    if low == high { low } else { format!("{low}..{high}") }
}

/// Returns the number of lines of a block.
fn height(labels: &[String], block: &[Group]) -> usize {
    let columns = || block.iter().flat_map(|group| &group.columns);
    let lines = |row: usize| {
        let cells = columns().map(|column| &column[row]).chain(std::iter::once(&labels[row]));
        cells.map(|cell| cell.split('\n').count()).max().unwrap_or(1)
    };
    (0..labels.len()).map(lines).sum()
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

fn broken(text: &str, width: usize) -> String {
    textwrap::fill(text, textwrap::Options::new(width).break_words(false))
}

fn widest(column: &[String]) -> usize {
    column.iter().flat_map(|cell| cell.lines()).map(display_width).max().unwrap_or(0)
}
