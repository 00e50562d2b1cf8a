//! `[[claim]]` and `[[miss]]`: a sentence of the paper as a check, and why ours differs.

use crate::metric;
use crate::problem::Problem;
use crate::spec::cursor::{Cursor, Fields};
use crate::spec::groups::Groups;
use crate::spec::rows::Rows;
use crate::world::World;

/// A check on a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// `S0-02`.
    pub id: String,
    /// The paper's sentence.
    pub says: String,
    /// The metric it speaks of.
    pub metric: String,
    /// What must hold.
    pub check: Check,
    /// Whether it holds on the paper's own numbers, if the file says so.
    pub holds_published: Option<bool>,
    /// The variants it is judged in; `None`: all.
    pub variants: Option<Rows>,
    /// Whether it holds only if it does in all of them.
    pub everywhere: bool,
    /// The world it is about.
    pub on: World,
    /// Why it does not hold, or not everywhere.
    pub reason: Option<String>,
}

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
    Increasing(Vec<String>),
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
    Rows(Fold, Rows),
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
const CLAIM_KEYS: &[&str] = &[
    "id",
    "says",
    "metric",
    "left",
    "is",
    "times",
    "right",
    "increasing",
    "rows",
    "within-factor",
    "holds-published",
    "variants",
    "everywhere",
    "on",
    "reason",
];

const FORMS: &str = "a claim has left, is and right; or increasing = [rows]; or rows and within-factor";
const WITHIN: &str = "1.05 means within 5 % either way";

/// What a table has: for checking that a claim or a miss speaks of it.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(crate) rows: Vec<String>,
    pub(crate) variants: Vec<String>,
    pub(crate) metrics: Vec<String>,
    pub(crate) groups: Groups,
}

impl Claim {
    pub(crate) fn read(cursor: &Cursor<'_>, labels: &Labels) -> Result<Self, Problem> {
        let fields = cursor.table(CLAIM_KEYS)?;
        let on = read_world(&fields)?;
        let labels = &labels.on(on);
        Ok(Self {
            on,
            id: fields.need("id", "a name like \"S0-01\"")?.read()?,
            says: fields.need("says", "the sentence of the source")?.read()?,
            metric: labels
                .groups
                .read_metric(&fields.need("metric", "the metric that the claim speaks of")?)?,
            check: Check::read(&fields, labels)?,
            holds_published: fields.read("holds-published")?,
            variants: read_variants(&fields, labels)?,
            everywhere: fields.read("everywhere")?.unwrap_or_default(),
            reason: fields.read("reason")?,
        })
    }

    /// Whether it is judged in this variant.
    pub fn applies_to(&self, variant: &str) -> bool {
        self.variants.as_ref().is_none_or(|v| v.matches(variant))
    }

    /// The rows that it compares with the published ones.
    pub(crate) fn rows_to_compare<'l>(&self, labels: &'l [String]) -> impl Iterator<Item = &'l str> {
        let rows = if let Check::Near { rows, .. } = &self.check { rows.pick(labels) } else { Vec::new() };
        rows.into_iter()
    }

    /// Whether it holds for these rows, and the numbers that were compared, in words. `None` if a number is missing.
    /// `value` and `published` give a row's number in the claim's metric.
    pub fn judge(
        &self,
        labels: &[String],
        value: impl Fn(&str) -> Option<f64>,
        published: impl Fn(&str) -> Option<f64>,
    ) -> Option<(bool, String)> {
        let unit = metric::find(&self.metric).map_or("", |m| m.unit);
        let show = |number: f64| format!("{} {unit}", significant(number)).trim_end().to_owned();
        match &self.check {
            Check::Compare { left, is, times, right } => {
                let (left, right) = (left.value(labels, &value)?, right.value(labels, &value)? * times);
                let holds = is.holds(left, right);
                let not = if holds { "" } else { "not " };
                Some((holds, format!("{} is {not}{} {}", show(left), is.words(), show(right))))
            }
            Check::Increasing(rows) => {
                let numbers = rows.iter().map(|row| value(row)).collect::<Option<Vec<f64>>>()?;
                let texts: Vec<String> = numbers.iter().map(|n| significant(*n)).collect();
                Some((
                    numbers.is_sorted_by(|a, b| a < b),
                    format!("{} {unit}", texts.join(", ")).trim_end().to_owned(),
                ))
            }
            Check::Near { rows, factor } => {
                let picked = rows.pick(labels);
                let pairs = picked
                    .iter()
                    .map(|row| Some((value(row)?, published(row)?)))
                    .collect::<Option<Vec<_>>>()?;
                let near = |(ours, theirs): &(f64, f64)| ours.max(*theirs) <= factor * ours.min(*theirs);
                let texts = picked.iter().zip(&pairs).map(|(row, (ours, theirs))| {
                    format!("{row} {} for {}", significant(*ours), show(*theirs))
                });
                Some((pairs.iter().all(near), texts.collect::<Vec<_>>().join(", ")))
            }
        }
    }
}

/// Four digits: more than any claim needs.
fn significant(number: f64) -> String {
    let size = number.abs();
    let decimals = [1000.0, 100.0, 10.0, 1.0, 0.1, 0.01].iter().position(|limit| size >= *limit).unwrap_or(6);
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl Check {
    fn read(fields: &Fields<'_>, labels: &Labels) -> Result<Self, Problem> {
        match Self::only_form(fields)? {
            0 => Self::read_comparison(fields, labels),
            1 => {
                refuse_factor(fields)?;
                Self::read_increasing(&fields.need("increasing", FORMS)?, labels)
            }
            _ => Self::read_near(fields, labels),
        }
    }

    /// Which of the three forms it has; keys of two of them are one too many.
    fn only_form(fields: &Fields<'_>) -> Result<usize, Problem> {
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

    fn read_increasing(increasing: &Cursor<'_>, labels: &Labels) -> Result<Self, Problem> {
        let rows = increasing.filled_list()?;
        if rows.len() < 2 {
            return Err(increasing.problem("one row alone does not increase", "name at least two rows"));
        }
        let known = || labels.rows.iter().map(String::as_str);
        let label = |row: &Cursor<'_>| {
            let label: String = row.read()?;
            if labels.rows.contains(&label) { Ok(label) } else { Err(row.unknown("row", &label, known())) }
        };
        rows.iter().map(label).collect::<Result<_, _>>().map(Self::Increasing)
    }

    fn read_near(fields: &Fields<'_>, labels: &Labels) -> Result<Self, Problem> {
        let rows = fields.need("rows", "the rows that are near the published ones, like [\"*\"]")?;
        Ok(Self::Near { rows: Rows::read(&rows, "row", &labels.rows)?, factor: read_factor(fields)? })
    }

    fn read_comparison(fields: &Fields<'_>, labels: &Labels) -> Result<Self, Problem> {
        Ok(Self::Compare {
            left: Side::read(&fields.need("left", FORMS)?, labels)?,
            is: Relation::read(fields)?,
            times: fields.get("times").map_or(Ok(1.0), |c| read_number(&c))?,
            right: Side::read(&fields.need("right", FORMS)?, labels)?,
        })
    }
}

fn read_number(cursor: &Cursor<'_>) -> Result<f64, Problem> {
    let number: f64 = cursor.read()?;
    if number.is_finite() { Ok(number) } else { Err(cursor.problem("not a finite number", "")) }
}

/// How far two numbers may be apart.
fn read_factor(fields: &Fields<'_>) -> Result<f64, Problem> {
    let cursor = fields.need("within-factor", WITHIN)?;
    match read_number(&cursor)? {
        number if number >= 1.0 => Ok(number),
        number => Err(cursor.problem(format!("{number} is less than 1"), WITHIN)),
    }
}

fn refuse_factor(fields: &Fields<'_>) -> Result<(), Problem> {
    match fields.get("within-factor") {
        None => Ok(()),
        Some(cursor) => Err(cursor.problem("`within-factor` is for `is = \"near\"` and for `rows`", FORMS)),
    }
}

impl Side {
    fn read(cursor: &Cursor<'_>, labels: &Labels) -> Result<Self, Problem> {
        let right = "a number, or one of { max = [rows] }, { min = [rows] }, { mean = [rows] }";
        let Ok(entries) = cursor.entries() else {
            return read_number(cursor)
                .map(Self::Number)
                .map_err(|_| cursor.problem("not a side of a claim", right));
        };
        cursor.table(&FOLDS.iter().map(|(word, _)| *word).collect::<Vec<_>>())?;
        let [(entry, rows)] = &entries[..] else {
            return Err(cursor.problem(format!("{} numbers", entries.len()), right));
        };
        let fold = FOLDS.iter().find(|(word, _)| *word == entry.key).map_or(Fold::Mean, |(_, fold)| *fold);
        Ok(Self::Rows(fold, Rows::read(rows, "row", &labels.rows)?))
    }

    fn value(&self, labels: &[String], value: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Rows(fold, rows) => {
                let numbers = rows.pick(labels).into_iter().map(value).collect::<Option<Vec<f64>>>()?;
                fold.of(&numbers)
            }
        }
    }
}

impl Fold {
    fn of(self, numbers: &[f64]) -> Option<f64> {
        match self {
            Self::Max => numbers.iter().copied().reduce(f64::max),
            Self::Min => numbers.iter().copied().reduce(f64::min),
            Self::Mean => (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64),
        }
    }
}

impl Relation {
    fn read(fields: &Fields<'_>) -> Result<Self, Problem> {
        let is = fields.need("is", FORMS)?.word("relation", RELATIONS)?;
        if let Self::Near(_) = is {
            return read_factor(fields).map(Self::Near);
        }
        refuse_factor(fields).map(|()| is)
    }

    /// Whether `left` stands in this relation to `right`.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Below => left < right,
            Self::Above => left > right,
            Self::AtMost => left <= right,
            Self::AtLeast => left >= right,
            Self::Near(factor) => left.max(right) <= factor * left.min(right),
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

/// Why cells of the table differ from the published ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Miss {
    /// Of these rows.
    pub rows: Rows,
    /// These metrics.
    pub metrics: Vec<String>,
    /// The world of the rows.
    pub on: World,
    /// In these variants; `None`: all.
    pub variants: Option<Rows>,
    /// The reason.
    pub reason: String,
}

impl Miss {
    pub(crate) fn read(cursor: &Cursor<'_>, labels: &Labels) -> Result<Self, Problem> {
        let fields = cursor.table(&["rows", "metrics", "variants", "on", "reason"])?;
        let on = read_world(&fields)?;
        let labels = &labels.on(on);
        let metrics = fields.need("metrics", "the metrics that differ")?.filled_list()?;
        Ok(Self {
            on,
            rows: Rows::read(
                &fields.need("rows", "the rows that differ, like [\"*\"]")?,
                "row",
                &labels.rows,
            )?,
            metrics: metrics.iter().map(|m| read_metric_of(m, labels)).collect::<Result<_, _>>()?,
            variants: read_variants(&fields, labels)?,
            reason: fields.need("reason", "why ours differs")?.read()?,
        })
    }

    /// Whether this cell is one of them.
    pub fn explains(&self, variant: &str, row: &str, metric: &str) -> bool {
        self.metrics.iter().any(|m| m == metric)
            && World::of(row).1 == self.on
            && self.rows.matches(row)
            && self.variants.as_ref().is_none_or(|v| v.matches(variant))
    }
}

/// A claim or a miss is about the simulator's rows, unless it says `on = "wire"`: then about those of `run --on wire`.
fn read_world(fields: &Fields<'_>) -> Result<World, Problem> {
    const WORLDS: &[(&str, World)] = &[("sim", World::Sim), ("wire", World::Wire)];
    fields.get("on").map_or(Ok(World::Sim), |cursor| cursor.word("world", WORLDS))
}

fn read_variants(fields: &Fields<'_>, labels: &Labels) -> Result<Option<Rows>, Problem> {
    fields.get("variants").map(|c| Rows::read(&c, "variant", &labels.variants)).transpose()
}

/// A metric that the experiment's table shows.
pub(crate) fn read_metric_of(cursor: &Cursor<'_>, labels: &Labels) -> Result<String, Problem> {
    let word = labels.groups.read_metric(cursor)?;
    if labels.metrics.contains(&word) {
        return Ok(word);
    }
    let right = format!("the table shows {}; add it to [table] metrics", labels.metrics.join(", "));
    Err(cursor.problem(format!("`{word}` is not in the table"), right))
}
