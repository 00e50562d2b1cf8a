//! Ranges of values, like `"0.1..8 BDP"`, and Latin hypercubes over several of them.

use units::{Bytes, Duration, Rate, Rng, split_number};

/// Values of a range that is not sampled, evenly spaced.
const STEPS: usize = 8;
/// Digits of the values of a range that is not sampled: nobody means 0.3509 BDP.
const COARSE: i32 = 2;
/// Digits of a sampled value.
const FINE: i32 = 4;

/// Two ends and their unit. The scale is logarithmic, or linear from 0.
#[derive(Clone, Debug)]
pub struct Range {
    low: f64,
    high: f64,
    unit: Unit,
}

/// Unit of a range, which turns a number into a value of an experiment file.
#[derive(Clone, Debug)]
enum Unit {
    /// Both ends have this unit, which may be empty.
    Same(String),
    /// The ends have units of time, in ns, of rate, in bit/s, or of size, in bytes.
    Base(fn(u64) -> String),
}

impl Range {
    /// Parses `0.1..8 BDP` or `500 kbit/s..1 Gbit/s`. The first end may lack the unit.
    ///
    /// # Errors
    /// Returns what is wrong with the ends.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (low, high) = text.split_once("..").ok_or("missing `..` between the ends")?;
        let ((begin, own), (end, unit)) = (split_number(low)?, split_number(high)?);
        let range = if own.is_empty() || own == unit {
            Self { low: begin, high: end, unit: Unit::Same(unit.to_owned()) }
        } else {
            between(low, high).ok_or_else(|| format!("the units `{own}` and `{unit}` differ"))?
        };
        if range.low >= range.high {
            return Err("a range must rise".to_owned());
        }
        Ok(range)
    }

    /// Returns eight values, evenly spaced.
    pub fn steps(&self) -> Vec<String> {
        let last = (STEPS - 1) as f64;
        (0..STEPS).map(|i| self.value(i as f64 / last, COARSE)).collect()
    }

    /// Returns the value at a share of the way between the ends.
    fn value(&self, share: f64, digits: i32) -> String {
        let value = match self.low {
            0.0 => share * self.high,
            low => low * libm::pow(self.high / low, share),
        };
        let value = rounded(value, digits);
        match &self.unit {
            Unit::Same(unit) => format!("{value} {unit}").trim().to_owned(),
            Unit::Base(shown) => shown(value as u64),
        }
    }
}

/// Returns a range whose ends have different units of one quantity.
fn between(low: &str, high: &str) -> Option<Range> {
    let base = |ends: Option<(u64, u64)>, shown| {
        ends.map(|(low, high)| Range { low: low as f64, high: high as f64, unit: Unit::Base(shown) })
    };
    let times = low.parse::<Duration>().ok().zip(high.parse::<Duration>().ok());
    let rates = low.parse::<Rate>().ok().zip(high.parse::<Rate>().ok());
    let sizes = low.parse::<Bytes>().ok().zip(high.parse::<Bytes>().ok());
    base(times.map(|(low, high)| (low.0, high.0)), |ns| Duration(ns).to_string())
        .or_else(|| base(rates.map(|(low, high)| (low.0, high.0)), |bits| Rate(bits).to_string()))
        .or_else(|| base(sizes.map(|(low, high)| (low.0, high.0)), |bytes| Bytes(bytes).to_string()))
}

fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = digits - 1 - libm::log10(value).floor() as i32;
    // Division by a power of ten is exact where multiplication by its inverse is not.
    match libm::pow(10.0, f64::from(scale.abs())) {
        power if scale >= 0 => (value * power).round() / power,
        power => (value / power).round() * power,
    }
}

/// Draws `count` points of a Latin hypercube (McKay, Beckman and Conover 1979): each range is
/// divided into `count` strata, and each stratum has one point, at a random place in it. Returns
/// the values of each point, in the order of the ranges.
pub(crate) fn latin_hypercube(ranges: &[Range], count: usize, seed: u64) -> Vec<Vec<String>> {
    let mut rng = Rng::stream(seed, "latin-hypercube");
    let mut points = vec![Vec::new(); count];
    for range in ranges {
        let mut strata: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            strata.swap(last, rng.below(last as u64 + 1) as usize);
        }
        for (point, stratum) in points.iter_mut().zip(strata) {
            point.push(range.value((stratum as f64 + rng.unit()) / count as f64, FINE));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_ranges() {
        let steps = |text: &str| Range::parse(text).map(|range| range.steps());
        let bdp = ["0.1 BDP", "0.19 BDP", "0.35 BDP", "0.65 BDP", "1.2 BDP", "2.3 BDP", "4.3 BDP", "8 BDP"];
        assert_eq!(steps("0.1..8 BDP").unwrap(), bdp);
        assert_eq!(steps("0..7 %").unwrap(), ["0 %", "1 %", "2 %", "3 %", "4 %", "5 %", "6 %", "7 %"]);
        let mixed = steps("100 kbit/s..1 Gbit/s").unwrap();
        assert_eq!((mixed[0].as_str(), mixed[7].as_str()), ("100 kbit/s", "1 Gbit/s"));
        assert_eq!(steps("100 us..10 s").unwrap()[7], "10 s");
        for (text, says) in [
            ("8..1 BDP", "must rise"),
            ("1 kB..8 BDP", "the units `kB` and `BDP` differ"),
            ("a..b", "does not begin with a number"),
        ] {
            assert!(steps(text).unwrap_err().contains(says), "{text}");
        }
    }

    /// Each stratum of each range has exactly one point, and another seed draws other points.
    #[test]
    fn one_point_in_each_stratum() {
        let ranges = ["1..100 Mbit/s", "0..10 %"].map(|text| Range::parse(text).unwrap());
        let points = latin_hypercube(&ranges, 50, 1);
        for (i, stratum) in [|v: f64| libm::log10(v) / 2.0, |v: f64| v / 10.0].into_iter().enumerate() {
            let mut strata: Vec<usize> = points
                .iter()
                .map(|point| (stratum(split_number(&point[i]).unwrap().0) * 50.0).floor() as usize)
                .collect();
            strata.sort_unstable();
            let different = strata.iter().zip(0..50).filter(|(stratum, i)| **stratum != *i).count();
            assert!(different <= 1, "rounding to four digits moves few points: {strata:?}");
        }
        assert_eq!(points, latin_hypercube(&ranges, 50, 1));
        assert_ne!(points, latin_hypercube(&ranges, 50, 2));
    }
}
