//! The reconcile that runs on this thread, for a tape that notes what it reads, sends and asks, and for a replay of it.

use core::cell::RefCell;
use listwatch_core::time::WallTime;
use std::sync::Arc;

/// Attends a reconcile.
#[cfg_attr(not(feature = "file"), expect(dead_code, reason = "a tape and a replay attend reconciles"))]
pub(crate) trait Witness: Send + Sync {
    /// The number of the reconcile, which its requests bear.
    fn reconcile(&self) -> u64;

    /// The reconcile is about to read the cache of this list-and-watch.
    fn before_read(&self, stream: &str);

    /// The reconcile reads the cache. The cache's lock is held.
    fn on_read(&self, stream: &str, changes: u64, version: Option<&str>);

    /// The reconcile asks for the date, which is `date` by the clock. Returns the answer.
    fn on_date(&self, date: WallTime) -> WallTime;

    /// A sleep of the reconcile is over.
    fn on_awake(&self);
}

thread_local! {
    static PRESENT: RefCell<Option<Arc<dyn Witness>>> = const { RefCell::new(None) };
}

/// The witness of the reconcile that this thread polls.
pub(crate) fn present() -> Option<Arc<dyn Witness>> {
    // Without the variable, the thread is ending.
    PRESENT.try_with(|present| present.borrow().clone()).ok().flatten()
}

/// Calls `act` with this witness, or none, in place of the present one.
pub(crate) fn with<R>(witness: Option<Arc<dyn Witness>>, act: impl FnOnce() -> R) -> R {
    let _before = Before(replace(witness));
    act()
}

/// The witness that is present again when this is dropped.
struct Before(Option<Arc<dyn Witness>>);

impl Drop for Before {
    fn drop(&mut self) {
        let _last = replace(self.0.take());
    }
}

fn replace(witness: Option<Arc<dyn Witness>>) -> Option<Arc<dyn Witness>> {
    PRESENT.try_with(|present| present.replace(witness)).ok().flatten()
}
