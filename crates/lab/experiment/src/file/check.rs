//! Checks of claims: sides, relations, and their syntax.

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::Labels;
use crate::file::rows::Rows;
use crate::metric::Metric;
use crate::row::RowLabel;

/// A condition that must hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// `left is times * right`.
    Compare {
        left: Side,
        is: Relation,
        /// Factor of the right side.
        times: f64,
        right: Side,
    },
    /// The values of these rows increase in this order.
    Increasing(Vec<RowLabel>),
    /// Our value and the published one differ by at most this factor, in every one of these rows.
    Near {
        rows: Rows,
        /// Largest ratio, at least 1.
        factor: f64,
    },
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    /// A number in the metric's unit.
    Number(f64),
    /// A number aggregated from rows.
    Rows {
        /// Aggregation of the rows.
        fold: Fold,
        rows: Rows,
        /// The metric; `None` for the claim's metric.
        metric: Option<Box<Metric>>,
    },
}

/// Aggregation of several numbers to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// The largest.
    Max,
    /// The smallest.
    Min,
    Mean,
}

/// A relation between two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Relation {
    /// Less than.
    Below,
    /// Greater than.
    Above,
    /// Less than or equal to.
    AtMost,
    /// Greater than or equal to.
    AtLeast,
    /// Equal within this factor (at least 1), in either direction.
    Near(f64),
}

const FOLDS: &[(&str, Fold)] = &[("max", Fold::Max), ("min", Fold::Min), ("mean", Fold::Mean)];
const RELATIONS: &[(&str, Relation)] = &[
    ("below", Relation::Below),
    ("above", Relation::Above),
    ("at-most", Relation::AtMost),
    ("at-least", Relation::AtLeast),
    ("near", Relation::Near(1.0)),
];

const FORMS: &str = "a claim needs left, is and right; or increasing = [rows]; or rows and within-factor";
const WITHIN: &str = "1.05 means within 5 % either way";
/// Largest factor. Values an order of magnitude apart are not near each other.
const MAX_FACTOR: f64 = 10.0;

impl Check {
    pub(crate) fn read(fields: &Fields<'_>, labels: &Labels, metric: &Metric) -> Result<Self, Diagnostic> {
        match Self::only_form(fields)? {
            0 => Self::read_comparison(fields, labels, metric),
            1 => {
                refuse_factor(fields)?;
                Self::read_increasing(&fields.need("increasing", FORMS)?, labels)
            }
            _ => Self::read_near(fields, labels),
        }
    }

    /// Returns the number of the check's form. Refuses keys of more than one form.
    fn only_form(fields: &Fields<'_>) -> Result<usize, Diagnostic> {
        let forms: [&[&str]; 3] = [&["left", "is", "times", "right"], &["increasing"], &["rows"]];
        let mut found = None;
        for (form, keys) in forms.iter().enumerate() {
            let Some((key, cursor)) = keys.iter().find_map(|key| Some((key, fields.get(key)?))) else {
                continue;
            };
            if let Some((_, other)) = found.replace((form, key)) {
                return Err(cursor.problem(format!("`{other}` and `{key}` cannot be combined"), FORMS));
            }
        }
        Ok(found.map_or(0, |(form, _)| form))
    }

    fn read_increasing(increasing: &Cursor<'_>, labels: &Labels) -> Result<Self, Diagnostic> {
        let rows = increasing.filled_list()?;
        if rows.len() < 2 {
            return Err(increasing.problem("`increasing` needs at least two rows", ""));
        }
        let known = || labels.rows.iter().map(RowLabel::as_str);
        let mut seen: Vec<RowLabel> = Vec::new();
        let mut label = |row: &Cursor<'_>| {
            let label: RowLabel = row.read::<String>()?.into();
            if seen.contains(&label) {
                return Err(row.problem(format!("row `{label}` appears twice"), "list each row once"));
            }
            seen.push(label.clone());
            if labels.rows.contains(&label) {
                Ok(label)
            } else {
                Err(row.unknown_name("row", label.as_str(), known()))
            }
        };
        rows.iter().map(&mut label).collect::<Result<_, _>>().map(Self::Increasing)
    }

    fn read_near(fields: &Fields<'_>, labels: &Labels) -> Result<Self, Diagnostic> {
        let rows = fields.need("rows", "write the rows that are near the published ones, like [\"*\"]")?;
        Ok(Self::Near { rows: Rows::read(&rows, "row", &labels.rows)?, factor: read_factor(fields)? })
    }

    fn read_comparison(fields: &Fields<'_>, labels: &Labels, metric: &Metric) -> Result<Self, Diagnostic> {
        let left = Side::read(&fields.need("left", FORMS)?, labels)?;
        let right_at = fields.need("right", FORMS)?;
        let right = Side::read(&right_at, labels)?;
        if let Some(row) = row_on_both_sides(&left, &right, metric, &labels.rows) {
            let wrong = format!("row `{row}` is on both sides");
            return Err(right_at.problem(wrong, format!("exclude it from one side with \"!{row}\"")));
        }
        let is = Relation::read(fields)?;
        let times = fields.get("times").map_or(Ok(1.0), |c| read_factor_above_0(&c))?;
        if let Some(why) = always_holds(&left, is, times, &right, metric) {
            let wrong = format!("{why}, so this always holds");
            return Err(right_at.problem(wrong, "choose a bound that can fail"));
        }
        Ok(Self::Compare { left, is, times, right })
    }
}

/// Explains why a comparison always holds, or returns `None`. No metric is negative, shares and
/// indices have a largest value, and two numbers never change.
fn always_holds(left: &Side, is: Relation, times: f64, right: &Side, metric: &Metric) -> Option<String> {
    let (metric, is, bound) = match (left, right) {
        (Side::Number(_), Side::Number(_)) => return Some("two numbers never change".to_owned()),
        (rows, Side::Number(bound)) => (rows.rows(metric)?.2, is, bound * times),
        (Side::Number(bound), rows) => (rows.rows(metric)?.2, is.mirrored(), bound / times),
        _ => return None,
    };
    let most = metric.quantity().and_then(|quantity| quantity.max);
    let below_all = |least: f64| {
        matches!(is, Relation::AtLeast if bound <= least) || matches!(is, Relation::Above if bound < least)
    };
    let above_all = |most: f64| {
        matches!(is, Relation::AtMost if bound >= most) || matches!(is, Relation::Below if bound > most)
    };
    match most {
        _ if below_all(0.0) => Some(format!("`{metric}` is never below 0")),
        Some(most) if above_all(most) => Some(format!("`{metric}` is never above {most}")),
        _ => None,
    }
}

fn read_factor_above_0(cursor: &Cursor<'_>) -> Result<f64, Diagnostic> {
    match read_number(cursor)? {
        number if number > 0.0 => Ok(number),
        number => Err(cursor.invalid(format!("{number} is out of range"), "must be above 0")),
    }
}

/// Returns a row that appears on both sides. The maximum and the minimum of one set of rows may be
/// compared: that tells how far apart they are.
fn row_on_both_sides(left: &Side, right: &Side, metric: &Metric, labels: &[RowLabel]) -> Option<RowLabel> {
    let (left, right) = (left.rows(metric)?, right.rows(metric)?);
    let (left_rows, right_rows) = (left.1.pick(labels), right.1.pick(labels));
    let ends = matches!((left.0, right.0), (Fold::Max, Fold::Min) | (Fold::Min, Fold::Max));
    let spans = ends && left_rows == right_rows && left_rows.len() > 1;
    let both = left_rows.into_iter().find(|row| right_rows.contains(row));
    both.filter(|_| !spans && left.2 == right.2).cloned()
}

fn read_number(cursor: &Cursor<'_>) -> Result<f64, Diagnostic> {
    let number: f64 = cursor.read()?;
    if number.is_finite() { Ok(number) } else { Err(cursor.invalid("must be a finite number", "")) }
}

/// Reads the largest ratio of two numbers.
fn read_factor(fields: &Fields<'_>) -> Result<f64, Diagnostic> {
    let cursor = fields.need("within-factor", WITHIN)?;
    let wrong = match read_number(&cursor)? {
        number if number < 1.0 => "`within-factor` must be above 1".to_owned(),
        1.0 => "`within-factor` must be above 1; use 1.001 for equal numbers".to_owned(),
        number if number > MAX_FACTOR => format!("`within-factor` must be at most {MAX_FACTOR}"),
        number => return Ok(number),
    };
    Err(cursor.invalid(wrong, WITHIN))
}

fn refuse_factor(fields: &Fields<'_>) -> Result<(), Diagnostic> {
    match fields.get("within-factor") {
        None => Ok(()),
        Some(cursor) => {
            Err(cursor.problem("`within-factor` applies only to `is = \"near\"` and to `rows`", FORMS))
        }
    }
}

impl Side {
    fn read(cursor: &Cursor<'_>, labels: &Labels) -> Result<Self, Diagnostic> {
        let right = "write a number, or one of { max = [rows] }, { min = [rows] }, { mean = [rows] }, with `metric` to use another metric";
        if cursor.entries().is_err() {
            return read_number(cursor)
                .map(Self::Number)
                .map_err(|_| cursor.invalid("expected a number or a table", right));
        }
        let words = FOLDS.iter().map(|(word, _)| *word).chain(["metric"]);
        let fields = cursor.table(&words.collect::<Vec<_>>())?;
        let metric = fields.get("metric").map(|c| labels.groups.read_metric(&c).map(Box::new)).transpose()?;
        let folds: Vec<_> =
            FOLDS.iter().filter_map(|(word, fold)| Some((*fold, fields.get(word)?))).collect();
        let [(fold, rows)] = &folds[..] else {
            return Err(
                cursor.problem(format!("expected one of max, min and mean, found {}", folds.len()), right)
            );
        };
        Ok(Self::Rows { fold: *fold, rows: Rows::read(rows, "row", &labels.rows)?, metric })
    }

    /// Returns the rows and the metric that it takes from the table.
    fn rows<'s>(&'s self, metric: &'s Metric) -> Option<(Fold, &'s Rows, &'s Metric)> {
        match self {
            Self::Number(_) => None,
            Self::Rows { fold, rows, metric: own } => Some((*fold, rows, own.as_deref().unwrap_or(metric))),
        }
    }
}

impl Relation {
    fn read(fields: &Fields<'_>) -> Result<Self, Diagnostic> {
        let is = fields.need("is", FORMS)?.word("relation", RELATIONS)?;
        if let Self::Near(_) = is {
            return read_factor(fields).map(Self::Near);
        }
        refuse_factor(fields).map(|()| is)
    }

    /// Reports whether the relation holds between `left` and `right`.
    pub fn stands(self, left: f64, right: f64) -> bool {
        match self {
            Self::Below => left < right,
            Self::Above => left > right,
            Self::AtMost => left <= right,
            Self::AtLeast => left >= right,
            Self::Near(factor) => left.max(right) <= factor * left.min(right),
        }
    }

    /// Returns the relation with the sides exchanged.
    fn mirrored(self) -> Self {
        match self {
            Self::Below => Self::Above,
            Self::Above => Self::Below,
            Self::AtMost => Self::AtLeast,
            Self::AtLeast => Self::AtMost,
            Self::Near(factor) => Self::Near(factor),
        }
    }

    /// Returns the words used in sentences.
    pub fn words(self) -> &'static str {
        match self {
            Self::Below => "below",
            Self::Above => "above",
            Self::AtMost => "at most",
            Self::AtLeast => "at least",
            Self::Near(_) => "near",
        }
    }
}

impl Check {
    /// Returns the metrics that it needs; `metric` is the claim's metric.
    pub(crate) fn metrics<'c>(&'c self, metric: &'c Metric) -> impl Iterator<Item = &'c Metric> {
        let sides = match self {
            Self::Compare { left, right, .. } => [left.rows(metric), right.rows(metric)],
            _ => [None, None],
        };
        std::iter::once(metric).chain(sides.into_iter().flatten().map(|side| side.2))
    }
}
