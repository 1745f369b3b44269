use super::{EventLogIn, Notice, SubscriberId, SubscriptionConfig, Transition, WhenBehind};
use crate::storage::{Fixed, Full, Heap, Keyed, Mem, Versioned, in_both_memories};
use crate::time::Instant;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::cell::Cell;
use core::hash::{Hash, Hasher};
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};

in_both_memories!(
    a_late_joiner_is_told_each_object_once_and_every_change_after_it,
    a_late_joiner_that_is_behind_is_told_the_newest_state_of_what_it_joined_with,
    one_that_falls_behind_is_told_one_change_a_key,
    one_that_was_told_everything_follows_again,
    one_that_waits_is_told_every_change_and_holds_the_log_back,
    one_that_has_read_the_oldest_entry_is_not_behind,
    one_that_leaves_no_longer_holds_the_log_back,
    in_sync_is_told_once_after_the_first_list_and_before_later_changes,
    what_was_added_and_deleted_while_behind_is_silent_but_for_its_marks,
    an_owner_between_two_others_is_told,
    an_object_that_was_created_anew_while_behind_is_an_update,
    a_deletion_while_behind_begins_with_the_state_that_was_told,
    an_owner_before_a_deletion_that_is_told_with_another_owner_is_not_lost,
    what_a_quiet_one_had_is_not_told_again,
    what_a_quiet_one_had_is_not_told_when_it_is_behind,
    a_state_that_came_back_leaves_the_marks_of_all_that_was_swallowed,
    a_resync_is_told_with_the_changes_that_wait,
    a_resync_is_told_even_if_the_state_came_back,
    entries_keep_their_order_when_the_log_grows_around_its_end,
    in_sync_comes_before_a_resync_that_was_asked_for_at_the_end_of_the_first_list,
    a_resync_of_one_that_waits_comes_after_the_changes_before_it,
    an_old_id_reaches_nobody,
    marks_that_panic_stop_neither_the_log_nor_the_others,
    marks_that_panic_while_their_subscriber_reads_lose_no_change,
    lag_is_the_age_of_the_oldest_item,
    without_subscribers_nothing_is_kept,
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
        Notice::MarksLost => "marks lost".to_string(),
        Notice::Synced => "synced".to_string(),
    }
}

fn a_late_joiner_is_told_each_object_once_and_every_change_after_it<M: Mem>() {
    let mut log = Log::<M>::new(8);
    let early = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    push(&mut log, added(Pod("a", 1, 1)));
    log.push_synced();
    let late = subscribe(&mut log, waiting(), &[Pod("a", 1, 1)]);
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

fn a_late_joiner_that_is_behind_is_told_the_newest_state_of_what_it_joined_with<M: Mem>() {
    let mut log = Log::<M>::new(8);
    log.push_synced();
    let late = subscribe(&mut log, SubscriptionConfig::new(), &[Pod("a", 1, 1), Pod("b", 2, 2), Pod("c", 3, 3)]);
    push(&mut log, updated(Pod("b", 2, 2), Pod("b", 2, 4)));
    push(&mut log, added(Pod("d", 4, 5)));
    push(&mut log, deleted(Pod("a", 1, 1), Pod("a", 1, 6)));
    assert_eq!(log.backlog(late), 6);
    assert_eq!(told(&mut log, late), ["i+b4", "i+c3", "synced", "+d5"]);
    assert_eq!(log.backlog(late), 0);
}

fn one_that_was_told_everything_follows_again<M: Mem>() {
    let mut log = Log::<M>::new(1);
    let slow = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    push(&mut log, added(Pod("a", 1, 1)));
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    assert_eq!(told(&mut log, slow), ["+a2"]);
    push(&mut log, updated(Pod("a", 1, 2), Pod("a", 1, 3)));
    assert_eq!(told(&mut log, slow), ["a2>3"]);
    push(&mut log, updated(Pod("a", 1, 3), Pod("a", 1, 4)));
    assert_eq!(told(&mut log, slow), ["a3>4"]);
}

fn one_that_waits_is_told_every_change_and_holds_the_log_back<M: Mem>() {
    let mut log = Log::<M>::new(2);
    let waits = subscribe(&mut log, waiting(), &[Pod("a", 1, 1)]);
    let other = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    assert!(log.has_room());
    push(&mut log, updated(Pod("a", 1, 2), Pod("a", 1, 3)));
    assert_eq!((log.has_room(), told(&mut log, other).len()), (false, 2));
    assert!(!log.has_room(), "the other one holds nothing back");
    push(&mut log, updated(Pod("a", 1, 3), Pod("a", 1, 4)));
    assert_eq!(short(&log.poll_next(waits).unwrap()), "i+a1");
    assert_eq!((log.backlog(waits), log.has_room()), (3, false), "beyond the limit");
    assert_eq!(told(&mut log, waits), ["a1>2", "a2>3", "a3>4"]);
    assert!(log.has_room());
}

fn one_that_has_read_the_oldest_entry_is_not_behind<M: Mem>() {
    let mut log = Log::<M>::new(2);
    let slow = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    let readers = [SubscriptionConfig::new(), waiting()].map(|config| subscribe(&mut log, config, &[]));
    push(&mut log, added(Pod("a", 1, 1)));
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    for id in readers {
        assert_eq!(log.poll_next(id).map(|notice| short(&notice)).as_deref(), Some("+a1"));
    }
    assert!(log.has_room());
    push(&mut log, updated(Pod("a", 1, 2), Pod("a", 1, 3)));
    for id in readers {
        assert_eq!(told(&mut log, id), ["a1>2", "a2>3"]);
    }
    assert_eq!(told(&mut log, slow), ["+a3"]);
}

fn one_that_leaves_no_longer_holds_the_log_back<M: Mem>() {
    let mut log = Log::<M>::new(1);
    let [stays, leaves] = [(); 2].map(|()| subscribe(&mut log, waiting(), &[Pod("z", 9, 9)]));
    push(&mut log, added(Pod("a", 1, 1)));
    told(&mut log, stays);
    assert!(!log.has_room());
    log.unsubscribe(leaves);
    assert!(log.has_room());
    log.check();
    assert_eq!((log.ring.len(), log.backlog.len(), log.subscribers()), (0, 0, 1));
}

fn in_sync_is_told_once_after_the_first_list_and_before_later_changes<M: Mem>() {
    for config in [SubscriptionConfig::new(), waiting()] {
        let mut log = Log::<M>::new(8);
        let id = subscribe(&mut log, config, &[Pod("a", 1, 1)]);
        push(&mut log, Transition::Added { object: Pod("b", 2, 2), initial: true });
        assert_eq!((told(&mut log, id), log.has_synced(id)), (vec!["i+a1".to_string(), "i+b2".to_string()], false));
        push(&mut log, Transition::Added { object: Pod("c", 3, 3), initial: true });
        log.push_synced();
        push(&mut log, added(Pod("d", 4, 4)));
        log.push_synced();
        assert_eq!(told(&mut log, id), ["i+c3", "synced", "+d4"]);
    }
    let mut log = Log::<M>::new(8);
    let id = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    assert!(!log.has_next(id));
    log.push_synced();
    assert!(log.has_next(id) && !log.has_synced(id));
    assert_eq!((told(&mut log, id), log.has_next(id)), (vec!["synced".to_string()], false));
}

fn what_was_added_and_deleted_while_behind_is_silent_but_for_its_marks<M: Marked>() {
    let mut log = Log::<M>::new(1);
    let slow = subscribe(&mut log, SubscriptionConfig::new().marks(M::marks()), &[]);
    push(&mut log, added(Pod("a", 1, 1)));
    push(&mut log, deleted(Pod("a", 1, 1), Pod("a", 1, 2)));
    push(&mut log, added(Pod("b", 2, 3)));
    assert_eq!(told(&mut log, slow), ["#m1", "#m2", "+b3"]);
    assert_eq!((log.marks.len(), log.backlog.len()), (0, 0));
}

fn an_owner_between_two_others_is_told<M: Marked>() {
    let mut log = Log::<M>::new(1);
    let slow = subscribe(&mut log, SubscriptionConfig::new().marks(M::marks()), &[Pod("a", 1, 1)]);
    assert_eq!(told(&mut log, slow), ["i+a1"]);
    for version in 1..3 {
        push(&mut log, updated(Pod("a", 1, version), Pod("a", 1, version + 1)));
    }
    push(&mut log, updated(Pod("a", 1, 3), Pod("a", 1, 2)));
    push(&mut log, updated(Pod("a", 1, 2), Pod("a", 1, 4)));
    assert_eq!(told(&mut log, slow), ["#m2", "#m3", "a1>4"]);
}

fn an_object_that_was_created_anew_while_behind_is_an_update<M: Mem>() {
    let mut log = Log::<M>::new(1);
    let [knows, not] = [&[Pod("a", 1, 1)][..], &[]].map(|it| subscribe(&mut log, SubscriptionConfig::new(), it));
    told(&mut log, knows);
    push(&mut log, deleted(Pod("a", 1, 1), Pod("a", 1, 2)));
    push(&mut log, Transition::Added { object: Pod("a", 2, 3), initial: false });
    let Some(Notice::Changed(Transition::Updated { old, new })) = log.poll_next(knows) else { panic!("an update") };
    assert_eq!((old, new, log.poll_next(knows)), (Pod("a", 1, 1), Pod("a", 2, 3), None));
    push(&mut log, updated(Pod("a", 2, 3), Pod("a", 3, 4)));
    assert_eq!(log.poll_next(knows), Some(Notice::Changed(updated(Pod("a", 2, 3), Pod("a", 3, 4)))));
    log.unsubscribe(not);
}

fn a_deletion_while_behind_begins_with_the_state_that_was_told<M: Mem>() {
    let mut log = Log::<M>::new(1);
    let slow = subscribe(&mut log, SubscriptionConfig::new(), &[Pod("a", 1, 1)]);
    told(&mut log, slow);
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    push(&mut log, Transition::Deleted { old: Pod("a", 1, 2), object: Pod("a", 1, 2), final_state_known: false });
    let gone = Transition::Deleted { old: Pod("a", 1, 1), object: Pod("a", 1, 2), final_state_known: false };
    assert_eq!(log.poll_next(slow), Some(Notice::Changed(gone)));
}

/// A deletion is told to programs with its final state alone, so what the subscriber knew leaves its marks.
fn an_owner_before_a_deletion_that_is_told_with_another_owner_is_not_lost<M: Marked>() {
    let mut log = Log::<M>::new(1);
    let slow = subscribe(&mut log, SubscriptionConfig::new().marks(M::marks()), &[Pod("a", 1, 1)]);
    assert_eq!(told(&mut log, slow), ["i+a1"]);
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    push(&mut log, deleted(Pod("a", 1, 2), Pod("a", 1, 3)));
    push(&mut log, added(Pod("b", 1, 4)));
    assert_eq!(told(&mut log, slow), ["#m2", "#m1", "-a1>3", "+b4"]);
}

fn what_a_quiet_one_had_is_not_told_again<M: Mem>() {
    for config in [SubscriptionConfig::new(), waiting()] {
        let mut log = Log::<M>::new(2);
        let a = Pod("a", 1, 1);
        let [quiet, not] = [config.quiet(), SubscriptionConfig::new()].map(|it| subscribe(&mut log, it, &[a]));
        assert_eq!(told(&mut log, quiet), told(&mut log, not));
        push(&mut log, updated(a, a));
        assert_eq!((told(&mut log, quiet), told(&mut log, not)), (vec![], vec!["a1>1".to_string()]));
        (0..2).for_each(|_| push(&mut log, updated(a, a)));
        assert!(log.try_resync(quiet, [a].iter()).is_ok());
        push(&mut log, updated(a, a));
        assert_eq!(told(&mut log, quiet), ["a1>1"], "a resync is told");
    }
}

fn what_a_quiet_one_had_is_not_told_when_it_is_behind<M: Mem>() {
    let mut log = Log::<M>::new(1);
    let a = Pod("a", 1, 1);
    let quiet = subscribe(&mut log, SubscriptionConfig::new().quiet(), &[a]);
    told(&mut log, quiet);
    push(&mut log, updated(a, a));
    push(&mut log, added(Pod("b", 2, 2)));
    assert_eq!(told(&mut log, quiet), ["+b2"]);
}

fn a_state_that_came_back_leaves_the_marks_of_all_that_was_swallowed<M: Marked>() {
    let mut log = Log::<M>::new(1);
    let config = SubscriptionConfig::new().quiet().marks(M::marks());
    let slow = subscribe(&mut log, config, &[Pod("a", 1, 1)]);
    told(&mut log, slow);
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 1)));
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    push(&mut log, updated(Pod("a", 1, 2), Pod("a", 1, 1)));
    push(&mut log, added(Pod("b", 1, 3)));
    assert_eq!(told(&mut log, slow), ["#m2", "#m1", "+b3"]);
}

fn a_resync_is_told_with_the_changes_that_wait<M: Mem>() {
    let mut log = Log::<M>::new(8);
    let id = subscribe(&mut log, SubscriptionConfig::new(), &[Pod("a", 1, 1), Pod("b", 2, 2)]);
    told(&mut log, id);
    push(&mut log, updated(Pod("b", 2, 2), Pod("b", 2, 3)));
    assert!(log.try_resync(id, [Pod("a", 1, 1), Pod("b", 2, 3)].iter()).is_ok());
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 4)));
    assert_eq!(told(&mut log, id), ["b2>3", "a1>4"]);
    assert!(log.try_resync(id, [Pod("a", 1, 4)].iter()).is_ok());
    assert_eq!(told(&mut log, id), ["a4>4"]);
}

fn a_resync_is_told_even_if_the_state_came_back<M: Mem>() {
    let mut log = Log::<M>::new(1);
    let id = subscribe(&mut log, SubscriptionConfig::new().quiet(), &[Pod("a", 1, 1)]);
    told(&mut log, id);
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    assert!(log.try_resync(id, [Pod("a", 1, 2)].iter()).is_ok());
    assert!(log.try_resync(id, [Pod("a", 1, 2)].iter()).is_ok());
    push(&mut log, updated(Pod("a", 1, 2), Pod("a", 1, 1)));
    assert_eq!(told(&mut log, id), ["a1>1"]);
}

fn entries_keep_their_order_when_the_log_grows_around_its_end<M: Mem>() {
    let mut log = Log::<M>::new(8);
    let id = subscribe(&mut log, waiting(), &[]);
    push(&mut log, added(Pod("a", 1, 1)));
    push(&mut log, added(Pod("b", 2, 2)));
    assert_eq!(short(&log.poll_next(id).unwrap()), "+a1");
    push(&mut log, added(Pod("c", 3, 3)));
    push(&mut log, added(Pod("d", 4, 4)));
    assert_eq!(told(&mut log, id), ["+b2", "+c3", "+d4"]);
}

fn in_sync_comes_before_a_resync_that_was_asked_for_at_the_end_of_the_first_list<M: Mem>() {
    let mut log = Log::<M>::new(8);
    let id = subscribe(&mut log, SubscriptionConfig::new(), &[Pod("a", 1, 1)]);
    told(&mut log, id);
    assert!(log.try_resync(id, [Pod("a", 1, 1)].iter()).is_ok());
    log.push_synced();
    assert_eq!(told(&mut log, id), ["synced", "a1>1"]);
}

fn a_resync_of_one_that_waits_comes_after_the_changes_before_it<M: Mem>() {
    let mut log = Log::<M>::new(8);
    let id = subscribe(&mut log, waiting(), &[Pod("a", 1, 1)]);
    told(&mut log, id);
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    assert!(log.try_resync(id, [Pod("a", 1, 2)].iter()).is_ok());
    push(&mut log, updated(Pod("a", 1, 2), Pod("a", 1, 3)));
    assert_eq!(told(&mut log, id), ["a1>2", "a2>2", "a2>3"]);
}

fn an_old_id_reaches_nobody<M: Mem>() {
    let mut log = Log::<M>::new(8);
    let old = subscribe(&mut log, SubscriptionConfig::new(), &[Pod("a", 1, 1)]);
    log.push_synced();
    log.unsubscribe(old);
    let new = subscribe(&mut log, SubscriptionConfig::new(), &[Pod("a", 1, 1)]);
    assert_eq!((old.slot, old == new), (new.slot, false));
    log.unsubscribe(old);
    assert!(log.try_resync(old, [Pod("a", 1, 1), Pod("b", 1, 1)].iter()).is_ok());
    assert_eq!((log.poll_next(old), log.has_next(old), log.backlog(old)), (None, false, 0));
    assert_eq!((log.lag(old, Instant::from_nanos(9)), log.has_synced(old)), (Duration::ZERO, false));
    assert_eq!(told(&mut log, new), ["i+a1", "synced"]);
}

/// The push that panics changes nothing. The same push, made again, goes through: the marks are not asked any more.
fn marks_that_panic_stop_neither_the_log_nor_the_others<M: Marked>() {
    let mut log = Log::<M>::new(1);
    let bad = subscribe(&mut log, SubscriptionConfig::new().marks(M::marks()), &[]);
    let good = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    push(&mut log, added(Pod("a", 1, 1)));
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, PANICS)));
    push(&mut log, updated(Pod("a", 1, PANICS), Pod("a", 1, 3)));
    let mut panics = 0;
    for version in 3..8 {
        while catch_unwind(AssertUnwindSafe(|| push(&mut log, updated(Pod("a", 1, version), Pod("a", 1, version + 1)))))
            .is_err()
        {
            panics += 1;
            log.check();
            assert!(log.ring.len() == 1 && panics < 5, "{panics} panics");
        }
        log.check();
    }
    assert_eq!((panics, told(&mut log, good)), (1, vec!["+a8".to_string()]));
    assert_eq!(told(&mut log, bad), ["#m1", "marks lost", "+a8"]);
    push(&mut log, updated(Pod("a", 1, 8), Pod("a", 1, 9)));
    assert_eq!(told(&mut log, bad), ["a8>9"], "nothing is lost where nothing is swallowed");
    for version in 9..12 {
        push(&mut log, updated(Pod("a", 1, version), Pod("a", 1, version + 1)));
    }
    assert_eq!((log.has_next(bad), told(&mut log, bad)), (true, vec!["marks lost".to_string(), "a9>12".to_string()]));
    log.unsubscribe(bad);
    log.unsubscribe(good);
    log.check();
    assert_eq!((log.ring.len(), log.backlog.len(), log.marks.len()), (0, 0, 0));
}

fn marks_that_panic_while_their_subscriber_reads_lose_no_change<M: Marked>() {
    let mut log = Log::<M>::new(1);
    let slow = subscribe(&mut log, SubscriptionConfig::new().marks(M::marks()), &[]);
    push(&mut log, added(Pod("a", 1, PANICS)));
    push(&mut log, deleted(Pod("a", 1, PANICS), Pod("a", 1, 2)));
    assert!(catch_unwind(AssertUnwindSafe(|| log.poll_next(slow).is_some())).is_err());
    log.check();
    assert_eq!(told(&mut log, slow), ["marks lost"]);
    push(&mut log, added(Pod("a", 2, 3)));
    assert_eq!(told(&mut log, slow), ["+a3"]);
}

fn lag_is_the_age_of_the_oldest_item<M: Marked>() {
    let (at, age) = (Instant::from_nanos, Duration::from_nanos);
    let mut log = Log::<M>::new(1);
    let id = log.try_subscribe(at(5), SubscriptionConfig::new().marks(M::marks()), [].iter()).ok().unwrap();
    assert_eq!(log.lag(id, at(9)), age(0));
    assert!(log.try_push(at(6), added(Pod("a", 1, 1))).is_ok());
    assert!(log.try_push(at(3), deleted(Pod("a", 1, 1), Pod("a", 1, 2))).is_ok());
    assert_eq!(log.lag(id, at(9)), age(3), "of the record");
    assert!(log.try_push(at(8), added(Pod("b", 1, 3))).is_ok());
    assert_eq!(log.lag(id, at(9)), age(3), "of the marks, since the clock does not go back");
    assert_eq!((log.backlog(id), told(&mut log, id).len()), (3, 3));
    assert!(log.try_push(at(9), added(Pod("c", 1, 4))).is_ok());
    assert_eq!(log.lag(id, at(11)), age(2), "of the entry");
}

fn without_subscribers_nothing_is_kept<M: Mem>() {
    let mut log = Log::<M>::new(1);
    (1..100).for_each(|version| push(&mut log, added(Pod("a", 1, version))));
    assert_eq!((log.ring.len(), log.has_room(), log.subscribers()), (0, true, 0));
    let id = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    assert!(!log.has_next(id));
}

#[test]
fn one_that_never_reads_costs_its_keys() {
    let mut log = Log::<Heap>::new(4);
    let never = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    let keys: Vec<&'static str> = (0..2_000).map(|n| &*alloc::boxed::Box::leak(n.to_string().into())).collect();
    for version in 1..4 {
        for key in &keys {
            let object = Pod(key, 1, version);
            push(&mut log, if version == 1 { added(object) } else { updated(Pod(key, 1, version - 1), object) });
        }
    }
    assert!(log.backlog.len() <= 2_000 && log.ring.len() <= 4);
    assert_eq!(told(&mut log, never).len(), 2_000);
}

#[test]
fn memory_that_grows_takes_a_resync_without_a_result() {
    let mut log = Log::<Heap>::new(1);
    let id = log.subscribe(Instant::ZERO, SubscriptionConfig::new(), [].iter());
    log.push(Instant::ZERO, added(Pod("a", 1, 1)));
    log.resync(id, [Pod("a", 1, 1), Pod("b", 2, 2)].iter());
    assert_eq!(told(&mut log, id), ["+a1", "b2>2"]);
}

#[test]
fn full_fixed_memory_gives_everything_back_until_somebody_reads() {
    let mut log = Log::<Fixed<2>>::new(8);
    let id = subscribe(&mut log, SubscriptionConfig::new(), &[Pod("a", 1, 1), Pod("b", 2, 2)]);
    assert!(log.try_subscribe(Instant::ZERO, waiting(), [Pod("a", 1, 1)].iter()).is_err());
    assert_eq!((log.subscribers(), log.backlog.len()), (1, 2));
    push(&mut log, added(Pod("c", 3, 3)));
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 4)));
    assert!(!log.has_room());
    let next = updated(Pod("a", 1, 4), Pod("a", 1, 5));
    assert_eq!(log.try_push(Instant::ZERO, next.clone()), Err(Full(next.clone())));
    assert_eq!(log.try_resync(id, [Pod("d", 4, 6)].iter()), Err(Full(())));
    assert_eq!(short(&log.poll_next(id).unwrap()), "i+a1", "what could not be folded comes later");
    assert!(log.has_room());
    assert_eq!(log.try_push(Instant::ZERO, next), Ok(()));
    assert_eq!(told(&mut log, id), ["i+b2", "+c3", "a1>5"]);
}

#[test]
fn full_fixed_memory_has_room_for_the_keys_that_wait_in_it() {
    let mut log = Log::<Fixed<2>>::new(1);
    let id = subscribe(&mut log, SubscriptionConfig::new(), &[Pod("a", 1, 1), Pod("b", 2, 2)]);
    for (old, new) in [(1, 3), (3, 4)] {
        push(&mut log, updated(Pod("a", 1, old), Pod("a", 1, new)));
        assert!(log.has_room());
    }
    push(&mut log, added(Pod("c", 3, 5)));
    assert!(!log.has_room(), "for a third key");
    assert_eq!(told(&mut log, id), ["i+a4", "i+b2", "+c5"]);
}

#[test]
fn a_resync_without_room_announces_nothing_by_itself() {
    let mut log = Log::<Fixed<2>>::new(8);
    let id = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    push(&mut log, added(Pod("a", 1, 1)));
    let objects = [Pod("b", 2, 2), Pod("a", 1, 1), Pod("c", 3, 3)];
    assert_eq!(log.try_resync(id, objects.iter()), Err(Full(())));
    assert_eq!(told(&mut log, id), ["+a1"]);
}

#[test]
fn a_mark_that_is_too_long_holds_the_log_back_until_it_is_not_needed() {
    let mut log = Log::<Fixed<2>>::new(2);
    let id = subscribe(&mut log, SubscriptionConfig::<_, Fixed<2>>::new().marks(long), &[]);
    for version in 1..4 {
        push(
            &mut log,
            if version == 1 { added(Pod("a", 1, 1)) } else { updated(Pod("a", 1, version - 1), Pod("a", 1, version)) },
        );
    }
    let next = updated(Pod("a", 1, 3), Pod("a", 1, 4));
    assert_eq!(log.try_push(Instant::ZERO, next.clone()), Err(Full(next.clone())));
    assert_eq!(told(&mut log, id), ["+a1", "a1>2", "a2>3"]);
    assert_eq!(log.try_push(Instant::ZERO, next), Ok(()));
}

#[test]
fn marks_without_room_leave_the_log_within_its_limit() {
    let mut log = Log::<Fixed<4>>::new(1);
    let id = subscribe(&mut log, SubscriptionConfig::<_, Fixed<4>>::new().marks(long), &[]);
    push(&mut log, added(Pod("a", 1, 1)));
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    assert!(log.has_room());
    let next = updated(Pod("a", 1, 2), Pod("a", 1, 3));
    assert_eq!(log.try_push(Instant::ZERO, next.clone()), Err(Full(next.clone())));
    assert_eq!((log.ring.len(), told(&mut log, id)), (1, vec!["+a1".to_string(), "a1>2".to_string()]));
    assert_eq!(log.try_push(Instant::ZERO, next), Ok(()));
}

#[test]
fn marks_of_which_some_find_no_room_are_not_told_over_and_over() {
    fn two(_: &Pod, to: &mut dyn FnMut(&str)) {
        to("x");
        to("y");
    }
    let mut log = Log::<Fixed<1>>::new(1);
    let id = subscribe(&mut log, SubscriptionConfig::<_, Fixed<1>>::new().marks(two), &[]);
    push(&mut log, added(Pod("a", 1, 1)));
    push(&mut log, updated(Pod("a", 1, 1), Pod("a", 1, 2)));
    let told: Vec<String> = core::iter::from_fn(|| log.poll_next(id)).take(5).map(|notice| short(&notice)).collect();
    assert_eq!(told, ["+a1", "a1>2"]);
}

#[test]
fn a_key_whose_hash_panics_is_not_lost_when_it_is_told() {
    #[derive(Clone)]
    struct Panicky(Rc<Cell<bool>>);

    impl Hash for Panicky {
        fn hash<H: Hasher>(&self, _: &mut H) {
            assert!(!self.0.get(), "a panic of the key");
        }
    }

    impl PartialEq for Panicky {
        fn eq(&self, _: &Self) -> bool {
            true
        }
    }

    impl Eq for Panicky {}

    impl Keyed for Panicky {
        type Key = Self;

        fn key(&self) -> &Self {
            self
        }
    }

    impl Versioned for Panicky {
        fn resource_version(&self) -> &'static str {
            ""
        }

        fn is_same_object(&self, _: &Self) -> bool {
            true
        }

        fn is_same_state(&self, _: &Self) -> bool {
            false
        }
    }

    let panics = Rc::new(Cell::new(false));
    let mut log = EventLogIn::<Panicky, Heap>::new(1);
    let id = log.subscribe(Instant::ZERO, SubscriptionConfig::new(), [Panicky(panics.clone())].iter());
    panics.set(true);
    let told = catch_unwind(AssertUnwindSafe(|| log.poll_next(id).is_some()));
    panics.set(false);
    log.check();
    assert_eq!((told.is_ok(), log.backlog(id)), (true, 0));
}

#[test]
fn a_log_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Log<Heap>>();
    is_shared::<Log<Fixed<2>>>();
}

#[test]
fn notices_and_configurations_show_themselves() {
    let notice: Notice<Pod, Heap> = Notice::Mark("owner".into());
    assert_eq!(format!("{notice:?}, {:?}", Notice::<Pod, Heap>::Synced), "Mark(\"owner\"), Synced");
    let changed = Notice::<Pod, Heap>::Changed(added(Pod("a", 1, 2)));
    assert_eq!(format!("{changed:?}"), "Changed(Added { object: Pod(\"a\", 1, 2), initial: false })");
    assert!(notice != Notice::Synced && notice != changed && notice != Notice::Mark("other".into()));
    let config = SubscriptionConfig::<Pod, Heap>::default();
    assert_eq!(format!("{config:?}"), "SubscriptionConfig { when_behind: Coalesce, quiet: false, marks: false }");
    let log = Log::<Heap>::default();
    assert_eq!(format!("{log:?}"), "EventLog { limit: 1024, entries: 0, subscribers: 0, .. }");
}

/// A memory with the marks of a pod, which name its version.
trait Marked: Mem {
    fn marks() -> Self::IndexFn<Pod>;
}

impl Marked for Heap {
    fn marks() -> Self::IndexFn<Pod> {
        alloc::boxed::Box::new(mark)
    }
}

impl<const N: usize> Marked for Fixed<N> {
    fn marks() -> Self::IndexFn<Pod> {
        mark
    }
}

/// The version of a state whose marks panic.
const PANICS: u32 = 13;

fn mark(pod: &Pod, to: &mut dyn FnMut(&str)) {
    assert_ne!(pod.2, PANICS, "a panic of the marks");
    to(&format!("m{}", pod.2));
}

/// A mark that fixed memory has no room for.
fn long(_: &Pod, to: &mut dyn FnMut(&str)) {
    to(&"x".repeat(65));
}

fn waiting<M: Mem>() -> SubscriptionConfig<Pod, M> {
    SubscriptionConfig::new().when_behind(WhenBehind::Wait)
}
