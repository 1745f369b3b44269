//! From the name of a resource to its path.

mod discovery;
mod error;

pub(crate) use discovery::Discoverer;
pub(crate) use error::ResourceError;

use crate::arguments::{FollowOptions, Kind};
use listwatch_runtime_smol::Resource;
use listwatch_runtime_smol::api::{ApiResource, Discovery};
use listwatch_runtime_smol::http::{Cluster, HttpClient};
use listwatch_runtime_smol::text::Printable;
use strsim::levenshtein;

/// The characters of a server's resource name at the most.
const NAME: usize = 256;

/// The resource that the options name. A name with a slash is a path; other names need discovery.
///
/// # Errors
/// There is no such resource, or the server refuses discovery.
pub(crate) async fn resource(
    cluster: &Cluster,
    options: &FollowOptions,
    discoverer: &Discoverer<'_>,
) -> Result<Resource, ResourceError> {
    let found = match options.resource.contains('/') {
        true => Resource::named(&options.resource).map_err(ResourceError::NotAResource)?,
        false => discovered(cluster, options, discoverer).await?,
    };
    let resource = found
        .in_namespace(options.namespace().unwrap_or_default())
        .with_label_selector(options.labels.as_deref().unwrap_or_default())
        .with_field_selector(options.fields.as_deref().unwrap_or_default());
    Ok(if options.kind == Kind::Meta { resource.metadata_only() } else { resource })
}

async fn discovered(
    cluster: &Cluster,
    options: &FollowOptions,
    discoverer: &Discoverer<'_>,
) -> Result<Resource, ResourceError> {
    let client = HangUp(cluster.client().map_err(ResourceError::Client)?);
    loop {
        match find(options, &discoverer.discover(client.0.clone()).await?) {
            Err(missing @ ResourceError::Unknown { .. }) => discoverer.wait_for_missing(missing).await?,
            found => return found,
        }
    }
}

/// A client that gives its requests up when it is dropped.
struct HangUp(HttpClient);

impl Drop for HangUp {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn find(options: &FollowOptions, discovery: &Discovery) -> Result<Resource, ResourceError> {
    let name = options.resource.clone();
    let Some(kind) = discovery.find(&name) else {
        let (similar, unavailable) = (similar(&name, discovery.resources()), discovery.unavailable());
        let unavailable = unavailable.iter().map(|(path, _)| path.clone()).collect();
        return Err(ResourceError::Unknown { name, similar, unavailable });
    };
    if !kind.verbs.iter().any(|verb| verb == "watch") {
        return Err(ResourceError::Unwatchable(full_name(kind)));
    }
    if options.namespace().is_some() && !kind.namespaced {
        return Err(ResourceError::NotNamespaced(full_name(kind)));
    }
    Ok(kind.resource())
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
