//! The largest change of a metric that is accepted.

use experiment::metric::Metric;

use super::change::Change;

/// A metric, and the largest fall or rise that is accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The rule as it was written.
    pub(super) text: String,
    pub(super) metric: Metric,
    bound: f64,
    relative: bool,
}

impl Rule {
    /// Parses `goodput -3 %`, `goodput -3 Mbit/s` or `loss +0.1`.
    ///
    /// # Errors
    /// A text that is not a rule, and what to write.
    pub fn read(text: &str) -> Result<Self, String> {
        const RIGHT: &str = "write it like \"goodput -3 %\" or \"goodput -3 Mbit/s\"";
        let text = text.trim();
        // A metric may have spaces, as in `share of candidate`, and a label a dash: the last sign
        // begins the change.
        let Some(at) = text.rfind(" +").max(text.rfind(" -")) else {
            let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
            return Err(match text.split_whitespace().rev().take(2).any(is_number) {
                true => {
                    format!("`{text}` does not say whether the change is a rise (+) or a fall (-); {RIGHT}")
                }
                false => format!("`{text}` has no change; {RIGHT}"),
            });
        };
        let (metric, change) = (Metric::from(text[..at].trim()), text[at..].trim());
        if metric.quantity().is_none() {
            let known = experiment::quantity::QUANTITIES.iter().map(|quantity| quantity.name);
            let right = experiment::diagnostic::did_you_mean(metric.word(), known);
            return Err(format!("`{metric}` is not a metric; {right}"));
        }
        let (sign, number) = change.split_at(1);
        let (size, unit) = units::split_number(number)
            .ok()
            .filter(|(size, _)| size.is_finite())
            .ok_or_else(|| format!("`{change}` is not a number; {RIGHT}"))?;
        let relative = match (unit, metric.unit()) {
            ("%", _) => true,
            (unit, own) if unit == own => false,
            // Percentage points cannot have a unit, because % stands for a relative change.
            ("", "%") => false,
            ("", own) => {
                let relative = format!("\"{metric} {change} %\" for a relative change");
                return Err(format!(
                    "`{text}` has no unit; write {relative} or \"{metric} {change} {own}\" for an absolute one"
                ));
            }
            (unit, "") => {
                return Err(format!("`{unit}`: {metric} has no unit; write \"{metric} {sign}{size}\""));
            }
            (unit, own) => {
                return Err(format!(
                    "`{unit}` is not the unit of {metric}; write {own}, or % for a relative change"
                ));
            }
        };
        let bound = if sign == "-" { -size } else { size };
        Ok(Self {
            text: text.to_owned(),
            metric,
            bound: if relative { bound / 100.0 } else { bound },
            relative,
        })
    }

    /// Reports whether the change is larger than allowed, and larger than the spread between runs.
    pub(super) fn is_broken_by(&self, change: &Change) -> bool {
        if self.metric != change.metric || !change.is_beyond_spread {
            return false;
        }
        let step = change.after - change.before;
        // A change from 0 is larger than any share.
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
        assert!(rule("goodput +0.5 Mbit/s").is_broken_by(&change(0.0, 1.0)), "from 0, in its own unit");
        assert!(rule("goodput +5 %").is_broken_by(&change(0.0, 1.0)), "from 0 it is more than any share");
        assert!(rule("goodput -3Mbit/s").is_broken_by(&change(100.0, 96.0)));
        assert!(!rule("goodput -3 Mbit/s").is_broken_by(&change(100.0, 98.0)));
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
            ("goodput of BBR @ before -0.5 Mbit/s", "goodput of BBR @ before"),
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
            ("share of candidate 3 %", "a rise (+) or a fall"),
            ("shar of candidate -3 %", "did you mean \"share\""),
            ("goodput 3 %", "a rise (+) or a fall"),
            ("godput -3 %", "did you mean \"goodput\""),
            ("goodput -x", "not a number"),
            ("goodput -nan %", "not a number"),
            ("goodput -inf %", "not a number"),
            ("goodput 3 Mbit/s", "a rise (+) or a fall"),
            ("goodput -3 kbit/s", "write Mbit/s, or %"),
            ("jain -0.1 ms", "write \"jain -0.1\""),
        ] {
            assert!(Rule::read(text).unwrap_err().contains(says), "{text}: {:?}", Rule::read(text));
        }
    }

    /// `-3` could be meant in percent or in Mbit/s. Percentage points and ratios are clear without
    /// a unit.
    #[test]
    fn a_number_without_a_unit() {
        let error = Rule::read("goodput -3").unwrap_err();
        assert!(error.contains("\"goodput -3 %\"") && error.contains("\"goodput -3 Mbit/s\""), "{error}");
        let rule = Rule::read("loss +0.1").unwrap();
        assert_eq!((rule.bound, rule.relative), (0.1, false));
        let rule = Rule::read("jain -0.1").unwrap();
        assert_eq!((rule.bound, rule.relative), (-0.1, false));
    }
}
