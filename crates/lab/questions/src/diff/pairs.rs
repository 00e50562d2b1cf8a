//! Finds the results of two sets that belong together.

use super::set::Measured;

/// Results before and after; one may be missing.
type Pair<'a> = (Option<&'a Measured>, Option<&'a Measured>);

/// Reports whether two results belong to the same experiment.
type Same = fn(&Measured, &Measured) -> bool;

/// Criteria for the same experiment, the most certain first: equal ids, equal names, and the same
/// file in another folder, as in `d/st` and `st`.
const SAME: [Same; 3] = [
    |one, other| one.id == other.id,
    |one, other| one.summary.experiment == other.summary.experiment,
    |one, other| {
        let [one, other] = [one, other].map(|results| results.summary.experiment.as_str());
        let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
        ends(one, other) || ends(other, one)
    },
];

/// Pairs the results. Each occurs once, and those of `before` keep their order. Results of
/// different worlds are never paired.
pub(super) fn match_up<'a>(before: &'a [Measured], after: &'a [Measured]) -> Vec<Pair<'a>> {
    let mut partner: Vec<Option<usize>> = vec![None; before.len()];
    let mut is_taken = vec![false; after.len()];
    for same in SAME {
        for (i, one) in before.iter().enumerate().filter(|(i, _)| partner[*i].is_none()).collect::<Vec<_>>() {
            let fits = |(j, other): &(usize, &Measured)| {
                !is_taken[*j] && one.summary.world == other.summary.world && same(one, other)
            };
            let found = after.iter().enumerate().find(fits).map(|(j, _)| j);
            found.into_iter().for_each(|j| is_taken[j] = true);
            partner[i] = found;
        }
    }
    let known = before.iter().zip(partner).map(|(one, j)| (Some(one), j.map(|j| &after[j])));
    let new = after.iter().zip(&is_taken).filter(|(_, taken)| !**taken).map(|(other, _)| (None, Some(other)));
    known.chain(new).collect()
}
