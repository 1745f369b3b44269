//! One seed: a server, other clients of it, a controller, and the faults of all three.

use super::kinds::{DEPLOYMENTS, FOOS, NAMESPACES, SETTINGS, drifts};
use super::met::Met;
use super::others;
use super::user::{Handles, Manner, Reconciled, User};
use listwatch::controller::{Controller, ControllerHandle, Findings, RunError, Running, Source, predicate};
use listwatch::file::Playback;
use listwatch::{Client, Clock, Executor, Informers, Key, Resource, World, run};
use listwatch_core::reflector::Consistency;
use listwatch_core::{InformerConfig, Instant};
use listwatch_tests::sim::{ApiLine, ApiServer, Change, Dice, Feed, FeedTroubles, Inside, Place, Trace, Troubles};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const NAME: &str = "foos";
/// How often others change something.
const CHANGES: u32 = 60;
/// How long a server that is restarted is away at most.
const AWAY: Duration = Duration::from_secs(40);
/// How long a reconcile may take.
const PATIENCE: Duration = Duration::from_secs(90);
/// Long enough for every back-off, and for a watch that nobody says is dead.
const QUIET: Duration = Duration::from_secs(3 * 3600);
/// How often that is looked at, and for how long it has to stay so.
const STEP: Duration = Duration::from_secs(10);
const REST: Duration = Duration::from_secs(100);
/// How long a drain may take when nothing goes wrong.
const GRACE: Duration = Duration::from_secs(60);

/// How the world of a seed is made.
struct Setup {
    feeds: FeedTroubles,
    calls: Troubles,
    /// Up to how long it is between two changes.
    calm: Duration,
    /// One informer for all namespaces, or one for each.
    apart: bool,
    /// Changes of the status do not count.
    generations: bool,
    workers: usize,
    debounce: Option<(Duration, Duration)>,
    /// In a hundred changes, how often the server is restarted.
    restarts: u64,
    await_writes: Duration,
}

impl Setup {
    fn draw(dice: &mut Dice) -> Self {
        let lag = Duration::from_millis(dice.pick(&[3, 50, 1_000, 15_000]));
        let within = Duration::from_secs(dice.pick(&[5, 60, 400]));
        let [refused, broken] = dice.pick(&[[0, 0], [10, 30], [30, 70]]);
        let feeds = FeedTroubles { refused, broken, within, lag, streams: dice.chance(50) };
        let often = dice.pick(&[0, 2, 6]);
        let calls = Troubles {
            latency: Duration::from_millis(dice.pick(&[5, 40, 400])),
            silence: often,
            reset: often,
            throttled: often,
            error: often,
            postponed: often,
            conflict: often,
            late: often,
            lateness: Duration::from_secs(dice.pick(&[1, 10, 60])),
        };
        Self {
            feeds,
            calls,
            calm: Duration::from_millis(dice.pick(&[300, 3_000, 20_000])),
            apart: dice.chance(50),
            generations: dice.chance(50),
            workers: 1 + dice.below(4) as usize,
            debounce: dice.pick(&[None, None, Some((Duration::from_millis(100), Duration::from_secs(1)))]),
            restarts: dice.pick(&[0, 3, 10]),
            await_writes: Duration::from_secs(dice.pick(&[5, 30, 120])),
        }
    }
}

/// Plays a seed, and says what it met.
///
/// # Panics
/// Where a rule is broken.
pub(super) fn play(seed: u64, manner: Manner) -> Met {
    play_on(seed, manner, None)
}

/// The same, recorded into a file if one is named.
pub(super) fn play_on(seed: u64, manner: Manner, tape: Option<&Path>) -> Met {
    let mut dice = Dice::new(seed);
    let (setup, clock) = (Setup::draw(&mut dice), Clock::simulated());
    let server = server();
    others::settle(&server, &mut dice);
    let world = world(&server, &clock, &setup, &mut dice);
    let informers = Informers::new(match tape {
        Some(tape) => world.recorded_to(tape).unwrap(),
        None => world,
    });
    let user = User::new(handles(&informers, &setup, &mut dice), manner, Dice::new(dice.throw()));
    let (handle, executor) = (ControllerHandle::default(), Executor::new());
    let controller = executor.spawn(keep_running(&informers, &user, &setup, &handle));
    run(&clock, &executor, async {
        trouble(&server, &clock, &setup, &mut dice).await;
        server.with(Inside::calm);
        user.calm();
        let settled = settle(&server, &user, &informers, &handle).await;
        assert!(!controller.is_finished(), "the controller ended: {:?}", controller.await);
        settled.unwrap_or_else(|drifts| panic!("{drifts}"));
        assert_eq!((&user.notes().broken, handle.parked()), (&Vec::new(), Vec::new()));
        handle.stop();
        assert_eq!(controller.await, Ok(()), "drained");
    });
    let seconds = clock.now().as_nanos() / 1_000_000_000;
    let (tally, calm_after, restarts) = {
        let notes = user.notes();
        (notes.tally, notes.calm_after, notes.restarts)
    };
    server.with(|inside| Met::of(tally, (calm_after, restarts), inside, seconds))
}

/// What a replay of a seed found, and what its user's code reported.
pub(super) struct Replayed {
    pub(super) ended: Result<(), RunError>,
    pub(super) findings: Findings,
    pub(super) user: User,
}

/// Replays the tape of a seed by the same controller, or one of another manner.
pub(super) fn replay(seed: u64, manner: Manner, tape: &Path, calm_after: u64) -> Replayed {
    let mut dice = Dice::new(seed);
    let (setup, server) = (Setup::draw(&mut dice), server());
    others::settle(&server, &mut dice);
    let _unused = world(&server, &Clock::simulated(), &setup, &mut dice);
    let informers = Informers::new(Playback::from_file(tape).unwrap());
    let user = User::new(handles(&informers, &setup, &mut dice), manner, Dice::new(dice.throw()));
    user.calm_after(calm_after);
    let controller = controller(&informers, &user, &setup, &ControllerHandle::default());
    let ended = run(informers.clock(), &Executor::new(), controller.future());
    let findings = informers.world().findings(NAME).unwrap();
    Replayed { ended, findings, user }
}

fn server() -> ApiServer {
    let server = ApiServer::new(FOOS, Trace::new(false));
    server.with(|inside| [DEPLOYMENTS, SETTINGS].iter().for_each(|collection| inside.store.add_collection(collection)));
    server
}

fn world(server: &ApiServer, clock: &Clock, setup: &Setup, dice: &mut Dice) -> World {
    let now = clock.clone();
    let line = ApiLine::new(server, Dice::new(dice.throw()), setup.calls, move || now.now());
    let (feeds, troubles, dice) = (server.clone(), setup.feeds, Mutex::new(Dice::new(dice.throw())));
    World::from_parts(clock.clone(), Client::new(line, clock.clone()), move |_| {
        let seed = dice.lock().unwrap_or_else(PoisonError::into_inner).throw();
        Box::new(Feed::troubled(&feeds, Dice::new(seed), troubles))
    })
}

fn handles(informers: &Informers, setup: &Setup, dice: &mut Dice) -> Handles {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = dice.chance(50);
    config.reflector.consistency = dice.pick(&[Consistency::Any, Consistency::NotOlderThan]);
    config.reflector.seed = Some(dice.throw());
    let namespaces: &[&str] = if setup.apart { &NAMESPACES } else { &[] };
    let namespaces = || namespaces.iter().copied();
    Handles {
        foos: informers.informer_with(Resource::new(FOOS), namespaces(), config).with_kind("Foo"),
        deployments: informers.informer_with(Resource::new(DEPLOYMENTS), namespaces(), config),
        settings: informers.informer_with(Resource::new(SETTINGS), namespaces(), config),
    }
}

/// Runs the controller, and again if a source cannot be read at its start, as a cluster does with its pod.
async fn keep_running(
    informers: &Informers,
    user: &User,
    setup: &Setup,
    handle: &ControllerHandle,
) -> Result<(), RunError> {
    loop {
        match controller(informers, user, setup, handle).future().await {
            Err(RunError::NotSynced { .. }) => {
                user.notes().restarts += 1;
                informers.clock().sleep(AWAY).await;
            }
            ended => return ended,
        }
    }
}

fn controller(informers: &Informers, user: &User, setup: &Setup, handle: &ControllerHandle) -> Running<'static> {
    let Handles { foos, deployments, settings } = user.handles();
    let (own, all_foos) = (Source::from(foos), foos.clone());
    let own = if setup.generations { own.when(predicate::generation_changed) } else { own };
    let mut controller = Controller::new(NAME, informers)
        .reconciles(own)
        .owns(deployments)
        .maps(settings, move |setting, keys| {
            let users = all_foos.list_in(setting.meta().namespace());
            let users = users.iter().filter(|foo| foo.spec.setting == setting.meta().name());
            let users: BTreeSet<Key> = users.map(|foo| foo.key().clone()).collect();
            users.into_iter().for_each(|foo| keys.add(foo));
        })
        .workers(setup.workers)
        .deadline(PATIENCE)
        .await_writes(setup.await_writes)
        .sync_within(QUIET)
        .drain(GRACE)
        .keys(handle)
        .on_report(|_, _| {});
    if let Some((quiet, longest)) = setup.debounce {
        controller = controller.debounce(quiet, longest);
    }
    let user = user.clone();
    controller.calls(async move |cx, key| user.reconcile(&cx, &key).await)
}

/// Others write, and the server is restarted.
async fn trouble(server: &ApiServer, clock: &Clock, setup: &Setup, dice: &mut Dice) {
    for _ in 0..CHANGES {
        clock.sleep(dice.between(Duration::ZERO, setup.calm)).await;
        others::change(server, clock.now(), dice);
        if dice.chance(setup.restarts) {
            let (back, forgets) = (clock.now() + dice.between(Duration::ZERO, AWAY), dice.chance(50));
            server.with(|inside| inside.restart(back, forgets));
        }
    }
}

/// Waits until everything is as wanted and reconciled, and stays so. A watch that nobody says is dead takes minutes.
async fn settle(
    server: &ApiServer,
    user: &User,
    informers: &Informers,
    handle: &ControllerHandle,
) -> Result<(), String> {
    let clock = informers.clock();
    let (end, mut rested) = (clock.now() + QUIET, Duration::ZERO);
    while rested < REST {
        clock.sleep(STEP).await;
        let left = [drifts(server), unreconciled(server, user)].concat();
        let is_settled = left.is_empty() && handle.report().is_empty();
        rested = if is_settled { rested + STEP } else { Duration::ZERO };
        if clock.now() > end {
            let (state, streams) = ((handle.report(), handle.lifecycle()), informers.status());
            return Err(format!("after {QUIET:?}, {state:#?} {streams:#?} {left:#?}"));
        }
    }
    Ok(())
}

/// The keys that were not reconciled after their last change.
fn unreconciled(server: &ApiServer, user: &User) -> Vec<String> {
    let (notes, changes) = (user.notes(), last_changes(server));
    let keys: BTreeSet<&Key> = notes.reconciled.keys().chain(changes.keys()).collect();
    let is_done = |key: &Key| match (changes.get(key), notes.reconciled.get(key)) {
        (Some(changed), Some(Reconciled { began, saw_foo })) => *saw_foo && changed <= began,
        (None, reconciled) => reconciled.is_none_or(|reconciled| !reconciled.saw_foo),
        (Some(_), None) => false,
    };
    let left = keys.into_iter().filter(|key| !is_done(key));
    left.map(|key| format!("{key} was reconciled {:?}: {:#?}", notes.reconciled.get(key), history(server, key)))
        .collect()
}

/// What happened to a key, and to the settings of its namespace.
fn history(server: &ApiServer, key: &Key) -> Vec<String> {
    server.with(|inside| {
        let settings = Place::parse(SETTINGS).unwrap_or_default();
        let changes = inside.store.since(0).iter().filter(|Change { place, .. }| {
            let is_of_key = place.name() == key.name() || settings.covers(place);
            is_of_key && Some(place.namespace()) == key.namespace()
        });
        let line = |Change { at, place, kind, object, .. }: &Change| format!("{at:?} {kind} {place:?} {object}");
        changes.map(line).collect()
    })
}

/// When something last changed that belongs to a foo that is there. A status that the controller reports is no such change.
fn last_changes(server: &ApiServer) -> BTreeMap<Key, Instant> {
    server.with(|inside| {
        let [own, settings] = [FOOS, SETTINGS].map(|collection| Place::parse(collection).unwrap_or_default());
        let (mut changes, mut generations, mut texts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for Change { at, place, kind, object, .. } in inside.store.since(0) {
            let key = Key::new(Some(place.namespace()), place.name());
            // A setting that came and went while a watch was broken is as it was.
            match (settings.covers(place), *kind) {
                (true, "DELETED") => drop(texts.remove(&key)),
                (true, _) => drop(texts.insert(key.clone(), *at)),
                (false, _) => {}
            }
            if settings.covers(place) {
                continue;
            }
            let state =
                (object["metadata"]["uid"].clone(), object["metadata"]["generation"].clone(), *kind == "DELETED");
            if !own.covers(place) || generations.insert(key.clone(), state.clone()) != Some(state) {
                changes.insert(key, *at);
            }
        }
        let mut foos = BTreeMap::new();
        for (place, foo) in inside.store.objects_of(&own) {
            let setting = Key::new(Some(place.namespace()), foo["spec"]["setting"].as_str().unwrap_or_default());
            let key = Key::new(Some(place.namespace()), place.name());
            let last = [texts.get(&setting), changes.get(&key)].into_iter().flatten().max();
            foos.insert(key, last.copied().unwrap_or_default());
        }
        foos
    })
}
