//! Label selectors, as `kubectl get --selector` takes them, and as fields of objects.

#[cfg(feature = "json")]
mod fields;

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
///
/// With serde, it is the field of an object that selects others: `matchLabels` and `matchExpressions`. There, an absent
/// selector selects no object, so the field is an `Option`:
///
#[cfg_attr(feature = "json", doc = "```")]
#[cfg_attr(not(feature = "json"), doc = "```ignore")]
/// use listwatch_core::object::LabelSelector;
///
/// #[derive(serde::Deserialize)]
/// struct DeploymentSpec {
///     selector: Option<LabelSelector>,
/// }
///
/// let spec: DeploymentSpec = serde_json::from_str(r#"{ "selector": { "matchLabels": { "app": "web" } } }"#)?;
/// assert_eq!(spec.selector, Some(LabelSelector::from_labels([("app", "web")]).unwrap()));
/// # Ok::<(), serde_json::Error>(())
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
        requirements(text).map(|requirements| Self { requirements })
    }

    /// Selects the objects that have these labels, such as `spec.selector` of a Service (apimachinery
    /// `ValidatedSelectorFromSet`). No labels select every object.
    ///
    /// # Errors
    /// One is no name or value of a label. The offset is that in the selector's text.
    #[doc(alias("matchLabels", "SelectorFromSet"))]
    pub fn from_labels<K: AsRef<str>, V: AsRef<str>>(
        labels: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, ParseSelectorError> {
        let (mut requirements, mut offset) = (Vec::new(), 0);
        for (label, value) in labels {
            let (label, value) = (label.as_ref(), value.as_ref());
            if !is_qualified_name(label) {
                return Err(error(offset, "not the name of a label"));
            }
            offset += label.len() + 1;
            if !is_value(value) {
                return Err(error(offset, "not a value of a label"));
            }
            offset += value.len() + 1;
            requirements.push(Requirement { label: label.into(), test: Test::In([value.into()].into()) });
        }
        Ok(Self { requirements })
    }

    /// Whether the selector selects an object whose labels have the values that `value_of` returns for their names. An
    /// empty selector does not call it.
    pub fn matches<'a>(&self, value_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.test.holds(value_of(&requirement.label)))
    }

    /// Whether the selector is empty, so that it selects every object (client-go `Selector.Empty`).
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

/// The grammar of `labels.Parse`, its oddities included: `in ()` lists the empty value, and `a=` requires it. `in` and
/// `notin` are names where no operator can be.
fn requirements(text: &str) -> Result<Vec<Requirement>, ParseSelectorError> {
    let mut parser = Parser { text, at: 0 };
    let mut requirements = Vec::new();
    if parser.peek() == Token::End {
        return Ok(requirements);
    }
    loop {
        requirements.push(parser.requirement()?);
        match parser.next() {
            (_, Token::End) => return Ok(requirements),
            (_, Token::Symbol(",")) => {}
            (offset, _) => return Err(error(offset, "expected ',' or the end")),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn requirement(&mut self) -> Result<Requirement, ParseSelectorError> {
        let negated = self.accept("!");
        let (offset, label) = self.word("expected the name of a label")?;
        if !is_qualified_name(label) {
            return Err(error(offset, "not the name of a label"));
        }
        let test = match self.peek() {
            _ if negated => Test::DoesNotExist,
            Token::End | Token::Symbol(",") => Test::Exists,
            _ => self.test()?,
        };
        Ok(Requirement { label: label.into(), test })
    }

    fn test(&mut self) -> Result<Test, ParseSelectorError> {
        match self.next() {
            (_, Token::Word("in")) => Ok(Test::In(self.values()?)),
            (_, Token::Word("notin")) => Ok(Test::NotIn(self.values()?)),
            (_, Token::Symbol("=" | "==")) => Ok(Test::In([self.value()?].into())),
            (_, Token::Symbol("!=")) => Ok(Test::NotIn([self.value()?].into())),
            (_, Token::Symbol(">")) => Ok(Test::GreaterThan(self.number()?)),
            (_, Token::Symbol("<")) => Ok(Test::LessThan(self.number()?)),
            (offset, _) => Err(error(offset, "expected '=', '!=', 'in', 'notin', '<' or '>'")),
        }
    }

    /// A list in parentheses, in which nothing between two commas is the empty value.
    fn values(&mut self) -> Result<Vec<Box<str>>, ParseSelectorError> {
        self.expect("(", "expected '('")?;
        let mut values = Vec::new();
        loop {
            values.push(match self.peek() {
                Token::Symbol("," | ")") => Box::default(),
                _ => self.label_value()?,
            });
            if self.accept(")") {
                return Ok(values);
            }
            self.expect(",", "expected ',' or ')'")?;
        }
    }

    fn value(&mut self) -> Result<Box<str>, ParseSelectorError> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(Box::default()),
            _ => self.label_value(),
        }
    }

    fn number(&mut self) -> Result<i64, ParseSelectorError> {
        let offset = self.offset();
        self.value()?.parse().map_err(|_| error(offset, "expected a number"))
    }

    fn label_value(&mut self) -> Result<Box<str>, ParseSelectorError> {
        let (offset, value) = self.word("expected a value")?;
        if is_name(value) { Ok(value.into()) } else { Err(error(offset, "not a value of a label")) }
    }

    fn word(&mut self, message: &'static str) -> Result<(usize, &'a str), ParseSelectorError> {
        match self.next() {
            (offset, Token::Word(word)) => Ok((offset, word)),
            (offset, _) => Err(error(offset, message)),
        }
    }

    fn expect(&mut self, symbol: &str, message: &'static str) -> Result<(), ParseSelectorError> {
        if self.accept(symbol) { Ok(()) } else { Err(error(self.offset(), message)) }
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.peek() == Token::Symbol(symbol);
        if found {
            self.next();
        }
        found
    }

    fn next(&mut self) -> (usize, Token<'a>) {
        let (offset, token) = (self.offset(), self.peek());
        self.at = offset
            + match token {
                Token::Word(text) | Token::Symbol(text) => text.len(),
                Token::End => 0,
            };
        (offset, token)
    }

    fn peek(&self) -> Token<'a> {
        let rest = &self.text[self.offset()..];
        let symbol = match rest.as_bytes() {
            [] => return Token::End,
            [b'=' | b'!', b'=', ..] => 2,
            [first, ..] if is_symbol(*first as char) => 1,
            _ => return Token::Word(rest.split(|c| is_space(c) || is_symbol(c)).next().unwrap_or_default()),
        };
        Token::Symbol(&rest[..symbol])
    }

    /// Where the next token begins.
    fn offset(&self) -> usize {
        self.text.len() - self.text[self.at..].trim_start_matches(is_space).len()
    }
}

fn error(offset: usize, message: &'static str) -> ParseSelectorError {
    ParseSelectorError { offset, message }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '<' | '>')
}

/// Kubernetes' qualified name: `name`, or `example.com/name`.
pub(crate) fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_domain(prefix) && is_name(name),
        None => is_name(text),
    }
}

/// The form of both names and values of labels.
fn is_name(text: &str) -> bool {
    text.len() <= 63 && is_framed(text, |byte| byte.is_ascii_alphanumeric(), |byte| matches!(byte, b'-' | b'_' | b'.'))
}

/// The form of a label's value.
fn is_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

/// A DNS subdomain (RFC 1123).
pub(crate) fn is_domain(text: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= 253 && text.split('.').all(|part| is_framed(part, lower, |byte| byte == b'-'))
}

/// Not empty, begins and ends with an `outer` byte, and has `outer` and `inner` ones between.
fn is_framed(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|byte| byte.is_some_and(|byte| outer(*byte)))
        && bytes.iter().all(|byte| outer(*byte) || inner(*byte))
}

#[cfg(test)]
mod tests;
