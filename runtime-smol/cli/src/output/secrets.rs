//! The values of Secrets, which no output has unless the arguments ask for them.

use listwatch::Resource;
use listwatch::request::is_confidential;
use serde_json::Value;

/// What stands for a value.
const HIDDEN: &str = "(secret)";

/// Whether a collection is one of Secrets, whole or as metadata.
pub(crate) fn are_secrets(resource: &Resource) -> bool {
    is_confidential(resource.path())
}

/// Whether an object is a Secret.
pub(crate) fn is_secret(object: &Value) -> bool {
    object["kind"] == "Secret" && matches!(object["apiVersion"].as_str(), None | Some("v1"))
}

/// Replaces the values of a Secret. Its annotations are among them: `kubectl apply` keeps a copy of the data there.
pub(crate) fn hide(object: &mut Value) {
    for values in ["/data", "/stringData", "/metadata/annotations"] {
        let values = object.pointer_mut(values);
        match values {
            Some(Value::Object(values)) => values.values_mut().for_each(|value| *value = HIDDEN.into()),
            Some(Value::Null) | None => {}
            Some(other) => *other = HIDDEN.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_of_a_secret_is_left_but_its_names() {
        let mut secret = json!({ "kind": "Secret", "apiVersion": "v1", "type": "Opaque",
            "metadata": { "name": "s", "annotations": { "applied": "hunter2" } },
            "data": { "password": "aHVudGVyMg==" }, "stringData": "hunter2" });
        assert!(is_secret(&secret));
        hide(&mut secret);
        assert_eq!(
            secret,
            json!({ "kind": "Secret", "apiVersion": "v1", "type": "Opaque",
                "metadata": { "name": "s", "annotations": { "applied": "(secret)" } },
                "data": { "password": "(secret)" }, "stringData": "(secret)" })
        );
        assert!(!is_secret(&json!({ "kind": "Secret", "apiVersion": "vault.example/v1" })));
    }

    #[test]
    fn a_path_is_of_secrets_by_its_decoded_resource_alone() {
        let are_secrets = |path| are_secrets(&Resource::new(path));
        assert!(are_secrets("/api/v1/secrets"));
        let wrong = ["/api/v1/namespaces/secrets/pods", "/api/v1/secret%73"].map(are_secrets);
        assert_eq!(wrong, [false, true]);
    }
}
