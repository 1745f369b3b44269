//! What `/healthz` and `/readyz` depend on. Conditions that a program adds may be slow, and panic.

use crate::caught::caught_call;
use crate::clock::Clock;
use crate::mutex;
use async_executor::Executor;
use core::fmt::Write as _;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::text::Printable;
use smol::Timer;
use smol::future::or;
use smol::lock::{Mutex, MutexGuardArc};
use std::error::Error;
use std::sync::Arc;

/// The code of a condition.
pub(super) type Code = dyn Fn() -> Result<(), Box<dyn Error>> + Send + Sync;

/// How long an answer waits for a condition.
const PATIENCE: Duration = Duration::from_secs(10);

/// For how long a result answers all requests.
const SHARED: Duration = Duration::from_secs(1);

/// The most characters of an error that an answer shows.
const SHOWN: usize = 1000;

/// Conditions of one path. Each runs once at a time, on a thread that may wait.
#[derive(Default)]
pub(super) struct Checks(Vec<Check>);

struct Check {
    name: Arc<str>,
    code: Arc<Code>,
    last: Arc<Mutex<Option<Known>>>,
}

/// A result, and its time.
struct Known {
    since: Instant,
    refusal: Option<String>,
}

impl Checks {
    pub(super) fn add(&mut self, name: &str, code: Arc<Code>) {
        self.0.push(Check { name: Printable::new(name).to_string().into(), code, last: Arc::default() });
    }

    /// A line for each condition that does not hold. All of them run at the same time.
    pub(super) async fn obstacles(&self, clock: &Clock) -> Vec<String> {
        let executor = Executor::new();
        let tasks: Vec<_> = self.0.iter().map(|check| executor.spawn(check.refusal(clock, PATIENCE))).collect();
        let lines = async {
            let mut lines = Vec::new();
            for (check, task) in self.0.iter().zip(tasks) {
                lines.extend(task.await.map(|refusal| format!("{}: {refusal}", check.name)));
            }
            lines
        };
        executor.run(lines).await
    }
}

impl Check {
    /// Runs the code, unless a result is recent or another request runs it.
    async fn refusal(&self, clock: &Clock, patience: Duration) -> Option<String> {
        let run = async {
            let turn = self.last.lock_arc().await;
            match &*turn {
                Some(known) if clock.now().saturating_since(known.since) < SHARED => known.refusal.clone(),
                _ => {
                    let (code, clock) = (Arc::clone(&self.code), clock.clone());
                    // The turn ends with the code, also when no request waits any more.
                    smol::unblock(move || call(&*code, turn, &clock)).await
                }
            }
        };
        let late = async {
            Timer::after(patience).await;
            Some(format!("its check has not answered for {} s", patience.as_secs()))
        };
        or(run, late).await
    }
}

fn call(code: &Code, mut turn: MutexGuardArc<Option<Known>>, clock: &Clock) -> Option<String> {
    let shown = |error: Box<dyn Error>| Printable::new(error).to_string().chars().take(SHOWN).collect::<String>();
    let refusal = caught_call(|| code().err().map(shown))
        .unwrap_or_else(|_message| Some("its check panicked; the program's standard error says where".to_owned()));
    *turn = Some(Known { since: clock.now(), refusal: refusal.clone() });
    refusal
}

/// A value that is computed at most once a second.
pub(super) struct Recent<V>(mutex::Mutex<Option<(Instant, V)>>);

impl<V: Clone> Recent<V> {
    /// The value, which `compute` makes if the last one is too old. Its panic leaves none.
    pub(super) fn get(&self, clock: &Clock, compute: impl FnOnce() -> V) -> V {
        let mut recent = self.0.lock();
        let now = clock.now();
        if let Some((since, value)) = &*recent
            && now.saturating_since(*since) < SHARED
        {
            return value.clone();
        }
        *recent = None;
        let value = compute();
        *recent = Some((now, value.clone()));
        value
    }
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self(mutex::Mutex::default())
    }
}

/// How many obstacles an answer names.
const NAMED: usize = 100;

/// The text of an answer to a probe.
pub(super) fn probed(healthy: &str, obstacles: &[String]) -> String {
    if obstacles.is_empty() {
        return format!("{healthy}\n");
    }
    let mut text = format!("not {healthy}\n");
    obstacles.iter().take(NAMED).for_each(|line| _ = writeln!(text, "{line}"));
    if obstacles.len() > NAMED {
        _ = writeln!(text, "and {} more", obstacles.len() - NAMED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    fn check(code: impl Fn() -> Result<(), Box<dyn Error>> + Send + Sync + 'static) -> Check {
        Check { name: "it".into(), code: Arc::new(code), last: Arc::default() }
    }

    fn refusal(check: &Check, patience: Duration) -> Option<String> {
        smol::block_on(check.refusal(&Clock::real(), patience))
    }

    #[test]
    fn many_requests_run_a_slow_check_once() {
        let (runs, (release, held)) = (Arc::new(AtomicUsize::new(0)), mpsc::channel::<()>());
        let (counted, held) = (Arc::clone(&runs), std::sync::Mutex::new(held));
        let slow = check(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            _ = held.lock().map(|held| held.recv());
            Ok(())
        });
        for _ in 0..3 {
            let late = refusal(&slow, Duration::from_millis(5));
            assert_eq!(late.as_deref(), Some("its check has not answered for 0 s"));
        }
        drop(release);
        assert_eq!(refusal(&slow, PATIENCE), None);
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_panic_of_a_check_is_an_obstacle_without_its_message() {
        let panics = check(|| panic!("secret"));
        let refused = refusal(&panics, PATIENCE);
        assert_eq!(refused.as_deref(), Some("its check panicked; the program's standard error says where"));
    }

    #[test]
    fn an_error_is_shown_in_part_and_printable() {
        let fails = check(|| Err("\u{1b}[2J".repeat(1000).into()));
        let refused = refusal(&fails, PATIENCE).unwrap_or_default();
        assert!(refused.chars().count() == SHOWN && !refused.contains('\u{1b}'), "{refused}");
    }

    #[test]
    fn a_value_is_computed_once_a_second() {
        let (recent, clock, computed) = (Recent::default(), Clock::simulated(), Cell::new(0));
        let get = || {
            recent.get(&clock, || {
                computed.set(computed.get() + 1);
                computed.get()
            })
        };
        assert_eq!([get(), get(), get()], [1, 1, 1]);
        crate::run(&clock, &Executor::new(), clock.sleep(SHARED));
        assert_eq!([get(), get()], [2, 2]);
    }
}
