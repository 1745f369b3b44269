//! The seeds of a run, and its threads.

use super::counts::Counts;
use super::run::Outcome;
use super::tally::Tally;
use std::hash::{BuildHasher, RandomState};
use std::panic::{RefUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, thread};

/// Seeds to run, one after the other on every core.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// The first.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// After so many that fail, a thread takes no more.
const ENOUGH: usize = 4;

impl Seeds {
    /// `count` of them, unless the environment says otherwise: `SIM_SEED` names one, `SIM_FIRST` where to begin, and the
    /// variable `name` how many.
    ///
    /// # Panics
    /// Where a variable is no number.
    #[must_use]
    pub fn of_env(name: &str, count: u64) -> Self {
        match number("SIM_SEED") {
            Some(seed) => Self { first: seed, count: 1 },
            None => Self { first: number("SIM_FIRST").unwrap_or(0), count: number(name).unwrap_or(count) },
        }
    }

    /// Others in each run, unless the environment says otherwise as for [`of_env`](Self::of_env). They are printed, so
    /// that a run can be repeated.
    ///
    /// # Panics
    /// Where a variable is no number.
    #[must_use]
    pub fn fresh(name: &str, count: u64) -> Self {
        let drawn = RandomState::new().hash_one(name) >> 16;
        let first = number("SIM_FIRST").unwrap_or(drawn);
        let seeds = Self { first, ..Self::of_env(name, count) };
        let seeds = number("SIM_SEED").map_or(seeds, |first| Self { first, ..seeds });
        println!("SIM_FIRST={} {name}={}", seeds.first, seeds.count);
        seeds
    }

    /// Runs them all by `check`. What they met, and those of which nothing came.
    ///
    /// # Panics
    /// Where `check` does.
    pub fn run(self, check: impl Fn(u64) -> Option<Outcome> + Sync) -> (Tally, Vec<u64>) {
        let (parts, broken) = self.fold(|seed, tally: &mut Tally| {
            let outcome = check(seed);
            outcome.iter().for_each(|outcome| tally.add(&outcome.tally));
            outcome.is_some()
        });
        let mut tally = Tally::default();
        parts.iter().for_each(|part| tally.add(part));
        (tally, broken)
    }

    /// Runs them all by `finish`, which panics where a rule is broken, and prints what they met. `filter` is that of the
    /// test, which is printed for each seed that fails. If there are `enough` seeds, they have to meet everything.
    ///
    /// # Panics
    /// If a seed fails, or if one of enough seeds does not meet something.
    pub fn check<T: Counts>(self, filter: &str, enough: u64, finish: impl Fn(u64) -> T + RefUnwindSafe + Sync) {
        let (parts, broken) = self.fold(|seed, met: &mut T| {
            let done = catch_unwind(|| finish(seed));
            if done.is_err() {
                println!(
                    "SIM_SEED={seed} cargo test -p listwatch-tests --test suite simulation::{filter} -- --nocapture"
                );
            }
            done.iter().for_each(|done| met.add(done));
            done.is_ok()
        });
        let mut met = T::default();
        parts.iter().for_each(|part| met.add(part));
        println!("{met:?}");
        assert!(broken.is_empty(), "{} of {} seeds: {broken:?}", broken.len(), self.count);
        if self.count >= enough {
            let missing: Vec<_> = met.counts().into_iter().filter(|(_, count)| *count == 0).collect();
            assert_eq!(missing, [], "never met in {} runs", self.count);
        }
    }

    /// Runs them all by `check`, which adds what a seed met to what its thread has so far, and says whether all was
    /// well. What each thread has, and the seeds that failed.
    ///
    /// # Panics
    /// Where `check` does.
    pub fn fold<T: Default + Send>(self, check: impl Fn(u64, &mut T) -> bool + Sync) -> (Vec<T>, Vec<u64>) {
        let next = AtomicU64::new(self.first);
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let (mut parts, mut broken) = (Vec::new(), Vec::new());
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| self.work(&next, &check))).collect();
            for worker in workers {
                let (part, failed) = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                parts.push(part);
                broken.extend(failed);
            }
        });
        (parts, broken)
    }

    /// Takes seed after seed.
    fn work<T: Default>(self, next: &AtomicU64, check: &impl Fn(u64, &mut T) -> bool) -> (T, Vec<u64>) {
        let (mut part, mut broken) = (T::default(), Vec::new());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed - self.first >= self.count || broken.len() == ENOUGH {
                return (part, broken);
            }
            if !check(seed, &mut part) {
                broken.push(seed);
            }
        }
    }
}

fn number(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|error| panic!("{name}={value}: {error}")))
}
