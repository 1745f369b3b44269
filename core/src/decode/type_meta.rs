/// `metav1.TypeMeta` of a list's items, which do not say it themselves; empty where the list does not say it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TypeMeta<'a> {
    pub(super) kind: &'a str,
    pub(super) api_version: &'a str,
}
