//! Webhooks of Kubernetes as functions of typed objects: they refuse, change and convert what clients write, before the
//! API server stores it.
//!
//! ```no_run
//! use listwatch::http::Cluster;
//! use listwatch_webhooks::{Address, Certificates, Webhooks};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Foo {
//!     spec: FooSpec,
//! }
//!
//! // The fields that the functions read or write. All others stay as they are.
//! #[derive(Serialize, Deserialize)]
//! struct FooSpec {
//!     replicas: Option<u32>,
//! }
//!
//! listwatch::kind!(Foo, "example.com/v1", "foos");
//!
//! fn webhooks() -> Webhooks {
//!     Webhooks::new("sample")
//!         .mutates::<Foo>(|request| {
//!             request.object.spec.replicas.get_or_insert(1);
//!             Ok(())
//!         })
//!         .validates::<Foo>(|request| match request.object.spec.replicas {
//!             Some(11..) => Err("at most ten replicas".into()),
//!             _ => Ok(()),
//!         })
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let certificates = Certificates::managed("prod", "sample-webhooks");
//!     let serving = webhooks().start(Cluster::infer()?, &Address::service("prod", "sample"), certificates)?;
//!     // Beside a controller, `serving` is a value that lives as long as it. Alone, it runs until SIGTERM.
//!     Ok(serving.run()?)
//! }
//! ```
//!
//! A test gives the same functions to a simulated cluster, by `Webhooks::admit_in` of the feature `testing`, or calls
//! [`Webhooks::answer`].
//!
//! | question | answer |
//! |---|---|
//! | Which functions are there? | [`validates`](Webhooks::validates), [`validates_deletion`](Webhooks::validates_deletion), [`mutates`](Webhooks::mutates), [`converts`](Webhooks::converts) |
//! | What does a function see? | an [`Admission`]: the objects, the client, whether it is a [dry run](Admission::dry_run) |
//! | What does it answer? | `Ok`, or a [`Denial`], with [warnings](Admission::warn) and [annotations](Admission::annotate) |
//! | What does a mutation send? | a JSON patch of what differs after it; fields that the type does not know stay |
//! | Where do certificates come from? | the program [makes and rotates them](Certificates::managed), or [files](Certificates::from_folder) that are read again |
//! | Who writes the configuration? | the program, or [others](Webhooks::registered_elsewhere) from its [manifests](Webhooks::manifests) |
//! | When is the program ready? | [`Serving::ready_check`] |
//!
//! # What fails
//!
//! | failure | answer | effect |
//! |---|---|---|
//! | the type cannot read the object | refused with the status 400 | the write is refused, whatever the failure policy is |
//! | a function panics, or a change would lose fields | HTTP 500 | the failure policy decides, for this request alone |
//! | a function hangs | HTTP 504 after `timeoutSeconds` | the failure policy decides. 32 calls of one function run at a time, so it holds up no other |
//! | a conversion fails | `Failure` with its message | the client gets the message |
//! | the cluster cannot be reached, or forbids it | – | the last certificate is served, and the next try follows |
//!
//! Panics, hangs and failures of certificates are reported on standard error, or to [`on_report`](Webhooks::on_report).
//!
//! # The configuration
//!
//! The program writes it by server-side apply, and again every ten minutes. What others add stays. Its defaults:
//!
//! | field | default | because |
//! |---|---|---|
//! | `failurePolicy` | `Fail` | an invalid object that is stored stays invalid |
//! | `timeoutSeconds` | 5 | a client waits for all webhooks |
//! | `sideEffects` | `None` | so dry runs are reviewed too; see [`Admission::dry_run`] |
//! | `matchPolicy` | `Equivalent` | a write by another version is reviewed too |
//! | `reinvocationPolicy` | the server's: `Never` | |
//! | `namespaceSelector`, of Kubernetes' own kinds | neither `kube-system` nor the namespace of the Service | a program that is down must not keep its own pods from starting |
//!
//! [`Webhooks::configured`] changes them. The service account of the program needs these permissions:
//!
//! | resource | verbs |
//! |---|---|
//! | `validatingwebhookconfigurations`, `mutatingwebhookconfigurations` | `get`, `create`, `patch` |
//! | `customresourcedefinitions`, for conversions | `patch` |
//! | `secrets` in its namespace, for managed certificates | `get`, `create`, `update` |
//!
//! Replicas need no election: each of them may renew the certificates, and a conflict shows who was first.
//!
//! # Limits
//!
//! | what | limit |
//! |---|---|
//! | connections | 512; the one that waits longest for a request leaves first |
//! | a TLS handshake with the first head, any other head | 10 s, 180 s |
//! | a head, a body | 16 KiB, 7 MiB: a server takes objects of 3 MiB, and a review may have two |
//! | a body | 10 s; four of more than 64 KiB at a time |
//! | levels of JSON | 128 |
//! | calls of one function | 32 at a time, and 30 s for an answer |
//!
//! No client is authenticated: whoever reaches the port can ask the functions, and learn no more than their answers. A
//! network policy lets API servers alone in.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod address;
mod admission;
mod certificates;
mod configuration;
mod conversion;
mod keeper;
mod keyring;
mod patch;
mod report;
mod review;
mod serving;
#[cfg(feature = "testing")]
mod simulated;
mod site;
mod webhooks;

pub use address::Address;
pub use admission::{Admission, Denial, Operation, User};
pub use certificates::Certificates;
pub use serving::Serving;
pub use webhooks::{Answer, Webhooks};
