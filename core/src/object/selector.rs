//! Label selectors, as `kubectl get --selector` takes them.

mod parse;
#[cfg(test)]
mod tests;

#[cfg(feature = "json")]
pub(crate) use parse::{is_domain, is_qualified_name};

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// Selects objects by their labels (apimachinery `labels.Selector`). The empty selector selects every object.
///
/// Syntax and meaning are those of `labels.Parse`: requirements separated by commas, all of which must hold.
///
/// | requirement | selects an object if |
/// |---|---|
/// | `app`, `!app` | it has the label, does not have it |
/// | `app=web`, `app==web`, `app in (web, api)` | it has the label with that value, or one of those |
/// | `app!=web`, `app notin (web, api)` | it has the label with another value, or does not have it |
/// | `tier>2`, `tier<2` | it has the label with a number above, below that one |
///
/// ```
/// use listwatch_core::object::LabelSelector;
///
/// let selector = LabelSelector::parse("app in (web, api), !canary")?;
/// let labels = [("app", "web"), ("tier", "front")];
/// let value_of = |name: &str| labels.iter().find(|(label, _)| *label == name).map(|(_, value)| *value);
/// assert!(selector.matches(value_of));
///
/// let error = LabelSelector::parse("app in web").unwrap_err();
/// assert_eq!((error.offset, error.message), (7, "expected '('"));
/// # Ok::<(), listwatch_core::object::ParseSelectorError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// The text is not a label selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseSelectorError {
    /// The offset of the first wrong token, in bytes.
    pub offset: usize,
    /// The fault at that offset.
    pub message: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    label: Box<str>,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    DoesNotExist,
    In(Vec<Box<str>>),
    NotIn(Vec<Box<str>>),
    GreaterThan(i64),
    LessThan(i64),
}

impl LabelSelector {
    /// Parses a selector, as `kubectl get --selector` does.
    ///
    /// # Errors
    /// Fails where the API server refuses the text, too.
    pub fn parse(text: &str) -> Result<Self, ParseSelectorError> {
        parse::requirements(text).map(|requirements| Self { requirements })
    }

    /// Whether the selector selects an object whose labels have the values that `value_of` returns for their names. An
    /// empty selector does not call it.
    pub fn matches<'a>(&self, value_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.test.holds(value_of(&requirement.label)))
    }

    /// Whether the selector is empty, so that it selects every object (client-go `Selector.Empty`).
    #[must_use]
    pub fn selects_all(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_one_of = |values: &[Box<str>]| value.is_some_and(|value| values.iter().any(|other| **other == *value));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::In(values) => is_one_of(values),
            Self::NotIn(values) => !is_one_of(values),
            Self::GreaterThan(limit) => number().is_some_and(|number| number > *limit),
            Self::LessThan(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

/// Writes the selector in the syntax that [`parse`](LabelSelector::parse) reads, such as for
/// `Resource::with_label_selector`.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, requirement) in self.requirements.iter().enumerate() {
            write!(f, "{}{requirement}", if place == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = &self.label;
        match &self.test {
            Test::Exists => f.write_str(label),
            Test::DoesNotExist => write!(f, "!{label}"),
            Test::In(values) if values.len() == 1 => write!(f, "{label}={}", values[0]),
            Test::NotIn(values) if values.len() == 1 => write!(f, "{label}!={}", values[0]),
            Test::In(values) => write!(f, "{label} in ({})", values.join(",")),
            Test::NotIn(values) => write!(f, "{label} notin ({})", values.join(",")),
            Test::GreaterThan(limit) => write!(f, "{label}>{limit}"),
            Test::LessThan(limit) => write!(f, "{label}<{limit}"),
        }
    }
}

impl FromStr for LabelSelector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, ParseSelectorError> {
        Self::parse(text)
    }
}

impl fmt::Display for ParseSelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} of the label selector", self.message, self.offset)
    }
}

impl core::error::Error for ParseSelectorError {}
