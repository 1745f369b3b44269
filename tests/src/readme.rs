//! The README of the checkout.

use std::path::Path;

/// The whole text.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn text() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the checkout").join("README.md");
    std::fs::read_to_string(path).expect("a README")
}

/// The text of each block of this language.
#[must_use]
pub fn blocks<'a>(readme: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    readme.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}
