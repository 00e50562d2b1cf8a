//! Scales and ticks.

use crate::number;

/// Formats a number of pixels to one decimal.
pub(super) fn px(value: f64) -> String {
    let tenths = (value * 10.0).round();
    if tenths % 10.0 == 0.0 { format!("{}", tenths / 10.0 + 0.0) } else { format!("{:.1}", tenths / 10.0) }
}

/// Reports whether a value is finite, and small enough that the difference of two such values is
/// finite.
pub(super) fn is_drawable(value: f64) -> bool {
    value.is_finite() && value.abs() < 1e15
}

/// Returns the smallest and the largest drawable value.
pub(super) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|v| is_drawable(*v)).fold(None, |extent, v| match extent {
        None => Some((v, v)),
        Some((low, high)) => Some((low.min(v), high.max(v))),
    })
}

/// Significant digits of a label.
const DIGITS: i64 = 6;

/// Maps values to pixels, linearly or logarithmically, and has ticks.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    /// Values with a tick.
    pub(super) ticks: Vec<f64>,
    step: f64,
    is_log: bool,
    /// Names of the values 0, 1, 2 and so on.
    words: Vec<String>,
    /// Unit of the values, for tooltips.
    unit: String,
}

impl Scale {
    /// Creates a scale from exactly `low` to exactly `high` with about `count` ticks.
    pub(super) fn exact(low: f64, high: f64, count: usize) -> Self {
        let (low, high) = widened(low, high);
        Self::with_step(low, high, nice_step((high - low) / count.max(1) as f64))
    }

    /// Creates a scale that is widened to whole ticks, so that both ends have a label.
    pub(super) fn nice(low: f64, high: f64, count: usize) -> Self {
        let (low, high) = widened(low, high);
        let step = nice_step((high - low) / count.max(1) as f64);
        Self::with_step((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step, step)
    }

    /// Creates a logarithmic scale around positive values. Its ends are 1, 2 or 5 times a power of
    /// ten.
    pub(super) fn log(low: f64, high: f64) -> Self {
        let (low, high) =
            if low > 0.0 && high >= low && is_drawable(high) { (low, high) } else { (1.0, 10.0) };
        let below = |value: f64| {
            let up = nice_step(value);
            if up > value * (1.0 + 1e-9) { nice_step(up / 2.6) } else { up }
        };
        let (low, mut top) = (below(low), nice_step(high));
        if top <= low {
            top = nice_step(low * 1.5);
        }
        let decades = libm::log10(top / low);
        let mut ticks = Vec::new();
        let mut tick = low;
        while tick <= top * (1.0 + 1e-9) && ticks.len() < 50 {
            let is_power = (libm::log10(tick) - libm::log10(tick).round()).abs() < 1e-6;
            if decades < 2.7 || is_power {
                ticks.push(tick);
            }
            tick = nice_step(tick * 1.5);
        }
        Self { ticks, is_log: true, ..Self::with_step(low, top, low) }
    }

    /// Creates a scale with a place for each name.
    pub(super) fn from_words(words: Vec<String>) -> Self {
        let high = words.len().saturating_sub(1).max(1) as f64;
        Self { words, ..Self::with_step(0.0, high, 1.0) }
    }

    /// Sets the unit.
    pub(super) fn in_unit(self, unit: &str) -> Self {
        Self { unit: unit.to_owned(), ..self }
    }

    /// Returns the unit; empty without one.
    pub(super) fn unit(&self) -> &str {
        &self.unit
    }

    /// Returns the names; empty if the scale has numbers.
    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    fn with_step(low: f64, high: f64, step: f64) -> Self {
        let first = (low / step - 1e-9).ceil();
        let last = (high / step + 1e-9).floor();
        let marks = (last - first).clamp(0.0, 50.0) as usize;
        let ticks = (0..=marks).map(|i| (first + i as f64) * step).collect();
        Self {
            low,
            high,
            from: 0.0,
            to: 1.0,
            ticks,
            step,
            is_log: false,
            words: Vec::new(),
            unit: String::new(),
        }
    }

    /// Sets the ticks to whole multiples of `step`.
    pub(super) fn with_ticks(self, step: f64) -> Self {
        Self { unit: self.unit, ..Self::with_step(self.low, self.high, step) }
    }

    /// Sets the ticks to these values.
    pub(super) fn marked(self, ticks: Vec<f64>) -> Self {
        let step = ticks.windows(2).map(|w| w[1] - w[0]).fold(self.step, f64::min);
        let step = ticks.iter().map(|t| t % step).filter(|rest| *rest > 1e-9 * step).fold(step, f64::min);
        Self { ticks, step, ..self }
    }

    /// Creates a scale from zero. With `near`, values far above zero get a scale near to them, so
    /// that small changes show.
    pub(super) fn values(extent: Option<(f64, f64)>, near: bool, count: usize) -> Self {
        let (low, high) = extent.unwrap_or((0.0, 1.0));
        let low = if near && low > 0.4 * high { low } else { low.min(0.0) };
        Self::nice(low, high.max(0.0), count)
    }

    /// Places the scale on these pixels.
    pub(super) fn on(&self, from: f64, to: f64) -> Self {
        Self { from, to, ..self.clone() }
    }

    /// Returns the pixel of a value. Values beyond the ends are drawn at the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        self.from + self.share(value).clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Returns the value at a pixel of a linear scale.
    pub(super) fn value(&self, pixel: f64) -> f64 {
        self.low + (pixel - self.from) / (self.to - self.from) * (self.high - self.low)
    }

    /// Reports whether a value lies between the ends.
    pub(super) fn has(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    fn share(&self, value: f64) -> f64 {
        if self.is_log {
            return libm::log(value.max(self.low) / self.low) / libm::log(self.high / self.low);
        }
        (value - self.low) / (self.high - self.low)
    }

    /// Returns the ends as values and as pixels, and the kind of scale, for the page's script.
    pub(super) fn hook(&self) -> String {
        let kind = if self.is_log { "log" } else { "linear" };
        format!("{} {} {} {} {kind}", self.low, self.high, px(self.from), px(self.to))
    }

    /// Returns the highest value.
    pub(super) fn high(&self) -> f64 {
        self.high
    }

    /// Returns the lowest value.
    pub(super) fn low(&self) -> f64 {
        self.low
    }

    /// Returns the pixel of the lowest value.
    pub(super) fn left(&self) -> f64 {
        self.from
    }

    /// Returns the pixel of the highest value.
    pub(super) fn right(&self) -> f64 {
        self.to
    }

    /// Returns the value where bars start: zero, or the end nearest to it.
    pub(super) fn base(&self) -> f64 {
        0.0_f64.clamp(self.low, self.high)
    }

    /// Returns a tick's label with as many decimals as the step needs.
    pub(super) fn label(&self, tick: f64) -> String {
        if !self.words.is_empty() {
            return self.words.get(tick as usize).cloned().unwrap_or_default();
        }
        if self.is_log {
            return log_label(tick);
        }
        let largest = self.low.abs().max(self.high.abs());
        let (unit, letter) = match largest {
            v if v >= 2e9 => (1e9, "G"),
            v if v >= 2e6 => (1e6, "M"),
            v if v >= 2e4 => (1e3, "k"),
            _ => (1.0, ""),
        };
        if largest < 1e-6 {
            return format!("{tick:.1e}");
        }
        // Individual ticks, like 0.25 and 0.5, may need more decimals than their distance does.
        let needed = self.ticks.iter().map(|tick| digits_of(tick / unit)).max().unwrap_or(0);
        // More digits are rounding noise.
        let most = (DIGITS - libm::log10(largest / unit).floor() as i64 - 1).clamp(0, 9) as usize;
        format!("{}{letter}", number::fixed(tick / unit, decimals(self.step / unit).max(needed).min(most)))
    }
}

/// Returns a label for a logarithmic scale, where each tick has its own decimals.
fn log_label(tick: f64) -> String {
    let (unit, letter) = match tick {
        v if v >= 1e9 => (1e9, "G"),
        v if v >= 1e6 => (1e6, "M"),
        v if v >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    format!("{}{letter}", number::fixed(tick / unit, decimals(tick / unit).max(digits_of(tick / unit))))
}

/// Returns the decimals that show the first three digits without trailing zeros: 2 for 0.25, 1 for
/// 1.2, 0 for 20.
fn digits_of(value: f64) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let most = (2 - libm::log10(value.abs()).floor() as i64).clamp(0, 9) as usize;
    let shown = format!("{value:.most$}");
    shown.trim_end_matches('0').split_once('.').map_or(0, |(_, digits)| digits.len())
}

/// Widens an empty interval.
fn widened(low: f64, high: f64) -> (f64, f64) {
    if !is_drawable(low) || !is_drawable(high) {
        return (0.0, 1.0);
    }
    // Far from zero, neighbouring numbers cannot be distinguished. A narrower interval counts as
    // one value.
    let least = 1e-9 * low.abs().max(high.abs());
    if high - low > least && high - low > 1e-12 {
        return (low, high);
    }
    match low {
        v if v > 0.0 => (0.0, v.max(1e-9)),
        v if v < 0.0 => (v.min(-1e-9), 0.0),
        _ => (0.0, 1.0),
    }
}

/// Returns the smallest of 1, 2 or 5 times a power of ten that is not below `raw`.
pub(super) fn nice_step(raw: f64) -> f64 {
    let mut power = 1.0;
    while power * 10.0 <= raw {
        power *= 10.0;
    }
    while power > raw {
        power /= 10.0;
    }
    [1.0, 2.0, 5.0].iter().map(|m| m * power).find(|s| *s >= raw * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

fn decimals(step: f64) -> usize {
    let mut decimals = 0;
    let mut step = step;
    while step < 1.0 - 1e-9 && decimals < 9 {
        step *= 10.0;
        decimals += 1;
    }
    decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_says_its_value() {
        for (value, digits) in
            [(0.25, 2), (0.19, 2), (1.2, 1), (20.0, 0), (0.001, 3), (1.0 / 3.0, 3), (0.0, 0), (12.5, 1)]
        {
            assert_eq!(digits_of(value), digits, "{value}");
        }
    }

    #[test]
    fn noise_is_no_digit() {
        let noisy = vec![0.1, 0.1 + 0.2, 0.7 - 1e-9, 12.0];
        let scale = Scale::exact(0.0, 12.0, 5).marked(noisy);
        let labels: Vec<_> = scale.ticks.iter().map(|t| scale.label(*t)).collect();
        assert!(labels.iter().all(|label| label.len() <= 7), "{labels:?}");
    }

    #[test]
    fn words_have_a_place_each() {
        let labels = |words: &[&str]| {
            let scale = Scale::from_words(words.iter().map(|word| (*word).to_owned()).collect());
            scale.ticks.iter().map(|t| scale.label(*t)).collect::<Vec<_>>()
        };
        assert_eq!(labels(&["Startup", "Drain", "ProbeBW"]), ["Startup", "Drain", "ProbeBW"]);
        assert_eq!(labels(&["Startup"]), ["Startup", ""]);
    }

    #[test]
    fn ticks_are_round_numbers() {
        let labels = |s: &Scale| s.ticks.iter().map(|t| s.label(*t)).collect::<Vec<_>>();
        assert_eq!(labels(&Scale::nice(0.0, 9.2, 5)), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&Scale::nice(0.0, 1.03, 4)), ["0.0", "0.5", "1.0", "1.5"]);
        assert_eq!(labels(&Scale::exact(0.0, 400.0, 4)), ["0", "100", "200", "300", "400"]);
        assert_eq!(labels(&Scale::nice(-3.0, 3.0, 3)), ["−4", "−2", "0", "2", "4"]);
        assert_eq!(labels(&Scale::nice(0.0, 0.003, 3)), ["0.000", "0.001", "0.002", "0.003"]);
        assert_eq!(labels(&Scale::nice(0.0, 3e6, 3)), ["0M", "1M", "2M", "3M"]);
    }

    #[test]
    fn a_logarithmic_scale_has_equal_steps_for_equal_ratios() {
        let scale = Scale::log(0.13, 9.0).on(0.0, 200.0);
        let labels: Vec<_> = scale.ticks.iter().map(|t| scale.label(*t)).collect();
        assert_eq!(labels, ["0.1", "0.2", "0.5", "1", "2", "5", "10"]);
        assert!((scale.at(1.0) - 100.0).abs() < 1e-9 && scale.at(0.0) == 0.0 && scale.at(1e9) == 200.0);
        assert_eq!(scale.hook(), "0.1 10 0 200 log");
        let wide = Scale::log(1.0, 3e6);
        assert_eq!(
            wide.ticks.iter().map(|t| wide.label(*t)).collect::<Vec<_>>(),
            ["1", "10", "100", "1000", "10k", "100k", "1M"]
        );
        for (low, high) in
            [(0.0, 0.0), (-1.0, 5.0), (5.0, 5.0), (f64::NAN, 1.0), (1.0, f64::INFINITY), (1e-300, 1e14)]
        {
            let odd = Scale::log(low, high).on(0.0, 1.0);
            assert!((1..60).contains(&odd.ticks.len()) && odd.at(3.0).is_finite(), "{low} {high} {odd:?}");
        }
    }

    #[test]
    fn no_interval_is_too_odd() {
        let odd =
            [0.0, -0.0, 1.0, -1.0, 1e-300, 1e14, -1e14, 1e300, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE];
        for low in odd {
            for high in odd {
                let scale = Scale::nice(low, high, 5).on(0.0, 100.0);
                assert!((1..60).contains(&scale.ticks.len()), "{low} {high}: {:?}", scale.ticks);
                assert!(scale.at(0.0).is_finite() && scale.at(high.min(1e15)).is_finite(), "{low} {high}");
            }
        }
    }
}
