//! YAML as a tree whose nodes know their lines. A scalar stays text: a token of digits does not become a number.

use saphyr_parser::{Event, Parser, ScalarStyle};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// The deepest nesting, aliases included. It bounds the recursion of every walk through a tree.
const MAX_DEPTH: usize = 64;

/// The most memory of a tree in bytes, with its aliases written out: so it bounds what is made of the tree, too.
///
/// It is four times the size of the largest file. A text of one character takes a hundred bytes of memory.
const MAX_SIZE: usize = 64 << 20;

/// The memory of a node without its text: itself, the two counters of its [`Arc`], and its place in a list or a map, whose
/// nodes are at least half full.
const NODE: usize = size_of::<Node>() + 2 * size_of::<usize>() + 2 * size_of::<(Arc<str>, Arc<Node>)>();

/// A value, and the line that it begins in.
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
    /// Its levels; text has none.
    depth: usize,
    /// Its approximate memory in bytes, with its aliases written out.
    size: usize,
}

pub(crate) enum Value {
    /// Text, and whether it has no quotes.
    Scalar(String, bool),
    List(Vec<Arc<Node>>),
    /// Maps that got entries by merge keys share their keys.
    Map(BTreeMap<Arc<str>, Arc<Node>>),
}

/// A fault, after its line.
pub(crate) type Fault = (usize, String);

/// The text of these bytes: UTF-8, or UTF-16 behind a byte order mark, which PowerShell writes.
pub(crate) fn text(bytes: Vec<u8>) -> io::Result<String> {
    let read = match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => String::from_utf8(bytes).ok(),
    };
    read.ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, "it is neither UTF-8, nor UTF-16 behind a byte order mark")
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (units, rest) = bytes.as_chunks();
    let text = char::decode_utf16(units.iter().map(|bytes| unit(*bytes))).collect::<Result<_, _>>().ok();
    text.filter(|_| rest.is_empty())
}

/// Reads the first document; `None` for an empty text.
pub(crate) fn parse(text: &str) -> Result<Option<Arc<Node>>, Fault> {
    let mut tree = Tree::default();
    for event in Parser::new_from_str(text.trim_start_matches('\u{feff}')) {
        let (event, span) = event.map_err(|error| (error.marker().line(), error.info().to_owned()))?;
        tree.take(event, span.start.line())?;
        if tree.root.is_some() {
            break;
        }
    }
    Ok(tree.root)
}

/// A tree under construction.
#[derive(Default)]
struct Tree {
    open: Vec<Collection>,
    anchors: HashMap<usize, Arc<Node>>,
    root: Option<Arc<Node>>,
    /// Its approximate memory in bytes, with its aliases written out.
    size: usize,
}

/// A list or a map whose end has not come.
struct Collection {
    line: usize,
    anchor: usize,
    value: Value,
    /// The key whose value comes next.
    key: Option<Key>,
    /// The maps that merge keys name. Their entries are added last, because the map's own entries count first.
    merged: Vec<Arc<Node>>,
    depth: usize,
    /// The size of the tree before it.
    before: usize,
}

enum Key {
    Name(Arc<str>),
    /// `<<`: the entries of another map.
    Merge,
}

impl Tree {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), Fault> {
        let before = self.size;
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let text = text.into_owned();
                // Of a key, only the text is kept.
                self.grow(line, if self.expects_key() { text.len() } else { NODE + text.capacity() })?;
                self.complete(anchor, line, Value::Scalar(text, style == ScalarStyle::Plain), 0, before)
            }
            Event::SequenceStart(anchor, _) => self.open(line, anchor, Value::List(Vec::new())),
            Event::MappingStart(anchor, _) => self.open(line, anchor, Value::Map(BTreeMap::new())),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Collection { line, anchor, mut value, merged, depth, before, .. }) => {
                    merged.iter().try_for_each(|node| merge(&mut value, node, true))?;
                    self.complete(anchor, line, value, depth, before)
                }
                None => Ok(()),
            },
            // Shared, not copied: nested aliases take no memory.
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) if node.depth + self.open.len() > MAX_DEPTH => Err(too_deep(line)),
                Some(node) => {
                    let too_many = |_| (line, format!("aliases (`*`) make more than {} MiB of it", MAX_SIZE >> 20));
                    self.grow(line, node.size).map_err(too_many)?;
                    self.place(node)
                }
                None => Err((line, "an alias refers to a node that contains it".to_owned())),
            },
            _ => Ok(()),
        }
    }

    fn expects_key(&self) -> bool {
        matches!(self.open.last(), Some(Collection { value: Value::Map(_), key: None, .. }))
    }

    fn open(&mut self, line: usize, anchor: usize, value: Value) -> Result<(), Fault> {
        if self.open.len() == MAX_DEPTH {
            return Err(too_deep(line));
        }
        let before = self.size;
        self.grow(line, NODE)?;
        self.open.push(Collection { line, anchor, value, key: None, merged: Vec::new(), depth: 1, before });
        Ok(())
    }

    fn complete(&mut self, anchor: usize, line: usize, value: Value, depth: usize, before: usize) -> Result<(), Fault> {
        let node = Arc::new(Node { line, value, depth, size: self.size - before });
        if anchor != 0 {
            // For its place among the anchors.
            self.grow(line, NODE)?;
            self.anchors.insert(anchor, node.clone());
        }
        self.place(node)
    }

    /// Counts memory before it is used.
    fn grow(&mut self, line: usize, by: usize) -> Result<(), Fault> {
        self.size = self.size.saturating_add(by);
        if self.size > MAX_SIZE {
            let what = format!("it takes more than {} MiB of memory: it has too many values", MAX_SIZE >> 20);
            return Err((line, what));
        }
        Ok(())
    }

    fn place(&mut self, node: Arc<Node>) -> Result<(), Fault> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.depth = open.depth.max(node.depth + 1);
        match (&mut open.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(_), Some(Key::Merge)) => open.merged.push(node),
            // As with kubectl, the last one counts.
            (Value::Map(entries), Some(Key::Name(name))) => drop(entries.insert(name, node)),
            (Value::Map(_), None) => open.key = Some(key_of(&node)?),
            (Value::Scalar(..), _) => {}
        }
        Ok(())
    }
}

/// Adds the entries of a map, or of each map in a list, that this map lacks.
fn merge(value: &mut Value, from: &Node, may_be_list: bool) -> Result<(), Fault> {
    match (&from.value, value) {
        (Value::List(maps), value) if may_be_list => maps.iter().try_for_each(|map| merge(value, map, false)),
        (Value::Map(others), Value::Map(entries)) => {
            for (name, node) in others {
                entries.entry(name.clone()).or_insert_with(|| node.clone());
            }
            Ok(())
        }
        _ => Err((from.line, "a merge key (`<<`) needs a map, or a list of maps".to_owned())),
    }
}

fn too_deep(line: usize) -> Fault {
    (line, format!("nested deeper than {MAX_DEPTH} levels"))
}

fn key_of(node: &Node) -> Result<Key, Fault> {
    match &node.value {
        Value::Scalar(key, true) if key == "<<" => Ok(Key::Merge),
        Value::Scalar(key, _) => Ok(Key::Name(key.as_str().into())),
        _ => Err((node.line, "a key is not a string".to_owned())),
    }
}

impl Node {
    /// Whether the value is null, which counts as no entry.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(text, true) if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The entry of a map.
    pub(crate) fn entry(&self, key: &str) -> Option<&Arc<Self>> {
        let Value::Map(entries) = &self.value else { return None };
        entries.get(key).filter(|node| !node.is_null())
    }

    /// Converts to JSON. Unquoted text may become a number or a boolean.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            _ if self.is_null() => serde_json::Value::Null,
            Value::Scalar(text, true) => match serde_json::from_str(text) {
                Ok(value @ (serde_json::Value::Bool(_) | serde_json::Value::Number(_))) => value,
                _ => text.as_str().into(),
            },
            Value::Scalar(text, false) => text.as_str().into(),
            Value::List(items) => items.iter().map(|item| item.to_json()).collect::<Vec<_>>().into(),
            Value::Map(entries) => {
                serde_json::Value::Object(entries.iter().map(|(key, node)| (key.to_string(), node.to_json())).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> serde_json::Value {
        parse(text).unwrap().unwrap().to_json()
    }

    fn fault(text: &str) -> Fault {
        parse(text).err().unwrap()
    }

    #[test]
    fn block_and_flow_and_json_are_the_same() {
        let expected = serde_json::json!({ "a": [1, "1", true, null, "x"], "b": { "c": "two\nlines\n" } });
        assert_eq!(json("a: [1, '1', true, ~, x]\nb:\n  c: |\n    two\n    lines\n"), expected);
        assert_eq!(json(&expected.to_string()), expected);
    }

    #[test]
    fn a_scalar_keeps_the_text_it_was_written_as() {
        let node = parse("token: 0123e4\n").unwrap().unwrap();
        assert!(matches!(&node.entry("token").unwrap().value, Value::Scalar(text, true) if text == "0123e4"));
    }

    #[test]
    fn what_is_wrong_comes_with_its_line() {
        assert_eq!(fault("a: 1\nb: [1,\n").0, 3);
        assert_eq!(fault("a: 1\n<<: 2\n"), (2, "a merge key (`<<`) needs a map, or a list of maps".to_owned()));
        assert_eq!(fault("a: 1\n[x]: 2\n").0, 2);
        assert_eq!(fault(&"[".repeat(100)), (1, "nested deeper than 64 levels".to_owned()));
    }

    #[test]
    fn a_key_that_is_there_twice_is_not_refused_and_the_last_one_counts() {
        assert_eq!(json("a: 1\nb: 2\na: 3\n"), serde_json::json!({ "a": 3, "b": 2 }));
    }

    #[test]
    fn merge_keys_are_not_refused_and_what_is_written_out_counts() {
        let bases = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\n";
        let merged = |map: &str| json(&format!("{bases}z: {map}\n"))["z"].clone();
        assert_eq!(merged("{<<: *x, b: 9}"), serde_json::json!({ "a": 1, "b": 9 }));
        assert_eq!(merged("{b: 9, <<: *x}"), serde_json::json!({ "a": 1, "b": 9 }));
        assert_eq!(merged("{<<: [*x, *y]}"), serde_json::json!({ "a": 1, "b": 1, "c": 2 }));
        assert_eq!(merged("{'<<': 1}"), serde_json::json!({ "<<": 1 }));
    }

    #[test]
    fn merge_keys_that_multiply_are_refused() {
        let many = "*x, ".repeat(200_000);
        assert_eq!(fault(&format!("x: &x {{a: 1, b: 2}}\ny: {{<<: [{many}]}}\n")).0, 2);
    }

    #[test]
    fn merge_keys_that_bring_nothing_are_followed_within_the_limit() {
        let empty = "{}, ".repeat(100);
        let many = "{<<: *l}, ".repeat(10_000);
        assert_eq!(fault(&format!("l: &l [{empty}]\ny: [{many}]\n")).0, 2);
    }

    #[test]
    fn a_key_that_a_merge_key_brings_is_not_copied() {
        let root = parse(&format!("x: &x {{{}: 1}}\ny: {{<<: *x}}\n", "k".repeat(1000))).unwrap().unwrap();
        let keys = ["x", "y"].map(|name| match &root.entry(name).unwrap().value {
            Value::Map(entries) => entries.keys().next().unwrap().as_ptr(),
            _ => panic!("a map"),
        });
        assert_eq!(keys[0], keys[1]);
    }

    /// Each level has the one below so many times.
    fn nested(levels: usize, times: usize) -> String {
        let level =
            |level: usize| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); times].join(", "));
        std::iter::once("a0: &a0 [x]\n".to_owned()).chain((1..levels).map(level)).collect()
    }

    #[test]
    fn aliases_that_multiply_are_refused_before_anything_is_made_of_them() {
        assert_eq!(json("a: &x [1]\nb: *x\n"), serde_json::json!({ "a": [1], "b": [1] }));
        assert!(parse(&nested(10, 3)).is_ok());
        assert!(fault(&nested(60, 3)).1.contains("aliases (`*`) make more than 64 MiB"));
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(100));
        assert_eq!(fault(&long).0, 2);
    }

    #[test]
    fn values_without_aliases_have_a_limit() {
        let list = |items: usize| format!("a: 1\nx: [{}]\n", "a,".repeat(items));
        for text in [
            list(1 << 20),
            format!("a: 1\nx: [{}]\n", "[],".repeat(1 << 20)),
            format!("a: 1\nx: [{}]\n", "{a: },".repeat(1 << 19)),
        ] {
            let (line, what) = fault(&text);
            assert_eq!(line, 2);
            assert!(what.contains("than 64 MiB"), "{what}");
        }
        assert!(parse(&list(100_000)).is_ok());
    }

    /// The fault comes before more is allocated than the limit says, however small the parts are.
    #[test]
    fn a_tree_stops_growing_at_its_limit() {
        let mut tree = Tree::default();
        let mut take = |event| tree.take(event, 1);
        take(Event::SequenceStart(0, None)).unwrap();
        let scalar = || Event::Scalar("a".into(), ScalarStyle::Plain, 0, None);
        let nodes = (0..MAX_SIZE).take_while(|_| take(scalar()).is_ok()).count();
        assert!(nodes * size_of::<Node>() <= MAX_SIZE && nodes > 500_000, "{nodes}");
    }

    #[test]
    fn aliases_that_lead_deeper_and_deeper_are_refused_before_a_stack_overflows() {
        let depth = nested(100_000, 1);
        assert_eq!(fault(&depth), (64, "nested deeper than 64 levels".to_owned()));
    }

    #[test]
    fn a_map_of_many_entries_is_read_as_quickly_as_a_list() {
        let many: String = (0..300_000).map(|key| format!("k{key}:\n")).collect();
        let Value::Map(entries) = &parse(&many).unwrap().unwrap().value else { panic!("a map") };
        assert_eq!(entries.len(), 300_000);
    }

    #[test]
    fn a_text_is_utf_8_or_utf_16_that_says_so() {
        let units =
            |of: fn(u16) -> [u8; 2]| "\u{feff}a: \u{e9}\u{1f600}".encode_utf16().flat_map(of).collect::<Vec<u8>>();
        assert_eq!(text(units(u16::to_le_bytes)).unwrap(), "a: \u{e9}\u{1f600}");
        assert_eq!(text(units(u16::to_be_bytes)).unwrap(), "a: \u{e9}\u{1f600}");
        assert_eq!(text("\u{feff}a".into()).unwrap(), "\u{feff}a");
        for bad in [&[0xff, 0xfe, 0x61][..], &[0xff, 0xfe, 0, 0xd8], &[0xff, 0xff], &[b'a', 0xe9]] {
            assert!(text(bad.into()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn nothing_is_nothing() {
        assert!(parse("").unwrap().is_none());
        assert!(parse("# a comment\n").unwrap().is_none());
        assert!(parse("---\n").unwrap().unwrap().is_null());
    }
}
