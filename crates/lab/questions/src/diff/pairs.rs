//! Finds the results of two sets that belong together.

use results::summary::Results;

/// Results before and after; one may be missing.
type Pair<'a> = (Option<&'a Results>, Option<&'a Results>);

/// Reports whether two results, given with their ids, belong to the same experiment.
type Same = fn(&(String, Results), &(String, Results)) -> bool;

/// Criteria for the same experiment, the most certain first: equal ids, equal names, and the same
/// file in another folder, as in `d/st` and `st`.
const SAME: [Same; 3] = [
    |one, other| one.0 == other.0,
    |one, other| one.1.summary.experiment == other.1.summary.experiment,
    |one, other| {
        let [one, other] = [one, other].map(|results| results.1.summary.experiment.as_str());
        let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
        ends(one, other) || ends(other, one)
    },
];

/// Pairs the results. Each occurs once, and those of `before` keep their order. Results of
/// different worlds are never paired.
pub(super) fn match_up<'a>(before: &'a [(String, Results)], after: &'a [(String, Results)]) -> Vec<Pair<'a>> {
    let mut partner: Vec<Option<usize>> = vec![None; before.len()];
    let mut is_taken = vec![false; after.len()];
    for same in SAME {
        for (i, one) in before.iter().enumerate().filter(|(i, _)| partner[*i].is_none()).collect::<Vec<_>>() {
            let fits = |(j, other): &(usize, &(String, Results))| {
                !is_taken[*j] && one.1.summary.world == other.1.summary.world && same(one, other)
            };
            let found = after.iter().enumerate().find(fits).map(|(j, _)| j);
            found.into_iter().for_each(|j| is_taken[j] = true);
            partner[i] = found;
        }
    }
    let known = before.iter().zip(partner).map(|(one, j)| (Some(&one.1), j.map(|j| &after[j].1)));
    let new =
        after.iter().zip(&is_taken).filter(|(_, taken)| !**taken).map(|(other, _)| (None, Some(&other.1)));
    known.chain(new).collect()
}
