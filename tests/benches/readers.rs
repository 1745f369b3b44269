//! Readers and the writer of one store: 80 threads that list a namespace of 10,000 objects without pause, out of
//! 160,000, and one that updates objects. Prints a line for each way to list, `name`, writes and lists a second; the
//! ways run by turns, and of several turns the median counts. client-go's `peers readers` does the same.
//!
//! ```text
//! cargo bench -p listwatch-benches --bench readers
//! ```

use core::hint::black_box;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use listwatch_core::cache::{Cache, Change, IndexId, Indexer, Store, StoreWriter};
use listwatch_core::fifo::Delta;
use listwatch_core::object::{MetaBuilder, ObjectHandle};
use listwatch_core::{Key, Object};
use std::thread;
use std::time::Instant;

const OBJECTS: usize = 160_000;
const NAMESPACES: usize = 16;
const READERS: usize = 80;
const TURNS: usize = 5;
const TURN: Duration = Duration::from_secs(2);

type Pod = ObjectHandle<()>;

/// A way to list a namespace, and to read a field of each object or not; returns what was read.
type List = fn(&Store<()>, IndexId, &str) -> usize;

/// As lists were made before they were shared: a copy of each handle, under the lock.
fn copied(pods: &Store<()>, by_namespace: IndexId, namespace: &str) -> Vec<Pod> {
    pods.read(|pods| pods.by_index(by_namespace, namespace).cloned().collect())
}

const WAYS: [(&str, List); 4] = [
    ("copied", |pods, index, namespace| copied(pods, index, namespace).len()),
    ("shared", |pods, index, namespace| pods.by_index(index, namespace).len()),
    ("copied_and_read", |pods, index, namespace| read(&copied(pods, index, namespace))),
    ("shared_and_read", |pods, index, namespace| read(&pods.by_index(index, namespace))),
];

/// Reads one field of each object.
fn read<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> usize {
    pods.into_iter().map(|pod| pod.meta().generation() as usize).sum()
}

fn pod(n: usize, generation: i64) -> Pod {
    let mut builder = MetaBuilder::default();
    builder.set_namespace(&namespace(n));
    builder.set_name(&format!("pod-{n:07}"));
    builder.set_generation(generation);
    builder.add_label("app", &format!("a{}", n % 1000));
    Object { meta: builder.build().expect("it has a name"), value: () }.into()
}

fn namespace(n: usize) -> String {
    format!("ns-{:03}", n % NAMESPACES)
}

/// Writes and lists a second.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn turn(writer: &mut StoreWriter<()>, by_namespace: IndexId, list: List) -> [f64; 2] {
    let (pods, is_over, lists) = (writer.store(), AtomicBool::new(false), AtomicU64::new(0));
    let begun = Instant::now();
    let writes = thread::scope(|scope| {
        for reader in 0..READERS {
            let (pods, is_over, lists) = (&pods, &is_over, &lists);
            scope.spawn(move || {
                let namespace = namespace(reader);
                while !is_over.load(Relaxed) {
                    black_box(list(pods, by_namespace, &namespace));
                    lists.fetch_add(1, Relaxed);
                }
            });
        }
        let mut writes = 0;
        while begun.elapsed() < TURN {
            let update = Delta::Updated(pod(writes * 7919 % OBJECTS, writes as i64));
            writer.apply(Change::new(&update, false));
            writer.wake();
            writes += 1;
        }
        is_over.store(true, Relaxed);
        writes
    });
    let seconds = begun.elapsed().as_secs_f64();
    [writes as f64 / seconds, lists.load(Relaxed) as f64 / seconds]
}

fn main() {
    let mut indexer = Indexer::new();
    let by_namespace = indexer.add_namespace_index();
    (0..OBJECTS).for_each(|n| drop(indexer.insert(pod(n, 0))));
    let mut writer = StoreWriter::new(indexer);
    assert_eq!(writer.store().get(&Key::from("ns-001/pod-0000001")).map(|pod| pod.meta().generation()), Some(0));

    let mut figures = [const { Vec::new() }; WAYS.len()];
    for _ in 0..TURNS {
        for ((_, list), figures) in WAYS.iter().zip(&mut figures) {
            figures.push(turn(&mut writer, by_namespace, *list));
        }
    }
    for ((name, _), figures) in WAYS.iter().zip(figures) {
        let median = |of: usize| {
            let mut figures: Vec<f64> = figures.iter().map(|figures| figures[of]).collect();
            figures.sort_by(f64::total_cmp);
            figures[TURNS / 2]
        };
        println!("{name}\t{:.0}\t{:.0}", median(0), median(1));
    }
}
