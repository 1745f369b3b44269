//! The names of objects: which are valid, and those that the server makes.

use super::place::Place;
use super::refusal::{Cause, Refusal};

/// Checks the name of a new object.
pub(super) fn check(place: &Place) -> Result<(), Refusal> {
    let Place { kind, name, .. } = place;
    let is_path_segment = kind.group() == "rbac.authorization.k8s.io";
    let is_valid = if is_path_segment { is_segment(name) } else { is_subdomain(name) };
    if is_valid {
        return Ok(());
    }
    let why = if is_path_segment {
        format!("\"{name}\": may not be '.' or '..', and may not contain '/' or '%'")
    } else {
        format!("\"{name}\": {SUBDOMAIN}")
    };
    Err(Refusal::invalid(kind, name, Cause::Invalid, "metadata.name", &why))
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                         must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
                         is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn is_subdomain(name: &str) -> bool {
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

fn is_segment(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '%'])
}

/// The uid with a number, in the form of a UUID.
pub(super) fn uid(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

/// Five characters, from those that `generateName` takes (apimachinery `util/rand`).
pub(super) fn suffix(number: u64) -> String {
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
        assert!(is_segment("system:node") && !is_segment("a/b") && !is_segment(".."));
    }

    #[test]
    fn generated_names_differ() {
        let names: BTreeSet<String> = (0..10_000).map(suffix).collect();
        assert_eq!(names.len(), 10_000);
        assert!(names.iter().all(|name| is_subdomain(name) && name.len() == 5));
    }
}
