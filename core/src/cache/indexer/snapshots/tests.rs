use super::*;
use crate::random::Random;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::cell::Cell;

std::thread_local!(static CLONES: Cell<usize> = const { Cell::new(0) });

/// A key, a state, and one value. It counts its clones.
#[derive(Debug, PartialEq, Eq)]
struct Item(u32, u32, u8);

impl Keyed for Item {
    type Key = u32;

    fn key(&self) -> &u32 {
        &self.0
    }
}

impl Clone for Item {
    fn clone(&self) -> Self {
        CLONES.set(CLONES.get() + 1);
        Self(self.0, self.1, self.2)
    }
}

/// By value; an item of the value zero has none.
fn items() -> (Indexer<Item>, IndexId) {
    let mut items = Indexer::new();
    let by_value = items.add_index(|item: &Item, emit: &mut dyn FnMut(&str)| {
        if item.2 > 0 {
            emit(&item.2.to_string());
        }
    });
    (items, by_value)
}

/// The clones that `call` makes.
fn clones<R>(call: impl FnOnce() -> R) -> usize {
    let before = CLONES.get();
    drop(call());
    CLONES.get() - before
}

fn copied<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<(u32, u32, u8)> {
    items.into_iter().map(|item| (item.0, item.1, item.2)).collect()
}

/// Most items of a long list leave: the last reader has few chunks, and each operation touches a few of them.
#[test]
fn a_list_that_becomes_short_has_few_chunks() {
    let (mut items, by_value) = items();
    (0..10_000).for_each(|key| _ = items.insert(Item(key, 0, 1)));
    for key in (0..10_000).filter(|key| key % 100 > 0) {
        items.remove(&key);
    }
    items.check();
    assert_eq!(items.snapshot_by_index(by_value, "1").len(), 100);
    assert!(
        clones(|| {
            items.insert(Item(0, 1, 1));
            items.snapshot_by_index(by_value, "1")
        }) <= 100
    );
    assert!(items.postings.runs.0.len() <= 5, "{} runs", items.postings.runs.0.len());
}

/// The lists of readers against the walks of the owner, through additions, updates, moves, removals and replacements.
#[test]
fn what_readers_share_is_what_the_owner_has_and_what_they_hold_stays() {
    for seed in 0..8 {
        let (mut items, mut by_value) = items();
        let mut random = Random::new(seed);
        let mut held = Vec::new();
        for step in 0..3_000 {
            let (key, value) = (random.next() as u32 % 700, random.next() as u8 % 3);
            match random.next() % 1_000 {
                0 => items.clear(),
                1 => items.replace((0..key).map(|key| Item(key, step, value))),
                2 => {
                    items.remove_index(by_value);
                    by_value = items.add_index(|item: &Item, emit: &mut dyn FnMut(&str)| emit(&item.2.to_string()));
                }
                // At times more items come, at times more leave.
                n if n < 3 + if step % 1_000 < 600 { 200 } else { 700 } => _ = items.remove(&key),
                _ => _ = items.insert(Item(key, step, value)),
            }
            if !random.next().is_multiple_of(16) {
                continue;
            }
            items.check();
            let lists = ["0", "1", "2"].map(|value| (items.snapshot_by_index(by_value, value), Some(value)));
            for (list, value) in lists.into_iter().chain([(items.snapshot(), None)]) {
                let walked = match value {
                    Some(value) => copied(items.by_index(by_value, value)),
                    None => copied(items.iter()),
                };
                assert_eq!(copied(&list), walked, "seed {seed}, step {step}");
                assert_eq!((list.len(), list.iter().len()), (walked.len(), walked.len()));
                assert!((0..=walked.len()).all(|at| list.get(at).map(|item| item.0) == walked.get(at).map(|it| it.0)));
                held.push((list, walked));
            }
        }
        for (list, walked) in held {
            assert_eq!(copied(&list), walked, "seed {seed}");
            assert_eq!(copied(&list.into_iter().collect::<Vec<_>>()), walked, "seed {seed}");
        }
    }
}
