//! Links between pages, and the table of contents.

use std::path::Path;

use crate::page::{Page, book, pages, root};

/// Returns the targets of the links of a page, outside of code.
fn links(page: &Page) -> Vec<String> {
    let prose = page.prose();
    // Code spans may hold brackets.
    let text: String = prose.split('`').step_by(2).collect();
    let ends = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
    ends.filter_map(|rest| Some(rest[..rest.find(')')?].to_owned())).collect()
}

/// Returns the fragments of a page's headings, as mdBook and code hosts make them.
fn fragments(page: &Page) -> Vec<String> {
    let prose = page.prose();
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| fragment(line.trim_start_matches('#').trim())).collect()
}

fn fragment(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Returns the reason why a link leads nowhere.
fn broken(page: &Page, link: &str) -> Option<String> {
    // Paths of items are links of rustdoc, which checks them.
    if link.starts_with("https://") || link.starts_with("http://") || link.contains("::") {
        return None;
    }
    let (path, wanted) = link.split_once('#').map_or((link, None), |(path, name)| (path, Some(name)));
    let target = if path.is_empty() { page.path.clone() } else { page.path.parent()?.join(path) };
    if !target.exists() {
        return Some(format!("{}: no file at `{link}`", page.name()));
    }
    let wanted = wanted?;
    let found = fragments(&Page::read(target));
    (!found.iter().any(|name| name == wanted)).then(|| format!("{}: no heading for `{link}`", page.name()))
}

#[test]
fn links_lead_somewhere() {
    let all = pages(&root());
    assert!(all.len() > 40, "{}", all.len());
    let broken: Vec<String> =
        all.iter().flat_map(|page| links(page).into_iter().filter_map(|link| broken(page, &link))).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_table_of_contents_is_complete() {
    let book = book();
    let contents = Page::read(book.join("SUMMARY.md"));
    let listed = links(&contents);
    for page in pages(&book) {
        let path = page.path.strip_prefix(&book).unwrap();
        if path != Path::new("SUMMARY.md") {
            assert!(listed.iter().any(|link| Path::new(link) == path), "SUMMARY.md lacks {}", path.display());
        }
    }
}

#[test]
fn fragments_are_those_of_headings() {
    assert_eq!(fragment("The `[link]` table, and more"), "the-link-table-and-more");
    let page =
        Page { path: "a.md".into(), text: "# A b\n```sh\n# no heading\n```\n[x](#a-b) [y](b.md)".into() };
    assert_eq!(
        (fragments(&page), links(&page)),
        (vec!["a-b".to_owned()], vec!["#a-b".into(), "b.md".into()])
    );
}
