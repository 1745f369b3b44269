use super::AuditConfig;
use crate::api::{Api, ApiCall, ObjectList};
use crate::object::{Key, Version};
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
}

impl Row {
    /// The key and the version; `None` of an item without a name.
    pub(super) fn into_parts(self) -> Option<(Key, Version)> {
        let RowMeta { name, namespace, resource_version } = self.metadata;
        let key = Key::new(namespace.as_deref(), &name);
        (!name.is_empty()).then(|| (key, Version::from(&*resource_version)))
    }
}

/// The request for a page. Without a token it is the first one, of the newest state.
pub(super) fn page(resource: &Resource, config: AuditConfig, token: Option<&str>) -> ApiCall<ObjectList<Row>> {
    let verb = Verb::List { limit: None, continue_token: None, resource_version: None };
    let accept = Request { resource: resource.clone(), verb }.accept();
    let mut call = Api::<Row>::new(resource).list().map_request(|mut request| {
        request.accept = accept;
        request
    });
    let selectors = [
        ("labelSelector", resource.label_selector()),
        ("fieldSelector", resource.field_selector()),
        ("continue", token),
    ];
    for (name, value) in selectors {
        call = value.into_iter().fold(call, |call, value| call.with_query(name, value));
    }
    if config.page_size == 0 { call } else { call.with_query("limit", format!("{}", config.page_size)) }
}
