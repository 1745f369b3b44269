//! A waker that unparks the thread that waits.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A waker that ends [`thread::park_timeout`] of the thread that asks for it.
#[must_use]
pub fn unpark_this_thread() -> Waker {
    Waker::from(Arc::new(Unpark(thread::current())))
}
