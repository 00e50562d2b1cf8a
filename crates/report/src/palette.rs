//! One colour per algorithm, everywhere: a hue that people with colour-blind eyes tell apart (after Okabe and Ito, and
//! Tol), brought to a lightness that reads on paper; on the dark page the same hue, lighter.
//!
//! Rows of one algorithm share its hue and differ by shade and dash.

use std::collections::BTreeMap;

use results::summary::Results;

/// Text.
pub(super) const INK: &str = "#111111";
/// Tick labels and second lines.
pub(super) const MUTED: &str = "#57606a";
/// Axis lines and whiskers.
pub(super) const AXIS: &str = "#8c959f";
/// Grid lines.
pub(super) const GRID: &str = "#e4e7eb";
/// Behind everything.
pub(super) const PAPER: &str = "#ffffff";

/// The neutral colours and what the dark page makes of them.
const NEUTRALS: &[(&str, &str)] =
    &[(INK, "#e8ebef"), (MUTED, "#a8b1bb"), (AXIS, "#77818c"), (GRID, "#2d333b"), (PAPER, "#171a1f")];

/// Hues of the algorithms we know; the rest get theirs from their name. CUBIC is far from each version of BBR,
/// also for colour-blind eyes: no others are set beside each other as often.
const HUES: &[(&str, u32)] = &[
    ("quic-dc", 0x00_72_b2),
    ("westwood-plus", 0x00_9e_73),
    ("bbr2", 0xd5_5e_00),
    ("cubic", 0xcc_79_a7),
    ("new-reno", 0xe6_9f_00),
    ("bbr1", 0x62_47_ea),
    ("bbr3", 0xea_47_62),
    ("tcp-reno", 0x99_99_33),
    ("fixed-window", 0x77_77_77),
    ("vegas", 0x44_aa_99),
    ("dstar", 0x33_22_88),
    ("dccc", 0xaa_44_99),
    ("copa", 0x11_77_33),
    ("nada", 0x56_b4_e9),
    ("gcc", 0x66_11_00),
    ("scream", 0x66_99_cc),
    ("prague", 0x8c_5a_2b),
    ("ledbat", 0x55_6b_2f),
];

/// Relative luminance (WCAG) of the darkest and the lightest shade: at least 3:1 on white.
const SHADES: (f64, f64) = (0.12, 0.30);
/// The same on the dark page: at least 3.5:1 on its ground, and not so light that the hue is lost.
const DARK_SHADES: (f64, f64) = (0.16, 0.46);

/// How a row is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Style {
    /// `#rrggbb`.
    pub(super) colour: String,
    /// `stroke-dasharray`; solid if none.
    pub(super) dash: Option<&'static str>,
}

/// The styles of all rows of a report, so that `QUIC-DC 80` looks the same in each of its experiments.
#[derive(Debug, Default)]
pub(super) struct Palette {
    labels: BTreeMap<String, Vec<String>>,
}

impl Palette {
    /// Collects the rows of each algorithm, in order of appearance.
    pub(super) fn of(experiments: &[Results]) -> Self {
        let mut labels: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in experiments.iter().flat_map(|e| &e.summary.variants).flat_map(|v| &v.rows) {
            let known = labels.entry(row.algorithm.clone()).or_default();
            if !known.iter().any(|label| row.label == label.as_str()) {
                known.push(row.label.to_string());
            }
        }
        Self { labels }
    }

    /// The style of a row.
    pub(super) fn style(&self, algorithm: &str, label: &str) -> Style {
        let labels = self.labels.get(algorithm).map_or(&[][..], Vec::as_slice);
        let index = labels.iter().position(|l| l == label).unwrap_or(0);
        Style { colour: shade(algorithm, index, labels.len()), dash: dash(index) }
    }
}

/// The `index`-th of `count` shades of an algorithm's hue, from dark to light; its own colour if there is but one.
pub(super) fn shade(algorithm: &str, index: usize, count: usize) -> String {
    let hue = hue(algorithm);
    let (dark, light) = SHADES;
    let target = if count < 2 {
        luminance(hue).clamp(dark, light)
    } else {
        dark + (light - dark) * index.min(count - 1) as f64 / (count - 1) as f64
    };
    hex(with_luminance(hue, target))
}

fn dash(index: usize) -> Option<&'static str> {
    [None, Some("7 3"), Some("2.5 2"), Some("8 3 2 3")].get(index % 4).copied().flatten()
}

/// What the dark page shows instead of a colour: the order of shades stays.
pub(super) fn dark(colour: &str) -> String {
    if let Some((_, dark)) = NEUTRALS.iter().find(|(light, _)| *light == colour) {
        return (*dark).to_owned();
    }
    let rgb = parse(colour);
    let share = ((luminance(rgb) - SHADES.0) / (SHADES.1 - SHADES.0)).clamp(0.0, 1.0);
    hex(with_luminance(rgb, DARK_SHADES.0 + share * (DARK_SHADES.1 - DARK_SHADES.0)))
}

type Rgb = [f64; 3];

fn hue(algorithm: &str) -> Rgb {
    match HUES.iter().find(|(name, _)| *name == algorithm) {
        Some((_, value)) => rgb(*value),
        None => hashed(algorithm),
    }
}

/// A saturated colour from the name's FNV-1a hash: the same in each report, whatever else it shows.
fn hashed(name: &str) -> Rgb {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    // FNV's low bits know the last letters best; fold the halves together.
    let degrees = ((hash ^ (hash >> 32)) % 360) as f64;
    let channel = |n: f64| {
        let k = (n + degrees / 60.0) % 6.0;
        0.85 - 0.7 * k.min(4.0 - k).clamp(0.0, 1.0)
    };
    [channel(5.0), channel(3.0), channel(1.0)]
}

fn rgb(value: u32) -> Rgb {
    [16, 8, 0].map(|shift| f64::from((value >> shift) & 0xff) / 255.0)
}

fn parse(colour: &str) -> Rgb {
    rgb(u32::from_str_radix(colour.trim_start_matches('#'), 16).unwrap_or(0))
}

fn hex(rgb: Rgb) -> String {
    let [r, g, b] = rgb.map(|c| (c * 255.0).round().clamp(0.0, 255.0) as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Relative luminance, with a cubic in place of sRGB's power of 2.4 (within 0.002).
fn luminance(rgb: Rgb) -> f64 {
    let [r, g, b] = rgb.map(|c| c * (c * (c * 0.305_306_011 + 0.682_171_111) + 0.012_522_878));
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Mixes with black or white until the luminance is right: the hue stays.
fn with_luminance(rgb: Rgb, target: f64) -> Rgb {
    let end = if luminance(rgb) > target { 0.0 } else { 1.0 };
    let mix = |share: f64| rgb.map(|c| c + (end - c) * share);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..24 {
        let middle = (low + high) / 2.0;
        let beyond =
            if end == 0.0 { luminance(mix(middle)) < target } else { luminance(mix(middle)) > target };
        if beyond { high = middle } else { low = middle }
    }
    mix(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(parse(a)), luminance(parse(b)));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_shade_reads_on_white_and_on_the_dark_page() {
        let unknown = ["mystery", "", "<script>"].map(|n| (n, 0));
        for (name, _) in HUES.iter().chain(&unknown) {
            for i in 0..5 {
                let colour = shade(name, i, 5);
                assert!(contrast(&colour, PAPER) > 2.95, "{name} {i}: {colour} on white");
                let lit = dark(&colour);
                assert!(contrast(&lit, &dark(PAPER)) > 3.4, "{name} {i}: {lit} on dark");
            }
            assert!(contrast(&shade(name, 0, 1), PAPER) > 2.95, "{name} alone");
        }
        assert!(contrast(MUTED, PAPER) > 4.5 && contrast(&dark(MUTED), &dark(PAPER)) > 4.5, "small text");
    }

    #[test]
    fn colours_are_stable() {
        assert_eq!(shade("quic-dc", 0, 1), "#0072b2");
        assert_eq!(shade("mystery", 0, 1), shade("mystery", 3, 0));
        assert_ne!(shade("mystery", 0, 1), shade("mysterz", 0, 1));
        let known: std::collections::BTreeSet<_> = HUES.iter().map(|(name, _)| shade(name, 0, 1)).collect();
        assert_eq!(known.len(), HUES.len(), "two algorithms share a colour");
    }
}
