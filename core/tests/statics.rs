//! Machines in fixed memory as `static`s: they take no flash, and are made without a stack of their size.

use listwatch_core::Instant;
use listwatch_core::cache::FixedIndexer;
use listwatch_core::controller::{Ended, FixedReconciler};
use listwatch_core::fanout::{EventLogIn, FixedEventLog, Notice, SubscriptionConfig, Transition};
use listwatch_core::fifo::{Delta, FixedDeltaFifo, Order};
use listwatch_core::projection;
use listwatch_core::projection::{Projected, Text};
use listwatch_core::queue::{
    DefaultControllerRateLimiter, ExponentialBackoff, Finished, FixedWorkQueue, Lanes, Outcome, Priority,
};
use listwatch_core::storage::{Fixed, Indexed, Keyed, Versioned};
use listwatch_core::sync::{CriticalSectionLock, Shared, SpinLock};

/// An object with a niche: an `Option` around it would not be zeros.
#[derive(Clone, Debug, PartialEq)]
struct Door {
    name: &'static str,
    version: &'static str,
    floor: &'static str,
    is_open: bool,
}

impl Keyed for Door {
    type Key = &'static str;

    fn key(&self) -> &&'static str {
        &self.name
    }
}

impl Versioned for Door {
    fn resource_version(&self) -> &str {
        self.version
    }

    fn is_same_object(&self, other: &Self) -> bool {
        self.name == other.name
    }

    fn is_same_state(&self, other: &Self) -> bool {
        self == other
    }
}

const FRONT: Door = Door { name: "front", version: "1", floor: "ground", is_open: true };

type Static<T> = Shared<T, CriticalSectionLock>;

/// Stacks of tests have room for none of these.
const MANY: usize = 50_000;

static DOORS: Static<FixedIndexer<Door, MANY, Indexed<2, MANY, 100, 32>>> = Static::const_new(FixedIndexer::new());
static DELTAS: Static<FixedDeltaFifo<Door, MANY>> = Static::const_new(FixedDeltaFifo::new(Order::Arrival));
static KEYS: Static<FixedWorkQueue<u32, MANY>> = Static::const_new(FixedWorkQueue::new(ExponentialBackoff::DEFAULT));
static LANES: Static<FixedWorkQueue<u32, MANY, DefaultControllerRateLimiter, Lanes<u32>>> = Static::const_new(
    FixedWorkQueue::with_discipline(DefaultControllerRateLimiter::default_controller(), Lanes::new(), 0),
);
static EVENTS: Static<FixedEventLog<Door, MANY>> = Static::const_new(FixedEventLog::new(LIMIT));
const LIMIT: usize = EventLogIn::<Door, Fixed<MANY>>::DEFAULT_LIMIT;
static RECONCILER: Static<FixedReconciler<u32, bool, bool, MANY>> = Static::const_new(FixedReconciler::new(
    FixedWorkQueue::with_discipline(ExponentialBackoff::DEFAULT, Lanes::new(), 0),
    0,
));
static SPINNING: Shared<FixedWorkQueue<u32, MANY>, SpinLock> =
    Shared::<_, SpinLock>::const_new(FixedWorkQueue::new(ExponentialBackoff::DEFAULT));
/// The proof of the proof: one number that is not zero.
static IN_FLASH: Static<FixedWorkQueue<u32, 16>> =
    Static::const_new(FixedWorkQueue::new(ExponentialBackoff::DEFAULT).with_max_retries(5));

#[test]
fn an_indexer_in_a_static_works() {
    let by_floor = DOORS.with(|doors| doors.try_add_index(|door, emit| emit(door.floor))).ok().unwrap();
    DOORS.with(|doors| doors.seed_unless_chosen(7));
    assert!(DOORS.with(|doors| doors.try_insert(FRONT)).is_ok());
    assert_eq!(DOORS.read(|doors| doors.index_keys(by_floor, "ground").count()), 1);
    DOORS.with(|doors| doors.clear());
}

#[test]
fn a_delta_fifo_in_a_static_works() {
    DELTAS.with(|deltas| deltas.set_coalescing());
    assert!(DELTAS.with(|deltas| deltas.try_add(FRONT)).is_ok());
    assert_eq!(DELTAS.with(|deltas| deltas.pop()).map(|popped| popped.delta), Some(Delta::Added(FRONT)));
}

#[test]
fn work_queues_in_statics_work() {
    KEYS.with(|keys| keys.set_max_retries(0));
    assert!(KEYS.with(|keys| keys.try_add(1)).is_ok());
    let job = KEYS.with(|keys| keys.poll_job()).unwrap();
    assert_eq!(KEYS.with(|keys| keys.finish(Instant::ZERO, job, Outcome::Retry)), Finished::GaveUp);
    assert!(SPINNING.with(|keys| keys.try_add(1)).is_ok());
    assert!(LANES.with(|keys| keys.try_add_with_priority(1, Priority::High)).is_ok());
    assert_eq!((SPINNING.read(|keys| keys.len()), LANES.read(|keys| keys.len())), (1, 1));
    assert_eq!(IN_FLASH.read(|keys| keys.len()), 0);
}

#[test]
fn an_event_log_in_a_static_works() {
    let config = SubscriptionConfig::new();
    let id = EVENTS.with(|events| events.try_subscribe(Instant::ZERO, config, [].iter())).ok().unwrap();
    let added = Transition::Added { object: FRONT, initial: false };
    assert!(EVENTS.with(|events| events.try_push(Instant::ZERO, added.clone())).is_ok());
    let told = EVENTS.with(|events| events.poll_next(id));
    assert!(matches!(told, Some(Notice::Changed(change)) if change == added));
}

#[test]
fn a_reconciler_in_a_static_works() {
    RECONCILER.with(|reconciler| reconciler.start(Instant::ZERO, None));
    assert!(RECONCILER.with(|reconciler| reconciler.try_add(Instant::ZERO, 1, Priority::Normal, true)).is_ok());
    let item = RECONCILER.with(|reconciler| reconciler.poll_item(Instant::ZERO)).unwrap();
    let ended = RECONCILER.with(|reconciler| reconciler.finish(Instant::ZERO, item, Outcome::Done, []));
    assert_eq!(ended, Ended::Finished(Finished::Done));
}

/// The kind of section that the linker has put a `static` into, of this program: `b` is `.bss`, `d` is `.data`.
#[cfg(target_os = "linux")]
fn sections(names: &[&str]) -> Vec<(String, String, u64)> {
    let program = std::env::current_exe().expect("this program has a path");
    let listed = std::process::Command::new("nm").arg("-S").arg(program).output().expect("nm of the linker's package");
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let found = |name: &&str| {
        let line =
            text.lines().find(|line| line.contains("statics") && line.contains(&format!("{}{name}", name.len())));
        let mut words = line?.split_whitespace().skip(1);
        let size = u64::from_str_radix(words.next()?, 16).ok()?;
        Some((name.to_string(), words.next()?.to_lowercase(), size))
    };
    names.iter().map(|name| found(name).unwrap_or_else(|| panic!("no symbol {name}"))).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_machine_in_a_static_takes_no_flash() {
    for (name, section, size) in sections(&["DOORS", "DELTAS", "KEYS", "LANES", "EVENTS", "RECONCILER", "SPINNING"]) {
        assert_eq!(section, "b", "{name}, of {size} bytes");
        assert!(size > 500_000, "{name}: {size} bytes");
    }
    // Optimized, the program would have it without a name otherwise.
    core::hint::black_box(&IN_FLASH);
    let in_flash = sections(&["IN_FLASH"]);
    assert_eq!(in_flash[0].1, "d");
}

projection! {
    struct PodLine {
        node: Text<24> = "spec.nodeName",
        phase: Text<12> = "status.phase",
        restarts: u32 = "status.containerStatuses[0].restartCount",
    }
}

/// 128 pods with 2 indexes, a stage of 16 changes, and a queue of 128 keys.
type Pod = Projected<PodLine, 48>;
type Pods = FixedIndexer<Pod, 128, Indexed<2, 256, 24, 24>>;
type Changes = FixedDeltaFifo<Pod, 16>;
type Work = FixedWorkQueue<Text<48>, 128>;

#[test]
fn machines_for_128_pods_take_less_than_44_kb() {
    let sizes = [size_of::<Pods>(), size_of::<Changes>(), size_of::<Work>()];
    println!("a pod {}, indexer, FIFO and queue {sizes:?}", size_of::<Pod>());
    assert!(sizes.iter().sum::<usize>() < 44 * 1024, "{sizes:?}");
}
