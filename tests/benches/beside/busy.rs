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
    let (mut posted, mut added, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..settings.turns {
        posted.push(nanoseconds(&settings.ours, &["workers"]));
        added.push(nanoseconds(&settings.ours, &["workers", "answered"]));
        theirs.push(nanoseconds(&settings.peers, &["workers"]));
    }
    let theirs = median(theirs);
    let line = |title: String, ours: Vec<f64>| {
        let ours = median(ours);
        row([title, format!("{ours:.0}"), format!("{theirs:.0}"), ratio(ours, theirs)])
    };
    head(["ns a key", "listwatch", "client-go", "ratio"])
        + &line(format!("one producer, {WORKERS} workers, {KEYS} keys"), posted)
        + &line("the same, by `add`, which has an answer".to_owned(), added)
}

fn nanoseconds(program: &str, arguments: &[&str]) -> f64 {
    output(program, arguments).trim().parse().unwrap()
}

/// Our side: the workers are tasks of one thread.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) fn measure(is_answered: bool) {
    let keys: Vec<Key> =
        (0..KEYS).map(|n| Key::new(Some(&format!("ns-{:03}", n % 100)), &format!("pod-{n:07}"))).collect();
    let (clock, executor, queue) = (Clock::real(), Executor::new(), Arc::new(SharedWorkQueue::<Key>::default()));
    let began = Instant::now();
    let workers = Workers::spawn(&executor, &queue, &clock, WORKERS, |_key: Key| async { Outcome::Done });
    thread::scope(|scope| {
        scope.spawn(|| {
            if is_answered {
                keys.iter().for_each(|key| _ = queue.add(key.clone()));
            } else {
                keys.iter().for_each(|key| queue.post(key.clone()));
            }
            queue.shut_down();
        });
        run(&clock, &executor, workers.join())
    });
    println!("{:.1}", began.elapsed().as_nanos() as f64 / KEYS as f64);
}
