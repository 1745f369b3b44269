//! Which element of a list is which, after a change.

use super::error::{ChangeError, ChangeErrorKind, Place};
use super::value::{fields, find_null, find_unknown, is_scalar, same};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use serde_json::Value;

/// The fields that tell elements apart: the merge keys and the map keys of lists in the types of Kubernetes. The first
/// field of each must be there, the others may have a default.
const KEYS: &[&[&str]] = &[
    &["name"],
    &["type"],
    &["key"],
    &["uid"],
    &["ip"],
    &["mountPath"],
    &["devicePath"],
    &["containerPort"],
    &["containerPort", "protocol"],
    &["port"],
    &["port", "protocol"],
    &["topologyKey"],
    &["topologyKey", "whenUnsatisfiable"],
];

/// Where the elements of a list come from.
pub(super) struct Sources {
    /// For each element of `after` the index of its element in `before` and `raw`; `None` for one to be taken as it is.
    pub(super) of: Vec<Option<usize>>,
    /// Whether several elements were not found by their places alone.
    pub(super) is_certain: bool,
    /// Whether an element is gone that has more than the type knows.
    pub(super) loses: bool,
}

/// Finds the elements of `after` in `before`.
pub(super) fn sources(
    place: Place<'_>,
    before: &[Value],
    after: &[Value],
    raw: &[Value],
) -> Result<Sources, ChangeError> {
    let list = List { place, before, after, raw };
    check_length(place, before, raw)?;
    list.check_order()?;
    let by_keys: Vec<_> = KEYS.iter().filter_map(|key| list.by_key(key)).collect();
    let (of, is_certain) = if by_keys.is_empty() { list.by_value()? } else { (list.agreed(by_keys)?, true) };
    Ok(Sources { loses: list.is_losing(&of), of, is_certain })
}

/// Refuses a list of which the type shows more or fewer elements than it has.
fn check_length(place: Place<'_>, shown: &[Value], raw: &[Value]) -> Result<(), ChangeError> {
    let kind = ChangeErrorKind::Filtered { shown: shown.len(), raw: raw.len() };
    if shown.len() == raw.len() { Ok(()) } else { Err(ChangeError::at(place, kind)) }
}

struct List<'a> {
    place: Place<'a>,
    before: &'a [Value],
    after: &'a [Value],
    raw: &'a [Value],
}

impl List<'_> {
    /// Whether an element has more than the type knows.
    fn is_hiding(&self, at: usize) -> bool {
        find_unknown(self.place, &self.before[at], &self.raw[at]).is_some() || self.has_null(at)
    }

    fn has_null(&self, at: usize) -> bool {
        find_null(self.place, &self.raw[at]).is_some()
    }

    /// Refuses a list that the type may show in another order: its elements are not the raw ones by position.
    fn check_order(&self) -> Result<(), ChangeError> {
        let has_key = |key: &&[&str]| ids(key, self.before).is_some_and(|found| ids(key, self.raw) == Some(found));
        if KEYS.iter().any(has_key) {
            return Ok(());
        }
        let mut pairs = self.before.iter().zip(self.raw).enumerate();
        pairs.try_for_each(|(at, (before, raw))| check_shown(self.place.element(at), before, raw))
    }

    /// The sources by the values of a key, if each element has its own.
    fn by_key(&self, key: &[&str]) -> Option<Vec<Option<usize>>> {
        let (before, after) = (ids(key, self.before)?, ids(key, self.after)?);
        if ids(key, self.raw)? != before {
            return None;
        }
        let places: BTreeMap<&str, usize> = before.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
        Some(after.iter().map(|id| places.get(id.as_str()).copied()).collect())
    }

    /// The sources by the keys that do not make one element of another. These keys must agree on the elements that hide
    /// something. The key that finds the most elements is taken, so that no default is written.
    fn agreed(&self, by_keys: Vec<Vec<Option<usize>>>) -> Result<Vec<Option<usize>>, ChangeError> {
        let hiding = |sources: &[Option<usize>]| -> Vec<Option<usize>> {
            sources.iter().map(|source| source.filter(|at| self.is_hiding(*at))).collect()
        };
        let mut complete: Vec<_> = by_keys.into_iter().filter(|sources| !self.is_replacing(sources)).collect();
        if complete.windows(2).any(|pair| hiding(&pair[0]) != hiding(&pair[1])) {
            return self.refuse(ChangeErrorKind::Keys);
        }
        complete.sort_by_key(|sources| sources.iter().flatten().count());
        complete.pop().map_or_else(|| self.refuse(ChangeErrorKind::Replaced), Ok)
    }

    /// Whether an element that hides something is gone while another is new: it may be the same one, changed.
    fn is_replacing(&self, sources: &[Option<usize>]) -> bool {
        sources.contains(&None) && self.is_losing(sources)
    }

    /// Whether an element that hides something is gone.
    fn is_losing(&self, sources: &[Option<usize>]) -> bool {
        let found: BTreeSet<usize> = sources.iter().flatten().copied().collect();
        (0..self.before.len()).any(|at| !found.contains(&at) && self.is_hiding(at))
    }

    /// The sources of elements without a key: equal ones, or else, in a list of unchanged length, the ones in the same
    /// place. Whether no more than one was found by its place.
    fn by_value(&self) -> Result<(Vec<Option<usize>>, bool), ChangeError> {
        let mut sources = vec![None; self.after.len()];
        let mut left: BTreeSet<usize> = (0..self.before.len()).collect();
        for group in self.groups() {
            for (from, to) in self.pairs(&group)? {
                sources[to] = Some(from);
                left.remove(&from);
            }
        }
        let is_certain = left.len() <= 1;
        let is_new = |at: &usize| sources[*at].is_none();
        // The places are the same only in a list of unchanged length.
        if (0..sources.len()).filter(is_new).eq(left.iter().copied()) {
            left.into_iter().for_each(|at| sources[at] = Some(at));
        }
        if self.is_replacing(&sources) { self.refuse(ChangeErrorKind::Replaced) } else { Ok((sources, is_certain)) }
    }

    /// The elements that are equal, by their text.
    fn groups(&self) -> Vec<Group> {
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        for (at, value) in self.before.iter().enumerate() {
            groups.entry(value.to_string()).or_default().before.push(at);
        }
        for (at, value) in self.after.iter().enumerate() {
            groups.entry(value.to_string()).or_default().after.push(at);
        }
        groups.into_values().collect()
    }

    /// The pairs of equal elements. Those that hide different things are told apart by their place alone.
    fn pairs(&self, group: &Group) -> Result<Vec<(usize, usize)>, ChangeError> {
        let (stay, moved) = group.divide(self.before.len() == self.after.len());
        let is_hiding = group.before.iter().any(|at| self.is_hiding(*at));
        let is_one = group.before.iter().all(|at| self.raw[*at] == self.raw[group.before[0]]);
        let is_clear = match (moved.before.len(), moved.after.len()) {
            (0, _) | (_, 0) => true,
            (before, after) if before < after => !is_hiding,
            _ => !is_hiding || is_one || moved.before == moved.after,
        };
        if !is_clear {
            return self.refuse(ChangeErrorKind::LookAlikes);
        }
        let pairs = moved.before.into_iter().zip(moved.after);
        Ok(stay.into_iter().map(|at| (at, at)).chain(pairs).collect())
    }

    fn refuse<T>(&self, kind: ChangeErrorKind) -> Result<T, ChangeError> {
        Err(ChangeError::at(self.place, kind))
    }
}

/// The places of equal elements.
#[derive(Default)]
struct Group {
    before: Vec<usize>,
    after: Vec<usize>,
}

impl Group {
    /// The places that have the element before and after, in a list of unchanged length, and the other places.
    fn divide(&self, has_length: bool) -> (Vec<usize>, Self) {
        let stays =
            |at: &usize| has_length && self.before.binary_search(at).is_ok() && self.after.binary_search(at).is_ok();
        let moves = |places: &[usize]| places.iter().copied().filter(|at| !stays(at)).collect();
        let stay = self.before.iter().copied().filter(stays).collect();
        (stay, Self { before: moves(&self.before), after: moves(&self.after) })
    }
}

/// The values of a key in each element, as text; `None` unless each has one of its own.
fn ids(key: &[&str], elements: &[Value]) -> Option<Vec<String>> {
    let ids: Option<Vec<String>> = elements.iter().map(|element| id(key, element)).collect();
    ids.filter(|ids| ids.iter().collect::<BTreeSet<_>>().len() == ids.len())
}

fn id(key: &[&str], element: &Value) -> Option<String> {
    let values = || key.iter().map(|name| &element[*name]);
    let has_all = is_scalar(&element[*key.first()?]) && values().all(|value| value.is_null() || is_scalar(value));
    has_all.then(|| values().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Refuses a value that is not the raw one as far as both go. A value that the raw object does not have is a default or
/// under an alias.
fn check_shown(place: Place<'_>, shown: &Value, raw: &Value) -> Result<(), ChangeError> {
    match (shown, raw) {
        (Value::Null, _) | (_, Value::Null) => Ok(()),
        (Value::Object(_), Value::Object(_)) => {
            fields(shown).try_for_each(|(name, shown)| check_shown(place.field(name), shown, &raw[name]))
        }
        (Value::Array(shown), Value::Array(raw)) => {
            check_length(place, shown, raw)?;
            let mut pairs = shown.iter().zip(raw).enumerate();
            pairs.try_for_each(|(at, (shown, raw))| check_shown(place.element(at), shown, raw))
        }
        _ if same(shown, raw) => Ok(()),
        _ => Err(ChangeError::at(place, ChangeErrorKind::Converted)),
    }
}
