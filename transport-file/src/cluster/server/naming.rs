//! How a test names objects and resources.

use super::super::place::Place;
use super::super::refusal::Refusal;
use super::Server;
use serde_json::Value;

impl Server {
    /// The kind and the namespace of a test's object.
    pub(in super::super) fn place_of(&mut self, object: &Value) -> Result<Place, Refusal> {
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        for (field, value, example) in [("apiVersion", &api_version, "apps/v1"), ("kind", &kind, "Deployment")] {
            if value.is_empty() {
                let message = format!("the object has no `{field}`; give it one, such as `{example}`");
                return Err(Refusal::bad_request(message));
            }
        }
        let Some(kind) = self.kinds.of_object(&api_version, &kind) else {
            return Err(Refusal::bad_request(format!(
                "`{api_version}` has no kind `{kind}`; correct the name, or add the kind by `with_kind`"
            )));
        };
        let metadata = &object["metadata"];
        Ok(Place { kind, namespace: text(&metadata["namespace"]), name: text(&metadata["name"]) }.or_default())
    }

    /// The place of `web/a` in a collection such as `apps/v1/deployments`; without a name, that of the collection.
    pub(in super::super) fn place_at(&mut self, collection: &str, key: &str) -> Result<Place, Refusal> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let known = self.kinds.of_collection(collection, true).filter(|kind| !kind.plural.is_empty());
        let Some(kind) = known.filter(|kind| !kind.api_version.is_empty()) else {
            return Err(Refusal::bad_request(format!(
                "there is no resource `{collection}`; name version and plural, such as `v1/pods` or `apps/v1/deployments`"
            )));
        };
        let place = Place { kind, namespace: namespace.to_owned(), name: name.to_owned() };
        Ok(if name.is_empty() { place } else { place.or_default() })
    }
}
