//! The colours: eight that differ in normal vision and without the cones for red or green, their
//! counterparts in dark mode, tints for areas, and neutral colours.
//!
//! The list was found by a search near hues that Okabe and Ito ("Color Universal Design", 2008) and
//! Tol ("Colour Schemes", 2021) propose. Each colour has a contrast of at least 3:1 with the page
//! (WCAG 2.2, 1.4.11). Any two are at least 15 apart in each of the three visions (Euclidean
//! distance in OKLab, times 100). The search found lists of nine on white and none of ten.
//! `styles.rs` assigns colours to algorithms.

/// Text.
pub(super) const INK: &str = "#111111";
/// Tick labels and second lines.
pub(super) const MUTED: &str = "#57606a";
/// Axis lines and whiskers.
pub(super) const AXIS: &str = "#8c959f";
/// Grid lines.
pub(super) const GRID: &str = "#e4e7eb";
/// Background.
pub(super) const PAPER: &str = "#ffffff";

/// The neutral colours and their counterparts in dark mode.
const NEUTRALS: &[(&str, &str)] =
    &[(INK, "#e8ebef"), (MUTED, "#a8b1bb"), (AXIS, "#77818c"), (GRID, "#2d333b"), (PAPER, DARK_PAPER)];
const DARK_PAPER: &str = "#171a1f";

/// The colours in the order of assignment, with their counterparts in dark mode.
pub(super) const COLOURS: [(&str, &str); 8] = [
    ("#27709c", "#6ba5fb"),
    ("#e66700", "#ff8516"),
    ("#161616", "#cef3fa"),
    ("#52a299", "#8fc4b4"),
    ("#a07dfb", "#fadd68"),
    ("#7a2a01", "#b65329"),
    ("#570ef2", "#7b50fc"),
    ("#4a2c66", "#866ea0"),
];

/// Returns a colour of the list, which repeats.
pub(super) fn colour(slot: usize) -> &'static str {
    COLOURS[slot % COLOURS.len()].0
}

/// Mixes a colour with the background. `share` is the share of the colour.
pub(super) fn towards_paper(colour: &str, share: f64) -> String {
    hex(mix(parse(colour), parse(PAPER), share))
}

/// Returns the counterpart of a colour in dark mode. A tint becomes the same tint of the
/// counterpart.
pub(super) fn dark(colour: &str) -> String {
    if let Some((_, dark)) = NEUTRALS.iter().find(|(light, _)| *light == colour) {
        return (*dark).to_owned();
    }
    let fits = COLOURS.iter().map(|(light, dark)| (tint_of(parse(colour), parse(light)), dark));
    let best = fits.min_by(|((a, _), _), ((b, _), _)| a.total_cmp(b));
    best.map_or_else(
        || colour.to_owned(),
        |((_, share), dark)| hex(mix(parse(dark), parse(DARK_PAPER), share)),
    )
}

type Rgb = [f64; 3];

/// Returns the tint of `base` nearest to a colour: its squared distance, and the share of `base` in
/// it.
fn tint_of(colour: Rgb, base: Rgb) -> (f64, f64) {
    let white = parse(PAPER);
    let dot = |a: &dyn Fn(usize) -> f64, b: &dyn Fn(usize) -> f64| (0..3).map(|i| a(i) * b(i)).sum::<f64>();
    let (along, to) = (|i: usize| base[i] - white[i], |i: usize| colour[i] - white[i]);
    let share = (dot(&along, &to) / dot(&along, &along)).clamp(0.0, 1.0);
    let rest = |i: usize| to(i) - share * along(i);
    (dot(&rest, &rest), share)
}

fn mix(colour: Rgb, ground: Rgb, share: f64) -> Rgb {
    std::array::from_fn(|i| ground[i] + share * (colour[i] - ground[i]))
}

fn parse(colour: &str) -> Rgb {
    let value = u32::from_str_radix(colour.trim_start_matches('#'), 16).unwrap_or(0);
    [16, 8, 0].map(|shift| f64::from((value >> shift) & 0xff) / 255.0)
}

fn hex(rgb: Rgb) -> String {
    let [r, g, b] = rgb.map(|c| (c * 255.0).round().clamp(0.0, 255.0) as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
pub(super) mod tests {
    use palette::color_difference::Wcag21RelativeContrast;
    use palette::{IntoColor, LinSrgb, Oklab, Srgb};

    use super::*;

    /// Colours as seen with normal vision and without the cones for red (protan) or green (deutan),
    /// in linear sRGB. Source: Machado, Oliveira and Fernandes, "A Physiologically-based Model for
    /// Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, table of severity 1.0.
    const VISIONS: [[[f64; 3]; 3]; 3] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ];

    fn seen(colour: &str, vision: &[[f64; 3]; 3]) -> Oklab<f64> {
        let [r, g, b] = parse(colour);
        let linear: LinSrgb<f64> = Srgb::new(r, g, b).into_linear();
        let channel = |row: &[f64; 3]| {
            (row[0] * linear.red + row[1] * linear.green + row[2] * linear.blue).clamp(0.0, 1.0)
        };
        LinSrgb::new(channel(&vision[0]), channel(&vision[1]), channel(&vision[2])).into_color()
    }

    /// Returns the smallest distance of two colours in the three visions (OKLab times 100).
    pub(crate) fn distance(a: &str, b: &str) -> f64 {
        let between = |vision| {
            let (a, b): (Oklab<f64>, Oklab<f64>) = (seen(a, vision), seen(b, vision));
            100.0 * (a.l - b.l).hypot(a.a - b.a).hypot(a.b - b.b)
        };
        VISIONS.iter().map(between).fold(f64::INFINITY, f64::min)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let [a, b] = [a, b].map(|c| {
            let [r, g, b] = parse(c);
            Srgb::new(r, g, b)
        });
        a.relative_contrast(b)
    }

    #[test]
    fn the_colours_are_told_apart_and_read_on_both_pages() {
        for (i, (light, twin)) in COLOURS.iter().enumerate() {
            assert!(contrast(light, PAPER) >= 3.0, "{light} on white");
            assert!(contrast(twin, DARK_PAPER) >= 3.0, "{twin} on dark");
            for (other, other_twin) in &COLOURS[..i] {
                assert!(distance(light, other) >= 15.0, "{light} and {other}: {}", distance(light, other));
                assert!(distance(twin, other_twin) >= 15.0, "{twin} and {other_twin}");
            }
        }
        assert!(contrast(MUTED, PAPER) > 4.5 && contrast(&dark(MUTED), DARK_PAPER) > 4.5, "small text");
    }

    #[test]
    fn distances_are_those_of_oklab() {
        assert!((distance("#000000", "#ffffff") - 100.0).abs() < 0.01);
        // These two colours look the same to most people.
        assert!(distance("#5a97e2", "#6f93e6") < 3.0);
    }

    #[test]
    fn a_tint_has_the_same_tint_of_the_twin() {
        const SHARE: f64 = 0.66;
        for (light, twin) in COLOURS {
            assert_eq!(dark(light), twin);
            let tint = towards_paper(light, SHARE);
            let (lit, expected) = (dark(&tint), hex(mix(parse(twin), parse(DARK_PAPER), SHARE)));
            let far =
                parse(&lit).iter().zip(parse(&expected)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(far < 0.02, "{light}: {lit} is not {expected}");
        }
    }
}
