//! Makes foreign text safe for a terminal, by replacing the characters that control it.

use std::borrow::Cow;
use std::fmt::Display;

/// Reports whether a character controls the terminal: a control character other than tab and line
/// feed, or a mark that changes the text direction.
pub fn is_terminal_control(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && !matches!(c, '\t' | '\n'))
}

/// Refuses a text with such a character.
///
/// # Errors Describes the character.
pub fn check(text: &str) -> Result<(), String> {
    let wrong = |c| format!("the text contains the control character U+{:04X}", u32::from(c));
    text.chars().find(|c| is_terminal_control(*c)).map_or(Ok(()), |c| Err(wrong(c)))
}

/// Replaces each such character by a visible symbol: `␛` for escape.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(is_terminal_control) { text.chars().map(symbol_for).collect() } else { text.into() }
}

/// Does the same for a text that this program has coloured. Escape sequences that set colours stay.
pub fn printable_in_colour(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        let (before, code) = rest.split_at(at);
        let length = colour_code(code);
        out.push_str(&printable(before));
        out.push_str(if length == 0 { "␛" } else { &code[..length] });
        rest = &code[length.max(1)..];
    }
    out + &printable(rest)
}

const ESCAPE: char = '\u{1b}';

/// Returns the length of the escape sequence at the start if it sets colours (`ESC [ 3 1 m`), else
/// 0.
fn colour_code(text: &str) -> usize {
    let numbers = |rest: &str| rest.find(|c: char| !c.is_ascii_digit() && c != ';');
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return 0 };
    numbers(rest).filter(|at| rest[*at..].starts_with('m')).map_or(0, |at| at + "\u{1b}[m".len())
}

fn symbol_for(c: char) -> char {
    match c {
        c if !is_terminal_control(c) => c,
        '\u{7f}' => '␡',
        c if c.is_ascii() => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// Formats a count with the words behind it, for one and for several.
pub fn counted(count: impl Display, [one, several]: [&str; 2]) -> String {
    let count = count.to_string();
    let words = if count == "1" { one } else { several };
    count + " " + words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_for_control_characters() {
        assert_eq!(
            printable("a\u{1b}[31m\r\u{7}\u{7f}\u{9b}2J\u{202e}b\tc\n"),
            "a␛[31m␍␇␡\u{fffd}2J\u{fffd}b\tc\n"
        );
        assert!(matches!(printable("Überlast, 拥塞\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn colours_stay() {
        let text = "\u{1b}[1;31mred\u{1b}[0m\u{1b}[m";
        assert_eq!(printable_in_colour(text), text);
        for (text, printed) in [
            ("\u{1b}[2J", "␛[2J"),
            ("\u{1b}]0;title\u{7}", "␛]0;title␇"),
            ("\u{1b}[31", "␛[31"),
            ("\u{1b}\u{1b}[31mx\r", "␛\u{1b}[31mx␍"),
        ] {
            assert_eq!(printable_in_colour(text), printed);
        }
    }
}
