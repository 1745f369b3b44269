use super::*;
use crate::controller::record::Ended;
use crate::queue::{Added, ExponentialBackoff, Finished, Outcome, Priority};
use alloc::vec::Vec;

crate::storage::in_both_memories!(
    nothing_is_handed_out_before_all_sources_have_synced,
    a_start_that_takes_too_long_says_which_source_has_not_synced,
    a_held_key_is_with_nobody_until_all_its_writes_were_seen,
    at_the_end_of_a_hold_the_key_runs_and_is_told_which_writes_are_late,
    a_drain_releases_holds_at_once_and_says_how_each_key_was_left,
    changes_are_gathered_until_a_key_is_quiet_or_for_the_longest_time,
    causes_are_the_newest_and_stay_with_a_key_that_fails,
    a_source_that_is_removed_is_not_waited_for_whether_it_has_synced_or_not,
    writes_that_turn_out_to_be_none_hold_no_key,
    an_item_of_another_reconciler_is_ignored,
    a_time_that_goes_back_changes_nothing,
    a_key_that_is_handed_out_is_not_gathered_any_more,
    jitter_adds_a_tenth_at_most_and_follows_from_the_seed,
);

type Machine<M> = ReconcilerIn<u32, &'static str, &'static str, ExponentialBackoff, M>;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn running<M: Mem>() -> Machine<M> {
    started(Machine::default())
}

fn started<M: Mem>(mut machine: Machine<M>) -> Machine<M> {
    machine.start(at(0), None);
    machine
}

fn add<M: Mem>(machine: &mut Machine<M>, now: u64, key: u32) -> Added {
    machine.try_add(at(now), key, Priority::Normal, "changed").ok().unwrap()
}

fn take<M: Mem>(machine: &mut Machine<M>, now: u64) -> WorkItem {
    machine.handle_timeout(at(now));
    machine.poll_item(at(now)).unwrap()
}

fn is_idle<M: Mem>(machine: &mut Machine<M>, now: u64) -> bool {
    machine.handle_timeout(at(now));
    machine.poll_item(at(now)).is_none()
}

fn finish<M: Mem>(machine: &mut Machine<M>, now: u64, item: WorkItem, outcome: Outcome) -> Finished {
    match machine.finish(at(now), item, outcome, []) {
        Ended::Finished(finished) => finished,
        Ended::Held { .. } => unreachable!("no writes"),
    }
}

fn hold<M: Mem>(machine: &mut Machine<M>, now: u64, item: WorkItem, writes: &[&'static str]) -> HoldId {
    match machine.finish(at(now), item, Outcome::Done, writes.iter().copied()) {
        Ended::Held { hold, .. } => hold,
        Ended::Finished(finished) => unreachable!("{finished:?}"),
    }
}

fn causes<M: Mem>(machine: &Machine<M>, item: &WorkItem) -> Vec<&'static str> {
    machine.causes(item).map(|(cause, _)| *cause).collect()
}

fn states<M: Mem>(machine: &Machine<M>) -> Vec<(u32, KeyState)> {
    machine.report().map(|report| (*report.key, report.state)).collect()
}

fn nothing_is_handed_out_before_all_sources_have_synced<M: Mem>() {
    let mut machine = Machine::<M>::default();
    let (pods, nodes) = (machine.try_add_source().ok().unwrap(), machine.try_add_source().ok().unwrap());
    add(&mut machine, 0, 1);
    machine.source_synced(at(0), pods);
    machine.start(at(0), None);
    assert!(is_idle(&mut machine, 1) && machine.lifecycle() == Lifecycle::Starting);
    assert!(machine.unsynced_sources().eq([nodes]));
    machine.source_synced(at(1), pods);
    assert!(is_idle(&mut machine, 1), "a source syncs once");
    machine.source_synced(at(1), nodes);
    assert_eq!((machine.lifecycle(), machine.has_item()), (Lifecycle::Running, true));
    let item = take(&mut machine, 1);
    assert_eq!(finish(&mut machine, 1, item, Outcome::Done), Finished::Done);
}

fn a_start_that_takes_too_long_says_which_source_has_not_synced<M: Mem>() {
    let mut machine = Machine::<M>::default();
    let (pods, nodes) = (machine.try_add_source().ok().unwrap(), machine.try_add_source().ok().unwrap());
    machine.start(at(0), Some(millis(100)));
    machine.source_synced(at(1), nodes);
    assert_eq!(machine.poll_timeout(), Some(at(100)));
    add(&mut machine, 2, 1);
    machine.handle_timeout(at(100));
    assert_eq!((machine.lifecycle(), machine.poll_timeout()), (Lifecycle::NotSynced, None));
    assert!(machine.unsynced_sources().eq([pods]));
    machine.source_synced(at(101), pods);
    assert_eq!((machine.lifecycle(), add(&mut machine, 101, 2)), (Lifecycle::NotSynced, Added::Closed));
    assert_eq!(states(&machine), [(1, KeyState::Ready)]);
}

fn a_held_key_is_with_nobody_until_all_its_writes_were_seen<M: Mem>() {
    let mut machine = running::<M>();
    add(&mut machine, 0, 1);
    let item = take(&mut machine, 0);
    let id = hold(&mut machine, 0, item, &["a", "b"]);
    assert_eq!(add(&mut machine, 1, 1), Added::Deferred);
    assert!(machine.fulfil(at(2), id, 1));
    assert!(machine.fulfil(at(2), id, 1), "the other one is still awaited");
    assert!(is_idle(&mut machine, 2) && machine.awaited(id).eq([(0, &"a")]));
    assert!(!machine.fulfil(at(3), id, 0) && !machine.is_held(id));
    let item = take(&mut machine, 3);
    assert_eq!(machine.late_writes(&item).count(), 0);
    assert_eq!(finish(&mut machine, 3, item, Outcome::Done), Finished::Done);
    assert_eq!((machine.report().count(), machine.poll_timeout()), (0, None));
}

fn at_the_end_of_a_hold_the_key_runs_and_is_told_which_writes_are_late<M: Mem>() {
    let mut machine = started(Machine::<M>::default().with_longest_hold(millis(50)));
    add(&mut machine, 0, 1);
    let item = take(&mut machine, 0);
    let id = hold(&mut machine, 10, item, &["a", "b"]);
    machine.fulfil(at(20), id, 0);
    assert_eq!(states(&machine), [(1, KeyState::Held { since: at(10), until: at(60), writes: 1 })]);
    assert_eq!(machine.poll_timeout(), Some(at(60)));
    assert!(is_idle(&mut machine, 59));
    let item = take(&mut machine, 60);
    assert!(machine.late_writes(&item).eq([&"b"]));
    assert!(!machine.is_held(id) && !machine.fulfil(at(60), id, 1));
    assert_eq!(finish(&mut machine, 60, item, Outcome::Done), Finished::Done);
    add(&mut machine, 61, 1);
    let item = take(&mut machine, 61);
    assert_eq!(machine.late_writes(&item).count(), 0, "they are told once");
    finish(&mut machine, 61, item, Outcome::Done);
}

fn a_drain_releases_holds_at_once_and_says_how_each_key_was_left<M: Mem>() {
    let mut machine = running::<M>();
    (1..=6).for_each(|key| _ = add(&mut machine, 0, key));
    let [held, delayed, failed, busy, hanging] = core::array::from_fn(|_| take(&mut machine, 0));
    hold(&mut machine, 0, held, &["a"]);
    finish(&mut machine, 0, delayed, Outcome::RequeueAfter(millis(70)));
    finish(&mut machine, 0, failed, Outcome::Retry);
    machine.drain(at(1), millis(100));
    assert_eq!((machine.lifecycle(), machine.poll_timeout()), (Lifecycle::Draining, Some(at(101))));
    assert!(is_idle(&mut machine, 2) && add(&mut machine, 2, 7) == Added::Closed);
    assert_eq!(finish(&mut machine, 2, busy, Outcome::Done), Finished::Done);
    machine.handle_timeout(at(101));
    assert_eq!((machine.lifecycle(), machine.poll_timeout()), (Lifecycle::Stopped, None));
    let mut left = states(&machine);
    left.sort_unstable_by_key(|(key, _)| *key);
    let until = Instant::from_nanos(LONGEST_HOLD);
    assert_eq!(
        left,
        [
            (1, KeyState::Held { since: at(0), until, writes: 1 }),
            (2, KeyState::Delayed { until: at(70) }),
            (3, KeyState::BackingOff { until: at(5) }),
            (5, KeyState::Running { since: at(0), deadline: None }),
            (6, KeyState::Ready),
        ]
    );
    assert_eq!(finish(&mut machine, 102, hanging, Outcome::Retry), Finished::Closed);
    assert!(states(&machine).contains(&(5, KeyState::Unfinished)));
}

fn changes_are_gathered_until_a_key_is_quiet_or_for_the_longest_time<M: Mem>() {
    let debounce = Debounce { quiet: millis(10), longest: millis(25) };
    let mut machine = started(Machine::<M>::default().with_debounce(debounce));
    assert_eq!(add(&mut machine, 0, 1), Added::Delayed);
    assert!(is_idle(&mut machine, 9));
    assert_eq!(add(&mut machine, 9, 1), Added::Merged);
    assert_eq!((is_idle(&mut machine, 18), machine.poll_timeout()), (true, Some(at(19))));
    add(&mut machine, 18, 1);
    assert_eq!(machine.poll_timeout(), Some(at(25)), "the longest time counts from the first change");
    let item = take(&mut machine, 25);
    assert_eq!(machine.causes(&item).count(), 3);
    finish(&mut machine, 25, item, Outcome::Done);
    assert_eq!(machine.poll_timeout(), None);
}

fn causes_are_the_newest_and_stay_with_a_key_that_fails<M: Mem>() {
    let mut machine = running::<M>();
    assert!(machine.try_add(at(0), 1, Priority::Normal, "first").is_ok());
    (1..=15).for_each(|now| _ = add(&mut machine, now, 1));
    let item = take(&mut machine, 20);
    assert_eq!((causes(&machine, &item).len(), causes(&machine, &item)[0]), (16, "first"));
    assert!(machine.try_add(at(21), 1, Priority::Normal, "last").is_ok());
    finish(&mut machine, 22, item, Outcome::Retry);
    let item = take(&mut machine, 22);
    let told = causes(&machine, &item);
    assert_eq!((told.len(), told[0], told[15], machine.dropped_causes(&item)), (16, "changed", "last", 1));
    assert_eq!(machine.causes(&item).map(|(_, at)| at).next(), Some(at(1)));
    finish(&mut machine, 22, item, Outcome::Done);
    assert!(is_idle(&mut machine, 40), "the retry is not needed any more");
}

fn a_source_that_is_removed_is_not_waited_for_whether_it_has_synced_or_not<M: Mem>() {
    let mut machine = Machine::<M>::default();
    let [pods, nodes, secrets] = [(); 3].map(|()| machine.try_add_source().ok().unwrap());
    machine.start(at(0), None);
    machine.source_synced(at(0), pods);
    machine.remove_source(at(0), pods);
    assert!(machine.unsynced_sources().eq([nodes, secrets]));
    machine.remove_source(at(0), nodes);
    machine.remove_source(at(0), nodes);
    assert!(machine.unsynced_sources().eq([secrets]) && machine.lifecycle() == Lifecycle::Starting);
    let again = machine.try_add_source().ok().unwrap();
    machine.source_synced(at(0), nodes);
    assert!(machine.unsynced_sources().count() == 2, "an old id is no other source's");
    [again, secrets].into_iter().for_each(|source| machine.remove_source(at(0), source));
    assert_eq!(machine.lifecycle(), Lifecycle::Running);
}

fn writes_that_turn_out_to_be_none_hold_no_key<M: Mem>() {
    let mut machine = running::<M>();
    add(&mut machine, 0, 1);
    let item = take(&mut machine, 0);
    let ended = machine.finish(at(0), item, Outcome::Retry, core::iter::from_fn(|| None));
    assert_eq!(ended, Ended::Finished(Finished::RetryAt(at(5))));
    assert_eq!((machine.stats().held, machine.poll_timeout()), (0, Some(at(5))));
}

fn finish_done<M: Mem>(machine: &mut Machine<M>, now: u64, item: WorkItem) -> Finished {
    finish(machine, now, item, Outcome::Done)
}

fn an_item_of_another_reconciler_is_ignored<M: Mem>() {
    let (mut one, mut other) = (running::<M>(), running::<M>());
    add(&mut one, 0, 1);
    let item = take(&mut one, 0);
    assert_eq!(finish_done(&mut other, 0, item), Finished::Ignored);
    assert_eq!(states(&one), [(1, KeyState::Running { since: at(0), deadline: None })]);
}

fn a_time_that_goes_back_changes_nothing<M: Mem>() {
    let mut machine = started(Machine::<M>::default().with_time_limit(millis(30)));
    add(&mut machine, 20, 1);
    let item = take(&mut machine, 10);
    assert_eq!((machine.now(), machine.deadline(&item)), (at(20), Some(at(50))));
    assert!(machine.causes(&item).eq([(&"changed", at(20))]));
    assert_eq!(finish(&mut machine, 5, item, Outcome::Retry), Finished::RetryAt(at(25)));
}

fn a_key_that_is_handed_out_is_not_gathered_any_more<M: Mem>() {
    let debounce = Debounce { quiet: millis(10), longest: millis(25) };
    let mut machine = started(Machine::<M>::default().with_debounce(debounce));
    assert!(machine.try_add(at(0), 1, Priority::Urgent, "now").is_ok());
    let item = take(&mut machine, 0);
    finish(&mut machine, 0, item, Outcome::Retry);
    assert_eq!(add(&mut machine, 1, 1), Added::Delayed);
    let item = take(&mut machine, 5);
    assert_eq!(causes(&machine, &item), ["now", "changed"], "the retry has seen the change");
    assert_eq!(finish_done(&mut machine, 5, item), Finished::Done);
    assert_eq!((machine.poll_timeout(), machine.report().count()), (None, 0));
}

fn jitter_adds_a_tenth_at_most_and_follows_from_the_seed<M: Mem>() {
    let period = Duration::from_secs(100);
    let delays = |seed| {
        let mut machine = Machine::<M>::new(WorkQueueIn::default(), seed);
        core::iter::repeat_with(move || machine.jittered(period)).take(200).collect::<Vec<_>>()
    };
    let (one, other) = (delays(1), delays(2));
    assert!(one.iter().all(|delay| (period..period * 11 / 10).contains(delay)));
    let early = |delay: &&Duration| **delay < period * 21 / 20;
    assert!((70..=130).contains(&one.iter().filter(early).count()), "half of them are in the first half");
    assert_eq!(one, delays(1));
    assert_ne!(one, other);
    let mut machine = Machine::<M>::default();
    assert_eq!((machine.jittered(Duration::ZERO), machine.jittered(Duration::MAX)), (Duration::ZERO, Duration::MAX));
}
