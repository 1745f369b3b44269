//! From the name of a resource to its path.

mod discovery;
mod error;

pub(crate) use discovery::Discoverer;
pub(crate) use error::ResourceError;

use crate::arguments::{FollowOptions, Kind, Scope};
use listwatch::Resource;
use listwatch::api::{ApiResource, Discovery};
use listwatch::http::{Cluster, HttpClient};
use listwatch::testing::{ServedKind, SimulatedCluster};
use listwatch::text::Printable;
use std::sync::Arc;
use strsim::levenshtein;

/// The characters of a server's resource name at the most.
const NAME: usize = 256;

/// A resource that the options name.
#[derive(PartialEq)]
pub(crate) struct Named {
    /// The name that was typed.
    pub(crate) name: String,
    pub(crate) resource: Resource,
}

/// The resources that the options name, each once.
///
/// # Errors
/// There is no such resource, or the server refuses discovery.
pub(crate) async fn resources(
    cluster: &Cluster,
    options: &FollowOptions,
    discoverer: &Discoverer<'_>,
) -> Result<Vec<Named>, ResourceError> {
    let wanted = options.resources.iter().map(|name| Wanted::read(name)).collect::<Result<Vec<_>, _>>()?;
    let scope = options.scope(cluster.configured_namespace());
    let discovered = match wanted.iter().any(|wanted| wanted.needs_discovery(scope)) {
        true => discovered(cluster, scope, &wanted, discoverer).await?,
        false => Vec::new(),
    };
    let mut discovered = discovered.into_iter();
    let mut resources: Vec<Named> = Vec::new();
    for wanted in wanted {
        let given = |collection| Found { collection, namespace: scope.namespace() };
        let found = match wanted.needs_discovery(scope) {
            true => discovered.next(),
            false => wanted.collection.clone().map(given),
        };
        let Some(found) = found else { continue };
        let resource = selected(found, options, &wanted);
        if !resources.iter().any(|known| known.resource == resource) {
            resources.push(Named { name: wanted.name.to_owned(), resource });
        }
    }
    Ok(resources)
}

/// The resource that kubectl calls so, without a server: `v1/pods`, or a name or a short name of a kind of Kubernetes.
pub(crate) fn resource_of(name: &str) -> Option<Resource> {
    let kinds = SimulatedCluster::new().kinds();
    let is_meant = |kind: &&Arc<ServedKind>| {
        let group = kind.group();
        let is_called = |plural: &str| name == plural || (!group.is_empty() && name == format!("{plural}.{group}"));
        is_called(&kind.plural) || is_called(&kind.kind.to_lowercase()) || kind.short_names().contains(&name)
    };
    let parsed = || Resource::named(name).ok();
    parsed().or_else(|| kinds.iter().find(is_meant).and_then(|kind| Resource::named(&kind.name()).ok()))
}

/// The resource that a name means now. `None` if the server does not tell, or the name itself has the version.
pub(crate) async fn found_anew(cluster: &Cluster, options: &FollowOptions, name: &str) -> Option<Resource> {
    let wanted = Wanted::read(name).ok().filter(|wanted| wanted.collection.is_none())?;
    let client = HangUp(cluster.client().ok()?);
    let discovery = discovery::discovered_once(client.0.clone()).await?;
    let scope = options.scope(cluster.configured_namespace());
    Some(selected(find(wanted.kind, scope, &discovery).ok()?, options, &wanted))
}

/// The error of a name in full, with its version, that the server does not know. `None` if it knows the name, or does not
/// tell.
pub(crate) async fn unknown(cluster: &Cluster, name: &str) -> Option<ResourceError> {
    let wanted = Wanted::read(name).ok()?;
    let (collection, plural) = (wanted.collection?, name.rsplit('/').next()?);
    let client = HangUp(cluster.client().ok()?);
    let discovery = discovery::discovered_once(client.0.clone()).await?;
    if discovery.resources().is_empty() {
        return None;
    }
    let is_known = discovery.resources().iter().any(|kind| kind.resource() == collection);
    (!is_known).then(|| not_found(name, plural, &discovery))
}

/// The parts of a name that was typed.
struct Wanted<'a> {
    name: &'a str,
    /// The name without the one object's.
    kind: &'a str,
    object: Option<&'a str>,
    /// The collection, if its name needs no discovery.
    collection: Option<Resource>,
}

impl<'a> Wanted<'a> {
    /// Reads a path (`v1/pods`), a name that needs discovery (`pods`), or such a name with an object's (`pods/web`).
    fn read(name: &'a str) -> Result<Self, ResourceError> {
        let wanted = |kind, object, collection| Self { name, kind, object, collection };
        match (Resource::named(name), name.split_once('/')) {
            (Ok(collection), _) => Ok(wanted(name, None, Some(collection))),
            (_, None) => Ok(wanted(name, None, None)),
            (_, Some((kind, object))) if is_kind(kind) && is_object(object) => Ok(wanted(kind, Some(object), None)),
            (Err(error), _) => Err(ResourceError::NotAResource(error)),
        }
    }

    /// Discovery tells whether the context's namespace is meant for it.
    fn needs_discovery(&self, scope: Scope<'_>) -> bool {
        self.collection.is_none() || matches!(scope, Scope::OfContext(_))
    }
}

/// A collection, and the namespace that is wanted of it.
struct Found<'a> {
    collection: Resource,
    namespace: Option<&'a str>,
}

/// Whether this is no version, so that an object's name may follow.
fn is_kind(name: &str) -> bool {
    let is_version = Resource::named(&format!("{name}/x")).is_ok();
    !name.is_empty() && !is_version
}

/// Whether this may be the name of an object: one segment of a path.
fn is_object(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '%'])
}

/// The objects of a collection that the options, and the name of one object, select.
fn selected(found: Found<'_>, options: &FollowOptions, wanted: &Wanted<'_>) -> Resource {
    let object = wanted.object.map(|name| format!("metadata.name={}", escaped(name)));
    let fields: Vec<&str> = options.fields.iter().chain(&object).map(String::as_str).collect();
    let resource = found
        .collection
        .in_namespace(found.namespace.unwrap_or_default())
        .with_label_selector(options.labels.as_deref().unwrap_or_default())
        .with_field_selector(&fields.join(","));
    if options.kind == Kind::Meta { resource.metadata_only() } else { resource }
}

/// The value of a field selector (`fields.EscapeValue`).
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=")
}

/// The collections of the names that need discovery, in their order.
async fn discovered<'a>(
    cluster: &Cluster,
    scope: Scope<'a>,
    wanted: &[Wanted<'_>],
    discoverer: &Discoverer<'_>,
) -> Result<Vec<Found<'a>>, ResourceError> {
    let client = HangUp(cluster.client().map_err(ResourceError::Client)?);
    let unknown = || wanted.iter().enumerate().filter(|(_, wanted)| wanted.needs_discovery(scope));
    loop {
        let discovery = discoverer.discover(client.0.clone()).await?;
        let found = unknown().map(|(index, name)| {
            let found = match &name.collection {
                Some(collection) => Ok(placed(collection, scope, &discovery)),
                None => find(name.kind, scope, &discovery),
            };
            found.map_err(|error| error.behind(kind_before(wanted, index)))
        });
        match found.collect() {
            Err(missing @ ResourceError::Unknown { .. }) => discoverer.wait_for_missing(missing).await?,
            found => return found,
        }
    }
}

/// The kind before a name, which may be meant as the name of an object: `pods web`.
fn kind_before<'a>(wanted: &[Wanted<'a>], index: usize) -> Option<&'a str> {
    let before = wanted[..index].last()?;
    (before.object.is_none() && before.collection.is_none()).then_some(before.kind)
}

/// A client that gives its requests up when it is dropped.
struct HangUp(HttpClient);

impl Drop for HangUp {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A collection that was given by its path. One that discovery does not know is asked for as it is.
fn placed<'a>(collection: &Resource, scope: Scope<'a>, discovery: &Discovery) -> Found<'a> {
    let is_namespaced = discovery.resources().iter().any(|kind| kind.namespaced && kind.resource() == *collection);
    Found { collection: collection.clone(), namespace: scope.namespace().filter(|_| is_namespaced) }
}

fn find<'a>(name: &str, scope: Scope<'a>, discovery: &Discovery) -> Result<Found<'a>, ResourceError> {
    let Some(kind) = discovery.find(name) else { return Err(not_found(name, name, discovery)) };
    if !kind.verbs.iter().any(|verb| verb == "watch") {
        return Err(ResourceError::Unwatchable(full_name(kind)));
    }
    match scope {
        Scope::Given(_) if !kind.namespaced => Err(ResourceError::NotNamespaced(full_name(kind))),
        _ => Ok(Found { collection: kind.resource(), namespace: scope.namespace().filter(|_| kind.namespaced) }),
    }
}

/// The error of a name, with the resources whose names are near to this one.
fn not_found(name: &str, near: &str, discovery: &Discovery) -> ResourceError {
    let unavailable = discovery.unavailable().iter().map(|(path, _)| path.clone()).collect();
    let similar = similar(near, discovery.resources());
    ResourceError::Unknown { name: name.to_owned(), similar, unavailable, behind: None }
}

fn full_name(kind: &ApiResource) -> String {
    let ApiResource { group, version, plural, .. } = kind;
    if group.is_empty() { format!("{version}/{plural}") } else { format!("{group}/{version}/{plural}") }
}

/// The resources whose names differ in a few letters.
fn similar(name: &str, kinds: &[ApiResource]) -> Vec<String> {
    const SHOWN: usize = 3;
    let (name, _group) = name.split_once('.').unwrap_or((name, ""));
    let name = name.to_lowercase();
    let distance = |kind: &ApiResource| levenshtein(&name, &kind.plural).min(levenshtein(&name, &kind.singular));
    let mut near: Vec<_> = kinds.iter().map(|kind| (distance(kind), kind)).collect();
    near.retain(|(distance, _)| *distance <= 1 + name.chars().count() / 5);
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(SHOWN).map(|(_, kind)| Printable::new(full_name(kind)).at_most(NAME).to_string()).collect()
}
