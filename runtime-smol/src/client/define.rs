//! Definitions that are applied and awaited.

use super::Client;
use core::fmt;
use core::time::Duration;
use listwatch_core::Resource;
use listwatch_core::api::{Api, ApiError, Patch};
use listwatch_core::definition::{Definition, DefinitionError};
use listwatch_core::queue::Outcome;
use listwatch_core::text::Printable;
use serde_json::Value;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// So long a definition may take until its objects are served.
const WITHIN: Duration = Duration::from_secs(60);
/// The waits between two looks.
const WAITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// The reason why a definition does not serve its objects.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DefineError {
    /// The definition is wrong, and was not sent.
    Wrong(DefinitionError),
    /// The server refused a request, or did not answer.
    Api {
        /// The name of the definition.
        name: String,
        /// The refusal.
        error: ApiError,
    },
    /// The definition was applied, and its objects are not served after a minute.
    NotEstablished {
        /// The name of the definition.
        name: String,
        /// What the server says, such as `NamesAccepted is False: "fo" is already in use`.
        why: String,
    },
}

/// What is to be done, in this order.
#[derive(Clone, Copy)]
enum Step {
    Apply,
    Establish,
    Serve,
}

impl Client {
    /// Applies a definition, and waits until its names are accepted and the server lists its objects.
    ///
    /// It is a server-side apply that takes the fields of other managers, so it changes a definition that `kubectl apply`
    /// made. A request that fails in passing is repeated within a minute.
    ///
    /// # Errors
    /// [`DefineError`]. Nothing is sent of a definition that is [wrong](Definition::check).
    pub async fn define(&self, definition: &Definition) -> Result<(), DefineError> {
        self.define_as("listwatch", definition).await
    }

    /// The same under the name of this field manager.
    pub(crate) async fn define_as(&self, manager: &str, definition: &Definition) -> Result<(), DefineError> {
        definition.check().map_err(DefineError::Wrong)?;
        let (until, (mut wait, longest)) = (self.clock.now() + WITHIN, WAITS);
        let name = || definition.name().to_owned();
        for step in [Step::Apply, Step::Establish, Step::Serve] {
            loop {
                let late = match self.step(step, manager, definition).await {
                    Ok(None) => break,
                    Ok(Some(why)) => DefineError::NotEstablished { name: name(), why },
                    Err(error) => {
                        let passes = matches!(Outcome::from(&error), Outcome::Transient(_));
                        let failed = DefineError::Api { name: name(), error };
                        if passes { failed } else { return Err(failed) }
                    }
                };
                if self.clock.now() + wait > until {
                    return Err(late);
                }
                self.clock.sleep(wait).await;
                wait = (wait * 2).min(longest);
            }
        }
        Ok(())
    }

    /// Takes a step. Returns why it is not done yet.
    async fn step(&self, step: Step, manager: &str, definition: &Definition) -> Result<Option<String>, ApiError> {
        let definitions = Api::<Value>::new(&Resource::new(DEFINITIONS));
        match step {
            Step::Apply => {
                let patch = Patch::Apply { manager, force: true, object: definition };
                self.call(definitions.patch(definition.name(), &patch)).await?;
                Ok(None)
            }
            Step::Establish => Ok(unestablished(&self.call(definitions.get(definition.name())).await?)),
            Step::Serve => {
                for path in definition.served_paths() {
                    let objects = Api::<Value>::new(&Resource::new(&path));
                    match self.call(objects.list().with_query("limit", "1")).await {
                        Err(error) if error.is_not_found() => return Ok(Some(format!("{path} is not served"))),
                        Err(error) if matches!(Outcome::from(&error), Outcome::Transient(_)) => return Err(error),
                        // Also where objects may not be listed.
                        _ => {}
                    }
                }
                Ok(None)
            }
        }
    }
}

/// Why a definition is not established, if it is not.
fn unestablished(definition: &Value) -> Option<String> {
    let conditions = definition["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    ["NamesAccepted", "Established"].into_iter().find_map(|of| {
        let condition = conditions.iter().find(|condition| condition["type"] == of);
        let Some(condition) = condition else { return Some(format!("it has no condition {of}")) };
        let status = condition["status"].as_str().unwrap_or_default();
        let message = condition["message"].as_str().unwrap_or_default();
        (status != "True").then(|| format!("{of} is {status}: {message}"))
    })
}

impl fmt::Display for DefineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(error) => error.fmt(f),
            Self::Api { name, error } => write!(f, "the definition {}: {error}", Printable::new(name)),
            Self::NotEstablished { name, why } => {
                let (name, why) = (Printable::new(name), Printable::new(why));
                write!(f, "the definition {name} was applied, and serves no objects: {why}")
            }
        }
    }
}

impl core::error::Error for DefineError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Wrong(error) => Some(error),
            Self::Api { error, .. } => Some(error),
            Self::NotEstablished { .. } => None,
        }
    }
}
