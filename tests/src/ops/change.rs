//! Changes by a type that is itself data: it knows some fields of random objects, and has defaults, nulls and an alias.
//!
//! Each edit is made twice: on what the type shows, and on the raw object. The patch must lead to the latter.

mod edit;
mod objects;
mod reader;

use arbitrary::{Result, Unstructured};
use edit::{Edit, Made};
use listwatch_core::change::{Change, ChangeError, Part, change};
use objects::{NAMES, list, nulls, object, plain};
use reader::Reader;
use serde_json::{Value, json};
use std::fmt;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// The change was made by a patch.
    Patched,
    /// The change was made by a patch over the raw object.
    LaidOver,
    /// The type does not see a difference.
    Nothing,
    /// The change was refused.
    Refused,
}

/// Runs the change that `data` stands for.
///
/// # Panics
/// Where the patch does not lead to the edited object, or a clear edit is refused.
pub fn run(data: &[u8]) -> Ending {
    Run::arbitrary(&mut Unstructured::new(data)).expect("bytes that have ended are zeros").check()
}

/// Applies a merge patch, by the algorithm of RFC 7386.
pub fn apply(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in fields {
        if value.is_null() {
            target.as_object_mut().into_iter().for_each(|target| _ = target.remove(name));
        } else {
            apply(&mut target[name], value);
        }
    }
}

struct Run {
    reader: Reader,
    raw: Value,
    edits: Vec<Edit>,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {:?}, read by {:?}", self.raw, self.edits, self.reader)
    }
}

impl Run {
    fn arbitrary(data: &mut Unstructured<'_>) -> Result<Self> {
        let reader = Reader::arbitrary(data)?;
        let mut raw = object(data, 3, &NAMES)?;
        raw["list"] = list(data, 2, &NAMES)?;
        let known: Vec<&str> = reader.known.iter().copied().collect();
        let count = data.arbitrary::<u8>()?.saturating_sub(200) % 4 + 1;
        let edits = (0..count).map(|_| Edit::arbitrary(data, &known)).collect::<Result<_>>()?;
        // Else a scalar nearly always tells what the type does not know.
        if data.arbitrary::<u8>()? % 4 == 3 {
            reader.empty_unknown(&mut raw);
        }
        Ok(Self { reader, raw, edits })
    }

    fn check(&self) -> Ending {
        let before = self.reader.show(&self.raw);
        let (mut after, mut wanted) = (before.clone(), self.raw.clone());
        let mut made = Vec::new();
        for edit in &self.edits {
            made.extend(edit.make(&self.reader, &mut after, &mut wanted));
        }
        let (ending, changed) = self.changed(&before, &after);
        match (changed, &made[..]) {
            (Ok(changed), made) => {
                self.check_shown(&after, &changed);
                self.check_unknown(&wanted, &changed, made);
                if let [place] = made {
                    self.check_one(place, &wanted, &changed, ending);
                }
            }
            (Err(error), [place]) => assert!(!self.is_clear(place), "{error} at {place:?} in {self}"),
            (Err(_), _) => {}
        }
        ending
    }

    /// The object with the patch.
    fn changed(&self, before: &Value, after: &Value) -> (Ending, std::result::Result<Value, ChangeError>) {
        let mut object = self.raw.clone();
        let (ending, patch) = match change(before, after, Part::Object) {
            Ok(Change::Nothing) => (Ending::Nothing, Ok(None)),
            Ok(Change::Patch(patch)) => (Ending::Patched, Ok(Some(patch))),
            Ok(Change::NeedsRaw(pending)) => {
                // Another object than the one that was shown may be refused, and does no harm.
                drop(pending.lay_over(after));
                (Ending::LaidOver, pending.lay_over(&self.raw))
            }
            Err(error) => (Ending::Refused, Err(error)),
        };
        match patch {
            Ok(patch) => {
                patch.iter().for_each(|patch| apply(&mut object, patch));
                (ending, Ok(object))
            }
            Err(error) => (Ending::Refused, Err(error)),
        }
    }

    /// The type sees what it has made of the object, as far as it can say so.
    fn check_shown(&self, after: &Value, changed: &Value) {
        if !self.reader.alias && !self.reader.filters {
            let (after, shown) = (self.reader.show(after), self.reader.show(changed));
            assert_eq!(plain(&shown), plain(&after), "{changed} of {self}");
        }
    }

    /// What the type does not know is what it was, wherever it now is.
    fn check_unknown(&self, wanted: &Value, changed: &Value, made: &[Made]) {
        let unknown = |value: &Value| {
            let mut found = Vec::new();
            self.reader.collect_unknown(value, false, &mut found);
            found.sort();
            found
        };
        let (wanted, changed, raw) = (unknown(wanted), unknown(changed), unknown(&self.raw));
        assert!(changed.iter().all(|value| raw.contains(value)), "{changed:?} of {self}");
        if made.iter().all(|made| !made.removes) {
            assert_eq!(changed, raw, "{self}");
        }
        if made.len() == 1 && made[0].is_visible {
            assert_eq!(changed, wanted, "{self}");
        }
    }

    /// One edit comes out as if it was made on the raw object.
    fn check_one(&self, made: &Made, wanted: &Value, changed: &Value, ending: Ending) {
        // Without the raw object, the value goes to the name that the type writes.
        assert!(!made.is_aliased || ending != Ending::LaidOver, "{made:?} in {self}");
        if made.is_aliased && ending == Ending::Patched {
            return;
        }
        assert!(!made.filtered || ending == Ending::Nothing, "{made:?} in {self}");
        if !made.is_visible {
            return assert_eq!(*changed, self.raw, "{made:?} in {self}");
        }
        // An element that is new to the machine has the defaults of its type.
        let is_new = made.key.is_some() || made.inserts;
        let filled = |value: &Value| if is_new { self.reader.fill(value) } else { value.clone() };
        assert_eq!(plain(&filled(changed)), plain(&filled(wanted)), "{made:?} in {self}");
        // A default that the change removes leaves no null behind.
        assert!(made.is_default || nulls(changed) == nulls(wanted), "{made:?} in {self}");
    }

    /// Whether one edit can only be read in one way.
    fn is_clear(&self, made: &Made) -> bool {
        !self.reader.alias
            && !self.reader.filters
            && !made.filtered
            && !made.replaces_unknown
            && !made.is_default
            && !made.has_look_alikes
            && made.key.is_none()
            && nulls(&self.raw).is_empty()
    }
}
