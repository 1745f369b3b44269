//! Label selectors, as `kubectl get --selector` takes them.

mod parse;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// Says of an object's labels whether they are wanted. The empty selector wants everything.
///
/// Syntax and meaning are those of Kubernetes' `labels.Parse`: requirements separated by commas, all of which must hold.
///
/// | requirement | holds where |
/// |---|---|
/// | `app`, `!app` | the label is there, is not there |
/// | `app=web`, `app==web`, `app in (web, api)` | the label is there and has that value, or one of those |
/// | `app!=web`, `app notin (web, api)` | the label has none of those values, or is not there |
/// | `tier>2`, `tier<2` | the label is there and is a number above, below that one |
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
/// assert_eq!((error.offset, error.what), (7, "expected '('"));
/// # Ok::<(), listwatch_core::object::SelectorError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// A text that is no label selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelectorError {
    /// Where the text stops making sense, in bytes.
    pub offset: usize,
    /// What is wrong there.
    pub what: &'static str,
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
    /// Reads a selector.
    ///
    /// # Errors
    /// Whatever the API server would refuse too.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parse::requirements(text).map(|requirements| Self { requirements })
    }

    /// Whether an object is wanted whose label of a name has the value that `value_of` gives. Not called by a selector
    /// that wants everything.
    pub fn matches<'a>(&self, value_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.test.holds(value_of(&requirement.label)))
    }

    /// Whether every object is wanted.
    #[must_use]
    pub fn is_everything(&self) -> bool {
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

impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} of the label selector", self.what, self.offset)
    }
}

impl core::error::Error for SelectorError {}
