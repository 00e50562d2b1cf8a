//! Reads `[[claim]]`: a statement of the source, written as one check or several. `[reference]`
//! says in which variants claims are judged.

use crate::diagnostic::Diagnostic;
use crate::file::check::Check;
use crate::file::compared::Sample;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::{Labels, read_prose, read_world};
use crate::file::reference::Reference;
use crate::file::rows::Rows;
use crate::file::tables::define::{Needs, known_keys, table};
use crate::file::tables::judgement;
use crate::file::values::repetitions;
use crate::metric::Metric;
use crate::place::Place;
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

table! {
    /// `[reference]`.
    #[schemars(rename = "reference", transform = Needs("variants why"))]
    pub(crate) ReferenceTable(labels: &Labels) {
        /// Patterns of the names of the reference variants.
        #[schemars(with = "Vec<String>")]
        variants: Rows =>
            "write the variants that match the source, like [\"hystart,*\"]",
            |at| Rows::read(at, "variant", &labels.variants);
        /// Statement of the source that identifies these variants and, if it says nothing, whose
        /// default is used.
        why: String =>
            "write what the source states and, if it says nothing, whose default is used",
            |at| read_prose(at, labels);
        /// Number of runs of each variant that is not a reference, if fewer than `repetitions`.
        /// Claims are judged by the spread of the reference variants only. `--repeat` and `--set
        /// repetitions` apply to all variants.
        repetitions_of_others: Option<u32> = None, |at| repetitions(at).map(Some);
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
