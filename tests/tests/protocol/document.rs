//! Tables in documents that are printed from what the code does.

use crate::root;

/// Whether the table between the marks `<!-- name -->` and `<!-- /name -->` of a document is what it should be.
/// `LISTWATCH_WRITE_TABLES=1` writes it.
///
/// # Panics
/// Where it is not.
pub(crate) fn check(document: &str, name: &str, table: &str) {
    let path = root().join(document);
    let text = std::fs::read_to_string(&path).unwrap();
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (before, rest) = text.split_once(&start).unwrap_or_else(|| panic!("{document} has no mark {start}"));
    let (old, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{document} has no mark {end}"));
    if std::env::var_os("LISTWATCH_WRITE_TABLES").is_some() {
        std::fs::write(&path, format!("{before}{start}{table}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(old, table, "{document} says otherwise; LISTWATCH_WRITE_TABLES=1 cargo test writes it anew");
}
