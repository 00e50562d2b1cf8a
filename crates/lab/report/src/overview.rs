//! Plain tables, which the reader may sort.

use maud::{Markup, html};

/// Draws a table. The first column names the rows.
pub(super) fn table(caption: &str, head: &[String], rows: &[Vec<String>], sortable: bool) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table.overview data-sortable[sortable] {
                @if !caption.is_empty() { caption { (caption) } }
                thead { tr { @for name in head { th { (name) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (i, cell) in row.iter().enumerate() {
                                @if i == 0 { th scope="row" { (cell) } } @else { td.count { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
