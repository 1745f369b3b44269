//! Panics of a program's own code: reconciles, transports, callbacks.

use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::Poll;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a future ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Caught<T> {
    Done(T),
    /// Its time was over. The message is that of a panic in its drop.
    Stopped(Option<String>),
    /// The future panicked with this message.
    Panicked(String),
}

/// Polls a future until it is done, panics, or `is_over`, and then drops it. `is_over` is called at each poll, so the
/// task has to be woken when its result changes.
///
/// After a panic the future is dropped and never polled again, so no code sees the state that the panic left.
pub(crate) async fn caught<F: Future>(future: F, is_over: impl Fn() -> bool) -> Caught<F::Output> {
    caught_in(pin!(Some(future)), is_over).await
}

/// As [`caught`], of a future that stays where it was made.
pub(crate) async fn caught_in<F: Future>(
    mut future: Pin<&mut Option<F>>,
    is_over: impl Fn() -> bool,
) -> Caught<F::Output> {
    poll_fn(|cx| {
        let polled = if is_over() {
            Ok(Poll::Pending)
        } else {
            caught_call(|| future.as_mut().as_pin_mut().map_or(Poll::Pending, |future| future.poll(cx)))
        };
        let end = match polled {
            Ok(Poll::Ready(output)) => Caught::Done(output),
            Ok(Poll::Pending) if is_over() => Caught::Stopped(None),
            Ok(Poll::Pending) => return Poll::Pending,
            Err(panic) => Caught::Panicked(panic),
        };
        // In the same poll: a drop that blocks counts as a poll that blocks.
        let Err(panic) = caught_call(|| future.set(None)) else { return Poll::Ready(end) };
        let panicked = match end {
            Caught::Stopped(_) => Caught::Stopped(Some(panic)),
            Caught::Done(_) | Caught::Panicked(_) => Caught::Panicked(panic),
        };
        // The drop of the output may panic too.
        let _ = caught_call(|| drop(end));
        Poll::Ready(panicked)
    })
    .await
}

/// The value of `call`, or the message of its panic. If the drop of the panic's payload panics too, the second payload
/// is leaked.
#[cfg_attr(not(feature = "served"), expect(unreachable_pub, reason = "the module `served` has it"))]
pub fn caught_call<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let message = message(&*payload);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload))).map_err(core::mem::forget);
        message
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("the panic has no message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use smol::future::block_on;
    use std::rc::Rc;

    /// Its time is over after three polls.
    fn run<F: Future>(future: F) -> Caught<F::Output> {
        let left = Cell::new(6_u32);
        block_on(caught(future, || left.replace(left.get().saturating_sub(1)) == 0))
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
        fn panicked<T>(message: &str) -> Caught<T> {
            Caught::Panicked(message.to_owned())
        }
        let in_a_step = run(async {
            smol::future::yield_now().await;
            panic!("in step {}", 2);
        });
        assert_eq!(in_a_step, panicked::<()>("in step 2"));
        let held = PanicsInDrop;
        assert_eq!(run(poll_fn(move |_| Poll::Ready(is_held(&held)))), panicked("in drop"));
        let held = PanicsInDrop;
        let both = run(poll_fn(move |_| Poll::Ready(is_held(&held).then_some(PanicsInDrop))));
        assert!(matches!(both, Caught::Panicked(message) if message == "in drop"));
        assert_eq!(run(async { std::panic::panic_any(7) }), panicked::<()>("the panic has no message"));
        assert_eq!(run(core::future::ready(5)), Caught::Done(5));
    }

    #[test]
    fn a_future_that_is_stopped_is_dropped_first() {
        let held = Rc::new(());
        let inner = Rc::clone(&held);
        let stopped = run(poll_fn(move |cx| {
            cx.waker().wake_by_ref();
            if Rc::strong_count(&inner) > 0 { Poll::<()>::Pending } else { Poll::Ready(()) }
        }));
        assert_eq!((stopped, Rc::strong_count(&held)), (Caught::Stopped(None), 1));
    }
}
