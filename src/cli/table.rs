//! A table in HTML.

use crate::chart::escape;
use std::fmt::Write;

/// Rows of safe HTML; the first `texts` columns are texts, the others numbers.
pub fn table(
    caption: &str,
    head: &[&str],
    texts: usize,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let class = |at: usize| if at < texts { "" } else { " class=\"n\"" };
    let mut text = "<div class=\"wide\"><table>\n".to_owned();
    if !caption.is_empty() {
        let _ = writeln!(text, "<caption>{}</caption>", escape(caption));
    }
    if head.iter().any(|name| !name.is_empty()) {
        text.push_str("<thead><tr>");
        for (at, name) in head.iter().enumerate() {
            let _ = write!(text, "<th scope=\"col\"{}>{}</th>", class(at), escape(name));
        }
        text.push_str("</tr></thead>\n");
    }
    text.push_str("<tbody>\n");
    for row in rows {
        text.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let _ = match at {
                0 => write!(text, "<th scope=\"row\">{cell}</th>"),
                _ => write!(text, "<td{}>{cell}</td>", class(at)),
            };
        }
        text.push_str("</tr>\n");
    }
    text + "</tbody></table></div>\n"
}
