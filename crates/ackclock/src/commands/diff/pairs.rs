//! Which results of two sets belong together.

use results::summary::Results;

/// Before and after, as far as each is there.
type Pair<'a> = (Option<&'a Results>, Option<&'a Results>);

/// Whether two results, each with its id, are of one experiment.
type Same = fn(&(String, Results), &(String, Results)) -> bool;

/// What makes two results those of one experiment, the surest first: the same runs, whatever the file is called; the same
/// name; the same file from another folder, `d/st` and `st`.
const SAME: [Same; 3] = [
    |one, other| one.0 == other.0,
    |one, other| one.1.summary.experiment == other.1.summary.experiment,
    |one, other| {
        let [one, other] = [one, other].map(|results| results.1.summary.experiment.as_str());
        let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
        ends(one, other) || ends(other, one)
    },
];

/// Each of the results once, those before in their order. What the simulator and the wire say is never mixed.
pub(super) fn of<'a>(before: &'a [(String, Results)], after: &'a [(String, Results)]) -> Vec<Pair<'a>> {
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
