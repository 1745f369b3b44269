//! An object of the collection, and its form on the wire.

use std::io::Write;

/// The place of an object among all that there can be; its name follows from it, in the same order.
pub type KeyNumber = u8;

/// The state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Which of those that had this name.
    pub uid: u64,
    /// When it was last changed.
    pub revision: u64,
    /// The value of its label `app`, from `a` on.
    pub app: u8,
    /// The number of its node.
    pub node: u8,
    /// How much of it can be read.
    pub health: Health,
}

/// How much of an object can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// All of it.
    #[default]
    Good,
    /// Its metadata.
    Bad,
    /// Nothing.
    Unreadable,
    /// Nothing, because it is larger than a small limit.
    Huge,
}

impl Health {
    /// Whether not even the key can be told.
    #[must_use]
    pub fn is_blinding(self) -> bool {
        matches!(self, Self::Unreadable | Self::Huge)
    }
}

/// More than the smallest limit of a frame that runs set.
const HUGE: usize = 3_000;

/// The namespace of an object.
#[must_use]
pub(super) fn namespace(key: KeyNumber) -> String {
    format!("ns-{}", key / 8)
}

/// The name of an object.
#[must_use]
pub(super) fn name(key: KeyNumber) -> String {
    format!("pod-{key:03}")
}

/// The place of the object of this name.
#[must_use]
pub(super) fn key_of(name: &str) -> Option<KeyNumber> {
    name.strip_prefix("pod-")?.parse().ok()
}

/// Whether a label or a field of an object, by its name, has a value, and which.
#[must_use]
pub(super) fn field(key: KeyNumber, object: &Stored, name: &str) -> Option<String> {
    match name {
        "metadata.name" => Some(self::name(key)),
        "metadata.namespace" => Some(namespace(key)),
        "spec.nodeName" => Some(format!("n{}", object.node)),
        _ => None,
    }
}

/// The value of the label `app`.
#[must_use]
pub(super) fn app(object: &Stored) -> &'static str {
    ["a", "b", "c", "d"][usize::from(object.app) % 4]
}

/// Writes an object as JSON. What it holds beside its metadata follows from its last change, so that it can be checked.
pub(super) fn write_json(out: &mut Vec<u8>, key: KeyNumber, object: &Stored, metadata_only: bool) {
    let Stored { uid, revision, node, health, .. } = *object;
    out.push(b'{');
    if !health.is_blinding() {
        let (group, app) = (key / 8, app(object));
        put(
            out,
            format_args!(
                r#""metadata":{{"namespace":"ns-{group}","name":"pod-{key:03}","uid":"{uid}","resourceVersion":"{revision}","labels":{{"app":"{app}"}}}}"#
            ),
        );
    }
    if metadata_only {
        return out.push(b'}');
    }
    if !health.is_blinding() {
        out.push(b',');
    }
    match health {
        Health::Bad => out.extend_from_slice(br#""spec":"not what it should be"}"#),
        Health::Huge => {
            out.extend_from_slice(br#""padding":""#);
            out.resize(out.len() + HUGE, b'x');
            out.extend_from_slice(br#""}"#);
        }
        Health::Good | Health::Unreadable => {
            put(out, format_args!(r#""spec":{{"nodeName":"n{node}","value":{}}}}}"#, value(uid, node)));
        }
    }
}

/// What an object of this identity and on this node says of itself.
#[must_use]
pub(super) fn value(uid: u64, node: u8) -> u64 {
    uid * 10 + u64::from(node)
}

/// Writes to memory, which cannot fail.
pub(super) fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).unwrap_or_default();
}
