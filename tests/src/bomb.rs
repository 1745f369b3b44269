//! An object whose drop panics.

use core::cell::Cell;
use serde::Deserialize;

/// Reads any object. Its drop panics while bombs are [armed](Self::arm).
#[derive(Debug, Deserialize)]
pub struct Bomb {}

thread_local! {
    static IS_ARMED: Cell<bool> = const { Cell::new(false) };
}

impl Bomb {
    /// Arms the bombs of this thread, or disarms them.
    pub fn arm(is_armed: bool) {
        IS_ARMED.set(is_armed);
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!IS_ARMED.get(), "in drop");
    }
}
