use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use serde::Serialize;
use serde_json::Value;

/// The longest DNS label (RFC 1123), which every kind of object takes as a name.
const MAX_LABEL: usize = 63;

/// The characters of the hash, as many as a Deployment's `pod-template-hash` has at the most: 47 bits.
const HASH: usize = 10;

/// apimachinery's alphabet for hashes and random names (`rand.SafeEncodeString`): without vowels, and without what
/// looks like one.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A name that follows from what the object is made of: `prefix-` and a hash of prefix and value, at most 63
/// characters, and a DNS label.
///
/// Who creates an object under such a name twice is told that it exists, so a create whose answer was lost makes no
/// second object. A changed value is another object, as the `ReplicaSet` of a changed Deployment (`pod-template-hash`).
///
/// A prefix that is too long is cut. Upper case becomes lower case, and what a label cannot have becomes `-`. The hash
/// covers the prefix as it was given, so that such prefixes do not meet.
///
/// The value is what serde_json makes of it. The order of maps does not count, that of lists does. A type that gets a
/// field that is always written gives other names. The hash is no protection from a value that somebody chose in order to
/// meet another's name: look at the owner of what is found there.
///
/// ```
/// use listwatch_core::object::hashed_name;
/// use serde_json::json;
///
/// let name = hashed_name("web", &json!({ "image": "nginx", "replicas": 3 }))?;
/// assert_eq!(name, "web-");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// If the value has no JSON: if a map has keys that are neither text nor numbers, or the type's own `Serialize` fails.
pub fn hashed_name<T: Serialize + ?Sized>(prefix: &str, value: &T) -> Result<String, serde_json::Error> {
    let mut hash = Fnv::default();
    hash.bytes(prefix.as_bytes());
    // No text has this byte, so that nothing moves from the prefix to the value.
    hash.bytes(&[0xff]);
    hash.value(&serde_json::to_value(value)?);
    let mut name = label(prefix, MAX_LABEL - HASH - 1);
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

    /// Takes the value as compact JSON, with the keys of its objects in order. By itself, a `Value` may keep another
    /// order: any crate of the program can turn on serde_json's `preserve_order`.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_unstable_by_key(|(name, _)| *name);
                self.bytes(b"{");
                for (name, value) in fields {
                    self.value(&Value::from(name.as_str()));
                    self.value(value);
                }
                self.bytes(b"}");
            }
            Value::Array(items) => {
                self.bytes(b"[");
                items.iter().for_each(|item| self.value(item));
                self.bytes(b"]");
            }
            leaf => {
                let _infallible = write!(self, "{leaf},");
            }
        }
    }

    /// The hash in characters of the alphabet.
    fn encoded(self) -> impl Iterator<Item = char> {
        let base = ALPHABET.len() as u64;
        (0..HASH as u32).map(move |at| char::from(ALPHABET[(self.0 / base.pow(at) % base) as usize]))
    }
}

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes());
        Ok(())
    }
}
