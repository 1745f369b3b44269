//! Detection of a file's kind.

use super::source::Source;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use listwatch_core::framing::Scanner;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::io::{BufRead, Read};

/// How many bytes of a file are read to detect its kind.
const HORIZON: u64 = 1024 * 1024;
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const ADVICE: &str = "give a capture, the output of `kubectl get --watch --output-watch-events -o json`, or that of \
                      `kubectl get -o json`";

const AUDIT: &str = "it has requests, of which `AuditLog` makes a capture";
const TABLE: &str =
    "its rows are no objects; save whole objects, as with `-o json`, without `as=Table` in the header Accept";

/// The kinds of files that can be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Capture,
    WatchLog,
    List,
}

/// Detects the kind of a file by its first bytes, and consumes them.
pub(crate) fn detect(source: &mut Source) -> Result<FileKind, CaptureError> {
    skip_mark(source)?;
    match first_byte(source)? {
        None => Err(refuse(source, CaptureErrorKind::Empty, "the file is empty")),
        Some(b'{') => {
            let mut keys = Keys::default();
            let mut json = serde_json::Deserializer::from_reader(source.by_ref().take(HORIZON));
            let read = json.deserialize_map(&mut keys);
            // The visitor stops inside of the object once the kind is known, so that only errors of the file count.
            match (keys.kind(), read) {
                (Ok(FileKind::List), _) if is_followed(source)? => Ok(FileKind::WatchLog),
                (Ok(kind), _) => Ok(kind),
                (Err(_), Err(error)) if error.is_io() => Err(source.error(None, &error.into())),
                (Err(Found { is_object: true, .. }), _) if is_followed(source)? => Ok(FileKind::WatchLog),
                (Err(Found { what, advice, .. }), _) => {
                    let fault = Fault::new(CaptureErrorKind::Unrecognized, format!("{what}; {advice}"));
                    Err(CaptureError::new(source.path(), None, fault))
                }
            }
        }
        Some(byte) => {
            let found = match byte {
                b'[' => "a JSON array".into(),
                0x21..=0x7e => format!("no JSON object: it begins with '{}'", char::from(byte)),
                _ => format!("no JSON object: it begins with the byte 0x{byte:02x}"),
            };
            Err(refuse(source, CaptureErrorKind::Unrecognized, &format!("this is {found}")))
        }
    }
}

/// Whether another object follows the first one of the same file.
fn is_followed(source: &Source) -> Result<bool, CaptureError> {
    let mut source = Source::open(source.path())?;
    skip_mark(&mut source)?;
    let (mut scanner, mut is_within) = (Scanner::default(), first_byte(&mut source)?.is_some());
    while is_within {
        let bytes = match source.fill_buf() {
            Ok([]) => return Ok(false),
            Ok(bytes) => bytes,
            // The reader of the list tells it.
            Err(_) => return Ok(false),
        };
        let (end, len) = (scanner.end_of_value(bytes), bytes.len());
        source.consume(end.unwrap_or(len));
        is_within = end.is_none();
    }
    let next = first_byte(&mut source);
    Ok(next.is_ok_and(|next| matches!(next, Some(b'{' | 0xef))))
}

/// Skips a byte order mark.
pub(crate) fn skip_mark(source: &mut Source) -> Result<(), CaptureError> {
    let marked = source.fill_buf().map(|bytes| bytes.starts_with(BYTE_ORDER_MARK));
    if marked.map_err(|error| source.error(None, &error))? {
        source.consume(BYTE_ORDER_MARK.len());
    }
    Ok(())
}

/// Skips white space, and returns the byte behind it.
fn first_byte(source: &mut Source) -> Result<Option<u8>, CaptureError> {
    loop {
        let bytes = match source.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) => return Err(source.error(None, &error)),
        };
        let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let (first, all) = (bytes.get(blank).copied(), bytes.is_empty());
        source.consume(blank);
        if first.is_some() || all {
            return Ok(first);
        }
    }
}

fn refuse(source: &Source, kind: CaptureErrorKind, found: &str) -> CaptureError {
    CaptureError::new(source.path(), None, Fault::new(kind, format!("{found}; {ADVICE}")))
}

/// The keys of the first object, up to the one that decides.
#[derive(Default)]
struct Keys {
    first: Option<String>,
    kind: Option<String>,
    api_version: Option<String>,
    items: bool,
}

/// What is no recording, and what to do.
struct Found {
    what: String,
    advice: &'static str,
    /// Whether it is an object, of which a log has several.
    is_object: bool,
}

impl Keys {
    fn kind(&self) -> Result<FileKind, Found> {
        let found = |what, advice, is_object| Err(Found { what, advice, is_object });
        // kubectl sorts the keys of an object, so that `action` of an Event comes first.
        let first = self.first.as_deref().map(|first| if self.is_named() { "kind" } else { first });
        match first {
            Some("t" | "id" | "capture" | "started") => Ok(FileKind::Capture),
            Some("type" | "object" | "event") => Ok(FileKind::WatchLog),
            Some("kind" | "apiVersion" | "items" | "metadata") => match self.kind.as_deref() {
                _ if self.items => Ok(FileKind::List),
                _ if self.is_of_audit() => found("this is an audit log".into(), AUDIT, false),
                Some("Table") => found("this is a Table".into(), TABLE, false),
                Some(kind) if kind.ends_with("List") => Ok(FileKind::List),
                Some(kind) => found(format!("this is a single object of kind {kind:?}, and no list"), ADVICE, true),
                None => found("this is a single object, and no list".into(), ADVICE, true),
            },
            Some(key) => found(format!("this is JSON of an unknown shape: its first key is {key:?}"), ADVICE, false),
            None => found("this is JSON of an unknown shape: its first object has no key".into(), ADVICE, false),
        }
    }

    fn is_of_audit(&self) -> bool {
        self.api_version.as_deref().is_some_and(|version| version.starts_with("audit.k8s.io/"))
    }

    /// Whether it is an object that says its type.
    fn is_named(&self) -> bool {
        self.kind.is_some() && self.api_version.is_some()
    }

    /// Whether no later key can change the kind.
    fn is_decided(&self) -> bool {
        let is_told_by_first =
            matches!(self.first.as_deref(), Some("t" | "id" | "capture" | "started" | "type" | "object" | "event"));
        self.items || self.is_named() || is_told_by_first
    }
}

impl<'de> Visitor<'de> for &mut Keys {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.items |= key == "items";
            if self.first.is_none() {
                self.first = Some(key.clone());
            }
            if self.is_decided() {
                break;
            }
            match &*key {
                "kind" => self.kind = Some(map.next_value()?),
                "apiVersion" => self.api_version = Some(map.next_value()?),
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}
