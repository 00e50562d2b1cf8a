//! `[[claim]]`: a sentence of the source as a check, or as several.

use crate::backend::Backend;
use crate::diagnostic::Diagnostic;
use crate::file::check::Check;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::Labels;
use crate::file::reference::Reference;
use crate::file::rows::{Rows, matches};
use crate::file::tables::{self, known_keys};
use crate::metric::Metric;
use crate::prose;
use crate::row::RowLabel;
use crate::verdict::{self, Sample};

/// A sentence of the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// `S0-02`.
    pub id: String,
    /// The sentence.
    pub says: String,
    /// It is not the source's but this project's own.
    pub ours: bool,
    /// One of the few sentences that the source itself puts first, in its abstract or conclusion.
    pub main: bool,
    /// What must hold together for it.
    pub parts: Vec<Part>,
    /// It speaks of every variant that it is judged in, whatever the file's reference.
    pub everywhere: bool,
    /// The world it is about.
    pub on: Backend,
    /// Why it does not hold, or not everywhere.
    pub reason: Option<String>,
    /// The cause is not known: the reason says what was tried.
    pub open: bool,
}

/// A check on a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Which part of the sentence, if it has several.
    pub says: Option<String>,
    /// The metric it speaks of.
    pub metric: Metric,
    /// What must hold.
    pub check: Check,
    /// Whether it holds on the source's own numbers, if the file says so.
    pub holds_published: Option<bool>,
    /// The variants it is judged in; `None`: all.
    pub variants: Option<Rows>,
}

known_keys!(KEYS: tables::judgement::Claim);
known_keys!(PART_KEYS: tables::judgement::Part);
known_keys!(CHECK_KEYS: tables::judgement::Check);

/// Keys of a check that hold for every part of a claim.
const FOR_EVERY_PART: [&str; 2] = ["metric", "variants"];

impl Claim {
    pub(crate) fn read(cursor: &Cursor<'_>, labels: &Labels) -> Result<Self, Diagnostic> {
        let fields = cursor.table(&KEYS)?;
        let on = read_world(&fields)?;
        let labels = &labels.on(on);
        Ok(Self {
            on,
            id: fields.need("id", "a name like \"S0-01\"")?.read()?,
            says: fields.need("says", "the sentence of the source")?.read()?,
            ours: fields.read("ours")?.unwrap_or_default(),
            main: fields.read("main")?.unwrap_or_default(),
            parts: read_parts(&fields, labels)?,
            everywhere: fields.read("everywhere")?.unwrap_or_default(),
            reason: fields.get("reason").map(|c| read_prose(&c, labels)).transpose()?,
            open: fields.read("open")?.unwrap_or_default(),
        })
    }

    /// Whether any part of it is judged in this variant.
    pub fn applies_to(&self, variant: &str) -> bool {
        self.parts.iter().any(|part| part.applies_to(variant))
    }

    /// The metrics that it needs.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &Metric> {
        self.parts.iter().flat_map(|part| part.check.metrics(&part.metric))
    }
}

impl Part {
    /// Judges it on the rows that the source prints: whether it holds, and the numbers.
    pub(crate) fn judged_by(&self, source: &Reference) -> Option<(bool, String)> {
        let value = |row: &RowLabel| source.value(row, &self.metric);
        let rows = source.numbers.rows.keys().map(|row| RowLabel::new(row, Backend::Sim));
        let printed: Vec<RowLabel> = rows.filter(|row| value(row).is_some()).collect();
        if matches!(self.check, Check::Near { .. }) {
            return None; // the published numbers are near themselves
        }
        let sample = |row: &RowLabel, metric: &Metric| source.value(row, metric).map(Sample::exact);
        let judgement = verdict::judge(&self.check, &self.metric, &printed, sample, value)?;
        Some((judgement.stands, judgement.numbers))
    }

    /// `metric` and `variants` of the claim hold for every part that has none of its own.
    fn read(fields: &Fields<'_>, claim: Option<&Fields<'_>>, labels: &Labels) -> Result<Self, Diagnostic> {
        let inherited = |key: &str| fields.get(key).or_else(|| claim?.get(key));
        let right = "the metric that the claim speaks of";
        let metric_at = inherited("metric").map_or_else(|| fields.need("metric", right), Ok)?;
        let metric = labels.groups.read_metric(&metric_at)?;
        let variants = inherited("variants");
        Ok(Self {
            says: claim
                .map(|_| fields.need("says", "which part of the sentence it is")?.read())
                .transpose()?,
            check: Check::read(fields, labels, &metric)?,
            metric,
            holds_published: fields.read("holds-published")?,
            variants: variants.map(|c| Rows::read(&c, "variant", &labels.variants)).transpose()?,
        })
    }

    /// Whether it is judged in this variant.
    pub fn applies_to(&self, variant: &str) -> bool {
        self.variants.as_ref().is_none_or(|v| v.matches(variant))
    }

    /// The rows that it compares with the published ones.
    pub(crate) fn rows_to_compare<'l>(&self, labels: &'l [RowLabel]) -> impl Iterator<Item = &'l RowLabel> {
        let rows = if let Check::Near { rows, .. } = &self.check { rows.pick(labels) } else { Vec::new() };
        rows.into_iter()
    }
}

/// The claim's own check, or those of `[[claim.part]]`.
fn read_parts(fields: &Fields<'_>, labels: &Labels) -> Result<Vec<Part>, Diagnostic> {
    let Some(parts) = fields.get("part") else { return Ok(vec![Part::read(fields, None, labels)?]) };
    let own = CHECK_KEYS.iter().filter(|key| !FOR_EVERY_PART.contains(key));
    if let Some(check) = own.into_iter().find_map(|key| fields.get(key)) {
        return Err(check.problem("beside [[claim.part]]", "each part has a check of its own"));
    }
    parts.tables()?.iter().map(|part| Part::read(&part.table(&PART_KEYS)?, Some(fields), labels)).collect()
}

/// A claim or a known deviation is about the simulator's rows, unless it names another backend: `on = "wire"` is about those of `run --on wire`.
pub(crate) fn read_world(fields: &Fields<'_>) -> Result<Backend, Diagnostic> {
    let worlds = Backend::WORLDS.map(|backend| (backend.word(), backend));
    fields.get("on").map_or(Ok(Backend::Sim), |cursor| cursor.word("world", &worlds))
}

pub(crate) fn read_variants(fields: &Fields<'_>, labels: &Labels) -> Result<Option<Rows>, Diagnostic> {
    fields.get("variants").map(|c| Rows::read(&c, "variant", &labels.variants)).transpose()
}

/// A metric that the experiment's table shows.
pub(crate) fn read_metric_of(cursor: &Cursor<'_>, labels: &Labels) -> Result<Metric, Diagnostic> {
    let metric = labels.groups.read_metric(cursor)?;
    if labels.metrics.contains(&metric) {
        return Ok(metric);
    }
    let right = format!("the table shows {}; add it to [table] metrics", listed(&labels.metrics));
    Err(cursor.problem(format!("`{metric}` is not in the table"), right))
}

fn listed(metrics: &[Metric]) -> String {
    metrics.iter().map(Metric::as_str).collect::<Vec<_>>().join(", ")
}

/// A sentence whose `{row: metric}` are numbers of the table.
pub(crate) fn read_prose(cursor: &Cursor<'_>, labels: &Labels) -> Result<String, Diagnostic> {
    let text: String = cursor.read()?;
    let depth = text.chars().try_fold(0_i32, |depth, c| match (c, depth) {
        ('{', 0) => Some(1),
        ('}', 1) => Some(0),
        ('{' | '}', _) => None,
        _ => Some(depth),
    });
    if depth != Some(0) {
        return Err(cursor.invalid("a brace without its other", "{row: metric} is a number of the run"));
    }
    for place in prose::places(&text) {
        let right = "{row: metric}, {row: published metric} or {row: metric | variant}";
        let place = place.map_err(|inside| cursor.invalid(format!("`{{{inside}}}` is no number"), right))?;
        if !labels.rows.contains(&place.row) {
            return Err(cursor.unknown_name(
                "row",
                place.row.as_str(),
                labels.rows.iter().map(RowLabel::as_str),
            ));
        }
        labels.groups.check_metric(cursor, &place.metric)?;
        if place.published && labels.published(&place.row, &place.metric).is_none() {
            let wrong = format!("no published {} of `{}`", place.metric, place.row);
            let right = "name the metric in published.columns, and only rows that the table has";
            return Err(cursor.problem(wrong, right));
        }
        let known = |pattern: &str| labels.variants.iter().any(|variant| matches(pattern, variant));
        if let Some(pattern) = place.variant.filter(|pattern| !known(pattern)) {
            return Err(cursor.unknown_name("variant", pattern, labels.variants.iter().map(String::as_str)));
        }
    }
    Ok(text)
}
