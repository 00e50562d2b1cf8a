//! The largest change of a metric that is accepted.

use experiment::metric::Metric;

use super::change::{Change, Ruling};
use super::evidence::{ALIKE, Method};

/// Chance with which the smallest change is seen.
pub(super) const POWER: &str = "four times out of five";

/// Largest change in any unit. A larger one is a mistake, since it accepts everything.
const LARGEST: f64 = 1e9;

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
        if size > LARGEST || (sign == "-" && relative && size >= 100.0) {
            return Err(format!("`{text}` accepts every change; {RIGHT}"));
        }
        let bound = if sign == "-" { -size } else { size };
        Ok(Self {
            text: text.to_owned(),
            metric,
            bound: if relative { bound / 100.0 } else { bound },
            relative,
        })
    }

    /// Reports whether the rule is about a fall. A bound of 0 has a sign too.
    fn is_fall(&self) -> bool {
        self.bound.is_sign_negative()
    }

    /// Judges a number. Returns `None` if the rule is about another metric.
    pub(super) fn judge(&self, change: &Change) -> Option<Ruling> {
        let smallest = self.smallest(change);
        let is_equal = matches!(change.evidence.method, Method::Equal(_));
        let is_finer = |smallest| !is_equal && smallest > self.bound.abs().max(ALIKE);
        (self.metric == change.metric).then(|| Ruling {
            rule: self.text.clone(),
            is_broken: self.is_broken_by(change),
            can_be_broken: self.can_be_broken_from(change.before),
            smallest,
            is_too_fine: smallest.is_some_and(is_finer),
            sees: self.words(smallest),
        })
    }

    /// Reports whether any number after this one could break the rule.
    fn can_be_broken_from(&self, before: f64) -> bool {
        let last = before + if self.relative { before * self.bound } else { self.bound };
        let max = self.metric.quantity().and_then(|quantity| quantity.max).unwrap_or(f64::INFINITY);
        if self.is_fall() { last > 0.0 || before < 0.0 } else { last < max }
    }

    /// Returns the smallest change in the rule's direction that the runs show, as a share or in the
    /// unit of the metric. A fall by all of the number is not shown.
    fn smallest(&self, change: &Change) -> Option<f64> {
        let [logarithm, absolute] = change.evidence.smallest?;
        let (smallest, all) = match (self.relative, self.is_fall()) {
            (false, true) => (absolute, change.before.abs()),
            (false, false) => (absolute, f64::INFINITY),
            (true, true) => (-libm::expm1(-logarithm), 0.995),
            (true, false) => (libm::expm1(logarithm), f64::INFINITY),
        };
        Some(if smallest > ALIKE && smallest >= all { f64::INFINITY } else { smallest })
    }

    /// Describes the smallest change that is seen.
    fn words(&self, smallest: Option<f64>) -> String {
        let direction = if self.is_fall() { "fall" } else { "rise" };
        let (scale, unit) = if self.relative { (100.0, "%") } else { (1.0, self.metric.unit()) };
        let size = |smallest| format!("{} {unit}", two_digits(scale * smallest)).trim_end().to_owned();
        match smallest {
            None => "every difference, because a side has a single run".to_owned(),
            Some(smallest @ ALIKE..f64::INFINITY) => {
                format!("a {direction} of {} or more, {POWER}", size(smallest))
            }
            Some(f64::INFINITY) if self.is_fall() => "no fall, because its runs vary too much".to_owned(),
            Some(f64::INFINITY) => "no rise from 0".to_owned(),
            Some(_) => format!("any {direction}, because its runs have no spread"),
        }
    }

    /// Reports whether the change is larger than allowed, and larger than the spread between runs.
    fn is_broken_by(&self, change: &Change) -> bool {
        if !change.evidence.is_beyond_spread {
            return false;
        }
        let step = change.after - change.before;
        // A change from 0 is larger than any share.
        let share = || change.relative().unwrap_or(f64::INFINITY.copysign(step));
        let by = if self.relative { share() } else { step };
        if self.is_fall() { by < self.bound } else { by > self.bound }
    }
}

/// Formats a positive number with two significant digits, rounded up so that it is not too small.
pub(super) fn two_digits(value: f64) -> String {
    let place = 1 - libm::log10(value).floor() as i32;
    let scale = libm::pow(10.0, f64::from(place));
    format!("{:.*}", usize::try_from(place).unwrap_or(0), (value * scale - ALIKE).ceil() / scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::evidence::Evidence;

    fn change(before: f64, after: f64) -> Change {
        let evidence = Evidence {
            method: Method::Pairs(5),
            ratio: None,
            is_beyond_spread: true,
            smallest: Some([0.0; 2]),
        };
        let (experiment, variant, rulings) = ("e".to_owned(), String::new(), Vec::new());
        let (row, metric) = ("r".into(), "goodput".into());
        Change { experiment, variant, row, metric, before, after, evidence, rulings }
    }

    fn with(evidence: Evidence) -> Change {
        Change { evidence, ..change(100.0, 90.0) }
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
        assert_eq!(rule("loss -3 %").judge(&change(100.0, 50.0)), None, "another metric");
        let noise = with(Evidence { is_beyond_spread: false, ..change(0.0, 0.0).evidence });
        assert!(!rule("goodput -3 %").is_broken_by(&noise));
    }

    /// exp(-0.05) - 1 is -4.88 %, exp(0.05) - 1 is 5.13 %.
    #[test]
    fn rules_that_the_runs_cannot_check() {
        let judge = |text: &str, smallest| {
            let change = with(Evidence { smallest, ..change(0.0, 0.0).evidence });
            let ruling = Rule::read(text).unwrap().judge(&change).unwrap();
            (ruling.is_too_fine, ruling.sees.replace(" or more, four times out of five", ""))
        };
        let noise = Some([0.05, 0.4]);
        assert_eq!(judge("goodput -3 %", noise), (true, "a fall of 4.9 %".to_owned()));
        assert_eq!(judge("goodput -4.9 %", noise), (false, "a fall of 4.9 %".to_owned()));
        assert_eq!(judge("goodput +5 %", noise), (true, "a rise of 5.2 %".to_owned()));
        assert_eq!(judge("goodput -0.3 Mbit/s", noise), (true, "a fall of 0.40 Mbit/s".to_owned()));
        assert!(!judge("goodput -0.5 Mbit/s", noise).0);
        let any = "any fall, because its runs have no spread";
        assert_eq!(judge("goodput -0.001 %", Some([0.0, 0.0])), (false, any.to_owned()));
        assert_eq!(judge("goodput -0 %", Some([0.0, 0.0])), (false, any.to_owned()));
        assert_eq!(judge("goodput +5 %", Some([f64::INFINITY, 1.0])), (true, "no rise from 0".to_owned()));
        let equal = with(Evidence { method: Method::Equal(5), smallest: noise, ..change(0.0, 0.0).evidence });
        let ruling = Rule::read("goodput -3 %").unwrap().judge(&equal).unwrap();
        assert!(!ruling.is_too_fine && ruling.sees.starts_with("a fall of 4.9 %"), "nothing has changed");
        let (is_too_fine, sees) = judge("goodput -3 %", None);
        assert!(!is_too_fine && sees.contains("single run"), "{sees}");
        let none = (true, "no fall, because its runs vary too much".to_owned());
        assert_eq!(judge("goodput -99 %", Some([6.0, 1.0])), none);
        let (is_too_fine, sees) = judge("goodput -99 Mbit/s", Some([1.0, 101.0]));
        assert_eq!((is_too_fine, sees), none);
        let (is_too_fine, sees) = judge("goodput -3 %", None);
        assert!(!is_too_fine && sees.contains("single run"), "{sees}");
    }

    /// A fall cannot pass 0, and a rise not the largest value of its metric.
    #[test]
    fn rules_that_nothing_breaks() {
        for (rule, before, can_be_broken) in [
            ("goodput -100 Mbit/s", 3.0, false),
            ("goodput -3 Mbit/s", 3.0, false),
            ("goodput -2.9 Mbit/s", 3.0, true),
            ("goodput -99 %", 3.0, true),
            ("goodput -3 %", 0.0, false),
            ("goodput +99 Mbit/s", 3.0, true),
            ("owd_mean -3 ms", -1.0, true),
            ("loss +0.5", 99.0, true),
            ("loss +1", 99.0, false),
            ("jain +30 %", 0.8, false),
            ("jain +10 %", 0.8, true),
        ] {
            let rule = Rule::read(rule).unwrap();
            assert_eq!(rule.can_be_broken_from(before), can_be_broken, "{rule:?} from {before}");
        }
    }

    #[test]
    fn digits() {
        let digits = [0.0123, 1.0, 1.21, 12.0, 99.5, 1234.0].map(two_digits);
        assert_eq!(digits, ["0.013", "1.0", "1.3", "12", "100", "1300"]);
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
            ("goodput -%", "not a number"),
            ("goodput -1e308 %", "accepts every change"),
            ("goodput -100 %", "accepts every change"),
            ("goodput +99999999999 Mbit/s", "accepts every change"),
            ("loss +1e99 %", "accepts every change"),
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
