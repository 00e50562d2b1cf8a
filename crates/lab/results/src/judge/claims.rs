//! Judges claims from the outcomes of their parts in each variant.

use crate::judge::trusted_cell;
use crate::summary::{Cell, ClaimResult, Judged, PartResult, Variant, Verdict};
use crate::verdict::{self, Outcome};
use experiment::file::{Claim, Experiment, Part, Sample};
use experiment::metric::Metric;
use experiment::row::RowLabel;

/// Judges a claim in every variant that it refers to.
pub(super) fn judge(exp: &Experiment, claim: &Claim, variants: &[Variant]) -> ClaimResult {
    let part = |part: &Part| PartResult {
        says: part.says.clone(),
        metric: part.metric.clone(),
        holds_published: exp.holds_published(part),
        variants: variants
            .iter()
            .filter(|variant| part.applies_to(&variant.name))
            .map(|variant| judge_part(claim, part, variant))
            .collect(),
    };
    let parts: Vec<PartResult> = claim.parts.iter().map(part).collect();
    ClaimResult {
        id: claim.id.clone(),
        says: claim.says.clone(),
        ours: claim.ours,
        main: claim.main,
        verdict: verdict(&parts),
        parts,
        reason: claim.reason.clone(),
        open: claim.open,
    }
}

fn judge_part(claim: &Claim, part: &Part, variant: &Variant) -> Judged {
    // A claim about the simulator ignores rows of other backends.
    let seen = || variant.rows.iter().filter(|row| claim.on.shows(row.label.backend()));
    let labels: Vec<RowLabel> = seen().map(|row| row.label.clone()).collect();
    let cell = |label: &RowLabel, metric: &Metric| trusted_cell(variant, label, metric);
    let sample = |cell: &Cell| Sample { value: cell.value(), spread: cell.spread };
    let numbers = part.check.numbers(
        &part.metric,
        &labels,
        |label, metric| cell(label, metric).map(sample),
        |label| cell(label, &part.metric)?.published,
    );
    let judgement = numbers.as_ref().map(verdict::judge);
    let untrusted = seen().any(|row| !row.is_trusted());
    let missing = if untrusted { "a required run is invalid" } else { Judged::MISSING };
    let number = |number: f64| Some(number).filter(|number| number.is_finite());
    Judged {
        variant: variant.name.clone(),
        reference: variant.reference || claim.everywhere,
        outcome: judgement.map_or(Outcome::NotJudged, |j| j.outcome),
        margin: judgement.and_then(|j| number(j.margin)),
        spread: judgement.and_then(|j| number(j.spread?)),
        one_run: judgement.is_some_and(|j| j.spread.is_none()),
        numbers: numbers.map_or_else(|| missing.to_owned(), |numbers| numbers.in_words(&part.metric)),
    }
}

/// Combines the parts of a claim, which must hold together in the reference. Other variants do not
/// count, so a claim that refers to no reference variant is not judged.
fn verdict(parts: &[PartResult]) -> Verdict {
    let counted = || parts.iter().flat_map(PartResult::in_reference);
    let any = |outcome| counted().any(|judged| judged.outcome == outcome);
    if !any(Outcome::Missed) {
        return match () {
            () if counted().next().is_none() || any(Outcome::NotJudged) => Verdict::NotJudged,
            () if any(Outcome::WithinSpread) => Verdict::WithinSpread,
            () => Verdict::Holds,
        };
    }
    let part_holds = |part: &PartResult| {
        let mut own = part.in_reference().peekable();
        own.peek().is_some() && own.all(|judged| judged.outcome == Outcome::Holds)
    };
    let whole_in = |name: &str| counted().filter(|j| j.variant == name).all(|j| j.outcome == Outcome::Holds);
    let somewhere = parts.iter().any(part_holds) || counted().any(|judged| whole_in(&judged.variant));
    if somewhere { Verdict::Partly } else { Verdict::Missed }
}

impl PartResult {
    fn in_reference(&self) -> impl Iterator<Item = &Judged> {
        self.variants.iter().filter(|judged| judged.reference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Holds, Missed, NotJudged, WithinSpread};

    /// Creates a part with its outcomes in the variants a, b, ..., and whether each is a reference.
    fn part(outcomes: &[(Outcome, bool)]) -> PartResult {
        let judged = |(i, (outcome, reference)): (usize, &(Outcome, bool))| Judged {
            variant: char::from(b'a' + i as u8).to_string(),
            reference: *reference,
            outcome: *outcome,
            margin: None,
            spread: None,
            one_run: false,
            numbers: String::new(),
        };
        PartResult {
            says: None,
            metric: "goodput".into(),
            holds_published: None,
            variants: outcomes.iter().enumerate().map(judged).collect(),
        }
    }

    #[test]
    fn the_reference_decides() {
        let judged = |outcomes: &[(Outcome, bool)]| verdict(&[part(outcomes)]);
        assert_eq!(judged(&[(Holds, true), (Missed, false)]), Verdict::Holds);
        assert_eq!(judged(&[(Missed, true), (Holds, false)]), Verdict::Missed, "it holds elsewhere only");
        assert_eq!(judged(&[(Missed, true), (WithinSpread, false)]), Verdict::Missed);
        assert_eq!(judged(&[(WithinSpread, true), (Holds, false)]), Verdict::WithinSpread);
        assert_eq!(judged(&[(Holds, true), (Missed, true)]), Verdict::Partly);
        assert_eq!(judged(&[(Holds, true), (WithinSpread, true)]), Verdict::WithinSpread);
        assert_eq!(judged(&[(NotJudged, true), (Holds, false)]), Verdict::NotJudged);
        assert_eq!(judged(&[(Holds, false)]), Verdict::NotJudged, "it refers to no reference variant");
        assert_eq!(judged(&[]), Verdict::NotJudged);
    }

    /// A claim does not hold if its halves hold in different variants.
    #[test]
    fn parts_hold_together() {
        let halves = [part(&[(Holds, true), (Missed, false)]), part(&[(Missed, true), (Holds, false)])];
        assert_eq!(verdict(&halves), Verdict::Partly, "one part of it");
        let crossed = [part(&[(Missed, true), (Holds, false), (Missed, false)])];
        let other = part(&[(Missed, true), (Missed, false), (Holds, false)]);
        assert_eq!(verdict(&[crossed[0].clone(), other]), Verdict::Missed, "no variant has both");
        let elsewhere =
            [part(&[(Missed, true), (Holds, false)]), part(&[(WithinSpread, true), (Holds, false)])];
        assert_eq!(verdict(&elsewhere), Verdict::Missed, "both hold together, but not in the reference");
        let both = [part(&[(Holds, true)]), part(&[(Holds, true)])];
        assert_eq!(verdict(&both), Verdict::Holds);
    }
}
