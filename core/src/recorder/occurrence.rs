use super::ObjectReference;
use alloc::string::String;
use serde::Serialize;

/// Something that happened to an object. Occurrences that agree in all but their note and the object's version are a
/// series; the series keeps its first note, because a server lets nobody change it.
///
/// A text that is too long for a server is cut at a character, and ends with `…`.
///
/// ```
/// use listwatch_core::recorder::{ObjectReference, Occurrence};
///
/// let foo = ObjectReference::new("samplecontroller.k8s.io/v1alpha1", "Foo", Some("web"), "a");
/// let synced = Occurrence::normal(foo.clone(), "Synced").note("the Deployment is as it should be");
/// let failed = Occurrence::warning(foo, "NameTaken").action("Creating").note("another owner has it");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub(super) key: Key,
    /// The first object with its version; the key has none.
    pub(super) regarding: ObjectReference,
    pub(super) note: String,
}

/// Whether an occurrence needs an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub enum EventType {
    /// All goes well.
    Normal,
    /// Something may be wrong.
    Warning,
}

/// What the occurrences of a series have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) r#type: EventType,
    pub(super) reason: String,
    pub(super) action: String,
    pub(super) regarding: ObjectReference,
    pub(super) related: Option<ObjectReference>,
}

impl Occurrence {
    /// An occurrence of type `Normal`. `reason` is a word in `UpperCamelCase` for programs; an empty one becomes `Unknown`.
    #[must_use]
    pub fn normal(regarding: ObjectReference, reason: &str) -> Self {
        Self::new(EventType::Normal, regarding, reason)
    }

    /// An occurrence of type `Warning`; otherwise as [`normal`](Self::normal).
    #[must_use]
    pub fn warning(regarding: ObjectReference, reason: &str) -> Self {
        Self::new(EventType::Warning, regarding, reason)
    }

    /// The text for operators.
    #[must_use]
    pub fn note(self, note: &str) -> Self {
        Self { note: cut(note, LONGEST_NOTE), ..self }
    }

    /// What the controller did or tried, in `UpperCamelCase`. Without it, the reason stands there too: a server demands one.
    #[must_use]
    pub fn action(mut self, action: &str) -> Self {
        if !action.is_empty() {
            self.key.action = cut(action, LONGEST_WORD);
        }
        self
    }

    /// Another object that takes part, such as one that was created.
    #[must_use]
    pub fn related(mut self, related: &ObjectReference) -> Self {
        self.key.related = Some(related.in_any_state());
        self
    }

    fn new(r#type: EventType, regarding: ObjectReference, reason: &str) -> Self {
        let reason = cut(if reason.is_empty() { "Unknown" } else { reason }, LONGEST_WORD);
        let action = reason.clone();
        let key = Key { r#type, reason, action, regarding: regarding.in_any_state(), related: None };
        Self { key, regarding, note: String::new() }
    }
}

/// The limits of `ValidateEventCreate` (kube-apiserver), in bytes.
const LONGEST_NOTE: usize = 1024;
const LONGEST_WORD: usize = 128;

/// The beginning of a text that is too long.
fn cut(text: &str, most: usize) -> String {
    const MORE: char = '…';
    if text.len() <= most {
        return text.into();
    }
    let ends = text.char_indices().map(|(at, _)| at);
    let end = ends.take_while(|at| *at <= most - MORE.len_utf8()).last();
    let mut cut: String = text[..end.unwrap_or_default()].into();
    cut.push(MORE);
    cut
}
