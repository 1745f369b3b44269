//! The work queue behind its lock: one thread adds keys, and eight workers that do nothing take them.

use crate::figures::{head, median, ratio, row};
use crate::process::output;
use crate::settings::Settings;
use listwatch::{Clock, Executor, Key, Outcome, SharedWorkQueue, Workers, run};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

const KEYS: usize = 1_000_000;
const WORKERS: usize = 8;

pub(crate) fn table(settings: &Settings) -> String {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..settings.turns {
        ours.push(nanoseconds(&settings.ours, &["workers"]));
        theirs.push(nanoseconds(&settings.peers, &["workers"]));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let title = format!("one producer, {WORKERS} workers, {KEYS} keys");
    head(["ns a key", "listwatch", "client-go", "ratio"])
        + &row([title, format!("{ours:.0}"), format!("{theirs:.0}"), ratio(ours, theirs)])
}

fn nanoseconds(program: &str, arguments: &[&str]) -> f64 {
    output(program, arguments).trim().parse().unwrap()
}

/// Our side: the workers are tasks of one thread.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) fn measure() {
    let keys: Vec<Key> =
        (0..KEYS).map(|n| Key::new(Some(&format!("ns-{:03}", n % 100)), &format!("pod-{n:07}"))).collect();
    let (clock, executor, queue) = (Clock::real(), Executor::new(), Arc::new(SharedWorkQueue::<Key>::default()));
    let began = Instant::now();
    let workers = Workers::spawn(&executor, &queue, &clock, WORKERS, |_key: Key| async { Outcome::Done });
    thread::scope(|scope| {
        scope.spawn(|| {
            keys.iter().for_each(|key| queue.add(key.clone()));
            queue.shut_down();
        });
        run(&clock, &executor, workers.join())
    });
    println!("{:.1}", began.elapsed().as_nanos() as f64 / KEYS as f64);
}
