//! What a user may do, by the roles and the bindings of the cluster (`rbac.authorization.k8s.io`).

use super::refusal::Refusal;
use super::server::Call;
use super::store::{Store, key};
use super::target::Target;
use listwatch_core::object::LabelSelector;
use serde_json::{Value, json};
use std::sync::Arc;

/// A user, whose requests are refused unless a role allows them.
#[derive(Debug)]
pub(super) struct User {
    name: String,
    groups: Vec<String>,
}

/// What a request does, as rules have it.
struct Action<'a> {
    verb: &'static str,
    group: &'a str,
    resource: &'a str,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> Action<'a> {
    fn of(call: &Call<'_>, target: &'a Target) -> Option<Self> {
        let verb = match (call.method, target.name.is_empty()) {
            ("GET", false) => "get",
            ("GET", true) if target.flag("watch") => "watch",
            ("GET", true) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", false) => "delete",
            ("DELETE", true) => "deletecollection",
            _ => return None,
        };
        let (version, resource) = target.collection.rsplit_once('/')?;
        // A namespace is in itself.
        let namespace = if target.collection == "v1/namespaces" { &target.name } else { &target.namespace };
        // A list or a watch of one object has its name.
        let name = if call.method == "GET" && target.name.is_empty() { selected(target) } else { &target.name };
        let group = version.split_once('/').map_or("", |(group, _)| group);
        Some(Self { verb, group, resource, subresource: &target.subresource, namespace, name })
    }

    /// The resource with its part, such as `pods/status`.
    fn part(&self) -> String {
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", self.resource, self.subresource)
    }

    fn is_allowed_by(&self, rule: &Value) -> bool {
        let part = self.part();
        let any_of_part = format!("*/{}", self.subresource);
        let has = |field: &str, wanted: &[&str]| texts(&rule[field]).any(|text| text == "*" || wanted.contains(&text));
        let resources = [part.as_str(), any_of_part.as_str()];
        let resources = if self.subresource.is_empty() { &resources[..1] } else { &resources };
        let mut names = texts(&rule["resourceNames"]).peekable();
        has("verbs", &[self.verb])
            && has("apiGroups", &[self.group])
            && has("resources", resources)
            && (names.peek().is_none() || names.any(|name| name == self.name))
    }
}

/// The name that a field selector asks for; empty for none.
fn selected(target: &Target) -> &str {
    let selectors = target.parameter("fieldSelector").unwrap_or_default().split(',');
    let mut names = selectors.filter_map(|it| it.strip_prefix("metadata.name="));
    names.next().map_or("", |name| name.trim_start_matches('='))
}

impl User {
    /// A user that has said its name. A service account has the groups of its namespace.
    pub(super) fn new(name: &str, groups: &[&str]) -> Self {
        let mut groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        groups.push("system:authenticated".to_owned());
        let account = name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
        if let Some((namespace, _)) = account {
            groups.push("system:serviceaccounts".to_owned());
            groups.push(format!("system:serviceaccounts:{namespace}"));
        }
        Self { name: name.to_owned(), groups }
    }

    /// The refusal of a request that no role allows.
    pub(super) fn refusal(&self, store: &Store, call: &Call<'_>) -> Option<Refusal> {
        let target = Target::parse(call.target)?;
        let action = Action::of(call, &target)?;
        if self.groups.iter().any(|group| group == "system:masters") {
            return None;
        }
        let mut missing = Vec::new();
        let bindings = self.bindings(store, action.namespace);
        let is_allowed = bindings.iter().any(|(binding, namespace)| {
            rules(store, binding, namespace, &mut missing).iter().any(|rule| action.is_allowed_by(rule))
        });
        (!is_allowed).then(|| self.forbidden(&action, &missing))
    }

    /// The bindings that name the user, with their namespaces.
    fn bindings(&self, store: &Store, namespace: &str) -> Vec<(Arc<Value>, String)> {
        let all = |collection: &str| store.collection(collection).objects().values().cloned().collect::<Vec<_>>();
        let wide = all(CLUSTER_BINDINGS).into_iter().map(|binding| (binding, String::new()));
        let is_here = |binding: &Arc<Value>| !namespace.is_empty() && binding["metadata"]["namespace"] == namespace;
        let here = all(BINDINGS).into_iter().filter(is_here).map(|binding| (binding, namespace.to_owned()));
        wide.chain(here).filter(|(binding, namespace)| self.is_named_by(binding, namespace)).collect()
    }

    fn is_named_by(&self, binding: &Value, namespace: &str) -> bool {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        binding["subjects"].as_array().into_iter().flatten().any(|subject| {
            let name = text(&subject["name"]);
            match subject["kind"].as_str() {
                Some("User") => name == self.name,
                Some("Group") => self.groups.contains(&name),
                Some("ServiceAccount") => {
                    let own = subject["namespace"].as_str().filter(|own| !own.is_empty()).unwrap_or(namespace);
                    format!("system:serviceaccount:{own}:{name}") == self.name
                }
                _ => false,
            }
        })
    }

    fn forbidden(&self, action: &Action<'_>, missing: &[String]) -> Refusal {
        let Action { verb, group, resource, namespace, name, .. } = *action;
        let scope = match namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {namespace:?}"),
        };
        let why = match missing {
            [] => String::new(),
            [role] => format!(": RBAC: {role}"),
            roles => format!(": RBAC: [{}]", roles.join(", ")),
        };
        let mut qualified = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
        let mut details = json!({ "kind": resource });
        if !group.is_empty() {
            details["group"] = json!(group);
        }
        if !name.is_empty() {
            qualified = format!("{qualified} {name:?}");
            details["name"] = json!(name);
        }
        let (user, part) = (&self.name, action.part());
        let message = format!(
            "{qualified} is forbidden: User {user:?} cannot {verb} resource {part:?} in API group {group:?} {scope}{why}"
        );
        Refusal::new(403, "Forbidden", message).with_details(details)
    }
}

const BINDINGS: &str = "rbac.authorization.k8s.io/v1/rolebindings";
const CLUSTER_BINDINGS: &str = "rbac.authorization.k8s.io/v1/clusterrolebindings";
const ROLES: &str = "rbac.authorization.k8s.io/v1/roles";
const CLUSTER_ROLES: &str = "rbac.authorization.k8s.io/v1/clusterroles";

/// The rules of the role that a binding names. Without it, `missing` is told.
fn rules(store: &Store, binding: &Value, namespace: &str, missing: &mut Vec<String>) -> Vec<Value> {
    let name = binding["roleRef"]["name"].as_str().unwrap_or_default();
    let (collection, kind, role) = match binding["roleRef"]["kind"].as_str() {
        Some("Role") => (ROLES, "role", key(namespace, name)),
        _ => (CLUSTER_ROLES, "clusterrole", name.to_owned()),
    };
    let Some(role) = store.object(collection, &role) else {
        let why = format!("{kind}.rbac.authorization.k8s.io {name:?} not found");
        if !missing.contains(&why) {
            missing.push(why);
        }
        return Vec::new();
    };
    let mut rules: Vec<Value> = role["rules"].as_array().into_iter().flatten().cloned().collect();
    for selector in role["aggregationRule"]["clusterRoleSelectors"].as_array().into_iter().flatten() {
        let others = store.collection(CLUSTER_ROLES).objects().values().filter(|other| is_selected(selector, other));
        rules.extend(others.flat_map(|other| other["rules"].as_array().into_iter().flatten().cloned()));
    }
    rules
}

/// Whether a role has the labels of a selector.
fn is_selected(selector: &Value, role: &Value) -> bool {
    let wanted = selector["matchLabels"].as_object().into_iter().flatten();
    let wanted: Vec<String> =
        wanted.map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default())).collect();
    let label = |name: &str| role["metadata"]["labels"].get(name).and_then(Value::as_str);
    !wanted.is_empty() && LabelSelector::parse(&wanted.join(",")).is_ok_and(|selector| selector.matches(label))
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}
