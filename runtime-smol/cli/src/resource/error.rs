//! Why a name leads to no resource.

use listwatch::api::ApiError;
use listwatch::http::ConfigError;
use listwatch::request::ParseResourceError;
use listwatch::text::Printable;
use std::fmt;

/// The characters of a server's text at the most.
pub(super) const SENTENCE: usize = 512;

/// Why a name leads to no resource that can be watched.
#[derive(Debug)]
pub(crate) enum ResourceError {
    NotAResource(ParseResourceError),
    /// There is no client for the server.
    Client(ConfigError),
    /// The server refuses discovery of these names.
    Undiscovered(String, ApiError),
    /// The server has no resource of this name. It may have resources with similar names, and groups that are
    /// unavailable.
    Unknown {
        name: String,
        similar: Vec<String>,
        unavailable: Vec<String>,
        /// The kind that the arguments have before the name.
        behind: Option<String>,
    },
    /// The server does not support `watch` for the resource.
    Unwatchable(String),
    /// The resource has no namespaces.
    NotNamespaced(String),
}

impl ResourceError {
    /// The error of a name that stands behind a kind.
    pub(super) fn behind(mut self, kind: Option<&str>) -> Self {
        if let Self::Unknown { behind, .. } = &mut self {
            *behind = kind.map(str::to_owned);
        }
        self
    }

    /// Whether the arguments are wrong for every cluster.
    pub(crate) fn is_wrong_usage(&self) -> bool {
        matches!(self, Self::NotAResource(_))
    }
}

impl fmt::Display for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAResource(error) => write!(f, "{error}; for one object, give for example deploy/web"),
            Self::Client(error) => error.fmt(f),
            Self::Undiscovered(name, error) => {
                write!(f, "cannot discover {name}: {}", Printable::new(error).at_most(SENTENCE))?;
                f.write_str("; to retry all the same, give --keep-trying; a name such as v1/pods needs no discovery")
            }
            Self::Unknown { name, similar, unavailable, behind } => {
                write!(f, "the server has no resource `{name}`")?;
                if !unavailable.is_empty() {
                    write!(
                        f,
                        ", unless a group has it that is unavailable now ({})",
                        Printable::new(unavailable.join(", ")).at_most(SENTENCE)
                    )?;
                }
                match (&similar[..], behind) {
                    ([], Some(kind)) => write!(f, " (for one object, give {kind}/{name})"),
                    ([], None) => f.write_str(" (`kubectl api-resources` lists its resources)"),
                    (names, _) => write!(f, " (did you mean {}?)", names.join(" or ")),
                }
            }
            Self::Unwatchable(name) => write!(f, "{name} cannot be watched: the server has no `watch` for it"),
            Self::NotNamespaced(name) => write!(f, "{name} have no namespace; leave out --namespace"),
        }
    }
}
