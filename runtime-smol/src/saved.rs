//! Caches that outlive their program: saved to a file, and restored at the next start.
//!
//! An agent that starts while its API server is out of reach knows what it knew last. [`SaveTo`] names the file:
//!
//! ```no_run
//! use listwatch::decode::Raw;
//! use listwatch::http::Cluster;
//! use listwatch::saved::SaveTo;
//! use listwatch::{Clock, Driver, Events, Informer, InformerConfig, Resource};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (cluster, clock) = (Cluster::infer()?, Clock::real());
//! let pods = Resource::named("v1/pods")?.with_field_selector("spec.nodeName=n1");
//! let driver = Driver::new(Informer::<Raw>::new(pods, InformerConfig::default()), cluster.transport()?);
//! let save = SaveTo::new("/var/lib/agent/pods.json").of(&cluster, &clock);
//! let mut events = Events::start_saved(driver, clock, save);
//! // The first events are the saved objects. `events.driver().informer().status(now)` says how old they are.
//! # Ok(())
//! # }
//! ```
//!
//! [`Informers::informer_saved_to`](crate::Informers::informer_saved_to) and
//! [`Controller::informer_saved_to`](crate::Controller::informer_saved_to) do the same.
//!
//! | question | answer |
//! |---|---|
//! | What is saved? | the objects and their version, as a List that `listwatch replay` and other tools read |
//! | Of which types? | those that are written as they are read; [`ToJson`](crate::decode::ToJson) lists them |
//! | When? | after a list that was needed; else after a change or a bookmark, once a minute at most ([`SaveTo::every`]), so not at each start of a crash loop; and when the events are dropped |
//! | What if the power fails? | the file is replaced in one step, after its bytes are on the disk: the last whole state is there |
//! | What does it cost? | a handle for each object, and a thread of smol's pool for the time of writing; the drop of the events waits for the disk |
//! | What happens at the start? | the objects are told as initial additions, and the cache counts as synced; [`Informer::restore`](crate::Informer::restore) |
//! | What is asked of the server? | a list of one object; then the watch goes on |
//! | What if an object could not be decoded? | it is missing in the file, which says so; after the restart a list reports it again |
//! | When is a file not used? | if it was cut or changed, or is of another server, authority, cluster, resource or type: [`SaveProblem`] says so, and a list follows |
//! | What if two informers name one file? | the second one says so, begins with a list, and saves once the first one has ended |
//! | Who may read it? | its owner (mode 0600); Secrets are saved on request alone |
//!
//! A server that was restored from a backup counts up again from an older version. If it has passed the saved version by
//! the time that the agent comes back, the two histories cannot be told apart by their versions. etcd's
//! `--bump-revision` at the restore prevents that.

mod file;
mod save_to;
mod saving;

pub use file::{SaveProblem, SaveProblemKind, SavedFile};
pub use save_to::SaveTo;
pub(crate) use saving::{Saving, saving};

pub use listwatch_core::saved::{Flash, Origin, Saved, SavedError, Saver, Writing};
