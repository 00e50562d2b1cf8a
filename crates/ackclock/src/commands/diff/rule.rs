//! `--fail-if`: which change is one too many.

use experiment::metric::Metric;

use super::change::Change;

/// A metric and the change that fails: at most so much down, or up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// As it was written.
    pub(super) text: String,
    pub(super) metric: Metric,
    bound: f64,
    relative: bool,
}

impl Rule {
    /// `goodput -3 %`, `loss +0.1`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        const RIGHT: &str = "write it like \"goodput -3 %\", or \"loss +0.1\" in the metric's own unit";
        let (rest, relative) = match text.trim().strip_suffix('%') {
            Some(rest) => (rest.trim_end(), true),
            None => (text.trim(), false),
        };
        // A metric may have spaces, as in `share of candidate`, and a label a dash: the last sign begins the change.
        let Some(at) = rest.rfind(" +").max(rest.rfind(" -")) else {
            let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
            return Err(match rest.split_whitespace().next_back() {
                Some(last) if is_number(last) => {
                    format!("`{text}` does not say whether up (+) or down (-); {RIGHT}")
                }
                _ => format!("`{text}` has no change; {RIGHT}"),
            });
        };
        let (metric, number) = (rest[..at].trim(), rest[at..].trim());
        let bound: f64 =
            number.replace(' ', "").parse().map_err(|_| format!("`{number}` is not a number; {RIGHT}"))?;
        let metric = Metric::from(metric);
        if metric.quantity().is_none() {
            let known = experiment::quantity::QUANTITIES.iter().map(|quantity| quantity.name);
            let right = experiment::diagnostic::did_you_mean(metric.word(), known);
            return Err(format!("`{metric}` is not a metric; {right}"));
        }
        Ok(Self {
            text: text.trim().to_owned(),
            metric,
            bound: if relative { bound / 100.0 } else { bound },
            relative,
        })
    }

    /// Whether the change is larger than allowed, and more than the runs scatter.
    pub(super) fn is_broken_by(&self, change: &Change) -> bool {
        if self.metric != change.metric || !change.is_beyond_spread {
            return false;
        }
        let step = change.after - change.before;
        // From nothing it is more than any share of it.
        let share = || change.relative().unwrap_or(f64::INFINITY.copysign(step));
        let by = if self.relative { share() } else { step };
        if self.bound < 0.0 { by < self.bound } else { by > self.bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: f64, after: f64) -> Change {
        Change { metric: "goodput".into(), is_beyond_spread: true, ..Change::example(before, after) }
    }

    #[test]
    fn down_and_up_relative_and_not() {
        let rule = |text| Rule::read(text).unwrap();
        assert!(rule("goodput -3 %").is_broken_by(&change(100.0, 96.0)));
        assert!(!rule("goodput -3 %").is_broken_by(&change(100.0, 98.0)));
        assert!(!rule("goodput -3 %").is_broken_by(&change(100.0, 130.0)), "up is no harm");
        assert!(rule("goodput +5%").is_broken_by(&change(100.0, 106.0)));
        assert!(rule("goodput +0.5").is_broken_by(&change(0.0, 1.0)), "from nothing, in its own unit");
        assert!(
            rule("goodput +5 %").is_broken_by(&change(0.0, 1.0)),
            "from nothing it is more than any share"
        );
        assert!(!rule("goodput -5 %").is_broken_by(&change(0.0, 1.0)));
        assert!(!rule("loss -3 %").is_broken_by(&change(100.0, 50.0)), "another metric");
        let noise = Change { is_beyond_spread: false, ..change(100.0, 90.0) };
        assert!(!rule("goodput -3 %").is_broken_by(&noise));
    }

    /// A metric of some flows, or in a window, has spaces in it.
    #[test]
    fn metrics_of_several_words() {
        for (text, metric) in [
            ("share of candidate -3 %", "share of candidate"),
            ("goodput of BBR @ before -0.5", "goodput of BBR @ before"),
            ("rtt_mean of TCP -5 + 5%", "rtt_mean of TCP -5"),
            (" goodput of a - b  - 3 % ", "goodput of a - b"),
        ] {
            assert_eq!(Rule::read(text).map(|rule| rule.metric), Ok(metric.into()), "{text}");
        }
        assert!(
            Rule::read("goodput of BBR -3 %")
                .unwrap()
                .is_broken_by(&Change { metric: "goodput of BBR".into(), ..change(100.0, 96.0) })
        );
    }

    #[test]
    fn mistakes() {
        for (text, says) in [
            ("goodput", "no change"),
            ("share of candidate", "`share of candidate` has no change"),
            ("share of candidate 3 %", "up (+) or down"),
            ("shar of candidate -3 %", "did you mean \"share\""),
            ("goodput 3 %", "up (+) or down"),
            ("godput -3 %", "did you mean \"goodput\""),
            ("goodput -x", "not a number"),
        ] {
            assert!(Rule::read(text).unwrap_err().contains(says), "{text}: {:?}", Rule::read(text));
        }
    }
}
