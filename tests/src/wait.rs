//! Waiting for what other threads and processes bring about.

use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

/// How long a test waits for something before it fails. No test that passes waits for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds, for [`PATIENCE`] at most.
///
/// # Panics
/// If it does not hold by then.
#[expect(clippy::disallowed_methods, reason = "other threads and processes keep real time")]
#[track_caller]
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    const PAUSE: Duration = Duration::from_millis(1);
    let mut left = PATIENCE;
    while !condition() {
        left = left.checked_sub(PAUSE).expect("the condition never holds");
        thread::sleep(PAUSE);
    }
}

/// Does `work` on a thread that is not joined: it may wait for itself.
///
/// # Panics
/// If it is not done in [`PATIENCE`], or panics.
#[track_caller]
pub fn in_time(work: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        work();
        done.send(())
    });
    assert_eq!(is_done.recv_timeout(PATIENCE), Ok(()));
}

/// A waker that does nothing but `call` this when it is dropped.
#[must_use]
pub fn waker_with_drop(call: impl Fn() + Send + Sync + 'static) -> Waker {
    struct CallsAtDrop<F: Fn()>(F);
    impl<F: Fn() + Send + Sync + 'static> Wake for CallsAtDrop<F> {
        fn wake(self: Arc<Self>) {}
    }
    impl<F: Fn()> Drop for CallsAtDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    Waker::from(Arc::new(CallsAtDrop(call)))
}
