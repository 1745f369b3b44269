//! How a test names objects and resources.

use super::super::place::Place;
use super::super::refusal::Refusal;
use super::super::target::Target;
use super::Server;
use serde_json::Value;

/// The methods of requests, and what those of informers are called.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "LIST", "WATCH"];

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
        let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
        Ok(Place { kind, namespace, name, version: None }.or_default())
    }

    /// The place of `web/a` in a collection such as `apps/v1/deployments`; without a name, that of the collection.
    pub(in super::super) fn place_at(&self, collection: &str, key: &str) -> Result<Place, Refusal> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let kind = self.kinds.known(collection).ok_or_else(|| Refusal::bad_request(self.unknown(collection)))?;
        let place = Place { kind, namespace: namespace.to_owned(), name: name.to_owned(), version: None };
        Ok(if name.is_empty() { place } else { place.or_default() })
    }

    /// The reason why a test's words are no beginning of a request; `None` if they are one.
    pub(in super::super) fn fault_of_words(&self, requests: &str) -> Option<String> {
        let (method, path) = requests.split_once(' ').unwrap_or((requests, ""));
        if !METHODS.contains(&method) {
            return Some(format!("`{method}` is no method; a request begins with one of {}", METHODS.join(", ")));
        }
        let is_path = path.is_empty() || ["/api", "/apis"].iter().any(|root| is_in(path, root));
        if !is_path || path.contains([' ', '?']) {
            return Some(format!(
                "`{path}` is no path of resources, such as `/api/v1/namespaces/web/pods/a` or `/apis/apps/v1/deployments`"
            ));
        }
        let collection = Target::parse(path).map(|target| target.collection)?;
        let is_right = self.kinds.may_have(&collection) || collection.ends_with("/namespaces");
        (!is_right).then(|| self.unknown(&collection))
    }

    fn unknown(&self, collection: &str) -> String {
        if collection.rsplit_once('/').is_none_or(|(version, plural)| version.is_empty() || plural.is_empty()) {
            return format!(
                "there is no resource `{collection}`; name version and plural, such as `v1/pods` or `apps/v1/deployments`"
            );
        }
        if !self.kinds.may_have(collection) {
            return format!("Kubernetes has no resource `{collection}`; correct the name");
        }
        format!(
            "no object and no informer has had the resource `{collection}`; correct the name, or add the kind by \
             `with_kind`"
        )
    }
}

/// Whether a path is that of a root, or below it.
fn is_in(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
