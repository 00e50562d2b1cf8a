//! Checks of claims: sides, relations, and their syntax.

use serde::Serialize;

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::Labels;
use crate::file::rows::Rows;
use crate::file::tables::define::table;
use crate::metric::Metric;
use crate::row::RowLabel;

table! {
    /// The check of a claim or of a part of it.
    #[derive(Default)]
    #[schemars(rename = "check")]
    pub(crate) CheckTable(labels: &Labels) {
        /// Metric of both sides, unless a side has its own.
        #[schemars(with = "Option<String>")]
        metric: Option<Metric> = None, |at| labels.groups.read_metric(at).map(Some);
        /// Left side: a number, or `max`, `min` or `mean` of rows: `{ min = ["b: *"], metric =
        /// "goodput" }`.
        #[schemars(with = "Option<serde_json::Value>")]
        left: Option<Side> = None, |at| Side::read(at, labels).map(Some);
        /// Relation: `"below"`, `"above"`, `"at-most"`, `"at-least"` or `"near"`.
        #[schemars(with = "Option<String>")]
        is: Option<Relation> = None, |at: &Cursor<'_>| at.word("relation", RELATIONS).map(Some);
        /// Largest ratio between the values, for `near` and for `rows`: `1.05` means within 5 %.
        within_factor: Option<f64> = None, |at| factor(at).map(Some);
        /// Factor applied to the right side.
        times: Option<f64> = None, |at| factor_above_0(at).map(Some);
        /// Right side, as `left`.
        #[schemars(with = "Option<serde_json::Value>")]
        right: Option<Side> = None, |at| Side::read(at, labels).map(Some);
        /// Rows whose values must increase in this order.
        #[schemars(with = "Option<Vec<String>>")]
        increasing: Option<Vec<RowLabel>> = None, |at| increasing(at, labels).map(Some);
        /// Rows that must be near their published values.
        #[schemars(with = "Option<Vec<String>>")]
        rows: Option<Rows> = None, |at| Rows::read(at, "row", &labels.rows).map(Some);
        /// Whether the check holds on the source's own numbers, if known.
        holds_published: Option<bool> = None;
        /// Patterns of the variants in which it is judged. Default: all.
        #[schemars(with = "Option<Vec<String>>")]
        variants: Option<Rows> = None, |at| Rows::read(at, "variant", &labels.variants).map(Some);
    }
}

/// A condition that must hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Fold {
    /// The largest.
    Max,
    /// The smallest.
    Min,
    Mean,
}

/// A relation between two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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

impl CheckTable {
    /// Returns the check, which has one of three forms.
    pub(crate) fn check(
        &self,
        fields: &Fields<'_>,
        labels: &Labels,
        metric: &Metric,
    ) -> Result<Check, Diagnostic> {
        check_forms(fields)?;
        if let Some(rows) = &self.increasing {
            return refuse_factor(fields).map(|()| Check::Increasing(rows.clone()));
        }
        let factor = || self.within_factor.ok_or_else(|| fields.missing("within-factor", WITHIN));
        match &self.rows {
            Some(rows) => Ok(Check::Near { rows: rows.clone(), factor: factor()? }),
            None => self.comparison(fields, labels, metric, factor),
        }
    }

    fn comparison(
        &self,
        fields: &Fields<'_>,
        labels: &Labels,
        metric: &Metric,
        factor: impl Fn() -> Result<f64, Diagnostic>,
    ) -> Result<Check, Diagnostic> {
        let side = |key, side: &Option<Side>| side.clone().ok_or_else(|| fields.missing(key, FORMS));
        let (left, right) = (side("left", &self.left)?, side("right", &self.right)?);
        if let Some(row) = row_on_both_sides(&left, &right, metric, &labels.rows) {
            let wrong = format!("row `{row}` is on both sides");
            return Err(fields
                .at("right")
                .problem(wrong, format!("exclude it from one side with \"!{row}\"")));
        }
        let is = match self.is.ok_or_else(|| fields.missing("is", FORMS))? {
            Relation::Near(_) => Relation::Near(factor()?),
            is => refuse_factor(fields).map(|()| is)?,
        };
        let times = self.times.unwrap_or(1.0);
        match always_holds(&left, is, times, &right, metric) {
            Some(why) => {
                let wrong = format!("{why}, so this always holds");
                Err(fields.at("right").problem(wrong, "choose a bound that can fail"))
            }
            None => Ok(Check::Compare { left, is, times, right }),
        }
    }
}

/// Refuses keys of more than one form.
fn check_forms(fields: &Fields<'_>) -> Result<(), Diagnostic> {
    let forms: [&[&str]; 3] = [&["left", "is", "times", "right"], &["increasing"], &["rows"]];
    let first = |form: &&[&'static str]| form.iter().find_map(|key| Some((*key, fields.get(key)?)));
    let found: Vec<_> = forms.iter().filter_map(first).collect();
    match &found[..] {
        [(other, _), (key, cursor), ..] => {
            Err(cursor.problem(format!("`{other}` and `{key}` cannot be combined"), FORMS))
        }
        _ => Ok(()),
    }
}

/// Reads the rows of a chain, each once.
fn increasing(cursor: &Cursor<'_>, labels: &Labels) -> Result<Vec<RowLabel>, Diagnostic> {
    let list = cursor.filled_list()?;
    if list.len() < 2 {
        return Err(cursor.problem("`increasing` needs at least two rows", ""));
    }
    let mut rows: Vec<RowLabel> = Vec::new();
    for row in list {
        let label: RowLabel = row.read::<String>()?.into();
        if rows.contains(&label) {
            return Err(row.problem(format!("row `{label}` appears twice"), "list each row once"));
        }
        if !labels.rows.contains(&label) {
            let known = labels.rows.iter().map(RowLabel::as_str);
            return Err(row.unknown_name("row", label.as_str(), known));
        }
        rows.push(label);
    }
    Ok(rows)
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

fn factor_above_0(cursor: &Cursor<'_>) -> Result<f64, Diagnostic> {
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
fn factor(cursor: &Cursor<'_>) -> Result<f64, Diagnostic> {
    let wrong = match read_number(cursor)? {
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
