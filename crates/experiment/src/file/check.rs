//! What a claim compares: sides, relations, and how a file writes them.

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::Labels;
use crate::file::rows::Rows;
use crate::metric::Metric;
use crate::row::RowLabel;

/// What must hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// `left is times * right`.
    Compare {
        /// Left side.
        left: Side,
        /// The relation.
        is: Relation,
        /// Factor of the right side.
        times: f64,
        /// Right side.
        right: Side,
    },
    /// The rows of these labels have rising values.
    Increasing(Vec<RowLabel>),
    /// Ours and the published value differ by no more than this factor, in every one of these rows.
    Near {
        /// The rows.
        rows: Rows,
        /// At least 1.
        factor: f64,
    },
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    /// A number in the metric's unit.
    Number(f64),
    /// One number from the rows.
    Rows {
        /// How they become one.
        fold: Fold,
        /// Which.
        rows: Rows,
        /// In this metric; `None`: in that of the claim.
        metric: Option<Box<Metric>>,
    },
}

/// How many numbers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Their mean.
    Mean,
}

/// A relation of two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Relation {
    /// Less.
    Below,
    /// More.
    Above,
    /// Not more.
    AtMost,
    /// Not less.
    AtLeast,
    /// No further away than this factor (at least 1), either way.
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

const FORMS: &str = "a claim has left, is and right; or increasing = [rows]; or rows and within-factor";
const WITHIN: &str = "1.05 means within 5 % either way";
/// What may be an order of magnitude away is not near.
const MOST_FACTOR: f64 = 10.0;

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

    /// Which of the three forms it has; keys of two of them are one too many.
    fn only_form(fields: &Fields<'_>) -> Result<usize, Diagnostic> {
        let forms: [&[&str]; 3] = [&["left", "is", "times", "right"], &["increasing"], &["rows"]];
        let mut found = None;
        for (form, keys) in forms.iter().enumerate() {
            let Some((key, cursor)) = keys.iter().find_map(|key| Some((key, fields.get(key)?))) else {
                continue;
            };
            if let Some((_, other)) = found.replace((form, key)) {
                return Err(cursor.problem(format!("both `{other}` and `{key}`"), FORMS));
            }
        }
        Ok(found.map_or(0, |(form, _)| form))
    }

    fn read_increasing(increasing: &Cursor<'_>, labels: &Labels) -> Result<Self, Diagnostic> {
        let rows = increasing.filled_list()?;
        if rows.len() < 2 {
            return Err(increasing.problem("one row alone does not increase", "name at least two rows"));
        }
        let known = || labels.rows.iter().map(RowLabel::as_str);
        let mut seen: Vec<RowLabel> = Vec::new();
        let mut label = |row: &Cursor<'_>| {
            let label: RowLabel = row.read::<String>()?.into();
            if seen.contains(&label) {
                return Err(
                    row.problem(format!("`{label}` a second time"), "a row is not compared with itself")
                );
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
        let rows = fields.need("rows", "the rows that are near the published ones, like [\"*\"]")?;
        Ok(Self::Near { rows: Rows::read(&rows, "row", &labels.rows)?, factor: read_factor(fields)? })
    }

    fn read_comparison(fields: &Fields<'_>, labels: &Labels, metric: &Metric) -> Result<Self, Diagnostic> {
        let right_at = fields.need("right", FORMS)?;
        let left = Side::read(&fields.need("left", FORMS)?, labels)?;
        let right = Side::read(&right_at, labels)?;
        if let Some(row) = own_rival(&left, &right, metric, &labels.rows) {
            let wrong = format!("`{row}` is on both sides: a row is not compared with itself");
            return Err(right_at.problem(wrong, format!("take it away from one side with \"!{row}\"")));
        }
        let is = Relation::read(fields)?;
        let times = fields.get("times").map_or(Ok(1.0), |c| read_factor_above_0(&c))?;
        if let Some(why) = always_holds(&left, is, times, &right, metric) {
            let wrong = format!("{why}, so this always holds");
            return Err(right_at.problem(wrong, "name a bound that it can miss"));
        }
        Ok(Self::Compare { left, is, times, right })
    }
}

/// Why a comparison cannot be missed: no metric is negative, shares and indices have a largest value, and two numbers are what they
/// are.
fn always_holds(left: &Side, is: Relation, times: f64, right: &Side, metric: &Metric) -> Option<String> {
    let (metric, is, bound) = match (left, right) {
        (Side::Number(_), Side::Number(_)) => return Some("two numbers stay what they are".to_owned()),
        (rows, Side::Number(bound)) => (rows.rows(metric)?.2, is, bound * times),
        (Side::Number(bound), rows) => (rows.rows(metric)?.2, is.mirrored(), bound / times),
        _ => return None,
    };
    let most = metric.quantity().and_then(|quantity| quantity.most);
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
        number => Err(cursor.invalid(format!("{number} is no factor"), "a number above 0")),
    }
}

/// The row that stands on both sides. The least and the most of one set of rows are another matter: how far they are apart.
fn own_rival(left: &Side, right: &Side, metric: &Metric, labels: &[RowLabel]) -> Option<RowLabel> {
    let (left, right) = (left.rows(metric)?, right.rows(metric)?);
    let (left_rows, right_rows) = (left.1.pick(labels), right.1.pick(labels));
    let ends = matches!((left.0, right.0), (Fold::Max, Fold::Min) | (Fold::Min, Fold::Max));
    let spans = ends && left_rows == right_rows && left_rows.len() > 1;
    let both = left_rows.into_iter().find(|row| right_rows.contains(row));
    both.filter(|_| !spans && left.2 == right.2).cloned()
}

fn read_number(cursor: &Cursor<'_>) -> Result<f64, Diagnostic> {
    let number: f64 = cursor.read()?;
    if number.is_finite() { Ok(number) } else { Err(cursor.invalid("not a finite number", "")) }
}

/// How far two numbers may be apart.
fn read_factor(fields: &Fields<'_>) -> Result<f64, Diagnostic> {
    let cursor = fields.need("within-factor", WITHIN)?;
    let wrong = match read_number(&cursor)? {
        number if number < 1.0 => format!("{number} is less than 1"),
        1.0 => "with 1 nothing is near by more than a spread; 1.001 for equal numbers".to_owned(),
        number if number > MOST_FACTOR => format!("{number} is no nearness; at most {MOST_FACTOR}"),
        number => return Ok(number),
    };
    Err(cursor.invalid(wrong, WITHIN))
}

fn refuse_factor(fields: &Fields<'_>) -> Result<(), Diagnostic> {
    match fields.get("within-factor") {
        None => Ok(()),
        Some(cursor) => Err(cursor.problem("`within-factor` is for `is = \"near\"` and for `rows`", FORMS)),
    }
}

impl Side {
    fn read(cursor: &Cursor<'_>, labels: &Labels) -> Result<Self, Diagnostic> {
        let right = "a number, or one of { max = [rows] }, { min = [rows] }, { mean = [rows] }, with `metric` if it is another";
        if cursor.entries().is_err() {
            return read_number(cursor)
                .map(Self::Number)
                .map_err(|_| cursor.invalid("not a side of a claim", right));
        }
        let words = FOLDS.iter().map(|(word, _)| *word).chain(["metric"]);
        let fields = cursor.table(&words.collect::<Vec<_>>())?;
        let metric = fields.get("metric").map(|c| labels.groups.read_metric(&c).map(Box::new)).transpose()?;
        let folds: Vec<_> =
            FOLDS.iter().filter_map(|(word, fold)| Some((*fold, fields.get(word)?))).collect();
        let [(fold, rows)] = &folds[..] else {
            return Err(cursor.problem(format!("{} numbers", folds.len()), right));
        };
        Ok(Self::Rows { fold: *fold, rows: Rows::read(rows, "row", &labels.rows)?, metric })
    }

    /// What it takes from the table: rows and metric.
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

    /// Whether `left` stands in this relation to `right`.
    pub fn stands(self, left: f64, right: f64) -> bool {
        match self {
            Self::Below => left < right,
            Self::Above => left > right,
            Self::AtMost => left <= right,
            Self::AtLeast => left >= right,
            Self::Near(factor) => left.max(right) <= factor * left.min(right),
        }
    }

    /// The same with the sides exchanged.
    fn mirrored(self) -> Self {
        match self {
            Self::Below => Self::Above,
            Self::Above => Self::Below,
            Self::AtMost => Self::AtLeast,
            Self::AtLeast => Self::AtMost,
            Self::Near(factor) => Self::Near(factor),
        }
    }

    /// As a sentence has it.
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
    /// The metrics that it needs, where the claim's is `metric`.
    pub(crate) fn metrics<'c>(&'c self, metric: &'c Metric) -> impl Iterator<Item = &'c Metric> {
        let sides = match self {
            Self::Compare { left, right, .. } => [left.rows(metric), right.rows(metric)],
            _ => [None, None],
        };
        std::iter::once(metric).chain(sides.into_iter().flatten().map(|side| side.2))
    }
}
