//! Keyed hashes in place of the values of Secrets and tokens.

use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, Engine};
use listwatch_core::framing::{Frame, Framer, Framing};
use memchr::memmem;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// Puts keyed hashes in place of the values in the body of a write of a Secret or a token. Two processes with one key make
/// the same hashes. Hashes that a tape has in place of values stay as they are.
///
/// ```
/// use listwatch_transport_file::{HashedBy, hash_values};
///
/// let hashed = |key| hash_values(key, br#"{"kind":"Secret","stringData":{"name":"hunter2"}}"#);
/// assert!(hashed([1, 2]) == hashed([1, 2]) && hashed([1, 2]) != hashed([1, 3]));
/// let secret: serde_json::Value = serde_json::from_slice(&hashed([1, 2]))?;
/// let name = secret["stringData"]["name"].as_str().unwrap_or_default();
/// assert_eq!(HashedBy::of(name), Some(HashedBy::Replay));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn hash_values(key: [u64; 2], body: &[u8]) -> Vec<u8> {
    Hashes { key: HashKey::Shared(key), known: Mutex::default() }.body(body)
}

/// Who put a hash in place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashedBy {
    /// A tape, by a key that nothing keeps.
    Tape,
    /// A replay, by [`hash_values`].
    Replay,
}

impl HashedBy {
    /// Who made the hash that this text is, as it stands or in base64; `None` for other texts.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let decoded = BASE64_STANDARD.decode(text);
        let value = decoded.as_deref().unwrap_or(text.as_bytes());
        [Self::Tape, Self::Replay].into_iter().find(|by| {
            let digits = value.strip_prefix(by.prefix().as_bytes());
            digits.is_some_and(|digits| digits.len() == 32 && digits.iter().all(u8::is_ascii_hexdigit))
        })
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Tape => "keyed-hash-",
            Self::Replay => "replayed-hash-",
        }
    }
}

/// Replaces values in confidential bodies. Equal values have equal hashes, in base64 or as text.
pub(super) struct Hashes {
    key: HashKey,
    /// The beginnings of the last values in several forms, by which an annotation that repeats one is found.
    known: Mutex<VecDeque<Vec<u8>>>,
}

enum HashKey {
    /// std's SipHash with a key of the system, which nothing writes.
    Drawn(RandomState),
    /// SipHash with a key that another process has too.
    Shared([u64; 2]),
}

/// A confidential answer whose values are hashed piece by piece: each event of a watch, or the whole of another body.
pub(super) struct Pieces {
    rest: Vec<u8>,
    /// That of a watch.
    framer: Option<Framer>,
}

/// A piece that is too long to be hashed.
pub(super) struct TooLong;

/// What a part of a body is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// An object, a list of them, an event, or a request for one.
    Object,
    Metadata,
    Annotations,
    /// Values in base64.
    Data,
    /// Values as text.
    StringData,
    /// It may have values anywhere.
    Unknown,
    /// The status that a server answers with.
    Status,
    Details,
    /// The options of a deletion.
    Options,
    /// An operation of a JSON patch.
    Operation,
    /// It has no values.
    Plain,
}

/// The bytes of one answer that wait for its end.
const LONGEST: usize = 64 << 20;

/// How many forms of values are known, and how many bytes of each. In base64, so many are whole characters.
const MOST_KNOWN: usize = 512;
const BEGINNING: usize = 255;

/// A shorter value is found in an annotation only if that is equal: every text has it.
const SHORT: usize = 4;

impl Hashes {
    pub(super) fn new() -> Self {
        Self { key: HashKey::Drawn(RandomState::new()), known: Mutex::default() }
    }

    /// The body with hashes. One that is no JSON becomes a hash as a whole.
    pub(super) fn body(&self, body: &[u8]) -> Vec<u8> {
        if body.trim_ascii().is_empty() {
            return body.to_vec();
        }
        let Ok(mut value) = serde_json::from_slice(body) else { return self.hash(body).into_bytes() };
        self.hide(Part::Object, &mut value);
        value.to_string().into_bytes()
    }

    fn hide(&self, part: Part, value: &mut Value) {
        match value {
            Value::Object(fields) => self.hide_fields(part.of(fields), fields),
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.hide(part, element)),
            Value::String(text) => *text = self.text(part, text),
            Value::Number(number) if !part.is_plain() => *value = self.number(&number.to_string()),
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    fn hide_fields(&self, part: Part, fields: &mut Map<String, Value>) {
        let patched = fields.get("path").and_then(Value::as_str).map_or(Part::Unknown, Part::at);
        // An annotation may repeat a value of its object, which is known then.
        for comes_last in [false, true] {
            let fields = fields.iter_mut().filter(|(name, _)| (*name == "metadata") == comes_last);
            fields.for_each(|(name, value)| match (part, &**name) {
                (Part::Operation, "value") => self.hide(patched, value),
                (part, name) => self.hide(part.under(name), value),
            });
        }
    }

    fn text(&self, part: Part, text: &str) -> String {
        match part {
            _ if text.is_empty() || part.is_plain() || self.keeps(text) => text.to_owned(),
            Part::Annotations if matches!(text, "true" | "false") || !self.repeats(text.as_bytes()) => text.to_owned(),
            Part::Data => {
                let value = BASE64_STANDARD.decode(text).unwrap_or_else(|_| text.into());
                self.know(&value);
                BASE64_STANDARD.encode(self.hash(&value))
            }
            _ => {
                self.know(text.as_bytes());
                self.hash(text.as_bytes())
            }
        }
    }

    fn hash(&self, value: &[u8]) -> String {
        let [high, low] = [0, 1].map(|half| self.key.hash(half, value));
        format!("{}{high:016x}{low:016x}", self.key.by().prefix())
    }

    /// The hash of a number: on a tape one that fits into an `i32`, elsewhere a text.
    fn number(&self, number: &str) -> Value {
        match self.key.by() {
            HashedBy::Tape => (self.key.hash(2, number.as_bytes()) >> 33).into(),
            HashedBy::Replay => self.hash(number.as_bytes()).into(),
        }
    }

    /// Whether this is the hash of a tape, which a replayed program read as a value.
    fn keeps(&self, text: &str) -> bool {
        self.key.by() == HashedBy::Replay && HashedBy::of(text) == Some(HashedBy::Tape)
    }

    fn know(&self, value: &[u8]) {
        let beginning = &value[..value.len().min(BEGINNING)];
        let escaped = Value::from(String::from_utf8_lossy(beginning)).to_string();
        let forms = [beginning.to_vec(), BASE64_STANDARD_NO_PAD.encode(beginning).into(), unquoted(&escaped).into()];
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for form in forms {
            if !known.contains(&form) {
                known.push_back(form);
            }
        }
        let forgotten = known.len().saturating_sub(MOST_KNOWN);
        known.drain(..forgotten);
    }

    fn repeats(&self, text: &[u8]) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().any(|value| *value == text || value.len() >= SHORT && memmem::find(text, value).is_some())
    }
}

impl HashKey {
    fn by(&self) -> HashedBy {
        match self {
            Self::Drawn(_) => HashedBy::Tape,
            Self::Shared(_) => HashedBy::Replay,
        }
    }

    fn hash(&self, part: u8, value: &[u8]) -> u64 {
        match self {
            Self::Drawn(key) => key.hash_one((part, value)),
            #[expect(deprecated, reason = "std's other hashers take no key")]
            Self::Shared([first, second]) => {
                let mut hasher = std::hash::SipHasher::new_with_keys(*first, *second);
                hasher.write(&[part]);
                hasher.write(value);
                hasher.finish()
            }
        }
    }
}

impl Pieces {
    pub(super) fn new(of_watch: bool) -> Self {
        Self { rest: Vec::new(), framer: of_watch.then(|| Framer::new(Framing::Values, usize::MAX)) }
    }

    /// Adds bytes, and returns the pieces that are whole.
    pub(super) fn add(&mut self, hashes: &Hashes, bytes: &[u8]) -> Result<Vec<u8>, TooLong> {
        self.rest.extend_from_slice(bytes);
        let mut whole = Vec::new();
        if let Some(framer) = &mut self.framer {
            while let Some(Frame::Value(event)) = framer.next_frame(&self.rest) {
                whole.extend(hashes.body(event.trim_ascii()));
                whole.push(b'\n');
            }
            self.rest.drain(..framer.reclaim());
        }
        if self.rest.len() > LONGEST { Err(TooLong) } else { Ok(whole) }
    }

    /// The last piece of an answer that broke off, if it is whole all the same: a list ends with its last bracket.
    pub(super) fn end_if_whole(&mut self, hashes: &Hashes) -> Option<Vec<u8>> {
        serde_json::from_slice::<IgnoredAny>(&self.rest).is_ok().then(|| self.end(hashes))
    }

    /// The last piece.
    pub(super) fn end(&mut self, hashes: &Hashes) -> Vec<u8> {
        hashes.body(&core::mem::take(&mut self.rest))
    }
}

listwatch_core::summary!("Pieces" for Pieces);

impl Part {
    /// What an object with these fields is.
    fn of(self, fields: &Map<String, Value>) -> Self {
        match fields.get("kind").and_then(Value::as_str) {
            _ if self != Self::Object => self,
            Some("Status") => Self::Status,
            Some("DeleteOptions") => Self::Options,
            None if fields.contains_key("op") => Self::Operation,
            _ => self,
        }
    }

    /// What is at a path of a JSON patch.
    fn at(path: &str) -> Self {
        path.split('/').skip(1).fold(Self::Object, Self::under)
    }

    fn under(self, name: &str) -> Self {
        match (self, name) {
            (Self::Object, "data") => Self::Data,
            (Self::Object, "stringData") => Self::StringData,
            (Self::Object, "items" | "object" | "rows") => Self::Object,
            (Self::Object | Self::Status, "metadata") => Self::Metadata,
            (Self::Object | Self::Status | Self::Options, "kind" | "apiVersion")
            | (Self::Object, "type" | "immutable")
            | (Self::Status, "status" | "reason" | "code")
            | (Self::Options, "preconditions" | "propagationPolicy" | "gracePeriodSeconds" | "dryRun")
            | (Self::Operation, "op" | "path" | "from")
            | (Self::Unknown, "audiences" | "authenticated" | "boundObjectRef")
            | (Self::Unknown, "expirationSeconds" | "expirationTimestamp") => Self::Plain,
            (Self::Status, "details") => Self::Details,
            (Self::Metadata, "annotations") => Self::Annotations,
            (Self::Metadata, _) => Self::Plain,
            // `kubectl apply` keeps a copy of the object in it.
            (Self::Annotations, name) if name.ends_with("last-applied-configuration") => Self::StringData,
            (Self::Details, "message") => Self::Unknown,
            (Self::Object | Self::Status | Self::Options | Self::Operation, _) => Self::Unknown,
            (part, _) => part,
        }
    }

    fn is_plain(self) -> bool {
        matches!(self, Self::Plain | Self::Details)
    }
}

fn unquoted(json: &str) -> &str {
    json.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(json)
}
