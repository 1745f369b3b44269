//! `listwatch audit`: whether another server, or a recording, has what this server has.

use super::follow::{find_cluster, find_resources};
use super::input::Input;
use crate::arguments::{Against, AuditOptions};
use crate::error::CommandError;
use crate::output::progress::Progress;
use crate::output::{self, messages};
use crate::resource::Named;
use crate::system::stop::stop;
use listwatch::decode::MetadataOnly;
use listwatch::file::{MomentKind, ObjectText, RecordedChange, Target, Timeline};
use listwatch::http::ClusterOptions;
use listwatch::text::{Counted, Printable};
use listwatch::{Clock, Executor, Informers, Key, Resource, run};
use smol::future::or;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display};
use std::path::Path;
use std::time::Duration;

/// How long the first state of a server may take.
const FIRST_STATE: Duration = Duration::from_secs(60);
/// The objects that are named of a resource.
const NAMED: usize = 1_000;
/// The characters of a name at the most.
const NAME: usize = 120;

/// The versions alone of a recording's objects are known.
const SELECTED: &str =
    "a recording is compared without selectors; leave out -l, --field-selector and the name of an object";

/// The versions of all objects of a resource.
type Versions = HashMap<Key, u64>;

/// Compares what two servers have.
///
/// # Errors
/// They differ, or cannot be compared.
pub(super) fn audit(options: &AuditOptions) -> Result<(), CommandError> {
    let clock = Clock::real();
    let mut stop = stop(&clock, options.follow.duration).map_err(CommandError::Signals)?;
    let executor = Executor::new();
    let other = Other::open(&options.against, &executor)?;
    run(&clock, &executor, async {
        let progress = Progress::words(false);
        let cluster = find_cluster(&mut stop, options.follow.server.clone()).await?;
        let resources = find_resources(&mut stop, &cluster, &options.follow, &clock, &progress).await?;
        let informers = Informers::new(cluster);
        executor.spawn(informers.run()).detach();
        let stopped = async {
            stop.await;
            Err(CommandError::NeverSynced("comparing".into()))
        };
        let compared = async {
            let mut differences = 0;
            for Named { name, resource } in resources {
                let there = other.versions(&resource).await?;
                let here = versions(&informers, resource).await?;
                let found = Found::between(&name, &other.name, &here, &there);
                output::print(found.to_string().as_bytes()).map_err(CommandError::Output)?;
                differences += found.differences.len();
            }
            if differences == 0 { Ok(()) } else { Err(CommandError::Differs(differences)) }
        };
        or(stopped, or(compared, messages::keep_writing())).await
    })
}

/// What the server is compared with.
struct Other {
    name: String,
    has: Has,
}

enum Has {
    Server(Informers),
    /// The last state of a recording, by collections.
    Recording(BTreeMap<String, Versions>),
}

impl Other {
    fn open(against: &Against, executor: &Executor<'static>) -> Result<Self, CommandError> {
        match against {
            Against::Server(url) => {
                let informers = Informers::new(ClusterOptions::new().at(url).map_err(CommandError::Address)?);
                executor.spawn(informers.run()).detach();
                Ok(Self { name: url.clone(), has: Has::Server(informers) })
            }
            Against::File(file) => Self::recorded(file),
        }
    }

    fn recorded(file: &Path) -> Result<Self, CommandError> {
        let input = Input::of(file)?;
        let timeline = Timeline::from_file(input.path()).map_err(|error| input.error(error))?;
        let mut states = BTreeMap::<String, Versions>::new();
        for moment in timeline {
            match moment.map(|moment| moment.kind) {
                Ok(MomentKind::Changed { resource, change, .. }) => {
                    take(states.entry(resource.collection.clone()).or_default(), change);
                }
                Ok(_) => {}
                Err(fault) => messages::print(format_args!("{}; it is compared up to there", input.error(fault))),
            }
        }
        Ok(Self { name: file.display().to_string(), has: Has::Recording(states) })
    }

    async fn versions(&self, resource: &Resource) -> Result<Versions, CommandError> {
        let states = match &self.has {
            Has::Server(informers) => return versions(informers, resource.clone()).await,
            Has::Recording(_) if resource.label_selector().is_some() || resource.field_selector().is_some() => {
                return Err(CommandError::Arguments(SELECTED));
            }
            Has::Recording(states) => states,
        };
        let target = Target::parse(resource.path());
        let (path, namespace) =
            target.as_ref().map_or_else(|| (resource.path(), None), |target| (target.collection(), target.namespace()));
        let unknown = || {
            let names = states.keys().cloned().collect();
            CommandError::NotRecorded { file: self.name.clone().into(), name: path.to_owned(), names }
        };
        let state = states.get(path).ok_or_else(unknown)?;
        let is_meant = |key: &Key| namespace.is_none_or(|namespace| key.namespace() == Some(namespace));
        Ok(state.iter().filter(|(key, _)| is_meant(key)).map(|(key, version)| (key.clone(), *version)).collect())
    }
}

/// What a server has of a resource.
async fn versions(informers: &Informers, resource: Resource) -> Result<Versions, CommandError> {
    let handle = informers.informer_of::<MetadataOnly>(resource.metadata_only());
    handle.synced().within(FIRST_STATE).await.map_err(|error| CommandError::NeverSynced(error.to_string()))?;
    let objects = handle.store().list();
    Ok(objects.iter().map(|object| (object.key().clone(), number(object.meta().resource_version()))).collect())
}

/// Takes a change into the last state.
fn take(state: &mut Versions, change: RecordedChange) {
    let placed = |object: ObjectText| (object.key().clone(), object.version());
    match change {
        RecordedChange::Added(object) | RecordedChange::Modified(object) => state.extend([placed(object)]),
        RecordedChange::Deleted(object) => _ = state.remove(object.key()),
        RecordedChange::Relisted { changed, gone, .. } => {
            state.extend(changed.into_iter().map(placed));
            gone.iter().for_each(|key| _ = state.remove(key));
        }
        RecordedChange::Reached(_) => {}
    }
}

fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

/// What was found of a resource.
struct Found<'f> {
    name: &'f str,
    other: &'f str,
    objects: usize,
    /// The newest version that the other one has.
    version: u64,
    /// The objects that were made or changed behind that version.
    since: usize,
    differences: BTreeMap<&'f Key, Difference>,
}

/// The versions here and there.
struct Difference(Option<u64>, Option<u64>);

impl<'f> Found<'f> {
    fn between(name: &'f str, other: &'f str, here: &'f Versions, there: &'f Versions) -> Self {
        let version = there.values().copied().max().unwrap_or_default();
        let (mut since, mut differences) = (0, BTreeMap::new());
        for (key, own) in here {
            match there.get(key) {
                Some(their) if their == own => {}
                // Another one has no version with which it could be compared.
                _ if *own > version && !there.is_empty() => since += 1,
                their => _ = differences.insert(key, Difference(Some(*own), their.copied())),
            }
        }
        let gone = there.iter().filter(|(key, _)| !here.contains_key(*key));
        differences.extend(gone.map(|(key, their)| (key, Difference(None, Some(*their)))));
        Self { name, other, objects: there.len(), version, since, differences }
    }
}

impl Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { objects, version, since, differences, .. } = self;
        let (name, other) = (Printable::new(self.name).at_most(NAME), Printable::new(self.other).at_most(NAME));
        let objects = Counted(*objects as u64, "object", "objects");
        match differences.len() {
            0 => write!(f, "{name}: the {objects} of {other} are here, up to version {version}"),
            differ => write!(f, "{name}: {differ} differ from the {objects} of {other} up to version {version}"),
        }?;
        writeln!(f, "; {since} changed since")?;
        for (key, difference) in differences.iter().take(NAMED) {
            writeln!(f, "  {}  {difference}", Printable::new(key).at_most(NAME))?;
        }
        let more = differences.len().saturating_sub(NAMED);
        if more > 0 { writeln!(f, "  and {more} more") } else { Ok(()) }
    }
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(here), Some(there)) => write!(f, "version {here} here, {there} there"),
            (Some(here), None) => write!(f, "only here, version {here}"),
            (None, Some(there)) => write!(f, "only there, version {there}"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_behind_the_last_version_is_no_difference() {
        let versions =
            |all: &[(&str, u64)]| all.iter().map(|(key, version)| (Key::from(*key), *version)).collect::<Versions>();
        let here = versions(&[("a", 1), ("b", 12), ("c", 3), ("d", 4), ("e", 13)]);
        let there = versions(&[("a", 1), ("b", 2), ("c", 2), ("f", 9)]);
        let text = Found::between("pods", "tape", &here, &there).to_string();
        let expected = "pods: 3 differ from the 4 objects of tape up to version 9; 2 changed since\n  \
                        c  version 3 here, 2 there\n  d  only here, version 4\n  f  only there, version 9\n";
        assert_eq!(text, expected);
    }
}
