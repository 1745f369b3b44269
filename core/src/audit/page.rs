use super::AuditConfig;
use crate::api::{Api, ApiCall, ObjectList};
use crate::object::{Key, Uid, Version};
use crate::request::{Request, Resource, Verb};
use alloc::format;
use alloc::string::String;
use serde::Deserialize;

/// An item of a list, of which key and version are read.
#[derive(Deserialize)]
pub(super) struct Row {
    #[serde(default)]
    metadata: RowMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RowMeta {
    name: String,
    namespace: Option<String>,
    resource_version: String,
    uid: String,
}

impl Row {
    /// The key, the version and the uid; `None` of an item without a name.
    pub(super) fn into_parts(self) -> Option<(Key, Version, Uid)> {
        let RowMeta { name, namespace, resource_version, uid } = self.metadata;
        let key = Key::new(namespace.as_deref(), &name);
        (!name.is_empty()).then(|| (key, Version::from(&*resource_version), Uid::from(&*uid)))
    }
}

/// What a page is of.
#[derive(Clone, Copy)]
pub(super) enum Start<'a> {
    /// The newest state.
    Newest,
    /// One object of it, for its version.
    Version,
    /// The state of this version.
    At(&'a Version),
    /// What follows behind this token.
    Behind(&'a str),
}

/// The request for a page.
pub(super) fn page(resource: &Resource, config: AuditConfig, start: Start<'_>) -> ApiCall<ObjectList<Row>> {
    let verb = Verb::List { limit: None, continue_token: None, resource_version: None };
    let accept = Request { resource: resource.clone(), verb }.accept();
    let call = Api::<Row>::new(resource).list().map_request(|mut request| {
        request.accept = accept;
        request
    });
    let (at, token) = match start {
        Start::Newest | Start::Version => (None, None),
        Start::At(version) => (Some(&**version), None),
        Start::Behind(token) => (None, Some(token)),
    };
    let limit = if matches!(start, Start::Version) { 1 } else { config.page_size };
    let limit = Some(format!("{limit}")).filter(|_| limit > 0);
    let parameters = [
        ("resourceVersion", at),
        ("resourceVersionMatch", at.map(|_| "Exact")),
        ("continue", token),
        ("limit", limit.as_deref()),
    ];
    let given = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
    given.fold(call, |call, (name, value)| call.with_query(name, value))
}
