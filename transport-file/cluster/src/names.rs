//! The names of objects: which are valid, and those that the server makes.

use super::refusal::{Cause, FieldError};
use crate::kinds::{ServedKind, Trait};

/// What is wrong with the name of a new object.
pub(super) fn faults(kind: &ServedKind, name: &str) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![FieldError::new(Cause::Required, "metadata.name", "name or generateName is required")];
    }
    let mut found = Rule::of(kind).errors("metadata.name", name, name);
    // The names of its Jobs are longer.
    if kind.name() == "batch/v1/cronjobs" && name.len() > 52 {
        found.push(FieldError::invalid("metadata.name", name, "must be no more than 52 characters"));
    }
    found
}

/// What is wrong with the prefix of names, which is empty for none.
pub(super) fn prefix_faults(kind: &ServedKind, prefix: &str) -> Vec<FieldError> {
    // A prefix may end with a dash.
    let whole = prefix.strip_suffix('-').map_or_else(|| prefix.to_owned(), |prefix| format!("{prefix}a"));
    if prefix.is_empty() { Vec::new() } else { Rule::of(kind).errors("metadata.generateName", prefix, &whole) }
}

/// What a name has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Subdomain,
    Label,
    Segment,
}

impl Rule {
    fn of(kind: &ServedKind) -> Self {
        match kind {
            _ if kind.has(Trait::LabelNames) => Self::Label,
            _ if kind.has(Trait::SegmentNames) => Self::Segment,
            _ => Self::Subdomain,
        }
    }

    fn errors(self, field: &str, given: &str, checked: &str) -> Vec<FieldError> {
        self.faults(checked).into_iter().map(|why| FieldError::invalid(field, given, why)).collect()
    }

    fn faults(self, name: &str) -> Vec<&'static str> {
        match self {
            Self::Subdomain => broken(&[
                (name.len() <= 253, "must be no more than 253 characters"),
                (name.split('.').all(is_part), SUBDOMAIN),
            ]),
            Self::Label if name.contains('.') && name.split('.').all(is_part) => vec!["must not contain dots"],
            Self::Label => broken(&[(name.len() <= 63, "must be no more than 63 characters"), (is_part(name), LABEL)]),
            Self::Segment => broken(&[
                (name != ".", "may not be '.'"),
                (name != "..", "may not be '..'"),
                (!name.contains('/'), "may not contain '/'"),
                (!name.contains('%'), "may not contain '%'"),
            ]),
        }
    }
}

fn broken(rules: &[(bool, &'static str)]) -> Vec<&'static str> {
    rules.iter().filter(|(holds, _)| !holds).map(|(_, why)| *why).collect()
}

pub(super) const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                                    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
                                    used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
                     end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

pub(super) const DNS_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                                    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or \
                                    'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
/// What is said of a name in mixed case before [`DNS_LABEL`].
pub(super) const MIXED_CASE: &str = "may have mixed case, but should otherwise match: ";

/// Whether a name is a label of RFC 1035: one that begins with a letter.
pub(super) fn is_dns_label(name: &str) -> bool {
    is_label(name) && name.as_bytes()[0].is_ascii_lowercase()
}

/// What is wrong with the name and the namespace of an object in another one.
pub(super) fn embedded_faults(name: &str, namespace: &str) -> Vec<FieldError> {
    let given = |field: &str, given: &str, rule: Rule| -> Vec<FieldError> {
        let faults = if given.is_empty() { Vec::new() } else { rule.faults(given) };
        faults.into_iter().map(|why| FieldError::invalid(field, given, why)).collect()
    };
    let mut errors = given("metadata.name", name, Rule::Segment);
    errors.extend(given("metadata.namespace", namespace, Rule::Label));
    errors
}

pub(super) fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_part)
}

/// Whether a name can be that of a namespace (RFC 1123).
pub(super) fn is_label(name: &str) -> bool {
    name.len() <= 63 && is_part(name)
}

/// Whether a text is what stands between the dots of a domain name.
fn is_part(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|end| end.is_some_and(|byte| is_letter(*byte)))
        && bytes.iter().all(|byte| is_letter(*byte) || *byte == b'-')
}

/// The uid with a number, in the form of a UUID.
pub(super) fn uid(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

/// A name of a prefix and five more characters, which has 63 bytes at most.
pub(super) fn generated(prefix: &str, number: u64) -> String {
    let end = (0..=prefix.len().min(58)).rev().find(|end| prefix.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{}", &prefix[..end], suffix(number))
}

/// Five characters, from those that `generateName` takes (apimachinery `util/rand`).
fn suffix(number: u64) -> String {
    const CHARACTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    // A step that has no divisor in common with their number, so that neighbours look different.
    let mut rest = number.wrapping_mul(7_368_787) % 14_348_907;
    let mut character = || {
        let found = CHARACTERS[(rest % 27) as usize];
        rest /= 27;
        char::from(found)
    };
    std::iter::repeat_with(&mut character).take(5).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_name_is_a_subdomain() {
        for name in ["a", "a.b-c", "0", &"a".repeat(253)] {
            assert!(is_subdomain(name), "{name}");
        }
        for name in ["", "A", "-a", "a-", "a..b", "a_b", "a/b", &"a".repeat(254)] {
            assert!(!is_subdomain(name), "{name}");
        }
        for (name, is_valid) in [("system:node", true), ("a/b", false), ("..", false), ("a%b", false)] {
            assert_eq!(Rule::Segment.faults(name).is_empty(), is_valid, "{name}");
        }
    }

    #[test]
    fn a_generated_name_has_63_bytes_at_most() {
        assert_eq!(generated(&"x".repeat(70), 1).len(), 63);
        assert_eq!(generated(&"x".repeat(58), 1).len(), 63);
        assert_eq!(generated("web-", 1).len(), 9);
        assert_eq!(generated(&"ä".repeat(40), 1).len(), 63);
        assert_eq!(Rule::Subdomain.faults(&"a".repeat(254)), ["must be no more than 253 characters"]);
        assert_eq!(Rule::Label.faults("a.b"), ["must not contain dots"]);
        assert_eq!(Rule::Label.faults("a_b"), [LABEL]);
    }

    #[test]
    fn generated_names_differ() {
        let names: BTreeSet<String> = (0..10_000).map(suffix).collect();
        assert_eq!(names.len(), 10_000);
        assert!(names.iter().all(|name| is_subdomain(name) && name.len() == 5));
    }
}
