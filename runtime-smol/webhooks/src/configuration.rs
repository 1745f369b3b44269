//! The objects by which an API server knows webhooks.

use super::address::Address;
use super::webhooks::{CONVERT, Hook, Role, Webhooks};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The kind of configuration of a role, and its resource.
pub(crate) const CONFIGURATIONS: [(Role, &str, &str); 2] = [
    (
        Role::Validates,
        "ValidatingWebhookConfiguration",
        "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    ),
    (Role::Mutates, "MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"),
];

impl Webhooks {
    /// The objects that [`start`](Self::start) writes, for a program whose manifests have them: the
    /// `ValidatingWebhookConfiguration`, the `MutatingWebhookConfiguration`, and for each kind that is converted the part
    /// of its CustomResourceDefinition. `authorities` is PEM; without it, `caBundle` is left to others, such as
    /// cert-manager.
    ///
    /// ```
    /// use listwatch_webhooks::{Address, Webhooks};
    /// # #[derive(serde::Deserialize)]
    /// # struct Foo {}
    /// # listwatch::kind!(Foo, "example.com/v1", "foos");
    ///
    /// let webhooks = Webhooks::new("sample").validates::<Foo>(|_| Ok(()));
    /// let [configuration] = &webhooks.manifests(&Address::service("prod", "sample"), None)[..] else { panic!() };
    /// assert_eq!(configuration["kind"], "ValidatingWebhookConfiguration");
    /// assert_eq!(configuration["webhooks"][0]["clientConfig"]["service"]["path"], "/validate/example.com/v1/foos");
    /// ```
    #[must_use]
    pub fn manifests(&self, address: &Address, authorities: Option<&str>) -> Vec<Value> {
        let roles = CONFIGURATIONS.into_iter().filter(|(role, ..)| self.hooks.iter().any(|hook| hook.role == *role));
        let configurations = roles.map(|(role, kind, _)| self.configuration(role, kind, address, authorities));
        configurations.chain(self.definitions(address, authorities)).collect()
    }

    /// The configuration of the functions of a role, which may be none.
    pub(crate) fn configuration(&self, role: Role, kind: &str, address: &Address, authorities: Option<&str>) -> Value {
        let bundle = authorities.map(|pem| STANDARD.encode(pem));
        let hooks = self.hooks.iter().filter(|hook| hook.role == role);
        let webhooks: Vec<_> = hooks.map(|hook| self.webhook(hook, address, bundle.as_deref())).collect();
        let metadata = json!({ "name": self.name });
        json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata, "webhooks": webhooks })
    }

    fn webhook(&self, hook: &Hook, address: &Address, bundle: Option<&str>) -> Value {
        let (group, version) = hook.resource.api_version.rsplit_once('/').unwrap_or(("", hook.resource.api_version));
        let scope = if hook.resource.is_namespaced { "Namespaced" } else { "Cluster" };
        let rule = json!({
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": hook.operations,
            "resources": [hook.resource.plural],
            "scope": scope,
        });
        let mut webhook = json!({
            "name": hook.name(),
            "clientConfig": address.client_config(&hook.path, bundle),
            "rules": [rule],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "sideEffects": "None",
            "timeoutSeconds": 5,
            "admissionReviewVersions": ["v1"],
        });
        if let Some(own) = address.namespace().filter(|_| hook.resource.is_namespaced && is_of_kubernetes(group)) {
            let names = json!(["kube-system", own]);
            let others = json!({ "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": names });
            webhook["namespaceSelector"] = json!({ "matchExpressions": [others] });
        }
        self.adjust.iter().for_each(|adjust| adjust(&mut webhook));
        webhook
    }

    /// For each kind that is converted, the part of its definition. It is a merge patch, too.
    pub(crate) fn definitions(&self, address: &Address, authorities: Option<&str>) -> Vec<Value> {
        let bundle = authorities.map(|pem| STANDARD.encode(pem));
        let name = |version: &str, plural: &str| format!("{plural}.{}", version.split('/').next().unwrap_or_default());
        let names: BTreeSet<_> = self.conversions.iter().map(|it| name(it.from, it.plural)).collect();
        let definition = |name: String| {
            let client = address.client_config(CONVERT, bundle.as_deref());
            let webhook = json!({ "clientConfig": client, "conversionReviewVersions": ["v1"] });
            let conversion = json!({ "strategy": "Webhook", "webhook": webhook });
            json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": { "name": name },
                "spec": { "conversion": conversion },
            })
        };
        names.into_iter().map(definition).collect()
    }
}

impl Hook {
    /// The name of the webhook, which has three parts at least: `validate.foos.example.com`, `mutate.pods.core`.
    pub(crate) fn name(&self) -> String {
        let group = self.resource.api_version.rsplit_once('/').map_or("core", |(group, _)| group);
        let mut parts = self.path.split('/').skip(1);
        let action = parts.next().unwrap_or_default();
        // Paths of the same resource end with a number.
        let number = self.path.rsplit('/').next().filter(|last| last.parse::<u32>().is_ok());
        let number = number.map(|number| format!("-{number}")).unwrap_or_default();
        format!("{action}{number}.{}.{group}", self.resource.plural)
    }
}

/// Whether the cluster needs objects of this group for its own pods.
fn is_of_kubernetes(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Pod {}
    #[derive(Serialize, Deserialize)]
    struct Old {}
    #[derive(Serialize, Deserialize)]
    struct New {}

    listwatch::kind!(Pod, "v1", "pods");
    listwatch::kind!(Old as "Foo", "example.com/v1", "foos");
    listwatch::kind!(cluster New as "Foo", "example.com/v2", "foos");

    impl From<Old> for New {
        fn from(_: Old) -> Self {
            Self {}
        }
    }

    impl From<New> for Old {
        fn from(_: New) -> Self {
            Self {}
        }
    }

    fn webhooks() -> Webhooks {
        Webhooks::new("sample")
            .mutates::<Pod>(|_| Ok(()))
            .validates::<New>(|_| Ok(()))
            .validates::<New>(|_| Ok(()))
            .validates_deletion::<New>(|_| Ok(()))
            .converts::<Old, New>()
    }

    #[test]
    fn each_function_has_a_name_and_a_path_of_its_own() {
        let hooks = webhooks().hooks;
        let named: Vec<_> = hooks.iter().map(|hook| (hook.name(), hook.path.as_str())).collect();
        let expected = [
            ("mutate.pods.core", "/mutate/v1/pods"),
            ("validate.foos.example.com", "/validate/example.com/v2/foos"),
            ("validate-2.foos.example.com", "/validate/example.com/v2/foos/2"),
            ("validate-deletion.foos.example.com", "/validate-deletion/example.com/v2/foos"),
        ];
        assert_eq!(named, expected.map(|(name, path)| (name.to_owned(), path)));
    }

    #[test]
    fn the_configuration_has_the_defaults_of_production() {
        let webhooks = webhooks().configured(|webhook| {
            if webhook["rules"][0]["operations"][0] == "DELETE" {
                webhook["failurePolicy"] = json!("Ignore");
            }
        });
        let manifests = webhooks.manifests(&Address::service("prod", "hooks"), Some("PEM"));
        let [validating, mutating, definition] = &manifests[..] else { panic!("{manifests:?}") };
        assert_eq!(validating["webhooks"][2]["failurePolicy"], "Ignore");
        let first = &validating["webhooks"][0];
        let rule = json!({
            "apiGroups": ["example.com"], "apiVersions": ["v2"], "operations": ["CREATE", "UPDATE"], "resources": ["foos"],
            "scope": "Cluster",
        });
        let service =
            json!({ "namespace": "prod", "name": "hooks", "port": 443, "path": "/validate/example.com/v2/foos" });
        let expected = json!({
            "name": "validate.foos.example.com", "rules": [rule],
            "clientConfig": { "service": service, "caBundle": "UEVN" },
            "failurePolicy": "Fail", "matchPolicy": "Equivalent", "sideEffects": "None", "timeoutSeconds": 5,
            "admissionReviewVersions": ["v1"],
        });
        assert_eq!(first, &expected);
        let values = &mutating["webhooks"][0]["namespaceSelector"]["matchExpressions"][0]["values"];
        assert_eq!(values, &json!(["kube-system", "prod"]));
        assert_eq!(definition["metadata"]["name"], "foos.example.com");
        assert_eq!(definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["path"], "/convert");
    }
}
