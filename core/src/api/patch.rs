/// A change of a part of an object.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Patch<'a, B: ?Sized> {
    /// A list of operations: JSON Patch (RFC 6902).
    Json(&'a B),
    /// The fields that change; `null` deletes one: JSON Merge Patch (RFC 7386).
    Merge(&'a B),
    /// A merge patch that merges lists by their keys. A server refuses it for custom resources.
    Strategic(&'a B),
    /// All fields that a field manager owns: server-side apply.
    Apply {
        /// The name of the field manager.
        manager: &'a str,
        /// Whether the manager takes fields that other managers own.
        force: bool,
        /// The fields, with `apiVersion`, `kind` and `metadata.name`.
        object: &'a B,
    },
}
