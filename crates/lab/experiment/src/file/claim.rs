//! Reads `[[claim]]`: a statement of the source, written as one check or several. `[reference]`
//! says in which variants claims are judged.

use crate::diagnostic::Diagnostic;
use crate::file::check::{Check, CheckTable};
use crate::file::compared::Sample;
use crate::file::cursor::{Cursor, Fields};
use crate::file::labels::{Labels, read_prose, read_world};
use crate::file::reference::Reference;
use crate::file::rows::Rows;
use crate::file::tables::define::{Needs, table};
use crate::file::values::{MAX_REPETITIONS, whole};
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
        repetitions_of_others: Option<u32> = None, |at| whole(1..=MAX_REPETITIONS)(at).map(Some);
    }
}

/// A check on a table.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
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

table! {
    /// `[[claim]]` with its check, or with those of its parts.
    #[schemars(rename = "claim", transform = Needs("id says"))]
    pub(crate) ClaimTable(labels: &Labels) {
        #[serde(flatten)]
        claim: Claim => table;
        #[serde(flatten)]
        check: CheckTable => table;
        /// Several checks, each with its own statement.
        #[schemars(with = "Option<Vec<PartTable>>")]
        part: Option<Vec<Part>> = None, |at| read_parts(at, &check, labels).map(Some);
    }
}

table! {
    /// `[[claim.part]]`.
    #[schemars(rename = "claim-part", transform = Needs("says"))]
    PartTable(labels: &Labels) {
        /// The part of the statement that is checked.
        says: String => "write the part of the statement";
        #[serde(flatten)]
        check: CheckTable => table;
    }
}

/// Keys of a check that apply to every part of a claim.
const FOR_EVERY_PART: [&str; 2] = ["metric", "variants"];

impl Claim {
    /// Reads a claim that has none of the `known` identifiers.
    pub(crate) fn read_whole(
        cursor: &Cursor<'_>,
        labels: &Labels,
        known: &mut Vec<String>,
    ) -> Result<Self, Diagnostic> {
        let fields = cursor.table(ClaimTable::known())?;
        let on = read_world(&fields)?;
        let all = labels.on(on);
        let ClaimTable { claim, check, part } = ClaimTable::read(&fields, &all)?;
        let parts = match part {
            Some(parts) => refuse_check(&fields).map(|()| parts)?,
            None => vec![Part::new(None, &fields, &check, &CheckTable::default(), &all)?],
        };
        if known.contains(&claim.id) {
            let wrong = format!("duplicate claim id `{}`", claim.id);
            return Err(cursor.problem(wrong, "give each claim its own id"));
        }
        known.push(claim.id.clone());
        parts.iter().try_for_each(|part| part.check_published(cursor, labels))?;
        Ok(Self { on, parts, ..claim })
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
        let value = |row: &RowLabel| source.in_any_variant(row, &self.metric);
        let rows = source.numbers.rows.keys().map(|row| RowLabel::new(row, Place::SIM));
        let printed: Vec<RowLabel> = rows.filter(|row| value(row).is_some()).collect();
        if matches!(self.check, Check::Near { .. }) {
            return None; // published numbers always equal themselves
        }
        let sample = |row: &RowLabel, metric: &Metric| source.in_any_variant(row, metric).map(Sample::exact);
        let numbers = self.check.numbers(&self.metric, &printed, sample, value)?;
        Some((numbers.stands(), numbers.in_words(&self.metric)))
    }

    /// Creates a part. The claim's `metric` and `variants` apply to every part that does not set
    /// its own.
    fn new(
        says: Option<String>,
        fields: &Fields<'_>,
        own: &CheckTable,
        claim: &CheckTable,
        labels: &Labels,
    ) -> Result<Self, Diagnostic> {
        let missing = || fields.missing("metric", "write the claim's metric, like \"goodput\"");
        let metric = own.metric.as_ref().or(claim.metric.as_ref()).ok_or_else(missing)?.clone();
        Ok(Self {
            says,
            check: own.check(fields, labels, &metric)?,
            metric,
            holds_published: own.holds_published,
            variants: own.variants.as_ref().or(claim.variants.as_ref()).cloned(),
        })
    }

    /// Checks that the statement about the published numbers is true.
    fn check_published(&self, cursor: &Cursor<'_>, labels: &Labels) -> Result<(), Diagnostic> {
        let has_none = |row: &&RowLabel| !labels.has_published(row, &self.metric);
        if let Some(row) = self.rows_to_compare(&labels.rows).find(has_none) {
            let wrong = format!("no published {} for `{row}` to compare with", self.metric);
            return Err(cursor.problem(
                wrong,
                "add the metric to published.columns, and list only rows that the table has",
            ));
        }
        match labels.published.as_ref().and_then(|p| self.judged_by(p)).zip(self.holds_published) {
            Some(((holds, numbers), says)) if holds != says => {
                let wrong =
                    format!("the claim has holds-published = {says}, but in the published table {numbers}");
                Err(cursor.problem(wrong, format!("holds-published = {holds}")))
            }
            _ => Ok(()),
        }
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

/// Reads `[[claim.part]]`. `check` holds the claim's own keys of a check.
fn read_parts(cursor: &Cursor<'_>, check: &CheckTable, labels: &Labels) -> Result<Vec<Part>, Diagnostic> {
    let part = |part: &Cursor<'_>| {
        let fields = part.table(PartTable::known())?;
        let PartTable { says, check: own } = PartTable::read(&fields, labels)?;
        Part::new(Some(says), &fields, &own, check, labels)
    };
    cursor.tables()?.iter().map(part).collect()
}

/// Refuses a claim's own check next to those of its parts.
fn refuse_check(fields: &Fields<'_>) -> Result<(), Diagnostic> {
    let own = CheckTable::known().iter().filter(|key| !FOR_EVERY_PART.contains(key));
    match own.into_iter().find_map(|key| fields.get(key)) {
        Some(check) => {
            Err(check.problem("not allowed together with [[claim.part]]", "write the check in each part"))
        }
        None => Ok(()),
    }
}
