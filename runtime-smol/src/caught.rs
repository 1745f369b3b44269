//! Running somebody else's future without dying of it.

use core::future::poll_fn;
use core::pin::pin;
use core::task::{Context, Poll};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Someone who is asked before and after each step of a future whether it goes on.
pub(crate) trait Overseer {
    /// A step is about to begin. The waker is to be woken when the future should go on no longer.
    fn begins_step(&self, cx: &Context<'_>) -> bool;

    /// A step is over.
    fn ends_step(&self) -> bool;
}

/// What a future comes to that was [made](caught_call), or the message of the panic: in the call that made it, in a step, or
/// where it is dropped. `None` if the overseer stops it; it has been dropped then.
///
/// After a panic a future is dropped and never polled again, so no state is seen that the panic left behind.
pub(crate) async fn caught<F: Future>(
    made: Result<F, String>,
    overseer: &impl Overseer,
) -> Result<Option<F::Output>, String> {
    let mut future = pin!(Some(made?));
    let answer = poll_fn(|cx| {
        if !overseer.begins_step(cx) {
            return Poll::Ready(Ok(None));
        }
        let step = caught_call(|| future.as_mut().as_pin_mut().map(|future| future.poll(cx)));
        let goes_on = overseer.ends_step();
        match step {
            Ok(Some(Poll::Ready(output))) => Poll::Ready(Ok(Some(output))),
            Ok(Some(Poll::Pending)) if goes_on => Poll::Pending,
            Ok(_) => Poll::Ready(Ok(None)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await;
    caught_call(|| future.set(None)).and(answer)
}

/// What `call` returns, or the message of its panic. A payload that panics where it is dropped is dropped all the same; what
/// it panics with is not.
pub(crate) fn caught_call<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let message = message(&*payload);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload))).map_err(core::mem::forget);
        message
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it does not say why").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use smol::future::block_on;
    use std::rc::Rc;

    /// Lets a future go on for so many steps.
    struct Steps(Cell<u32>);

    impl Overseer for Steps {
        fn begins_step(&self, _: &Context<'_>) -> bool {
            self.0.get() > 0
        }

        fn ends_step(&self) -> bool {
            self.0.set(self.0.get() - 1);
            self.0.get() > 0
        }
    }

    fn run<F: Future>(make: impl FnOnce() -> F) -> Result<Option<F::Output>, String> {
        block_on(caught(caught_call(make), &Steps(Cell::new(3))))
    }

    struct PanicsInDrop;

    impl Drop for PanicsInDrop {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }

    /// What is held is dropped with the future that asks this.
    fn is_held(_: &PanicsInDrop) -> bool {
        true
    }

    #[test]
    fn a_panic_is_caught_wherever_it_is() {
        fn makes_none() -> core::future::Ready<()> {
            panic!("in the call")
        }
        assert_eq!(run(makes_none), Err("in the call".to_owned()));
        let in_a_step = run(|| async {
            smol::future::yield_now().await;
            panic!("in step {}", 2);
        });
        assert_eq!(in_a_step, Err::<Option<()>, _>("in step 2".to_owned()));
        let held = PanicsInDrop;
        let in_drop = run(move || poll_fn(move |_| Poll::Ready(is_held(&held))));
        assert_eq!(in_drop, Err("in drop".to_owned()));
        assert_eq!(run(|| async { std::panic::panic_any(7) }), Err::<Option<()>, _>("it does not say why".to_owned()));
        assert_eq!(run(|| core::future::ready(5)), Ok(Some(5)));
    }

    #[test]
    fn a_future_that_is_stopped_is_dropped_first() {
        let held = Rc::new(());
        let inner = Rc::clone(&held);
        let stopped = run(move || {
            poll_fn(move |cx| {
                cx.waker().wake_by_ref();
                if Rc::strong_count(&inner) > 0 { Poll::<()>::Pending } else { Poll::Ready(()) }
            })
        });
        assert_eq!((stopped, Rc::strong_count(&held)), (Ok(None), 1));
    }
}
