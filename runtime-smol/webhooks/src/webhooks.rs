//! The functions of a program, and which of them answers a request.

use super::admission::{Admission, Denial};
use super::conversion::{self, Conversion, conversion};
use super::report::OnReport;
use super::review::{self, Ask, Fault, mutating, validating};
use core::fmt::Display;
use listwatch::object::Kind;
use listwatch::served::caught_call;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};

/// Functions that refuse, change and convert the objects of clients, before the API server stores or shows them. The
/// [module](crate) has an example.
///
/// Each function is a webhook with a path and a name of its own, and answers from what it is given. It runs on a thread
/// that may wait. If it panics, that request alone fails.
#[must_use = "webhooks do nothing until they are started"]
pub struct Webhooks {
    pub(crate) name: String,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) conversions: Vec<Conversion>,
    pub(crate) registration: Registration,
    pub(crate) adjust: Vec<Box<Adjust>>,
    pub(crate) on_report: Option<Box<OnReport>>,
    pub(crate) listen: SocketAddr,
}

/// Adjusts the configuration of a webhook.
pub(crate) type Adjust = dyn Fn(&mut Value) + Send + Sync;

/// Whose the configuration in the cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Registration {
    Own,
    Elsewhere,
}

/// A function that reviews writes.
pub(crate) struct Hook {
    pub(crate) role: Role,
    pub(crate) path: String,
    pub(crate) resource: Reviewed,
    pub(crate) operations: &'static [&'static str],
    pub(crate) ask: Box<Ask>,
}

/// What a function does with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Validates,
    Mutates,
}

/// The resource of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reviewed {
    pub(crate) api_version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) is_namespaced: bool,
}

/// The answer to a request, over HTTP or not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The status of HTTP: 200 with a review, 404 at another path, 400 to what no server sends, 500 after a panic.
    pub status: u16,
    /// The review as JSON, or a line of text.
    pub body: Vec<u8>,
}

/// The path of conversions.
pub(crate) const CONVERT: &str = "/convert";

impl Webhooks {
    /// Webhooks without a function. Their configuration in the cluster has this name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            hooks: Vec::new(),
            conversions: Vec::new(),
            registration: Registration::Own,
            adjust: Vec::new(),
            on_report: None,
            listen: (Ipv4Addr::UNSPECIFIED, 9443).into(),
        }
    }

    /// Lets a function refuse objects that are created or changed. It is told of each of them after all mutations.
    pub fn validates<T: Kind + DeserializeOwned>(
        self,
        check: impl Fn(&Admission<T>) -> Result<(), Denial> + Send + Sync + 'static,
    ) -> Self {
        self.reviews::<T>(Role::Validates, "validate", &["CREATE", "UPDATE"], validating(check))
    }

    /// Lets a function refuse deletions. [`Admission::object`] is the object that is to go.
    pub fn validates_deletion<T: Kind + DeserializeOwned>(
        self,
        check: impl Fn(&Admission<T>) -> Result<(), Denial> + Send + Sync + 'static,
    ) -> Self {
        self.reviews::<T>(Role::Validates, "validate-deletion", &["DELETE"], validating(check))
    }

    /// Lets a function change objects that are created or changed, or refuse them. Fields that the type does not know
    /// stay. A server may ask it more than once, so it has to leave its own result as it is.
    ///
    /// It changes neither the status nor the name; see [`Part::Object`](listwatch_core::change::Part::Object).
    pub fn mutates<T: Kind + Serialize + DeserializeOwned>(
        self,
        mutate: impl Fn(&mut Admission<T>) -> Result<(), Denial> + Send + Sync + 'static,
    ) -> Self {
        self.reviews::<T>(Role::Mutates, "mutate", &["CREATE", "UPDATE"], mutating(mutate))
    }

    /// Converts objects between two versions of a kind, by `From` or `TryFrom` of the types. Of more than two versions,
    /// each needs a way to each other one: a server asks for any, and takes the shortest.
    ///
    /// Labels and annotations follow the types, where these show them. All other metadata stay. What the new type does
    /// not have is lost, so a conversion keeps it in an annotation.
    pub fn converts<A, B>(mut self) -> Self
    where
        A: Kind + Serialize + DeserializeOwned + TryInto<B, Error: Display>,
        B: Kind + Serialize + DeserializeOwned + TryInto<A, Error: Display>,
    {
        self.conversions.extend([conversion::<A, B>(), conversion::<B, A>()]);
        self
    }

    /// Adjusts the configuration of each webhook, after its [defaults](crate#the-configuration): such as its
    /// `failurePolicy`, `timeoutSeconds`, `namespaceSelector` or `matchConditions`.
    pub fn configured(mut self, adjust: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.adjust.push(Box::new(adjust));
        self
    }

    /// Leaves the configuration in the cluster to others. Their manifests come from [`manifests`](Self::manifests).
    pub fn registered_elsewhere(mut self) -> Self {
        self.registration = Registration::Elsewhere;
        self
    }

    /// The address to listen on; without it port 9443 of all addresses. With port 0, the system chooses one.
    pub fn listen(mut self, address: impl Into<SocketAddr>) -> Self {
        self.listen = address.into();
        self
    }

    /// Calls `on_report` with each line for operators, instead of writing it to standard error: panics, functions that
    /// hang, and certificates that cannot be renewed.
    pub fn on_report(mut self, on_report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_report = Some(Box::new(on_report));
        self
    }

    fn reviews<T: Kind>(
        mut self,
        role: Role,
        action: &str,
        operations: &'static [&'static str],
        ask: Box<Ask>,
    ) -> Self {
        let resource = Reviewed { api_version: T::API_VERSION, plural: T::PLURAL, is_namespaced: T::NAMESPACED };
        let path = format!("/{action}/{}/{}", resource.api_version, resource.plural);
        let is_same = |rest: &str| rest.is_empty() || rest.starts_with('/');
        let same = self.hooks.iter().filter(|hook| hook.path.strip_prefix(&path).is_some_and(is_same)).count();
        let path = if same > 0 { format!("{path}/{}", same + 1) } else { path };
        self.hooks.push(Hook { role, path, resource, operations, ask });
        self
    }

    /// The answer to a POST, as a server gets it. Tests and fuzzers call it without a socket.
    ///
    /// ```
    /// use listwatch_webhooks::Webhooks;
    ///
    /// assert_eq!(Webhooks::new("sample").answer("/convert", b"garbage").status, 404);
    /// ```
    #[must_use]
    pub fn answer(&self, path: &str, body: &[u8]) -> Answer {
        self.try_answer(path, body).unwrap_or_else(|(status, message)| Answer { status, body: message.into_bytes() })
    }

    /// The answer, or the status and the reason for none.
    pub(crate) fn try_answer(&self, path: &str, body: &[u8]) -> Result<Answer, (u16, String)> {
        let review = caught_call(|| self.review(path, body))
            .map_err(|panic| (500, format!("the function panicked: {panic}")))?;
        match review {
            Some(Ok(review)) => Ok(Answer { status: 200, body: review.to_string().into_bytes() }),
            Some(Err(Fault::Malformed(why))) => Err((400, why)),
            Some(Err(Fault::Failed(why))) => Err((500, format!("the function failed: {why}"))),
            None => Err((404, format!("no function has the path {path}"))),
        }
    }

    fn review(&self, path: &str, body: &[u8]) -> Option<Result<Value, Fault>> {
        if path == CONVERT && !self.conversions.is_empty() {
            return Some(conversion::answer(body, &self.conversions));
        }
        let hook = self.hooks.iter().find(|hook| hook.path == path)?;
        Some(review::answer(body, &*hook.ask))
    }
}

listwatch_core::summary!("Webhooks" for Webhooks, |it| { name: it.name, functions: it.hooks.len() });
