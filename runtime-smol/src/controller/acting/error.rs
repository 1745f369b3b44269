use crate::informers::Found;
use core::fmt;
use listwatch_core::Key;
use listwatch_core::api::ApiError;
use listwatch_core::change::ChangeError;
use listwatch_core::request::is_confidential;
use listwatch_core::text::Printable;

/// The reason why a [`Context`](crate::controller::Context) did not act on an object. Unless it is [`Self::Api`], no
/// request was sent that changes anything.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ActError {
    /// The server refused the request, or did not answer.
    Api {
        /// The object.
        key: Key,
        /// The server's refusal, or what happened to the request.
        error: ApiError,
    },
    /// The change is one that the object's type cannot express without a loss.
    Change {
        /// The object.
        key: Key,
        /// The place in the object, and what to do.
        error: ChangeError,
    },
    /// The body or the owner does not fit the object. The text says why.
    Refused {
        /// The object.
        key: Key,
        /// The reason, and what to do.
        why: String,
    },
    /// The object exists, and the owner that was named does not control it (`ErrResourceExists` of client-go's sample
    /// controller).
    NotControlled {
        /// The object.
        key: Key,
        /// The kind of the object, or the path of its resource.
        kind: String,
        /// The owner that was named, such as `Foo web/a`.
        owner: String,
        /// The object that controls it, such as `Foo b`; `None` if none does.
        controller: Option<String>,
    },
    /// The owner is being deleted, so the garbage collector would delete what is created for it.
    OwnerTerminating {
        /// The object.
        key: Key,
        /// The owner, such as `Foo web/a`.
        owner: String,
    },
    /// The object was deleted, and another one has its name now.
    Replaced {
        /// The object.
        key: Key,
    },
}

impl ActError {
    /// The change of this object was refused.
    pub(super) fn of_change<T>(object: &Found<T>, error: ChangeError) -> Self {
        let is_secret = is_confidential(object.informer().resource().path());
        let error = if is_secret { error.without_values() } else { error };
        Self::Change { key: object.key().clone(), error }
    }

    pub(super) fn of_request(key: &Key, error: ApiError) -> Self {
        Self::Api { key: key.clone(), error }
    }

    pub(super) fn refused(key: &Key, why: impl Into<String>) -> Self {
        Self::Refused { key: key.clone(), why: why.into() }
    }

    /// The object.
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Api { key, .. }
            | Self::Change { key, .. }
            | Self::Refused { key, .. }
            | Self::NotControlled { key, .. }
            | Self::OwnerTerminating { key, .. }
            | Self::Replaced { key } => key,
        }
    }

    /// The error of the request, if there was one.
    #[must_use]
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Whether the object to create exists (409 `AlreadyExists`).
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.api().is_some_and(ApiError::is_already_exists)
    }

    /// Whether the server has another version of the object (409 `Conflict`).
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.api().is_some_and(ApiError::is_conflict)
    }

    /// Whether the server has no such object (404).
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.api().is_some_and(ApiError::is_not_found)
    }
}

impl fmt::Display for ActError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", Printable::new(self.key().as_str()))?;
        match self {
            Self::Api { error, .. } => error.fmt(f),
            Self::Change { error, .. } => error.fmt(f),
            Self::Refused { why, .. } => Printable::new(why).fmt(f),
            Self::NotControlled { kind, owner, controller, .. } => {
                let (kind, owner) = (Printable::new(kind), Printable::new(owner));
                f.write_str("ErrResourceExists: ")?;
                match controller {
                    Some(other) => write!(f, "{} controls the {kind}, and {owner} does not", Printable::new(other)),
                    None => write!(f, "no object controls the {kind}; adopt it for {owner}, or choose another name"),
                }
            }
            Self::OwnerTerminating { owner, .. } => {
                write!(f, "{} is being deleted, and nothing is created for it any more", Printable::new(owner))
            }
            Self::Replaced { .. } => f.write_str("the object was deleted, and another one has its name"),
        }
    }
}

impl core::error::Error for ActError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Api { error, .. } => Some(error),
            Self::Change { error, .. } => Some(error),
            Self::Refused { .. }
            | Self::NotControlled { .. }
            | Self::OwnerTerminating { .. }
            | Self::Replaced { .. } => None,
        }
    }
}
