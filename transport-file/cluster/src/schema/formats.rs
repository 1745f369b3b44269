//! The formats of texts that a server checks (kube-openapi `validation/strfmt`).
//!
//! ISBNs, credit cards, colours and the names of hosts with letters beyond ASCII are taken as they are.

use crate::names::{is_label, is_subdomain};
use listwatch_core::time::WallTime;
use regex_lite::Regex;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

/// Whether a server checks a format.
pub(super) fn is_known(format: &str) -> bool {
    KNOWN.contains(&format.replace('-', "").as_str())
}

const KNOWN: [&str; 26] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// Whether a text has a format.
pub(super) fn is_valid(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "bsonobjectid" => text.len() == 24 && is_hexadecimal(text),
        "byte" => matches(text, "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"),
        "cidr" => is_cidr(text),
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "email" => is_email(text),
        "hexcolor" => matches(text, "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
        "hostname" => is_hostname(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "k8slongname" => is_subdomain(text),
        "k8sshortname" => is_label(text),
        "mac" => is_mac(text),
        "ssn" => matches(text, "^\\d{3}[- ]\\d{2}[- ]\\d{4}$"),
        "uri" => is_uri(text),
        "uuid" => is_uuid(text, ""),
        "uuid3" => is_uuid(text, "3"),
        "uuid4" => is_uuid(text, "4"),
        "uuid5" => is_uuid(text, "5"),
        _ => true,
    }
}

/// Whether a text matches one of the patterns of this file, which are compiled once.
fn matches(text: &str, pattern: &str) -> bool {
    static KNOWN: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known().get(pattern).cloned();
    let regex = found.or_else(|| {
        let regex = Regex::new(pattern).ok()?;
        Some(known().entry(pattern.to_owned()).or_insert(regex).clone())
    });
    regex.is_some_and(|regex| regex.is_match(text))
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    length.bytes().all(|byte| byte.is_ascii_digit()) && length.parse::<u8>().is_ok_and(|length| length <= most)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && format!("{text}T00:00:00Z").parse::<WallTime>().is_ok()
}

/// As a server checks it: the offset can be any.
fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let Some((date, time)) = lower.split_once('t') else { return false };
    let time_pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$";
    is_date(date) && matches(time, time_pattern)
}

/// As a server checks it: `1h30m`, `0`, or a number with the name of a unit somewhere.
fn is_duration(text: &str) -> bool {
    matches(
        text,
        "^[+-]?(0|([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))(([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$",
    ) || matches(
        text,
        "(?i)[0-9]\\s*(ns|us|µs|ms|s|m|h|d|w|hr|wk|(nano|micro|milli|sec|min|hour|day|week)[a-z]*)([^a-zµ]|$)",
    )
}

/// An address, or a name with an address in brackets.
fn is_email(text: &str) -> bool {
    let address = text.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix('>')).unwrap_or(text);
    matches(address, "^[^\\s@<>(),;:\\\\\"\\[\\]]+@[^\\s@<>(),;:\\\\\"\\[\\]]+$") && !address.contains("..")
}

fn is_hostname(text: &str) -> bool {
    let is_part = |part: &str| matches(part, "^[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$");
    !text.is_ascii() || text.len() <= 255 && text.split('.').all(is_part)
}

fn is_mac(text: &str) -> bool {
    [
        "^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}$",
        "^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){7}$",
        "^[0-9a-fA-F]{4}(\\.[0-9a-fA-F]{4}){2,3}$",
    ]
    .iter()
    .any(|pattern| matches(text, pattern))
}

/// A path, or a scheme with something behind it.
fn is_uri(text: &str) -> bool {
    text.starts_with('/') || matches(text, "^[a-zA-Z][-+.a-zA-Z0-9]*:[^\\s]+$")
}

fn is_uuid(text: &str, version: &str) -> bool {
    let variant = if ["4", "5"].contains(&version) { "[89ab][0-9a-f]{3}" } else { "[0-9a-f]{4}" };
    let third = format!("{version}[0-9a-f]{{{}}}", 4 - version.len());
    matches(text, &format!("(?i)^[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{variant}-?[0-9a-f]{{12}}$"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_takes_what_a_server_takes() {
        for (format, valid, invalid) in [
            ("date", "2024-02-29", "2023-02-29"),
            ("date-time", "2024-02-29T10:00:00Z", "2024-02-29 10:00:00"),
            ("date-time", "2024-02-29t23:59:59.5+02:00", "2024-02-29T24:00:00Z"),
            ("duration", "1h30m", "soon"),
            ("duration", "3 weeks", "3 moons"),
            ("duration", "0", ""),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
            ("uuid4", "123E4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
            ("ipv4", "10.0.0.1", "::1"),
            ("ipv6", "::1", "10.0.0.1"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("uri", "https://example.com/a", "example.com"),
            ("uri", "/a", "./a"),
            ("email", "a@example.com", "a"),
            ("email", "A <a@example.com>", "a@@b"),
            ("byte", "YQ==", "YQ"),
            ("mac", "00:00:5e:00:53:01", "00:00"),
            ("hostname", "a.example.com", "-a"),
            ("k8s-short-name", "a-b", "A"),
            ("k8s-long-name", "a.b", "a_b"),
            ("hexcolor", "#ff0000", "#ff"),
        ] {
            assert!(is_known(format) && is_valid(format, valid), "{format} {valid}");
            assert!(!is_valid(format, invalid), "{format} {invalid}");
        }
        assert!(!is_known("int64") && is_valid("password", "x"));
    }
}
