//! From the delta FIFO into the indexer, and out of that: what one object costs. `compare` runs the same of client-go,
//! but for the updates of caches of several sizes.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use listwatch_core::cache::{AHEAD, IndexId};
use listwatch_core::fifo::Order;
use listwatch_core::object::{MetaBuilder, ObjectHandle};
use listwatch_core::{DeltaFifo, Indexer, Key, Object};

const PODS: usize = 100_000;

type Pod = ObjectHandle<()>;

fn main() {
    divan::main();
}

/// A thousand in each of a hundred namespaces, a hundred with each label.
fn pods() -> Vec<Pod> {
    let mut builder = MetaBuilder::default();
    (0..PODS).map(|n| pod(&mut builder, n)).collect()
}

fn pod(builder: &mut MetaBuilder, n: usize) -> Pod {
    builder.set_namespace(&format!("ns-{:03}", n % 100));
    builder.set_name(&format!("pod-{n:07}"));
    builder.add_label("app", &format!("a{}", n % 1000));
    Object { meta: builder.build().expect("it has a name"), value: () }.into()
}

/// By namespace and by label; the id is the first one's.
fn indexer() -> (Indexer<Pod>, IndexId) {
    let mut indexer = Indexer::new();
    let by_namespace = indexer.add_index(|pod: &Pod, emit: &mut dyn FnMut(&str)| {
        pod.meta().namespace().into_iter().for_each(emit);
    });
    indexer.add_index(|pod: &Pod, emit: &mut dyn FnMut(&str)| pod.meta().label("app").into_iter().for_each(emit));
    (indexer, by_namespace)
}

fn full_indexer(pods: &[Pod]) -> (Indexer<Pod>, IndexId) {
    let (mut indexer, by_namespace) = indexer();
    pods.iter().cloned().for_each(|pod| drop(indexer.insert(pod)));
    (indexer, by_namespace)
}

/// What an informer does with a delta.
fn apply_all(fifo: &mut DeltaFifo<Pod>, indexer: &mut Indexer<Pod>) {
    while let Some(popped) = fifo.pop() {
        indexer.insert(popped.delta.into_object());
    }
}

fn events(bencher: Bencher<'_, '_>, order: Order, burst: usize) {
    let pods = pods();
    let (mut indexer, _) = full_indexer(&pods);
    let mut fifo = DeltaFifo::new(order);
    bencher.counter(ItemsCount::new(PODS)).bench_local(|| {
        for burst in pods.chunks(burst) {
            burst.iter().cloned().for_each(|pod| fifo.update(pod));
            apply_all(&mut fifo, &mut indexer);
        }
    });
}

#[divan::bench]
fn event_by_arrival_one_by_one(bencher: Bencher<'_, '_>) {
    events(bencher, Order::Arrival, 1);
}

#[divan::bench]
fn event_by_arrival_100k_queued(bencher: Bencher<'_, '_>) {
    events(bencher, Order::Arrival, PODS);
}

#[divan::bench]
fn event_by_key_one_by_one(bencher: Bencher<'_, '_>) {
    events(bencher, Order::ByKey, 1);
}

#[divan::bench]
fn event_by_key_100k_queued(bencher: Bencher<'_, '_>) {
    events(bencher, Order::ByKey, PODS);
}

/// New states of objects in an order that no cache foresees, as they come from a decoder: 64 are made, and then queued,
/// popped and stored by turns. The old states are dropped.
#[divan::bench(args = [1_000, 10_000, 100_000, 1_000_000], sample_count = 10_000, sample_size = 1)]
fn update_of_a_cache_of(bencher: Bencher<'_, '_>, objects: usize) {
    update(bencher, objects, 1);
}

/// The same, but as an informer does it that reads 16 events at once: it queues them, reads ahead what the cache needs
/// for them, and then pops and stores them.
#[divan::bench(args = [1_000, 10_000, 100_000, 1_000_000], sample_count = 10_000, sample_size = 1)]
fn update_read_ahead_of_a_cache_of(bencher: Bencher<'_, '_>, objects: usize) {
    update(bencher, objects, AHEAD);
}

fn update(bencher: Bencher<'_, '_>, objects: usize, at_once: usize) {
    let (mut builder, mut fifo, mut indexer) = (MetaBuilder::default(), DeltaFifo::new(Order::Arrival), indexer().0);
    (0..objects).for_each(|n| _ = indexer.insert(pod(&mut builder, n)));
    let mut random = 1_u64;
    let mut states = || {
        let state = |_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            pod(&mut builder, (random >> 33) as usize % objects)
        };
        (0..64).map(state).collect::<Vec<_>>()
    };
    bencher.counter(ItemsCount::new(64_usize)).with_inputs(&mut states).bench_local_values(|states| {
        let mut states = states.into_iter();
        while states.len() > 0 {
            states.by_ref().take(at_once).for_each(|state| fifo.update(state));
            if at_once > 1 {
                indexer.read_ahead(fifo.waiting().map(|delta| delta.object().key()));
            }
            apply_all(&mut fifo, &mut indexer);
        }
    });
}

fn list(bencher: Bencher<'_, '_>, order: Order) {
    let pods = pods();
    let empty = || (DeltaFifo::new(order), indexer().0);
    bencher.counter(ItemsCount::new(PODS)).with_inputs(empty).bench_local_values(|(mut fifo, mut indexer)| {
        pods.iter().cloned().for_each(|pod| fifo.stage(pod));
        fifo.commit_stage(&indexer);
        apply_all(&mut fifo, &mut indexer);
        indexer
    });
}

#[divan::bench]
fn list_by_arrival(bencher: Bencher<'_, '_>) {
    list(bencher, Order::Arrival);
}

#[divan::bench]
fn list_by_key(bencher: Bencher<'_, '_>) {
    list(bencher, Order::ByKey);
}

/// Each key once, in an order that no cache foresees.
#[divan::bench]
fn get(bencher: Bencher<'_, '_>) {
    let pods = pods();
    let (indexer, _) = full_indexer(&pods);
    let keys: Vec<Key> = (0..PODS).map(|n| pods[n * 7919 % PODS].key().clone()).collect();
    bencher.counter(ItemsCount::new(PODS)).bench_local(|| {
        for key in &keys {
            black_box(indexer.get(key));
        }
    });
}

/// The thousand pods of a namespace, as a list.
#[divan::bench]
fn by_index(bencher: Bencher<'_, '_>) {
    let (indexer, by_namespace) = full_indexer(&pods());
    let hits = indexer.by_index(by_namespace, "ns-050").count();
    bencher
        .counter(ItemsCount::new(hits))
        .bench_local(|| indexer.by_index(by_namespace, black_box("ns-050")).collect::<Vec<_>>());
}
