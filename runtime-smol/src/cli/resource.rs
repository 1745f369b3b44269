//! Which resource a name means.

use crate::arguments::{FollowOptions, Kind};
use crate::asking::Asking;
use crate::error::CommandError;
use listwatch_runtime_smol::Resource;
use listwatch_runtime_smol::api::{ApiError, ApiResource, Discovery};
use listwatch_runtime_smol::http::{Cluster, HttpClient};
use listwatch_runtime_smol::request::ParseResourceError;
use listwatch_runtime_smol::text::Printable;
use std::fmt;
use strsim::levenshtein;

/// How many characters are told of a name that a server has, and of all that it says of an error.
const NAME: usize = 256;
pub(crate) const SENTENCE: usize = 512;

/// Why a name means nothing that can be followed.
#[derive(Debug)]
pub(crate) enum ResourceError {
    NotAResource(ParseResourceError),
    /// The server does not say what it has.
    Undiscovered(String, ApiError),
    /// The server has nothing of this name, but perhaps of similar ones; and what it could not look at.
    Unknown {
        name: String,
        similar: Vec<String>,
        unavailable: Vec<String>,
    },
    /// It has it, but cannot tell how it changes.
    Unwatchable(String),
    /// It is in no namespace.
    NotNamespaced(String),
}

/// The resource that the options ask for. A name with a slash says all; of others, the server is asked.
///
/// # Errors
/// Where there is no such resource, or nobody to ask.
pub(crate) async fn resource(
    cluster: &Cluster,
    options: &FollowOptions,
    asking: &Asking<'_>,
) -> Result<Resource, CommandError> {
    let found = match options.resource.contains('/') {
        true => Resource::named(&options.resource).map_err(ResourceError::NotAResource)?,
        false => {
            let asked = Asked(cluster.client()?);
            loop {
                match found(options, &asking.discover(asked.0.clone()).await?) {
                    Err(missing @ ResourceError::Unknown { .. }) => asking.on_missing(missing).await?,
                    found => break found?,
                }
            }
        }
    };
    let resource = found
        .in_namespace(options.namespace().unwrap_or_default())
        .with_label_selector(options.labels.as_deref().unwrap_or_default())
        .with_field_selector(options.fields.as_deref().unwrap_or_default());
    Ok(if options.kind == Kind::Meta { resource.metadata_only() } else { resource })
}

/// A client that nobody waits for any more when this is gone.
struct Asked(HttpClient);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn found(options: &FollowOptions, discovery: &Discovery) -> Result<Resource, ResourceError> {
    let name = options.resource.clone();
    let Some(kind) = discovery.find(&name) else {
        let (similar, unavailable) = (similar(&name, discovery.kinds()), discovery.unavailable());
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

/// What was perhaps meant: names with a few other letters.
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

impl fmt::Display for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAResource(error) => error.fmt(f),
            Self::Undiscovered(name, error) => {
                write!(
                    f,
                    "cannot ask the server what `{name}` is: {} (with --keep-trying, this would not be the end)",
                    Printable::new(error).at_most(SENTENCE)
                )?;
                f.write_str("; a name such as v1/pods needs no asking")
            }
            Self::Unknown { name, similar, unavailable } => {
                write!(f, "the server has no resource `{name}`")?;
                if !unavailable.is_empty() {
                    write!(
                        f,
                        ", unless in what it cannot look at now ({})",
                        Printable::new(unavailable.join(", ")).at_most(SENTENCE)
                    )?;
                }
                match &similar[..] {
                    [] => f.write_str("; `kubectl api-resources` lists what it has"),
                    names => write!(f, "; is {} meant?", names.join(" or ")),
                }
            }
            Self::Unwatchable(name) => write!(f, "{name} cannot be watched: the server does not tell its changes"),
            Self::NotNamespaced(name) => write!(f, "{name} are in no namespace; leave out --namespace"),
        }
    }
}
