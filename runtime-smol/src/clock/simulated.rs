use crate::mutex::Mutex;
use core::task::Waker;
use core::time::Duration;
use listwatch_core::Instant;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::thread::{self, ThreadId};

/// Time that passes when no task can run.
///
/// The wakers are the executor's: they are cloned, woken and dropped while the lock is open.
#[derive(Debug, Default)]
pub(crate) struct SimulatedTime(Mutex<State>);

#[derive(Default)]
struct State {
    now: Instant,
    sleepers: BTreeMap<(Instant, u64), Waker>,
    /// The number of the last sleeper.
    last: u64,
    /// The number of the last candidate.
    candidates: u64,
    /// How many tasks wait for a peer outside of simulated time.
    outside: usize,
    /// Wakes the thread that runs the tasks, while it waits for such a peer too.
    parked: Option<Waker>,
    /// The thread that runs under this clock, and how many runs it is in, one within the other.
    running: Option<(ThreadId, usize)>,
    pace: Option<Pace>,
}

/// How fast the time passes at the most.
struct Pace {
    speed: NonZeroU32,
    /// The beginning in real time, and in this one: the first wait.
    began: Option<(std::time::Instant, Instant)>,
}

/// A sum with [`Duration::MAX`](core::time::Duration::MAX) ends here. Simulated time does not jump so far: no later
/// moment would be left.
const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// Where a jump ends at the latest. Each sum with the last moment is that moment, so deadlines would be due at once.
const LATEST: Instant = Instant::from_nanos(u64::MAX / 2);

impl SimulatedTime {
    /// A number that no other candidate has under this clock.
    pub(crate) fn number_candidate(&self) -> u64 {
        let mut state = self.0.lock();
        state.candidates += 1;
        state.candidates
    }

    /// The next candidate gets the number after this one.
    #[cfg(feature = "testing")]
    pub(crate) fn number_candidates_from(&self, last: u64) {
        self.0.lock().candidates = last;
    }

    pub(super) fn now(&self) -> Instant {
        self.0.lock().now
    }

    /// Wakes the sleeper with this number at `at`, or a new one, and returns its number. A sleeper that waits for ever
    /// needs none.
    pub(super) fn sleep(&self, at: Instant, number: Option<u64>, waker: &Waker) -> Option<u64> {
        if at == NEVER {
            return number;
        }
        let waker = waker.clone();
        let (number, _last) = {
            let mut state = self.0.lock();
            let number = number.unwrap_or_else(|| {
                state.last += 1;
                state.last
            });
            (number, state.sleepers.insert((at, number), waker))
        };
        Some(number)
    }

    /// Forgets a sleeper.
    pub(super) fn forget(&self, at: Instant, number: u64) {
        let _waker = self.0.lock().sleepers.remove(&(at, number));
    }

    /// Jumps to the earliest deadline of a sleeper and wakes it. False if there is no sleeper.
    pub(crate) fn advance(&self) -> bool {
        let first = {
            let mut state = self.0.lock();
            let first = state.sleepers.pop_first();
            if let Some(((at, _), _)) = &first {
                state.now = state.now.max(*at);
            }
            first
        };
        first.map(|(_, waker)| waker.wake()).is_some()
    }

    /// Jumps over sleepers, which wake at the next [advance](Self::advance).
    pub(super) fn jump(&self, time: Duration) {
        let mut state = self.0.lock();
        state.now = state.now.max((state.now + time).min(LATEST));
    }

    /// Lets the time pass `speed` times as fast as real time.
    pub(crate) fn pace(&self, speed: NonZeroU32) {
        self.0.lock().pace = Some(Pace { speed, began: None });
    }

    /// The real time until the earliest deadline of a sleeper; `None` without a pace, and when the deadline is due.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn ahead(&self) -> Option<Duration> {
        let mut state = self.0.lock();
        let (now, (first, _)) = (state.now, *state.sleepers.first_key_value()?.0);
        let Pace { speed, began } = state.pace.as_mut()?;
        let (began, from) = began.get_or_insert_with(|| (std::time::Instant::now(), now));
        let due = first.saturating_since(*from) / speed.get();
        Some(due.saturating_sub(began.elapsed())).filter(|left| !left.is_zero())
    }

    /// One more task waits for a peer outside.
    pub(super) fn hold(&self) {
        self.0.lock().outside += 1;
    }

    /// One task fewer waits for a peer outside.
    pub(super) fn release(&self) {
        let parked = {
            let mut state = self.0.lock();
            state.outside -= 1;
            if state.outside == 0 { state.parked.take() } else { None }
        };
        parked.into_iter().for_each(Waker::wake);
    }

    /// Whether a task waits for a peer outside; `waker` is called when none does any more.
    pub(crate) fn stands_still(&self, waker: &Waker) -> bool {
        let waker = waker.clone();
        let (stands_still, _last) = {
            let mut state = self.0.lock();
            let stands_still = state.outside > 0;
            (stands_still, core::mem::replace(&mut state.parked, stands_still.then_some(waker)))
        };
        stands_still
    }

    /// Lets this thread, and no other, advance the time until the guard is dropped.
    ///
    /// # Panics
    /// If another thread does so now.
    pub(crate) fn enter(&self) -> Entered<'_> {
        let this = thread::current().id();
        let mut state = self.0.lock();
        let (running, runs) = state.running.unwrap_or((this, 0));
        if running == this {
            state.running = Some((this, runs + 1));
        }
        drop(state);
        assert!(running == this, "only one thread can run under a simulated clock: give each its own");
        Entered(self)
    }
}

/// See [`SimulatedTime::enter`].
pub(crate) struct Entered<'a>(&'a SimulatedTime);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.running = state.running.map(|(thread, runs)| (thread, runs - 1)).filter(|(_, runs)| *runs > 0);
    }
}

listwatch_core::summary!("Simulated" for State, |it| { now: it.now, sleepers: it.sleepers.len() });
