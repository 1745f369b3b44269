//! What a request names: a collection or an object in it, and the parameters of its query.

use listwatch_core::request::percent_decode;

/// A request target of a resource, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    /// The name of the collection in the API, such as `v1/pods` or `apps/v1/deployments`.
    pub(super) collection: String,
    /// The namespace; empty for none, or for all.
    pub(super) namespace: String,
    /// The name of the object; empty for the collection.
    pub(super) name: String,
    /// The part of the object, such as `status`; empty for all of it.
    pub(super) subresource: String,
    /// Whether the objects are Events, which are stored in another version than the request has.
    pub(super) is_events: bool,
    /// The parameters, decoded.
    query: Vec<(String, String)>,
}

impl Target {
    /// Reads a request target; `None` if it is not the path of a resource.
    pub(super) fn parse(target: &str) -> Option<Self> {
        let (path, query) = path_and_query(target);
        let parts: Vec<String> = path.strip_prefix('/')?.split('/').map(percent_decode).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (version, rest) = match parts.split_first()? {
            (&"api", rest) => rest.split_at_checked(1)?,
            (&"apis", rest) => rest.split_at_checked(2)?,
            _ => return None,
        };
        let (namespace, rest) = match *rest {
            // The namespaces have subresources of their own, which are no collections.
            ["namespaces", namespace, ref rest @ ..] if !matches!(rest, [] | ["status" | "finalize"]) => {
                (namespace, rest)
            }
            _ => ("", rest),
        };
        let (plural, name, subresource) = match *rest {
            [plural] => (plural, "", ""),
            [plural, name] => (plural, name, ""),
            [plural, name, subresource] => (plural, name, subresource),
            _ => return None,
        };
        if version.iter().chain([&plural]).any(|part| part.is_empty()) {
            return None;
        }
        Some(Self {
            collection: format!("{}/{plural}", version.join("/")),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
            is_events: false,
            query: parameters(query),
        })
    }

    /// An object or, without a name, a collection.
    pub(super) fn of(collection: String, namespace: String, name: String) -> Self {
        Self { collection, namespace, name, ..Self::default() }
    }

    /// A parameter; `None` if it is absent or empty.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Ignores a parameter.
    pub(super) fn ignore(&mut self, name: &str) {
        self.query.retain(|(key, _)| key != name);
    }

    /// Whether a parameter is set to true.
    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.parameter(name), Some("1" | "true"))
    }
}

/// The path of a request target, and its query, which is empty for none.
pub(super) fn path_and_query(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

fn parameters(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (percent_decode(key), percent_decode(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(target: &str) -> Option<[String; 4]> {
        let Target { collection, namespace, name, subresource, .. } = Target::parse(target)?;
        Some([collection, namespace, name, subresource])
    }

    #[test]
    fn a_target_names_a_collection_an_object_or_a_part_of_it() {
        for (target, expected) in [
            ("/api/v1/pods", ["v1/pods", "", "", ""]),
            ("/api/v1/namespaces/web/pods?limit=5", ["v1/pods", "web", "", ""]),
            ("/apis/apps/v1/namespaces/web/deployments/a/status", ["apps/v1/deployments", "web", "a", "status"]),
            ("/api/v1/namespaces", ["v1/namespaces", "", "", ""]),
            ("/api/v1/namespaces/web", ["v1/namespaces", "", "web", ""]),
            ("/api/v1/namespaces/web/status", ["v1/namespaces", "", "web", "status"]),
            ("/api/v1/nodes/n%31/status", ["v1/nodes", "", "n1", "status"]),
        ] {
            assert_eq!(parsed(target), Some(expected.map(str::to_owned)), "{target}");
        }
        for target in ["", "/", "/version", "/api", "/api/v1", "/apis/apps/v1", "/apis//v1/pods", "/api/v1/a/b/c/d"] {
            assert_eq!(parsed(target), None, "{target}");
        }
    }

    #[test]
    fn parameters_are_decoded() {
        let target = Target::parse("/api/v1/pods?watch=1&labelSelector=app%20in%20(a,b)&limit=").unwrap_or_default();
        assert!(target.flag("watch") && !target.flag("pretty"));
        assert_eq!((target.parameter("labelSelector"), target.parameter("limit")), (Some("app in (a,b)"), None));
    }
}
