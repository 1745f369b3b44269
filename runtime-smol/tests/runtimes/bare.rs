//! Without an executor: `block_on` of a few lines, and `thread::park`.

use crate::runtimes::ends;
use crate::runtimes::pipeline::{Task, pipeline};
use core::future::poll_fn;
use core::pin::pin;
use core::task::{Context, Poll};
use listwatch_tests::unpark::unpark_this_thread;
use std::cell::RefCell;
use std::thread;

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, waker) = (pin!(future), unpark_this_thread());
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn the_pipeline_runs_in_a_thread_for_each_task() {
    ends(|| block_on(pipeline(|task| drop(thread::spawn(|| block_on(task))))));
}

#[test]
fn the_pipeline_runs_as_a_single_future_that_polls_its_parts_in_turn() {
    ends(|| {
        let tasks = RefCell::new(Vec::<Task>::new());
        let mut main = pin!(pipeline(|task| tasks.borrow_mut().push(task)));
        block_on(poll_fn(|cx| {
            let done = main.as_mut().poll(cx);
            tasks.borrow_mut().retain_mut(|task| task.as_mut().poll(cx).is_pending());
            done
        }));
    });
}
