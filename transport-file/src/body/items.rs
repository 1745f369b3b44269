//! The kinds of the items of a list.

use crate::file::{Source, skip_mark};
use crate::kinds::is_foreign;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;

/// How many kinds are named.
const MOST: usize = 8;

/// The kinds of a list whose items are certainly all of other kinds than those of this collection; empty if some may be of
/// it, or the list has none. The list is read up to the first item that may.
pub(crate) fn foreign_kinds(source: &mut Source, collection: &str) -> BTreeSet<String> {
    let mut search = Search { collection, foreign: BTreeSet::new(), may_have: false, list: Named::default() };
    if skip_mark(source).is_err() {
        return BTreeSet::new();
    }
    let read = serde_json::Deserializer::from_reader(source).deserialize_map(&mut search);
    // A list that cannot be read to its end has its error when it is played.
    if read.is_ok() && !search.may_have { search.foreign } else { BTreeSet::new() }
}

/// The version and the kind of an object.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    api_version: Option<String>,
    kind: Option<String>,
}

struct Search<'c> {
    collection: &'c str,
    foreign: BTreeSet<String>,
    /// An item may be of the collection.
    may_have: bool,
    list: Named,
}

impl Search<'_> {
    /// Notes an object. Returns whether it is of another kind.
    fn note(&mut self, version: &str, kind: &str) -> bool {
        let is_name = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_foreign = is_name && is_foreign(self.collection, version, kind);
        self.may_have |= !is_foreign;
        if is_foreign && self.foreign.len() < MOST {
            self.foreign.insert(kind.to_owned());
        }
        is_foreign
    }

    /// Notes an item that has no kind: it has that of its list.
    fn note_unnamed(&mut self) {
        let Named { api_version, kind } = std::mem::take(&mut self.list);
        let kind = kind.as_deref().and_then(|kind| kind.strip_suffix("List")).unwrap_or_default();
        self.note(api_version.as_deref().unwrap_or_default(), kind);
    }
}

impl<'de> Visitor<'de> for &mut Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_unnamed = false;
        while let Some(key) = map.next_key::<String>()? {
            match &*key {
                "kind" => self.list.kind = map.next_value()?,
                "apiVersion" => self.list.api_version = map.next_value()?,
                "items" => has_unnamed = map.next_value_seed(Items(self))?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        if has_unnamed {
            self.note_unnamed();
        }
        Ok(())
    }
}

/// Reads the items, and tells whether one of them has no kind.
struct Items<'s, 'c>(&'s mut Search<'c>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, items: D) -> Result<bool, D::Error> {
        items.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the items of a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        let mut has_unnamed = false;
        while let Some(Named { api_version, kind }) = items.next_element()? {
            match kind {
                None => has_unnamed = true,
                Some(kind) if self.0.note(api_version.as_deref().unwrap_or_default(), &kind) => {}
                Some(_) => return Err(A::Error::custom("this one may be of the collection")),
            }
        }
        Ok(has_unnamed)
    }
}
