use super::{EventLogIn, Notice, SubscriberId, SubscriptionConfig, Transition, WhenBehind};
use crate::storage::{Keyed, Mem, Versioned, in_both_memories};
use crate::time::Instant;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};

in_both_memories!(
    a_late_joiner_is_told_each_object_once_and_every_change_after_it,
    one_that_falls_behind_is_told_one_change_a_key,
);

/// A key, a uid, a version.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pod(&'static str, u32, u32);

impl Keyed for Pod {
    type Key = &'static str;

    fn key(&self) -> &&'static str {
        &self.0
    }
}

impl Versioned for Pod {
    fn resource_version(&self) -> &str {
        "-"
    }

    fn is_same_object(&self, other: &Self) -> bool {
        self.1 == other.1
    }

    fn is_same_state(&self, other: &Self) -> bool {
        self.1 == other.1 && self.2 == other.2
    }
}

type Log<M> = EventLogIn<Pod, M>;

fn added(object: Pod) -> Transition<Pod> {
    Transition::Added { object, initial: false }
}

fn updated(old: Pod, new: Pod) -> Transition<Pod> {
    Transition::Updated { old, new }
}

fn deleted(old: Pod, object: Pod) -> Transition<Pod> {
    Transition::Deleted { old, object, final_state_known: true }
}

fn push<M: Mem>(log: &mut Log<M>, transition: Transition<Pod>) {
    assert!(log.try_push(Instant::ZERO, transition).is_ok());
}

fn subscribe<M: Mem>(log: &mut Log<M>, config: SubscriptionConfig<Pod, M>, objects: &[Pod]) -> SubscriberId {
    log.try_subscribe(Instant::ZERO, config, objects.iter()).ok().unwrap()
}

/// All that a subscriber is told now, in short: `+a1` with the version, `a1>2` for an update, `-a1`, `i+a1` in a first
/// list, `#mark`, `synced`.
fn told<M: Mem>(log: &mut Log<M>, id: SubscriberId) -> Vec<String> {
    core::iter::from_fn(|| log.poll_next(id)).map(|notice| short(&notice)).collect()
}

fn short<M: Mem>(notice: &Notice<Pod, M>) -> String {
    match notice {
        Notice::Changed(Transition::Added { object, initial }) => {
            format!("{}+{}{}", if *initial { "i" } else { "" }, object.0, object.2)
        }
        Notice::Changed(Transition::Updated { old, new }) => format!("{}{}>{}", old.0, old.2, new.2),
        Notice::Changed(Transition::Deleted { old, object, .. }) => format!("-{}{}>{}", object.0, old.2, object.2),
        Notice::Mark(mark) => format!("#{}", &**mark),
        Notice::Synced => "synced".to_string(),
    }
}

fn a_late_joiner_is_told_each_object_once_and_every_change_after_it<M: Mem>() {
    let mut log = Log::<M>::new(8);
    let early = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    push(&mut log, added(Pod("a", 1, 1)));
    log.push_synced();
    let rule = SubscriptionConfig::new().when_behind(WhenBehind::Wait);
    let late = subscribe(&mut log, rule, &[Pod("a", 1, 1)]);
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    push(&mut log, added(Pod("b", 2, 3)));
    assert_eq!(told(&mut log, early), ["+a1", "synced", "a1>2", "+b3"]);
    assert_eq!(told(&mut log, late), ["i+a1", "synced", "a1>2", "+b3"]);
    assert!(log.has_synced(early) && log.has_synced(late) && !log.has_next(early) && !log.has_next(late));
}

fn one_that_falls_behind_is_told_one_change_a_key<M: Mem>() {
    let mut log = Log::<M>::new(2);
    let slow = subscribe(&mut log, SubscriptionConfig::new(), &[Pod("a", 1, 1)]);
    assert_eq!(told(&mut log, slow), ["i+a1"]);
    for version in 1..5 {
        push(&mut log, updated(Pod("a", 1, version), Pod("a", 1, version + 1)));
    }
    push(&mut log, added(Pod("b", 2, 6)));
    push(&mut log, deleted(Pod("b", 2, 6), Pod("b", 2, 7)));
    push(&mut log, added(Pod("c", 3, 8)));
    assert_eq!(told(&mut log, slow), ["a1>5", "+c8"]);
}

#[test]
fn marks_of_swallowed_states_are_told_once() {
    let mut log = Log::<crate::storage::Heap>::new(1);
    let marks = alloc::boxed::Box::new(|pod: &Pod, to: &mut dyn FnMut(&str)| to(&format!("v{}", pod.2)));
    let slow = subscribe(&mut log, SubscriptionConfig::<_, crate::storage::Heap>::new().marks(marks), &[]);
    push(&mut log, added(Pod("a", 1, 1)));
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    push(&mut log, updated(Pod("a", 1, 2), Pod("a", 1, 3)));
    assert_eq!(told(&mut log, slow), vec!["#v1", "#v2", "+a3"]);
}
