//! The code of a user: a reconcile that is right, but errs, panics and hangs at times.

use super::kinds::{DEPLOYMENTS, Deployment, FOOS, Foo, Setting, path, wanted};
use super::view::{SeenDeployment, SeenFoo, View};
use listwatch::api::{Api, ApiCall, ApiError, DeleteOptions, Patch};
use listwatch::controller::{self, Context, Error};
use listwatch::{InformerHandle, Key, Outcome, Resource};
use listwatch_core::Instant;
use listwatch_tests::sim::Dice;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The informers that the user's code reads.
#[derive(Clone)]
pub(super) struct Handles {
    pub(super) foos: InformerHandle<Foo>,
    pub(super) deployments: InformerHandle<Deployment>,
    pub(super) settings: InformerHandle<Setting>,
}

/// How the user's code behaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// In a hundred chances, how often something goes wrong.
    pub(super) flaws: u64,
    /// Whether writes go through the context, which lets the key wait for them.
    pub(super) awaits_writes: bool,
    /// Whether a change names the version that it was decided on.
    pub(super) checks_versions: bool,
    /// Whether one line of the code is another one: a Foo of three replicas gets four.
    pub(super) is_changed: bool,
}

/// The user's code, and what it has seen. A clone is the same.
#[derive(Clone)]
pub(super) struct User {
    handles: Handles,
    manner: Manner,
    notes: Arc<Mutex<Notes>>,
}

/// What the code has seen.
pub(super) struct Notes {
    dice: Dice,
    /// After how many reconciles nothing goes wrong any more.
    pub(super) calm_after: u64,
    /// How often the controller could not start.
    pub(super) restarts: u64,
    /// What the changed line makes of writes.
    pub(super) changed: Vec<(Key, Changed)>,
    busy: BTreeSet<Key>,
    /// The last reconcile of each key that ended well.
    pub(super) reconciled: BTreeMap<Key, Reconciled>,
    /// The versions that were written for a key, and were told so.
    written: BTreeMap<Key, Vec<Written>>,
    /// The rules that were broken. A panic of the user's code says nothing: the controller catches it.
    pub(super) broken: Vec<String>,
    pub(super) tally: Tally,
}

/// A reconcile that ended well: when it began, and whether there was a foo.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reconciled {
    pub(super) began: Instant,
    pub(super) saw_foo: bool,
}

/// How often something happened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) reconciles: u64,
    pub(super) errors: u64,
    pub(super) panics: u64,
    pub(super) hangs: u64,
    pub(super) conflicts: u64,
    /// How often a reconcile was told that the caches lack what it wrote.
    pub(super) told_late: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.reconciles += other.reconciles;
        self.errors += other.errors;
        self.panics += other.panics;
        self.hangs += other.hangs;
        self.conflicts += other.conflicts;
        self.told_late += other.told_late;
    }
}

/// A version that the server has told.
#[derive(Clone, Debug)]
struct Written {
    is_foo: bool,
    version: u64,
}

impl User {
    pub(super) fn new(handles: Handles, manner: Manner, dice: Dice) -> Self {
        let notes = Notes {
            dice,
            calm_after: u64::MAX,
            restarts: 0,
            changed: Vec::new(),
            busy: BTreeSet::new(),
            reconciled: BTreeMap::new(),
            written: BTreeMap::new(),
            broken: Vec::new(),
            tally: Tally::default(),
        };
        Self { handles, manner, notes: Arc::new(Mutex::new(notes)) }
    }

    /// From now on nothing goes wrong in new reconciles.
    pub(super) fn calm(&self) {
        let begun = self.notes().tally.reconciles;
        self.calm_after(begun);
    }

    pub(super) fn calm_after(&self, reconciles: u64) {
        self.notes().calm_after = reconciles;
    }

    pub(super) fn handles(&self) -> &Handles {
        &self.handles
    }

    pub(super) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes what belongs to a key as it is wanted.
    pub(super) async fn reconcile(&self, cx: &Context, key: &Key) -> controller::Reconciled {
        let (_busy, began) = (Busy::new(self, key), cx.clock().now());
        let is_late = !cx.timed_out_writes().is_empty();
        let mut luck = self.luck();
        self.check_own_writes(key, is_late);
        self.may_fail(cx, &mut luck).await?;
        let view = if is_late { self.live_view(cx, key).await? } else { self.cached_view(key) };
        self.may_fail(cx, &mut luck).await?;
        self.act(cx, key, &view).await.inspect_err(|error| {
            self.notes().tally.conflicts += u64::from(error.is_conflict());
        })?;
        let outcome = self.may_fail(cx, &mut luck).await?;
        if outcome == Outcome::Done {
            let saw_foo = view.foo.is_some();
            self.notes().reconciled.insert(key.clone(), Reconciled { began, saw_foo });
        }
        Ok(outcome)
    }

    /// What was written before this reconcile is in the caches, or the reconcile was told that it is not.
    fn check_own_writes(&self, key: &Key, is_late: bool) {
        let mut notes = self.notes();
        notes.tally.reconciles += 1;
        notes.tally.told_late += u64::from(is_late);
        let written = notes.written.remove(key).unwrap_or_default();
        drop(notes);
        if is_late || !self.manner.awaits_writes {
            return;
        }
        for Written { is_foo, version } in written {
            let known =
                if is_foo { version_in(&self.handles.foos, key) } else { version_in(&self.handles.deployments, key) };
            if known.is_some_and(|known| known < version) {
                let broken = format!("{key}: {version} was written, the cache has {known:?}");
                self.notes().broken.push(broken);
            }
        }
    }

    fn cached_view(&self, key: &Key) -> View {
        View {
            foo: self.handles.foos.store().get(key).as_ref().map(SeenFoo::from),
            deployment: self.handles.deployments.store().get(key).as_ref().map(SeenDeployment::from),
        }
    }

    async fn live_view(&self, cx: &Context, key: &Key) -> Result<View, ApiError> {
        let (foo, deployment) = (live(cx, &foos(key), key).await?, live(cx, &deployments(key), key).await?);
        Ok(View { foo: foo.as_ref().map(SeenFoo::from), deployment: deployment.as_ref().map(SeenDeployment::from) })
    }

    async fn act(&self, cx: &Context, key: &Key, view: &View) -> Result<(), ApiError> {
        let Some(foo) = &view.foo else {
            return match &view.deployment {
                Some(left) => self.delete(cx, key, left).await,
                None => Ok(()),
            };
        };
        let setting = Key::new(key.namespace(), &foo.setting);
        let setting = self.handles.settings.get(&setting).map(|setting| setting.spec.text.clone());
        let (spec, changed) = self.wanted(view, foo, setting.as_deref());
        let tell = || self.notes().changed.extend(changed.map(|kind| (key.clone(), kind)));
        match &view.deployment {
            None => {
                tell();
                self.create(cx, key, foo, &spec).await?;
            }
            Some(other) if other.owner.as_ref() != Some(&foo.uid) => {
                self.delete(cx, key, other).await?;
                tell();
                self.create(cx, key, foo, &spec).await?;
            }
            Some(own) if own.spec != spec => {
                tell();
                self.change(cx, key, own, &spec).await?;
            }
            Some(_) => tell(),
        }
        if foo.seen != Some(foo.generation) { self.report(cx, key, foo).await } else { Ok(()) }
    }

    /// The spec that the Deployment is to have, and what the changed line makes of its write.
    fn wanted(&self, view: &View, foo: &SeenFoo, setting: Option<&str>) -> (Value, Option<Changed>) {
        let spec = wanted(foo.replicas, setting);
        if !self.manner.is_changed || foo.replicas != 3 {
            return (spec, None);
        }
        let changed = wanted(4, setting);
        let own = view.deployment.as_ref().filter(|other| other.owner.as_ref() == Some(&foo.uid));
        let writes = |spec: &Value| own.is_none_or(|own| own.spec != *spec);
        let kind = match (writes(&spec), writes(&changed)) {
            (true, true) => Some(Changed::Different),
            (true, false) => Some(Changed::Missing),
            (false, true) => Some(Changed::Additional),
            (false, false) => None,
        };
        (changed, kind)
    }

    async fn create(&self, cx: &Context, key: &Key, foo: &SeenFoo, spec: &Value) -> Result<(), ApiError> {
        let owner = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "name": key.name(), "uid": foo.uid, "controller": true });
        let deployment = json!({ "metadata": { "name": key.name(), "ownerReferences": [owner] }, "spec": spec });
        let created = self.write(cx, &self.handles.deployments, deployments(key).create(&deployment)).await?;
        self.note(key, false, &created);
        Ok(())
    }

    async fn change(&self, cx: &Context, key: &Key, own: &SeenDeployment, spec: &Value) -> Result<(), ApiError> {
        let mut patch = json!({ "metadata": { "annotations": { "decided-on": own.version } }, "spec": spec });
        if self.manner.checks_versions {
            patch["metadata"]["resourceVersion"] = json!(own.version);
        }
        let patched = deployments(key).patch(key.name(), &Patch::Merge(&patch));
        let patched = self.write(cx, &self.handles.deployments, patched).await?;
        self.note(key, false, &patched);
        Ok(())
    }

    async fn delete(&self, cx: &Context, key: &Key, deployment: &SeenDeployment) -> Result<(), ApiError> {
        let options = DeleteOptions::default().with_uid(deployment.uid.as_str());
        self.write(cx, &self.handles.deployments, deployments(key).delete(key.name(), &options)).await
    }

    async fn report(&self, cx: &Context, key: &Key, foo: &SeenFoo) -> Result<(), ApiError> {
        let decided_on = format!("{}@{}", foo.uid, foo.generation);
        let metadata = json!({ "uid": foo.uid, "annotations": { "decided-on": decided_on } });
        let status = json!({ "metadata": metadata, "status": { "seen": foo.generation } });
        let call = foos(key).status().patch(key.name(), &Patch::Merge(&status));
        let reported = self.write(cx, &self.handles.foos, call).await?;
        self.note(key, true, &reported);
        Ok(())
    }

    async fn write<T: Send + Sync + 'static, R>(
        &self,
        cx: &Context,
        kind: &InformerHandle<T>,
        call: ApiCall<R>,
    ) -> Result<R, ApiError> {
        if self.manner.awaits_writes { cx.write(kind, call).await } else { cx.call(call).await }
    }

    fn note(&self, key: &Key, is_foo: bool, object: &Value) {
        let version = object["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
        let written = Written { is_foo, version: version.unwrap_or_default() };
        self.notes().written.entry(key.clone()).or_default().push(written);
    }

    /// Takes some time, and goes wrong at times: by an error, a panic, or not at all coming back.
    async fn may_fail(&self, cx: &Context, luck: &mut Luck) -> controller::Reconciled {
        let flaw = self.flaw(luck);
        cx.clock().sleep(flaw.pause).await;
        match flaw.kind {
            Kind::None => Ok(Outcome::Done),
            Kind::Error => Err(Error::new("on purpose")),
            Kind::Panic => panic!("on purpose"),
            Kind::Hang => std::future::pending().await,
            Kind::Outcome(outcome) => Ok(outcome),
        }
    }

    /// The luck of a reconcile that begins. It depends on how many began before alone.
    fn luck(&self) -> Luck {
        let mut notes = self.notes();
        Luck { dice: Dice::new(notes.dice.throw()), is_calm: notes.tally.reconciles >= notes.calm_after }
    }

    fn flaw(&self, Luck { dice, is_calm }: &mut Luck) -> Flaw {
        let (flaws, mut notes) = (self.manner.flaws, self.notes());
        let pause = dice.between(Duration::ZERO, Duration::from_millis(200));
        if *is_calm || !dice.chance(flaws) {
            return Flaw { pause, kind: Kind::None };
        }
        let delay = dice.between(Duration::ZERO, Duration::from_secs(3));
        let kind = match dice.below(8) {
            0..3 => Kind::Error,
            3..5 => Kind::Panic,
            5 => Kind::Hang,
            6 => Kind::Outcome(Outcome::RequeueAfter(delay)),
            _ => Kind::Outcome(Outcome::Retry),
        };
        let tally = &mut notes.tally;
        match kind {
            Kind::Error => tally.errors += 1,
            Kind::Panic => tally.panics += 1,
            Kind::Hang => tally.hangs += 1,
            Kind::None | Kind::Outcome(_) => {}
        }
        Flaw { pause, kind }
    }
}

/// What decides what goes wrong in a reconcile.
struct Luck {
    dice: Dice,
    is_calm: bool,
}

/// What the changed line makes of a write of the Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Changed {
    Missing,
    Additional,
    Different,
}

/// What goes wrong in the user's code, after some time.
struct Flaw {
    pause: Duration,
    kind: Kind,
}

enum Kind {
    None,
    Error,
    Panic,
    Hang,
    Outcome(Outcome),
}

/// A key that is being reconciled.
struct Busy<'a>(&'a User, Key);

impl<'a> Busy<'a> {
    fn new(user: &'a User, key: &Key) -> Self {
        let mut notes = user.notes();
        if !notes.busy.insert(key.clone()) {
            notes.broken.push(format!("{key} is reconciled twice at once"));
        }
        drop(notes);
        Self(user, key.clone())
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.notes().busy.remove(&self.1);
    }
}

fn foos(key: &Key) -> Api<Value> {
    Api::new(&Resource::new(&path(FOOS, key.namespace().unwrap_or_default(), "")))
}

fn deployments(key: &Key) -> Api<Value> {
    Api::new(&Resource::new(&path(DEPLOYMENTS, key.namespace().unwrap_or_default(), "")))
}

/// The object as the server has it, if it has one.
async fn live(cx: &Context, api: &Api<Value>, key: &Key) -> Result<Option<Value>, ApiError> {
    match cx.call(api.get(key.name())).await {
        Err(error) if error.is_not_found() => Ok(None),
        object => object.map(Some),
    }
}

fn version_in<T: DeserializeOwned>(kind: &InformerHandle<T>, key: &Key) -> Option<u64> {
    kind.get(key).and_then(|object| object.meta().resource_version().parse().ok())
}
