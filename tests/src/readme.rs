//! The README of the checkout, and the pages that it links to.

use std::path::Path;

/// The README.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn text() -> String {
    page("README.md")
}

/// The page at this path of the checkout.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn page(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the checkout").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of each block of this language.
#[must_use]
pub fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}
