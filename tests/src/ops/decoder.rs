//! A frame, decoded into one type after the other.

use listwatch_core::Object;
use listwatch_core::decode::{
    Decode, DecodeError, DecodeOptions, Decoder, EventType, ListMeta, MetadataOnly, Part, Raw, Tables,
};
use listwatch_core::framing::Scanner;
use listwatch_core::request::Query;
use listwatch_core::transport::ResponseHead;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// Decodes the frame that `data` holds behind one byte, as an event or as an item of a list.
///
/// # Panics
/// Where the types do not agree on the metadata, or the text of an object is not its value.
pub fn run(data: &[u8]) {
    let Some((&header, frame)) = data.split_first() else { return };
    let bit = |number: u8| header >> number & 1 == 1;
    let mut keep = DecodeOptions::default();
    (keep.annotations, keep.managed_fields) = (bit(0), bit(2));
    let list = bit(3).then(|| list(bit(4), bit(5)));
    Frame { frame, list, options: keep, decoder: Decoder::new(keep) }.check();
}

/// A list that says what its items are, or not.
fn list(kind: bool, api_version: bool) -> ListMeta {
    let mut list = ListMeta::default();
    list.read_field(b"kind", if kind { b"\"PodList\"" } else { b"\"List\"" });
    if api_version {
        list.read_field(b"apiVersion", b"\"v1\"");
    }
    list
}

/// Readers that hand out text may forget that a type wraps it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Newtype<T>(T);

struct Frame<'a> {
    frame: &'a [u8],
    /// The list that it is an item of; otherwise it is an event.
    list: Option<ListMeta>,
    options: DecodeOptions,
    decoder: Decoder,
}

impl Frame<'_> {
    /// As an event of a watch, which is no Table, it is read as by the decoder of objects.
    fn check_without_table(&mut self) {
        let line = [self.frame, b"\n"].concat();
        let is_line = !self.frame.contains(&b'\n') && is_alone(self.frame.trim_ascii());
        let mut tables = Tables::<Raw>::new(self.options);
        tables.start(Query::Watch, &ResponseHead { status: 200, ..ResponseHead::default() });
        tables.extend_from_slice(&line);
        let part = tables.next_part();
        let is_table = self.frame.windows(11).any(|text| text == b"meta.k8s.io");
        if self.list.is_some() || !is_line || is_table {
            return;
        }
        match (part, self.decode::<Raw>()) {
            (Some(Part::Event(event_type, row)), Ok(Part::Event(expected, object))) => {
                assert_eq!((event_type, row.meta(), &row.object), (expected, &object.meta, &object.value));
                assert!(row.cells().is_empty());
            }
            (Some(Part::Bookmark { version, .. }), Ok(Part::Bookmark { version: expected, .. })) => {
                assert_eq!(version, expected);
            }
            (Some(Part::Error(status)), Ok(Part::Error(expected))) => assert_eq!(status, expected),
            (Some(Part::Undecodable(error)), Err(expected)) => assert_eq!(error, expected),
            (part, expected) => panic!("{part:?} for {expected:?}"),
        }
    }

    /// All by the same decoder, which must not keep anything of the frame before.
    fn check(&mut self) {
        self.check_without_table();
        let (metadata, raw, value) = (self.decode::<MetadataOnly>(), self.decode::<Raw>(), self.decode::<Value>());
        if let (Ok(Part::Event(_, raw)), Ok(Part::Event(_, value))) = (&raw, &value) {
            let text = raw.value.as_str();
            let decoded = raw.value.decode::<Value>().unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(decoded, value.value, "{text}");
        }
        let named = self.decode::<BTreeMap<Newtype<String>, Newtype<Option<Value>>>>();
        if let (Ok(Part::Event(_, named)), Ok(Part::Event(_, value))) = (&named, &value) {
            let entries = named.value.iter().map(|(name, value)| (name.0.clone(), value.0.clone().unwrap_or_default()));
            assert_eq!(Value::from_iter(entries), value.value);
        }
        let metadata = readable(metadata);
        assert_eq!(readable(named), readable(value.clone()), "a newtype reads what a Value reads");
        self.check_beside_metadata(readable(raw), &metadata);
        self.check_beside_metadata(readable(value), &metadata);
    }

    /// A value may be out of the range of its type, or no JSON where metadata alone is not looked for. Then what is known
    /// of the object is told.
    fn check_beside_metadata(&self, decoded: Readable, metadata: &Readable) {
        match (decoded, metadata) {
            (Err(parts), Ok(Part::Event(change, object))) => {
                let version = Some(object.meta.resource_version()).filter(|version| !version.is_empty());
                assert_eq!((parts.key.as_ref(), parts.version.as_deref()), (Some(object.meta.key()), version));
                assert_eq!(parts.event_type, Some(*change).filter(|_| self.list.is_none()));
            }
            (decoded, metadata) => assert_eq!(decoded, *metadata),
        }
    }

    fn decode<T: DeserializeOwned>(&mut self) -> Result<Part<Object<T>>, DecodeError> {
        match &self.list {
            Some(list) => self.decoder.item(self.frame, list).map(|object| Part::Event(EventType::Added, object)),
            None => self.decoder.watch_event(self.frame),
        }
    }
}

/// What every type must agree on.
type Readable = Result<Part<Object<()>>, DecodeError>;

fn readable<T>(decoded: Result<Part<Object<T>>, DecodeError>) -> Readable {
    match decoded {
        Ok(Part::Event(change, object)) => Ok(Part::Event(change, Object { meta: object.meta, value: () })),
        Ok(Part::Bookmark { version, initial_events_end }) => Ok(Part::Bookmark { version, initial_events_end }),
        Ok(Part::Error(status)) => Ok(Part::Error(status)),
        Ok(_) => unreachable!("an event is none of the others"),
        Err(undecodable) => Err(DecodeError { error: "".into(), ..undecodable }),
    }
}

/// Whether a watch has no other frame in this line.
fn is_alone(text: &[u8]) -> bool {
    match text {
        [b'{' | b'[', ..] => Scanner::default().end_of_value(text) == Some(text.len()),
        text => !text.is_empty(),
    }
}
