//! Reads `[[claim]]`: a statement of the source, written as one check or several.

use crate::diagnostic::Diagnostic;
use crate::file::check::Check;
use crate::file::compared::Sample;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::Labels;
use crate::file::reference::Reference;
use crate::file::rows::{Rows, matches};
use crate::file::tables::define::{Needs, known_keys, table};
use crate::file::tables::judgement;
use crate::metric::Metric;
use crate::place::Place;
use crate::prose;
use crate::row::RowLabel;

table! {
    /// `[[claim]]`.
    #[derive(PartialEq)]
    pub Claim(labels: &Labels) {
        /// Identifier, like `"S0-01"`.
        id: String => "write a name like \"S0-01\"";
        /// The statement, quoted from the source.
        says: String => "write the statement of the source";
        /// Whether the statement is ours and not the source's. Such claims are counted separately.
        ours: bool = false;
        /// Whether the source puts the statement first, in its abstract or conclusion. Main claims
        /// are shown first.
        main: bool = false;
        /// The checks, all of which must hold.
        #[serde(skip)]
        parts: Vec<Part> = Vec::new() => later;
        /// Whether the claim is judged in all variants, not only in the reference variants.
        everywhere: bool = false;
        /// World whose rows are judged: `"sim"` (default), `"stack"` or `"wire"`.
        #[schemars(with = "Option<String>")]
        on: Place = Place::SIM => later;
        /// Reason why the claim does not hold, or does not hold everywhere.
        reason: Option<String> = None, |at| read_prose(at, labels).map(Some);
        /// Whether the cause is unknown. The reason then lists what was tried.
        open: bool = false;
    }
}

/// A check on a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The part of the statement, if it has several.
    pub says: Option<String>,
    pub metric: Metric,
    /// The condition that must hold.
    pub check: Check,
    /// Whether it holds on the source's own numbers, if the file says so.
    pub holds_published: Option<bool>,
    /// Variants in which it is judged; `None` for all.
    pub variants: Option<Rows>,
}

/// `[[claim]]` with its check, or with those of its parts.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "claim", transform = Needs("id says"))]
pub(crate) struct ClaimTable {
    #[serde(flatten)]
    claim: Claim,
    /// Several checks, each with its own statement.
    part: Option<Vec<judgement::Part>>,
    #[serde(flatten)]
    check: judgement::Check,
}

known_keys!(KEYS: ClaimTable);
known_keys!(PART_KEYS: judgement::Part);
known_keys!(CHECK_KEYS: judgement::Check);

/// Keys of a check that apply to every part of a claim.
const FOR_EVERY_PART: [&str; 2] = ["metric", "variants"];

impl Claim {
    pub(crate) fn read_whole(cursor: &Cursor<'_>, labels: &Labels) -> Result<Self, Diagnostic> {
        let fields = cursor.table(&KEYS)?;
        let on = read_world(&fields)?;
        let labels = &labels.on(on);
        let claim = Self::read(&fields, labels)?;
        Ok(Self { on, parts: read_parts(&fields, labels)?, ..claim })
    }

    /// Reports whether any part is judged in this variant.
    pub fn applies_to(&self, variant: &str) -> bool {
        self.parts.iter().any(|part| part.applies_to(variant))
    }

    /// Returns the metrics that it needs.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &Metric> {
        self.parts.iter().flat_map(|part| part.check.metrics(&part.metric))
    }
}

impl Part {
    /// Judges the part on the source's own numbers. Returns whether it holds, and the numbers in
    /// words.
    pub(crate) fn judged_by(&self, source: &Reference) -> Option<(bool, String)> {
        let value = |row: &RowLabel| source.value(row, &self.metric);
        let rows = source.numbers.rows.keys().map(|row| RowLabel::new(row, Place::SIM));
        let printed: Vec<RowLabel> = rows.filter(|row| value(row).is_some()).collect();
        if matches!(self.check, Check::Near { .. }) {
            return None; // published numbers always equal themselves
        }
        let sample = |row: &RowLabel, metric: &Metric| source.value(row, metric).map(Sample::exact);
        let numbers = self.check.numbers(&self.metric, &printed, sample, value)?;
        Some((numbers.stands(), numbers.in_words(&self.metric)))
    }

    /// Reads a part. The claim's `metric` and `variants` apply to every part that does not set its
    /// own.
    fn read(fields: &Fields<'_>, claim: Option<&Fields<'_>>, labels: &Labels) -> Result<Self, Diagnostic> {
        let inherited = |key: &str| fields.get(key).or_else(|| claim?.get(key));
        let right = "write the claim's metric, like \"goodput\"";
        let metric_at = inherited("metric").map_or_else(|| fields.need("metric", right), Ok)?;
        let metric = labels.groups.read_metric(&metric_at)?;
        let variants = inherited("variants");
        Ok(Self {
            says: claim
                .map(|_| fields.need("says", "write the part of the statement")?.read())
                .transpose()?,
            check: Check::read(fields, labels, &metric)?,
            metric,
            holds_published: fields.read("holds-published")?,
            variants: variants.map(|c| Rows::read(&c, "variant", &labels.variants)).transpose()?,
        })
    }

    /// Reports whether it is judged in this variant.
    pub fn applies_to(&self, variant: &str) -> bool {
        self.variants.as_ref().is_none_or(|v| v.matches(variant))
    }

    /// Returns the rows that it compares with the published ones.
    pub(crate) fn rows_to_compare<'l>(&self, labels: &'l [RowLabel]) -> impl Iterator<Item = &'l RowLabel> {
        let rows = if let Check::Near { rows, .. } = &self.check { rows.pick(labels) } else { Vec::new() };
        rows.into_iter()
    }
}

/// Reads the claim's own check, or those of `[[claim.part]]`.
fn read_parts(fields: &Fields<'_>, labels: &Labels) -> Result<Vec<Part>, Diagnostic> {
    let Some(parts) = fields.get("part") else { return Ok(vec![Part::read(fields, None, labels)?]) };
    let own = CHECK_KEYS.iter().filter(|key| !FOR_EVERY_PART.contains(key));
    if let Some(check) = own.into_iter().find_map(|key| fields.get(key)) {
        return Err(check.problem("not allowed together with [[claim.part]]", "write the check in each part"));
    }
    parts.tables()?.iter().map(|part| Part::read(&part.table(&PART_KEYS)?, Some(fields), labels)).collect()
}

/// Reads `on`. A claim or a known deviation is about the simulator's rows, unless `on` names
/// another backend. For example, `on = "wire"` means the rows of `run --on wire`.
pub(crate) fn read_world(fields: &Fields<'_>) -> Result<Place, Diagnostic> {
    let worlds = Place::WORLDS.map(|backend| (backend.word(), backend));
    fields.get("on").map_or(Ok(Place::SIM), |cursor| cursor.word("world", &worlds))
}

/// Reads a metric that the experiment's table shows.
pub(crate) fn read_table_metric(cursor: &Cursor<'_>, labels: &Labels) -> Result<Metric, Diagnostic> {
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

/// Reads a sentence with placeholders like `{row: metric}`, and checks each of them.
pub(crate) fn read_prose(cursor: &Cursor<'_>, labels: &Labels) -> Result<String, Diagnostic> {
    let text: String = cursor.read()?;
    let depth = text.chars().try_fold(0_i32, |depth, c| match (c, depth) {
        ('{', 0) => Some(1),
        ('}', 1) => Some(0),
        ('{' | '}', _) => None,
        _ => Some(depth),
    });
    if depth != Some(0) {
        return Err(cursor.invalid("unbalanced brace", "write {row: metric} for a number of the run"));
    }
    for place in prose::places(&text) {
        let right = "write {row: metric}, {row: published metric} or {row: metric | variant}";
        let place =
            place.map_err(|inside| cursor.invalid(format!("invalid placeholder `{{{inside}}}`"), right))?;
        if !labels.rows.contains(&place.row) {
            return Err(cursor.unknown_name(
                "row",
                place.row.as_str(),
                labels.rows.iter().map(RowLabel::as_str),
            ));
        }
        labels.groups.check_metric(cursor, &place.metric)?;
        if place.published && labels.published(&place.row, &place.metric).is_none() {
            let wrong = format!("no published {} for `{}`", place.metric, place.row);
            let right = "add the metric to published.columns, and name a row that the table has";
            return Err(cursor.problem(wrong, right));
        }
        let known = |pattern: &str| labels.variants.iter().any(|variant| matches(pattern, variant));
        if let Some(pattern) = place.variant.filter(|pattern| !known(pattern)) {
            return Err(cursor.unknown_name("variant", pattern, labels.variants.iter().map(String::as_str)));
        }
    }
    Ok(text)
}
