//! Controllers whose own code panics wherever it is called, at random: index functions, handlers, reconciles.
//!
//! The informer, the queue, the workers and the clock are those of users; the server and the network are simulated. When
//! nothing panics any more, every key has been reconciled after its last change, nothing is stuck, and the counts are right.
//!
//! ```sh
//! SIM_SEEDS=100000 cargo test -p listwatch-tests --test suite simulation::panics
//! ```

use listwatch::SharedWorkQueue;
use listwatch::cache::{Indexer, Store, StoreWriter};
use listwatch::decode::MetadataOnly;
use listwatch::events::SharedEvents;
use listwatch::object::ObjectHandle;
use listwatch::queue::ExponentialBackoff;
use listwatch::queue::WorkQueue;
use listwatch::time::Instant;
use listwatch::workers::Unfinished;
use listwatch::{
    Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Key, Outcome, Resource, Workers, run,
};
use listwatch_tests::sim::{Dice, KeyNumber, Line, Seeds, Server, ServerConfig, Site, Write};
use smol::stream::StreamExt;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::task::Poll;
use std::time::Duration;

const SEEDS: u64 = 500;
const KEYS: KeyNumber = 12;
/// How often the server is written to.
const CHANGES: u32 = 40;
/// Long enough for the longest back-off of all.
const QUIET: Duration = Duration::from_secs(600);
const GRACE: Duration = Duration::from_secs(10);

type Pod = ObjectHandle<MetadataOnly>;
type Pods = Store<MetadataOnly>;
type Queue = Arc<SharedWorkQueue<Key>>;

#[test]
fn every_key_is_reconciled_after_its_last_change_whatever_panics() {
    silence();
    let seeds = Seeds::of_env("SIM_SEEDS", SEEDS);
    let mut met = Tally::default();
    for seed in seeds.first..seeds.first + seeds.count {
        let tally = catch_unwind(|| play(seed)).unwrap_or_else(|_| panic!("SIM_SEED={seed}"));
        met.index += tally.index;
        met.handler += tally.handler;
        met.reconcile += tally.reconcile;
    }
    println!("{met:?}");
    if seeds.count >= SEEDS {
        assert!([met.index, met.handler, met.reconcile].iter().all(|times| *times > SEEDS), "{met:?}");
    }
}

/// How often the code of each kind has panicked.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    index: u64,
    handler: u64,
    reconcile: u64,
}

/// The code of a user that is not what it should be, and what it has seen.
struct Flaws {
    dice: Dice,
    tally: Tally,
    /// In a hundred calls.
    panics: u64,
    hangs: bool,
    /// Counts what happens.
    step: u64,
    changed: BTreeMap<Key, u64>,
    reconciled: BTreeMap<Key, u64>,
    busy: BTreeSet<Key>,
    /// How often `on_panic` was called.
    told: u64,
}

#[derive(Clone)]
struct User(Arc<Mutex<Flaws>>);

impl User {
    fn new(mut dice: Dice) -> Self {
        let panics = 5 + dice.below(40);
        let (changed, reconciled, busy) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let tally = Tally::default();
        Self(Arc::new(Mutex::new(Flaws {
            dice,
            tally,
            panics,
            hangs: false,
            step: 0,
            changed,
            reconciled,
            busy,
            told: 0,
        })))
    }

    fn flaws(&self) -> MutexGuard<'_, Flaws> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Panics by chance, and counts it.
    fn may_panic(&self, count: fn(&mut Tally) -> &mut u64) {
        let mut flaws = self.flaws();
        let percent = flaws.panics;
        let panics = flaws.dice.chance(percent);
        *count(&mut flaws.tally) += u64::from(panics);
        drop(flaws);
        assert!(!panics, "on purpose");
    }

    fn step(&self) -> u64 {
        let mut flaws = self.flaws();
        flaws.step += 1;
        flaws.step
    }

    /// The handler: it notes the change, and adds the key.
    fn handle(&self, event: &Event<MetadataOnly>, queue: &Queue) {
        self.may_panic(|tally| &mut tally.handler);
        let Some(key) = event.key() else { return };
        let step = self.step();
        self.flaws().changed.insert(key.clone(), step);
        queue.add(key.clone());
        self.may_panic(|tally| &mut tally.handler);
    }

    async fn reconcile(self, key: Key, pods: Pods, clock: Clock) -> Outcome {
        let _busy = Busy::new(&self, &key);
        if self.flaws().hangs {
            std::future::pending::<()>().await;
        }
        self.may_panic(|tally| &mut tally.reconcile);
        let seen = self.step();
        let _newest = pods.get(&key);
        let pause = self.flaws().dice.between(Duration::ZERO, Duration::from_millis(300));
        clock.sleep(pause).await;
        self.may_panic(|tally| &mut tally.reconcile);
        let outcome = self.outcome();
        if !matches!(outcome, Outcome::Retry | Outcome::RetryAfter(_)) {
            self.flaws().reconciled.insert(key.clone(), seen);
        }
        outcome
    }

    fn outcome(&self) -> Outcome {
        let mut flaws = self.flaws();
        if flaws.panics == 0 {
            return Outcome::Done;
        }
        let time = flaws.dice.between(Duration::ZERO, Duration::from_secs(3));
        flaws.dice.pick(&[
            Outcome::Done,
            Outcome::Done,
            Outcome::Retry,
            Outcome::RetryAfter(time),
            Outcome::RequeueAfter(time),
        ])
    }
}

/// A key that is being reconciled.
struct Busy<'a>(&'a User, Key);

impl<'a> Busy<'a> {
    fn new(user: &'a User, key: &Key) -> Self {
        assert!(user.flaws().busy.insert(key.clone()), "{key} is with two workers");
        Self(user, key.clone())
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.flaws().busy.remove(&self.1);
    }
}

fn queue() -> Queue {
    let limiter = ExponentialBackoff::new(Duration::from_millis(5), Duration::from_secs(20));
    Arc::new(SharedWorkQueue::new(WorkQueue::new(limiter)))
}

fn cache(user: &User) -> StoreWriter<MetadataOnly> {
    let (mut pods, user) = (Indexer::new(), user.clone());
    pods.add_index(move |pod: &Pod, emit: &mut dyn FnMut(&str)| {
        emit(pod.meta().namespace().unwrap_or_default());
        user.may_panic(|tally| &mut tally.index);
        emit(pod.meta().label("app").unwrap_or_default());
    });
    StoreWriter::new(pods)
}

/// Takes the events. Whatever panics is called again: the informer, and the handler with the event that it had.
async fn follow(mut events: SharedEvents<MetadataOnly, Line>, user: &User, queue: &Queue, is_quiet: &AtomicBool) {
    loop {
        let polled = poll_fn(|cx| {
            if is_quiet.load(Relaxed) {
                events.driver_mut().transport_mut().mend();
            }
            catch_unwind(AssertUnwindSafe(|| events.poll_next(cx))).unwrap_or(Poll::Ready(None))
        });
        let Some(event) = polled.await else { continue };
        while catch_unwind(AssertUnwindSafe(|| user.handle(&event, queue))).is_err() {}
    }
}

fn play(seed: u64) -> Tally {
    let mut dice = Dice::new(seed);
    let user = User::new(Dice::new(dice.throw()));
    let (cache, queue, clock) = (cache(&user), queue(), Clock::simulated());
    let pods = cache.store();
    let site = Site::new(Server::new(ServerConfig::sound(KEYS)));
    let line = Line::new(Arc::clone(&site), Dice::new(dice.throw()), 30);
    let informer =
        Informer::<MetadataOnly, _>::with_cache(Resource::new("/api/v1/pods"), InformerConfig::default(), cache);
    let events = Events::start(Driver::new(informer, line), clock.clone());
    let is_quiet = AtomicBool::new(false);
    let executor = Executor::new();
    executor.spawn(follow(events, &user, &queue, &is_quiet)).detach();
    let workers = spawn(&executor, &user, &queue, &pods, &clock, 1 + dice.below(3) as usize);
    let ended = run(&clock, &executor, async {
        for _ in 0..CHANGES {
            clock.sleep(dice.between(Duration::ZERO, Duration::from_secs(5))).await;
            site.change(|server| write(server, &mut dice));
        }
        user.flaws().panics = 0;
        is_quiet.store(true, Relaxed);
        clock.sleep(QUIET).await;
        check(&user, &queue, &pods, &site);
        end(&user, &queue, &clock, workers).await
    });
    assert_eq!(ended.dropped, [Key::from("ns-0/pod-000")], "named when it was dropped");
    assert!(queue.is_drained() && ended.blocked.is_empty());
    user.flaws().tally
}

fn spawn<'a>(
    executor: &Executor<'a>,
    user: &'a User,
    queue: &Queue,
    pods: &'a Pods,
    clock: &Clock,
    count: usize,
) -> Workers<Key> {
    let time = clock.clone();
    let reconcile = move |key: Key| {
        user.may_panic(|tally| &mut tally.reconcile);
        user.clone().reconcile(key, pods.clone(), time.clone())
    };
    Workers::spawn_with(executor, queue, clock, count, reconcile, |_, message: &str| {
        assert_eq!(message, "on purpose");
        user.flaws().told += 1;
    })
}

/// Somebody writes something.
fn write(server: &mut Server, dice: &mut Dice) {
    let key = dice.below(KEYS.into()) as KeyNumber;
    if dice.chance(25) {
        server.log.delete(key);
    } else {
        server.log.put(key, Write { app: dice.below(4) as u8, ..Write::default() });
    }
}

/// What has to hold when nothing has panicked for a while.
fn check(user: &User, queue: &Queue, pods: &Pods, site: &Site) {
    let there = site.read(|server| server.log.states(server.log.revision()).map(|(_, pod)| pod.revision).collect());
    let mut known: Vec<u64> = pods.read(|pods| {
        pods.check();
        pods.iter().filter_map(|pod| pod.meta().resource_version().parse().ok()).collect()
    });
    known.sort_unstable();
    let mut expected: Vec<u64> = there;
    expected.sort_unstable();
    assert_eq!(known, expected, "the cache has what the server has");
    let flaws = user.flaws();
    for (key, changed) in &flaws.changed {
        let reconciled = flaws.reconciled.get(key);
        assert!(reconciled > Some(changed), "{key} changed at step {changed}, reconciled at {reconciled:?}");
    }
    let stats = queue.stats();
    assert_eq!((stats.depth, stats.parked, flaws.busy.len()), (0, 0, 0), "nothing is stuck");
    assert_eq!((stats.panics, flaws.told), (flaws.tally.reconcile, flaws.tally.reconcile), "each is counted and told");
    assert!(flaws.changed.keys().all(|key| queue.num_requeues(key) == 0), "what is well has no failures");
}

/// One reconcile hangs, and a drain ends all the same.
async fn end(user: &User, queue: &Queue, clock: &Clock, workers: Workers<Key>) -> Unfinished<Key> {
    user.flaws().hangs = true;
    queue.add(Key::from("ns-0/pod-000"));
    clock.sleep(Duration::from_secs(1)).await;
    let begun: Instant = clock.now();
    queue.shut_down_with_drain(begun, GRACE);
    let unfinished = workers.join().await;
    assert_eq!(clock.now(), begun + GRACE);
    unfinished
}

/// The panics that are meant are not printed.
pub(crate) fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.payload().downcast_ref::<&str>() != Some(&"on purpose") {
                print(panic);
            }
        }));
    });
}
