//! Small things of Go and of Rancher's libraries, whose results are stored in objects.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON as Go writes it: with sorted keys, and with the characters of HTML escaped.
pub fn json(value: &Value) -> String {
    let escapes =
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    escapes.into_iter().fold(value.to_string(), |text, (char, escape)| text.replace(char, escape))
}

/// Joins parts of a name, and cuts it to 63 characters with a hash (wrangler `SafeConcatName`).
pub fn safe_name(parts: &[&str]) -> String {
    let whole = parts.join("-");
    if whole.len() < 64 {
        return whole;
    }
    let hash = hex(&Sha256::digest(&whole));
    let is_plain = whole.as_bytes()[56].is_ascii_lowercase() || whole.as_bytes()[56].is_ascii_digit();
    let (kept, digits) = if is_plain { (57, 5) } else { (56, 6) };
    format!("{}-{}", &whole[..kept], &hash[..digits])
}

const UNITS: [(&str, f64); 8] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];

/// The nanoseconds of a text such as `1h30m` (Go `time.ParseDuration`).
pub fn parse_duration(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut sum = 0.0;
    loop {
        let digits = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit_len = tail.find(|it: char| it.is_ascii_digit() || it == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_len);
        let (_, nanos) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum += number.parse::<f64>().ok()? * nanos;
        rest = tail;
        if rest.is_empty() {
            return Some((sign * sum) as i64);
        }
    }
}

/// A duration as Go prints it, such as `1h30m0s`.
pub fn duration(nanos: i64) -> String {
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{nanos}ns"),
        1_000..1_000_000 => format!("{sign}{}µs", decimal(nanos, 1_000)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", decimal(nanos, 1_000_000)),
        _ => {
            let (minutes, below) = (nanos / 60_000_000_000, nanos % 60_000_000_000);
            let seconds = decimal(below, 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

/// So many nanoseconds in a larger unit.
fn decimal(nanos: u64, unit: u64) -> String {
    let (whole, rest) = (nanos / unit, nanos % unit);
    let digits = format!("{rest:0width$}", width = unit.ilog10() as usize);
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() { whole.to_string() } else { format!("{whole}.{digits}") }
}

/// Replaces `$(NAME)`, as in the arguments of a container. `$$` is a dollar.
pub fn expand(text: &str, variables: &BTreeMap<&str, &str>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(tail) = rest.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            match variables.get(name) {
                Some(value) => out.push_str(value),
                None => out.push_str(&format!("$({name})")),
            }
            rest = tail;
        } else {
            out.push('$');
        }
    }
    out + rest
}

/// An image with a tag, unless it has one, or a digest. What the short form leaves out is left out.
pub fn with_tag(image: &str, tag: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    let is_tag = |text: &str| {
        let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
        text.len() <= 128 && text.starts_with(is_word) && text.chars().all(|it| is_word(it) || it == '.' || it == '-')
    };
    if image.contains('@') || last.contains(':') || !is_tag(tag) {
        return image.to_owned();
    }
    let domains = ["docker.io/", "index.docker.io/"];
    let short = domains.iter().find_map(|domain| image.strip_prefix(domain)).unwrap_or(image);
    let short = match short.strip_prefix("library/") {
        Some(name) if !name.contains('/') => name,
        _ => short,
    };
    format!("{short}:{tag}")
}

/// The text of the field at a place such as `spec.concurrency` (wrangler `data.Object.String`).
pub fn text_at(whole: &Value, place: &str) -> String {
    let field = place.split('.').try_fold(whole, |value, name| value.get(name));
    let single = match field {
        Some(Value::Array(all)) => all.first(),
        other => other,
    };
    single.filter(|it| !it.is_null()).map(print).unwrap_or_default().trim().to_owned()
}

/// A value as Go's `fmt.Sprint` writes it.
fn print(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(all) => format!("[{}]", all.iter().map(print).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let sorted: BTreeMap<_, _> = fields.iter().collect();
            let fields: Vec<_> = sorted.iter().map(|(name, value)| format!("{name}:{}", print(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        other => other.to_string(),
    }
}
