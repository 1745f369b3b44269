//! What an update takes as the number of objects grows: through the queue, in arrival order, and into a cache with two
//! indexes. Ours queues and applies 16 at once, as an informer does with the events of one read.

use crate::figures::{head, median, ratio, row};
use crate::process::output;
use crate::settings::Settings;
use listwatch_core::cache::AHEAD;
use listwatch_core::fifo::Order;
use listwatch_core::object::{MetaBuilder, ObjectHandle};
use listwatch_core::{DeltaFifo, Indexer, Object};
use std::time::Instant;

const SIZES: [&str; 4] = ["1000", "10000", "100000", "1000000"];

/// Measured at each size, five times.
const UPDATES: usize = 100_000;

type Pod = ObjectHandle<()>;

pub(crate) fn table(settings: &Settings) -> String {
    let sizes = &SIZES[..settings.size(SIZES.len(), 2)];
    let mut rounds = vec![Vec::new(); 2];
    for _ in 0..settings.turns {
        for (program, rounds) in [&settings.ours, &settings.peers].into_iter().zip(&mut rounds) {
            rounds.push(nanoseconds(program, sizes));
        }
    }
    let medians = |rounds: &[Vec<f64>]| -> Vec<f64> {
        (0..sizes.len()).map(|size| median(rounds.iter().map(|round| round[size]))).collect()
    };
    let (ours, theirs) = (medians(&rounds[0]), medians(&rounds[1]));
    let rows = sizes.iter().zip(ours.iter().zip(&theirs)).map(|(size, (our, their))| {
        let [ours, theirs] = [our / ours[0], their / theirs[0]].map(|times| format!("{times:.1}"));
        row([(*size).to_owned(), format!("{our:.0}"), ours, format!("{their:.0}"), theirs, ratio(*our, *their)])
    });
    let columns = ["objects", "ns an update", "to the first row", "client-go", "to the first row", "ratio"];
    head(columns) + &rows.collect::<String>()
}

fn nanoseconds(program: &str, sizes: &[&str]) -> Vec<f64> {
    let arguments: Vec<&str> = ["growth"].into_iter().chain(sizes.iter().copied()).collect();
    let lines = output(program, &arguments);
    lines.lines().map(|line| line.split('\t').nth(1).unwrap().parse().unwrap()).collect()
}

/// Our side: a line for each size, with the median of five rounds. Each update is a new object that replaces one.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) fn measure(sizes: &[&str]) {
    for size in sizes {
        let objects: usize = size.parse().unwrap();
        let (mut builder, mut indexer) = (MetaBuilder::default(), Indexer::new());
        indexer.add_namespace_index();
        indexer.add_index(|pod: &Pod, emit: &mut dyn FnMut(&str)| pod.meta().label("app").into_iter().for_each(emit));
        (0..objects).for_each(|n| drop(indexer.insert(pod(&mut builder, n, 0))));
        let mut fifo = DeltaFifo::new(Order::Arrival);
        let rounds = (1..=5).map(|round| {
            let states: Vec<Pod> = (0..UPDATES).map(|n| pod(&mut builder, n * 7919 % objects, round)).collect();
            let began = Instant::now();
            let mut states = states.into_iter();
            while states.len() > 0 {
                states.by_ref().take(AHEAD).for_each(|state| fifo.update(state));
                indexer.read_ahead(fifo.waiting().map(|delta| delta.object().key()));
                while let Some(popped) = fifo.pop() {
                    indexer.insert(popped.delta.into_object());
                }
            }
            began.elapsed().as_nanos() as f64
        });
        println!("{size}\t{:.1}", median(rounds) / UPDATES as f64);
    }
}

fn pod(builder: &mut MetaBuilder, n: usize, generation: i64) -> Pod {
    builder.set_namespace(&format!("ns-{:03}", n % 16));
    builder.set_name(&format!("pod-{n:07}"));
    builder.set_generation(generation);
    builder.add_label("app", &format!("a{}", n % 1000));
    Object { meta: builder.build().expect("it has a name"), value: () }.into()
}
