use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;
use serde_json::{Number, Value};

/// The longest DNS label (RFC 1123).
const MAX_LABEL: usize = 63;

/// The characters of the hash, as many as a Deployment's `pod-template-hash` has at the most: 47 bits.
const HASH: usize = 10;

/// apimachinery's alphabet for hashes and random names (`rand.SafeEncodeString`): without vowels, and without
/// digits that look like one.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A name that follows from the content of the object: `prefix-` and a hash of prefix and value, a DNS label of at most
/// 63 characters.
///
/// A create that is repeated because its answer was lost makes no second object: the server says that it exists. A
/// changed value is another object, as the `ReplicaSet` of a changed Deployment (`pod-template-hash`).
///
/// # Kinds
///
/// Most kinds take any DNS label as a name. The exceptions:
///
/// * The name of a `CronJob` has 52 characters at most, because its jobs add eleven. That of a `StatefulSet` has as
///   many, because a label of its pods adds a hash. [`hashed_name_within`] takes the limit.
/// * The name of a `Service` begins with a letter, so its prefix must too. An empty prefix gives the hash alone, which
///   may begin with a digit.
/// * Some names are part of the object, such as `foos.example.com` of a `CustomResourceDefinition`, or those of
///   `APIService` and `IPAddress`.
///
/// # Prefix
///
/// A prefix that is too long is cut. Upper case becomes lower case, and any other character that a label cannot have
/// becomes `-`. The label has no hyphen at its start, and one before the hash: `-web-` gives `web-` and a hash. The
/// hash covers the prefix as it was given, so that such prefixes do not meet.
///
/// # Value
///
/// The hash is that of the value's JSON. The order of maps does not count, that of lists does. One value gives one name
/// in every version of this crate and on every machine. If a type gets another field that is always written, its
/// values get other names.
///
/// A value can be chosen so that it meets another's name. So the owner of an object that is found there has to be
/// compared.
///
/// ```
/// use listwatch_core::object::hashed_name;
/// use serde_json::json;
///
/// let name = hashed_name("web", &json!({ "image": "nginx", "replicas": 3 }))?;
/// assert_eq!(name, "web-sx4h8w2z9f");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// If the value has no JSON: if a map has keys that are neither text nor numbers, or the type's own `Serialize` fails.
pub fn hashed_name<T: Serialize + ?Sized>(prefix: &str, value: &T) -> Result<String, serde_json::Error> {
    hashed_name_within(MAX_LABEL, prefix, value)
}

/// A [`hashed_name`] of at most `max` characters, such as 52 for a `CronJob`.
///
/// The limit cuts the prefix and never the hash, so a name has ten characters at least. A limit above 63 is 63. The
/// limit is no part of the hash: if the prefix is not cut, the name is the same under every limit.
///
/// ```
/// use listwatch_core::object::hashed_name_within;
///
/// let name = hashed_name_within(52, &"backup".repeat(10), &3)?;
/// assert_eq!(name.len(), 52);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// As for [`hashed_name`].
pub fn hashed_name_within<T: Serialize + ?Sized>(
    max: usize,
    prefix: &str,
    value: &T,
) -> Result<String, serde_json::Error> {
    let mut hash = Fnv::default();
    hash.text(prefix);
    hash.value(&serde_json::to_value(value)?);
    let mut name = label(prefix, max.min(MAX_LABEL).saturating_sub(HASH + 1));
    if !name.is_empty() {
        name.push('-');
    }
    name.extend(hash.encoded());
    Ok(name)
}

/// The start of the prefix as the start of a DNS label.
fn label(prefix: &str, max: usize) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mut label: String = prefix.chars().map(safe).skip_while(|c| *c == '-').take(max).collect();
    label.truncate(label.trim_end_matches('-').len());
    label
}

/// FNV-1a of 64 bits (Fowler, Noll and Vo), which is the same in every version and on every machine.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Takes a text and its end, which is a byte that no text has.
    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.bytes(&[0xff]);
    }

    /// Takes the value by its parts, not by the text that serde_json would write, and the fields of its objects in
    /// order of their names. By itself, a `Value` may keep another order: any crate of the program can turn on
    /// serde_json's `preserve_order`.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.bytes(b"n"),
            Value::Bool(false) => self.bytes(b"f"),
            Value::Bool(true) => self.bytes(b"t"),
            Value::Number(number) => self.number(number),
            Value::String(text) => {
                self.bytes(b"s");
                self.text(text);
            }
            Value::Array(items) => {
                self.bytes(b"[");
                items.iter().for_each(|item| self.value(item));
                self.bytes(b"]");
            }
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_unstable_by_key(|(name, _)| *name);
                self.bytes(b"{");
                for (name, value) in fields {
                    self.bytes(b"s");
                    self.text(name);
                    self.value(value);
                }
                self.bytes(b"}");
            }
        }
    }

    fn number(&mut self, number: &Number) {
        let integer = number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from));
        match integer {
            Some(integer) => {
                self.bytes(b"i");
                self.bytes(&integer.to_le_bytes());
            }
            None => {
                self.bytes(b"d");
                self.bytes(&number.as_f64().unwrap_or(f64::NAN).to_bits().to_le_bytes());
            }
        }
    }

    /// The hash in characters of the alphabet.
    fn encoded(self) -> impl Iterator<Item = char> {
        let base = ALPHABET.len() as u64;
        (0..HASH as u32).map(move |at| char::from(ALPHABET[(self.0 / base.pow(at) % base) as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use serde::Serializer;
    use serde_json::json;
    use std::collections::{BTreeMap, HashMap, HashSet};

    fn name(prefix: &str, value: &Value) -> String {
        hashed_name(prefix, value).unwrap()
    }

    #[test]
    fn no_version_renames_the_objects_of_another() {
        let template = json!({
            "spec": { "containers": [{ "name": "web", "image": "nginx:1.29", "ports": [{ "containerPort": 80 }] }] },
            "metadata": { "labels": { "app": "web", "tier": "front" } },
        });
        for (prefix, value, expected) in [
            ("web", template, "web-j862bncnnk"),
            ("web", json!({}), "web-tdrfxj4fwj"),
            ("web", json!(null), "web-t4txdql8sk"),
            ("web", json!([true, false, -1, 0, 18_446_744_073_709_551_615_u64]), "web-6dscs2ggmv"),
            ("web", json!([0.1, 1.0, -0.0, 1e300, 5e-324]), "web-8b78ncphkz"),
            ("web", json!("Grüße\n\"\u{1f980}\""), "web-whnsdrfrfh"),
            ("", json!({ "a": 1 }), "khm4jh7mmd"),
        ] {
            assert_eq!(name(prefix, &value), expected, "{prefix} {value}");
        }
    }

    struct Shuffled(HashMap<String, u32>);

    impl Serialize for Shuffled {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(&self.0)
        }
    }

    #[test]
    fn the_order_of_a_map_does_not_count() {
        let pairs = || (0..100).map(|n| (format!("key-{n}"), n));
        let sorted: BTreeMap<_, _> = pairs().collect();
        for _ in 0..10 {
            let shuffled = Shuffled(pairs().collect());
            assert_eq!(hashed_name("web", &shuffled).unwrap(), hashed_name("web", &sorted).unwrap());
        }
        assert_ne!(name("web", &json!([1, 2])), name("web", &json!([2, 1])));
    }

    #[test]
    fn values_that_look_alike_have_names_of_their_own() {
        let values = [
            json!(null),
            json!(false),
            json!(true),
            json!(0),
            json!(1),
            json!(1.0),
            json!("1"),
            json!(""),
            json!("null"),
            json!([]),
            json!({}),
            json!([[]]),
            json!([[], []]),
            json!([1]),
            json!(["1"]),
            json!([1, 2]),
            json!([12]),
            json!(["a", "b"]),
            json!(["ab"]),
            json!(["asb"]),
            json!([["a"], "b"]),
            json!({ "a": "b" }),
            json!({ "a": { "b": "c" } }),
            json!({ "a": {}, "b": "c" }),
            json!({ "a": null }),
            json!(-1),
            json!(u64::MAX),
        ];
        let names: HashSet<_> = values.iter().map(|value| name("web", value)).collect();
        assert_eq!(names.len(), values.len());
        assert_ne!(name("web-a", &json!("b")), name("web", &json!("a-b")));
    }

    #[test]
    fn many_values_meet_seldom() {
        let names: HashSet<_> = (0..20_000).map(|n| name("web", &json!({ "replicas": n }))).collect();
        assert_eq!(names.len(), 20_000);
    }

    #[test]
    fn every_name_is_a_label_of_63_characters_at_most() {
        let long = "a".repeat(300);
        let cut = ["a".repeat(51).as_str(), "--------"].concat();
        for prefix in ["web", "Web.Example_com", "", "-", "---", "-a-", "größe", "🦀🦀", "a.b", "1", &long, &cut]
        {
            let name = name(prefix, &json!(1));
            let is_alphanumeric = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
            assert!(name.len() <= MAX_LABEL, "{name}");
            assert!(name.chars().all(|c| c == '-' || is_alphanumeric(Some(c))), "{name}");
            assert!(is_alphanumeric(name.chars().next()), "{name}");
        }
        assert_eq!(name(&long, &json!(1)).len(), MAX_LABEL);
        assert!(name("Web.Example_com", &json!(1)).starts_with("web-example-com-"));
    }

    #[test]
    fn a_name_is_cut_to_its_limit_and_keeps_its_hash() {
        let long = "backup".repeat(10);
        let whole = name(&long, &json!(1));
        for (max, length) in [(52, 52), (63, 63), (300, 63), (12, 12), (11, 10), (10, 10), (0, 10)] {
            let name = hashed_name_within(max, &long, &json!(1)).unwrap();
            assert_eq!(name.len(), length, "{name}");
            assert!(name.ends_with(&whole[53..]), "{name}");
        }
        assert_eq!(hashed_name_within(52, "web", &json!({})).unwrap(), name("web", &json!({})));
    }

    #[test]
    fn a_name_begins_with_a_letter_if_the_prefix_does() {
        for prefix in ["web", "-web", "Web", "w"] {
            assert!(name(prefix, &json!(1)).starts_with('w'), "{prefix}");
        }
        assert!(name("1web", &json!(1)).starts_with("1web-"));
        let hashes: Vec<String> = (0..100).map(|n| name("", &json!(n))).collect();
        assert!(hashes.iter().any(|name| name.starts_with(|c: char| c.is_ascii_digit())), "as the documentation says");
        assert!(name("web-", &json!(1)).starts_with("web-") && !name("web-", &json!(1)).starts_with("web--"));
    }

    #[test]
    fn prefixes_that_are_cut_or_changed_do_not_meet() {
        let long = "a".repeat(300);
        let prefixes = [&long, &long[1..], "web.a", "web-a", "WEB-a", "🦀", "é", ""];
        let names: HashSet<_> = prefixes.iter().map(|prefix| name(prefix, &json!(1))).collect();
        assert_eq!(names.len(), prefixes.len());
    }

    #[test]
    fn a_value_without_json_is_an_error() {
        let error = hashed_name("web", &BTreeMap::from([((1, 2), 3)])).unwrap_err();
        assert_eq!(error.to_string(), "key must be a string");
    }
}
