use super::super::Uid;

/// An object that owns another one: an entry of `metadata.ownerReferences` (apimachinery `OwnerReference`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerReference<'a> {
    /// Group and version of the owner, such as `apps/v1`.
    pub api_version: &'a str,
    /// Kind of the owner, such as `ReplicaSet`.
    pub kind: &'a str,
    /// Name of the owner, in the namespace of the owned object or in none.
    pub name: &'a str,
    /// Uid of the owner; `None` where the reference has none.
    pub uid: Option<Uid>,
    /// Whether this owner is the managing controller.
    pub controller: bool,
    /// Whether a foreground deletion of the owner waits until this object is deleted.
    pub block_owner_deletion: bool,
}
