//! What a user may do, by the roles and the bindings of the cluster (`rbac.authorization.k8s.io`).

use super::refusal::Refusal;
use super::selector::required_labels;
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
enum Action<'a> {
    OnResource(Access<'a>),
    /// A verb on a path that is none of a resource.
    OnPath(String, &'a str),
}

/// What a request does with a resource.
struct Access<'a> {
    verb: &'static str,
    group: &'a str,
    resource: &'a str,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> Action<'a> {
    fn of(call: &'a Call<'_>, target: Option<&'a Target>) -> Option<Self> {
        match target {
            Some(target) => Access::of(call, target).map(Self::OnResource),
            None => Some(Self::OnPath(call.method.to_lowercase(), call.path())),
        }
    }

    fn namespace(&self) -> &'a str {
        match self {
            Self::OnResource(access) => access.namespace,
            Self::OnPath(..) => "",
        }
    }

    fn is_allowed_by(&self, rule: &Value) -> bool {
        match self {
            Self::OnResource(access) => access.is_allowed_by(rule),
            Self::OnPath(verb, path) => {
                let has_verb = texts(&rule["verbs"]).any(|known| known == "*" || known == verb);
                has_verb && texts(&rule["nonResourceURLs"]).any(|url| is_covered(path, url))
            }
        }
    }
}

/// Whether a rule for a path, which may end with `*`, is one for this path.
fn is_covered(path: &str, url: &str) -> bool {
    path == url || url.ends_with('*') && path.starts_with(url.trim_end_matches('*'))
}

impl<'a> Access<'a> {
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
    /// A user, with the group of those that have said their name, or of those that have not. A service account has the groups
    /// of its namespace.
    pub(super) fn new(name: &str, groups: &[&str]) -> Self {
        let mut groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        let has = |group: &str| groups.iter().any(|known| known == group);
        let is_known = name != ANONYMOUS && !has(UNAUTHENTICATED);
        groups.push(if is_known { AUTHENTICATED } else { UNAUTHENTICATED }.to_owned());
        let account = name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
        if let Some((namespace, _)) = account {
            groups.push("system:serviceaccounts".to_owned());
            groups.push(format!("system:serviceaccounts:{namespace}"));
        }
        Self { name: name.to_owned(), groups }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The refusal of a request that no role allows.
    pub(super) fn refusal(&self, store: &Store, call: &Call<'_>) -> Option<Refusal> {
        let target = Target::parse(call.target);
        let action = Action::of(call, target.as_ref())?;
        if self.is_in("system:masters") || self.is_public(&action) {
            return None;
        }
        let mut missing = Vec::new();
        let bindings = self.bindings(store, action.namespace());
        let is_allowed = bindings.iter().any(|(binding, namespace)| {
            rules(store, binding, namespace, &mut missing).iter().any(|rule| action.is_allowed_by(rule))
        });
        (!is_allowed).then(|| self.forbidden(&action, &missing))
    }

    fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|known| known == group)
    }

    /// Whether every cluster lets its users do this: they ask which versions there are, and whether the server is well.
    fn is_public(&self, action: &Action<'_>) -> bool {
        let Action::OnPath(verb, path) = action else { return false };
        let is_shown =
            PUBLIC.contains(path) || self.is_in(AUTHENTICATED) && DISCOVERY.iter().any(|it| is_covered(path, it));
        verb == "get" && is_shown
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
                Some("Group") => self.is_in(&name),
                Some("ServiceAccount") => {
                    let own = subject["namespace"].as_str().filter(|own| !own.is_empty()).unwrap_or(namespace);
                    format!("system:serviceaccount:{own}:{name}") == self.name
                }
                _ => false,
            }
        })
    }

    fn forbidden(&self, action: &Action<'_>, missing: &[String]) -> Refusal {
        let why = match missing {
            [] => String::new(),
            [role] => format!(": RBAC: {role}"),
            roles => format!(": RBAC: [{}]", roles.join(", ")),
        };
        let user = &self.name;
        let access = match action {
            Action::OnResource(access) => access,
            Action::OnPath(verb, path) => {
                let message = format!("forbidden: User {user:?} cannot {verb} path {path:?}{why}");
                return Refusal::new(403, "Forbidden", message).with_details(json!({}));
            }
        };
        let Access { verb, group, resource, namespace, name, .. } = *access;
        let scope = match namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {namespace:?}"),
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
        let part = access.part();
        let message = format!(
            "{qualified} is forbidden: User {user:?} cannot {verb} resource {part:?} in API group {group:?} {scope}{why}"
        );
        Refusal::new(403, "Forbidden", message).with_details(details)
    }
}

const ANONYMOUS: &str = "system:anonymous";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// The paths that the role `system:public-info-viewer` shows.
const PUBLIC: [&str; 5] = ["/livez", "/readyz", "/healthz", "/version", "/version/"];

/// The paths that `system:discovery` shows beside them.
const DISCOVERY: [&str; 6] = ["/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*"];

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
    let mut known = vec![name];
    rules_of(store, role, &mut known)
}

/// The rules of a role. One that is aggregated has those of the roles that it selects, and none of its own.
fn rules_of<'s>(store: &'s Store, role: &'s Value, known: &mut Vec<&'s str>) -> Vec<Value> {
    let Some(selectors) = role["aggregationRule"]["clusterRoleSelectors"].as_array() else {
        return role["rules"].as_array().cloned().unwrap_or_default();
    };
    let mut rules = Vec::new();
    for (name, other) in store.collection(CLUSTER_ROLES).objects() {
        let is_selected = selectors.iter().any(|selector| is_selected(selector, other));
        if is_selected && !known.contains(&name.as_str()) {
            known.push(name);
            rules.extend(rules_of(store, other, known));
        }
    }
    rules
}

/// Whether a role has the labels of a selector. An empty one selects every role.
fn is_selected(selector: &Value, role: &Value) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    let expressions = expressions.map(|expression| {
        let (name, values) = (text(&expression["key"]), texts(&expression["values"]).collect::<Vec<_>>().join(","));
        match expression["operator"].as_str() {
            Some("In") => format!("{name} in ({values})"),
            Some("NotIn") => format!("{name} notin ({values})"),
            Some("Exists") => name,
            Some("DoesNotExist") => format!("!{name}"),
            _ => format!("{name} in"),
        }
    });
    let wanted: Vec<String> = required_labels(&selector["matchLabels"]).chain(expressions).collect();
    let label = |name: &str| role["metadata"]["labels"].get(name).and_then(Value::as_str);
    LabelSelector::parse(&wanted.join(",")).is_ok_and(|selector| selector.matches(label))
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}
