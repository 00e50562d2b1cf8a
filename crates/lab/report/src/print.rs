//! Figures as PDF and PNG, in the size on paper that their SVG has.
//!
//! The typeface is in the program: every machine draws the same, also one without fonts. Arimo has
//! the widths of Arial and Helvetica.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use svg2pdf::{ConversionOptions, PageOptions};

use crate::chart::TYPEFACE;

const ARIMO: [&[u8]; 2] =
    [include_bytes!("../fonts/Arimo-Regular.ttf"), include_bytes!("../fonts/Arimo-Bold.ttf")];
/// Units of a tree in an inch: points.
const POINTS: f32 = 72.0;
const INCHES_IN_METRE: f64 = 1000.0 / 25.4;

/// Returns a chart as a page of PDF, with its text as text.
///
/// # Errors
/// Fails if the SVG is not one of [`crate::figures`].
pub fn pdf(svg: &str) -> Result<Vec<u8>, String> {
    let page = PageOptions { dpi: POINTS };
    svg2pdf::to_pdf(&tree(svg)?, ConversionOptions::default(), page).map_err(|e| e.to_string())
}

/// Most pixels of a picture, of four bytes each.
const MOST_PIXELS: u64 = 100_000_000;

/// Returns a chart as PNG with this many pixels per inch.
///
/// # Errors
/// Fails if the SVG is not one of [`crate::figures`], or if it has no pixels or too many.
pub fn png(svg: &str, dpi: u16) -> Result<Vec<u8>, String> {
    let tree = tree(svg)?;
    let scale = f32::from(dpi) / POINTS;
    let pixels = |length: f32| (length * scale).round() as u32;
    let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(format!("{width} x {height} pixels are too many; lower --dpi or --width"));
    }
    let size = Pixmap::new(width, height);
    let mut pixels = size.ok_or("no picture has this size")?;
    // The lowest line of pixels may be partly covered.
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    encoded(&pixels, dpi).map_err(|e| e.to_string())
}

/// Encodes pixels, which are opaque.
fn encoded(pixels: &Pixmap, dpi: u16) -> Result<Vec<u8>, ::png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut bytes, pixels.width(), pixels.height());
    encoder.set_color(::png::ColorType::Rgb);
    let per_metre = (f64::from(dpi) * INCHES_IN_METRE).round() as u32;
    let unit = ::png::Unit::Meter;
    encoder.set_pixel_dims(Some(::png::PixelDimensions { xppu: per_metre, yppu: per_metre, unit }));
    let colours: Vec<u8> = pixels.pixels().iter().flat_map(|p| [p.red(), p.green(), p.blue()]).collect();
    encoder.write_header()?.write_image_data(&colours)?;
    Ok(bytes)
}

fn tree(svg: &str) -> Result<Tree, String> {
    let mut options = Options { dpi: POINTS, font_family: "Arimo".to_owned(), ..Options::default() };
    let fonts = options.fontdb_mut();
    ARIMO.iter().for_each(|file| fonts.load_font_data(file.to_vec()));
    if !svg.chars().all(is_in_arimo) {
        fonts.load_system_fonts();
    }
    Tree::from_str(&svg.replace(TYPEFACE, "Arimo"), &options).map_err(|e| e.to_string())
}

/// Reports whether the typeface in the program may have a letter.
fn is_in_arimo(letter: char) -> bool {
    matches!(letter, '\0'..='\u{17f}' | '\u{370}'..='\u{45f}' | '\u{2010}'..='\u{25ff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::print::Print;

    fn printed(width: f64) -> String {
        let mut all = crate::fixture::realistic();
        let chart = all[1].summary.charts[0].clone();
        let print = Print { width: Some(width), ..Print::default() };
        all[1].summary.charts = vec![experiment::chart::Chart { print, ..chart }];
        crate::figures(&all[1..2]).remove(0).svg
    }

    #[test]
    fn a_page_has_the_width_on_paper_and_the_typeface() {
        for (width, points) in [(84.0, 238.110_24), (174.0, 493.228_35)] {
            let page = pdf(&printed(width)).unwrap();
            let text = String::from_utf8_lossy(&page);
            let corners =
                text.split_once("/MediaBox [").and_then(|(_, rest)| rest.split_once(']')).unwrap().0;
            let corners: Vec<f64> = corners.split(' ').map(|number| number.parse().unwrap()).collect();
            // Sizes are single-precision numbers.
            assert!((corners[2] - corners[0] - points).abs() < 1e-3, "{corners:?}");
            assert!(text.contains("+Arimo"), "the text is not text of the typeface in the program");
        }
    }

    #[test]
    fn pixels_have_the_width_on_paper() {
        let picture = png(&printed(84.0), 300).unwrap();
        let reader = ::png::Decoder::new(picture.as_slice()).read_info().unwrap();
        let info = reader.info();
        // 84 mm are 3.307 inches. A metre has 39.37.
        assert_eq!(info.width, 992);
        assert_eq!(info.pixel_dims.map(|dims| (dims.xppu, dims.yppu)), Some((11_811, 11_811)));
        assert!(png(&printed(84.0), 0).is_err());
    }

    #[test]
    fn letters_that_the_typeface_lacks_are_looked_for_elsewhere() {
        assert!("Goodput (Mbit/s) ± 5 %, α ≤ 2 → –".chars().all(is_in_arimo));
        assert!(!is_in_arimo('網') && !is_in_arimo('😀'));
    }
}
