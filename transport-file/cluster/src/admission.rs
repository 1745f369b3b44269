//! Functions of a test that change or refuse writes, as the webhooks of a cluster do.

use super::fault;
use super::patch;
use super::refusal::Refusal;
use core::fmt;
use listwatch_core::change::apply_merge_patch;
use serde_json::{Value, json};

/// A write of a client, as a webhook sees it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AdmissionRequest<'a> {
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub operation: &'a str,
    /// The resource, such as `apps/v1/deployments`, with the subresource, such as `apps/v1/deployments/status`.
    pub resource: &'a str,
    /// The name; empty for one that is to be generated.
    pub name: &'a str,
    /// The namespace; empty for none.
    pub namespace: &'a str,
    /// The object as it is to be stored; null for a deletion.
    pub object: &'a Value,
    /// The object before it; null for a creation.
    pub old_object: &'a Value,
    /// The user; empty if the client is nobody's ([`as_user`](crate::SimulatedCluster::as_user)).
    pub user: &'a str,
    /// Whether nothing is stored.
    pub is_dry_run: bool,
}

/// The answer of a webhook that refuses a write. A text is one with the status 403.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    code: u16,
    message: String,
}

impl Denial {
    /// A denial with a status from 400 to 599; another one becomes 400, as on a server.
    #[must_use]
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code: if (400..600).contains(&code) { code } else { 400 }, message: message.into() }
    }
}

impl<T: Into<String>> From<T> for Denial {
    fn from(message: T) -> Self {
        Self::new(403, message)
    }
}

/// The functions that are asked, in their order.
#[derive(Debug, Default)]
pub(super) struct Admission(Vec<Webhook>);

/// No functions.
pub(super) static NONE: Admission = Admission(Vec::new());

struct Webhook {
    name: String,
    resources: Vec<String>,
    review: Review,
}

pub(super) type Asking<T> = Box<dyn Fn(&AdmissionRequest<'_>) -> Result<T, Denial> + Send + Sync>;

pub(super) enum Review {
    Mutating(Asking<Value>),
    Validating(Asking<()>),
}

impl Admission {
    /// Asks a function of the writes to these resources from now on.
    pub(super) fn add(&mut self, name: &str, resources: &[&str], review: Review) {
        let resources = resources.iter().map(|resource| (*resource).to_owned()).collect();
        self.0.push(Webhook { name: name.to_owned(), resources, review });
    }

    /// What becomes of the object of a write; `None` if nothing changes it.
    pub(super) fn mutate(&self, write: &AdmissionRequest<'_>) -> Result<Option<Value>, Refusal> {
        let mut changed = None;
        for webhook in self.asked(write) {
            let Review::Mutating(change) = &webhook.review else { continue };
            let mut object = changed.take().unwrap_or_else(|| write.object.clone());
            let patch = change(&AdmissionRequest { object: &object, ..*write }).map_err(|it| webhook.refusal(it))?;
            match patch {
                Value::Object(_) => apply_merge_patch(&mut object, &patch),
                Value::Array(_) => object = patch::json(&object, &patch)?,
                _ => {}
            }
            changed = Some(object);
        }
        // A deletion has nothing to change.
        Ok(changed.filter(|_| !write.object.is_null()))
    }

    /// Whether a valid write may be stored.
    pub(super) fn validate(&self, write: &AdmissionRequest<'_>) -> Result<(), Refusal> {
        self.asked(write).try_for_each(|webhook| match &webhook.review {
            Review::Mutating(_) => Ok(()),
            Review::Validating(check) => check(write).map_err(|it| webhook.refusal(it)),
        })
    }

    fn asked(&self, write: &AdmissionRequest<'_>) -> impl Iterator<Item = &Webhook> {
        self.0.iter().filter(move |webhook| webhook.resources.iter().any(|resource| resource == write.resource))
    }
}

impl Webhook {
    fn refusal(&self, Denial { code, message }: Denial) -> Refusal {
        let message = if message.is_empty() { " without explanation".to_owned() } else { format!(": {message}") };
        let mut refusal = fault::refusal(code);
        let message = format!("admission webhook {:?} denied the request{message}", self.name);
        refusal.status.iter_mut().for_each(|status| status["message"] = json!(message));
        refusal
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("name", &self.name).field("resources", &self.resources).finish_non_exhaustive()
    }
}
