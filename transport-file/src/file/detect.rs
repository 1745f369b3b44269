//! Detection of a file's kind.

use super::source::Source;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::io::{BufRead, Read};

/// How many bytes of a file are read to detect its kind.
const HORIZON: u64 = 1024 * 1024;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const ADVICE: &str = "give a capture, the output of `kubectl get --watch --output-watch-events -o json`, or that of \
                      `kubectl get -o json`";

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
                (Ok(kind), _) => Ok(kind),
                (Err(_), Err(error)) if error.is_io() => Err(source.error(None, &error.into())),
                (Err(found), _) => Err(refuse(source, CaptureErrorKind::Unrecognized, &found)),
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
    items: bool,
}

impl Keys {
    fn kind(&self) -> Result<FileKind, String> {
        match self.first.as_deref() {
            Some("t" | "id" | "capture" | "started") => Ok(FileKind::Capture),
            Some("type" | "object") => Ok(FileKind::WatchLog),
            Some("kind" | "apiVersion" | "items" | "metadata") => match &self.kind {
                _ if self.items => Ok(FileKind::List),
                Some(kind) if kind.ends_with("List") => Ok(FileKind::List),
                Some(kind) => Err(format!("this is a single object of kind {kind:?}, and no list")),
                None => Err("this is a single object, and no list".into()),
            },
            Some(key) => Err(format!("this is JSON of an unknown shape: its first key is {key:?}")),
            None => Err("this is JSON of an unknown shape: its first object has no key".into()),
        }
    }

    /// Whether no later key can change the kind.
    fn is_decided(&self) -> bool {
        self.items || !matches!(self.first.as_deref(), Some("kind" | "apiVersion" | "metadata"))
    }
}

impl<'de> Visitor<'de> for &mut Keys {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let is_kind = key == "kind";
            self.items |= key == "items";
            self.first.get_or_insert(key);
            if self.is_decided() {
                break;
            }
            if is_kind {
                self.kind = Some(map.next_value()?);
                break;
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
