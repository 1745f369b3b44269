/// Calls a function that is not this crate's, and `repair` if it panics.
///
/// `repair` runs while the panic unwinds, so a panic in it ends the process.
pub(crate) fn on_panic<R>(call: impl FnOnce() -> R, repair: impl FnOnce()) -> R {
    let guard = Guard(Some(repair));
    let answer = call();
    core::mem::forget(guard);
    answer
}

struct Guard<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Guard<F> {
    fn drop(&mut self) {
        if let Some(repair) = self.0.take() {
            repair();
        }
    }
}
